"""Which tests there are: the top-level `test_*` lambdas of each `*_test.k`, by folder, as officially."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kcl.api import parse
from kcl.diagnostics import render
from kcl.records import dataclass
from kcl.regular import read_regular_text
from kcl.syntax import ast

SUFFIX = "_test.k"
_GENERATED = "_kcl_test_"
"""Files that the official command leaves behind when it is ended."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test: the folder of its package, all files of that, the file it stands in, and its name."""

    folder: str
    files: tuple[str, ...]
    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A test file whose tests cannot be told, and why."""

    path: str
    reason: str


class BadPath(Exception):
    """A path on the command line that leads to no tests; the text says why."""


def find(paths: Iterable[str], cwd: str) -> tuple[list[Test], list[Unreadable]]:
    """The tests below the paths: of a folder, with `/...` of all folders below it too, or of a single file.

    They are in the order of the paths, folders, files and lines. Raises BadPath.
    """
    tests: dict[tuple[str, str], Test] = {}
    unreadable: dict[str, Unreadable] = {}
    for path in paths:
        for folder, names in _folders(path, cwd):
            files = tuple(sorted(name for name in _names(folder) if not name.startswith(_GENERATED)))
            for name in names or [each for each in files if each.endswith(SUFFIX)]:
                file = os.path.join(folder, name)
                try:
                    found = _named(file)
                except _Unclear as problem:
                    unreadable[file] = Unreadable(file, str(problem))
                    continue
                for each in found:
                    tests.setdefault((file, each), Test(folder, files, file, each))
    return list(tests.values()), list(unreadable.values())


def _folders(path: str, cwd: str) -> Iterator[tuple[str, list[str]]]:
    """The folders a path names, and of each the files that are meant, none for all."""
    base, dots, rest = path.partition("...")
    if dots and rest.strip("/"):
        raise BadPath(f"{path}: `...` stands at the end of a path, for all folders below it")
    start = os.path.normpath(os.path.join(cwd, base if dots else path))
    if dots and os.path.isdir(start):
        for folder, below, _ in os.walk(start, onerror=_refuse):
            below[:] = sorted(name for name in below if not name.startswith("."))
            yield folder, []
    elif os.path.isdir(start):
        yield start, []
    elif not os.path.lexists(start):
        raise BadPath(f"{path}: there is no such file or folder")
    elif start.endswith(SUFFIX):
        yield os.path.dirname(start), [os.path.basename(start)]
    else:
        raise BadPath(f"{path}: tests are in folders and in files named *{SUFFIX}")


def _refuse(problem: OSError) -> None:
    """What a folder that cannot be looked into has is not known: the tests in it are not passed over."""
    raise BadPath(f"{problem.filename}: {problem.strerror}")


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(".k")]
    except OSError as problem:
        raise BadPath(f"{folder}: {problem.strerror}") from None


class _Unclear(Exception):
    """Why the tests of a file cannot be told."""


def _named(path: str) -> list[str]:
    try:
        text = read_regular_text(path)
    except OSError as problem:
        raise _Unclear(f"cannot read {path}: {problem.strerror}\n") from None
    except UnicodeDecodeError as problem:
        raise _Unclear(f"cannot read {path}: it is not UTF-8 at byte {problem.start}\n") from None
    parsed = parse(text, path)
    if parsed.diagnostics:
        raise _Unclear(render(parsed.diagnostics, {path: text}))
    return [
        target.name
        for statement in parsed.module.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda)
        for target in statement.targets
        if target.name.startswith("test_") and not target.path
    ]
