"""What the loader hands on: a program is a set of packages, a package a set of parsed files.

Nothing here reads a file; `kcl.loader.load` builds these values, the evaluator only looks at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final

from kcl.records import dataclass, field

if TYPE_CHECKING:
    from kcl.source import SourceFile
    from kcl.syntax import ast

MAIN_PACKAGE: Final = "__main__"
"""Package path of the files named on the command line."""


class ImportKind(Enum):
    """Where the target of an import statement lives."""

    PACKAGE = "package"
    """KCL files, found in `Program.packages` under `Import.package`."""
    SYSTEM = "system"
    """A module of the standard library such as `yaml`; `Import.package` is its name."""
    PLUGIN = "plugin"
    """`kcl_plugin.NAME`; `Import.package` is the whole dotted name."""


@dataclass(frozen=True, slots=True)
class Import:
    """One resolved import statement of a module."""

    alias: str
    """The name it binds in the importing file: the `as` name, else the last segment of the path."""
    package: str
    """Key into `Program.packages` for a PACKAGE, module name for the other kinds."""
    kind: ImportKind
    statement: ast.Import


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed file."""

    name: str
    """The file's name as diagnostics print it: an absolute path, or the name given to source text."""
    source: SourceFile
    tree: ast.Module
    imports: Mapping[str, Import] = field(default_factory=dict)
    """By alias, in source order. File-scoped; the evaluator decides whether siblings may see them."""
    targets: Mapping[int, str] = field(default_factory=dict)
    """`Import.package` by the offset of each statement, also of those whose alias another one takes."""


@dataclass(frozen=True, eq=False)
class Package:
    """All files that share one global scope; no two are equal, and a memo may know facts of one as long as it lives."""

    path: str
    """Dotted path from the root (`base.pkg.kusion_models`), or `MAIN_PACKAGE`."""
    directory: str
    """Folder of the files; "" for the main package of in-memory text."""
    modules: tuple[Module, ...]

    def is_same(self, other: Package) -> bool:
        """Whether both are made of the same trees, whose imports lead to the same places."""
        return len(self.modules) == len(other.modules) and all(map(_is_same_module, self.modules, other.modules))


def _is_same_module(mine: Module, other: Module) -> bool:
    return mine.tree is other.tree and mine.imports == other.imports and mine.targets == other.targets


@dataclass(frozen=True, eq=False)
class Imported:
    """All that a main package imports, directly or not; one object for as long as none of it changes.

    A memo may know facts of it for as long as it lives.
    """

    packages: Mapping[str, Package]
    """By package path, in the order they were first imported."""


@dataclass(frozen=True, slots=True)
class Program:
    """Everything one compilation evaluates, closed under imports."""

    root: str
    """Folder that dotted imports start from: the nearest one with a kcl.mod, else the first file's own."""
    packages: Mapping[str, Package]
    """By package path, `MAIN_PACKAGE` included, in the order they were first imported."""
    main: Package
    imported: Imported
    """All packages but the main one."""
    work_dir: str
    """Folder that relative file arguments and `file.workdir()` start from."""
    dedents: bool = True
    """Whether triple-quoted strings lost their common indentation."""
    dependencies: frozenset[str] = frozenset()
    """Absolute paths of every file read (sources, kcl.mod) or looked for in vain: what a cache must watch."""
