"""Request bodies read as the API server reads them: into Go structs, and written out again.

Reading into a struct loses what the struct has no field for, and writing leaves out or adds zero values by each field's
tags, so what is stored is not what was sent: `hostNetwork: false` goes, `resources: {}` comes, `1024Mi` becomes `1Gi`.
`check` does both ways at once and collects what strict field validation reports; `restore` is the other reader that the
server has, for patched objects, which differs in its messages only. Custom resources have no struct: members that their
schema does not name are pruned, all else stays as it was sent.
"""

from __future__ import annotations

import base64
import json
import math
import re
import sys
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import quantity
from runtimes.base.documents import DocumentError, load_json
from runtimes.sandbox.go_times import time_text
from runtimes.sandbox.limits import check_values
from runtimes.sandbox.pruning import PRESERVE, Pruning
from runtimes.sandbox.schema.registry import JSON_SCHEMA, OBJECT_META, KindSchema, Registry
from runtimes.sandbox.schema.types import ListShape, MapShape, Type
from runtimes.sandbox.written import written, zero_element

Object = dict[str, Any]
MAX_STRICT_ERRORS = 100


class DecodeError(Exception):
    """A body that cannot be read; the message is what Go's decoder says."""


class Pairs(dict[str, Any]):
    """A JSON object that remembers all its members in order, also those whose name came twice."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class YamlBody(dict[str, Any]):
    """A body with the lines of its text where members come again, which a dict forgets."""

    __slots__ = ("repeated",)

    def __init__(self, body: dict[str, Any], repeated: list[str]) -> None:
        super().__init__(body)
        self.repeated = repeated


def parse_json(text: str | bytes) -> Any:
    """JSON in which duplicate members can still be found. Raises DecodeError, and ApiError where it is too large."""
    try:
        body = load_json(text, object_pairs_hook=Pairs)
    except json.JSONDecodeError as error:
        raise DecodeError(syntax_message(error)) from error
    except UnicodeDecodeError as error:
        raise DecodeError("invalid UTF-8 in body") from error
    except DocumentError as error:
        raise DecodeError(f"the body {error.problem}") from error
    except ValueError as error:  # more digits than Python reads
        raise DecodeError("cannot unmarshal number: value out of range") from error
    check_values(body)
    return _without_halves(body) if _HALF.search(text if isinstance(text, str) else text.decode()) else body


_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # what may be half of a pair that stands for one letter


def _without_halves(value: Any) -> Any:
    """Halves without the other half are read as the sign for what is no letter."""
    match value:
        case str():
            return "".join("\ufffd" if 0xD800 <= ord(letter) < 0xE000 else letter for letter in value)
        case Pairs():
            return Pairs([(_without_halves(name), _without_halves(inner)) for name, inner in value.pairs])
        case list():
            return [_without_halves(item) for item in value]
    return value


def syntax_message(error: json.JSONDecodeError) -> str:
    """What is wrong with a text, in the words of Go's decoder."""
    rest = error.doc[error.pos :]
    if not rest.strip() or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    if error.msg.startswith("Invalid control character"):
        return f"invalid character {rest[0]!r} in string literal"
    literal = _cut_literal(rest) if error.msg == "Expecting value" else None
    if literal:
        return literal
    found = error.doc[error.pos]
    shown = {'"': "'\"'", "'": "'\\''"}.get(found, repr(found))
    expected = {
        "Expecting value": "looking for beginning of value",
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": "after object key:value pair",
        "Extra data": "after top-level value",
    }.get(error.msg, "looking for beginning of value")
    return f"invalid character {shown} {expected}"


def _cut_literal(rest: str) -> str | None:
    """`true`, `false` or `null` that goes on otherwise."""
    for word in ("true", "false", "null"):
        alike = next((at for at, (one, two) in enumerate(zip(word, rest, strict=False)) if one != two), len(rest))
        if alike == 0:
            continue
        if alike >= len(rest):
            # the server's reader is given one blank at the end
            return f"invalid character ' ' in literal {word} (expecting {word[alike]!r})" if alike < len(word) else None
        return f"invalid character {rest[alike]!r} in literal {word} (expecting {word[alike]!r})"
    return None


@dataclass(slots=True)
class DecodeResult:
    """object: as stored, before defaults. strict: `unknown field "spec.x"`, `duplicate field "data.k"`, in order.
    source: the text of what was read, for messages; "" if they do not show it.
    repeated: `line 6: key "x" already set in map`, of a body in YAML.
    """

    object: Object
    strict: list[str] = field(default_factory=list)
    source: str = ""
    repeated: list[str] = field(default_factory=list)


def check(kind: KindSchema, body: Any) -> DecodeResult:
    """Read `body` (from `parse_json`, or plain dicts). Raises DecodeError for a value of the wrong type."""
    reader = _Reader(_JsonTexts())
    return _check(kind, body, reader)


def restore(kind: KindSchema, body: Any) -> DecodeResult:
    """As `check` of a patched object, with that reader's messages; unknown fields come sorted."""
    reader = _Reader(_RestoreTexts())
    result = _check(kind, body, reader)
    result.strict.sort()
    return result


def _check(kind: KindSchema, body: Any, reader: _Reader) -> DecodeResult:
    if kind.is_custom:
        made = _read_custom(kind, body, reader)
    else:
        made = reader.read(kind.type, body, "", _Place((), ""), kind.type.go)
        if not isinstance(made, dict):
            raise DecodeError(f"cannot unmarshal {json_kind(body)} into Go value of type {kind.type.go}")
    if reader.error is not None:
        raise DecodeError(reader.error)
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") == []:
        made["metadata"]["managedFields"] = []  # not the same as none: it asks to forget all owners
    repeated = body.repeated if isinstance(body, YamlBody) else []
    return DecodeResult(made, list(dict.fromkeys(reader.strict)), repeated=repeated)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is: member names on the way (without positions), and the struct it is a field of."""

    path: tuple[str, ...]
    struct: str

    def text(self) -> str:
        return f"Go struct field {self.struct}.{'.'.join(self.path)}" if self.path else "Go value"


def json_kind(value: object) -> str:
    """What Go's decoder calls a value."""
    match value:
        case bool():
            return "bool"
        case int():
            return "number"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _go_kind(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "slice"
    return "map"


class _JsonTexts:
    """Messages of the JSON decoder."""

    def wrong(self, value: object, target: str, form: str, place: _Place) -> str:
        found = json_kind(value)
        if found == "number" and target in ("int32", "int64", "int"):
            found = f"number {value}"
        return f"json: cannot unmarshal {found} into {place.text()} of type {target}"

    def custom(self, message: str) -> str:
        return message


class _RestoreTexts:
    """Messages of the converter that patched objects go through."""

    def wrong(self, value: object, target: str, form: str, place: _Place) -> str:
        match form:
            case "struct":
                return f"cannot restore struct from: {_go_kind(value)}"
            case "map":
                return f"cannot restore map from {_go_kind(value)}"
            case "slice":
                return f"cannot restore slice from {_go_kind(value)}"
        if isinstance(value, float) and target.startswith("int"):
            return f"cannot convert float64 to {target}"
        if isinstance(value, int) and not isinstance(value, bool) and form == "string":
            return f"cannot convert int64 to {target}"
        return f"unrecognized type: {target if '.' not in target else form}"

    def custom(self, message: str) -> str:
        return message


class _Reader:
    """One body being read. The first wrong type is kept and reading goes on, as Go does."""

    def __init__(self, texts: _JsonTexts | _RestoreTexts) -> None:
        self.texts = texts
        self.strict: list[str] = []
        self.error: str | None = None

    def read(self, type_: Type, value: Any, where: str, place: _Place, go: str) -> Any:
        """The value as written out again; None for null and for what was of the wrong type."""
        if value is None:
            return None
        match type_.format:
            case "raw":
                return plain(value)
            case "schema-or-array" | "schema-or-bool" | "schema-or-strings":
                return self._schema_or(type_.format, value, place)
            case "quantity" | "int-or-string" | "time" | "micro-time" | "duration" | "byte":
                return self._special(type_.format, value, place)
        if type_.map is not None and type_.scalar is None:
            if not isinstance(value, dict):
                target = (go or type_.go).replace("]byte", "]uint8")
                is_struct = type_.map.fields or type_.go in _EMPTY_STRUCTS
                return self._wrong(value, target, "struct" if is_struct else "map", place)
            if type_.map.fields or type_.map.element is None or type_.go in _EMPTY_STRUCTS:
                return self._struct(type_, type_.map, value, where, place)
            return self._map(type_.map, value, where, place, go)
        if type_.list is not None and type_.scalar is None:
            if not isinstance(value, list):
                return self._wrong(value, go, "slice", place)
            return self._list(type_, value, where, place, go)
        return self._scalar(type_, value, place, go)

    def _wrong(self, value: object, target: str, form: str, place: _Place) -> None:
        if self.error is None:
            self.error = self.texts.wrong(value, target, form, place)

    def note(self, problem: str) -> None:
        if len(self.strict) < MAX_STRICT_ERRORS:
            self.strict.append(problem)

    def members(
        self, value: dict[str, Any], where: str, known: Collection[str] | None = None
    ) -> Iterable[tuple[str, Any]]:
        """Members in order; one whose name came before is noted once its value has been read, if it is known."""
        if not isinstance(value, Pairs) or len(value.pairs) == len(value):
            yield from value.items()
            return
        seen: set[str] = set()
        for name, inner in value.pairs:
            yield name, inner
            if name in seen and (known is None or name in known):
                self.note(f'duplicate field "{_join(where, name)}"')
            seen.add(name)

    def _struct(self, type_: Type, shape: MapShape, value: dict[str, Any], where: str, place: _Place) -> Object:
        struct = type_.go.rpartition(".")[2]
        found: dict[str, Any] = {}
        for name, inner in self.members(value, where, shape.fields):
            member = shape.fields.get(name)
            if member is None:
                self.note(f'unknown field "{_join(where, name)}"')
                continue
            at = _Place((*place.path, name), struct)
            found[name] = self.read(member.type, inner, _join(where, name), at, member.go)
        return written(shape, found)

    def _map(self, shape: MapShape, value: dict[str, Any], where: str, place: _Place, go: str) -> Object:
        element = shape.element
        assert element is not None
        inner_go = go.partition("]")[2].lstrip("*")
        out: dict[str, Any] = {}
        for name, inner in self.members(value, where):
            made = self.read(element, inner, _join(where, name), place, inner_go)
            out[name] = zero_element(element, go) if made is None else made
        return out

    def _list(self, type_: Type, value: list[Any], where: str, place: _Place, go: str) -> list[Any]:
        assert type_.list is not None
        element, inner_go = type_.list.element, go.partition("]")[2].lstrip("*")
        out = []
        for index, item in enumerate(value):
            made = self.read(element, item, f"{where}[{index}]", place, inner_go)
            out.append(zero_element(element, go) if made is None else made)
        return out

    def _scalar(self, type_: Type, value: Any, place: _Place, go: str) -> Any:
        match type_.scalar:
            case "string":
                return value if isinstance(value, str) else self._wrong(value, go or "string", "string", place)
            case "boolean":
                return value if isinstance(value, bool) else self._wrong(value, go or "bool", "bool", place)
            case "numeric":
                return self._number(type_.format, value, place, go)
        return plain(value)

    def _number(self, form: str, value: Any, place: _Place, go: str) -> Any:
        target = go or {"int32": "int32", "int64": "int64"}.get(form, "float64")
        if not isinstance(value, int | float) or isinstance(value, bool):
            return self._wrong(value, target, target, place)
        if form in ("double", "float"):
            return value if abs(value) <= sys.float_info.max else self._wrong(value, target, target, place)
        if isinstance(value, float):
            if isinstance(self.texts, _RestoreTexts) and value.is_integer():
                return int(value)
            return self._wrong(value, target, target, place)
        bits = 31 if form == "int32" else 63
        if bits == 31 and isinstance(self.texts, _RestoreTexts) and -(2**63) <= value < 2**63:
            return (value + 2**31) % 2**32 - 2**31  # it is cut off, as Go converts
        if not -(2**bits) <= value < 2**bits:
            return self._wrong(value, target, target, place)
        return value

    def _schema_or(self, form: str, value: Any, place: _Place) -> Any:
        """Read apart from what is around it: only the first wrong type comes out of it, named by this place."""
        own = _Reader(_JsonTexts())
        schema, at, made = Registry.load().definition(JSON_SCHEMA), _Place((), ""), None
        try:
            if isinstance(value, dict):
                made = own.read(schema, value, "", at, "v1.JSONSchemaProps")
            elif form == "schema-or-bool":
                if not isinstance(value, bool):
                    raise DecodeError("boolean or JSON schema expected")
                made = value
            elif isinstance(value, list):
                element = "string" if form == "schema-or-strings" else "v1.JSONSchemaProps"
                made = own.read(_list_of(element, schema), value, "", at, f"[]{element}") or None
        except DecodeError as error:
            own.error = str(error)
        if own.error is not None:
            self._end(_WITHIN.sub(lambda found: f"{found[1]}{place.text()} of type ", own.error, count=1))
        return made

    def _special(self, form: str, value: Any, place: _Place) -> Any:
        """Types that read themselves: a value they refuse ends the reading."""
        try:
            match form:
                case "quantity":
                    return quantity.canonical(_quantity_text(value))
                case "int-or-string":
                    if isinstance(value, str):
                        return value
                    return self._int_or_string(value, place)
                case "byte":
                    return self._bytes(value, place)
                case "time" | "micro-time":
                    if not isinstance(value, str):  # read as JSON by both readers
                        at = place if isinstance(self.texts, _JsonTexts) else _Place((), "")
                        return self._end(_JsonTexts().wrong(value, "string", "string", at))
                    return time_text(value, micro=form == "micro-time")
        except ValueError as error:
            message = str(error)
            if form != "byte":
                return self._end(message)
            if self.error is None:
                self.error = message
            return None
        return value

    def _end(self, message: str) -> None:
        """What a type says of itself is told rather than the wrong types before it."""
        if isinstance(self.texts, _JsonTexts):
            raise DecodeError(message)
        if self.error is None:
            self.error = message

    def _int_or_string(self, value: Any, place: _Place) -> Any:
        """Read as JSON by both readers, the one for patched objects without knowing where it is."""
        at = place if isinstance(self.texts, _JsonTexts) else _Place((), "")
        reader = _Reader(_JsonTexts())
        made = reader._number("int32", value, at, "int32")
        return made if reader.error is None else self._end(reader.error)

    def _bytes(self, value: Any, place: _Place) -> Any:
        if isinstance(value, list) and isinstance(self.texts, _JsonTexts):
            return self._byte_list(value, place)
        if not isinstance(value, str):
            return self._wrong(value, "[]uint8", "slice", place)
        cleaned = value.replace("\n", "").replace("\r", "")
        bad = _bad_base64(cleaned)
        if bad is not None:
            # Patched objects are read by way of JSON, which adds its own words.
            prefix = "error decoding from json: " if isinstance(self.texts, _RestoreTexts) else ""
            raise ValueError(f"{prefix}illegal base64 data at input byte {bad}")
        return cleaned

    def _byte_list(self, value: list[Any], place: _Place) -> str:
        """Bytes as a list of numbers, which Go's decoder takes, too."""
        read = bytearray()
        for each in value:
            is_byte = isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 256
            if is_byte or each is None:
                read.append(each or 0)
            elif isinstance(each, int | float) and not isinstance(each, bool) and self.error is None:
                self.error = f"json: cannot unmarshal number {each} into {place.text()} of type uint8"
            else:
                self._wrong(each, "uint8", "uint8", place)
        return base64.b64encode(read).decode()


_WITHIN = re.compile(r"(json: cannot unmarshal .*? into )Go (?:struct field \S+|value) of type ")


_EMPTY_STRUCTS = ("v1.CustomResourceSubresourceStatus",)  # OpenAPI has the same words for these and for a map


@lru_cache
def _list_of(go: str, schema: Type) -> Type:
    element = Type(scalar="string") if go == "string" else schema
    return Type(list=ListShape(element), go=f"[]{go}")


def _bad_base64(text: str) -> int | None:
    """Where the standard encoding finds fault with `text`; None if it is fine. It reads four characters at a time."""
    at = 0
    while at < len(text):
        for offset in range(4):
            here = at + offset
            if here >= len(text):
                return at
            char = text[here]
            if char == "=":
                if offset < 2:
                    return here
                if offset == 2 and text[here + 1 : here + 2] != "=":
                    return min(here + 1, len(text))
                end = here + 2 if offset == 2 else here + 1
                return end if end < len(text) else None
            if not (char.isascii() and (char.isalnum() or char in "+/")):
                return here
        at += 4
    return None


def _quantity_text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return json.dumps(plain(value), separators=(",", ":"))


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def plain(value: Any) -> Any:
    """A deep copy in ordinary dicts and lists."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


# --- custom resources ----------------------------------------------------------------------------------------------


def _read_custom(kind: KindSchema, body: Any, reader: _Reader) -> Object:
    """What came twice is told of first, then what is in the metadata, in the schema, in embedded objects."""
    if not isinstance(body, dict):
        raise DecodeError(f"json: cannot unmarshal {json_kind(body)} into Go value of type map[string]interface {{}}")
    _note_duplicates(body, "", reader)
    metadata = _custom_metadata(body["metadata"], reader) if "metadata" in body else None
    schema = kind.type.schema if isinstance(kind.type.schema, dict) else {PRESERVE: True}
    pruning, content = Pruning(), {name: _content(inner) for name, inner in body.items() if name != "metadata"}
    out: Object = pruning.pruned(schema, content, at_root=True)
    for path in sorted(pruning.unknown):
        reader.note(f'unknown field "{path}"')
    for each, where in pruning.embedded:
        _read_embedded(each, where, reader)
    if metadata is not None:
        out["metadata"] = metadata
    return out


def _content(value: Any) -> Any:
    """A deep copy in which whole numbers beyond 64 bits are those of floating point. Raises DecodeError."""
    match value:
        case dict():
            return {name: _content(inner) for name, inner in value.items()}
        case list():
            return [_content(item) for item in value]
        case int() if not -(2**63) <= value < 2**63:
            try:
                return float(value)
            except OverflowError:
                raise DecodeError(f"json: cannot unmarshal number {value} into Go value of type float64") from None
        case float() if not math.isfinite(value):
            raise DecodeError("json: cannot unmarshal number into Go value of type float64")
    return value


def _note_duplicates(value: Any, where: str, reader: _Reader) -> None:
    if isinstance(value, dict):
        for name, inner in reader.members(value, where):
            _note_duplicates(inner, _join(where, name), reader)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _note_duplicates(item, f"{where}[{index}]", reader)


def _custom_metadata(value: Any, reader: _Reader) -> Object:
    meta = Registry.load().definition(OBJECT_META)
    read = reader.read(meta, plain(value), "metadata", _Place((), "ObjectMeta"), "v1.ObjectMeta")
    return read if read is not None else {}


def _read_embedded(obj: Object, where: str, reader: _Reader) -> None:
    """An object within an object has the metadata that every object has. Raises DecodeError."""
    for name in ("apiVersion", "kind"):
        if name in obj and not isinstance(obj[name], str):
            raise DecodeError(f"{where}.{name}: Invalid value: {json.dumps(obj[name])}: must be a string")
    if "metadata" not in obj:
        return
    own = _Reader(_JsonTexts())
    meta, value = Registry.load().definition(OBJECT_META), obj["metadata"]
    read = own.read(meta, value, f"{where}.metadata", _Place((), "ObjectMeta"), "v1.ObjectMeta")
    if own.error is not None:
        shown = json.dumps(value, separators=(",", ":"))
        raise DecodeError(f"{where}.metadata: Invalid value: {shown}: {own.error}")
    for problem in own.strict:
        reader.note(problem)
    obj["metadata"] = read if read is not None else {}
