"""Real programs: all are read, and read as the official parser reads them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcl.source import SourceFile
from kcl.syntax import parse
from kcl.syntax.literals import dedent
from tests.kcl.conformance import corpus
from tests.kcl.syntax.trees import official, ours
from tests.sizes import size


def read(path: Path) -> SourceFile:
    return SourceFile(str(path), path.read_bytes().decode())


def test_every_konfig_file_is_read() -> None:
    paths = sorted(corpus("konfig-2023").rglob("*.k"))
    refused = [str(path) for path in paths if parse(read(path)).diagnostics]
    assert paths and not refused


def test_every_program_of_the_suite_with_output_is_read() -> None:
    goldens = sorted(corpus("kcl-grammar").rglob("stdout.golden"))
    programs = [golden.parent / "main.k" for golden in goldens if (golden.parent / "main.k").is_file()]
    refused = [str(path) for path in programs if parse(read(path)).diagnostics]
    assert programs and not refused


class Oracle:
    """The official parser, as a library."""

    @classmethod
    @cache
    def shared(cls) -> Oracle:
        return cls()

    def __init__(self) -> None:
        self._api = pytest.importorskip("kcl_lib.api", reason="kcl-lib is not installed")
        self._service = self._api.API()

    def parse(self, path: Path) -> tuple[Any, list[str]]:
        """The tree, and the syntax errors: what it says of modules that are missing is not syntax."""
        result = self._service.parse_file(self._api.ParseFileArgs(path=str(path)))
        errors = [
            message.msg
            for error in result.errors
            if error.level == "error"
            for message in error.messages
            if not any(word in message.msg for word in ("pkgpath", "kcl mod add", "browse more", "import", "plugin"))
        ]
        return json.loads(result.ast_json), errors


def assert_as_official(paths: list[Path]) -> None:
    oracle = Oracle.shared()
    compared = 0
    for path in paths:
        source = read(path)
        result = parse(source)
        tree, errors = oracle.parse(path)
        if errors or result.diagnostics:
            # Some programs are refused by us while parsing and by the official compiler right after it.
            assert result.diagnostics, (path, errors)
            continue
        assert ours(result.module, source) == official(tree), path
        compared += 1
    assert compared > len(paths) * 0.9


def test_a_sample_of_programs_has_the_official_trees() -> None:
    paths = sorted(corpus("kcl-grammar").rglob("*.k")) + sorted(corpus("konfig-2023").rglob("*.k"))
    assert_as_official(paths[::20])


@pytest.mark.slow
def test_all_programs_have_the_official_trees() -> None:
    assert_as_official(sorted(corpus("kcl-grammar").rglob("*.k")) + sorted(corpus("konfig-2023").rglob("*.k")))


def expressions() -> st.SearchStrategy[str]:
    operands = st.sampled_from(["a", "1", '"s"', "b.c", "f(a)", "d[0]", "True", "[a]", "{k = a}", "1.5", "x?.y"])
    signs = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "|", "^", "&", "==", "!=", "<", "<=", ">", ">="]
    operators = st.sampled_from([*signs, "and", "or", "in", "is", "not in", "is not"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, operators, inner).map(" ".join),
            inner.map("({})".format),
            st.tuples(st.sampled_from(["-", "+", "~", "not "]), operands).map("".join),
            st.tuples(inner, operands, inner).map(lambda parts: "({} if {} else {})".format(*parts)),
        )

    return st.recursive(operands, extend, max_leaves=8)


@given(text=expressions())
@settings(max_examples=size(50, 300), deadline=None)
def test_any_expression_has_the_official_tree(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "expression.k"
    path.write_text(f"x = {text}\n")
    source = read(path)
    result = parse(source)
    tree, errors = Oracle.shared().parse(path)
    assert not errors and not result.diagnostics
    assert ours(result.module, source) == official(tree)


@given(text=st.text(alphabet=" \t\nab", max_size=16))
@settings(max_examples=size(50, 300), deadline=None)
def test_any_triple_quoted_string_is_dedented_as_officially(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "string.k"
    path.write_text(f'x = """{text}"""\n')
    tree, _ = Oracle.shared().parse(path)
    assert tree["body"][0]["node"]["value"]["node"]["value"] == dedent(text)
