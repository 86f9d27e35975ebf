"""Statements, but for schemas and rules (schemas.py)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from kcl.syntax import ast, nodes
from kcl.syntax.descent.entries import Entries
from kcl.syntax.nodes import dotted_names, is_identifier
from kcl.syntax.tokens import Token

_AUG = {op.value: op for op in ast.AugOp}
_COMPOUND = frozenset(("if", "schema", "mixin", "protocol", "rule"))
_SIMPLE = frozenset(("import", "type", "assert"))
_Span = tuple[int, int]


class Statements(Entries):
    def statement(self) -> Any:
        """One statement, None where none begins, which is then reported."""
        self.skip_newlines()
        if self.token[0] == "eof":
            return None
        self.split_run()
        self.enter()
        found = self._compound() or self._simple()
        self.leave()
        if found is None:
            self.unexpected()
        return found

    def _compound(self) -> Any:
        kind, _, _, text = self.token
        if kind != "@" and (kind != "name" or text not in _COMPOUND):
            return None
        if text == "if":
            return self.if_statement()
        decorators = self.decorators() if self.token[0] == "@" else []
        if self.at_word("schema", "mixin", "protocol"):
            return self.schema(decorators)
        if self.at_word("rule"):
            return self.rule(decorators)
        return None

    def _simple(self) -> Any:
        self.skip_newlines()
        kind, start, _, text = self.token
        match kind:
            case "eof":
                return None
            case "name" if text not in _SIMPLE:
                return self.expression_or_assignment(in_schema=False)
            case "name" if text == "import":
                return self._import()
            case "name" if text == "type":
                return self._type_alias()
            case "name" if text == "assert":
                return self.assert_statement()
            case "~" | "!":
                value = self.test()
                self.skip_newlines()
                return ast.ExprStmt(start, value.end, value)
            case "int" | "float" | "str" | "(" | "[" | "{":
                return self.expression_or_assignment(in_schema=False)
            case _:
                return None

    def block(self) -> list[Any]:
        """Statements from an indent to its dedent."""
        body: list[Any] = []
        self.check_dedent()
        self.expect("indent")
        while self.token[0] != "eof":
            self.check_dedent()
            if self.at_block_end():
                self.bump()
                break
            statement = self.statement()
            if statement is None:
                self.bump()
            else:
                body.append(statement)
        self.skip_newlines()
        return body

    def if_statement(self) -> ast.If:
        branches: list[tuple[Token, Any, list[Any]]] = []
        keyword = self.bump()
        cond = self.test()
        self.expect(":")
        branches.append((keyword, cond, self._suite()))
        self.skip_newlines()
        while self.at_word("elif"):
            keyword = self.bump()
            cond = self.test()
            self.expect(":")
            branches.append((keyword, cond, self._suite()))
        self.skip_newlines()
        orelse: list[Any] = []
        if self.at_word("else"):
            start = self.bump()[1]
            if self.at_word("if"):
                self.report(start, self.token[2], "'else if' here is invalid in KCL, consider using the 'elif' keyword")
                self.bump()
            self.expect(":")
            orelse = self._suite()
        for keyword, cond, body in reversed(branches):
            last = orelse or body
            orelse = [ast.If(keyword[1], last[-1].end if last else cond.end, cond, body, orelse)]
        self.skip_newlines()
        made = orelse[0]
        assert isinstance(made, ast.If)
        return made

    def _suite(self) -> list[Any]:
        if self.token[0] == "newline":
            self.skip_newlines()
            return self.block()
        statement = self.expression_or_assignment(in_schema=False)
        if statement is None:
            self.bump()
            return []
        return [statement]

    def assert_statement(self) -> ast.Assert:
        keyword = self.bump()
        condition = self.condition(self.test)
        made = ast.Assert(keyword[1], self.before[2], *condition)
        self.skip_newlines()
        return made

    def condition(self, message: Callable[[], Any]) -> tuple[Any, Any, Any]:
        """`test if cond, message` with None for what is not there; `message` reads the last."""
        test, cond, said = self.value(), None, None
        if self.at_word("if"):
            self.bump()
            cond = self.value()
        if self.token[0] == ",":
            self.bump()
            said = message()
        return test, cond, said

    def _import(self) -> ast.Import:
        keyword = self.bump()
        dots: list[Token] = []
        while self.token[0] == "...":
            dots.append(self.bump())
        while self.token[0] == ".":
            dots.append(self.bump())
        name = self.dotted()
        alias = None
        if self.at_word("as"):
            self.bump()
            given = self.dotted()
            if isinstance(given, ast.Name):
                alias = given.id
            else:
                self.error(self.token, "Invalid import asname")
        names = dotted_names(name)
        level = sum(len(dot[3]) for dot in dots)
        path = "." * level + ".".join(names)
        start = dots[0][1] if dots else name.start
        made = ast.Import(keyword[1], self.before[2], path, level, names, alias, start, name.end)
        self.skip_newlines()
        return made

    def _type_alias(self) -> ast.TypeAlias:
        keyword = self.bump()
        first = self.token
        name = self._as_identifier(self.test(), first)
        self.expect("=")
        value = self.type()
        self.skip_newlines()
        return ast.TypeAlias(keyword[1], value.end, name, value)

    def _as_identifier(self, value: Any, first: Token) -> str:
        if is_identifier(value):
            return ".".join(dotted_names(value))
        self.error(first, "expected identifier")
        return ""

    # ------------------------------------------------------------------ expressions and assignments

    def expression_or_assignment(self, *, in_schema: bool) -> Any:
        """Also declarations, where `in_schema`. None when the statement is left out after an error."""
        first = self.token
        targets = [self.test()]
        spans = [self._span(first)]
        type_: ast.Type | None = None
        if self.token[0] == ":":
            self.bump()
            if self.at_type_name():
                schema = self.dotted()
                if self.token[0] in ("{", "("):
                    return self._unification(first, targets[0], schema)
                type_ = self.type(self.type_named(schema))
            else:
                type_ = self.type()
        elif self.token[0] in _AUG:
            return self._augmented(first, targets[0], spans[0])
        value: Any = None
        while self.token[0] == "=":
            self.bump()
            start = self.token
            if value is not None:
                targets.append(value)
            value = self.test()
            spans.append(self._span(start))
        if self.token[0] in _AUG and len(targets) == 1 and type_ is not None and in_schema:
            op = _AUG[self.bump()[0]]
            given = self.test()
            if is_identifier(targets[0]):
                self.skip_newlines()
                return self.attribute(targets[0], type_, op, given)
        end = self.before[2]
        if value is not None:
            made = []
            for target, span in zip(targets, spans, strict=False):
                assigned = nodes.target(target, self.report, span)
                if assigned is not None:
                    made.append(assigned)
            self.skip_newlines()
            # Of a path with a type nothing but the name it begins with counts in a schema.
            if in_schema and len(made) == 1 and type_ is not None:
                name = ast.Name(made[0].start, made[0].name_end, made[0].name)
                return self.attribute(name, type_, ast.ConfigOp.OVERRIDE, value)
            return ast.Assign(first[1], end, made, type_, value)
        if type_ is None:
            self.skip_newlines()
            return ast.ExprStmt(first[1], end, targets[0])
        if in_schema and is_identifier(targets[0]):
            self.skip_newlines()
            return self.attribute(targets[0], type_, None, None)
        return self._without_value(first, targets[0], spans[0], type_, in_schema)

    def _without_value(self, first: Token, target: Any, span: _Span, type_: ast.Type, in_schema: bool) -> Any:
        missing = self.missing_value()
        self.skip_newlines()
        self.missing("=")
        if in_schema:
            return None
        made = nodes.target(target, self.report, span)
        return ast.Assign(first[1], type_.end, [] if made is None else [made], type_, missing)

    def _augmented(self, first: Token, target: Any, span: _Span) -> Any:
        op = _AUG[self.bump()[0]]
        made = nodes.target(target, self.report, span)
        value = self.test()
        end = self.before[2]
        self.skip_newlines()
        return None if made is None else ast.AugAssign(first[1], end, made, op, value)

    def _unification(self, first: Token, target: Any, name: ast.Name | ast.Selector) -> Any:
        args: list[Any] = []
        keywords: list[ast.Keyword] = []
        if self.token[0] == "(":
            args, keywords = self.arguments()
        value = self.schema_expr(name, args, keywords)
        made = nodes.target(target, self.report) if is_identifier(target) else None
        if made is None:
            self.error(first, "expected identifier")
            made = ast.Target(first[1], first[2], "", [], first[2])
        self.skip_newlines()
        return ast.Unification(first[1], value.end, made, value)

    def attribute(self, name: Any, type_: ast.Type, op: Any, value: Any) -> ast.SchemaAttr | None:
        return nodes.attribute(name, type_, op, value, self.report)

    def _span(self, first: Token) -> _Span:
        """Of what was read since `first`, which is backwards where that was nothing."""
        return min(first[1], self.before[2]), max(first[1], self.before[2])

    # ------------------------------------------------------------------ what schemas.py reads

    @abstractmethod
    def decorators(self) -> list[ast.Decorator]:
        """`@name` or `@name(...)`, one or more."""

    @abstractmethod
    def schema(self, decorators: list[ast.Decorator]) -> ast.Schema:
        """A schema, mixin or protocol, from its keyword."""

    @abstractmethod
    def rule(self, decorators: list[ast.Decorator]) -> ast.Rule:
        """A rule, from its keyword."""
