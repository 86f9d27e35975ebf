"""The Common Expression Language, from text to a tree (https://github.com/google/cel-spec, doc/langdef.md).

Macros are calls here: what they mean is for who translates them. Messages (`Type{field: value}`) are refused.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from kcl.patterns import pattern
from kcl.records import dataclass

_LONGEST: Final = 10_000
_DEEPEST: Final = 60


class CelError(ValueError):
    """The text is no expression, or one that is not read here."""


@dataclass(frozen=True, slots=True)
class Literal:
    """`kind` is one of string, int, double, bool, null, and other for what has no like in KCL."""

    value: Any
    kind: str


@dataclass(frozen=True, slots=True)
class Name:
    text: str


@dataclass(frozen=True, slots=True)
class Select:
    of: Expression
    name: str
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    of: Expression
    at: Expression
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, or a method where `target` is not None."""

    name: str
    target: Expression | None
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    of: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice:
    condition: Expression
    then: Expression
    otherwise: Expression


Expression: TypeAlias = Literal | Name | Select | Index | Call | ListOf | Unary | Binary | Choice

_TOKEN: Final = pattern(
    r"""(?P<space>(?:\s+|//[^\n]*)+)
    |(?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}
        |\"(?:[^\\\"\n]|\\.)*\"|'(?:[^\\'\n]|\\.)*'))
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<int>0x[0-9a-fA-F]+[uU]?|\d+[uU]?)
    |(?P<quoted>`[^`\n]+`)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_RAW: Final = pattern(r"""(?i:r[b]?|b?r)(\"{3}|'{3}|[\"'])(.*)\1""", re.DOTALL)
_PLAIN: Final = pattern(r"""(\"{3}|'{3}|[\"'])(.*)\1""", re.DOTALL)
_ESCAPE: Final = pattern(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_STRENGTH: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/%", 5),
}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def parsed(text: str) -> Expression:
    """The tree of an expression. Raises CelError."""
    if len(text) > _LONGEST:
        raise CelError("it is too long")
    parser = _Parser(_tokens(text))
    found = parser.expression()
    if parser.token.kind != "end":
        raise CelError(f"{parser.token.text!r:.40} is not expected")
    return found


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CelError(f"{text[at]!r} is not expected")
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match[0]))
        at = match.end()
    return [*found, _Token("end", "the end")]


class _Parser:
    """Reads by strength of operators."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def token(self) -> _Token:
        return self._tokens[self._at]

    def _is(self, sign: str) -> bool:
        return self.token.text == sign and self.token.kind in ("sign", "name")

    def _take(self, sign: str) -> bool:
        if self._is(sign):
            self._at += 1
            return True
        return False

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise CelError(f"{sign} is missing before {self.token.text!r:.40}")

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CelError("it is nested too deeply")
        found = self._binary(1)
        if self._take("?"):
            then = self._binary(1)
            self._need(":")
            found = Choice(found, then, self.expression())
        self._depth -= 1
        return found

    def _binary(self, least: int) -> Expression:
        left = self._unary()
        while self.token.kind in ("sign", "name") and (strength := _STRENGTH.get(self.token.text, 0)) >= least:
            operator = self.token.text
            self._at += 1
            left = Binary(operator, left, self._binary(strength + 1))
        return left

    def _unary(self) -> Expression:
        signs: list[str] = []
        while self._is("!") or self._is("-"):
            signs.append(self.token.text)
            self._at += 1
        if len(signs) > _DEEPEST:
            raise CelError("it is nested too deeply")
        found = self._member()
        for sign in reversed(signs):
            is_number = isinstance(found, Literal) and found.kind in ("int", "double")
            found = Literal(-found.value, found.kind) if sign == "-" and is_number else Unary(sign, found)  # type: ignore[union-attr]
        return found

    def _member(self) -> Expression:
        found = self._primary()
        links = 0
        while True:
            links += 1
            if links > _DEEPEST:
                raise CelError("it is nested too deeply")
            if self._take("."):
                is_optional = self._take("?")
                name = self._field()
                if not is_optional and self._take("("):
                    found = Call(name, found, self._arguments(")"))
                else:
                    found = Select(found, name, is_optional)
            elif self._take("["):
                is_optional = self._take("?")
                found = Index(found, self.expression(), is_optional)
                self._need("]")
            else:
                return found

    def _field(self) -> str:
        token = self.token
        if token.kind not in ("name", "quoted"):
            raise CelError(f"{token.text!r:.40} is no name of a field")
        self._at += 1
        return token.text.strip("`")

    def _primary(self) -> Expression:
        token = self.token
        self._at += 1
        match token.kind:
            case "int" | "float" | "string":
                return _literal(token)
            case "name" if token.text in ("true", "false"):
                return Literal(token.text == "true", "bool")
            case "name" if token.text == "null":
                return Literal(None, "null")
            case "name" if token.text != "in":
                return Call(token.text, None, self._arguments(")")) if self._take("(") else Name(token.text)
            case "sign" if token.text == "(":
                found = self.expression()
                self._need(")")
                return found
            case "sign" if token.text == "[":
                return ListOf(self._arguments("]"))
        raise CelError(f"{token.text!r:.40} is not expected")

    def _arguments(self, end: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self._take(end):
            found.append(self.expression())
            if not self._take(","):
                self._need(end)
                break
        return tuple(found)


def _literal(token: _Token) -> Literal:
    text = token.text
    if token.kind == "float":
        return Literal(float(text), "double")
    if token.kind == "int":
        if text[-1] in "uU":
            return Literal(text, "other")
        value = int(text, 0 if text.startswith("0x") else 10)
        return Literal(value, "int" if value < 2**63 else "other")
    raw = _RAW.fullmatch(text)
    if raw is not None:
        return Literal(raw[2], "other" if "b" in text[:2].lower() else "string")
    plain = _PLAIN.fullmatch(text)
    if plain is None:
        return Literal(text, "other")  # bytes
    return Literal(_ESCAPE.sub(_unescaped, plain[2]), "string")


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return _ESCAPED.get(found[1], found[1])
    code = found[2] or found[3] or found[4]
    if code is None and found[5] is None:
        raise CelError(f"there is no escape \\{found[6]}")
    number = int(code, 16) if code else int(found[5], 8)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        raise CelError("there is no such character")
    return chr(number)
