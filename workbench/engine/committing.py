"""A commit of exactly some files, and nothing else that is staged or changed.

Git starts no program of the repository, as anywhere here: so a commit that would need one, for a signature or a filter,
is refused. Hooks do not run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from workbench.engine.errors import EngineError
from workbench.engine.git import run_git
from workbench.project import checkout

_SECONDS: Final = 60.0
_BY_HAND: Final = "commit it yourself: git commit -- FILE"


def refuse_commit(root: Path, files: Sequence[Path], *, instead: str = "leave --commit out") -> None:
    """Raises `EngineError` where a commit of the files would hold more than the edit, or would need a program.

    `instead` is what its hint says that one can do without a commit.
    """
    inside = _git(root, "rev-parse", "--is-inside-work-tree", why="lies in no git checkout")
    if inside.strip() != "true":
        raise EngineError("lies in no git checkout", where=str(root), hint=instead)
    top = checkout(root)
    for each in files:
        own = checkout(each.resolve().parent)
        if own != top and own.is_relative_to(top):
            said = f"lies in {own.relative_to(top)}, a repository of its own, such as a submodule"
            raise EngineError(said, where=str(each), hint=f"commit it there, or {instead}")
    names = [str(each) for each in files]
    listed = _git(root, "status", "--porcelain", "-z", "--", *names)
    changed = [each[3:] for each in listed.split("\0") if each]
    if changed:
        raise EngineError(
            "has other changes that are not committed, which the commit would hold as well",
            where=changed[0],
            hint=f"commit or stash them first, or {instead}",
        )
    for name in ("commit.gpgSign", "commit.gpgsign"):
        if _said(root, "config", "--type=bool", "--get", name) == "true":
            raise EngineError("commits are signed here, by a program that is not started", where=name, hint=_BY_HAND)
    filters = _git(root, "check-attr", "-z", "filter", "--", *names).split("\0")
    for file, value in zip(filters[0::3], filters[2::3], strict=False):
        if value not in ("unspecified", "unset"):
            raise EngineError(f"goes through the filter {value}, which is not started", where=file, hint=_BY_HAND)
    for name in ("user.name", "user.email"):
        if not _said(root, "config", "--get", name) and not _said(root, "var", "GIT_AUTHOR_IDENT"):
            raise EngineError("git does not know who commits", where=name, hint=f"git config {name} ...")


def commit(root: Path, files: Sequence[Path], message: str) -> str:
    """Commits the files as they are and returns the short name of the commit. Raises `EngineError`."""
    names = [str(each) for each in files]
    _git(root, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--only", "-m", message, "--", *names)
    return _git(root, "rev-parse", "--short=10", "HEAD").strip()


def _said(root: Path, command: str, *arguments: str) -> str:
    ended = _run(root, command, *arguments)
    return ended.stdout.strip() if not ended.returncode else ""


def _git(root: Path, command: str, *arguments: str, why: str = "") -> str:
    ended = _run(root, command, *arguments)
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or [f"git ended with {ended.returncode}"]
        raise EngineError(why or f"git {command} failed: {said[0]}", where=str(root), hint=_BY_HAND)
    return ended.stdout


def _run(root: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return run_git(root, command, *arguments, timeout=_SECONDS)
    except FileNotFoundError as error:
        raise EngineError("git is not installed", hint="leave --commit out") from error
    except subprocess.TimeoutExpired as error:
        raise EngineError("git does not answer", where=str(root), hint=_BY_HAND) from error
