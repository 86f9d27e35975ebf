"""What of a package others can see: the names it declares with their types, and not where they stand.

As long as this is the same, packages that import it are what they were: what the checker says of them could differ in
places it points to at most. Values of variables and defaults, bodies of functions and checks are no part of it.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kcl.memo.digest import blake2b
from kcl.semantic.scopes import ModuleType, Scope
from kcl.semantic.types import (
    Attribute,
    DictType,
    FunctionType,
    ListType,
    LiteralType,
    MultiplierType,
    SchemaInfo,
    SchemaType,
    Type,
    UnionType,
)

_BYTES: Final = 20
_WITHOUT_REFERENCES: Final = 2
"""The version of marshal in which equal values are equal bytes."""


def interface(package: str, scope: Scope, imports: Iterable[bytes]) -> bytes:
    """A digest of what the package of that path shows, given the digests of the packages it imports.

    They count, since what it shows may be made of what they do.
    """
    whole: Any = (list(imports), _Description(package).of(scope))
    try:
        described = marshal.dumps(whole, _WITHOUT_REFERENCES)
    except ValueError:  # types nested a thousand deep: the same as no other
        from random import SystemRandom  # there are none but in tests of limits

        described = SystemRandom().randbytes(_BYTES)
    return blake2b(described, digest_size=_BYTES).digest()


class _Description:
    """One package as nested tuples. Schemas of its own are told once and then by number, those of others by name."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._own: dict[SchemaInfo, int] = {}
        self._dictionaries: dict[DictType, int] = {}
        """Which of them are one and the same is part of what they are: each equals only itself."""

    def of(self, scope: Scope) -> object:
        names = [
            (name, binding.kind.value, binding.span is None, self._type(binding.type))
            for name, binding in scope.names.items()
        ]
        schemas: list[object] = []
        while len(schemas) < len(self._own):
            schemas.append(self._schema(list(self._own)[len(schemas)]))
        return names, schemas

    def _type(self, type_: Type) -> object:
        match type_:
            case LiteralType():
                return "literal", str(type_)
            case MultiplierType():
                return "multiplier", type_.number
            case ListType():
                return "list", self._type(type_.item)
            case DictType():
                return self._dictionary(type_)
            case UnionType():
                return "union", [self._type(member) for member in type_.members]
            case FunctionType():
                return self._function(type_)
            case ModuleType():
                return "module", type_.path, type_.scope is None
            case SchemaType():
                return "schema", self._reference(type_.info), type_.is_instance
            case _:
                return str(type_)

    def _dictionary(self, type_: DictType) -> object:
        known = self._dictionaries.get(type_)
        if known is not None:
            return "dict", known
        known = self._dictionaries[type_] = len(self._dictionaries)
        entries = [(name, self._type(entry.type)) for name, entry in type_.attributes.items()]
        return "dict", known, self._type(type_.key), self._type(type_.value), entries

    def _function(self, type_: FunctionType) -> object:
        params = [(param.name, self._type(param.type), param.has_default) for param in type_.params]
        return "function", params, self._type(type_.result), type_.variadic

    def _reference(self, info: SchemaInfo | None) -> object:
        if info is None:
            return None
        if info.package != self._package:
            return info.package, info.name
        return self._own.setdefault(info, len(self._own))

    def _schema(self, info: SchemaInfo) -> object:
        signature = info.signature
        return (
            info.name,
            (info.is_mixin, info.is_protocol, info.is_rule),
            self._reference(info.base),
            self._reference(info.protocol),
            self._references(info.mixins),
            [(name, self._attribute(attribute)) for name, attribute in info.attributes.items()],
            self._function(info.function),
            info.required,
            None
            if signature is None
            else (signature.key_name, self._type(signature.key), self._type(signature.value), signature.any_other),
        )

    def _references(self, infos: Sequence[SchemaInfo]) -> list[object]:
        return [self._reference(info) for info in infos]

    def _attribute(self, attribute: Attribute) -> object:
        return self._type(attribute.type), attribute.optional, attribute.span is None
