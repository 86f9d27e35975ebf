"""Which stacks a change of files touches.

What a stack was compiled from is known exactly only after compiling it; `affected` takes those sets where they are
known and else falls back to the rule of place: a file inside a stack touches that stack, a file beside the stacks of a
project (project.yaml, base/) touches them all, any other KCL or settings file, and any other link, may touch every
stack.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from kcl.records import dataclass
from workbench.project.names import StackPath
from workbench.project.roots import checkout
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
    meaning = frozenset().union(*meant(frozenset().union(*known.values()), written).values())
    folders = {stack.directory for stack in tree.stacks()} | {project.directory for project in tree.projects}
    homes = {_home(each, tree.root, folders) for each in paths}
    certain, possible = [], []
    for stack in tree.stacks():
        if stack.path in known:
            marks = {stack.directory / "stack.yaml", stack.directory / "kcl.mod"}
            own = {*marks, stack.project_directory / "project.yaml"}
            if not meaning.isdisjoint(known[stack.path]) or any(each in own for each in paths):
                certain.append(stack.path)
        elif homes & {stack.directory, stack.project_directory, tree.root}:
            possible.append(stack.path)
    return Impact(tuple(certain), tuple(possible))


def with_targets(root: Path, files: Iterable[str | Path]) -> tuple[Path, ...]:
    """Returns files named from `root` as absolute paths without links above them; of a link, then what it leads to.

    A link is a file of its own, which may come to lead elsewhere; what is read through it is another. What lies outside
    of the checkout is nobody's who asks for changes.
    """
    around = checkout(root)
    found: dict[Path, None] = {}
    for each in files:
        named = root / each
        path = named.parent.resolve() / named.name
        found[path] = None
        if path.is_symlink() and (target := path.resolve()).is_relative_to(around):
            found[target] = None
    return tuple(found)


def meant(read: Collection[Path], files: Iterable[Path]) -> dict[Path, frozenset[Path]]:
    """Returns for each file what of `read` means it, all absolute.

    That is the file by any name that links give it; what was read through it, where it is a link; and of a file that
    is not there yet, its folder.
    """
    from kcl.memo.inputs import Leads  # which nobody needs who lists stacks

    leads = Leads()
    names: dict[str, set[Path]] = {}
    for each in read:
        names.setdefault(leads.of(str(each)), set()).add(each)
    found: dict[Path, frozenset[Path]] = {}
    for file in files:
        same = names.get(os.path.realpath(file), set())
        above = names.get(os.path.realpath(file.parent), set()) if not os.path.lexists(file) else set()
        below = {each for each in read if file in each.parents} if file.is_symlink() else set()
        found[file] = frozenset((*same, *above, *below))
    return found


def _home(file: Path, root: Path, folders: set[Path]) -> Path | None:
    """Returns the stack or project folder a file lies in, the root for shared ones, None if no stack can read it."""
    for folder in file.parents:
        if folder in folders:
            return folder
    is_read = file.suffix in _READ_BY_STACKS or file.is_symlink()
    return root if file.is_relative_to(root) and is_read else None
