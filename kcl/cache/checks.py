"""What the checker found out about packages, kept on disk from one process to the next.

An entry is for a package of certain texts by certain rules, and says what the packages it imports showed when it was
checked (`interfaces`). Where they show the same, the scope is taken as it is, with the schemas of other packages put in
by name. Only packages nothing is wrong with are kept, and none that import each other in a circle, or plugins.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kcl.cache.entries import entry_name
from kcl.cache.objects import BROKEN, PROTOCOL, Reducer, from_bytes, to_bytes
from kcl.diagnostics import Span
from kcl.loader.program import ImportKind
from kcl.memo.digest import blake2b
from kcl.records import astuple
from kcl.semantic.scopes import Scope
from kcl.semantic.types import CONSTANTS, FunctionType, MultiplierType, SchemaInfo, SchemaType, Type

if TYPE_CHECKING:
    from kcl.cache.entries import Entries
    from kcl.loader.program import Package
    from kcl.semantic.packages import Checked, Checking

_MODULES: Final = ("kcl.diagnostics.", "kcl.semantic.")
_DIGEST_BYTES: Final = 20
_CONSTANT_NAMES: Final = {id(constant): name for name, constant in CONSTANTS.items()}
"""They are compared by identity, so they are written by name."""


class KeptChecks:
    """The checked packages in a store."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def read(
        self,
        package: Package,
        how: Checking,
        imports: Sequence[Checked],
        checked: Mapping[str, Checked],
        builtins: Scope,
    ) -> tuple[Scope, bytes] | None:
        """The scope and the interface of the package, if the packages it imports, in order, still show what they did.

        `checked` are the packages checked before it, by path.
        """
        data = self._entries.read(self._name(package, how))
        if data is None:
            return None
        try:
            shown, own, pickled = marshal.loads(data)
            if shown != [(each.path, each.interface) for each in imports]:
                return None
            scope = from_bytes(pickled, _MODULES, _meanings(checked, builtins))
        except BROKEN:
            return None
        return (scope, own) if isinstance(scope, Scope) else None

    def keep(self, package: Package, how: Checking, found: Checked, checked: Mapping[str, Checked]) -> None:
        """Notes a package nothing is wrong with; `checked` are those checked before it, by path."""
        kinds = (imported.kind for module in package.modules for imported in module.imports.values())
        if ImportKind.PLUGIN not in kinds:
            self._entries.note(self._name(package, how), lambda: _content(found, checked))

    def _name(self, package: Package, how: Checking) -> str:
        texts = blake2b(digest_size=_DIGEST_BYTES)
        for module in package.modules:
            text = module.source.text.encode("utf-8", "surrogatepass")
            texts.update(b"%d\n" % len(text) + text)
        paths = [module.source.path for module in package.modules]
        rules, dedents = how
        return entry_name("checked", package.path, paths, astuple(rules), dedents, texts.digest())


def _content(found: Checked, checked: Mapping[str, Checked]) -> bytes | None:
    """What is written of a package; None if something of it cannot be found by its name."""
    try:
        pickled = to_bytes(found.scope, _reducers(found, checked))
    except _Elsewhere:
        return None
    return marshal.dumps(([(each.path, each.interface) for each in found.imports], found.interface, pickled))


# --- Reading and writing a scope without what is not its own ---


class _Elsewhere(Exception):
    """Something of the scope belongs to another package and cannot be found there by its name."""


def schema_of(package: str, name: str) -> SchemaInfo:
    """Stands in what is written for a schema of another package."""
    raise _Elsewhere(f"{package}.{name}")


def scope_of(package: str) -> Scope:
    """Stands in what is written for what another package declares."""
    raise _Elsewhere(package)


def built_in() -> Scope:
    """Stands in what is written for the scope around all packages."""
    raise _Elsewhere


def _meanings(checked: Mapping[str, Checked], builtins: Scope) -> dict[tuple[str, str], Callable[..., Any]]:
    def schema(package: str, name: str) -> SchemaInfo:
        found = checked[package].scope.names[name].type
        if not isinstance(found, SchemaType):
            raise LookupError(name)
        return found.info

    def scope(package: str) -> Scope:
        return checked[package].scope

    return {
        (__name__, schema_of.__name__): schema,
        (__name__, scope_of.__name__): scope,
        (__name__, built_in.__name__): lambda: builtins,
    }


def _reducers(found: Checked, checked: Mapping[str, Checked]) -> dict[type, Reducer]:
    scopes = {id(each.scope): path for path, each in checked.items() if path != found.path}
    around = found.scope.parent

    def schema(info: SchemaInfo) -> Any:
        if info.package == found.path:
            return info.__reduce_ex__(PROTOCOL)
        package = checked.get(info.package)
        binding = None if package is None else package.scope.names.get(info.name)
        if binding is None or not isinstance(binding.type, SchemaType) or binding.type.info is not info:
            raise _Elsewhere(info.full)
        return schema_of, (info.package, info.name)

    def scope(scope: Scope) -> Any:
        if scope is around:
            return built_in, ()
        if id(scope) in scopes:
            return scope_of, (scopes[id(scope)],)
        return scope.__reduce_ex__(PROTOCOL)

    return {SchemaInfo: schema, Scope: scope, Span: _span, Type: _type, FunctionType: _type, MultiplierType: _type}


def _span(span: Span) -> Any:
    return Span, (span.path, span.start, span.end)


def _type(type_: Type) -> Any:
    return _CONSTANT_NAMES.get(id(type_)) or type_.__reduce_ex__(PROTOCOL)
