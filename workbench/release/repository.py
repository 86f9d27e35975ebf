"""Which repository releases were made from, by a name that every machine gives it: where it was cloned from.

The folder is another one on each machine, and a name that the repository gives itself could be any other's: what was
released from one must never be pruned by another that has a project and stack of the same names. So it is what git says
of this clone, or what its user says (WB_REPOSITORY). Where neither says anything, nothing is shared.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from workbench.engine.git import run_git
from workbench.project import checkout

_TIMEOUT_SECONDS = 10.0
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?P<path>[^\s]+)")
_LONGEST = 400


def identity(root: Path, named: str = "") -> str:
    """Returns the name of the repository at `root`, empty where nothing tells it. `named` is what its user says."""
    if named:
        return named
    cloned = checkout(root)
    if not (cloned / ".git").exists():
        return ""
    try:
        asked = run_git(cloned, "config", "--get", "remote.origin.url", timeout=_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    origin = normalised(asked.stdout.strip()) if asked.returncode == 0 else ""
    below = root.resolve().relative_to(cloned.resolve()).as_posix()
    return f"{origin}//{below}" if origin and below != "." else origin


def normalised(url: str) -> str:
    """Returns host and path of a remote, the same however it is reached: no scheme, user, password, port, `.git`.

    Empty for what names no place that others could mean by it.
    """
    if len(url) > _LONGEST or not url.isprintable():
        return ""
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return ""
        if parts.scheme != "file" and not host:
            return ""
    elif url.startswith("/"):
        host, path = "", url
    elif found := _SCP.fullmatch(url):
        host, path = found["host"].lower(), "/" + found["path"].lstrip("/")
    else:
        return ""
    path = re.sub(r"/+", "/", path).rstrip("/").removesuffix(".git").rstrip("/")
    return f"{host}{path}" if path.strip("/") else ""
