"""Bodies in protobuf, which some of kubectl's commands and Go clients send whatever the server prefers.

Read into the same plain objects as JSON; answers are always JSON, which those clients take as well.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from runtimes.base.documents import load_json
from runtimes.sandbox.data import read
from runtimes.sandbox.errors import JsonObject

MAGIC = b"k8s\x00"
_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Malformed(ValueError):
    """Bytes that are no message of the kind they claim to be."""


def decode(content: bytes) -> JsonObject:
    """The object in an envelope. Raises Malformed."""
    if not content.startswith(MAGIC):
        raise Malformed("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope = dict(_fields(content[len(MAGIC) :]))
    kind = {number: value.decode() for number, value in _fields(_bytes(envelope.get(1, b"")))}
    version, name = kind.get(1, ""), kind.get(2, "")
    body = _message(message_of(version, name), _bytes(envelope.get(2, b"")))
    return {"apiVersion": version, "kind": name, **body}


def message_of(api_version: str, kind: str) -> str:
    """The message's name. Raises Malformed for kinds that have none."""
    group, _, version = api_version.rpartition("/")
    package = group.partition(".")[0] or "core"
    known = read("messages")
    for name in (f"k8s.io.api.{package}.{version}.{kind}", f"{_META}.{kind}"):
        if name in known:
            return name
    raise Malformed(f'no kind "{kind}" is registered for version "{api_version}"')


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers with raw values: an int for a varint, else bytes."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(content, at)
            yield number, value
            continue
        if wire == _BYTES:
            length, at = _varint(content, at)
        else:
            length = {_FIXED64: 8, _FIXED32: 4}.get(wire, -1)
        if length < 0 or at + length > len(content):
            raise Malformed("unexpected end of a protobuf message")
        yield number, content[at : at + length]
        at += length


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(content) or shift > 63:
            raise Malformed("unexpected end of a protobuf message")
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise Malformed("a number where a message belongs")
    return value


def _message(name: str, content: bytes) -> Any:
    special = _SPECIAL.get(name)
    if special is not None:
        return special(dict(_fields(content)))
    known: dict[str, list[str]] = read("messages").get(name, {})
    made: JsonObject = {}
    for number, raw in _fields(content):
        entry = known.get(str(number))
        if entry is None:
            continue  # of a later release
        field, type_, label = entry
        match label:
            case "map":
                pair = dict(_fields(_bytes(raw)))
                value = _value(type_, pair.get(2, b"" if type_ not in _NUMBERS else 0))
                made.setdefault(field, {})[_bytes(pair.get(1, b"")).decode()] = value
            case "repeated":
                made.setdefault(field, []).append(_value(type_, raw))
            case "inline":
                made.update(_value(type_, raw))
            case _:
                made[field] = _value(type_, raw)
    return made


_NUMBERS = ("int32", "int64", "uint32", "uint64", "bool")


def _value(type_: str, raw: Any) -> Any:
    match type_:
        case "string":
            return _bytes(raw).decode()
        case "bytes":
            return base64.b64encode(_bytes(raw)).decode()
        case "bool":
            return bool(raw)
        case "int32" | "int64":
            return _signed(raw)
        case "uint32" | "uint64":
            return raw
        case "double":
            return struct.unpack("<d", _bytes(raw))[0]
        case "float":
            return struct.unpack("<f", _bytes(raw))[0]
        case _:
            return _message(type_, _bytes(raw))


def _signed(raw: Any) -> int:
    if not isinstance(raw, int):
        raise Malformed("bytes where a number belongs")
    return raw - 2**64 if raw >= 2**63 else raw


# --- Types with an encoding of their own ---


def _time(fields: dict[int, Any]) -> str | None:
    if not fields:
        return None
    return _moment(fields).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(fields: dict[int, Any]) -> str | None:
    return _moment(fields).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if fields else None


def _moment(fields: dict[int, Any]) -> datetime:
    seconds, nanoseconds = _signed(fields.get(1, 0)), _signed(fields.get(2, 0))
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanoseconds // 1000)


def _text(fields: dict[int, Any]) -> str:
    return _bytes(fields.get(1, b"")).decode()


def _int_or_string(fields: dict[int, Any]) -> int | str:
    return _bytes(fields.get(3, b"")).decode() if fields.get(1) else _signed(fields.get(2, 0))


def _json(fields: dict[int, Any]) -> Any:
    raw = _bytes(fields.get(1, b""))
    try:
        return load_json(raw) if raw else None
    except ValueError as error:
        raise Malformed(f"embedded JSON cannot be read: {error}") from error


def _duration(fields: dict[int, Any]) -> str:
    return f"{_signed(fields.get(1, 0)) / 1e9:g}s"


def _items(fields: dict[int, Any]) -> list[str]:
    return [_bytes(fields[1]).decode()] if 1 in fields else []


_SPECIAL = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.Duration": _duration,
    f"{_META}.FieldsV1": _json,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _json,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _text,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "k8s.io.api.authorization.v1.ExtraValue": _items,
    "k8s.io.api.authentication.v1.ExtraValue": _items,
    "k8s.io.api.certificates.v1.ExtraValue": _items,
}
