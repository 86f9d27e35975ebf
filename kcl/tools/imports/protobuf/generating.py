"""A file for each package of a descriptor set, in folders as its name has parts.

Packages that need each other in a circle, which KCL does not have, become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kcl.records import dataclass, replace
from kcl.tools.imports import names
from kcl.tools.imports.documents import Document
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.protobuf.descriptors import DescriptorSet, EnumType, Field, Kind, Message
from kcl.tools.imports.protobuf.mapping import EXTENSION, WELL_KNOWN, Functions, default_of, mapped, may_be_none
from kcl.tools.imports.protobuf.source import Source, resolved
from kcl.tools.imports.results import Generated, notes_of
from kcl.tools.imports.shapes import Dialect, Reader, Shape
from kcl.tools.imports.types import Definitions, Made, Type, Typing
from kcl.tools.imports.writer import file_text

_DIALECT: Final = Dialect(is_closed=True, ref_hides_siblings=True)
_VALUE: Final = "value of "
"""What stands before the name of a field in the reference to the type of one of its values."""


def is_descriptor_set(value: Any) -> bool:
    """Whether a document is one, or the source of one."""
    return isinstance(value, DescriptorSet | Source)


def generate(documents: Sequence[Document]) -> list[Generated]:
    """The files for all documents together. Raises ImportFailure."""
    for each in documents:
        if not is_descriptor_set(each.value):
            raise ImportFailure(f"{each.name}: is no descriptor set: `protoc --descriptor_set_out=FILE` writes one")
    sources = [each.value for each in documents if isinstance(each.value, Source)]
    sets = [each for each in documents if isinstance(each.value, DescriptorSet)]
    documents = [*sets, *([replace(documents[0], value=resolved(sources))] if sources else [])]
    joined = _joined(documents)
    _check_references(joined, documents[0].name)
    wanted = [each for each in joined.messages.values() if not each.is_map_entry and each.name not in WELL_KNOWN]
    if not wanted:
        raise ImportFailure(f"{documents[0].name}: declares no message, so there is no schema to make of it")
    package = _Package(joined, wanted)
    shown = documents[0].name if len(documents) == 1 else f"{documents[0].name} and others"
    found = [package.generated(each, shown) for each in sorted(package.members)]
    if joined.services:
        found[0].notes.append(f"{shown}: nothing is made of services: {', '.join(sorted(joined.services))}")
    return found


def _joined(documents: Sequence[Document]) -> DescriptorSet:
    """All documents as one set. Raises ImportFailure where two declare different things under one name."""
    messages: dict[str, Message] = {}
    enums: dict[str, EnumType] = {}
    services: dict[str, None] = {}
    for document in documents:
        found: DescriptorSet = document.value
        for name, each in (*found.messages.items(), *found.enums.items()):
            if messages.get(name, each) != each or enums.get(name, each) != each:
                raise ImportFailure(f"{document.name}: {name[1:]} is declared otherwise in another file")
        messages.update(found.messages)
        enums.update(found.enums)
        services.update(dict.fromkeys(found.services))
    return DescriptorSet(messages, enums, list(services))


_KEYS: Final = {
    **dict.fromkeys((Kind.INT32, Kind.SINT32, Kind.SFIXED32), "_is_key_of_int32"),
    **dict.fromkeys((Kind.UINT32, Kind.FIXED32), "_is_key_of_uint32"),
    **dict.fromkeys((Kind.INT64, Kind.SINT64, Kind.SFIXED64), "_is_key_of_int64"),
    **dict.fromkeys((Kind.UINT64, Kind.FIXED64), "_is_key_of_uint64"),
    Kind.BOOL: "_is_key_of_bool",
}


def _check_references(of: DescriptorSet, shown: str) -> None:
    """Raises ImportFailure where the type of a field is not there, or is no type that it can have."""
    for message in of.messages.values():
        fields, where = message.fields, f"{shown}: {message.name[1:]}"
        if message.is_map_entry and (len(fields) != 2 or fields[0].kind not in (Kind.STRING, *_KEYS)):
            raise ImportFailure(f"{where}: is no entry of a map")
        if len({each.json_name for each in fields}) < len(fields):
            raise ImportFailure(f"{where}: two fields have one name in JSON")
        for field in fields:
            known = field.type_name in (of.enums if field.kind is Kind.ENUM else of.messages)
            if field.type_name and not known and field.type_name not in WELL_KNOWN:
                raise ImportFailure(
                    f"{where}.{field.name}: {field.type_name[1:]} is not in the set: "
                    "make it with `protoc --include_imports`"
                )
            inner = of.messages.get(field.type_name)
            if message.is_map_entry and inner is not None and inner.is_map_entry:
                raise ImportFailure(f"{where}: is a map of maps, which there are not")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the schema of a message is."""

    folder: tuple[str, ...]
    schema: str


class _Package:
    """All that is made of one set: which message is where, and under which name."""

    def __init__(self, of: DescriptorSet, wanted: Sequence[Message]) -> None:
        self._set = of
        self._reader = Reader(_DIALECT, lambda ref, where: ref)
        self._definitions = Definitions(self._read, self._name)
        needs = {each.package: set[str]() for each in wanted}
        for each in wanted:
            needs[each.package] |= {package for package in self._needed(each) if package in needs}
        heads = _heads(needs)
        folders = _folders(heads, needs)
        self.members: dict[tuple[str, ...], list[Message]] = {}
        self._places: dict[str, _Place] = {}
        taken: set[tuple[tuple[str, ...], str]] = set()
        for each in sorted(wanted, key=lambda message: message.name):
            head = heads[each.package]
            folder = folders[head]
            own = _own_name(each, is_guest=head != each.package)
            name, count = own, 1
            while (folder, name) in taken:
                count += 1
                name = f"{own}{count}"
            taken.add((folder, name))
            self._places[each.name] = _Place(folder, name)
            self.members.setdefault(folder, []).append(each)

    def generated(self, folder: tuple[str, ...], shown: str) -> Generated:
        """The file of one folder."""
        imports: set[tuple[str, ...]] = set()
        functions = Functions()
        members = self.members[folder]
        values = {
            f"{_VALUE}{message.name}.{field.name}": mapped(value, self._set, functions, self._enum_name(value))
            for message in members
            for field in message.fields
            for value in [self._value(field)]
        }

        def external(ref: str) -> Type | None:
            """A schema of another file, or what is not one."""
            if ref in values:
                value = values[ref]
                return None if value is None else value.type
            place = self._places[ref]
            if place.folder == folder:
                return None
            imports.add(place.folder)
            return Type(f"{_alias(place.folder)}.{place.schema}", frozenset({"object"}))

        typing = Typing(self._definitions, external)
        for each in members:
            if each.fields:
                typing.type_of(Shape("", ref=each.name), self._name(each.name))
        by_name = {self._places[each.name].schema: each for each in members}
        for made in typing.made:
            message = by_name[made.name]
            for field in message.fields:
                value = values[f"{_VALUE}{message.name}.{field.name}"]
                self._check(made, field, "" if value is None else value.function, functions)
            _add_oneofs(made, message)
        where = f"{shown}: {'.'.join(folder)}"
        lines = [f"import {'.'.join(each)} as {_alias(each)}" for each in sorted(imports)]
        path = (*folder, f"{names.file_stem(folder[-1])}.k")
        return Generated(
            path, file_text(typing, lines, functions.lines, functions.used), notes_of(where, typing), needs_root=True
        )

    def _needed(self, message: Message) -> set[str]:
        """Packages whose messages are types of its fields."""
        found = set()
        for field in message.fields:
            inner = self._set.messages.get(field.type_name)
            if inner is not None and inner.is_map_entry:
                inner = self._set.messages.get(inner.fields[1].type_name)
            if inner is not None and inner.name not in WELL_KNOWN:
                found.add(inner.package)
        return found

    def _name(self, ref: str) -> str:
        return self._places[ref].schema

    def _enum_name(self, field: Field) -> str:
        return field.type_name[1:].replace(".", "_")

    def _value(self, field: Field) -> Field:
        """Itself, or the values of the map that it is."""
        inner = self._set.messages.get(field.type_name)
        return inner.fields[1] if inner is not None and inner.is_map_entry else field

    def _read(self, name: str) -> Shape:
        """The shape of a message: of its fields only what holds them, the rest is referred to."""
        message = self._set.messages[name]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {each.json_name: self._schema(each, message) for each in message.fields},
            "required": [each.json_name for each in message.fields if each.is_required],
            "description": message.description,
            "additionalProperties": False,
        }
        if message.has_extensions:
            schema |= {"additionalProperties": True, "propertyNames": {"pattern": EXTENSION}}
        return self._reader.read(schema, name)

    def _schema(self, field: Field, message: Message) -> dict[str, Any]:
        value = self._value(field)
        is_message = value.kind in (Kind.MESSAGE, Kind.GROUP) and value.type_name not in WELL_KNOWN
        is_schema = is_message and bool(self._set.messages[value.type_name].fields)
        inner: dict[str, Any] = {"$ref": value.type_name if is_schema else f"{_VALUE}{message.name}.{field.name}"}
        if may_be_none(value):
            inner = {"nullable": True}
        about = {"description": field.description} if field.description else {}
        if value is not field:
            return {"type": "object", "additionalProperties": inner, **about}
        return {"type": "array", "items": inner, **about} if field.is_repeated else {**inner, **about}

    def _check(self, made: Made, field: Field, function: str, functions: Functions) -> None:
        """Adds what the type of a field does not say, and its default."""
        attribute = made.attribute(field.json_name)
        assert attribute is not None, "every field is an attribute"
        attribute.default = default_of(field)
        text = self._condition(field, function, functions, names.attribute(field.json_name))
        if not text:
            return
        if names.is_identifier(field.json_name):
            made.checks.append(f"{text} if {names.attribute(field.json_name)} not in [None, Undefined]")
        else:
            attribute.notes.append("its value is not checked, since KCL has no name for it here")

    def _condition(self, field: Field, function: str, functions: Functions, name: str) -> str:
        value = self._value(field)
        if value is field and not field.is_repeated:
            return functions.call(function, name) if function else ""
        item = "_item" if value is field else "_value"
        said = [] if may_be_none(value) else [f"{item} != None"]
        said += [functions.call(function, item)] if function else []
        if value is field:
            return f"all _item in {name} {{ {' and '.join(said)} }}" if said else ""
        key = self._set.messages[field.type_name].fields[0].kind
        if key is not Kind.STRING:
            said.append(functions.call(_KEYS[key], "_key"))
        return f"all _key, _value in {name} {{ {' and '.join(said)} }}" if said else ""


def _own_name(message: Message, is_guest: bool) -> str:
    """The name of a schema: that of the message after those around it, and its package where it is in another's."""
    inner = message.name.removeprefix(f".{message.package}" if message.package else "").lstrip(".")
    own = names.kind_name(inner.replace(".", ""))
    return f"{names.camel(message.package)}{own}" if is_guest else own


def _alias(folder: tuple[str, ...]) -> str:
    """What an import is called: hardly what any attribute is."""
    return f"{'_'.join(folder)}_pb"


def _heads(needs: Mapping[str, set[str]]) -> dict[str, str]:
    """For each package the first, by name, of those that it needs and that need it."""
    reached = {package: _reached(package, needs) for package in needs}
    return {
        package: min({package} | {other for other in reached[package] if package in reached[other]})
        for package in needs
    }


def _reached(package: str, needs: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [package]
    while pending:
        for each in needs[pending.pop()]:
            if each not in found:
                found.add(each)
                pending.append(each)
    return found


def _folders(heads: Mapping[str, str], needs: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """The folders of packages; flat ones where a nested one would stand in the way of an import."""
    kept = sorted(set(heads.values()))
    nested = {each: tuple(map(names.package_part, each.split("."))) if each else ("messages",) for each in kept}
    prefixes = {folder[:size] for folder in nested.values() for size in range(1, len(folder) + 1)}
    hidden = any(
        (*nested[heads[package]], nested[heads[other]][0]) in prefixes
        for package, others in needs.items()
        for other in others
        if heads[other] != heads[package]
    )
    if not hidden and len(set(nested.values())) == len(nested):
        return nested
    flat: dict[str, tuple[str, ...]] = {}
    for each in kept:
        own = names.package_part(each) if each else "messages"
        while (own,) in flat.values():
            own += "_"
        flat[each] = (own,)
    return flat


def _add_oneofs(made: Made, message: Message) -> None:
    """That of the fields of a oneof at most one is set."""
    oneofs: dict[str, list[str]] = {}
    for field in message.fields:
        if field.oneof:
            oneofs.setdefault(field.oneof, []).append(field.json_name)
    for name, members in oneofs.items():
        if len(members) < 2:
            continue
        if not all(map(names.is_identifier, members)):
            made.notes.append(f"that one of {', '.join(members)} is set at most, the oneof {name}, is not checked")
            continue
        listed = ", ".join(map(names.attribute, members))
        text = f"len([_set for _set in [{listed}] if _set not in [None, Undefined]]) <= 1"
        made.checks.append(f'{text}, "one of {", ".join(members)} at most: they are the oneof {name}"')
