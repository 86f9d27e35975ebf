"""From text to a tree. Positions are offsets in the text; messages are those of the server's parser."""

from __future__ import annotations

import re
from typing import Any, Final

from kcl.records import dataclass

MOST_DEPTH: Final = 60
LONGEST: Final = 8_000


class CelError(Exception):
    """`at` is where in the text. `also` is what else is wrong there."""

    def __init__(self, message: str, at: int, also: tuple[CelError, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.at, self.also = message, at, also


@dataclass(frozen=True, slots=True)
class Node:
    at: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    value: Any
    type: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    target: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`target` is what a member function is called on. Operators are functions named as `_+_`."""

    name: str
    target: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    entries: tuple[tuple[Node, Node], ...]


_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>[bB]?[rR]?(\"\"\"(\\.|[^\\])*?\"\"\"|'''(\\.|[^\\])*?'''|"(\\.|[^\\\n"])*"|'(\\.|[^\\\n'])*'))
    |(?P<double>[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+([eE][+-]?[0-9]+)?)
    |(?P<uint>(0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z0-9_.\-/ ]+`)
    |(?P<op>==|!=|<=|>=|&&|\|\||\[\?|\.\?|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)


def parse(text: str) -> Node:
    """Raises CelError."""
    if len(text) > LONGEST:
        raise CelError(f"expression code point size exceeds limit: size: {len(text)}, limit {LONGEST}", 0)
    parser = _Parser(text)
    tree = parser.expression()
    if parser.kind != "end":
        raise CelError(f"Syntax error: extraneous input '{parser.text}' expecting <EOF>", parser.at)
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.source, self.position, self.depth = text, 0, 0
        self.kind, self.text, self.at = "", "", 0
        self.advance()

    def advance(self) -> None:
        while True:
            if self.position >= len(self.source):
                self.kind, self.text, self.at = "end", "<EOF>", len(self.source)
                return
            found = _TOKEN.match(self.source, self.position)
            if found is None:
                rest = self.source[self.position : self.position + 2].strip("\n")
                raise CelError(f"Syntax error: token recognition error at: '{rest}'", self.position)
            self.at, self.position = self.position, found.end()
            if found.lastgroup != "space" and not found.group().startswith("//"):
                self.kind, self.text = _group(found), found.group()
                return

    def takes(self, *texts: str) -> bool:
        if self.kind in ("op", "name") and self.text in texts:
            self.advance()
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.takes(text):
            raise CelError(f"Syntax error: mismatched input '{self.text}' expecting '{text}'", self.at)

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise CelError("expression recursion limit exceeded: 250", self.at)
        condition, at = self.binary(0), self.at
        if self.takes("?"):
            yes = self.binary(0)
            self.expect(":")
            condition = Call(at, "_?_:_", None, (condition, yes, self.expression()))
        self.depth -= 1
        return condition

    def binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.kind in ("op", "name") and self.text in _LEVELS[level]:
            operator, at = self.text, self.at
            self.advance()
            name = "@in" if operator == "in" else f"_{operator}_"
            left = Call(at, name, None, (left, self.binary(level + 1)))
        return left

    def unary(self) -> Node:
        at, text = self.at, self.text
        count = 0
        while self.kind == "op" and self.text == text and text in ("!", "-"):
            count += 1
            self.advance()
        if text == "-" and count == 1 and self.kind in ("int", "double"):
            number = self.member()
            if isinstance(number, Literal):
                return Literal(at, -number.value, number.type)
            return Call(at, "-_", None, (number,))
        inner = self.member()
        if count % 2:
            return Call(at, "!_" if text == "!" else "-_", None, (inner,))
        return inner

    def member(self) -> Node:
        node = self.primary()
        while self.kind == "op" and self.text in (".", ".?", "[", "[?"):
            at, opening = self.at, self.text
            self.advance()
            if opening in ("[", "[?"):
                key = self.expression()
                self.expect("]")
                node = Call(at, "_[_]" if opening == "[" else "_[?_]", None, (node, key))
                continue
            field = self.field()
            if opening == "." and self.kind == "op" and self.text == "(":
                at = self.at
                self.advance()
                node = Call(at, field, node, self.arguments(")"))
            else:
                node = Select(at, node, field, opening == ".?")
        return node

    def field(self) -> str:
        if self.kind != "name":
            raise CelError(
                f"Syntax error: no viable alternative at input '.{'' if self.kind == 'end' else self.text}'", self.at
            )
        name = self.text.strip("`")
        self.advance()
        return _unescaped_name(name)

    def arguments(self, closing: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self.takes(closing):
            found.append(self.expression())
            if not self.takes(","):
                self.expect(closing)
                break
        return tuple(found)

    def primary(self) -> Node:
        at, text, kind = self.at, self.text, self.kind
        match kind:
            case "string" | "double" | "int" | "uint":
                self.advance()
                return _literal(at, kind, text)
            case "name" if text not in ("in",):
                self.advance()
                if text in ("true", "false"):
                    return Literal(at, text == "true", "bool")
                if text == "null":
                    return Literal(at, None, "null_type")
                if self.kind == "op" and self.text == "(":
                    at = self.at
                    self.advance()
                    return Call(at, text, None, self.arguments(")"))
                return Name(at, text)
        if kind == "op" and text == "(":
            self.advance()
            inner = self.expression()
            self.expect(")")
            return inner
        if kind == "op" and text == "[":
            self.advance()
            return ListOf(at, self.arguments("]"))
        if kind == "op" and text == "{":
            self.advance()
            return MapOf(at, self.entries())
        opening = "mismatched" if kind == "end" else "extraneous"
        raise CelError(f"Syntax error: {opening} input '{text}' expecting {_OPERAND}", at)

    def entries(self) -> tuple[tuple[Node, Node], ...]:
        found: list[tuple[Node, Node]] = []
        while not self.takes("}"):
            key = self.expression()
            self.expect(":")
            found.append((key, self.expression()))
            if not self.takes(","):
                self.expect("}")
                break
        return tuple(found)


_NAME_ESCAPES = {"__dash__": "-", "__dot__": ".", "__slash__": "/", "__underscores__": "__"}
_RESERVED = re.compile(r"__([a-z]+)__")


def _unescaped_name(name: str) -> str:
    """Of a property whose name is no identifier or is a word of the language: `a__dash__b`, `__if__`."""
    for escaped, plain in _NAME_ESCAPES.items():
        name = name.replace(escaped, plain)
    reserved = _RESERVED.fullmatch(name)
    return reserved.group(1) if reserved else name


def _group(found: re.Match[str]) -> str:
    return next(name for name in ("string", "double", "uint", "int", "name", "op") if found.group(name) is not None)


def _literal(at: int, kind: str, text: str) -> Node:
    match kind:
        case "string":
            if text[0] in "bB":
                return Literal(at, _unquoted(text[1:]).encode(), "bytes")
            return Literal(at, _unquoted(text), "string")
        case "double":
            return Literal(at, float(text), "double")
        case "uint":
            return Literal(at, int(text[:-1], 0), "uint")
    return Literal(at, int(text, 16 if text.startswith("0x") else 10), "int")


def _unquoted(text: str) -> str:
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    inner = text[quotes:-quotes]
    return inner if raw else _ESCAPE.sub(_unescaped, inner)


def _unescaped(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] in "xuU":
        return chr(min(int(code[1:], 16), 0x10FFFF))
    if len(code) == 3:
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)
