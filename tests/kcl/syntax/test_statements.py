"""Statements, schemas and types."""

from typing import Any

import pytest

from kcl.source import SourceFile
from kcl.syntax import ast, parse
from tests.kcl.syntax.trees import tree_of


def statement(text: str) -> Any:
    return tree_of(text)[1][0][2]


def type_of(text: str) -> Any:
    return statement(f"x: {text} = a\n")[2]


A, B = ("name", "a"), ("name", "b")


@pytest.mark.parametrize(
    ("text", "path", "alias"),
    [
        ("import a", "a", None),
        ("import a.b.c as d", "a.b.c", "d"),
        ("import .a", ".a", None),
        ("import ..a.b", "..a.b", None),
        ("import ...a", "...a", None),
    ],
)
def test_imports_keep_their_path_as_written(text: str, path: str, alias: str | None) -> None:
    assert statement(text) == ("import", path, alias)
    node = parse(SourceFile("f.k", text)).module.imports()[0]
    assert text[node.path_start : node.path_end] == path
    assert node.level == len(path) - len(path.lstrip("."))
    assert node.name == (alias or path.rpartition(".")[2])


def test_assignments_name_their_targets() -> None:
    one = ("int", 1, None)
    assert statement("a = b = 1") == ("assign", [("target", "a", []), ("target", "b", [])], None, one)
    assert statement('_a.b["c"].d = 1')[1] == [
        ("target", "_a", [("member", "b"), ("index", ("str", "c")), ("member", "d")])
    ]
    assert statement("a: int = 1") == ("assign", [("target", "a", [])], ("basic type", "int"), one)
    for op in ("+=", "-=", "*=", "**=", "/=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>="):
        assert statement(f"_a {op} 1") == ("aug", ("target", "_a", []), op, one)


def test_a_schema_after_a_colon_is_a_unification() -> None:
    assert statement("a: p.S {}") == (
        "unification",
        ("target", "a", []),
        ("schema expr", ("selector", ("name", "p"), "S", False), [], [], ("config", [])),
    )
    assert statement("a: S(1) {}")[2][2] == [("int", 1, None)]


def test_asserts_have_conditions_and_messages() -> None:
    assert statement('assert a if b, "m"') == ("assert", A, B, ("str", "m"))
    assert statement("assert a") == ("assert", A, None, None)


def test_if_chains_nest_in_their_else() -> None:
    chain = statement("if a:\n    x = 1\nelif b: x = 2\nelse:\n    x = 3\n")
    assert chain[1] == A
    (nested,) = chain[3]
    assert nested[2][1] == B and len(nested[2][3]) == 1


def test_type_aliases() -> None:
    assert tree_of("type T = int | str")[1] == [
        ("type alias", "T", ("union type", [("basic type", "int"), ("basic type", "str")]))
    ]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("any", ("basic type", "any")),
        ("p.S", ("named type", ["p", "S"])),
        ("[int]", ("list type", ("basic type", "int"))),
        ("[]", ("list type", None)),
        ("{str:int}", ("dict type", ("basic type", "str"), ("basic type", "int"))),
        ("{str:}", ("dict type", ("basic type", "str"), None)),
        ("{:}", ("dict type", None, None)),
        ('"a" | 1 | True | 1Ki | 1.5', ("union type", [
            ("literal type", "a", None), ("literal type", 1, None), ("literal type", True, None),
            ("literal type", 1, "Ki"), ("literal type", 1.5, None),
        ])),
        ("(int, S) -> str", ("function type", [("basic type", "int"), ("named type", ["S"])], ("basic type", "str"))),
        ("()", ("function type", [], None)),
        ("{str:[int | S]}", ("dict type", ("basic type", "str"), ("list type", ("union type", [
            ("basic type", "int"), ("named type", ["S"]),
        ])))),
    ],
)  # fmt: skip
def test_types(text: str, meaning: Any) -> None:
    assert type_of(text) == meaning


SCHEMA = '''\
@deprecated(version="1", strict=True)
schema Server[image: str, tag = "x"](base.Server) for ServerProtocol:
    """What it is: ${no} interpolation here."""
    mixin [
        AMixin,
        b.BMixin
    ]
    name: str
    @info
    replicas?: int = 1
    "quoted-name": str
    labels: {str:str} |= {a: "b"}
    type: str
    if name:
        kind = "named"
    [key: ...str]: any = 1
    assert name

    check:
        name
        replicas > 0 if replicas, "must be positive"
'''


def test_a_schema_has_its_parts() -> None:
    (schema,) = parse(SourceFile("f.k", SCHEMA)).module.body
    assert isinstance(schema, ast.Schema)
    assert schema.name == "Server" and SCHEMA[schema.name_start : schema.name_end] == "Server"
    assert [param.name for param in schema.params] == ["image", "tag"]
    assert schema.doc is not None and schema.doc.value == "What it is: ${no} interpolation here."
    assert len(schema.mixins) == 2 and schema.parent is not None and schema.host is not None
    assert [decorator.keywords[0].name for decorator in schema.decorators] == ["version"]
    attributes = [node for node in schema.body if isinstance(node, ast.SchemaAttr)]
    assert [(node.name, node.optional, node.op) for node in attributes] == [
        ("name", False, None),
        ("replicas", True, "="),
        ("quoted-name", False, None),
        ("labels", False, "|="),
        ("type", False, None),
    ]
    assert [SCHEMA[node.start : node.name_end] for node in attributes][1:3] == ["replicas", '"quoted-name"']
    assert len(attributes[1].decorators) == 1
    assert [type(node) for node in schema.body if not isinstance(node, ast.SchemaAttr)] == [ast.If, ast.Assert]
    signature = schema.index_signature
    assert signature is not None and (signature.name, signature.any_other) == ("key", True)
    assert [check.message is not None for check in schema.checks] == [False, True]
    assert SCHEMA[: schema.end].endswith('"must be positive"')


@pytest.mark.parametrize(
    ("text", "mixin", "protocol"),
    [
        ("schema A:\n", False, False),
        ("mixin A:\n    a: int\n", True, False),
        ("protocol A:\n    a: int\n", False, True),
        ("schema AMixin:\n    a: int\n", True, False),
        ("schema AProtocol:\n    a: int\n", False, True),
    ],
)
def test_mixins_and_protocols_are_known_by_keyword_or_name(text: str, mixin: bool, protocol: bool) -> None:
    (schema,) = parse(SourceFile("f.k", text)).module.body
    assert isinstance(schema, ast.Schema)
    assert (schema.is_mixin, schema.is_protocol) == (mixin, protocol)


def test_rules_are_checks_with_a_head() -> None:
    text = 'rule R[a](P, q.Q) for S:\n    """doc"""\n    a > 1\n    b if a, "m"\n'
    (rule,) = parse(SourceFile("f.k", text)).module.body
    assert isinstance(rule, ast.Rule)
    assert rule.doc is not None and len(rule.parents) == 2 and len(rule.checks) == 2


def test_checks_need_no_line_between_a_value_and_a_negation() -> None:
    (schema,) = parse(SourceFile("f.k", "schema A:\n    a: int\n    check:\n        a not None\n")).module.body
    assert isinstance(schema, ast.Schema)
    assert len(schema.checks) == 2


def test_only_a_triple_quoted_string_documents() -> None:
    assert parse(SourceFile("f.k", '"""d"""\na = 1\n')).module.doc is not None
    assert parse(SourceFile("f.k", '"d"\na = 1\n')).module.doc is None
    assert parse(SourceFile("f.k", '\n"""d"""\na = 1\n')).module.doc is None


def test_an_empty_file_is_an_empty_module() -> None:
    for text in ("", "\n", "# only a comment", "  \n\t\n"):
        assert tree_of(text) == (None, [])
