"""Whole programs, each run in a process that is ended when it takes too much, and what they reach together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from kcl.bounded import Allowance
from kcl.evaluator.coverage import Reached
from kcl.loader import default_settings_file
from kcl.source import OsFileSystem
from kcl.terminal import harmless_lines
from kcl.tools.test.cases import Case
from kcl.tools.test.pool import run_all


class NoFolder(Exception):
    """A path that names no folders; the text says which and why."""


def programs(paths: Sequence[str], cwd: str) -> list[str]:
    """The folders that paths name, each once; with `/...` those below that say what is run. Raises NoFolder."""
    return list(dict.fromkeys(_programs(paths, cwd)))


def _programs(paths: Sequence[str], cwd: str) -> Iterator[str]:
    files = OsFileSystem()
    for path in paths:
        base, dots, rest = path.partition("...")
        start = os.path.normpath(os.path.join(cwd, base))
        if rest.strip("/"):
            raise NoFolder(f"{path}: `...` stands at the end of a path, for all folders below it")
        if not os.path.isdir(start):
            raise NoFolder(f"{path}: there is no such folder")
        if not dots:
            yield start
            continue
        for folder, below, _ in os.walk(start):
            below[:] = sorted(name for name in below if not name.startswith("."))
            if default_settings_file(folder, files) is not None:
                yield folder


def run_programs(
    folders: Sequence[str],
    settings: Sequence[str],
    allowance: Allowance,
    environment: Mapping[str, str],
    jobs: int,
    cwd: str,
    stderr: TextIO,
) -> tuple[dict[str, Reached], int]:
    """What they reach, by path, and how many failed: those are named on `stderr`, and what they reached counts."""
    cases = [Case(each, (), "", covered=True, settings=_settings(each, settings), is_whole=True) for each in folders]
    reached: dict[str, Reached] = {}
    failed = 0
    for index, outcome in run_all(cases, allowance, environment, jobs):
        for path, each in outcome.reached.items():
            reached.setdefault(path, Reached()).add(each)
        if outcome.failure:
            failed += 1
            stderr.write(harmless_lines(f"{os.path.relpath(folders[index], cwd)}: failed\n{outcome.failure}"))
    return reached, failed


def _settings(folder: str, names: Sequence[str]) -> tuple[str, ...]:
    """The settings files of a folder: its own, which say what is run, and those of these names that it has."""
    files = OsFileSystem()
    own = default_settings_file(folder, files)
    there = [name for name in names if files.is_file(os.path.join(folder, name))]
    return (*([] if own is None else [os.path.basename(own)]), *there) if there else ()
