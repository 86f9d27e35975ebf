"""Schemas, rules, lambdas, and whole files."""

from __future__ import annotations

from typing import Any

from kcl.diagnostics import Code
from kcl.patterns import pattern
from kcl.syntax import ast, nodes
from kcl.syntax.descent.expressions import NO_NAMES
from kcl.syntax.descent.reader import GaveUp, shortened
from kcl.syntax.descent.scanner import scan, scan_part
from kcl.syntax.descent.statements import Statements
from kcl.syntax.nodes import is_identifier
from kcl.syntax.tokens import Report, Token

_DOTTED = pattern(r"([^\W\d]\w*+)(?>(?:\.[^\W\d]\w*+)*)")
_AUG = {op.value: op for op in ast.AugOp}


def read(
    text: str,
    report: Report,
    comments: list[ast.Comment],
    *,
    dedents: bool,
    with_runs: bool,
    tokens: list[Token] | None = None,
) -> list[Any]:
    """The statements of a file, as far as they can be read. What is scanned becomes what `tokens` holds, if given."""
    found = tokens_of(text, report, comments, with_runs=with_runs)
    if tokens is not None:
        tokens[:] = found
    return Parser(text, found, report, dedents).file()


def tokens_of(text: str, report: Report, comments: list[ast.Comment], *, with_runs: bool) -> list[Token]:
    """What the statements of a file are read from."""
    found = scan(text, report, comments, with_runs=with_runs)
    if found[-2:-1] and found[-2][0] != "newline":
        found.insert(-1, ("newline", found[-1][1], found[-1][1], ""))
    return found


class Parser(Statements):
    def __init__(self, text: str, tokens: list[Token], report: Report, dedents: bool) -> None:
        super().__init__(text, tokens, report, dedents)
        self._before_arrows: set[int] | None = None  # where braces stand before whose match an arrow follows

    def file(self) -> list[Any]:
        body: list[Any] = []
        try:
            while self.token[0] != "eof":
                statement = self.statement()
                if statement is None:
                    self.bump()
                else:
                    body.append(statement)
        except GaveUp:
            pass
        return body

    # ------------------------------------------------------------------ schemas

    def schema(self, decorators: list[ast.Decorator]) -> ast.Schema:
        keyword = self.bump()
        at = self.token
        name = self._declared_name()
        params = self._schema_parameters()
        parent = host = None
        if self.token[0] == "(":
            self.bump()
            parent = self.dotted()
            self.expect(")")
        if self.at_word("for"):
            host = self._host()
        end = self.expect(":")[2]
        self.skip_newlines()
        made = ast.Schema(
            keyword[1],
            end,
            name,
            at[1],
            max(at[1], at[2]),
            None,
            params,
            parent,
            host,
            keyword[3] == "mixin" or name.endswith("Mixin"),
            keyword[3] == "protocol" or name.endswith("Protocol"),
            [],
            decorators,
            [],
            None,
            [],
        )
        if self.token[0] == "indent":
            self._schema_body(made)
            last = [*made.body, *made.checks, *filter(None, [made.index_signature, made.doc])]
            made.end = max([made.end, *(item.end for item in last)])
        return made

    def _declared_name(self) -> str:
        name = self.dotted()
        parts = []
        while isinstance(name, ast.Selector):
            parts.append(name.name)
            name = name.value
        return ".".join(reversed([*parts, name.id]))

    def _host(self) -> Any:
        self.bump()
        first = self.token
        host = self.test()
        if is_identifier(host):
            return host
        self.error(first, "expected identifier")
        return ast.Name(first[1], first[1], "")

    def _schema_parameters(self) -> list[ast.Param]:
        if self.token[0] != "[":
            return []
        self.bump()
        return self._parameters(("]",), bump_close=True)

    def _schema_body(self, schema: ast.Schema) -> None:
        self.bump()
        if not self.ahead_is(":"):
            schema.doc = self._doc()
        if self.at_word("mixin"):
            schema.mixins = self._mixins()
            schema.end = self.before[2]
            self.skip_newlines()
        while True:
            place = self.index
            self.check_dedent()
            if self.at_block_end() or self.token[0] == "eof" or self.at_word("check"):
                break
            if not self._schema_statement(schema):
                self.stuck(place)
        if self.at_word("check"):
            self.bump()
            self.expect(":")
            self.skip_newlines()
            self.expect("indent")
            schema.checks = self._checks()
        self.check_dedent()
        self.expect("dedent")
        self.skip_newlines()

    def _schema_statement(self, schema: ast.Schema) -> bool:
        """Reads one; False when it may be that nothing was read."""
        kind = self.token[0]
        if self.at_word("assert"):
            schema.body.append(self.assert_statement())
            return True
        if self.at_word("if"):
            schema.body.append(self.if_statement())
            return True
        if (kind == "str" and self.ahead_is(":")) or kind == "@" or self.ahead_is("?"):
            attribute = self._attribute()
            if attribute is not None:
                schema.body.append(attribute)
            return True
        if kind == "[":
            self._signature_or_list(schema)
            self.skip_newlines()
            return True
        statement = self.expression_or_assignment(in_schema=True)
        if statement is None:
            self.bump()
        else:
            schema.body.append(statement)
        return isinstance(statement, ast.SchemaAttr)

    def _doc(self) -> ast.Str | None:
        kind, _, _, text = self.token
        if kind != "str" or text[-3:] not in ('"""', "'''") or len(text) < 6:
            return None
        value = self.string(self.bump())
        self.skip_newlines()
        return nodes.documentation(value, self.text, dedents=self.dedents)

    def _mixins(self) -> list[Any]:
        self.bump()
        self.expect("[")
        lines = self.token[0] == "newline"
        if lines:
            self.skip_newlines()
            self.close("indent")
            self.split_run()
        mixins: list[Any] = []
        while True:
            place = self.index
            self.check_dedent()
            if self.token[0] in ("]", "eof") or self.at_block_end():
                break
            mixins.append(self.dotted())
            if self.token[0] == ",":
                self.bump()
            self.skip_newlines()
            self.stuck(place)
        if lines:
            self.check_dedent()
            self.close("dedent")
        self.expect("]")
        return mixins

    def _attribute(self) -> ast.SchemaAttr | None:
        decorators = self.decorators() if self.token[0] == "@" else []
        name: Any = self.string(self.bump()) if self.token[0] == "str" else None
        if not isinstance(name, ast.Str):
            name = self.dotted()
        optional = self.token[0] == "?"
        if optional:
            self.bump()
        self.expect(":")
        type_ = self.type()
        op: ast.AugOp | ast.ConfigOp | None = None
        if self.token[0] == "=":
            op = ast.ConfigOp.OVERRIDE
        elif self.token[0] in _AUG:
            op = _AUG[self.token[0]]
        value = None
        if op is not None:
            self.bump()
            value = self.test()
        self.skip_newlines()
        return nodes.attribute(name, type_, op, value, self.report, optional=optional, decorators=decorators)

    def _signature_or_list(self, schema: ast.Schema) -> None:
        bracket = self.bump()
        kind = self.token[0]
        if kind in ("newline", "]") or (kind == "name" and not self.ahead_is(":") and not self.ahead_is(":", 2)):
            value = self.list_after_bracket()
            schema.body.append(ast.ExprStmt(bracket[1], self.before[2], value))
            return
        following = self.ahead()
        if kind == "name" or (kind == "..." and following is not None and following[0] == "name"):
            signature = self._signature(bracket)
            if schema.index_signature is not None:
                message = "duplicate schema index signature definitions, only one is allowed in the schema"
                self.error(bracket, message)
            schema.index_signature = signature
            return
        self.error(self.token, f"expected a index signature or list expression here, got {self.shown(self.token)}")

    def _signature(self, bracket: Token) -> ast.IndexSignature:
        name: str | None = None
        other = self.token[0] == "..."
        if other:
            self.bump()
            key: ast.Type = self.type()
        else:
            first = self.token
            given = self.dotted()
            if self.token[0] == "]":
                key = self.type_named(given)
            else:
                name = self._as_identifier(given, first)
                self.expect(":")
                other = self.token[0] == "..."
                if other:
                    self.bump()
                key = self.type()
        self.expect("]")
        self.expect(":")
        value = self.type()
        default = None
        if self.token[0] == "=":
            self.bump()
            default = self.test()
        self.skip_newlines()
        end = value.end if default is None else default.end
        return ast.IndexSignature(bracket[1], end, name, key, other, value, default)

    def decorators(self) -> list[ast.Decorator]:
        found: list[ast.Decorator] = []
        while self.token[0] == "@":
            at = self.bump()
            match self.test():
                case ast.Name() | ast.Selector() as name if is_identifier(name):
                    found.append(ast.Decorator(at[1], name.end, name, [], []))
                case ast.Call(func=(ast.Name() | ast.Selector()) as name) as call:
                    found.append(ast.Decorator(at[1], call.end, name, call.args, call.keywords))
                case _:
                    self.missing("identifier")
            self.skip_newlines()
        return found

    # ------------------------------------------------------------------ rules and checks

    def rule(self, decorators: list[ast.Decorator]) -> ast.Rule:
        keyword = self.bump()
        at = self.token
        name = self._declared_name()
        params = self._schema_parameters()
        parents = self._rule_parents() if self.token[0] == "(" else []
        host = self._host() if self.at_word("for") else None
        self.expect(":")
        self.skip_newlines()
        self.expect("indent")
        doc = self._doc()
        self.check_dedent()
        checks = self._checks()
        end = checks[-1].end if checks else self.before[2]
        return ast.Rule(keyword[1], end, name, at[1], max(at[1], at[2]), doc, params, parents, host, decorators, checks)

    def _rule_parents(self) -> list[Any]:
        self.bump()
        parents: list[Any] = []
        while self.token[0] != ")":
            if self.token[0] in ("newline", "eof"):
                self.missing(")", ",")
                return parents
            first = self.token
            parent = self.test()
            if is_identifier(parent):
                parents.append(parent)
            else:
                self.error(first, "expected identifier")
            if self.token[0] not in (",", ")", "newline", "eof"):
                self.missing(",", ")")
                self.bump()
            if self.token[0] == ",":
                self.bump()
        self.bump()
        return parents

    def _checks(self) -> list[ast.Check]:
        """Checks to the end of their block."""
        checks: list[ast.Check] = []
        while not self.at_block_end():
            place = self.index
            if self.token[0] == "eof":
                self.missing("newline")
                break
            checks.append(self._check())
            self.skip_newlines()
            self.stuck(place)
        self.check_dedent()
        self.expect("dedent")
        return checks

    def _check(self) -> ast.Check:
        test, cond, message = self.condition(self.primary)
        return ast.Check(test.start, max(test.end, self.before[2]), test, cond, message)

    # ------------------------------------------------------------------ lambdas

    def _parameters(self, closing: tuple[str, ...], *, bump_close: bool) -> list[ast.Param]:
        params: list[ast.Param] = []
        while True:
            place = self.index
            if self.token[0] in closing:
                if bump_close:
                    self.bump()
                break
            if self.token[0] in ("newline", "eof"):
                self.missing(*closing)
                break
            params.append(self._parameter())
            if self.token[0] == ",":
                self.bump()
            self.stuck(place)
        self.skip_newlines()
        return params

    def _parameter(self) -> ast.Param:
        first = self.token
        name = self._declared_name()
        type_ = default = None
        if self.token[0] == ":":
            self.bump()
            type_ = self.type()
        if self.token[0] == "=":
            self.bump()
            default = self.test()
        return ast.Param(first[1], max(first[1], self.before[2]), name, type_, default)

    def lambda_(self) -> ast.Lambda:
        keyword = self.bump()
        params: list[ast.Param] = []
        result = None
        if self.token[0] == "{" and self._closes_before_arrow():
            self.bump()
            params = self._parameters_on_lines()
        elif self.token[0] not in ("->", "(", "[", "{"):
            params = self._parameters(("->", "{"), bump_close=False)
        if self.token[0] == "->":
            self.bump()
            result = self.type()
        self.expect("{")
        lines = self._opens_lines()
        body: list[Any] = []
        while True:
            place = self.index
            self.skip_indentation()
            if self.token[0] in ("}", "eof"):
                break
            statement = self.statement()
            if statement is None:
                self.bump()
            else:
                body.append(statement)
                self.skip_newlines()
            self.stuck(place)
        if lines:
            self.skip_dedents()
        self.expect("}")
        return ast.Lambda(keyword[1], self.before[2], params, result, body)

    def _closes_before_arrow(self) -> bool:
        """Whether the brace here holds the parameters of a lambda: an arrow follows its match."""
        if self._before_arrows is None:
            self._before_arrows = set()
            opened: list[int] = []
            for place, (kind, start, _, _) in enumerate(self.tokens):
                if kind == "{":
                    opened.append(start)
                elif kind == "}" and opened:
                    brace = opened.pop()
                    if self.ahead_is("->", place + 1 - self.index):
                        self._before_arrows.add(brace)
        return self.token[1] in self._before_arrows

    def _parameters_on_lines(self) -> list[ast.Param]:
        """Parameters to behind their closing brace, with line ends anywhere between them."""
        params: list[ast.Param] = []
        while True:
            place = self.index
            self.skip_newlines()
            self.skip_indentation()
            self.split_run()
            if self.token[0] in ("}", "eof"):
                break
            params.append(self._parameter())
            if self.token[0] == ",":
                self.bump()
            self.stuck(place)
        self.expect("}")
        return params

    # ------------------------------------------------------------------ strings

    def _plain_dotted(self, start: int, end: int) -> ast.Name | ast.Selector:
        """The dotted names at `text[start:end]`."""
        first, *rest = self.text[start:end].split(".")
        at = start + len(first)
        value: ast.Name | ast.Selector = ast.Name(start, at, first)
        for name in rest:
            value = ast.Selector(start, at + 1 + len(name), value, name, False, at + 1)
            at = value.end
        return value

    def interpolation(self, start: int, end: int) -> ast.FormattedValue:
        first, last = start + 2, end - 1
        plain = _DOTTED.fullmatch(self.text, first, last)
        if plain and plain[1] not in NO_NAMES:
            return ast.FormattedValue(start, end, self._plain_dotted(first, last), None)
        if first == last:
            self.report(start, end, "invalid string interpolation expression: ''")
        inner = Parser(self.text, scan_part(self.text, self.report, first, last), self.report, self.dedents)
        inner._depth = self._depth + 1
        value = inner.test()
        spec = None
        if inner.token[0] == ":":
            inner.bump()
            if inner.token[0] == "comment":
                spec = inner.token[3][1:].lower()
                if spec not in ("json", "yaml"):
                    message = f"{inner.token[3]} is a invalid format spec"
                    self.report(first, last, message, Code.COMPILE)
                    spec = None
            else:
                inner.error(inner.token, "invalid joined string spec without #")
            inner.bump()
        inner.skip_newlines()
        if first != last and inner.ahead() is not None:
            self.report(first, last, f"invalid string interpolation expression: '{shortened(self.text[first:last])}'")
        return ast.FormattedValue(start, end, value, spec)
