"""The files that are asked about: named ones, and those of named folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kcl.regular import read_regular
from kcl.source import SourceFile
from kcl.syntax import ast, parse


class Unreadable(Exception):
    """A file or folder cannot be asked about; the text names it and says why."""


def sources(names: Sequence[str], cwd: str) -> list[SourceFile]:
    """The files, in order, those of a folder by name and without tests. Raises Unreadable."""
    found: list[SourceFile] = []
    for name in names or (".",):
        path = Path(cwd, name)
        if not path.is_dir():
            found.append(source(name, cwd))
            continue
        try:
            listed = sorted(each.name for each in path.iterdir())
        except OSError as problem:
            raise Unreadable(f"{name}: cannot be listed: {problem.strerror}") from None
        inside = [each for each in listed if each.endswith(".k") and not each.endswith("_test.k")]
        if not inside:
            raise Unreadable(f"{name}: there are no .k files in this folder; name a file or another folder")
        found.extend(source(str(Path(name, each)), cwd) for each in inside)
    return found


def source(name: str, cwd: str) -> SourceFile:
    """One file. Line ends stay as they are. Raises Unreadable."""
    try:
        return SourceFile(name, read_regular(Path(cwd, name)).decode("utf-8"))
    except OSError as problem:
        raise Unreadable(f"{name}: cannot be read: {problem.strerror}") from None
    except ValueError as problem:
        if not isinstance(problem, UnicodeDecodeError):
            raise Unreadable(f"{name!r} is no name of a file") from None
        raise Unreadable(f"{name}: is not UTF-8 at byte {problem.start}; save it as UTF-8") from None


def tree(file: SourceFile) -> ast.Module:
    """Raises Unreadable, with the line, for a file with syntax errors."""
    result = parse(file)
    if result.diagnostics:
        first = result.diagnostics[0]
        line = f":{file.position(first.primary.start).line}" if first.primary is not None else ""
        raise Unreadable(f"{file.path}{line}: {first.message}; correct it first")
    return result.module
