"""What providers say about their resource types: `terraform providers schema -json`.

Optional everywhere: without schemas, secrets are known by the masks of plans and by their names, and sets by how they
come back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.base import FieldPath
from runtimes.base.documents import load_json


class Form(StrEnum):
    """`ANY` is an attribute whose type is that of the value it is given."""

    STRING = "string"
    NUMBER = "number"
    BOOL = "bool"
    LIST = "list"
    SET = "set"
    MAP = "map"
    OBJECT = "object"
    ANY = "dynamic"


@dataclass(frozen=True, slots=True)
class Type:
    """`element` is what lists, sets and maps hold, None for the rest; `fields` what objects have, blocks included."""

    form: Form
    element: Type | None = None
    fields: Mapping[str, Attribute] = field(default_factory=dict)

    def at(self, step: object) -> Type | None:
        """Returns the type one step further in, None where nothing is known of it."""
        if self.form is Form.OBJECT:
            attribute = self.fields.get(str(step))
            return attribute.type if attribute else None
        return self.element

    @property
    def word(self) -> str:
        """What it is to somebody who writes a value: string, number, bool, list, map, object, or "" for anything."""
        match self.form:
            case Form.SET:
                return Form.LIST.value
            case Form.ANY:
                return ""
            case form:
                return form.value


@dataclass(frozen=True, slots=True)
class Attribute:
    """`is_settable` is False for what only the provider decides."""

    type: Type
    is_settable: bool = True
    is_sensitive: bool = False


ANY: Final = Type(Form.ANY)


@dataclass(frozen=True, slots=True)
class Schemas:
    """`types` are the resource types by name."""

    types: Mapping[str, Type]

    def get(self, resource_type: str) -> Type | None:
        return self.types.get(resource_type)


class UnreadableSchema(ValueError):
    """A text that is not the output of `terraform providers schema -json`."""


def read(content: Mapping[str, Any] | str | bytes, *, types: Collection[str] | None = None) -> Schemas:
    """Reads the output of `terraform providers schema -json`; only these resource types, if given.

    The output of a large provider has tens of megabytes, so it is worth to keep what is returned. Raises
    `UnreadableSchema`.
    """
    try:
        document = load_json(content) if isinstance(content, str | bytes) else content
        return Schemas(
            {
                name: _block(described["block"])
                for provider in document.get("provider_schemas", {}).values()
                for name, described in provider.get("resource_schemas", {}).items()
                if types is None or name in types
            }
        )
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise UnreadableSchema(f"what terraform says of its providers' schemas can't be read: {error!r}") from error


def sensitive(type_: Type | None, value: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yields the paths in a value that its type calls sensitive and that are there."""
    if type_ is None:
        return
    match value:
        case Mapping():
            for key, each in value.items():
                attribute = type_.fields.get(key)
                if attribute and attribute.is_sensitive and each is not None:
                    yield (*path, key)
                else:
                    yield from sensitive(type_.at(key), each, (*path, key))
        case list():
            for index, each in enumerate(value):
                yield from sensitive(type_.element, each, (*path, index))


_NESTED = {
    "list": lambda block: Type(Form.LIST, block),
    "set": lambda block: Type(Form.SET, block),
    "map": lambda block: Type(Form.MAP, block),
}


def _block(block: Mapping[str, Any]) -> Type:
    fields = {name: _attribute(each) for name, each in block.get("attributes", {}).items()}
    for name, each in block.get("block_types", {}).items():
        fields[name] = Attribute(_nested(each["nesting_mode"], _block(each.get("block", {}))))
    return Type(Form.OBJECT, fields=fields)


def _nested(mode: str, inner: Type) -> Type:
    """`single` and `group` hold one, so they are the object itself."""
    return _NESTED[mode](inner) if mode in _NESTED else inner


def _attribute(attribute: Mapping[str, Any]) -> Attribute:
    if (nested := attribute.get("nested_type")) is not None:
        inner = Type(Form.OBJECT, fields={name: _attribute(each) for name, each in nested["attributes"].items()})
        type_ = _nested(nested.get("nesting_mode", "single"), inner)
    else:
        type_ = read_type(attribute.get("type", "dynamic"))
    settable = bool(attribute.get("required") or attribute.get("optional"))
    return Attribute(type_, settable, bool(attribute.get("sensitive")))


def read_type(content: Any) -> Type:
    """Reads a type as Terraform writes it: `"string"`, `["list", "string"]`, `["object", {...}]`.

    Raises `ValueError` for what is none.
    """
    match content:
        case str() if content in ("string", "number", "bool", "dynamic"):
            return Type(Form(content))
        case ["list" | "set" | "map" as form, element]:
            return Type(Form(form), read_type(element))
        case ["tuple", list()]:
            return Type(Form.LIST)
        case ["object", Mapping() as fields, *_]:
            return Type(Form.OBJECT, fields={name: Attribute(read_type(each)) for name, each in fields.items()})
    raise ValueError(f"not a type: {content!r}")
