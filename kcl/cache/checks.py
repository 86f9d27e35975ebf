"""What the checker found out about packages, kept on disk from one process to the next.

An entry is for a package of certain texts by certain rules, and says what the packages it imports showed when it was
checked (`interfaces`). Where they show the same, the scope is taken as it is, with the schemas of other packages put in
by name; places of theirs in it may be those of an earlier text. It also says which texts all of it rests on. Where
those are the same, so are all places, and what was found wrong with the package.

None are kept that import each other in a circle, or plugins, and of those that are wrong none whose imports are not all
there.
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
from kcl.semantic.packages import CheckedElsewhere
from kcl.semantic.scopes import Scope
from kcl.semantic.types import CONSTANTS, FunctionType, MultiplierType, SchemaInfo, SchemaType, Type

if TYPE_CHECKING:
    from kcl.cache.entries import Entries
    from kcl.loader.program import Module, Package
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
    ) -> CheckedElsewhere | None:
        """What is known of the package, if the packages it imports, in order, still show what they did.

        `checked` are the packages checked before it, by path.
        """
        data = self._entries.read(self._name(package, how))
        if data is None:
            return None
        try:
            shown, own, then, pickled = marshal.loads(data)
            rests = self.rests(package, how, imports)
            if then is None or rests != then:
                rests = None
            if rests is None and shown != [(each.path, each.interface) for each in imports]:
                return None
            scope, findings = from_bytes(pickled, _MODULES, _meanings(checked, builtins))
        except BROKEN:
            return None
        if not isinstance(scope, Scope) or (findings and rests is None):
            return None
        return CheckedElsewhere(scope, own, findings, rests)

    def rests(self, package: Package, how: Checking, imports: Sequence[Checked]) -> bytes | None:
        """A digest of all texts that a package rests on; None where a place in what it imports may have moved."""
        known = [(each.path, each.rests) for each in imports]
        if any(rests is None for _, rests in known):
            return None
        facts = [_imports(module) for module in package.modules]
        name = self._name(package, how)
        return blake2b(marshal.dumps((name, facts, known), 2), digest_size=_DIGEST_BYTES).digest()

    def keep(self, package: Package, how: Checking, found: Checked, checked: Mapping[str, Checked]) -> None:
        """Notes a package as it was just checked; `checked` are those checked before it, by path."""
        kinds = {imported.kind for module in package.modules for imported in module.imports.values()}
        is_known = not found.findings or (found.rests is not None and all(map(_is_whole, package.modules)))
        if ImportKind.PLUGIN not in kinds and is_known:
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
        pickled = to_bytes((found.scope, found.findings), _reducers(found, checked))
    except _Elsewhere:
        return None
    shown = [(each.path, each.interface) for each in found.imports]
    return marshal.dumps((shown, found.interface, found.rests, pickled))


def _imports(module: Module) -> list[tuple[str, str, str]]:
    """What the imports of a file lead to."""
    return [(alias, each.package, each.kind.value) for alias, each in module.imports.items()]


def _is_whole(module: Module) -> bool:
    """Whether all that a file imports is there."""
    return len(module.targets) == len(module.tree.imports())


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
