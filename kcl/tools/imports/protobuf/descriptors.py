"""What descriptors say of messages: https://github.com/protocolbuffers/protobuf, descriptor.proto.

The syntaxes are told apart here: whether a field must be set and whether an enumeration takes numbers that it does not
list follows from proto2, proto3 or the features of an edition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

from kcl.records import dataclass
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.protobuf.wire import NoMessage, Record, record

_MOST_DEPTH: Final = 64
_PROTO2, _PROTO3, _EDITIONS = "proto2", "proto3", "editions"
_LEGACY_REQUIRED, _CLOSED = 3, 2
_LABEL_REQUIRED, _LABEL_REPEATED = 2, 3


class Kind(Enum):
    """The type of a field, by its number in descriptors."""

    DOUBLE = 1
    FLOAT = 2
    INT64 = 3
    UINT64 = 4
    INT32 = 5
    FIXED64 = 6
    FIXED32 = 7
    BOOL = 8
    STRING = 9
    GROUP = 10
    MESSAGE = 11
    BYTES = 12
    UINT32 = 13
    ENUM = 14
    SFIXED32 = 15
    SFIXED64 = 16
    SINT32 = 17
    SINT64 = 18


@dataclass(frozen=True, slots=True)
class Field:
    """`type_name` is the full name of a message or enumeration, with a dot before it; `oneof` the name of its oneof."""

    name: str
    json_name: str
    kind: Kind
    type_name: str
    is_repeated: bool
    is_required: bool
    default: str | None
    oneof: str
    description: str


@dataclass(frozen=True, slots=True)
class EnumType:
    """An enumeration; a closed one takes no numbers that it does not list."""

    name: str
    values: Mapping[str, int]
    is_closed: bool
    description: str


@dataclass(frozen=True, slots=True)
class Message:
    """`name` is full, with a dot before it; `package` is that of its file."""

    name: str
    package: str
    fields: tuple[Field, ...]
    is_map_entry: bool
    has_extensions: bool
    description: str


@dataclass(frozen=True, slots=True)
class DescriptorSet:
    """All that the files of a set declare, by full name. `services` are names: nothing is made of those."""

    messages: Mapping[str, Message]
    enums: Mapping[str, EnumType]
    services: Sequence[str]


@dataclass(frozen=True, slots=True)
class _File:
    """What its messages are read with."""

    package: str
    syntax: str
    comments: Mapping[tuple[int, ...], str]


def read(data: bytes, shown: str) -> DescriptorSet:
    """The declarations of a FileDescriptorSet. Raises ImportFailure."""
    messages: dict[str, Message] = {}
    enums: dict[str, EnumType] = {}
    services: list[str] = []
    try:
        files = record(data).records(1)
        if not files:
            raise NoMessage("it holds no file")
        for each in files:
            _read_file(each, messages, enums, services)
    except NoMessage as problem:
        raise ImportFailure(
            f"{shown}: is no FileDescriptorSet: {problem}; `protoc --include_imports --include_source_info "
            "--descriptor_set_out=FILE` writes one"
        ) from None
    return DescriptorSet(messages, enums, services)


def _read_file(of: Record, messages: dict[str, Message], enums: dict[str, EnumType], services: list[str]) -> None:
    if not of.text(1):
        raise NoMessage("a file has no name")
    syntax = of.text(12) or _PROTO2
    if syntax not in (_PROTO2, _PROTO3, _EDITIONS):
        raise NoMessage(f"{of.text(1)} has the syntax {syntax!r:.40}: one of proto2, proto3, editions")
    file = _File(of.text(2), syntax, _comments(of.one(9)))
    scope = f".{file.package}" if file.package else ""
    features = of.one(8).one(50)
    for at, each in enumerate(of.records(4)):
        for message in _messages(each, scope, file, features, (4, at), enums):
            messages[message.name] = message
    for at, each in enumerate(of.records(5)):
        _add_enum(each, scope, file, features, (5, at), enums)
    services += [f"{scope}.{each.text(1)}"[1:] for each in of.records(6)]


def _comments(of: Record) -> dict[tuple[int, ...], str]:
    """What is written before a declaration, or else behind it, by its path."""
    found = {}
    for each in of.records(1):
        text = each.text(3) or each.text(4)
        if text.strip():
            lines = text.strip("\n").split("\n")
            found[tuple(each.numbers(1))] = "\n".join(line.removeprefix(" ").rstrip() for line in lines).strip()
    return found


def _messages(
    of: Record, scope: str, file: _File, features: Record, path: tuple[int, ...], enums: dict[str, EnumType]
) -> Iterator[Message]:
    if len(path) > 2 * _MOST_DEPTH:
        raise NoMessage("messages are nested too deeply")
    name = f"{scope}.{_named(of)}"
    options = of.one(7)
    inner = _with_features(features, options.one(12))
    oneofs = [each.text(1) for each in of.records(8)]
    fields = tuple(_field(each, file, inner, oneofs, (*path, 2, at)) for at, each in enumerate(of.records(2)))
    description = _described(file.comments.get(path, ""), options.number(3))
    yield Message(name, file.package, fields, bool(options.number(7)), of.has(5), description)
    for at, each in enumerate(of.records(3)):
        yield from _messages(each, name, file, inner, (*path, 3, at), enums)
    for at, each in enumerate(of.records(4)):
        _add_enum(each, name, file, inner, (*path, 4, at), enums)


def _field(of: Record, file: _File, features: Record, oneofs: Sequence[str], path: tuple[int, ...]) -> Field:
    name, label, options = _named(of), of.number(4), of.one(8)
    try:
        kind = Kind(of.number(5))
    except ValueError:
        raise NoMessage(f"the field {name} has the type {of.number(5)}, which there is not") from None
    if (kind in (Kind.MESSAGE, Kind.GROUP, Kind.ENUM)) != of.has(6):
        raise NoMessage(f"the field {name} names a type where it has none, or none where it has one")
    if of.has(6) and not of.text(6).startswith("."):
        raise NoMessage(f"the field {name} has a type that is not resolved")
    presence = _with_features(features, options.one(21)).number(1)
    is_required = label == _LABEL_REQUIRED or (file.syntax == _EDITIONS and presence == _LEGACY_REQUIRED)
    at = of.number(9)
    if of.has(9) and not 0 <= at < len(oneofs):
        raise NoMessage(f"the field {name} is in a oneof that there is not")
    oneof = oneofs[at] if of.has(9) and not of.number(17) else ""
    return Field(
        name,
        of.text(10) or json_name(name),
        kind,
        of.text(6),
        label == _LABEL_REPEATED,
        is_required,
        of.text(7) if of.has(7) else None,
        oneof,
        _described(file.comments.get(path, ""), options.number(3)),
    )


def _add_enum(
    of: Record, scope: str, file: _File, features: Record, path: tuple[int, ...], enums: dict[str, EnumType]
) -> None:
    name, options = f"{scope}.{_named(of)}", of.one(3)
    is_closed = file.syntax == _PROTO2
    if file.syntax == _EDITIONS:
        is_closed = _with_features(features, options.one(7)).number(2) == _CLOSED
    values = {_named(each): each.number(2) for each in of.records(2)}
    if not values:
        raise NoMessage(f"the enumeration {name[1:]} has no values")
    enums[name] = EnumType(name, values, is_closed, _described(file.comments.get(path, ""), options.number(3)))


def _named(of: Record) -> str:
    name = of.text(1)
    if not name.isidentifier() or not name.isascii():
        raise NoMessage(f"{name!r:.80} is no name")
    return name


def _with_features(outer: Record, inner: Record) -> Record:
    """What is set inside goes before what is set around it."""
    return Record({**outer.fields, **inner.fields})


def _described(comment: str, is_deprecated: int) -> str:
    return "\n".join([*([comment] if comment else []), *(["Deprecated."] if is_deprecated else [])])


def json_name(name: str) -> str:
    """`big_cart_id` as `bigCartId`."""
    first, *rest = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in rest)
