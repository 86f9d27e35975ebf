"""A value replaced in the text of a program, all else untouched."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kcl.diagnostics import KclError
from kcl.source import SourceFile
from kcl.syntax import ast, parse
from kcl.syntax.edit import expression_text, locate_value, replace_value
from tests.kcl.syntax.trees import tree_of

PROGRAM = """\
import models

# The shop, as it runs in production.
server: models.Server {
    replicas = 3  # Saturdays
    container: {
        image = "shop:1.0"
        ports: [{name = "http", port = 8080}, {name = "admin", port = 9090}]
    }
    labels.app = "shop"
    labels.tier = "front"
    "quoted-key": 1
    if True:
        debug = True
}
small = {a = 1, b = 2}
empty = {}
name = "shop"
"""


def replaced(variable: str, path: list[str | int], new: str, text: str = PROGRAM) -> list[str]:
    """The lines that differ: those that went with `-`, those that came with `+`."""
    before = text.splitlines()
    after = replace_value(SourceFile("main.k", text), variable, path, new).splitlines()
    return [f"-{line}" for line in before if line not in after] + [f"+{line}" for line in after if line not in before]


@pytest.mark.parametrize(
    ("variable", "path", "new", "lines"),
    [
        ("server", ["replicas"], "5", ["-    replicas = 3  # Saturdays", "+    replicas = 5  # Saturdays"]),
        (
            "server",
            ["container", "image"],
            '"shop:2.0"',
            ['-        image = "shop:1.0"', '+        image = "shop:2.0"'],
        ),
        ("server", ["container", "ports", 1, "port"], "9091", [
            '-        ports: [{name = "http", port = 8080}, {name = "admin", port = 9090}]',
            '+        ports: [{name = "http", port = 8080}, {name = "admin", port = 9091}]',
        ]),
        ("server", ["labels", "tier"], '"back"', ['-    labels.tier = "front"', '+    labels.tier = "back"']),
        ("server", ["quoted-key"], "2", ['-    "quoted-key": 1', '+    "quoted-key": 2']),
        ("small", ["b"], "[1, 2]", ["-small = {a = 1, b = 2}", "+small = {a = 1, b = [1, 2]}"]),
        ("name", [], '"store"', ['-name = "shop"', '+name = "store"']),
    ],
)  # fmt: skip
def test_what_is_written_is_replaced_in_place(variable: str, path: list[str | int], new: str, lines: list[str]) -> None:
    assert replaced(variable, path, new) == lines


@pytest.mark.parametrize(
    ("variable", "path", "new", "lines"),
    [
        ("server", ["cpu"], '"1"', ['+    cpu = "1"']),
        ("server", ["container", "env", "A"], '"x"', ['+        env.A = "x"']),
        ("server", ["labels", "team"], '"red"', ['+    labels.team = "red"']),
        ("server", ["notes", "a.b/c"], "1", ['+    notes: {"a.b/c" = 1}']),
        ("server", ["debug"], "False", ["+    debug = False"]),
        ("small", ["c"], "3", ["-small = {a = 1, b = 2}", "+small = {a = 1, b = 2, c = 3}"]),
        ("empty", ["a"], "1", ["-empty = {}", "+empty = {a = 1}"]),
    ],
)
def test_what_is_not_written_is_added_in_the_style_around_it(
    variable: str, path: list[str | int], new: str, lines: list[str]
) -> None:
    assert replaced(variable, path, new) == lines


def test_an_added_line_follows_the_last_entry_and_its_comment() -> None:
    text = "a = {\n    b = 1 # why\n}\n"
    assert replace_value(SourceFile("f.k", text), "a", ["c"], "2") == "a = {\n    b = 1 # why\n    c = 2\n}\n"


def test_the_last_of_several_entries_counts() -> None:
    text = "a = {b = 1}\na = {b = 2, b = 3}\n"
    assert replace_value(SourceFile("f.k", text), "a", ["b"], "4") == "a = {b = 1}\na = {b = 2, b = 4}\n"


def test_a_statement_that_writes_the_place_goes_before_a_later_one_that_does_not() -> None:
    text = "a: S {b = 1}\na: S {c = 2}\n"
    assert replace_value(SourceFile("f.k", text), "a", ["b"], "4") == "a: S {b = 4}\na: S {c = 2}\n"


def test_located_values_are_framed_exactly() -> None:
    source = SourceFile("main.k", PROGRAM)
    span = locate_value(source, "server", ["container", "ports", 0, "name"])
    assert span is not None and PROGRAM[span.start : span.end] == '"http"'
    assert locate_value(source, "server", ["nothing"]) is None
    assert locate_value(source, "nobody", []) is None


@pytest.mark.parametrize(
    ("variable", "path", "new", "message"),
    [
        ("nobody", [], "1", "the file does not define 'nobody'"),
        ("name", ["a"], "1", "cannot set 'a' here: this is not a configuration written out"),
        ("server", ["container", "ports", 7, "port"], "1", "this is not a configuration written out"),
        ("server", ["container", 0], "1", "there is no item 0 here"),
        ("small", ["a"], "1 +", "got newline"),
        ("small", ["a"], "1\nb = 2", "not one expression"),
        ("small", ["a"], "1, c = 2", "unexpected token ','"),
    ],
)
def test_what_cannot_be_done_says_why(variable: str, path: list[str | int], new: str, message: str) -> None:
    with pytest.raises(KclError) as failure:
        replace_value(SourceFile("main.k", PROGRAM), variable, path, new)
    assert message in str(failure.value)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(0, 10**12) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@example({"\\${": None})
@example(["\\${a}", "${", "${ ${a}", "${a} ${"])
@given(plain)
def test_a_plain_value_is_written_so_that_it_reads_back(value: Any) -> None:
    result = parse(SourceFile("f.k", f"x = {expression_text(value)}\n"))
    assert not result.diagnostics
    (statement,) = result.module.body
    assert isinstance(statement, ast.Assign)
    assert read_back(statement.value) == value


def read_back(node: ast.Expr) -> Any:
    match node:
        case ast.Constant(kind=kind):
            return {"None": None, "True": True, "False": False}[kind]
        case ast.Int(value=value) | ast.Str(value=value):
            return value
        case ast.JoinedStr(parts=parts):
            return "".join(part for part in parts if isinstance(part, str))
        case ast.List(items=items):
            return [read_back(item) for item in items]  # type: ignore[arg-type]  # no stars or ifs are written
        case ast.Config(items=items):
            pairs = [(item.key, item.value) for item in items if isinstance(item, ast.Entry)]
            return {read_back(key): read_back(value) for key, value in pairs}
        case _:
            raise AssertionError(node)


def test_values_that_kcl_cannot_write_are_refused() -> None:
    with pytest.raises(TypeError):
        expression_text(object())
    with pytest.raises(ValueError):
        expression_text(float("inf"))
    assert tree_of(f"x = {expression_text(-1.5)}")[1][0][2][3] == ("unary", "-", ("float", 1.5))
