"""What git says has changed in a repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

from workbench.engine.errors import EngineError
from workbench.engine.git import overlooked, run_git

_SECONDS = 60.0
_AMBIGUOUS = "is ambiguous"


def refuse_ambiguous(root: Path, name: str, said: str) -> None:
    """Raises `EngineError` where git says that it knows several things of a name.

    A tag of the name of a branch is taken for it, and anybody may have made one.
    """
    if _AMBIGUOUS in said:
        raise EngineError(
            f"git has several revisions of the name {name!r}",
            where=str(root),
            hint="name the one you mean, such as refs/heads/main or refs/remotes/origin/main",
        )


def changed_since(root: Path, revision: str) -> list[Path]:
    """Returns the files below `root` that differ from a revision, removed and new ones included; absolute.

    Of a submodule it is the files that differ from the commit that is checked out there, and its folder where that is
    another commit, or nobody can tell. Raises `EngineError` where git is missing, there is no such revision, or `root`
    lies in no work tree.
    """
    if not revision or revision.startswith("-"):
        raise EngineError(f"{revision!r} is no revision", hint="name a branch, a tag or a commit")
    changed = _git(root, "diff", "--name-only", "--no-renames", "--relative", "-z", revision, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    found = [root / each for each in (changed + new).split("\0") if each]
    unseen = overlooked(root, timeout=_SECONDS)
    below = (each for submodule in unseen.submodules for each in _changed_in(submodule))
    return list(dict.fromkeys((*found, *unseen.files, *below)))


def _changed_in(submodule: Path) -> list[Path]:
    try:
        return changed_since(submodule, "HEAD")
    except EngineError:
        return [submodule]


def _git(root: Path, command: str, *arguments: str) -> str:
    try:
        ended = run_git(root, command, *arguments, timeout=_SECONDS)
    except FileNotFoundError as error:
        raise EngineError("git is not installed", hint="name the files with --changed") from error
    except subprocess.TimeoutExpired as error:
        raise EngineError("git does not answer", where=str(root), hint="name the files with --changed") from error
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or [f"git ended with {ended.returncode}"]
        raise EngineError(
            f"git cannot tell what changed: {said[0]}", where=str(root), hint="name the files with --changed"
        )
    refuse_ambiguous(root, arguments[-2], ended.stderr)
    return ended.stdout
