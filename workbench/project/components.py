"""The components of a stack, read from its KCL text without compiling it.

A component is an instance at the top level of base/*.k or of the stack's own files: `name: Schema {`. The tree must be
there in milliseconds for thousands of stacks, so lines are looked at, not parsed; text inside triple quotes is skipped.
What a component becomes is only known after compiling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from workbench.project.tree import Component

_INSTANCE = re.compile(r"^([A-Za-z][\w]*)\s*:\s*([A-Za-z_][\w.]*)\s*[({]")
_TRIPLE = re.compile(r'"""|\'\'\'')


def read_components(stack: Path, project: Path) -> tuple[Component, ...]:
    """Returns them by first appearance, base before stack. Files that cannot be read have none: compiling says why."""
    found: dict[str, Component] = {}
    for file in (*_kcl_files(project / "base"), *_kcl_files(stack)):
        for each in _instances(file):
            found.setdefault(each.name, each)
    return tuple(found.values())


def _kcl_files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(each for each in folder.iterdir() if each.suffix == ".k" and not each.stem.endswith("_test"))
    except OSError:
        return


def _instances(file: Path) -> Iterator[Component]:
    try:
        text = file.read_text(encoding="utf-8-sig")
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
