"""Where a line may end, and what indentation means."""

from typing import Any

import pytest

from kcl.source import SourceFile
from kcl.syntax import parse
from tests.kcl.syntax.trees import tree_of


def accepts(text: str) -> bool:
    return not parse(SourceFile("f.k", text)).diagnostics


def same(*texts: str) -> bool:
    def value(text: str) -> Any:
        return tree_of(text)[1][0][2][3]

    first, *rest = map(value, texts)
    return all(first == other for other in rest)


@pytest.mark.parametrize(
    "text",
    [
        "x = [\n    1\n    2\n]",
        "x = [\n    1,\n    2,\n]",
        "x = [\n    1, # one\n\n    # two\n    2\n]",
        "x = [1,\n2]",
        "x = [1\n2]",
        "x = [1, 2\n]",
    ],
)
def test_lists_take_commas_and_line_ends_alike(text: str) -> None:
    assert same(text, "x = [1, 2]")


def test_configurations_take_line_ends_when_they_begin_with_one() -> None:
    assert same(
        "x = {\n  a = 1\n  b = 2\n}", "x = {\n  a = 1,\n  b = 2,\n}", "x = {a = 1, b = 2}", "x = {a = 1, b = 2\n}"
    )
    assert not accepts("x = {a = 1\n  b = 2}")


def test_calls_take_line_ends_when_they_begin_with_one() -> None:
    assert same("x = f(\n  1,\n  k = 2\n)", "x = f(\n    1\n    k = 2,\n)", "x = f(1, k = 2)")
    assert not accepts("x = f(1,\n  2)")
    assert not accepts("x = f(1\n)")


@pytest.mark.parametrize("text", ["x = (1 +\n 2)", "x = (\n1)", "x = a[\n0]", "x = 1 +\n2", "x =\n1"])
def test_elsewhere_an_expression_ends_with_its_line(text: str) -> None:
    assert not accepts(text)


def test_a_backslash_joins_lines() -> None:
    assert same("x = a \\\n    and b", "x = a and b")
    assert same("x = [\n  v \\\n  for v in a \\\n  if v\n]", "x = [v for v in a if v]")
    assert accepts("\\")
    assert not accepts("x = a \\ \n  and b")


def test_comprehensions_may_break_before_for_and_if() -> None:
    assert same("x = [\n  v\n  for v in a\n  if v\n]", "x = [v for v in a if v]")
    assert same("x = {\n  k = v\n  for k, v in a\n}", "x = {k = v for k, v in a}")


def test_if_items_and_entries_stand_on_a_line_or_in_a_block() -> None:
    assert same(
        "x = [\n  0\n  if a:\n    1\n    2\n  elif b:\n    3,\n  else:\n    4\n  5\n]",
        "x = [\n0\nif a:\n    1, 2\nelif b:\n    3\nelse:\n    4\n5\n]",
    )
    assert same("x = [\n  if a: 1\n  elif b: 2\n  else: 3\n]", "x = [if a: 1\nelif b: 2\nelse: 3\n]")
    assert not accepts("x = [\n  if a:\n    1\n  elif b: 2\n]"), "after a block officially none but blocks"
    assert same(
        "x = {\n  if a:\n    b = 1\n    if c:\n      d = 2\n  e = 3\n}",
        "x = {\n  if a:\n      b = 1,\n      if c: d = 2\n  e = 3\n}",
    )
    assert same("x = {\n if a: b = 1\n else: c = 2\n}", "x = {if a: b = 1 else: c = 2}")


def test_nested_brackets_decide_for_themselves() -> None:
    assert same(
        "x = {\n  a = [{b = 1}, {\n    c = 2\n  }]\n  d = f(\n    1\n  )\n}",
        "x = {a = [{b = 1}, {c = 2}], d = f(1)}",
    )


def test_lambda_bodies_have_statements_and_blocks() -> None:
    several = "x = lambda a {\n    b = a\n    if b:\n        c = 1\n    else:\n        c = 2\n    c\n}\ny = 1\n"
    assert len(tree_of(several)[1]) == 2
    body = tree_of(several)[1][0][2][3][3]
    assert [statement[2][0] for statement in body] == ["assign", "if", "expr"]


def test_lambdas_stand_in_multi_line_brackets() -> None:
    text = "x = {\n    f = lambda a {\n        a\n    }\n    g = [lambda { 1 }\n    2]\n}\n"
    assert [entry[1][1] for entry in tree_of(text)[1][0][2][3][1]] == ["f", "g"]


def test_quantifier_bodies_may_stand_on_a_line_of_their_own() -> None:
    assert same("x = any v in a {\n    v if b\n}", "x = any v in a {v if b}")


def test_comments_and_blank_lines_do_not_count() -> None:
    text = "# head\n\nif a:\n  # inside\n    x = 1\n\n# far left\n    y = 2 # end\n# last"
    result = parse(SourceFile("f.k", text))
    assert not result.diagnostics
    assert [comment.text for comment in result.module.comments] == [
        "# head",
        "# inside",
        "# far left",
        "# end",
        "# last",
    ]
    assert all(text[comment.start : comment.end] == comment.text for comment in result.module.comments)
    assert len(tree_of(text)[1][0][2][2]) == 2


def test_windows_line_ends_are_line_ends() -> None:
    assert same("x = {\r\n  a = 1\r\n  b = [\r\n    1\r\n    2\r\n  ]\r\n}\r\n", "x = {a = 1, b = [1, 2]}")
    assert accepts("schema A:\r\n    a: int\r\n\r\n    b: int\r\n")


def test_tabs_and_spaces_indent_if_they_can_be_compared() -> None:
    assert accepts("schema A:\n\ta: int\n\tb: int\n")
    assert not accepts("schema A:\n    a: int\n\tb: int\n")


@pytest.mark.parametrize(
    ("text", "spaces"),
    [("schema A:\n    a: int\n   b: int\n", "3 spaces"), ("if a:\n  b = 1\n c = 2\n", "1 space")],
)
def test_indentation_that_meets_no_outer_line_is_an_error(text: str, spaces: str) -> None:
    (finding,) = parse(SourceFile("f.k", text)).diagnostics
    assert finding.message == (f"invalid indentation with {spaces}, try to align indents by adding or removing spaces")


def test_an_indent_without_a_block_is_an_error() -> None:
    assert not accepts("a = 1\n    b = 2\n")
