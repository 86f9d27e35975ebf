"""Where a repository begins: the files that mark it, and the checkout that it came with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workbench.project.errors import NotARepository

CLUSTERS_FILE: Final = "clusters.yaml"
PROJECT_FILE: Final = "project.yaml"
STACK_FILE: Final = "stack.yaml"
MODULE_FILE: Final = "kcl.mod"


def find_root(path: Path) -> Path:
    """Returns the root of the repository at or above `path` (a file or folder); raises `NotARepository`."""
    start = path.resolve()
    if not start.exists():
        raise NotARepository("there is no such folder", where=str(path))
    folder = start if start.is_dir() else start.parent
    found: Path | None = None
    for each in (folder, *folder.parents):
        if (each / CLUSTERS_FILE).is_file():
            return each
        if (each / MODULE_FILE).is_file() or (each / PROJECT_FILE).is_file():
            found = each
        if (each / ".git").exists():
            break
    if found is None:
        raise NotARepository(
            "no Konfig repository here or above",
            where=str(start),
            hint=f"its root holds a {MODULE_FILE}; use --workdir",
        )
    return found


def checkout(root: Path) -> Path:
    """Returns the folder that came with the repository: the git checkout that `root` lies in, else `root` itself."""
    return next((each for each in (root, *root.parents) if (each / ".git").exists()), root)
