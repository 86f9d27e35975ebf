"""What names mean: bindings, the scopes that hold them, and the type of what stands for a whole scope."""

from __future__ import annotations

from enum import Enum

from kcl.diagnostics import Span
from kcl.records import dataclass
from kcl.semantic.types import MODULE_FLAG, Type


def is_private(name: str) -> bool:
    return name.startswith("_")


class Kind(Enum):
    """What a name was bound by, where that matters."""

    VALUE = "value"
    DEFINITION = "definition"
    MODULE = "module"
    ALIAS = "alias"


@dataclass(slots=True)
class Binding:
    """What a scope knows of one name. `type` changes when a variable without annotation is first given a value."""

    type: Type
    span: Span | None
    kind: Kind = Kind.VALUE


class Scope:
    """Names of a package, a schema, a lambda, a loop or a configuration; `parent` is where to look next."""

    __slots__ = ("names", "parent")

    def __init__(self, parent: Scope | None) -> None:
        self.names: dict[str, Binding] = {}
        self.parent = parent

    def find(self, name: str) -> Binding | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def visible(self) -> list[str]:
        """Every name that can be used here, those of the outermost scope first."""
        scopes: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            scopes.append(scope)
            scope = scope.parent
        return list(dict.fromkeys(name for scope in reversed(scopes) for name in scope.names))


class ModuleType(Type):
    """An imported package (`scope` holds what it declares), or a module of the library or a plugin (None)."""

    __slots__ = ("named", "path", "scope")

    def __init__(self, path: str, scope: Scope | None, named: str | None = None) -> None:
        """`named` is how the import names it, where that is another way to the same package."""
        self.flags = MODULE_FLAG
        self.path = path
        self.scope = scope
        self.named = named or path

    def __str__(self) -> str:
        return f"module '{self.named}'"
