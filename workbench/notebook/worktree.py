"""Which files of the repository are not committed, as git sees it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from workbench.engine.git import overlooked, run_git

_PATIENCE_SECONDS = 10.0


def uncommitted(root: Path) -> tuple[Path, ...] | None:
    """Returns changed and new files below `root`, those in submodules too, or the folder of one that can't be told of.

    None where that is no git work tree, or git does not answer.
    """
    top = _ask(root, "rev-parse", "--show-toplevel")
    status = _ask(root, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", ".")
    if top is None or status is None:
        return None
    changed = [Path(top.rstrip("\n")) / each[3:] for each in status.split("\0") if each]
    unseen = overlooked(root, timeout=_PATIENCE_SECONDS)
    found = ((each, uncommitted(each)) for each in unseen.submodules)
    below = (file for each, files in found for file in ((each,) if files is None else files))
    return tuple(dict.fromkeys((*changed, *unseen.files, *below)))


def _ask(root: Path, command: str, *arguments: str) -> str | None:
    try:
        done = run_git(root, command, *arguments, timeout=_PATIENCE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
