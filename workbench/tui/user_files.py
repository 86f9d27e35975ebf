"""The files by which a user makes the screens their own, in the user's own folder: never in the repository."""

from __future__ import annotations

from pathlib import Path

KEYMAP_FILE, COMMANDS_FILE = "keymap.yaml", "commands.yaml"


def is_there(file: Path) -> bool:
    """Whether there is anything of this name: one that can't be looked at is, so that reading it says why."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
