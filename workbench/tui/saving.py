"""Files that screens write into the working folder: for their user alone, and never over another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

_ODD = re.compile(r"[^\w.@-]+")


def file_name(parts: Iterable[str], ending: str, now: datetime) -> Path:
    """Returns a name that says what it is of and when; names of objects may hold anything."""
    stem = "-".join(_ODD.sub("-", each).strip("-.") for each in parts if each)
    return Path(f"{stem}-{now.astimezone(UTC):%Y%m%dT%H%M%S}.{ending}")


def save(path: Path, lines: Iterable[str]) -> None:
    """Raises `OSError`, `FileExistsError` among them."""
    with open(path, "x", encoding="utf-8", opener=_private) as file:
        file.writelines(f"{each}\n" for each in lines)


def opened(path: Path) -> IO[bytes]:
    """Opens a new file to write; raises as `save`."""
    return open(path, "xb", opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
