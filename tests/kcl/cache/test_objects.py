from __future__ import annotations

import pickle

import pytest

from kcl.cache.objects import from_bytes, to_bytes
from kcl.syntax.ast import ConfigOp


def _by_name(*words: str) -> bytes:
    """What Python before 3.11.4 writes of `getattr(MODULE.CLASS, name)`, byte for byte."""
    module, kind, name = words
    return b"cbuiltins\ngetattr\n(c" + f"{module}\n{kind}\nV{name}\n".encode() + b"tR."


def test_members_of_enumerations_are_read_however_python_writes_them() -> None:
    assert from_bytes(to_bytes(ConfigOp.UNION), ("kcl.",)) is ConfigOp.UNION
    assert from_bytes(_by_name("kcl.syntax.ast", "ConfigOp", "UNION"), ("kcl.",)) is ConfigOp.UNION


@pytest.mark.parametrize(
    ("module", "kind", "name"),
    [
        ("kcl.syntax.ast", "ConfigOp", "__init__"),
        ("kcl.syntax.ast", "ConfigOp", "mro"),
        ("kcl.syntax.ast", "Module", "__subclasses__"),
        ("kcl.cache.store", "Store", "write"),
        ("builtins", "object", "__subclasses__"),
    ],
)
def test_nothing_but_a_member_is_taken_by_its_name(module: str, kind: str, name: str) -> None:
    with pytest.raises(pickle.UnpicklingError):
        from_bytes(_by_name(module, kind, name), ("kcl.",))
