"""Programs that are read and not checked, for the calls that answer their trees."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcl.compat.messages import Error
from kcl.compat.programs import ServiceError, as_error
from kcl.compat.trees import Target, module_tree
from kcl.diagnostics import Code, KclError
from kcl.loader import LoadRequest, load
from kcl.loader.program import MAIN_PACKAGE, Module, Package, Program
from kcl.records import dataclass
from kcl.reports import report
from kcl.source import OsFileSystem, OverlayFileSystem
from kcl.syntax import ast


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program, and what is wrong with how it is written."""

    program: Program
    errors: list[Error]
    given: Mapping[str, str]
    """What files were called that were given as text and are not on the disk, by the paths they have here."""

    def files(self) -> list[str]:
        """All files, those of imported packages before those that import them."""
        found: dict[str, None] = {}
        entered: set[str] = set()

        def visit(package: Package) -> None:
            entered.add(package.path)
            for module in package.modules:
                for path in module.targets.values():
                    if path in self.program.packages and path not in entered:
                        visit(self.program.packages[path])
                found[self._called(module)] = None

        visit(self.program.main)
        return list(found)

    def imported_files(self) -> list[str]:
        """The files that the main package imports by itself, of the package it is part of."""
        packages = {path for module in self.program.main.modules for path in module.targets.values()}
        return [self._called(module) for path in packages if self._is_own(path) for module in self._modules(path)]

    def file_tree(self) -> str:
        """JSON of the first file; "" where one cannot be read."""
        modules = self.program.main.modules
        return self._json(lambda: self._module(modules[0], None)) if modules else ""

    def program_tree(self) -> str:
        """JSON of all files by package; "" where one cannot be read."""
        is_on_disk = any(os.path.abspath(each.source.path) not in self.given for each in self.program.main.modules)
        return self._json(
            lambda: {
                "root": self.program.root if is_on_disk else "",
                "pkgs": {
                    path: [self._module(module, path) for module in package.modules]
                    for path, package in self.program.packages.items()
                },
            }
        )

    def _json(self, made: Callable[[], dict[str, Any]]) -> str:
        if any(each.code == Code.INVALID_SYNTAX.number for each in self.errors):
            return ""
        try:
            return json.dumps(made(), ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            raise ServiceError("the program is nested too deeply for its tree to be answered as JSON") from None

    def _module(self, module: Module, package: str | None) -> dict[str, Any]:
        targets = [self._target(module, each, package) for each in module.tree.imports()]
        return module_tree(module.source, self._called(module), targets, dedents=self.program.dedents)

    def _target(self, module: Module, statement: ast.Import, package: str | None) -> Target:
        """What an import leads to. Of a lone file (`package` is None) the official parser takes all for its own."""
        path = module.targets.get(statement.start)
        if path is None:
            path = self._sought(module, statement)
        own = MAIN_PACKAGE if package is None else self._root_package(package)
        is_found = path in self.program.packages
        return Target(path, self._root_package(path) if is_found and package is not None else own)

    def _sought(self, module: Module, statement: ast.Import) -> str:
        """Where an import led that found nothing."""
        if not statement.level:
            return statement.path
        folder = os.path.dirname(module.source.path)
        for _ in range(statement.level - 1):
            folder = os.path.dirname(folder)
        inside = os.path.relpath(os.path.join(folder, *statement.names), self.program.root)
        return statement.path if inside.startswith(os.pardir) else inside.replace(os.sep, ".")

    def _root_package(self, path: str) -> str:
        return MAIN_PACKAGE if self._is_own(path) else path.partition(".")[0]

    def _is_own(self, path: str) -> bool:
        """Whether the package lies where its path leads from the root, and not in a package of others."""
        if path == MAIN_PACKAGE:
            return True
        place = os.path.join(self.program.root, *path.split("."))
        return any(each.source.path.startswith((place + os.sep, place + ".k")) for each in self._modules(path))

    def _modules(self, path: str) -> Sequence[Module]:
        found = self.program.packages.get(path)
        return () if found is None else found.modules

    def _called(self, module: Module) -> str:
        return self.given.get(module.source.path, module.source.path)


def read_program(paths: Sequence[str], texts: Mapping[str, str], package_maps: Mapping[str, str]) -> Loaded:
    """Reads a program; raises `ServiceError` where there is none."""
    folder = os.getcwd()
    there = {os.path.abspath(path): text for path, text in texts.items()}
    files = OverlayFileSystem(OsFileSystem(), there)
    request = LoadRequest(
        files=tuple(os.path.abspath(each) for each in paths), work_dir=folder, package_maps=dict(package_maps)
    )
    try:
        found = load(request, files)
    except KclError as problem:
        raise ServiceError(report(problem.diagnostics, there, "pretty", official_only=True)) from None
    given = {os.path.abspath(path): path for path in texts if not os.path.exists(path)}
    return Loaded(found.program, [as_error(each, found.sources) for each in found.diagnostics], given)
