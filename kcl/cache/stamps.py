"""Whether a file, or a directory's list of names, is still what it was: one `stat` instead of reading it."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Final, Literal, TypeAlias

SETTLED_NANOSECONDS: Final = 100_000_000
"""Age from which its times tell a file from what it becomes by another write: clocks of file systems are coarse."""

Stamp: TypeAlias = "tuple[int, int, int, int, int] | Literal[False]"
"""Times, size and identity; False where there is nothing."""


def stamp(path: str, before: int | None = None) -> Stamp | None:
    """Equal to an earlier stamp of the path only while nothing was written there.

    None for what changed too short a time ago to tell, or after `before` (nanoseconds since 1970), or cannot be seen.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    if newest > (time.time_ns() if before is None else before) - SETTLED_NANOSECONDS:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def stamps(paths: Iterable[str]) -> dict[str, Stamp | None]:
    """As `stamp` for each of many paths."""
    return dict(_taken(paths, time.time_ns()))


def _taken(paths: Iterable[str], before: int) -> Iterator[tuple[str, Stamp | None]]:
    last, look = before - SETTLED_NANOSECONDS, os.stat
    for path in paths:
        try:
            found = look(path)
        except (OSError, ValueError):
            yield path, stamp(path, before)
            continue
        written, changed = found.st_mtime_ns, found.st_ctime_ns
        if written > last or changed > last:
            yield path, None
        else:
            yield path, (written, changed, found.st_size, found.st_ino, found.st_dev)


def hold(kept: Mapping[str, Stamp]) -> bool:
    """Whether these stamps, taken earlier, are those of now. Looks no further than the first that is not."""
    look = os.stat
    for path, before in kept.items():
        try:
            found = look(path)
        except (FileNotFoundError, NotADirectoryError):
            if before is not False:
                return False
            continue
        except (OSError, ValueError):
            return False
        if (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev) != before:
            return False
    return True


def settled(
    paths: Collection[str], started: int, known: Mapping[str, Stamp | None] | None = None
) -> dict[str, Stamp] | None:
    """The stamps of all that a run looked at which began at `started` (nanoseconds since 1970), as it was all the time.

    `known` are stamps that it took itself, of each path before it read that. None where one of the others was written
    shortly before or meanwhile. What is not there may have been removed meanwhile: only its folder can tell.
    """
    taken: dict[str, Stamp] = {path: found for path in paths if (found := known.get(path))} if known else {}
    folders: dict[str, bool] = {}
    for path, now in _taken((path for path in paths if path not in taken), started):
        if now is None or (now is False and not _was_missing(path, started, folders)):
            return None
        taken[path] = now
    return {path: taken[path] for path in paths}


def _was_missing(path: str, started: int, folders: dict[str, bool]) -> bool:
    """Whether nothing was taken out of the closest folder above `path` that there is; `folders` are those known."""
    folder = os.path.dirname(path)
    if folder not in folders:
        found = stamp(folder, started)
        is_above = found is False and folder != path
        folders[folder] = _was_missing(folder, started, folders) if is_above else found is not None
    return folders[folder]
