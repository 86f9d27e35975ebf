"""Expressions: precedence, literals, and what each form becomes."""

from typing import Any

import pytest

from kcl.source import SourceFile
from kcl.syntax import ast, parse
from tests.kcl.syntax.trees import tree_of


def expression(text: str) -> Any:
    return tree_of(f"x = {text}\n")[1][0][2][3]


def grouped(text: str) -> str:
    """The expression with every operator's operands in parentheses."""

    def show(node: Any) -> str:
        match node:
            case ("binary", op, left, right):
                return f"({show(left)} {op} {show(right)})"
            case ("compare", left, ops, right):
                pairs = " ".join(f"{op} {show(value)}" for op, value in zip(ops, right, strict=True))
                return f"({show(left)} {pairs})"
            case ("unary", op, operand):
                return f"({op} {show(operand)})"
            case ("if expr", body, cond, orelse):
                return f"({show(body)} if {show(cond)} else {show(orelse)})"
            case ("cast", value):
                return f"({show(value)} as _)"
            case ("name", name):
                return str(name)
            case ("int", value, None):
                return str(value)
            case _:
                raise AssertionError(node)

    return show(expression(text))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("2 ** 3 ** 2", "((2 ** 3) ** 2)"),  # to the left, unlike Python
        ("-2 ** 2", "((- 2) ** 2)"),  # a sign binds to its operand alone
        ("a or b and c", "(a or (b and c))"),
        ("not a in b", "((not a) in b)"),
        ("a not in b", "(a not in b)"),
        ("a is not b", "(a is not b)"),
        ("a == b in c", "(a == (b in c))"),  # two levels, not one chain
        ("a in b is c < d", "(a in (b is (c < d)))"),
        ("a < b <= c", "(a < b <= c)"),
        ("a < b | c", "(a < (b | c))"),
        ("a | b ^ c & d << e + f", "(a | (b ^ (c & (d << (e + f)))))"),
        ("a < b + c < d == e", "(a < (b + c) < d == e)"),  # a weaker comparison joins the chain on its left
        ("a == b and c != d", "((a == b) and (c != d))"),
        ("a if b else c if d else e", "(a if b else (c if d else e))"),
        ("a + b as int", "((a + b) as _)"),
        ("a // b % c", "((a // b) % c)"),
        ("a >> b - c", "(a >> (b - c))"),
    ],
)
def test_operators_group_by_the_order_of_kcl(text: str, meaning: str) -> None:
    assert grouped(text) == meaning


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", ("int", 0, None)),
        ("1_000", ("int", 1000, None)),
        ("0x1F", ("int", 31, None)),
        ("0b101", ("int", 5, None)),
        ("0o17", ("int", 15, None)),
        ("017", ("int", 15, None)),
        ("1Ki", ("int", 1, "Ki")),
        ("10m", ("int", 10, "m")),
        ("1.5", ("float", 1.5)),
        ("1e3", ("float", 1000.0)),
        ("1.5e-3", ("float", 0.0015)),
        ("1.", ("float", 1.0)),
        ("True", ("constant", "True")),
        ("Undefined", ("constant", "Undefined")),
    ],
)
def test_literals(text: str, value: Any) -> None:
    assert expression(text) == value


def test_a_member_of_an_integer_is_no_float() -> None:
    assert expression("1.foo") == ("selector", ("int", 1, None), "foo", False)


@pytest.mark.parametrize("word", ["type", "schema", "check", "import", "in", "as", "rule"])
def test_keywords_are_names_where_nothing_else_is_possible(word: str) -> None:
    assert expression(f"a.{word}") == ("selector", ("name", "a"), word, False)
    assert expression(f"{{{word} = 1}}") == ("config", [("entry", ("name", word), None, "=", ("int", 1, None))])


def test_a_dollar_makes_a_name_of_any_keyword() -> None:
    assert expression("$if + $type") == ("binary", "+", ("name", "if"), ("name", "type"))


def test_selectors_subscripts_calls_and_slices_chain() -> None:
    assert expression("a.b?.c[0]?[1](2, k=3)[1:][:2][::3]") == (
        "slice",
        (
            "slice",
            (
                "slice",
                (
                    "call",
                    (
                        "subscript",
                        (
                            "subscript",
                            ("selector", ("selector", ("name", "a"), "b", False), "c", True),
                            ("int", 0, None),
                            False,
                        ),
                        ("int", 1, None),
                        True,
                    ),
                    [("int", 2, None)],
                    [("k", ("int", 3, None))],
                ),
                ("int", 1, None),
                None,
                None,
                False,
            ),
            None,
            ("int", 2, None),
            None,
            False,
        ),
        None,
        None,
        ("int", 3, None),
        False,
    )


def test_dotted_keys_nest_and_keep_the_operator_inside() -> None:
    one = ("int", 1, None)
    assert expression("{a.b.c += 1}") == expression("{a: {b: {c += 1}}}")
    assert expression("{a.b[0] = 1}") == (
        "config",
        [("entry", ("name", "a"), None, ":", ("config", [("entry", ("name", "b"), ("int", 0, None), "=", one)]))],
    )


def test_the_configs_of_a_dotted_key_say_they_were_not_written() -> None:
    source = SourceFile("f.k", "x = {a.b = 1}")
    statement = parse(source).module.body[0]
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Config)
    outer = statement.value.items[0]
    assert isinstance(outer, ast.Entry) and isinstance(outer.value, ast.Config)
    assert statement.value.written and not outer.value.written
    assert source.text[outer.value.start : outer.value.end] == "b = 1"


def test_comprehensions_quantifiers_and_lambdas() -> None:
    x, y = ("name", "x"), ("name", "y")
    assert expression("[x for i, x in y if x]") == (
        "list comp",
        x,
        [("clause", [("name", "i"), x], y, [x])],
    )
    assert expression("{k += [v] for k, v in y}") == (
        "config comp",
        ("entry", ("name", "k"), None, "+=", ("list", [("name", "v")])),
        [("clause", [("name", "k"), ("name", "v")], y, [])],
    )
    assert expression("all x in y {x if y}") == ("quantifier", "all", [x], y, x, y)
    assert expression("filter i, x in {a = 1} {x}")[2] == [("name", "i"), x]
    assert expression("lambda x: int = 1, y -> str { x }") == (
        "lambda",
        [("x", ("basic type", "int"), ("int", 1, None)), ("y", None, None)],
        ("basic type", "str"),
        [(1, 35, ("expr", [x]))],
    )


def test_a_lambda_may_put_its_parameters_in_braces_over_lines() -> None:
    assert expression("lambda {\n  a: {str:}\n  b\n} -> any {\n  a\n}")[1:3] == (
        [("a", ("dict type", ("basic type", "str"), None), None), ("b", None, None)],
        ("basic type", "any"),
    )


def test_a_dict_type_before_a_lambda_body_is_a_type() -> None:
    assert expression("lambda a: {str:int} { a }")[1] == [
        ("a", ("dict type", ("basic type", "str"), ("basic type", "int")), None)
    ]


def test_schemas_are_instantiated_with_and_without_arguments() -> None:
    name = ("selector", ("name", "p"), "S", False)
    assert expression("p.S {}") == ("schema expr", name, [], [], ("config", []))
    assert expression("p.S(1, k=2) {}") == (
        "schema expr",
        name,
        [("int", 1, None)],
        [("k", ("int", 2, None))],
        ("config", []),
    )


def test_spans_frame_the_source_of_every_node() -> None:
    source = SourceFile("f.k", 'x = [a.b(1), {c = -d}, "s", lambda p { p }]\n')
    statement = parse(source).module.body[0]
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List)
    texts = [source.text[item.start : item.end] for item in statement.value.items]
    assert texts == ["a.b(1)", "{c = -d}", '"s"', "lambda p { p }"]
