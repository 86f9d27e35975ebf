"""Private variables that other packages read, and the public names they get."""

from __future__ import annotations

from collections.abc import Iterable

from kcl.loader.program import ImportKind, Module
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.syntax import ast
from kcl.tools.migrate.declarations import Declarations, PackageView
from kcl.tools.migrate.walk import Binding, Walker

_IDENTIFIER = pattern(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Exposed:
    """One private variable of `package` that others read as `package.name`.

    `public` is its new name. With `renamed` the variable itself takes it; else it is assigned several times, as only
    private variables may be, and a variable of the new name is added behind it. `files` declare it.
    """

    package: str
    name: str
    public: str
    renamed: bool
    files: frozenset[str]

    @property
    def group(self) -> str:
        return f"private:{self.package}:{self.name}"


def find_exposed(worlds: Iterable[Declarations]) -> list[Exposed]:
    """The private variables that some file of some program reads from another package."""
    found: dict[tuple[str, str], Exposed] = {}
    for declarations in worlds:
        walked = [
            _Reads(declarations, path, module)
            for path, view in declarations.packages.items()
            for module in view.package.modules
        ]
        for reads in walked:
            reads.walk()
            for package, name in reads.found:
                found.setdefault((package, name), _exposed(declarations.packages[package], package, name))
    return list(found.values())


def _exposed(view: PackageView, package: str, name: str) -> Exposed:
    places = view.variables[name]
    plain = [statement for _, statement in places if isinstance(statement, ast.Assign)]
    once = len(places) == 1 and len(plain) == 1 and not any(target.path for target in plain[0].targets)
    files = frozenset(module.source.path for module, _ in places)
    return Exposed(package, name, _public_name(name, view), once, files)


def _public_name(name: str, view: PackageView) -> str:
    """The name without its underscores, with some at its end where that is taken."""
    chosen = name.strip("_")
    if not _IDENTIFIER.fullmatch(chosen):
        chosen = f"value_{chosen}" if chosen else "value"
    while view.declares(chosen):
        chosen += "_"
    return chosen


class _Reads(Walker):
    def __init__(self, declarations: Declarations, package: str, module: Module) -> None:
        super().__init__(declarations, package, module)
        self.found: set[tuple[str, str]] = set()

    def on_member(self, node: ast.Selector, head: ast.Name, binding: Binding) -> None:
        if binding is not Binding.IMPORT or not node.name.startswith("_"):
            return
        found = self.module.imports[head.id]
        view = self.declarations.packages.get(found.package) if found.kind is ImportKind.PACKAGE else None
        if view is not None and node.name in view.variables:
            self.found.add((found.package, node.name))
