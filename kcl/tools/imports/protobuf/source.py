"""What .proto files declare, in proto2, proto3 or an edition: what `descriptors` reads of what `protoc` makes of them.

Nothing is fetched: what a file imports has to be named as well, but for the messages that have a JSON of their own.
What is not understood is refused, with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kcl.records import dataclass, field
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.protobuf.descriptors import DescriptorSet, EnumType, Field, Kind, Message, json_name
from kcl.tools.imports.protobuf.mapping import WELL_KNOWN
from kcl.tools.imports.protobuf.tokens import Token, tokens

_SCALARS: Final[Mapping[str, Kind]] = {
    kind.name.lower(): kind for kind in Kind if kind not in (Kind.GROUP, Kind.MESSAGE, Kind.ENUM)
}
_DEPTHS: Final = {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}
_LABELS: Final = ("optional", "required", "repeated")
_MOST_DEPTH: Final = 64
_ESCAPE: Final = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE: Final = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
Options = dict[str, str]
"""The options that are understood, by name, as they are written; texts keep their escapes."""


@dataclass(slots=True)
class _Field:
    """A field before it is known what its type means."""

    name: str
    type: str
    label: str
    options: Options
    oneof: str
    line: int
    description: str


@dataclass(slots=True)
class _Message:
    name: str
    features: Options
    fields: list[_Field] = field(default_factory=list)
    is_map_entry: bool = False
    has_extensions: bool = False
    description: str = ""


@dataclass(slots=True)
class Source:
    """One file, as it is written."""

    shown: str
    package: str = ""
    syntax: str = "proto2"
    messages: list[_Message] = field(default_factory=list)
    enums: dict[str, tuple[dict[str, int], Options, str]] = field(default_factory=dict)
    services: list[str] = field(default_factory=list)


def read(text: str, shown: str) -> Source:
    """The declarations of a file. Raises ImportFailure."""
    return _Parser(text, shown).file()


def resolved(sources: Sequence[Source]) -> DescriptorSet:
    """All files together, with what the types of fields mean. Raises ImportFailure."""
    kinds: dict[str, Kind] = dict.fromkeys(WELL_KNOWN, Kind.MESSAGE)
    kinds[".google.protobuf.NullValue"] = Kind.ENUM
    for source in sources:
        for name in [*(each.name for each in source.messages), *source.enums]:
            if name in kinds and name not in WELL_KNOWN:
                raise ImportFailure(f"{source.shown}: {name[1:]} is declared twice")
            kinds[name] = Kind.ENUM if name in source.enums else Kind.MESSAGE
    messages: dict[str, Message] = {}
    enums: dict[str, EnumType] = {}
    for source in sources:
        is_edition = source.syntax == "editions"
        for each in source.messages:
            fields = tuple(_resolved(of, each, source, kinds, is_edition) for of in each.fields)
            messages[each.name] = Message(
                each.name, source.package, fields, each.is_map_entry, each.has_extensions, each.description
            )
        for name, (values, options, description) in source.enums.items():
            is_closed = options.get("features.enum_type") == "CLOSED" if is_edition else source.syntax == "proto2"
            enums[name] = EnumType(name, values, is_closed, description)
    return DescriptorSet(messages, enums, [name for source in sources for name in source.services])


def _resolved(of: _Field, owner: _Message, source: Source, kinds: Mapping[str, Kind], is_edition: bool) -> Field:
    kind, type_name = _SCALARS.get(of.type), ""
    if kind is None:
        type_name = _meant(of.type, owner.name, kinds)
        if not type_name:
            raise ImportFailure(
                f"{source.shown}:{of.line}: {of.type} is in none of the files that were named: name what it imports too"
            )
        kind = kinds[type_name]
    presence = {**owner.features, **of.options}.get("features.field_presence")
    return Field(
        of.name,
        _text(of.options["json_name"]) if "json_name" in of.options else json_name(of.name),
        kind,
        type_name,
        of.label == "repeated",
        of.label == "required" or (is_edition and presence == "LEGACY_REQUIRED"),
        _default(of.options["default"], kind) if "default" in of.options else None,
        of.oneof,
        of.description,
    )


def _meant(name: str, scope: str, kinds: Mapping[str, Kind]) -> str:
    """The full name that a name in a message means: that of the innermost scope; "" for none."""
    if name.startswith("."):
        return name if name in kinds else ""
    while True:
        full = f"{scope}.{name}"
        if full in kinds:
            return full
        if not scope:
            return ""
        scope = scope.rpartition(".")[0]


def _default(written: str, kind: Kind) -> str:
    """As descriptors have it: whole numbers in decimal, texts without escapes, bytes with them."""
    if kind is Kind.BYTES:
        return written[1:-1]
    if kind is Kind.STRING:
        return _text(written)
    digits = written.lstrip("-")
    if re.fullmatch("0[xX][0-9a-fA-F]+|0[0-7]+", digits) and kind not in (Kind.DOUBLE, Kind.FLOAT):
        value = int(digits, 16) if digits[1] in "xX" else int(digits, 8)
        return f"{'-' if written.startswith('-') else ''}{value}"
    return written


def _text(written: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        escape = found[0][1:]
        if escape[0] in "xuU":
            return chr(int(escape[1:], 16))
        if escape[0] in "01234567":
            return chr(int(escape, 8) & 0xFF)
        return _SIMPLE.get(escape, escape)

    return _ESCAPE.sub(replaced, written[1:-1])


class _Parser:
    """Reads one file, word by word."""

    def __init__(self, text: str, shown: str) -> None:
        self._tokens = tokens(text, shown)
        self._at = 0
        self._of = Source(shown)

    # ------------------------------------------------------------ words

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _is(self, *texts: str) -> bool:
        return self._next.kind in ("word", "mark") and self._next.text in texts

    def _taken(self, *texts: str) -> bool:
        found = self._is(*texts)
        if found:
            self._take()
        return found

    def _expect(self, text: str) -> Token:
        if not self._is(text):
            raise self._wrong(f"'{text}' is expected")
        return self._take()

    def _word(self, what: str) -> str:
        if self._next.kind != "word":
            raise self._wrong(f"{what} is expected")
        return self._take().text

    def _wrong(self, message: str) -> ImportFailure:
        token = self._next
        return ImportFailure(f"{self._of.shown}:{token.line}: {message}, not {token.text[:40]!r}")

    def _full_name(self, what: str) -> str:
        name = "." if self._taken(".") else ""
        name += self._word(what)
        while self._taken("."):
            name += f".{self._word(what)}"
        return name

    def _string(self) -> str:
        """A text as it is written, with its quotes; several that follow each other are one."""
        if self._next.kind != "text":
            raise self._wrong("a text is expected")
        parts = [self._take().text[1:-1]]
        while self._next.kind == "text":
            parts.append(self._take().text[1:-1])
        return f'"{"".join(parts)}"'

    def _integer(self, what: str) -> int:
        sign = -1 if self._taken("-") else 1
        text = self._next.text
        if self._next.kind != "number" or not re.fullmatch("0[xX][0-9a-fA-F]+|[0-9]+", text):
            raise self._wrong(f"{what} is expected")
        self._take()
        base = 16 if text[:2] in ("0x", "0X") else 8 if len(text) > 1 and text[0] == "0" else 10
        try:
            return sign * int(text, base)
        except ValueError:
            raise self._wrong(f"{what} is expected") from None

    def _skip_statement(self) -> None:
        """Up to the `;` or the closing brace of what is of no account here."""
        depth = 0
        while self._next.kind != "end":
            token = self._take()
            if token.kind == "mark":
                depth += _DEPTHS.get(token.text, 0)
            if depth == 0 and token.kind == "mark" and token.text in (";", "}"):
                return
        raise self._wrong("'}' or ';' is expected")

    # ------------------------------------------------------------ files

    def file(self) -> Source:
        features: Options = {}
        while self._next.kind != "end":
            token = self._next
            if self._taken(";"):
                continue
            word = self._word("a declaration")
            match word:
                case "syntax" | "edition":
                    self._expect("=")
                    said = self._string()[1:-1]
                    self._of.syntax = "editions" if word == "edition" else said
                    if word == "syntax" and said not in ("proto2", "proto3"):
                        raise ImportFailure(f"{self._of.shown}:{token.line}: the syntax {said!r:.40} is not known")
                    self._expect(";")
                case "package":
                    self._of.package = self._full_name("the name of a package")
                    self._expect(";")
                case "import":
                    self._taken("public", "weak")
                    self._string()
                    self._expect(";")
                case "option":
                    self._option(features, self._scope)
                case "message":
                    self._message(self._scope, features, token, 0)
                case "enum":
                    self._enum(self._scope, features, token)
                case "service":
                    self._of.services.append(f"{self._scope}.{self._next.text}"[1:])
                    self._skip_statement()
                case "extend":
                    self._skip_statement()
                case _:
                    raise ImportFailure(f"{self._of.shown}:{token.line}: {word!r:.40} begins no declaration")
        return self._of

    @property
    def _scope(self) -> str:
        return f".{self._of.package}" if self._of.package else ""

    # ------------------------------------------------------------ options

    def _option(self, options: Options, scope: str | None = None) -> None:
        """What follows the word `option`; `scope` is that of what has features, which hold for all in it."""
        if scope is not None and self._is("features"):
            names = [*(each.name for each in self._of.messages), *self._of.enums]
            if any(each.startswith(f"{scope}.") for each in names):
                raise self._wrong("features are expected before what they hold for, and this option")
        self._one_option(options)
        self._expect(";")

    def _one_option(self, options: Options) -> None:
        parts = []
        while True:
            if self._taken("("):
                parts.append(f"({self._full_name('the name of an option')})")
                self._expect(")")
            else:
                parts.append(self._word("the name of an option"))
            if not self._taken("."):
                break
        self._expect("=")
        name = ".".join(parts)
        if self._is("{"):
            if name == "features":
                raise self._wrong("features one by one are expected")
            self._skip_braces()
        elif self._next.kind == "text":
            options[name] = self._string()
        else:
            sign = "-" if self._taken("-") else ""
            self._taken("+")
            if self._next.kind not in ("word", "number"):
                raise self._wrong("a value is expected")
            options[name] = f"{sign}{self._take().text}"

    def _skip_braces(self) -> None:
        depth = 0
        while self._next.kind != "end":
            token = self._take()
            if token.kind == "mark":
                depth += _DEPTHS.get(token.text, 0)
            if depth == 0:
                return
        raise self._wrong("'}' is expected")

    def _field_options(self) -> Options:
        options: Options = {}
        if self._taken("["):
            self._one_option(options)
            while self._taken(","):
                self._one_option(options)
            self._expect("]")
        return options

    # ------------------------------------------------------------ messages

    def _message(self, scope: str, features: Options, first: Token, depth: int, name: str = "") -> None:
        if depth > _MOST_DEPTH:
            raise self._wrong("less deeply nested messages are expected")
        name = name or self._word("the name of a message")
        made = _Message(f"{scope}.{name}", dict(features))
        options: Options = {}
        self._of.messages.append(made)
        opening = self._expect("{")
        made.description = first.before or opening.behind
        while not self._taken("}"):
            self._member(made, options, depth)
        made.description = _described(made.description, options)

    def _member(self, made: _Message, options: Options, depth: int) -> None:
        token = self._next
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        is_field = following.kind == "mark" and following.text == "."
        if self._taken(";"):
            return
        if self._is("message") and not is_field:
            self._take()
            self._message(made.name, made.features, token, depth + 1)
        elif self._is("enum") and not is_field:
            self._take()
            self._enum(made.name, made.features, token)
        elif self._is("option") and not is_field:
            self._take()
            self._option(options, made.name)
            made.features.update({key: text for key, text in options.items() if key.startswith("features.")})
        elif self._is("oneof") and not is_field:
            self._take()
            self._oneof(made, depth)
        elif self._is("extensions", "reserved") and not is_field:
            made.has_extensions = made.has_extensions or self._is("extensions")
            self._skip_statement()
        elif self._is("extend") and not is_field:
            self._skip_statement()
        else:
            self._field(made, "", depth)

    def _oneof(self, made: _Message, depth: int) -> None:
        name = self._word("the name of a oneof")
        self._expect("{")
        while not self._taken("}"):
            if self._taken(";"):
                continue
            if self._taken("option"):
                self._option({})
            else:
                self._field(made, name, depth)

    def _field(self, made: _Message, oneof: str, depth: int) -> None:
        first = self._next
        label = self._take().text if self._is(*_LABELS) else ""
        if self._is("group"):
            self._take()
            self._group(made, label, oneof, first, depth)
            return
        if self._is("map") and self._tokens[self._at + 1].text == "<":
            type_ = ""
            self._take()
            self._expect("<")
            key = self._word("the type of a key")
            self._expect(",")
            value = self._full_name("the type of a value")
            self._expect(">")
        else:
            type_, key, value = self._full_name("a field"), "", ""
        name = self._word("the name of a field")
        self._expect("=")
        self._integer("the number of a field")
        options = self._field_options()
        closing = self._expect(";")
        description = _described(first.before or closing.behind, options)
        if key:
            type_ = self._map_entry(made, name, key, value, first.line)
            label = "repeated"
        made.fields.append(_Field(name, type_, label, options, oneof, first.line, description))

    def _map_entry(self, made: _Message, name: str, key: str, value: str, line: int) -> str:
        own = "".join(each[:1].upper() + each[1:] for each in name.split("_"))
        entry = _Message(f"{made.name}.{own}Entry", {}, is_map_entry=True)
        if key not in _SCALARS:
            raise ImportFailure(f"{self._of.shown}:{line}: {key} is no type of a key")
        entry.fields = [_Field("key", key, "", {}, "", line, ""), _Field("value", value, "", {}, "", line, "")]
        self._of.messages.append(entry)
        return entry.name

    def _group(self, made: _Message, label: str, oneof: str, first: Token, depth: int) -> None:
        name = self._word("the name of a group")
        self._expect("=")
        self._integer("the number of a field")
        options = self._field_options()
        made.fields.append(_Field(name.lower(), f"{made.name}.{name}", label, options, oneof, first.line, first.before))
        self._message(made.name, made.features, first, depth + 1, name)

    def _enum(self, scope: str, features: Options, first: Token) -> None:
        name = f"{scope}.{self._word('the name of an enumeration')}"
        options, values = dict(features), dict[str, int]()
        opening = self._expect("{")
        own: Options = {}
        while not self._taken("}"):
            if self._taken(";"):
                continue
            following = self._tokens[min(self._at + 1, len(self._tokens) - 1)].text
            if following != "=" and self._taken("option"):
                self._option(own)
            elif following != "=" and self._is("reserved"):
                self._skip_statement()
            else:
                value = self._word("the name of a value")
                self._expect("=")
                values[value] = self._integer("the number of a value")
                self._field_options()
                self._expect(";")
        if not values:
            raise self._wrong(f"a value of the enumeration {name[1:]} is expected")
        if name in self._of.enums:
            raise ImportFailure(f"{self._of.shown}:{first.line}: {name[1:]} is declared twice")
        self._of.enums[name] = (values, {**options, **own}, _described(first.before or opening.behind, own))


def _described(comment: str, options: Options) -> str:
    return "\n".join(
        [*([comment] if comment else []), *(["Deprecated."] if options.get("deprecated") == "true" else [])]
    )
