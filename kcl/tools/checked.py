"""A unit checked: what is wrong with it, and the program for those who ask further.

What a check finds does not depend on what was checked before: with caches it is found sooner, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcl.caches import ParseCache
from kcl.diagnostics import Code, Diagnostic, KclError, error
from kcl.evaluator.dialect import KCL, Dialect, dialect_of
from kcl.evaluator.evaluate import findings
from kcl.loader import Loaded, LoadRequest, has_errors, load
from kcl.loader.neighbours import Neighbours
from kcl.loader.program import Program
from kcl.records import dataclass
from kcl.source import FileSystem
from kcl.stdlib import Access, build_library
from kcl.teaching import taught
from kcl.tools.units import Unit


def _taught(found: tuple[Diagnostic, ...], loaded: Loaded, files: FileSystem) -> tuple[Diagnostic, ...]:
    if not has_errors(found):
        return found
    return taught(found, loaded.sources, Neighbours(loaded.program.root, loaded.externals, files))


LIBRARY = build_library(Access())


@dataclass(frozen=True, slots=True)
class Analysis:
    """`program` is None where not even its files could be read."""

    unit: Unit
    diagnostics: tuple[Diagnostic, ...]
    program: Program | None
    dialect: Dialect
    sources: Mapping[str, str]


def analyse(
    unit: Unit, files: FileSystem, cache: ParseCache, packages: str | None = None, *, is_read_only: bool = False
) -> Analysis:
    """Checks a unit. `packages` is the folder of downloaded packages. Never raises for what a program says.

    With `is_read_only` nothing is checked: the diagnostics are those of reading the files alone.
    """
    request = LoadRequest(
        files=unit.files, work_dir=unit.folder, package_maps=dict(unit.package_maps), vendor_dir=packages
    )
    try:
        loaded = load(request, files, cache.memo)
        dialect = dialect_of(loaded.manifest)
        if is_read_only:
            return Analysis(unit, loaded.diagnostics, loaded.program, dialect, loaded.sources)
        if any(item.code is Code.RECURSIVE_LOAD for item in loaded.diagnostics):
            found: tuple[Diagnostic, ...] = loaded.diagnostics
        else:
            checked = findings(loaded.program, LIBRARY, dialect, cache.memo)
            found = (*(item for item in loaded.diagnostics if item not in checked), *checked)
        return Analysis(unit, _taught(found, loaded, files), loaded.program, dialect, loaded.sources)
    except KclError as problem:
        return Analysis(unit, problem.diagnostics, None, KCL, {})
    except (OSError, UnicodeDecodeError) as problem:
        return Analysis(unit, (error(Code.CANNOT_FIND_MODULE, str(problem), None),), None, KCL, {})
