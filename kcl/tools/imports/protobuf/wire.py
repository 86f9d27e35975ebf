"""The wire format: https://protobuf.dev/programming-guides/encoding/"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kcl.records import dataclass

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_NUMBER: Final = 2**29 - 1


class NoMessage(ValueError):
    """Bytes that are no message; the text says why."""


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of one message by number, each with its values in their order."""

    fields: dict[int, list[int | bytes]]

    def texts(self, number: int) -> list[str]:
        try:
            return [each.decode() for each in self.blobs(number)]
        except UnicodeDecodeError as problem:
            raise NoMessage(f"a text in field {number} is not UTF-8: {problem.reason}") from None

    def text(self, number: int) -> str:
        return (self.texts(number) or [""])[-1]

    def blobs(self, number: int) -> list[bytes]:
        found = self.fields.get(number, [])
        if not all(isinstance(each, bytes) for each in found):
            raise NoMessage(f"field {number} is a number where text or a message belongs")
        return [each for each in found if isinstance(each, bytes)]

    def number(self, number: int, default: int = 0) -> int:
        """A number of 64 bits; negative ones as they are meant."""
        found = self.fields.get(number)
        if not found:
            return default
        last = found[-1]
        if isinstance(last, bytes):
            raise NoMessage(f"field {number} is bytes where a number belongs")
        return last - 2**64 if last >= 2**63 else last

    def has(self, number: int) -> bool:
        return number in self.fields

    def records(self, number: int) -> list[Record]:
        return [record(each) for each in self.blobs(number)]

    def one(self, number: int) -> Record:
        """A message; what is given several times is one message, as parsers join it."""
        return record(b"".join(self.blobs(number)))

    def numbers(self, number: int) -> list[int]:
        """Repeated numbers, packed or not."""
        found: list[int] = []
        for each in self.fields.get(number, []):
            found += [each] if isinstance(each, int) else _packed(each)
        return found


def record(data: bytes) -> Record:
    """Raises NoMessage."""
    fields: dict[int, list[int | bytes]] = {}
    for number, value in _fields(data):
        fields.setdefault(number, []).append(value)
    return Record(fields)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if not 0 < number <= _MOST_NUMBER:
            raise NoMessage(f"there is no field {number}")
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise NoMessage(f"field {number} has the type {kind}, which descriptors do not have")
        if at + size > len(data):
            raise NoMessage("it ends in the middle of a field")
        part = data[at : at + size]
        yield number, part if kind == _BYTES else int.from_bytes(part, "little")
        at += size


def _packed(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise NoMessage("it ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), at
    raise NoMessage("a number is longer than 10 bytes")
