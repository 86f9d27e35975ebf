"""What is said about programs that cannot be read."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcl.diagnostics import Code, render
from kcl.source import SourceFile
from kcl.syntax import ast, parse
from tests.kcl.conformance import corpus
from tests.sizes import size


def findings(text: str) -> list[tuple[int, int, str]]:
    source = SourceFile("f.k", text)
    places = []
    for diagnostic in parse(source).diagnostics:
        assert diagnostic.primary is not None
        place = source.position(diagnostic.primary.start)
        places.append((place.line, place.column, diagnostic.message))
    return places


TYPE = '"any", "bool", "int", "float", "str", "True", "False", "identifier", "literal", "[", "{", ")"'
OPERAND = '"identifier", "literal", "(", "[", "{"'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1 +\n", (1, 7, f"expected one of [{OPERAND}] got newline")),
        ("a = = 1\n", (1, 5, f"expected one of [{OPERAND}] got =")),
        ("a = 1, 2\n", (1, 6, "unexpected token ','")),
        ("a: int\n", (1, 6, 'expected one of ["="] got eof')),
        ("a = (1\n", (1, 6, 'expected one of [")"] got newline')),
        ("a = f(1\n", (1, 7, 'expected one of [")"] got newline')),
        ("a = {b = 1\n  c = 2}\n", (2, 3, 'expected one of ["}"] got identifier')),
        ("a = {b = 1\n", (1, 10, 'expected one of ["}"] got eof')),
        ("a = [1}\n", (1, 7, "error nesting on close brace")),
        ("a = (1]\n", (1, 7, "mismatched closing delimiter")),
        ("a = 1)\n", (1, 6, "error nesting on close paren")),
        ("a = 1\n    b = 2\n", (2, 5, "unexpected token 'indent'")),
        ("a = {\n    b:\n        1\n}\n", (2, 6, f"expected one of [{OPERAND}] got newline")),
        ("schema A:\n    b: int,\n", (2, 11, f"expected one of [{OPERAND}] got ,")),
        ("schema A:\n    b:\n", (2, 6, f"expected one of [{TYPE}] got newline")),
        ("a = b if c\n", (1, 10, 'expected one of ["else"] got newline')),
        ("import a.1\n", (1, 10, 'expected one of ["identifier"] got 1')),
        ("schema A(B, C):\n", (1, 11, 'expected one of [")"] got ,')),
        ("a = [b for c of d]\n", (1, 14, 'expected one of ["in"] got identifier')),
        ("a = 1;\n", (1, 6, "the semicolon ';' here is unnecessary, please remove it")),
        ("a = !b\n", (1, 5, "invalid token '!', consider using 'not '")),
        ("a = 1 § 2\n", (1, 7, "unknown start of token")),
        ("a = 1xy\n", (1, 5, "invalid int binary suffix")),
        ("a = 0b12\n", (1, 8, "invalid digit for a base 2 literal")),
        ("a = 0x\n", (1, 5, "no valid digits found for number")),
        ("f() = 1\n", (1, 1, "'CallExpression' is an illegal expression for assignment")),
        ("a = f(b=1, 2)\n", (1, 12, "positional argument follows keyword argument")),
        ("check:\n    a\n", (1, 6, f"expected one of [{TYPE}] got newline")),
        ("schema = 1\n", (1, 8, 'expected one of ["identifier"] got =')),
        ("type = 1\n", (1, 6, f"expected one of [{OPERAND}] got =")),
        ("a = {all = 1}\n", (1, 10, 'expected one of ["identifier"] got =')),
        ("a = - -1\n", (1, 7, f"expected one of [{OPERAND}] got -")),
        ("-1\n", (1, 1, "unexpected token '-'")),
        ("a = 'b\\\nc'\n", (1, 5, "unterminated string")),
        ("a = 99999999999999999999\n", (1, 5, 'expected one of ["int"] got 99999999999999999999')),
        ("a = all x in f() { x }\n", (1, 15, 'expected one of ["{"] got (')),
        ("a = {\n    b = 1 }\nc = 1\n", (3, 1, "unexpected token 'dedent'")),
    ],
)
def test_the_first_error_is_named_at_its_place(text: str, found: tuple[int, int, str]) -> None:
    assert findings(text)[0] == found


def assigned(text: str) -> list[str]:
    """The names that the file still assigns, at its top level."""
    body = parse(SourceFile("f.k", text)).module.body
    return [target.name for node in body if isinstance(node, ast.Assign) for target in node.targets]


OPERAND_MISSING = f"expected one of [{OPERAND}] got"
NO_TARGET = "'MissingExpression' is an illegal expression for assignment"


def test_every_broken_statement_is_reported_and_the_rest_is_read() -> None:
    text = "a = 1 +\nb = 2\nc = = 3\nschema S:\n    d: int\n\n    ? e\nf = 4\n"
    assert findings(text) == [
        (1, 7, f"{OPERAND_MISSING} newline"),
        (3, 5, f"{OPERAND_MISSING} ="),
        (3, 4, NO_TARGET),
        (7, 5, f"{OPERAND_MISSING} ?"),
        (7, 5, "expected expression, got ?"),
    ]
    assert assigned(text) == ["a", "b", "c", "f"]


def test_a_broken_attribute_leaves_the_rest_of_its_schema() -> None:
    text = "schema S:\n    a: int =\n    b: str\n    c: = 1\n    d: int\n"
    (schema,) = parse(SourceFile("f.k", text)).module.body
    assert isinstance(schema, ast.Schema)
    assert [node.name for node in schema.body if isinstance(node, ast.SchemaAttr)] == ["a", "b", "c", "d"]
    assert [line for line, _, _ in findings(text)] == [2, 4]


def test_what_the_text_leaves_out_is_a_value_that_is_missing() -> None:
    (statement,) = parse(SourceFile("f.k", "a = b +\n")).module.body
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Binary)
    assert isinstance(statement.value.right, ast.Missing)


def test_errors_of_the_scanner_come_before_those_of_the_parser() -> None:
    assert [line for line, _, _ in findings("a = = 1\nb = !c\n")] == [2, 1, 1]


def test_a_broken_header_leaves_its_block_and_its_else() -> None:
    text = "if a +:\n    b = 1\nelif c:\n    d = = 1\nelse:\n    e = 1\nf = 1\n"
    assert [line for line, _, _ in findings(text)] == [1, 4, 4]
    assert assigned(text) == ["f"]


def test_a_broken_line_of_a_lambda_leaves_the_lambda() -> None:
    text = "x = lambda {\n    a = = 1\n    b\n}\ny = 2\n"
    assert [line for line, _, _ in findings(text)] == [2, 2]
    assert assigned(text) == ["x", "y"]


def test_line_ends_between_statements_and_items_may_be_left_out() -> None:
    assert findings("a = 1 b = 2\nc = [1 2,\n3]\nd = {e = 1 f = 2}\n") == []
    assert assigned("a = 1 b = 2\nc = [1 2,\n3]\n") == ["a", "b", "c"]
    assert findings("a, b = 1, 2\n") == [(1, 2, "unexpected token ','"), (1, 9, "unexpected token ','")]


def test_a_name_alone_is_an_entry_with_that_name_for_its_value() -> None:
    (statement,) = parse(SourceFile("f.k", "a = {b}\n")).module.body
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Config)
    (entry,) = statement.value.items
    assert isinstance(entry, ast.Entry) and isinstance(entry.key, ast.Name) and isinstance(entry.value, ast.Name)
    assert entry.key.id == entry.value.id == "b"


def test_an_error_below_many_brackets_ends_the_reading() -> None:
    (*_, last) = findings("a = " + "[" * 20_000 + "}")
    assert last[2] == "more than 15000 levels of nesting"


def test_files_that_nest_deeply_are_read_by_several_threads_at_once() -> None:
    text = f"a = {'[' * 3_000}{']' * 3_000}\n"
    with ThreadPoolExecutor(4) as threads:
        results = [*threads.map(parse, [SourceFile("f.k", text)] * 8)]
    assert not any(result.diagnostics for result in results)


def test_no_end_of_errors_is_too_many_to_report() -> None:
    assert len(findings("a = = 1\n" * 500)) == 50


def test_a_duplicate_index_signature_is_refused() -> None:
    assert findings("schema A:\n    [str]: str\n    [str]: int\n") == [
        (3, 5, "duplicate schema index signature definitions, only one is allowed in the schema")
    ]


def test_loop_variables_are_one_or_two_plain_names() -> None:
    (finding,) = parse(SourceFile("f.k", "a = [i for i, j, k in b]\n")).diagnostics
    assert finding.code is Code.COMPILE
    assert finding.message == "the number of loop variables is 3, which can only be 1 or 2"


@given(st.text(alphabet="ab1 \n\t:=,.+-*/<>()[]{}\"'$#\\?@|~!;", max_size=60))
@settings(max_examples=size(100, 600), deadline=None)
def test_any_text_is_either_read_or_reported(text: str) -> None:
    result = parse(SourceFile("f.k", text))
    render(result.diagnostics, {"f.k": text})
    assert all(d.primary is not None and 0 <= d.primary.start <= len(text) for d in result.diagnostics)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_real_program_with_a_piece_cut_out_is_either_read_or_reported(data: st.DataObject) -> None:
    paths = sorted(corpus("kcl-grammar").rglob("*.k"))
    text = data.draw(st.sampled_from(paths)).read_bytes().decode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    result = parse(SourceFile("f.k", text[:start] + text[end:]))
    assert isinstance(result.module, ast.Module)


def blocks(text: str) -> list[str]:
    """The diagnostics of an official golden or of ours, one string each, without empty lines."""
    lines = "\n".join(line for line in text.splitlines() if line.strip())
    return ["error[" + block.rstrip("\n") for block in lines.split("error[")[1:]]


def test_the_suites_first_syntax_errors_are_reproduced_to_the_letter() -> None:
    root = corpus("kcl-grammar")
    cases = [path for path in sorted(root.rglob("stderr.golden")) if "InvalidSyntax" in path.read_text()]
    different = []
    for golden in cases:
        main = golden.parent / "main.k"
        text = main.read_bytes().decode()
        result = parse(SourceFile("${CWD}/main.k", text))
        found = blocks(render(result.diagnostics, {"${CWD}/main.k": text}, official_columns=True))
        wanted = blocks(golden.read_text())
        if not found or found[0] != wanted[0]:
            different.append(str(golden.parent.relative_to(root)))
    assert not different
    assert Path(root).is_dir() and len(cases) >= 10


@pytest.mark.parametrize("word", ["check", "mixin"])
@pytest.mark.parametrize("rest", [" = 1", ": int = 1", "?: int", " =[A]"])
def test_a_word_that_begins_a_part_of_a_schema_names_no_attribute_there(word: str, rest: str) -> None:
    found = parse(SourceFile("main.k", f"schema S:\n    {word}{rest}\n    y?: int\n")).diagnostics
    assert [each.code for each in found[:1]] == [Code.INVALID_SYNTAX]
    last = parse(SourceFile("main.k", "schema S:\n    y?: int\n    mixin = 1\n"))
    assert not last.diagnostics, "after the first statement it is a name like any other"
