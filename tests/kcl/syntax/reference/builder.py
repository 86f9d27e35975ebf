"""The methods the grammar names: from the values of a rule's symbols to a node.

Every method takes the values of its alternative in grammar.lark in order: tokens `(type, start,
end, text)` for terminals, what other methods returned for the rest. What the grammar leaves open
because one token of lookahead cannot settle it (may this be assigned to? is this a schema's
attribute or an annotated variable?) is settled here, and reported if it is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kcl.syntax import ast
from kcl.syntax.literals import dedent
from kcl.syntax.nodes import EXPRESSION_NAMES, NOT_ASSIGNABLE, dotted_names
from tests.kcl.syntax.reference.expressions import BASIC_TYPES, Expressions
from tests.kcl.syntax.reference.tokens import Token

_WORD = re.compile(r"\w+")
_AUG = {op.value: op for op in ast.AugOp}


@dataclass(slots=True, eq=False, repr=False)
class Declaration(ast.Node):
    """`name?: type op value`, before it is known where it stands."""

    name: ast.Expr
    optional: bool
    type: ast.Type
    op: ast.AugOp | ast.ConfigOp | None
    values: list[ast.Expr]
    decorators: list[ast.Decorator]


@dataclass(slots=True, eq=False, repr=False)
class CheckBlock(ast.Node):
    """The checks of a schema, before they are part of it."""

    checks: list[ast.Check]


@dataclass(slots=True, eq=False, repr=False)
class MixinList(ast.Node):
    """The mixins of a schema, before they are part of it."""

    mixins: list[ast.Name | ast.Selector]


_SCHEMA_ONLY = (CheckBlock, MixinList, ast.IndexSignature)


class Builder(Expressions):
    """Makes the nodes of one file and collects what is wrong with it."""

    # ------------------------------------------------------------------ files and blocks

    def file(self, statements: list[Any]) -> list[ast.Stmt]:
        return self._block(statements)

    def expression(self, value: ast.Expr) -> ast.Expr:
        return value

    def _block(self, statements: list[Any]) -> list[ast.Stmt]:
        """Statements of a file, a lambda or an `if`: declarations need a value, parts of schemas have no place."""
        block = []
        for statement in statements:
            if isinstance(statement, Declaration):
                statement = self._assignment(statement)
            elif isinstance(statement, ast.ExprStmt) and self.text[statement.start] in "+-":
                self.report(statement.start, statement.end, "a statement may not begin with a sign")
            elif isinstance(statement, _SCHEMA_ONLY):
                self.report(statement.start, statement.end, "this may stand only in the body of a schema")
                continue
            if statement is not None:
                block.append(statement)
        return block

    def _assignment(self, declaration: Declaration) -> ast.Assign | ast.AugAssign | None:
        if declaration.optional or declaration.decorators:
            self.report(declaration.start, declaration.end, "an attribute may stand only in the body of a schema")
            return None
        if not declaration.values:
            self.report(declaration.end - 1, declaration.end, 'expected one of ["="] got newline')
            return None
        targets, value = [declaration.name, *declaration.values[:-1]], declaration.values[-1]
        if isinstance(declaration.op, ast.AugOp):
            self.report(declaration.start, declaration.end, "a type may not stand in an augmented assignment")
            return None
        made = self._targets(targets)
        return ast.Assign(declaration.start, value.end, made, declaration.type, value) if made else None

    def lambda_(self, keyword: Token, params: Any, result: Any, _: Token, statements: Any, close: Token) -> ast.Lambda:
        return ast.Lambda(keyword[1], close[2], params, result, self._block(statements))

    def lambda_braced(
        self,
        keyword: Token,
        _: Token,
        params: Any,
        __: Token,
        ___: Token,
        result: Any,
        ____: Token,
        statements: Any,
        close: Token,
    ) -> ast.Lambda:
        return ast.Lambda(keyword[1], close[2], params, result, self._block(statements))

    # ------------------------------------------------------------------ simple statements

    def import_plain(self, keyword: Token, dots: list[Token], name: ast.Expr) -> ast.Import:
        return self.import_statement(keyword, dots, name, None, name.end)

    def import_as(self, keyword: Token, dots: list[Token], name: ast.Expr, _: Token, alias: Token) -> ast.Import:
        return self.import_statement(keyword, dots, name, alias[3], alias[2])

    def import_statement(
        self, keyword: Token, dots: list[Token], name: ast.Expr, alias: str | None, end: int
    ) -> ast.Import:
        names = dotted_names(name)
        level = sum(len(dot[3]) for dot in dots)
        start = dots[0][1] if dots else name.start
        return ast.Import(keyword[1], end, "." * level + ".".join(names), level, names, alias, start, name.end)

    def type_alias(self, keyword: Token, name: Token, _: Token, value: ast.Type) -> ast.TypeAlias:
        return ast.TypeAlias(keyword[1], value.end, name[3], value)

    def assert_plain(self, keyword: Token, test: ast.Expr) -> ast.Assert:
        return ast.Assert(keyword[1], test.end, test, None, None)

    def assert_if(self, keyword: Token, test: ast.Expr, _: Token, cond: ast.Expr) -> ast.Assert:
        return ast.Assert(keyword[1], cond.end, test, cond, None)

    def assert_message(self, keyword: Token, test: ast.Expr, _: Token, message: ast.Expr) -> ast.Assert:
        return ast.Assert(keyword[1], message.end, test, None, message)

    def assert_if_message(
        self, keyword: Token, test: ast.Expr, _: Token, cond: ast.Expr, __: Token, message: ast.Expr
    ) -> ast.Assert:
        return ast.Assert(keyword[1], message.end, test, cond, message)

    def expression_statement(self, value: ast.Expr) -> ast.ExprStmt:
        return ast.ExprStmt(value.start, value.end, value)

    def assignment_first(self, target: ast.Expr, _: Token, value: ast.Expr) -> list[ast.Expr]:
        return [target, value]

    def assignment_next(self, values: Any, _: Token, value: ast.Expr) -> Any:
        values.append(value)
        return values

    def assign(self, values: list[ast.Expr]) -> ast.Assign | None:
        *targets, value = values
        made = self._targets(targets)
        return ast.Assign(values[0].start, value.end, made, None, value) if made else None

    def aug_assign(self, target: ast.Expr, op: Token, value: ast.Expr) -> ast.AugAssign | None:
        made = self._target(target)
        return None if made is None else ast.AugAssign(target.start, value.end, made, _AUG[op[3]], value)

    def unification(self, head: tuple[ast.Expr, bool], schema: Any, config: Any) -> ast.Unification | None:
        return self._unification(head, ast.SchemaExpr(schema.start, config.end, schema, [], [], config))

    def unification_with_arguments(
        self, head: tuple[ast.Expr, bool], schema: Any, _: Token, arguments: list[Any], __: Token, config: Any
    ) -> ast.Unification | None:
        args, keywords = self._arguments(arguments)
        return self._unification(head, ast.SchemaExpr(schema.start, config.end, schema, args, keywords, config))

    def _unification(self, head: tuple[ast.Expr, bool], value: ast.SchemaExpr) -> ast.Unification | None:
        if isinstance(value.name, ast.Name) and value.name.id in BASIC_TYPES:
            self.report(value.start, value.end, "a configuration belongs to a schema")
        target = self._target(head[0])
        return None if target is None else ast.Unification(target.start, value.end, target, value)

    def _targets(self, values: list[ast.Expr]) -> list[ast.Target]:
        return [target for target in map(self._target, values) if target is not None]

    def _target(self, value: ast.Expr) -> ast.Target | None:
        return self.target(value, (value.start, value.end))

    def target(self, value: ast.Expr, span: tuple[int, int] | None = None) -> ast.Target | None:
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
                        self.report(*span, f"'{name}' is an illegal expression for assignment{why}")
                    return None

    # ------------------------------------------------------------------ declarations

    def head_required(self, name: ast.Expr, _: Token) -> tuple[ast.Expr, bool]:
        return name, False

    def head_optional(self, name: ast.Expr, _: Token, __: Token) -> tuple[ast.Expr, bool]:
        return name, True

    def declaration_bare(self, head: tuple[ast.Expr, bool], type_: ast.Type) -> Declaration:
        return Declaration(head[0].start, type_.end, head[0], head[1], type_, None, [], [])

    def declaration_aug(self, head: tuple[ast.Expr, bool], type_: ast.Type, op: Token, value: ast.Expr) -> Declaration:
        return Declaration(head[0].start, value.end, head[0], head[1], type_, _AUG[op[3]], [value], [])

    def annotated_first(self, head: tuple[ast.Expr, bool], type_: ast.Type, _: Token, value: ast.Expr) -> list[Any]:
        return [head, type_, value]

    def declaration_assigned(self, parts: list[Any]) -> Declaration:
        (name, optional), type_, *values = parts
        return Declaration(name.start, values[-1].end, name, optional, type_, ast.ConfigOp.OVERRIDE, values, [])

    def decorator(self, at: Token, value: ast.Expr, _: Token) -> ast.Decorator:
        match value:
            case ast.Name() | ast.Selector():
                return ast.Decorator(at[1], value.end, value, [], [])
            case ast.Call(func=(ast.Name() | ast.Selector()) as name):
                return ast.Decorator(at[1], value.end, name, value.args, value.keywords)
            case _:
                self.report(value.start, value.end, "a decorator is a name or a call of a name")
                return ast.Decorator(at[1], value.end, ast.Name(value.start, value.end, ""), [], [])

    def decorated(self, decorators: list[ast.Decorator], statement: Any) -> Any:
        statement.decorators = decorators
        return statement

    def decorated_declaration(self, decorators: list[ast.Decorator], declaration: Any, _: Token) -> Any:
        declaration.decorators = decorators
        return declaration

    # ------------------------------------------------------------------ if

    def if_statement(self, keyword: Token, cond: ast.Expr, _: Token, body: list[Any], orelse: list[Any]) -> ast.If:
        block, otherwise = self._block(body), self._block(orelse)
        last = otherwise or block
        return ast.If(keyword[1], last[-1].end if last else cond.end, cond, block, otherwise)

    def elif_statement(self, *parts: Any) -> list[Any]:
        return [self.if_statement(*parts)]

    def else_statement(self, _: Token, __: Token, body: list[Any]) -> list[Any]:
        return body

    # ------------------------------------------------------------------ schemas and rules

    def schema(
        self,
        keyword: Token,
        name: Token,
        params: list[ast.Param],
        parent: Any,
        host: Any,
        colon: Token,
        _: Token,
        statements: list[Any],
    ) -> ast.Schema:
        doc, statements = self.split_doc(statements)
        body: list[ast.Stmt] = []
        mixins: list[ast.Name | ast.Selector] = []
        checks: list[ast.Check] = []
        signature: ast.IndexSignature | None = None
        end = colon[2]
        for place, statement in enumerate(statements):
            if statement is None:
                continue
            end = statement.end
            if self.text.startswith(("check", "mixin"), statement.start):
                self._refuse_keyword(statement, is_first=place == 0)
            match statement:
                case Declaration():
                    attribute = self._attribute(statement)
                    if attribute is not None:
                        body.append(attribute)
                case ast.IndexSignature():
                    if signature is not None:
                        self.report(
                            statement.start,
                            statement.start + 1,
                            "duplicate schema index signature definitions, only one is allowed in the schema",
                        )
                    signature = statement
                case MixinList():
                    if place:
                        self.report(statement.start, statement.end, "mixins must stand first in the body of a schema")
                    mixins += statement.mixins
                case CheckBlock():
                    if place != len(statements) - 1:
                        self.report(statement.start, statement.end, "checks must stand last in the body of a schema")
                    checks += statement.checks
                case ast.Schema() | ast.Rule() | ast.Import() | ast.TypeAlias():
                    self.report(statement.start, statement.end, "this may not stand in the body of a schema")
                case _:
                    body.append(statement)
        return ast.Schema(
            keyword[1],
            max(end, doc.end if doc else 0),
            name[3],
            name[1],
            name[2],
            doc,
            params,
            parent,
            host,
            keyword[3] == "mixin" or name[3].endswith("Mixin"),
            keyword[3] == "protocol" or name[3].endswith("Protocol"),
            mixins,
            [],
            body,
            signature,
            checks,
        )

    def _refuse_keyword(self, statement: ast.Node, *, is_first: bool) -> None:
        """Reports what is named by a word that begins a part of a schema wherever it stands: `check`, `mixin` first."""
        word = _WORD.match(self.text, statement.start)
        if word and not isinstance(statement, MixinList | CheckBlock):
            if word[0] == "check" or (word[0] == "mixin" and is_first):
                self.report(statement.start, word.end(), f"{word[0]} begins a part of the schema here")

    def attribute(
        self,
        name: ast.Expr,
        optional: bool,
        type_: ast.Type,
        op: ast.AugOp | ast.ConfigOp | None,
        value: ast.Expr | None,
        decorators: list[ast.Decorator],
    ) -> ast.SchemaAttr | None:
        """An attribute of a schema; None, reported, where `name` cannot be its name."""
        end = type_.end if value is None else value.end
        values = [] if value is None else [value]
        return self._attribute(Declaration(name.start, end, name, optional, type_, op, values, decorators))

    def _attribute(self, declaration: Declaration) -> ast.SchemaAttr | None:
        name = declaration.name
        match name:
            case ast.Name():
                text = name.id
            case ast.Str():
                text = name.value
            case ast.Selector() if declaration.optional:
                self.report(name.end, name.end + 1, "expected expression, got ?")
                return None
            case ast.Selector():
                names = dotted_names(name)
                # With a value the official parser takes the first name only, without one the checker refuses it.
                text = names[0] if declaration.op is ast.ConfigOp.OVERRIDE else ".".join(names)
            case _:
                self.report(name.start, name.end, "the name of an attribute is an identifier or a string")
                return None
        if len(declaration.values) > 1:
            return None if self._assignment(declaration) is None else self._attribute_of_chain(declaration, text)
        value = declaration.values[0] if declaration.values else None
        return ast.SchemaAttr(
            declaration.start,
            declaration.end,
            text,
            declaration.optional,
            declaration.type,
            declaration.op,
            value,
            declaration.decorators,
            name.end,
        )

    def _attribute_of_chain(self, declaration: Declaration, name: str) -> ast.SchemaAttr | None:
        self.report(declaration.start, declaration.end, f"attribute '{name}' can have one default value only")
        return None

    def split_doc(self, statements: list[Any]) -> tuple[ast.Str | None, list[Any]]:
        """The triple-quoted string a file or a body begins with, and the rest."""
        if statements and isinstance(statements[0], ast.ExprStmt):
            doc = self.documentation(statements[0].value)
            if doc is not None:
                return doc, statements[1:]
        return None, statements

    def documentation(self, value: ast.Expr) -> ast.Str | None:
        """`value` as documentation, in which `${...}` is text; None if it is something else."""
        if isinstance(value, ast.Str) and value.triple:
            return value
        if isinstance(value, ast.JoinedStr) and value.triple:
            content = self.text[value.start + 3 : value.end - 3]
            return ast.Str(value.start, value.end, dedent(content) if self.dedents else content, False, True)
        return None

    def check_block(
        self, keyword: Token, _: Token, __: Token, ___: Token, checks: list[ast.Check], ____: Token
    ) -> CheckBlock:
        return CheckBlock(keyword[1], checks[-1].end, checks)

    def check_plain(self, test: ast.Expr) -> ast.Check:
        return ast.Check(test.start, test.end, test, None, None)

    def check_if(self, test: ast.Expr, _: Token, cond: ast.Expr) -> ast.Check:
        return ast.Check(test.start, cond.end, test, cond, None)

    def check_message(self, test: ast.Expr, _: Token, message: ast.Expr) -> ast.Check:
        return ast.Check(test.start, message.end, test, None, message)

    def check_if_message(self, test: ast.Expr, _: Token, cond: ast.Expr, __: Token, message: ast.Expr) -> ast.Check:
        return ast.Check(test.start, message.end, test, cond, message)

    def mixin_list(self, keyword: Token, _: Token, names: list[Any], *rest: Token) -> MixinList:
        return MixinList(keyword[1], rest[-2][2], names)

    mixin_list_comma = mixin_list

    def mixin_list_empty(self, keyword: Token, _: Token, close: Token, __: Token) -> MixinList:
        return MixinList(keyword[1], close[2], [])

    def signature_plain(
        self, open_: Token, key: ast.Type, _: Token, __: Token, type_: ast.Type, default: Any
    ) -> ast.IndexSignature:
        return self._signature(open_, None, key, False, type_, default)

    def signature_other(
        self, open_: Token, _: Token, key: ast.Type, __: Token, ___: Token, type_: ast.Type, default: Any
    ) -> ast.IndexSignature:
        return self._signature(open_, None, key, True, type_, default)

    def signature_named(
        self, open_: Token, name: Token, _: Token, key: ast.Type, __: Token, ___: Token, type_: ast.Type, default: Any
    ) -> ast.IndexSignature:
        return self._signature(open_, name[3], key, False, type_, default)

    def signature_named_other(
        self,
        open_: Token,
        name: Token,
        _: Token,
        __: Token,
        key: ast.Type,
        ___: Token,
        ____: Token,
        type_: ast.Type,
        default: Any,
    ) -> ast.IndexSignature:
        return self._signature(open_, name[3], key, True, type_, default)

    def _signature(
        self, open_: Token, name: str | None, key: ast.Type, other: bool, type_: ast.Type, default: ast.Expr | None
    ) -> ast.IndexSignature:
        end = type_.end if default is None else default.end
        return ast.IndexSignature(open_[1], end, name, key, other, type_, default)

    def rule(
        self,
        keyword: Token,
        name: Token,
        params: list[ast.Param],
        parents: list[Any],
        host: Any,
        _: Token,
        __: Token,
        ___: Token,
        checks: list[ast.Check],
        ____: Token,
    ) -> ast.Rule:
        doc = self.documentation(checks[0].test) if checks[0].end == checks[0].test.end else None
        end = checks[-1].end
        if doc is not None:
            checks = checks[1:]
        return ast.Rule(keyword[1], end, name[3], name[1], name[2], doc, params, parents, host, [], checks)

    def parameter_plain(self, name: Token) -> ast.Param:
        return ast.Param(name[1], name[2], name[3], None, None)

    def parameter_typed(self, name: Token, _: Token, type_: ast.Type) -> ast.Param:
        return ast.Param(name[1], type_.end, name[3], type_, None)

    def parameter_default(self, name: Token, _: Token, default: ast.Expr) -> ast.Param:
        return ast.Param(name[1], default.end, name[3], None, default)

    def parameter_typed_default(
        self, name: Token, _: Token, type_: ast.Type, __: Token, default: ast.Expr
    ) -> ast.Param:
        return ast.Param(name[1], default.end, name[3], type_, default)
