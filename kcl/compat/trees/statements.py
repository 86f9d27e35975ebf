"""Statements in the official tree, and a file as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from kcl.compat.trees.expressions import BINARY, Expressions
from kcl.compat.trees.places import Json, bare_identifier
from kcl.compat.trees.types import type_text
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.parser import parse


@dataclass(frozen=True, slots=True)
class Target:
    """What an import leads to: the path of the package from its root, and the name of the package that root is of."""

    path: str
    package: str


def module_tree(source: SourceFile, path: str, targets: Sequence[Target], *, dedents: bool) -> Json:
    """The tree of a text without errors of syntax; `path` is the file's name in it, `targets` are of its imports.

    Raises `RecursionError` for a text that is nested too deeply.
    """
    read = SourceFile(source.path, source.text.replace("\r\n", "\n"))
    return _Tree(read, path, targets).module(parse(read, dedent=dedents).module)


class _Tree(Expressions):
    def __init__(self, source: SourceFile, path: str, targets: Sequence[Target]) -> None:
        super().__init__(source, path)
        self._targets = iter(targets)

    def module(self, tree: ast.Module) -> Json:
        return {
            "filename": self._path,
            "doc": self._doc(tree.doc),
            "body": self.statements(tree.body),
            "comments": [self.at(each.start, each.end, {"text": each.text}) for each in tree.comments],
        }

    def statements(self, body: list[ast.Stmt]) -> list[Json]:
        return list(map(self._statement, body))

    def _statement(self, node: ast.Stmt) -> Json:
        match node:
            case ast.Import():
                return self._import(node)
            case ast.TypeAlias():
                return self._alias(node)
            case ast.Assign() | ast.AugAssign():
                return self.of(node, self._bare_assignment(node))
            case ast.Unification():
                return self._unification(node)
            case ast.Assert():
                return self.of(node, {"type": "Assert", **self._tested(node)})
            case ast.If():
                return self._if(node)
            case ast.ExprStmt():
                return self.of(node, {"type": "Expr", "exprs": [self.expression(node.value)]})
            case ast.SchemaAttr():
                return self._attribute(node)
            case ast.Schema():
                return self._schema(node)
            case ast.Rule():
                return self._rule(node)
            case _:
                assert_never(node)

    def _alias(self, node: ast.TypeAlias) -> Json:
        at = self.next_token(node.start + len("type"))
        made = {
            "type": "TypeAlias",
            "type_name": self.lone(at),
            "type_value": self.of(node.value, type_text(node.value)),
            "ty": self.type_node(node.value),
        }
        return self.at(at, node.end, made)

    def _bare_assignment(self, node: ast.Assign | ast.AugAssign) -> Json:
        value = self.expression(node.value)
        if isinstance(node, ast.AugAssign):
            return {"type": "AugAssign", "target": self._target(node.target), "value": value, "op": _aug(node.op)}
        targets = list(map(self._target, node.targets))
        return {"type": "Assign", "targets": targets, "value": value, "ty": self.maybe_type(node.type)}

    def _import(self, node: ast.Import) -> Json:
        alias = None
        if node.alias is not None:
            alias = self.word(self.next_token(self.next_token(node.path_end) + len("as")))
        target = next(self._targets)
        made = {
            "type": "Import",
            "path": self.at(node.path_start, node.path_end, target.path),
            "rawpath": node.path,
            "name": node.name,
            "asname": alias,
            "pkg_name": target.package,
        }
        return self.of(node, made)

    def _unification(self, node: ast.Unification) -> Json:
        target = node.target
        names = self.segments(target.start, target.end)
        value = node.value
        made = {
            "type": "Unification",
            "target": self.identifier(target.start, target.end, names, "Store"),
            "value": self.at(target.start, value.end, self.bare_instance(value)),
        }
        return self.at(node.start, self.next_line(node.end), made)

    def _tested(self, node: ast.Assert | ast.Check) -> Json:
        return {
            "test": self.expression(node.test),
            "if_cond": self.maybe(node.cond),
            "msg": self.maybe(node.message),
        }

    def _if(self, node: ast.If) -> Json:
        orelse = self.statements(node.orelse)
        made = {"type": "If", "body": self.statements(node.body), "cond": self.expression(node.cond), "orelse": orelse}
        placed = self.at(node.start, self.next_token(node.end), made)
        if orelse and self._is_elif(node):  # ends with the last statement of what follows it
            placed |= {each: orelse[-1][each] for each in ("end_line", "end_column")}
        return placed

    def _attribute(self, node: ast.SchemaAttr) -> Json:
        at = node.name_end
        start = node.decorators[-1].end if node.decorators else node.start
        start = self.next_token(start)
        swallows = node.optional or isinstance(node.op, ast.AugOp) or bool(node.decorators) or self.text[start] in "\"'"
        made = {
            "type": "SchemaAttr",
            "doc": "",
            "name": self.at(start, at, node.name) if self.text[start] in "\"'" else self.word(start),
            "op": _aug(node.op),
            "value": self.maybe(node.value),
            "is_optional": node.optional,
            "decorators": list(map(self._decorator, node.decorators)),
            "ty": self.type_node(node.type),
        }
        first = self.text.rfind("@", 0, node.decorators[0].start + 1) if node.decorators else node.start
        return self.at(first, self.next_line(node.end) if swallows else node.end, made)

    def _decorator(self, node: ast.Decorator) -> Json:
        name = self.dotted(node.name)
        assert name is not None
        name["node"] = {"type": "Identifier", **name["node"]}
        made = {
            "func": name,
            "args": list(map(self.expression, node.args)),
            "keywords": list(map(self.keyword, node.keywords)),
        }
        return self.at(node.name.start, node.end, made)

    def _schema(self, node: ast.Schema) -> Json:
        made = {
            "type": "Schema",
            "doc": self._doc(node.doc),
            "name": self.word(node.name_start),
            "parent_name": self.dotted(node.parent),
            "for_host_name": self.dotted(node.host),
            "is_mixin": node.is_mixin,
            "is_protocol": node.is_protocol,
            "args": self._bracketed(node.params, node.name_end),
            "mixins": list(map(self.dotted, node.mixins)),
            "body": self.statements(node.body),
            "decorators": list(map(self._decorator, node.decorators)),
            "checks": list(map(self._check, node.checks)),
            "index_signature": self._signature(node.index_signature),
        }
        return self.at(node.start, self.next_token(node.end), made)

    def _rule(self, node: ast.Rule) -> Json:
        made = {
            "type": "Rule",
            "doc": self._doc(node.doc),
            "name": self.word(node.name_start),
            "parent_rules": list(map(self.dotted, node.parents)),
            "decorators": list(map(self._decorator, node.decorators)),
            "checks": list(map(self._check, node.checks)),
            "args": self._bracketed(node.params, node.name_end),
            "for_host_name": self.dotted(node.host),
        }
        return self.at(node.start, self.next_token(node.end), made)

    def _check(self, node: ast.Check) -> Json:
        return self.of(node, self._tested(node))

    def _signature(self, node: ast.IndexSignature | None) -> Json | None:
        if node is None:
            return None
        made = {
            "key_name": None if node.name is None else self.word(self.next_token(node.start + 1)),
            "value": self.maybe(node.default),
            "any_other": node.any_other,
            "key_ty": self._key_type(node),
            "value_ty": self.type_node(node.value_type),
        }
        return self.at(node.start, self.next_line(node.end), made)

    def _key_type(self, node: ast.IndexSignature) -> Json:
        """In `[str]: int` the official parser reads a name and not a type."""
        key = node.key_type
        made = self.type_node(key)
        if node.name is None and not node.any_other and isinstance(key, ast.BasicType):
            names = self.segments(key.start, key.end)
            made["node"] = {"type": "Named", "value": bare_identifier(names)}
        return made

    def _doc(self, node: ast.Str | None) -> Json | None:
        return None if node is None else self.of(node, self.text[node.start : node.end])

    def _bracketed(self, params: list[ast.Param], after: int) -> Json | None:
        """Parameters of a schema or rule, whose name ends at `after`."""
        opening = self.next_token(after)
        if self.text[opening : opening + 1] != "[":
            return None
        closing = self.next_token(params[-1].end if params else opening + 1)
        if self.text[closing : closing + 1] == ",":
            closing = self.next_token(closing + 1)
        return self.at(opening, closing + 1, self.parameters(params))

    def _target(self, target: ast.Target) -> Json:
        return self.of(
            target, {"name": self.word(target.start), "paths": list(map(self._step, target.path)), "pkgpath": ""}
        )

    def _step(self, step: ast.Member | ast.Index) -> Json:
        match step:
            case ast.Member():
                return {"type": "Member", "value": self.word(step.start)}
            case ast.Index():
                return {"type": "Index", "value": self.expression(step.value)}
            case _:
                assert_never(step)


def _aug(op: ast.AugOp | ast.ConfigOp | None) -> str | None:
    match op:
        case None:
            return None
        case ast.ConfigOp():
            return "Assign"
        case ast.AugOp():
            return BINARY[ast.BinaryOp(op.value.removesuffix("="))]
