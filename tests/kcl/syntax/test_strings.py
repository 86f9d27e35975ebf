"""Strings: escapes, raw and triple-quoted ones, dedent, interpolation."""

from typing import Any

import pytest

from kcl.source import SourceFile
from kcl.syntax import ParseResult, ast, parse
from tests.kcl.syntax.trees import tree_of


def string(text: str, *, dedent: bool = True) -> Any:
    result: ParseResult = parse(SourceFile("f.k", f"x = {text}\n"), dedent=dedent)
    assert not result.diagnostics, result.diagnostics
    (statement,) = result.module.body
    assert isinstance(statement, ast.Assign)
    value = statement.value
    return value.value if isinstance(value, ast.Str) else value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r'"a\n\t\\\"\'"', "a\n\t\\\"'"),
        (r"'\a\b\f\v\r'", "\a\b\f\v\r"),
        (r'"\101\x41\u0041\U00000041\N{LATIN SMALL LETTER A}"', "AAAAa"),
        (r'"\ud800"', "\ufffd"),
        (r'"\q\$"', "\\q\\$"),
        ('"""a\\\nb"""', "ab"),
        ('"""a\\\r\nb"""', "ab"),
        ('"""a\r\nb\rc\r\n"""', "a\nb\rc\n"),
        ('r"""a\r\nb"""', "a\nb"),
        (r'r"\n${a}"', "\\n${a}"),
        (r"R'\'a'", "\\'a"),
        ("'''a\n\"b\" 'c'\n'''", "a\n\"b\" 'c'\n"),
        ('""', ""),
        ('""""""', ""),
        ('"$a $ {b}"', "$a $ {b}"),
    ],
)
def test_what_a_string_means(written: str, value: str) -> None:
    assert string(written) == value


@pytest.mark.parametrize("written", [r'"\x4"', r'"\u12"', r'"\N{NO SUCH NAME}"', r'"\U00110000"'])
def test_escapes_without_a_meaning_are_errors(written: str) -> None:
    (finding,) = parse(SourceFile("f.k", f"x = {written}\n")).diagnostics
    assert finding.message == "invalid string syntax"


@pytest.mark.parametrize(
    ("content", "dedented"),
    [
        ("\n    a\n      b\n    ", "a\n  b\n"),
        ("\n    a\n\n    b\n", "a\n\nb\n"),
        ("a\n  b", "a\n  b"),
        ("    a\n      b", "a\n  b"),
        ("\n    a\n  ", "  a\n"),  # the closing quotes are a margin, too
        ("\n\ta\n\t\tb\n", "a\n\tb\n"),
    ],
)
def test_triple_quoted_strings_lose_their_margin(content: str, dedented: str) -> None:
    assert string(f'"""{content}"""') == dedented
    assert string(f'"""{content}"""', dedent=False) == content


def test_interpolations_are_expressions_between_pieces() -> None:
    assert tree_of('x = "a ${b.c + 1}${d: #json}\\t${e:#YAML} f"')[1][0][2][3] == (
        "joined",
        [
            "a ",
            ("formatted", ("binary", "+", ("selector", ("name", "b"), "c", False), ("int", 1, None)), None),
            ("formatted", ("name", "d"), "json"),
            "\t",
            ("formatted", ("name", "e"), "yaml"),
            " f",
        ],
    )


def test_an_interpolation_ends_at_the_first_brace() -> None:
    joined = string('"{${b}}"')
    assert [part if isinstance(part, str) else "..." for part in joined.parts] == ["{", "...", "}"]


def test_a_backslash_keeps_a_dollar_from_interpolating() -> None:
    assert string(r'"\${b} $${c}"').parts[0] == "${b} $"


def test_interpolations_in_dedented_strings_keep_their_places() -> None:
    text = 'x = """\n    a ${b}\n    c\n    """\n'
    result = parse(SourceFile("f.k", text))
    (statement,) = result.module.body
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.JoinedStr)
    first, value, last = statement.value.parts
    assert (first, last) == ("a ", "\nc\n")
    assert isinstance(value, ast.FormattedValue) and isinstance(value.value, ast.Name)
    assert text[value.value.start : value.value.end] == "b"


@pytest.mark.parametrize(
    ("written", "message", "place"),
    [
        ('"${b = 1}"', "invalid string interpolation expression: 'b = 1'", "b = 1"),
        ('"${b: #xml}"', "#xml is a invalid format spec", "b: #xml"),
    ],
)
def test_errors_in_interpolations_are_at_their_place(written: str, message: str, place: str) -> None:
    text = f"x = {written}\n"
    (finding,) = parse(SourceFile("f.k", text)).diagnostics
    assert finding.message == message
    assert finding.primary is not None
    assert text[finding.primary.start : finding.primary.end] == place


@pytest.mark.parametrize(
    ("written", "message", "column"),
    [
        ('"${}"', "invalid string interpolation expression: ''", 6),
        ('"a ${b"', "invalid joined string", 11),
        ('"${b: json}"', "invalid joined string spec without #", 11),
    ],
)
def test_the_first_error_in_an_interpolation_is_the_official_one(written: str, message: str, column: int) -> None:
    finding = parse(SourceFile("f.k", f"x = {written}\n")).diagnostics[0]
    assert finding.message == message
    assert finding.primary is not None and finding.primary.start == column - 1


@pytest.mark.parametrize("written", ['"abc', "'abc", '"""abc', "'''abc\n"])
def test_a_string_must_end(written: str) -> None:
    finding = parse(SourceFile("f.k", f"x = {written}\n")).diagnostics[0]
    assert finding.message == "unterminated string"
