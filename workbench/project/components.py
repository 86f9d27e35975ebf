"""The components of a stack, read from its KCL text without compiling it.

A component is an instance at the top level of base/*.k or of the stack's own files: `name: Schema {`. The tree must be
there in milliseconds for thousands of stacks, so lines are looked at, not parsed; text inside triple quotes is skipped.
What a component becomes is only known after compiling.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kcl.regular import read_regular_text
from workbench.project.bounds import is_foreign
from workbench.project.tree import Component

_INSTANCE = re.compile(r"^([A-Za-z][\w]*)\s*:\s*([A-Za-z_][\w.]*)\s*[({]")
_LARGEST = 1_000_000
"""Bytes of a file that is looked at: no stack is written in more, and listing has no deadline."""
_TRIPLE = re.compile(r'"""|\'\'\'')


def base_components(project: Path) -> tuple[Component, ...]:
    """Returns those that all stacks of a project share."""
    return _components(project / "base", ())


def read_components(stack: Path, base: Iterable[Component]) -> tuple[Component, ...]:
    """Returns them by first appearance, base before stack. Files that cannot be read have none: compiling says why."""
    return _components(stack, base)


def _components(folder: Path, before: Iterable[Component]) -> tuple[Component, ...]:
    found = {each.name: each for each in before}
    for file in _kcl_files(folder):
        for each in _instances(file):
            found.setdefault(each.name, each)
    return tuple(found.values())


def _kcl_files(folder: Path) -> Iterator[Path]:
    if is_foreign(folder, folder.parent):
        return
    try:
        names = os.listdir(folder)  # noqa: PTH208 - without an object for each of a repository's files
    except OSError:
        return
    for name in sorted(names):
        if name.endswith(".k") and name != ".k" and not name.endswith("_test.k"):
            file = folder / name
            if not is_foreign(file, folder):
                yield file


def _instances(file: Path) -> Iterator[Component]:
    try:
        if file.stat().st_size > _LARGEST:
            return
        text = read_regular_text(file, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = None if quote else _INSTANCE.match(line)
        if found:
            yield Component(found[1], found[2], file, number)
        for mark in _TRIPLE.findall(line):
            if not quote:
                quote = mark
            elif quote == mark:
                quote = ""
