"""Which stacks a change of files touches.

What a stack was compiled from is known exactly only after compiling it; `affected` takes those sets where they are
known and else falls back to the rule of place: a file inside a stack touches that stack, a file beside the stacks of a
project (project.yaml, base/) touches them all, any other KCL or settings file, and any other link, may touch every
stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kcl.records import dataclass
from workbench.project.names import StackPath
from workbench.project.tree import KonfigTree

_READ_BY_STACKS = frozenset({".k", ".mod", ".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class Impact:
    """`certain` read one of the files when last compiled; `possible` were not compiled, so only their place speaks."""

    certain: tuple[StackPath, ...]
    possible: tuple[StackPath, ...]

    @property
    def stacks(self) -> tuple[StackPath, ...]:
        return tuple(sorted({*self.certain, *self.possible}))


def affected(
    tree: KonfigTree, files: Iterable[Path], read: Mapping[StackPath, frozenset[Path]] | None = None
) -> Impact:
    """Returns the stacks that changing `files` touches. `read` gives the files each compiled stack was read from."""
    written = [tree.root / each for each in files]
    paths = dict.fromkeys((*written, *(each.resolve() for each in written)))  # of a link, what it leads to as well
    known = read or {}
    folders = {stack.directory for stack in tree.stacks()} | {project.directory for project in tree.projects}
    homes = {_home(each, tree.root, folders) for each in paths}
    certain, possible = [], []
    for stack in tree.stacks():
        if stack.path in known:
            marks = {stack.directory / "stack.yaml", stack.directory / "kcl.mod"}
            own = {*marks, stack.project_directory / "project.yaml"}
            if any(each in known[stack.path] or each in own for each in paths):
                certain.append(stack.path)
        elif homes & {stack.directory, stack.project_directory, tree.root}:
            possible.append(stack.path)
    return Impact(tuple(certain), tuple(possible))


def _home(file: Path, root: Path, folders: set[Path]) -> Path | None:
    """Returns the stack or project folder a file lies in, the root for shared ones, None if no stack can read it."""
    for folder in file.parents:
        if folder in folders:
            return folder
    is_read = file.suffix in _READ_BY_STACKS or file.is_symlink()
    return root if file.is_relative_to(root) and is_read else None
