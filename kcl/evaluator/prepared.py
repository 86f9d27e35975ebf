"""Compiled packages kept from one evaluation to the next.

What is kept is code: it depends on the packages, the dialect and the limits, and not on options, files read by the
program or anything else that may differ between two evaluations. Values are computed anew each time. The main package
is never kept; a package whose files or imports changed makes everything start over, since code refers to the schemas
of other packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kcl.evaluator.dialect import Dialect
from kcl.evaluator.lexical import Unit
from kcl.evaluator.runtime import Compiling, Limits, ModuleContext, Runtime
from kcl.evaluator.statements import Body, Run
from kcl.evaluator.value import Library, Value
from kcl.loader.program import MAIN_PACKAGE, Imported, ImportKind, Package, Program

_MOST_SITES: Final = 100_000
"""Each evaluation adds the sites of its main package to the table that it shares with those before it."""

Files = list[tuple[ModuleContext, Body]]
FileCode = tuple[Unit, list[Run]]


@dataclass(slots=True)
class Prepared:
    """What one evaluation leaves to the next. Used by one at a time; `library` is that of all of them."""

    library: Library
    files: dict[str, Files] = field(default_factory=dict)
    """By package, its files with their statements sorted."""
    statements: dict[str, list[FileCode]] = field(default_factory=dict)
    """By package, the code of each of its files."""
    _runtime: Runtime | None = None
    _rules: tuple[str, Dialect, Limits] | None = None
    _packages: dict[str, Package] = field(default_factory=dict)
    _imported: Imported | None = None
    """What the last program imported."""

    def runtime(
        self,
        program: Program,
        options: Mapping[str, Value],
        dialect: Dialect,
        limits: Limits,
        compiling: Compiling | None,
    ) -> Runtime:
        """The state for an evaluation of the program, with the packages in it that were prepared before."""
        rules = (program.root, dialect, limits)
        runtime = self._runtime
        if runtime is None or rules != self._rules or len(runtime.table) > _MOST_SITES or not self._fits(program):
            runtime = self._runtime = Runtime(program, self.library, options, dialect, limits)
            self._rules = rules
            self._packages.clear()
            self.files.clear()
            self.statements.clear()
        runtime.begin(program, options, compiling)
        if self._imported is not program.imported:
            self._packages.update(program.imported.packages)
            self._imported = program.imported
        return runtime

    def forget_values(self) -> None:
        """Lets go of what the last evaluation computed."""
        if self._runtime is not None:
            main = self._runtime.packages.pop(MAIN_PACKAGE, None)
            if main is not None:
                main.dissolve()
            self.files.pop(MAIN_PACKAGE, None)
            self._runtime.forget_values()

    def _fits(self, program: Program) -> bool:
        if self._imported is program.imported:
            return True
        for path, package in program.imported.packages.items():
            known = self._packages.get(path)
            if known is not None and known is not package and not _same(known, package):
                return False
        return True


def without_plugins(program: Program) -> bool:
    """Whether no file imports a plugin, whose functions live in processes that end with the run."""
    facts = program.imported.facts
    if "plugins" not in facts:
        facts["plugins"] = any(map(_has_plugins, program.imported.packages.values()))
    return not facts["plugins"] and not _has_plugins(program.main)


def _has_plugins(package: Package) -> bool:
    return any(imported.kind is ImportKind.PLUGIN for module in package.modules for imported in module.imports.values())


def _same(known: Package, package: Package) -> bool:
    """Whether both are made of the same trees, and their imports lead to packages of the same paths."""
    return len(known.modules) == len(package.modules) and all(
        mine.tree is theirs.tree
        and [(each.alias, each.package, each.kind) for each in mine.imports.values()]
        == [(each.alias, each.package, each.kind) for each in theirs.imports.values()]
        for mine, theirs in zip(known.modules, package.modules, strict=True)
    )
