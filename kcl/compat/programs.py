"""A program loaded and checked for the calls that ask about it without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kcl.caches import ParseCache
from kcl.compat.messages import Error, ExternalPkg, Message, Position
from kcl.diagnostics import Diagnostic, Severity
from kcl.reports import report
from kcl.source import OsFileSystem, OverlayFileSystem, SourceFile
from kcl.tools.checked import Analysis, analyse
from kcl.tools.lsp.views import View, view_of
from kcl.tools.units import Unit


class ServiceError(Exception):
    """A call failed; the text says why, as a report."""


def checked(
    paths: Sequence[str], texts: Mapping[str, str], packages: Sequence[ExternalPkg], folder: str
) -> tuple[Analysis, View | None]:
    """The program of some files, and what the checker thinks of it; no view where a file cannot be read.

    Relative paths are of `folder`. Texts stand for files that need not be there.
    """
    files = tuple(os.path.join(folder, each) for each in paths)
    there = OverlayFileSystem(OsFileSystem(), {os.path.join(folder, path): text for path, text in texts.items()})
    maps = tuple((each.pkg_name, os.path.join(folder, each.pkg_path)) for each in packages)
    cache = ParseCache()
    analysis = analyse(Unit(folder, files, maps), there, cache)
    if analysis.program is None or not analysis.program.main.modules:
        return analysis, None
    return analysis, view_of(analysis.program.main.modules[0].source.path, analysis, cache)


def refuse_errors(analysis: Analysis) -> None:
    """Raises `ServiceError` where the program is wrong: types of what is not understood would be guesses."""
    errors = [each for each in analysis.diagnostics if each.severity is Severity.ERROR]
    if errors:
        raise ServiceError(report(errors, analysis.sources, "pretty"))


def as_error(diagnostic: Diagnostic, texts: Mapping[str, str]) -> Error:
    position = Position()
    if diagnostic.primary is not None:
        path = diagnostic.primary.path
        at = SourceFile(path, texts.get(path, "")).position(diagnostic.primary.start)
        position = Position(at.line, at.column, path)
    return Error(diagnostic.severity.value, diagnostic.code.number, [Message(diagnostic.message, position)])
