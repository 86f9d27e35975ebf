"""How far a repository reaches: below its own folder, after resolving links, and never into `.git`.

Who opens a branch has not read it. So a path that a repository says, or leads by links of its own, is asked about here
before anything is written there, and its own files before they are read. What the user says is free: a path that
never enters the repository, or that leaves it by `..` as typed, leads where it leads.
"""

from __future__ import annotations

import os
from pathlib import Path

from workbench.project.errors import NotARepository, OutsideRepository

_GIT = ".git"


def refuse_outside(path: Path, root: Path, *, hint: str) -> None:
    """Raises `OutsideRepository` where a link inside `root` leads the path out of it, or where it lies in `.git`.

    The path need not be there. One that does not begin inside `root` is not the repository's, and passes.
    """
    whole, real_root = Path.cwd() / path, root.resolve()
    at = Path(whole.anchor)
    for name in whole.parts[1:]:
        step = at / name
        to = step.resolve()
        if name != os.pardir and at.is_relative_to(real_root):
            if not to.is_relative_to(real_root):
                raise OutsideRepository(f"is a link out of the repository, to {to}", where=str(step), hint=hint)
            if is_git(to, real_root):
                raise OutsideRepository("lies in the repository's own .git", where=str(path), hint=hint)
        at = to


def lies_below(path: Path, root: Path) -> bool:
    """Whether a path is below `root` when all links are resolved. It need not be there."""
    return path.resolve().is_relative_to(root.resolve())


def refuse_foreign(path: Path, folder: Path) -> None:
    """Raises `OutsideRepository` where links lead a path, which lies below `folder`, out of the checkout of `folder`.

    `folder` is reached by no link itself.
    """
    to = path.resolve()
    if to == path or to.is_relative_to(folder) or to.is_relative_to(_top(folder)):
        return
    raise OutsideRepository(
        f"is a link out of the repository, to {to}: not read",
        where=str(path),
        hint=f"put a copy in its place: rm {path.name} and add the file itself",
    )


def is_foreign(path: Path, folder: Path) -> bool:
    """Whether a path is a link itself, and leads out of the checkout of its folder."""
    if not path.is_symlink():
        return False
    try:
        refuse_foreign(path, folder)
    except OutsideRepository:
        return True
    return False


def _top(folder: Path) -> Path:
    from workbench.project.discovery import checkout, find_root  # which reads files, and asks here

    try:
        return checkout(find_root(folder))
    except NotARepository:
        return folder.resolve()


def is_git(path: Path, root: Path) -> bool:
    """Whether a resolved path lies in a `.git` below `root`, in any spelling that some file system takes for it."""
    return any(each.casefold() == _GIT for each in path.relative_to(root).parts)
