"""What the checker found out about packages, kept on disk from one process to the next.

An entry is for a package of certain texts by certain rules, whose imports show certain things (`interfaces`). The scope
is taken as it is, with the schemas of other packages put in by name; places of theirs in it may be those of an earlier
text. It also says which texts all of it rests on: what was found wrong is taken while those are the same.

None are kept that import each other in a circle, or plugins, and of those that are wrong none whose imports are not all
there.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kcl.cache.entries import entry_name
from kcl.cache.objects import BROKEN, PROTOCOL, Reducer, from_bytes, to_bytes
from kcl.diagnostics import Span
from kcl.loader.program import MAIN_PACKAGE, ImportKind
from kcl.semantic.checked import CHECKED, TEXTS, Checked, closure, imports, places
from kcl.semantic.scopes import Scope
from kcl.semantic.types import CONSTANTS, FunctionType, MultiplierType, SchemaInfo, SchemaType, Type

if TYPE_CHECKING:
    from kcl.cache.entries import Entries
    from kcl.loader.program import Module, Package
    from kcl.memo.queries import Request
    from kcl.semantic.checked import Key

_MODULES: Final = ("kcl.diagnostics.", "kcl.semantic.")
_CONSTANT_NAMES: Final = {id(constant): name for name, constant in CONSTANTS.items()}
"""They are compared by identity, so they are written by name."""


def checked(entries: Entries, request: Request, key: Key, check: Callable[[Request, Key], Checked]) -> Checked:
    """A package as it was checked for a process before, else as it is checked now, and kept for those to come."""
    if key[2] == MAIN_PACKAGE:  # which somebody is editing: not for the disk
        return check(request, key)
    package, found, is_whole = imports(request, CHECKED, key)
    kinds = {each.kind for module in package.modules for each in module.imports.values()}
    if not is_whole or ImportKind.PLUGIN in kinds:
        return check(request, key)
    shown = [(each.path, each.interface) for each in found]
    name = entry_name("checked", key[0], key[2], request.get(TEXTS, package), shown)
    data = entries.read(name)
    known = None if data is None else _read(data, package, found)
    if known is not None:
        return known
    made = check(request, key)
    if not made.findings or all(map(_is_whole, package.modules)):
        entries.note(name, lambda: _content(made))
    return made


def _content(made: Checked) -> bytes | None:
    """What is written of a package; None if something of it cannot be found by its name."""
    try:
        return marshal.dumps((made.interface, made.places, to_bytes((made.scope, made.findings), _reducers(made))))
    except _Elsewhere:
        return None


def _read(data: bytes, package: Package, found: tuple[Checked, ...]) -> Checked | None:
    """What was written, unless places of what is wrong with it are those of another text."""
    try:
        interface, then, pickled = marshal.loads(data)
        scope, findings = from_bytes(pickled, _MODULES, _meanings(found))
    except BROKEN:
        return None
    if not isinstance(scope, Scope) or (findings and then != places(package, found)):
        return None
    return Checked(package.path, scope, findings, found, package, interface, then)


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


def _meanings(imported: tuple[Checked, ...]) -> dict[tuple[str, str], Callable[..., Any]]:
    checked = closure(imported)

    def schema(package: str, name: str) -> SchemaInfo:
        found = checked[package].scope.names[name].type
        if not isinstance(found, SchemaType):
            raise LookupError(name)
        return found.info

    return {
        (__name__, schema_of.__name__): schema,
        (__name__, scope_of.__name__): lambda package: checked[package].scope,
    }


def _reducers(found: Checked) -> dict[type, Reducer]:
    checked = found.below
    scopes = {id(each.scope): path for path, each in checked.items()}
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
            return Scope, (None,)  # of use only to who checks the package
        if id(scope) in scopes:
            return scope_of, (scopes[id(scope)],)
        return scope.__reduce_ex__(PROTOCOL)

    return {SchemaInfo: schema, Scope: scope, Span: _span, Type: _type, FunctionType: _type, MultiplierType: _type}


def _span(span: Span) -> Any:
    return Span, (span.path, span.start, span.end)


def _type(type_: Type) -> Any:
    return _CONSTANT_NAMES.get(id(type_)) or type_.__reduce_ex__(PROTOCOL)
