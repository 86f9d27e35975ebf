"""Expressions, but for what stands in configurations and lists (entries.py)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from kcl.diagnostics import Code
from kcl.syntax import ast
from kcl.syntax.descent.reader import MOST_NESTED, OPERAND, shortened, string_value
from kcl.syntax.descent.types import Types
from kcl.syntax.literals import decimal, string_parts, wide_integer
from kcl.syntax.nodes import dotted_names, is_identifier
from kcl.syntax.operators import group
from kcl.syntax.tokens import Token

_LEVELS = {
    "as": 1,
    "or": 2,
    "and": 3,
    "==": 4,
    "!=": 4,
    "in": 5,
    "not in": 5,
    "is": 6,
    "is not": 6,
    **dict.fromkeys(["<", "<=", ">", ">="], 7),
    "|": 8,
    "^": 9,
    "&": 10,
    "<<": 11,
    ">>": 11,
    "+": 12,
    "-": 12,
    "*": 13,
    "/": 13,
    "%": 13,
    "//": 13,
    "**": 14,
}
_UNARY_LEVEL = 15
_SUFFIXES = frozenset((".", "?", "(", "["))
_ALL_OPERATORS = (
    *("+", "-", "*", "/", "%", "**", "//", "<<", ">>", "^", "&", "|", "and", "or", "as"),
    *("==", "!=", "<", "<=", ">", ">=", "is", "in", "not in", "not", "is not"),
)
_UNARY = {"+": ast.UnaryOp.PLUS, "-": ast.UnaryOp.MINUS, "~": ast.UnaryOp.INVERT, "not": ast.UnaryOp.NOT}
_CONSTANTS = {kind.value: kind for kind in ast.ConstantKind}
_QUANTIFIERS = {op.value: op for op in ast.QuantifierOp}
NO_NAMES = frozenset((*_CONSTANTS, *_QUANTIFIERS, "lambda", "not"))
_OPERANDS = frozenset(("name", "str", "int", "float"))
# Before one of these a value ends, whatever it began with.
_ENDS = frozenset(("newline", ",", ")", "]", "}", ":", "=", "eof"))


class Expressions(Types, ABC):
    def missing_value(self) -> ast.Missing:
        return ast.Missing(self.token[1], self.token[1], ast.ConstantKind.UNDEFINED)

    def test(self) -> Any:
        """`value` or `value if condition else test`."""
        if self.token[0] in _OPERANDS and self.tokens[self.index + 1][0] in _ENDS:
            alone = self._alone()
            if alone is not None:
                return alone
        if self.token[0] == "indent":
            self.unexpected()
            self.bump()
        body = self.value()
        if not self.at_word("if"):
            return body
        self.bump()
        cond = self.value()
        if self.at_word("else"):
            self.bump()
            self.enter()
            orelse = self.test()
            self.leave()
        else:
            self.missing("else")
            orelse = self.missing_value()
        return ast.IfExpr(body.start, self.before[2], body, cond, orelse)

    def _alone(self) -> Any:
        """The operand that the token here is by itself; None if it is not one."""
        kind, start, end, text = self.token
        match kind:
            case "name" if text not in NO_NAMES:
                self.bump()
                return ast.Name(start, end, text.removeprefix("$"))
            case "str":
                return self.string(self.bump())
            case "int" | "float":
                return self._number(self.bump())
            case "name" if text in _CONSTANTS:
                self.bump()
                return ast.Constant(start, end, _CONSTANTS[text])
            case _:
                return None

    # ------------------------------------------------------------------ operators

    def value(self, floor: int = 0) -> Any:
        """Operands and operators that bind tighter than `floor`."""
        left = first = self._unary()
        ops: list[ast.CompareOp] = []
        compared: list[Any] = []
        while True:
            operator, length = self._operator()
            level = _LEVELS.get(operator, _UNARY_LEVEL if operator in ("~", "!") else 0)
            if level <= floor:
                return ast.Compare(first.start, compared[-1].end, first, ops, compared) if ops else left
            if operator in ("~", "!"):
                self.missing(*_ALL_OPERATORS)
                return left
            for _ in range(length):
                self.bump()
            if operator == "as":
                right: Any = self._cast_type(level)
            else:
                right = self.value(level)
            if operator in _COMPARE:
                if not ops:
                    first = left
                ops.append(_COMPARE[operator])
                compared.append(right)
                continue
            if ops:
                left = ast.Compare(first.start, compared[-1].end, first, ops, compared)
                ops, compared = [], []
            left = self._binary(left, operator, right)

    def _operator(self) -> tuple[str, int]:
        """The operator here and how many tokens it has; "" for none."""
        kind, _, _, text = self.token
        if kind != "name":
            return kind, 1
        following = self.ahead()
        if following is not None and following[0] == "name":
            if text == "not" and following[3] == "in":
                return "not in", 2
            if text == "is" and following[3] == "not":
                return "is not", 2
        return (text, 1) if text in _LEVELS else ("", 0)

    def _binary(self, left: Any, operator: str, right: Any) -> Any:
        if operator == "as":
            return ast.Cast(left.start, right.end, left, right)
        made = group([left, right], [operator])
        assert isinstance(made, ast.Binary)
        return made

    def _cast_type(self, level: int) -> ast.Type:
        """The official parser reads an expression here, and later takes it for a type; so a type must stand here."""
        if self.token[0] in ("name", "[", "{", "(", "str", "int", "float"):
            return self.type()
        self.value(level)
        return ast.BasicType(self.before[1], self.before[2], ast.BasicTypeName.ANY)

    def _unary(self) -> Any:
        kind, start, _, text = self.token
        operator = "not" if kind == "!" or (kind == "name" and text == "not") else kind
        if operator not in _UNARY:
            return self.primary()
        self.bump()
        operand = self.primary()
        return ast.Unary(start, self.before[2], _UNARY[operator], operand)

    # ------------------------------------------------------------------ primaries

    def primary(self) -> Any:
        self._depth += 1
        if self._depth > MOST_NESTED:
            self._too_deep()
        value = self._operand()
        if self.token[0] in _SUFFIXES:
            value = self._suffixes(value, calls=True)
        self._depth -= 1
        return value

    def _suffixes(self, value: Any, *, calls: bool) -> Any:
        while True:
            match self.token[0]:
                case ".":
                    value = self._selector(value, False)
                case "?" if self.ahead_is("."):
                    self.bump()
                    value = self._selector(value, True)
                case "?" if self.ahead_is("["):
                    self.bump()
                    value = self._subscript(value, True)
                case "(" if calls:
                    args, keywords = self.arguments()
                    value = ast.Call(value.start, self.before[2], value, args, keywords)
                case "[":
                    value = self._subscript(value, False)
                case _:
                    return value

    def _operand(self) -> Any:
        kind, start, _, text = self.token
        match kind:
            case "name":
                return self._named(text)
            case "int" | "float":
                return self._number(self.bump())
            case "str":
                return self.string(self.bump())
            case "(":
                self.bump()
                value = self.test()
                self.close(")")
                return ast.Paren(start, self.before[2], value)
            case "[":
                self.bump()
                return self.list_after_bracket()
            case "{":
                return self.config()
            case _:
                self.missing(*OPERAND)
                return self.missing_value()

    def _named(self, text: str) -> Any:
        if text in _CONSTANTS:
            token = self.bump()
            return ast.Constant(token[1], token[2], _CONSTANTS[text])
        if text == "lambda":
            return self.lambda_()
        if text in _QUANTIFIERS:
            return self._quantifier()
        name = self.dotted()
        if self.token[0] == "{":
            return self.schema_expr(name, [], [])
        if self.token[0] == "(":
            args, keywords = self.arguments()
            if self.token[0] == "{":
                return self.schema_expr(name, args, keywords)
            return ast.Call(name.start, self.before[2], name, args, keywords)
        return name

    def schema_expr(self, name: Any, args: Any, keywords: Any) -> ast.SchemaExpr:
        if self.token[0] != "{":
            # The official parser does not look at what it takes for the opening brace.
            self.bump()
            config: Any = self.config_after_brace(self.before)
        else:
            config = self.config()
        return ast.SchemaExpr(name.start, self.before[2], name, args, keywords, config)

    def _number(self, token: Token) -> ast.Int | ast.Float:
        kind, start, end, text = token
        if kind == "float":
            number = decimal(text)
            if number is None:
                self.error(token, f'expected one of ["float"] got {shortened(text)}')
            return ast.Float(start, end, number or 0.0)
        value, suffix = wide_integer(text)
        if value is None:
            self.error(token, f'expected one of ["int"] got {shortened(text)}')
        return ast.Int(start, end, value or 0, suffix)

    def _selector(self, value: Any, optional: bool) -> Any:
        self.bump()
        if self.token[0] != "name":
            self.missing("identifier")
            at = self.token[1]
            return ast.Selector(value.start, at, value, "", optional, at)
        name = self.dotted()
        parts: list[tuple[str, int, int]] = []
        while isinstance(name, ast.Selector):
            parts.append((name.name, name.name_start, name.end))
            name = name.value
        parts.append((name.id, name.start, name.end))
        for text, start, end in reversed(parts):
            value = ast.Selector(value.start, end, value, text, optional, start)
            optional = False
        return value

    def _subscript(self, value: Any, optional: bool) -> Any:
        self.bump()
        given: list[Any] = [None, None, None]
        place = colons = rounds = consecutive = 0
        while rounds <= 4 and self.token[0] != "]":
            if self.token[0] == ":":
                self.bump()
                colons += 1
                place = min(place + 1, 2)
                if colons > 2:
                    self.missing("expression", "]")
                consecutive -= 1
            else:
                if not colons and rounds == 1:
                    self.error(self.token, "a list should have only one expr")
                given[place] = self.test()
                consecutive += 1
                if consecutive > 1:
                    self.error(self.token, "consecutive exprs found")
            rounds += 1
        self.close("]")
        if colons:
            return ast.Slice(value.start, self.before[2], value, given[0], given[1], given[2], optional)
        if given[0] is None:
            self.error(self.token, f"expected expression got {self.shown(self.token)}")
            return ast.Slice(value.start, self.before[2], value, None, None, None, optional)
        return ast.Subscript(value.start, self.before[2], value, given[0], optional)

    # ------------------------------------------------------------------ calls

    def arguments(self) -> tuple[list[Any], list[ast.Keyword]]:
        """`( ... )`, from its opening bracket to behind its closing one."""
        self.bump()
        lines = self.token[0] == "newline"
        if lines:
            self.skip_newlines()
            self.skip_indentation()
            if self.token[0] == ")":
                self.bump()
                return [], []
        args: list[Any] = []
        keywords: list[ast.Keyword] = []
        while True:
            place = self.index
            self.skip_indentation()
            if self.token[0] in (")", "eof") or (self.token[0] == "newline" and not lines) or self.at_word("for"):
                break
            self._argument(args, keywords)
            if self.token[0] == ",":
                self.bump()
            if lines:
                self.skip_newlines()
            self.stuck(place)
        if self.token[0] == ",":
            self.bump()
        self.close(")")
        return args, keywords

    def _argument(self, args: list[Any], keywords: list[ast.Keyword]) -> None:
        first = self.token
        value = self.test()
        if self.token[0] == "=":
            self.bump()
            name = ""
            if is_identifier(value):
                name = ".".join(dotted_names(value))
            else:
                self.missing("identifier")
            given = self.test()
            keywords.append(ast.Keyword(value.start, self.before[2], name, given))
            return
        if isinstance(value, ast.Missing):
            self.missing(",")
            self.bump()
        else:
            args.append(value)
        if keywords:
            self.error(first, "positional argument follows keyword argument")

    # ------------------------------------------------------------------ quantifiers

    def _quantifier(self) -> Any:
        keyword = self.bump()
        targets = [self.dotted()]
        if self.token[0] == ",":
            self.bump()
            targets.append(self.dotted())
        if self.at_word("in"):
            self.bump()
        else:
            self.missing("in")
        iterable = self._quantifier_target()
        self.close("{")
        lines = self.token[0] == "newline"
        if lines:
            self.skip_newlines()
            self.close("indent")
        body = self.value()
        cond = None
        if self.at_word("if"):
            self.bump()
            cond = self.test()
        if lines:
            if self.token[0] == "newline":
                self.skip_newlines()
            else:
                self.missing("newline")
            self.check_dedent()
            if self.at_block_end():
                self.bump()
            else:
                self.missing("dedent")
        self.close("}")
        op = _QUANTIFIERS[keyword[3]]
        names = [self.loop_variable(target) for target in targets]
        return ast.Quantifier(keyword[1], self.before[2], op, names, iterable, body, cond)

    def _quantifier_target(self) -> Any:
        kind, _, _, text = self.token
        match kind:
            case "name" if text in ("None", "Undefined", "lambda", *_QUANTIFIERS):
                self.missing("None", "Undefined", "lambda", "any", "all", "map", "filter")
                return self.missing_value()
            case "name":
                return self._suffixes(self.dotted(), calls=False)
            case "str":
                return self.string(self.bump())
            case "int" | "float":
                self.missing("str")
                return self.missing_value()
            case "[":
                self.bump()
                return self.list_after_bracket()
            case "{":
                return self.config()
            case "(":
                self.missing("[", "{")
                return self.missing_value()
            case _:
                self.missing("identifier", "literal")
                return self.missing_value()

    def loop_variable(self, name: Any) -> ast.Name:
        if isinstance(name, ast.Name):
            return name
        self.report(name.start, name.end, "loop variables can only be ordinary identifiers", Code.COMPILE)
        return ast.Name(name.start, name.end, dotted_names(name)[0])

    # ------------------------------------------------------------------ strings

    def string(self, token: Token) -> Any:
        _, start, end, written = token
        content, raw, triple = string_parts(written)
        value = string_value(written, self.dedents)
        if raw or "${" not in value:
            return ast.Str(start, end, value, raw, triple)
        return self._joined(start, end, content, value, 3 if triple else 1)

    def _joined(self, start: int, end: int, content: str, value: str, quotes: int) -> ast.JoinedStr:
        parts: list[str | ast.FormattedValue] = []
        at = inside = 0
        while True:
            opening, value_opening = content.find("${", at), value.find("${", inside)
            if opening < 0 or value_opening < 0:
                break
            closing, value_closing = content.find("}", opening), value.find("}", value_opening)
            if closing < 0 or value_closing < 0:
                self.error(self.token, "invalid joined string")
                break
            if opening > at and content[opening - 1] == "\\":
                _add(parts, value[inside : value_closing + 1].replace("\\$", "$"))
            else:
                _add(parts, value[inside:value_opening])
                parts.append(self.interpolation(start + quotes + opening, start + quotes + closing + 1))
            at, inside = closing + 1, value_closing + 1
        _add(parts, value[inside:])
        return ast.JoinedStr(start, end, parts, quotes == 3)

    # ------------------------------------------------------------------ what other parts read

    @abstractmethod
    def interpolation(self, start: int, end: int) -> ast.FormattedValue:
        """`${value}` or `${value: #spec}` at `text[start:end]`."""

    @abstractmethod
    def list_after_bracket(self) -> Any:
        """A list or comprehension, behind its opening bracket."""

    @abstractmethod
    def config(self) -> Any:
        """A configuration or comprehension, from its opening brace."""

    @abstractmethod
    def config_after_brace(self, brace: Token) -> Any:
        """The same, behind what was taken for its opening brace."""

    @abstractmethod
    def lambda_(self) -> Any:
        """A lambda, from its keyword."""


_COMPARE = {op.value: op for op in ast.CompareOp}


def _add(parts: list[str | ast.FormattedValue], piece: str) -> None:
    """Append a literal piece, one with the piece before it."""
    if not piece:
        return
    if parts and isinstance(parts[-1], str):
        parts[-1] += piece
    else:
        parts.append(piece)
