"""A migration as a whole: find, choose, edit in memory; then `proof` and `writing`.

programs = list(load_all(subjects, root, files))
lints = find(programs, root, files)
plan = plan_edits(lints, texts(programs, root, files))
outcomes = prove(subjects, plan.after)      # in memory, before anything is written
write(plan)
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kcl.api import FileSystem, OsFileSystem, ParseCache, ProgramError, Settings, Severity
from kcl.diagnostics import Code
from kcl.loader import LoadRequest, default_settings_file, load, load_settings, merge_settings
from kcl.loader.manifest import MANIFEST_NAME
from kcl.loader.program import MAIN_PACKAGE, Program
from kcl.records import dataclass, field
from kcl.tools.migrate.declarations import Declarations
from kcl.tools.migrate.exposed import find_exposed
from kcl.tools.migrate.lint import Lint, apply_edits
from kcl.tools.migrate.manifest import manifest_lints
from kcl.tools.migrate.rules import LegacyFinder

_DISK: Final = OsFileSystem()


@dataclass(frozen=True, slots=True)
class Subject:
    """One program as somebody compiles it: what a proof compares. Options are values as plain Python ones."""

    name: str
    work_dir: Path
    files: tuple[str, ...] = ()
    settings: tuple[str | Settings, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    files_from: FileSystem = field(default_factory=OsFileSystem, repr=False, compare=False)
    """Where it is read from."""


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A program's files, parsed as they were in 2023. `complete` is False for files that no subject reads: what
    they are compiled together with is not known."""

    subject: Subject | None
    program: Program
    complete: bool = True

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(module.source.path for package in self.program.packages.values() for module in package.modules)


@dataclass(frozen=True, slots=True)
class Plan:
    """The files that change: text before and after, by path; and the lints whose edits these are."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    lints: tuple[Lint, ...]


# --- Finding ---


def load_all(
    subjects: Sequence[Subject], root: Path, files_from: FileSystem = _DISK, cache: ParseCache | None = None
) -> Iterator[LoadedProgram]:
    """The programs of the subjects, and those of all other KCL files below `root`, which are read through `files_from`.

    One after the other, as each is read: a repository may have thousands.
    Raises KclError for a file that cannot be read or parsed: what is not understood is not migrated.
    """
    cache = cache or ParseCache()
    known: set[str] = set()
    for subject in subjects:
        each = LoadedProgram(subject, _load(subject, cache))
        known |= each.paths
        yield each
    for folder, files in _folders(root):
        rest = [path for path in files if path not in known]
        if rest:
            program = _load(Subject(folder, Path(folder), tuple(rest), files_from=files_from), cache)
            each = LoadedProgram(None, program, complete=False)
            known |= each.paths
            yield each


def _load(subject: Subject, cache: ParseCache) -> Program:
    file_system = subject.files_from
    folder = str(Path(subject.work_dir).absolute())
    settings = merge_settings(
        each if isinstance(each, Settings) else load_settings(str(Path(folder, each)), file_system)
        for each in subject.settings
    )
    files = subject.files or settings.files
    if not files and (default := default_settings_file(folder, file_system)) is not None:
        files = load_settings(default, file_system).files
    request = LoadRequest(files, folder, package_maps=settings.package_maps, dedent_strings=False)
    found = load(request, file_system, cache.memo)
    errors = [each for each in found.diagnostics if each.severity is Severity.ERROR]
    if errors:
        raise ProgramError(tuple(errors), found.sources)
    return found.program


def _folders(root: Path) -> Iterator[tuple[str, list[str]]]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        found = sorted(str(Path(folder, name)) for name in files if name.endswith(".k"))
        if found:
            yield folder, found


def find(programs: Sequence[LoadedProgram], root: Path, files_from: FileSystem = _DISK) -> list[Lint]:
    """All legacy constructs in the files below `root`, in order of place."""
    worlds = [(Declarations(each.program), each.complete) for each in programs]
    exposed = find_exposed(declarations for declarations, _ in worlds)
    found: dict[tuple[str, int, int, str], tuple[Lint, int]] = {}
    readings: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    inside = str(root.absolute()) + os.sep
    for declarations, complete in worlds:
        for path, view in declarations.packages.items():
            for module in view.package.modules:
                file = module.source.path
                if not file.startswith(inside) or (path != MAIN_PACKAGE and (path, file) in seen):
                    continue
                seen.add((path, file))
                readings[file] = readings.get(file, 0) + 1
                for lint in LegacyFinder(declarations, path, module, exposed, certain=complete).find():
                    known = found.get(lint.key)
                    found[lint.key] = (lint, 1 if known is None else known[1] + 1)
    lints = [lint for lint, count in found.values() if _holds(lint, count, readings)]
    lints += manifest_lints(root.absolute(), files_from)
    return sorted(lints, key=lambda lint: lint.key)


def _holds(lint: Lint, count: int, readings: Mapping[str, int]) -> bool:
    """A name is unknown only if no program that reads the file defines it; the rest holds if one reading finds it."""
    needs_all = lint.diagnostic.code in (Code.LEGACY_UNKNOWN_NAME, Code.LEGACY_IMPORT)
    return not needs_all or count >= readings[lint.span.path]


# --- Editing ---


def plan_edits(lints: Iterable[Lint], sources: Mapping[str, str]) -> Plan:
    """Makes the edits in memory. Raises Overlap where two exclude each other."""
    chosen = tuple(lint for lint in lints if lint.edits)
    after = apply_edits(sources, [edit for lint in chosen for edit in lint.edits])
    return Plan({path: sources[path] for path in after}, after, chosen)


def choose(lints: Sequence[Lint], paths: Collection[str]) -> list[Lint]:
    """The lints in these files, and all that belong to a group of theirs wherever they are."""
    groups = {lint.group for lint in lints if lint.group and lint.span.path in paths}
    return [lint for lint in lints if lint.span.path in paths or lint.group in groups]


def texts(programs: Iterable[LoadedProgram], root: Path, files_from: FileSystem = _DISK) -> dict[str, str]:
    """The text of every file of the programs, and of kcl.mod, by path."""
    found = {
        module.source.path: module.source.text
        for each in programs
        for package in each.program.packages.values()
        for module in package.modules
    }
    manifest = str(root.absolute() / MANIFEST_NAME)
    if files_from.is_file(manifest):
        found[manifest] = files_from.read_text(manifest)
    return found
