"""Nodes that are made of nodes: what was read as one thing and turns out, by what follows, to be another.

An expression becomes what is assigned to, a dotted key the configurations it stands for, a string documentation. The
official parser does the same after it has read an expression, and in the same words where that cannot be.
"""

from __future__ import annotations

from typing import Any

from kcl.syntax import ast
from kcl.syntax.literals import dedent
from kcl.syntax.tokens import Report

# what the official parser calls each kind of expression in its messages
EXPRESSION_NAMES = {
    ast.Name: "Identifier",
    ast.Constant: "NameConstantLitExpression",
    ast.Int: "NumberLitExpression",
    ast.Float: "NumberLitExpression",
    ast.Str: "StringLitExpression",
    ast.JoinedStr: "JoinedStringExpression",
    ast.Paren: "ParenExpression",
    ast.Unary: "UnaryExpression",
    ast.Binary: "BinaryExpression",
    ast.Compare: "CompareExpression",
    ast.Cast: "BinaryExpression",
    ast.IfExpr: "IfExpression",
    ast.Selector: "SelectorExpression",
    ast.Subscript: "SubscriptExpression",
    ast.Slice: "SubscriptExpression",
    ast.Call: "CallExpression",
    ast.SchemaExpr: "SchemaExpression",
    ast.List: "ListExpression",
    ast.ListComp: "ListCompExpression",
    ast.Config: "ConfigExpression",
    ast.ConfigComp: "DictCompExpression",
    ast.Quantifier: "QuantExpression",
    ast.Lambda: "LambdaExpression",
    ast.Missing: "MissingExpression",
}
# what it adds where such an expression is assigned to
NOT_ASSIGNABLE = {
    ast.Slice: ", because the left-hand side of an assignment expression may not be a slice access.",
    ast.Selector: ", because the left-hand side of an assignment expression may not be an optional attribute access.",
    ast.Subscript: ", because the left-hand side of an assignment expression may not be an optional subscript access",
}


def dotted_names(value: Any) -> tuple[str, ...]:
    """The segments of `a.b.c`."""
    names = []
    while isinstance(value, ast.Selector):
        names.append(value.name)
        value = value.value
    names.append(value.id if isinstance(value, ast.Name) else "")
    return tuple(reversed(names))


def is_identifier(value: Any) -> bool:
    """Whether `value` is a name or dotted names."""
    while isinstance(value, ast.Selector) and not value.optional:
        value = value.value
    return isinstance(value, ast.Name)


def target(value: ast.Expr, report: Report, span: tuple[int, int] | None = None) -> ast.Target | None:
    """`value` as what is assigned to; None if it cannot be, which is reported at `span` if one is given."""
    path: list[ast.Member | ast.Index] = []
    inner = value
    while True:
        match inner:
            case ast.Name():
                path.reverse()
                return ast.Target(value.start, value.end, inner.id, path, inner.end)
            case ast.Selector(optional=False):
                path.append(ast.Member(inner.name_start, inner.end, inner.name))
                inner = inner.value
            case ast.Subscript(optional=False):
                path.append(ast.Index(inner.index.start, inner.end, inner.index))
                inner = inner.value
            case _:
                if span is not None:
                    name, why = EXPRESSION_NAMES[type(inner)], NOT_ASSIGNABLE.get(type(inner), "")
                    report(*span, f"'{name}' is an illegal expression for assignment{why}")
                return None


def entry(key: ast.Expr, op: ast.ConfigOp, value: ast.Expr) -> ast.Entry:
    """`key op value`, with dotted keys nested: `a.b.c op value` as `a: {b: {c op value}}`."""
    if isinstance(key, ast.Name):
        return ast.Entry(key.start, value.end, key, None, op, value)
    index: ast.Expr | None = None
    if isinstance(key, ast.Subscript) and isinstance(key.value, (ast.Name, ast.Selector)):
        index, key = key.index, key.value
    if isinstance(key, ast.Selector) and is_identifier(key):
        return _nested_entry(key, index, op, value)
    return ast.Entry(key.start, value.end, key, index, op, value)


def _nested_entry(key: ast.Selector, index: ast.Expr | None, op: ast.ConfigOp, value: ast.Expr) -> ast.Entry:
    names: list[ast.Name] = []
    inner: ast.Expr = key
    while isinstance(inner, ast.Selector):
        names.append(ast.Name(inner.name_start, inner.end, inner.name))
        inner = inner.value
    assert isinstance(inner, ast.Name)
    last, *outer = names
    made = ast.Entry(last.start, value.end, last, index, op, value)
    for name in (*outer, inner):
        config = ast.Config(made.start, made.end, [made], written=False)
        made = ast.Entry(name.start, value.end, name, None, ast.ConfigOp.UNION, config)
    return made


def attribute(
    name: ast.Expr,
    type_: ast.Type,
    op: ast.AugOp | ast.ConfigOp | None,
    value: ast.Expr | None,
    report: Report,
    *,
    optional: bool = False,
    decorators: list[ast.Decorator] | None = None,
) -> ast.SchemaAttr | None:
    """An attribute of a schema; None, reported, where `name` cannot be its name."""
    match name:
        case ast.Name():
            text = name.id
        case ast.Str():
            text = name.value
        case ast.Selector() if optional:
            report(name.end, name.end + 1, "expected expression, got ?")
            return None
        case ast.Selector():
            names = dotted_names(name)
            # With a value the official parser takes the first name only, without one the checker refuses it.
            text = names[0] if op is ast.ConfigOp.OVERRIDE else ".".join(names)
        case _:
            report(name.start, name.end, "the name of an attribute is an identifier or a string")
            return None
    end = type_.end if value is None else value.end
    return ast.SchemaAttr(name.start, end, text, optional, type_, op, value, decorators or [], name.end)


def split_documentation(body: list[ast.Stmt], text: str, *, dedents: bool) -> tuple[ast.Str | None, list[ast.Stmt]]:
    """The triple-quoted string that the statements of a file begin with, and the rest."""
    if body and isinstance(body[0], ast.ExprStmt):
        doc = documentation(body[0].value, text, dedents=dedents)
        if doc is not None:
            return doc, body[1:]
    return None, body


def documentation(value: ast.Expr, text: str, *, dedents: bool) -> ast.Str | None:
    """`value` as documentation, in which `${...}` is text; None if it is something else."""
    if isinstance(value, ast.Str) and value.triple:
        return value
    if isinstance(value, ast.JoinedStr) and value.triple:
        content = text[value.start + 3 : value.end - 3]
        return ast.Str(value.start, value.end, dedent(content) if dedents else content, False, True)
    return None
