"""What the checker found out about packages, kept on disk from one process to the next.

An entry is for a package of certain texts by certain rules, whose imports show certain things (`interfaces`). The scope
is taken as it is, with the schemas of other packages put in by name; places of theirs in it may be those of an earlier
text. It also says which texts all of it rests on: what was found wrong is taken while those are the same.

What a schema has is bytes of its own within the entry, read when somebody asks for it (`kcl.unread`): schemas of the
same package stand in there by name, too.

None are kept that import each other in a circle, or plugins, and of those that are wrong none whose imports are not all
there.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import partial
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
        return marshal.dumps((made.interface, made.places, _Writing(made).to_bytes((made.scope, made.findings))))
    except _Elsewhere:
        return None


def _read(data: bytes, package: Package, found: tuple[Checked, ...]) -> Checked | None:
    """What was written, unless places of what is wrong with it are those of another text."""
    try:
        interface, then, pickled = marshal.loads(data)
        reading = _Reading(found)
        scope, findings = reading.from_bytes(pickled)
    except BROKEN:
        return None
    if not isinstance(scope, Scope) or (findings and then != places(package, found)):
        return None
    reading.scope = scope
    return Checked(package.path, scope, findings, found, package, interface, then)


def _is_whole(module: Module) -> bool:
    """Whether all that a file imports is there."""
    return len(module.targets) == len(module.tree.imports())


# --- Reading and writing a scope without what is not its own ---


class _Elsewhere(Exception):
    """Something of the scope belongs to another package and cannot be found there by its name."""


def schema_of(package: str | None, name: str) -> SchemaInfo:
    """Stands in what is written for a schema of another package, or with None for one of the same."""
    raise _Elsewhere(f"{package}.{name}")


def scope_of(package: str | None) -> Scope:
    """Stands in what is written for what another package declares, or with None the same."""
    raise _Elsewhere(str(package))


def schema_read_later(
    name: str, package: str, is_mixin: bool, is_protocol: bool, is_rule: bool, later: bytes
) -> SchemaInfo:
    """Stands in what is written for a schema of the package itself, of which all else is still bytes."""
    raise _Elsewhere(name)


_READ_LATER: Final = ("base", "protocol", "mixins", "attributes", "function", "signature", "required")


class _Reading:
    """Reads the entry of a package that imports these; `scope` is what it declares, once that was read."""

    def __init__(self, imported: tuple[Checked, ...]) -> None:
        self._checked = closure(imported)
        self.scope = Scope(None)
        self._meanings: dict[tuple[str, str], Callable[..., Any]] = {
            (__name__, schema_of.__name__): self._schema_of,
            (__name__, scope_of.__name__): self._scope_of,
            (__name__, schema_read_later.__name__): self._schema_read_later,
        }

    def from_bytes(self, data: bytes) -> Any:
        return from_bytes(data, _MODULES, self._meanings)

    def _scope_of(self, package: str | None) -> Scope:
        return self.scope if package is None else self._checked[package].scope

    def _schema_of(self, package: str | None, name: str) -> SchemaInfo:
        found = self._scope_of(package).names[name].type
        if not isinstance(found, SchemaType):
            raise LookupError(name)
        return found.info

    def _schema_read_later(
        self, name: str, package: str, is_mixin: bool, is_protocol: bool, is_rule: bool, later: bytes
    ) -> SchemaInfo:
        info = SchemaInfo.__new__(SchemaInfo)
        info.name, info.package = name, package
        info.is_mixin, info.is_protocol, info.is_rule = is_mixin, is_protocol, is_rule
        info.leave_unread(partial(self._rest, later))
        return info

    def _rest(self, later: bytes) -> dict[str, object]:
        return dict(zip(_READ_LATER, self.from_bytes(later), strict=True))


class _Writing:
    """Writes the entry of a package. Raises `_Elsewhere`."""

    def __init__(self, found: Checked) -> None:
        self._found = found
        self._scopes = {id(each.scope): path for path, each in found.below.items()}
        types: dict[type, Reducer] = {Span: _span, Type: _type, FunctionType: _type, MultiplierType: _type}
        self._reducers: dict[type, Reducer] = {SchemaInfo: self._schema, Scope: self._scope, **types}
        self._in_schema: dict[type, Reducer] = {SchemaInfo: self._named_schema, Scope: self._named_scope, **types}

    def to_bytes(self, value: object) -> bytes:
        return to_bytes(value, self._reducers)

    def _schema(self, info: SchemaInfo) -> Any:
        if info.package != self._found.path:
            return self._named_schema(info)
        try:
            self._named_schema(info)
            later = to_bytes(tuple(getattr(info, name) for name in _READ_LATER), self._in_schema)
        except _Elsewhere:  # one of two of the same name, say: all of it at once
            return info.__reduce_ex__(PROTOCOL)
        return schema_read_later, (
            *(info.name, info.package, info.is_mixin, info.is_protocol, info.is_rule),
            later,
        )

    def _named_schema(self, info: SchemaInfo) -> Any:
        is_own = info.package == self._found.path
        package = self._found if is_own else self._found.below.get(info.package)
        binding = None if package is None else package.scope.names.get(info.name)
        if binding is None or not isinstance(binding.type, SchemaType) or binding.type.info is not info:
            raise _Elsewhere(info.full)
        return schema_of, (None if is_own else info.package, info.name)

    def _scope(self, scope: Scope) -> Any:
        return scope.__reduce_ex__(PROTOCOL) if scope is self._found.scope else self._named_scope(scope)

    def _named_scope(self, scope: Scope) -> Any:
        if scope is self._found.scope.parent:
            return Scope, (None,)  # of use only to who checks the package
        if scope is self._found.scope:
            return scope_of, (None,)
        if id(scope) in self._scopes:
            return scope_of, (self._scopes[id(scope)],)
        return scope.__reduce_ex__(PROTOCOL)


def _span(span: Span) -> Any:
    return Span, (span.path, span.start, span.end)


def _type(type_: Type) -> Any:
    return _CONSTANT_NAMES.get(id(type_)) or type_.__reduce_ex__(PROTOCOL)
