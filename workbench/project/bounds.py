"""How far a repository reaches: below its own folder, after resolving links, and never into `.git`.

Who opens a branch has not read it. So a path that a repository says, or leads by links of its own, is asked about here
before anything is written there, and its own files before they are read. What the user says is free: a path that
never enters the repository, or that leaves it by `..` as typed, leads where it leads.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kcl.reach import Bounds, lies_in_git
from workbench.project.errors import NotARepository, OutsideRepository
from workbench.project.roots import checkout, find_root


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
    """Raises `OutsideRepository` where links lead a path below `folder` out of its checkout, or into `.git`.

    No link leads to `folder` itself.
    """
    if path.parent == folder and path.name != os.pardir:
        is_direct = not path.is_symlink()
    else:
        is_direct = path.resolve() == path
    if is_direct:
        return
    refusal = Bounds(str(top(folder))).refusal(str(path))
    if refusal is not None:
        raise OutsideRepository(refusal.reason, where=str(path), hint=refusal.hint)


def named(typed: Path, folder: Path) -> Path:
    """Returns where a path leads that the user typed, in a `folder` that no link leads to.

    Raises `OutsideRepository` where a link on it is a repository's and leads out of that. What lies outside without
    such a link is the user's, who named it.
    """
    at = Path(typed.anchor) if typed.is_absolute() else folder
    for name in typed.parts[1:] if typed.is_absolute() else typed.parts:
        step = at.parent if name == os.pardir else at / name
        if step.is_symlink():
            with suppress(NotARepository):
                refusal = Bounds(str(checkout(find_root(at)))).refusal(str(step))
                if refusal is not None:
                    raise OutsideRepository(refusal.reason, where=str(step), hint=refusal.hint)
            step = step.resolve()
        at = step
    return at


def is_foreign(path: Path, folder: Path) -> bool:
    """Whether a path is a link itself, and one that `refuse_foreign` refuses."""
    if not path.is_symlink():
        return False
    try:
        refuse_foreign(path, folder)
    except OutsideRepository:
        return True
    return False


def top(folder: Path) -> Path:
    """Returns the folder that came with the repository which `folder` lies in: the top of its checkout."""
    try:
        return checkout(find_root(folder))
    except NotARepository:
        return folder.resolve()


def is_git(path: Path, root: Path) -> bool:
    """Whether a resolved path below `root` lies in a `.git` there, in any spelling some file system takes for it."""
    return lies_in_git(str(path), str(root))
