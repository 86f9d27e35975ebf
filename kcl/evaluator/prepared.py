"""Compiled packages kept from one evaluation to the next.

What is kept is code: it depends on the packages, the dialect and the limits, and not on options, files read by the
program or anything else that may differ between two evaluations. When files or imports of an imported package change,
the code of all that import it goes, since it refers to its schemas; of a main package the files that did not change
stay, where that is safe (`packages`).

Values are computed again each time, but for the variables of imported packages and for parts of the last main package
(`reuse`): those stay while the same packages are imported under the same options, unless they asked the world for
something or did something to it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

from kcl.diagnostics import Diagnostic
from kcl.evaluator.dialect import Dialect
from kcl.evaluator.observing import Observation
from kcl.evaluator.packages import File, imports_of, prepared_files
from kcl.evaluator.reuse import Parts
from kcl.evaluator.runtime import Compiling, Limits, Runtime
from kcl.evaluator.scopes import PackageScope
from kcl.evaluator.value import Library, SchemaInstance, Value
from kcl.loader.program import MAIN_PACKAGE, Imported, ImportKind, Module, Package, Program
from kcl.memo.queries import Memo, Query, Request
from kcl.records import dataclass, field

_MOST_SITES: Final = 100_000
"""Each evaluation adds the sites of its main package to the table that it shares with those before it."""

_MOST_MAINS: Final = 48
"""Main packages that are kept, those used last."""


@dataclass(slots=True)
class _Values:
    """What running imported packages came to: variables, which are still in their scopes, and what was collected.

    `paths` are the packages, with how many results each had, since a variable may be asked for later that none needed.
    """

    imported: Imported
    options: str
    records_instances: bool
    paths: dict[str, int]
    instances: list[tuple[SchemaInstance, str]]
    printed: list[str]
    emitted: Callable[[], str] | None
    emitted_values: list[Value]
    warnings: list[Diagnostic]


@dataclass(slots=True)
class Prepared:
    """What one evaluation leaves to the next. Used by one at a time; `library` is that of all of them."""

    library: Library
    memo: Memo = field(default_factory=Memo)
    """Facts of packages."""
    files: dict[str, list[File]] = field(default_factory=dict)
    """By imported package, its files."""
    _mains: dict[tuple[str, ...], list[File]] = field(default_factory=dict)
    """By the paths of their files, the main packages, the last one used at the end."""
    _runtime: Runtime | None = None
    _rules: tuple[str, Dialect, Limits, Observation | None] | None = None
    _packages: dict[str, Package] = field(default_factory=dict)
    _imported: Imported | None = None
    """What the last program imported."""
    _values: _Values | None = None
    _parts: tuple[_Values, PackageScope, Parts] | None = None
    """What parts of the last evaluation came to, the variables they may have read, and the main package they are of."""
    _uses: int = 0
    """How often a program has asked something of the world, or done something to it."""

    def note_use(self) -> None:
        """To be told of every call whose answer or effect is not a matter of its arguments alone."""
        self._uses += 1
        if self._runtime is not None:
            self._runtime.beyond += 1

    def runtime(
        self,
        program: Program,
        options: Mapping[str, Value],
        dialect: Dialect,
        limits: Limits,
        compiling: Compiling | None,
        observation: Observation | None = None,
    ) -> Runtime:
        """The state for an evaluation of the program, with the packages in it that were prepared before."""
        rules = (program.root, dialect, limits, observation)
        runtime = self._runtime
        if runtime is None or rules != self._rules or len(runtime.table) > _MOST_SITES:
            runtime = self._runtime = Runtime(program, self.library, options, dialect, limits, self.memo, observation)
            self._rules = rules
            self._packages.clear()
            self.files.clear()
            self._mains.clear()
            self._imported = self._values = None
        else:
            self._forget(self._changed(program))
        values, shown = self._values, _shown(options)
        if values is not None and (values.imported is not program.imported or values.options != shown):
            values = self._values = None
        runtime.begin(program, options, compiling, () if values is None else values.paths)
        if self._imported is not program.imported:
            self._packages.update(program.imported.packages)
            self._imported = program.imported
        return runtime

    def prepare(self, package: Package) -> None:
        """Makes an imported package ready, unless it is."""
        if package.path not in self.files:
            assert self._runtime is not None
            self.files[package.path] = prepared_files(self._runtime, package)

    def prepare_main(self, package: Package) -> list[File]:
        """The files of the main package, ready to run."""
        assert self._runtime is not None
        paths = tuple(each.source.path for each in package.modules)
        known = self._mains.pop(paths, ())
        runtime = self._runtime
        if known and runtime.compiling is not None:
            runtime.compiling = runtime.compiling.again()
        files = prepared_files(self._runtime, package, known)
        if files:
            self._mains[paths] = files
        if len(self._mains) > _MOST_MAINS:
            oldest = self._mains.pop(next(iter(self._mains)))
            oldest[0].context.scope.dissolve()
        return files

    def run_imports(self, paths: Sequence[str], run: Callable[[str, list[File]], None]) -> None:
        """Sees that the variables of imported packages have their values; `run` runs the files of one."""
        runtime = self._runtime
        assert runtime is not None
        values = self._values
        if values is not None:
            if values.records_instances == runtime.records_instances and list(values.paths) == paths:
                runtime.instances.extend(values.instances)
                runtime.printed += values.printed
                runtime.emitted = values.emitted
                runtime.emitted_values += values.emitted_values
                runtime.warnings += values.warnings
                return
            self._values = None
            runtime.forget_values()
        before = self._uses
        for path in paths:
            files = self.files[path]
            run(path, files)
            files[:] = [file for file in files if not file.is_idle]
        if self._uses == before:
            self._values = _Values(
                runtime.program.imported,
                _shown(runtime.options),
                runtime.records_instances,
                {path: runtime.packages[path].results for path in paths},
                runtime.instances.since(0),
                list(runtime.printed),
                runtime.emitted,
                list(runtime.emitted_values),
                list(runtime.warnings),
            )

    def begin_main(self) -> None:
        """To be called when imported packages have run: parts of the main one may be those of the last evaluation."""
        runtime, values, before, self._parts = self._runtime, self._values, self._parts, None
        assert runtime is not None
        if values is None or runtime.compiling is None or runtime.observation is not None:
            return
        scope = runtime.packages[MAIN_PACKAGE]
        if before is not None and before[0] is values and before[1] is scope:
            parts = before[2]
        else:
            parts = Parts(runtime)
        runtime.parts = parts
        self._parts = values, scope, parts

    def forget_values(self, *, failed: bool = False) -> None:
        """Lets go of what the last evaluation computed, but for what the next one may take over."""
        runtime, values = self._runtime, self._values
        if runtime is None:
            return
        main = runtime.packages.pop(MAIN_PACKAGE, None)
        if main is not None:
            main.forget_values()
        if values is not None and not failed:
            failed = any(runtime.packages[path].results != results for path, results in values.paths.items())
        if failed:
            values = self._values = self._parts = None
        elif self._parts is not None:
            self._parts[2].end()
        runtime.forget_values(() if values is None else values.paths)

    def dissolve(self) -> None:
        """Takes apart what nobody will use again, see `PackageScope.dissolve`."""
        self.forget_values(failed=True)
        for files in (*self._mains.values(), *self.files.values()):
            if files:
                files[0].context.scope.dissolve()

    def _changed(self, program: Program) -> list[str]:
        """The packages that the program imports otherwise than they were prepared."""
        if self._imported is program.imported:
            return []
        return [
            path
            for path, package in program.imported.packages.items()
            if (known := self._packages.get(path)) is not None and known is not package and not _same(known, package)
        ]

    def _forget(self, changed: Iterable[str]) -> None:
        """Lets go of the code of packages, and of that of all which import them: it refers to their schemas."""
        assert self._runtime is not None
        affected = set(changed)
        grows = bool(affected)
        while grows:
            more = {path for path, package in self._packages.items() if _imports_any(package.modules, affected)}
            grows = not more <= affected
            affected |= more
        for path in affected:
            self._packages.pop(path, None)
            self.files.pop(path, None)
            scope = self._runtime.packages.pop(path, None)
            if scope is not None:
                scope.dissolve()
        for paths, files in list(self._mains.items()):
            if _imports_any([each.context.module for each in files], affected):
                del self._mains[paths]
                files[0].context.scope.dissolve()


def _imports_any(modules: Iterable[Module], packages: Container[str]) -> bool:
    return any(imported.package in packages for module in modules for imported in module.imports.values())


def _shown(options: Mapping[str, Value]) -> str:
    """Options as a text, in which 1 and True differ."""
    return repr(sorted(options.items()))


def without_plugins(program: Program, memo: Memo) -> bool:
    """Whether no file imports a plugin, whose functions live in processes that end with the run."""
    return not memo.get(_IMPORTED_HAVE_PLUGINS, program.imported) and not _has_plugins(program.main)


def _has_plugins(package: Package) -> bool:
    return any(imported.kind is ImportKind.PLUGIN for module in package.modules for imported in module.imports.values())


def _imported_have_plugins(request: Request, imported: Imported) -> bool:
    return any(map(_has_plugins, imported.packages.values()))


_IMPORTED_HAVE_PLUGINS: Final = Query("imported packages have plugins", _imported_have_plugins, lives_with_key=True)


def _same(known: Package, package: Package) -> bool:
    """Whether both are made of the same trees, and their imports lead to packages of the same paths."""
    return len(known.modules) == len(package.modules) and all(
        mine.tree is theirs.tree and imports_of(mine) == imports_of(theirs)
        for mine, theirs in zip(known.modules, package.modules, strict=True)
    )
