"""The grammar is the reference: what is shipped was made from it, and lark reads programs the same way."""

import marshal
from pathlib import Path
from typing import Any

import pytest

import kcl.syntax
from kcl.source import SourceFile
from kcl.syntax import parse
from kcl.syntax.builder import Builder
from kcl.syntax.driver import TABLES_FILE
from kcl.syntax.lexer import tokenize
from kcl.syntax.tokens import Token
from tests.kcl.conformance import corpus
from tests.kcl.syntax.trees import ours

generate = pytest.importorskip("kcl.syntax.generate", reason="lark is not installed")


def test_the_shipped_tables_are_made_from_the_grammar() -> None:
    shipped = Path(kcl.syntax.__path__[0], TABLES_FILE).read_bytes()
    assert marshal.loads(shipped) == generate.build_tables(), "run `python -m kcl.syntax.generate`"


def test_every_conflict_is_one_we_know_and_is_right_as_shift() -> None:
    assert generate.conflicts() == [
        "ARROW: <type_element : LPAR types RPAR>",  # an arrow after `(T)` belongs to it
        "BAR: <type : type_element>",  # `() -> a | b` gives a union
        "BAR: <type : union>",
        "ELIF: <entry_orelse : >",  # in one line, an else belongs to the nearest if
        "ELIF: <item_orelse : >",
        "ELSE: <entry_orelse : >",
        "ELSE: <item_orelse : >",
        "IF: <test : value>",  # in a comprehension, `if a if b` is a ternary that lacks its else
    ]


class Twin:
    """A program parsed by lark's own parser, its tree handed to the same builder."""

    def __init__(self) -> None:
        self._parser = generate.build_parser()

    def tree(self, source: SourceFile) -> Any:
        tokens = tokenize(source.text, self._ignore, [], with_runs=False)
        builder = Builder(source.text, self._ignore, True)
        lark_tree = self._parser.parse(tokens, start="file")
        return builder.split_doc(self._build(lark_tree, tokens, builder))[1]

    def _build(self, node: Any, tokens: list[Token], builder: Builder) -> Any:
        if not hasattr(node, "children"):
            return tokens[int(node)]
        values = [self._build(child, tokens, builder) for child in node.children]
        return getattr(builder, str(node.data))(*values)

    def _ignore(self, *_: object) -> None:
        pass


def assert_same_as_lark(paths: list[Path]) -> None:
    twin = Twin()
    compared = 0
    for path in paths:
        source = SourceFile(str(path), path.read_bytes().decode())
        result = parse(source)
        below_a_line = result.module.doc is None and source.text.lstrip().startswith(('"""', "'''"))
        if result.diagnostics or below_a_line:
            continue
        module = result.module
        theirs = twin.tree(source)
        other = type(module)(module.start, module.end, module.path, module.doc, theirs)
        assert ours(other, source) == ours(module, source), path
        compared += 1
    assert compared > len(paths) * 0.9


def test_lark_itself_reads_a_sample_the_same_way() -> None:
    paths = sorted(corpus("kcl-grammar").rglob("*.k")) + sorted(corpus("konfig-2023").rglob("*.k"))
    assert_same_as_lark(paths[::25])


@pytest.mark.slow
def test_lark_itself_reads_every_program_the_same_way() -> None:
    assert_same_as_lark(sorted(corpus("kcl-grammar").rglob("*.k")) + sorted(corpus("konfig-2023").rglob("*.k")))
