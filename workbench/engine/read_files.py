"""Which files a stack was read from, and so rests on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from workbench.project import Stack


def read_by(stack: Stack, files: Iterable[Path]) -> tuple[frozenset[str], frozenset[str]]:
    """Returns what a stack was read from, in its project and outside of it; `files` are what its compilation read."""
    folder, project = str(stack.directory), str(stack.project_directory)
    below = project + os.sep
    own: set[str] = set()
    shared: set[str] = set()
    for each in map(str, files):
        (own if each.startswith(below) else shared).add(each)
    settings = os.path.join(folder, "kcl.yaml")
    own.add(settings)
    if not os.path.exists(settings):  # then what is in the folders is what there is to compile
        own.update((folder, os.path.join(project, "base")))
    definitions = os.path.join(project, "crd")
    own.add(definitions)
    with suppress(OSError):
        own.update(os.path.join(definitions, each) for each in os.listdir(definitions))
    return frozenset(own), frozenset(shared)
