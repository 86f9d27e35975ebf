"""Keys that lead to what stands in a configuration."""

from __future__ import annotations

import pytest

from kcl.api import parse
from kcl.syntax import ast
from kcl.syntax.walking import written_key


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ("a = 1", "a"),
        ('"a.b": 1', "a.b"),
        ("a += [1]", "a"),
        ("a[0] = 1", None),
        ('"${x}": 1', None),
        ("(x): 1", None),
        ("**x", None),
        ("if x: a = 1", None),
    ],
)
def test_a_key_is_what_is_written_and_neither_computed_nor_an_item(entry: str, key: str | None) -> None:
    statement = parse(f"c = {{{entry}}}\n").module.body[0]
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Config)
    assert written_key(statement.value.items[0]) == key
