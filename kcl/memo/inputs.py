"""Whether a file, or a directory's list of names, is still what it was: one `stat` instead of reading it.

The one rule of freshness, for all that is cached of files, in memory and on disk. A stamp is what `stat` says of a
path: when its content was written and when anything of it was changed, size, inode and device; or that nothing is
there. Times of change belong to it because nobody can set them, so an edit is seen that leaves size and time of writing
as they were; inode and device because another file may have taken the place of this one, or a link may lead elsewhere.

Clocks of file systems are coarse: a file that is written twice within one of their ticks has one stamp for both
contents. Git calls that a racy entry (https://git-scm.com/docs/racy-git) and compares its content; so it is here: what
changed too short a time before it was looked at has no stamp (None), which equals no other, and whoever asks reads it
again. How short depends on the clock that stamped it. Most tick some hundred times a second; a time of whole seconds
is taken for one of a clock that ticks once a second, or every other one (HFS+, ext3, FAT, some NFS servers).

A stamp of a path says nothing of the folders above it: one of them may be moved elsewhere, out of what a program may
read, and a link put in its place. So where folders lead is held against what it was too (`Leads`).

Where a file system has less to tell, less is seen:
- Windows has no time of change: an edit that keeps the size and puts the time of writing back is overlooked.
- Inodes that are made up again with each mount (FAT, some FUSE) cost a reading after each mount and hide nothing.
- A network file system may answer `stat` from what it knew some seconds ago: what another machine writes is seen then.
"""

from __future__ import annotations

import os
import time
from operator import attrgetter
from stat import S_IFDIR, S_IFLNK, S_IFMT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Final, Literal, TypeAlias

SETTLED_NANOSECONDS: Final = 100_000_000
"""Age from which its times tell a file from what it becomes by another write."""
SETTLED_COARSELY_NANOSECONDS: Final = 2_100_000_000
"""The same where the clock of the file system may tick every other second."""
_SECOND: Final = 1_000_000_000
_WRITTEN: Final = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_dev")

Stamp: TypeAlias = "tuple[int, int, int, int, int] | Literal[False]"
"""Times, size and identity; False where there is nothing."""
Moment: TypeAlias = "tuple[int, int]"
"""When a run began, in nanoseconds of the clock that times of files are of, and of one that nobody can set back."""
Ways: TypeAlias = "tuple[dict[str, str], tuple[str, ...], frozenset[str]]"
"""The ways to paths: where each folder and link leads that does not lead to itself, then the other folders on the way,
which are no links: those without a stamp, and those whose stamp tells it."""
Clock: TypeAlias = "Callable[[], Moment]"
"""What tells the time. Handed to whoever takes stamps, so that a test need not wait until they are settled."""


def now() -> Moment:
    """The clock of this machine."""
    return time.time_ns(), time.monotonic_ns()


def is_comparable(since: Moment, until: Moment) -> bool:
    """Whether times of files tell what was written since a moment: not once the clock was set back."""
    return until[1] - since[1] - (until[0] - since[0]) < SETTLED_NANOSECONDS


def _is_settled(moment: int, at: int) -> bool:
    """Whether what a file system stamped with `moment` cannot be stamped with it again at `at`, or later."""
    return moment <= at - (SETTLED_NANOSECONDS if moment % _SECOND else SETTLED_COARSELY_NANOSECONDS)


def stamp(path: str, clock: Clock = now) -> Stamp | None:
    """Equal to an earlier stamp of the path only while nothing was written there.

    None for what changed too short a time ago to tell, or cannot be seen.
    """
    return _stamp(path, clock()[0])


def stamp_of(found: os.stat_result, clock: Clock = now) -> Stamp | None:
    """As `stamp` of a path where this was found just now."""
    return _settled_stamp(found, clock()[0])


def stamp_as_it_is(path: str) -> Stamp | None:
    """The stamp of a path however short a time ago it changed; None for what cannot be seen.

    For what is held against an earlier stamp, and for files that nobody edits: those of the compiler itself.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def stamps(paths: Iterable[str], clock: Clock = now) -> dict[str, Stamp | None]:
    """As `stamp` for each of many paths."""
    return dict(_taken(paths, clock()[0]))


def direct_stamps(paths: Iterable[str], clock: Clock = now) -> tuple[dict[str, Stamp | None], list[str], list[str]]:
    """As `stamps`, of those of the paths that are no links; with the links, and those that are folders."""
    taken: dict[str, Stamp | None] = {}
    links: list[str] = []
    folders: list[str] = []
    at = clock()[0]
    last, look, kind = at - SETTLED_COARSELY_NANOSECONDS, os.lstat, S_IFMT
    for path in paths:
        try:
            found = look(path)
        except (OSError, ValueError):
            taken[path] = _stamp(path, at)
            continue
        is_of = kind(found.st_mode)
        if is_of == S_IFLNK:
            links.append(path)
            continue
        if is_of == S_IFDIR:
            folders.append(path)
        written, changed = found.st_mtime_ns, found.st_ctime_ns
        if written > last or changed > last:
            taken[path] = _settled_stamp(found, at)
        else:
            taken[path] = (written, changed, found.st_size, found.st_ino, found.st_dev)
    return taken, links, folders


_LONGEST: Final = 4096
"""Of a path, in characters. No system that runs this opens a longer one (`PATH_MAX`), so it leads nowhere."""


class Leads:
    """Where folders and links lead in the end, each looked at once: make one for each run.

    `plain` are folders that were seen in this run to be no links themselves; those that are seen are added.
    """

    def __init__(self, plain: set[str] | None = None) -> None:
        self._known: dict[str, str] = {}
        self._plain = set() if plain is None else plain

    def of(self, folder: str) -> str:
        """As `os.path.realpath`, at one look for each part of the way that was not looked at before."""
        way: list[str] = []
        while (known := self._known.get(folder)) is None:
            if (known := self._end(folder)) is not None:
                self._known[folder] = known
                break
            way.append(folder)
            folder = folder.rpartition("/")[0]
        for each in reversed(way):
            name = each.rpartition("/")[2]
            known = self._known[each] = f"{known}/{name}" if known != "/" else f"/{name}"
        return known

    def around(self, paths: Collection[str]) -> dict[str, str]:
        """Where the folders lead that paths lie in, and those of the paths that are links."""
        folders = {os.path.dirname(path) for path in paths}
        return {each: self.of(each) for each in (*folders, *filter(os.path.islink, paths))}

    def ways(self, before: Mapping[str, Stamp]) -> Ways:
        """Returns the ways to paths with these stamps, for `hold`: each part of them is one look then."""
        links: dict[str, str] = {}
        parts: set[str] = set()
        for folder, real in self.around(before).items():
            if folder != real:
                links[folder] = real
                continue
            while folder and folder not in parts:
                parts.add(folder)
                folder = folder.rpartition("/")[0]
        stamped = frozenset(each for each in parts if before.get(each))
        return links, tuple(sorted(parts - stamped)), stamped

    def hold(self, before: Mapping[str, str]) -> bool:
        """Whether folders still lead where they did."""
        return all(self.of(folder) == real for folder, real in before.items())

    def _end(self, folder: str) -> str | None:
        """Returns where a link leads, or what has nothing above it to ask; None where that decides."""
        if len(folder) > _LONGEST:
            return folder
        above, _, name = folder.rpartition("/")
        if not above or name in ("", ".", ".."):  # or of a system that writes paths otherwise
            return os.path.realpath(folder)
        if folder not in self._plain:
            try:
                kind = S_IFMT(os.lstat(folder).st_mode)
            except (OSError, ValueError):
                kind = 0
            if kind == S_IFLNK:
                return os.path.realpath(folder)
            if kind == S_IFDIR:
                self._plain.add(folder)
        return None


def hold(before: Mapping[str, Stamp], ways: Ways) -> bool:
    """Whether stamps, taken earlier, are those of now, and the ways to their paths lead where they led.

    Looks no further than the first that is not.
    """
    links, plain, stamped = ways
    look, direct, kind, written = os.stat, os.lstat, S_IFMT, _WRITTEN
    for folder in plain:
        try:
            if kind(direct(folder).st_mode) == S_IFLNK:
                return False
        except (OSError, ValueError):  # what is below it is not there either, and has another stamp
            continue
    if links and not Leads().hold(links):
        return False
    for path, was in before.items():
        try:
            # a link in place of a folder has another stamp than the folder it leads to
            found = direct(path) if path in stamped else look(path)
        except (FileNotFoundError, NotADirectoryError):
            if was is not False:
                return False
            continue
        except (OSError, ValueError):
            return False
        if written(found) != was:
            return False
    return True


def settled(
    paths: Collection[str], started: Moment, known: Mapping[str, Stamp | None] | None = None, clock: Clock = now
) -> dict[str, Stamp] | None:
    """The stamps of all that a run looked at, as it was all the time since the run started.

    `known` are stamps that it took itself, of each path before it read that. None where one of the others was written
    shortly before or meanwhile, or nobody can tell.
    """
    taken: dict[str, Stamp] = {path: found for path in paths if (found := known.get(path))} if known else {}
    for path, found in _since(started, (path for path in paths if path not in taken), clock):
        if found is None:
            return None
        taken[path] = found
    return {path: taken[path] for path in paths}


def settled_each(paths: Iterable[str], started: Moment, clock: Clock = now) -> dict[str, Stamp | None]:
    """As `settled` for each path: None for one that may have been another while the run looked at it."""
    return dict(_since(started, paths, clock))


def _stamp(path: str, at: int) -> Stamp | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None
    return _settled_stamp(found, at)


def _settled_stamp(found: os.stat_result, at: int) -> Stamp | None:
    if not (_is_settled(found.st_mtime_ns, at) and _is_settled(found.st_ctime_ns, at)):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def _taken(paths: Iterable[str], at: int) -> Iterator[tuple[str, Stamp | None]]:
    last, look = at - SETTLED_COARSELY_NANOSECONDS, os.stat
    for path in paths:
        try:
            found = look(path)
        except (OSError, ValueError):
            yield path, _stamp(path, at)
            continue
        written, changed = found.st_mtime_ns, found.st_ctime_ns
        if written > last or changed > last:  # few are: the others are told from it without another call
            yield path, _settled_stamp(found, at)
        else:
            yield path, (written, changed, found.st_size, found.st_ino, found.st_dev)


def _since(started: Moment, paths: Iterable[str], clock: Clock) -> Iterator[tuple[str, Stamp | None]]:
    """What is not there may have been removed meanwhile: only its folder can tell."""
    folders: dict[str, bool] = {}
    is_told = is_comparable(started, clock())
    for path, found in _taken(paths, started[0]):
        is_settled = is_told and (found is not False or _was_missing(path, started[0], folders))
        yield path, found if is_settled else None


def _was_missing(path: str, started: int, folders: dict[str, bool]) -> bool:
    """Whether nothing was taken out of the closest folder above `path` that there is; `folders` are those known."""
    folder = os.path.dirname(path)
    if folder not in folders:
        found = _stamp(folder, started)
        is_above = found is False and folder != path
        folders[folder] = _was_missing(folder, started, folders) if is_above else found is not None
    return folders[folder]
