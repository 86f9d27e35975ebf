"""Whether a file, or a directory's list of names, is still what it was: one `stat` instead of reading it.

The one rule of freshness, for all that is kept of files in memory and on disk. Times of change, which nobody can set,
belong to a stamp, so an edit is seen whose size and time of writing are those from before; so do inode and device, for
files that took the place of another, and links that lead elsewhere.
"""

from __future__ import annotations

import os
import time
from stat import S_IFDIR, S_IFLNK, S_IFMT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Final, Literal, TypeAlias

SETTLED_NANOSECONDS: Final = 100_000_000
"""Age from which its times tell a file from what it becomes by another write: clocks of file systems are coarse."""

Stamp: TypeAlias = "tuple[int, int, int, int, int] | Literal[False]"
"""Times, size and identity; False where there is nothing."""
Moment: TypeAlias = "tuple[int, int]"
"""When a run began, in nanoseconds of the clock that times of files are of, and of one that nobody can set back."""


def now() -> Moment:
    return time.time_ns(), time.monotonic_ns()


def is_comparable(since: Moment, until: Moment) -> bool:
    """Whether times of files tell what was written since a moment: not once the clock was set back."""
    return until[1] - since[1] - (until[0] - since[0]) < SETTLED_NANOSECONDS


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
    return stamp_of(found, before)


def stamp_of(found: os.stat_result, before: int | None = None) -> Stamp | None:
    """As `stamp` of a path where this was found just now."""
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    if newest > (time.time_ns() if before is None else before) - SETTLED_NANOSECONDS:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def stamps(paths: Iterable[str]) -> dict[str, Stamp | None]:
    """As `stamp` for each of many paths."""
    return dict(_taken(paths, time.time_ns()))


def direct_stamps(paths: Iterable[str]) -> tuple[dict[str, Stamp | None], list[str], list[str]]:
    """As `stamps`, of those of the paths that are no links; with the links, and those that are folders."""
    taken: dict[str, Stamp | None] = {}
    links: list[str] = []
    folders: list[str] = []
    before = time.time_ns()
    last, look, kind = before - SETTLED_NANOSECONDS, os.lstat, S_IFMT
    for path in paths:
        try:
            found = look(path)
        except (OSError, ValueError):
            taken[path] = stamp(path, before)
            continue
        is_of = kind(found.st_mode)
        if is_of == S_IFLNK:
            links.append(path)
            continue
        if is_of == S_IFDIR:
            folders.append(path)
        written, changed = found.st_mtime_ns, found.st_ctime_ns
        is_new = written > last or changed > last
        taken[path] = None if is_new else (written, changed, found.st_size, found.st_ino, found.st_dev)
    return taken, links, folders


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
    paths: Collection[str], started: Moment, known: Mapping[str, Stamp | None] | None = None
) -> dict[str, Stamp] | None:
    """The stamps of all that a run looked at, as it was all the time since the run started.

    `known` are stamps that it took itself, of each path before it read that. None where one of the others was written
    shortly before or meanwhile, or nobody can tell.
    """
    taken: dict[str, Stamp] = {path: found for path in paths if (found := known.get(path))} if known else {}
    for path, found in _since(started, (path for path in paths if path not in taken)):
        if found is None:
            return None
        taken[path] = found
    return {path: taken[path] for path in paths}


def settled_each(paths: Iterable[str], started: Moment) -> dict[str, Stamp | None]:
    """As `settled` for each path: None for one that may have been another while the run looked at it."""
    return dict(_since(started, paths))


def _since(started: Moment, paths: Iterable[str]) -> Iterator[tuple[str, Stamp | None]]:
    """What is not there may have been removed meanwhile: only its folder can tell."""
    folders: dict[str, bool] = {}
    is_told = is_comparable(started, now())
    for path, found in _taken(paths, started[0]):
        is_settled = is_told and (found is not False or _was_missing(path, started[0], folders))
        yield path, found if is_settled else None


def _was_missing(path: str, started: int, folders: dict[str, bool]) -> bool:
    """Whether nothing was taken out of the closest folder above `path` that there is; `folders` are those known."""
    folder = os.path.dirname(path)
    if folder not in folders:
        found = stamp(folder, started)
        is_above = found is False and folder != path
        folders[folder] = _was_missing(folder, started, folders) if is_above else found is not None
    return folders[folder]
