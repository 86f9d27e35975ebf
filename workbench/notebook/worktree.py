"""Which files of the repository are not committed, as git sees it."""

from __future__ import annotations

import subprocess
from pathlib import Path

_PATIENCE_SECONDS = 10.0
# A repository may name programs for git to run; looking at it must run none of them.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def uncommitted(root: Path) -> tuple[Path, ...] | None:
    """Returns changed and new files below `root`; None where that is no git work tree, or git does not answer."""
    top = _ask(root, "rev-parse", "--show-toplevel")
    status = _ask(root, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", ".")
    if top is None or status is None:
        return None
    return tuple(Path(top.rstrip("\n")) / each[3:] for each in status.split("\0") if each)


def _ask(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [*_GIT, "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
