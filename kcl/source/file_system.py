"""The file systems programs are read from.

Everything the language reads goes through a `FileSystem`, so a stack can be compiled from memory,
or with some files replaced (`OverlayFileSystem`: a what-if edit that never touches the disk), by
the same code. Paths are strings in the form of the operating system; all methods take absolute
paths or paths relative to the process's working directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from stat import S_ISDIR, S_ISREG
from typing import Protocol

from kcl.diagnostics import Code, KclError, error
from kcl.memo.inputs import Clock, Leads, Stamp, direct_stamps, now, stamp, stamp_as_it_is, stamp_of, stamps
from kcl.reach import Bounds, Lookup, Refusal, Seen, is_git, is_normal
from kcl.regular import is_given, open_there, read_given, read_regular

_MANY = 4
"""Paths whose stamps are asked for at once from which on nothing is held that an overlay saw before."""
_BYTE_ORDER_MARK = "\ufeff"
_MOVED = Refusal("led out of the repository a moment ago: not read", "run it again")


class FileSystem(Protocol):
    """Read-only view of files. Implementations keep no mutable state, so threads can share one."""

    def read_text(self, path: str) -> str:
        """The decoded text, without a byte-order mark.

        Raises OSError if it cannot be read, UnicodeDecodeError if it is not UTF-8.
        """
        ...

    def read_bytes(self, path: str) -> bytes:
        """Raises OSError if it cannot be read."""
        ...

    def is_file(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def exists(self, path: str) -> bool: ...

    def list_dir(self, path: str) -> list[str]:
        """Names in a directory, sorted; [] when it is not a directory."""
        ...

    def refusal(self, path: str) -> Refusal | None:
        """Why a path may not be looked at; None where it may."""
        ...

    def plain_folders(self) -> set[str]:
        """Folders of the disk that were seen to be no links, for one run only; whoever sees more may add to them."""
        ...

    def stamp(self, path: str) -> Hashable | None:
        """Equal to an earlier stamp of the path only while its content, or a directory's list of names, is the same.

        False where there is nothing; None where nothing short of reading can tell.
        """
        ...

    def stamps(self, paths: Iterable[str]) -> dict[str, Hashable | None]:
        """The stamps of very many paths, which are absolute with nothing in them to normalize."""
        ...


def decode(data: bytes) -> str:
    """UTF-8 text without its byte-order mark, line ends as they are. Raises UnicodeDecodeError."""
    return data.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)


class OsFileSystem:
    """The real one. `clock` tells how old what it finds is.

    Reads regular files, and what the process was started with: of a pipe that lies among the files of a repository
    nothing comes, for ever.
    """

    def __init__(self, clock: Clock = now) -> None:
        self._clock = clock

    def read_text(self, path: str) -> str:
        return decode(self.read_bytes(path))

    def read_bytes(self, path: str) -> bytes:
        return read_given(path) if is_given(path) else read_regular(path)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)  # noqa: PTH113

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)  # noqa: PTH112

    def exists(self, path: str) -> bool:
        return os.path.exists(path)  # noqa: PTH110

    def list_dir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []

    def refusal(self, path: str) -> Refusal | None:
        return None

    def plain_folders(self) -> set[str]:
        return set()

    def stamp(self, path: str) -> Hashable | None:
        return stamp(path, self._clock)

    def stamps(self, paths: Iterable[str]) -> dict[str, Hashable | None]:
        return {**stamps(paths, self._clock)}


class OutsideBounds(KclError):
    """A path leads where this run may not look."""

    def __init__(self, path: str, refusal: Refusal) -> None:
        notes = (refusal.hint,)
        super().__init__((error(Code.CANNOT_FIND_MODULE, f"'{path}' {refusal.reason}", None, notes=notes),))


class BoundedFileSystem:
    """The disk within bounds: what a repository may be read from that nobody has vouched for.

    Paths outside are not there, so that who walks upwards ends at the bounds, and reading them fails. A link that
    leads out fails in whatever is asked of it, and is not taken for a file that is missing. Keeps what it learned of
    folders: make one for each run.
    """

    def __init__(self, bounds: Bounds, clock: Clock = now) -> None:
        self.bounds = bounds
        self._clock = clock
        self._lookup = Lookup(bounds)
        self._disk = OsFileSystem()

    def read_text(self, path: str) -> str:
        return decode(self.read_bytes(path))

    def read_bytes(self, path: str) -> bytes:
        seen = self._lookup.look(path)
        if seen is None:
            raise OutsideBounds(path, self.bounds.refusal(path) or _MOVED)
        opened, place = open_there(seen.path)
        with os.fdopen(opened, "rb") as file:
            # folders may have become links since somebody looked
            if place != seen.path and not self.bounds.hold(place):
                raise OutsideBounds(path, _MOVED)
            return file.read()

    def is_file(self, path: str) -> bool:
        return S_ISREG(self._mode(path))

    def is_dir(self, path: str) -> bool:
        return S_ISDIR(self._mode(path))

    def exists(self, path: str) -> bool:
        return self._mode(path) != 0

    def list_dir(self, path: str) -> list[str]:
        seen = self._shown(path)
        return [] if seen is None else [name for name in self._disk.list_dir(seen.path) if not is_git(name)]

    def refusal(self, path: str) -> Refusal | None:
        return None if self._lookup.look(path) is not None else self.bounds.refusal(path)

    def plain_folders(self) -> set[str]:
        return self._lookup.plain_folders

    def stamp(self, path: str) -> Hashable | None:
        return self.stamp_and_lead(path)[0]

    def stamp_and_lead(self, path: str) -> tuple[Stamp | None, str | None]:
        """The stamp of a path, and where it leads; None for both where that lies outside of the bounds."""
        seen = self._lookup.look(path)
        if seen is None:
            return None, None
        found = stamp(seen.path, self._clock) if seen.state is None else stamp_of(seen.state, self._clock)
        return found, seen.path

    def stamps(self, paths: Iterable[str]) -> dict[str, Hashable | None]:
        taken, links, folders = direct_stamps(paths, self._clock)
        found: dict[str, Hashable | None] = {**taken}
        self._lookup.plain_folders.update(folders)
        for path in (*links, *self._lookup.doubtful(taken)):
            found[path] = self.stamp(path)
        return found

    def _mode(self, path: str) -> int:
        """What is at a path, 0 for nothing."""
        seen = self._shown(path)
        return 0 if seen is None or seen.state is None else seen.state.st_mode

    def _shown(self, path: str) -> Seen | None:
        """Where a path leads, None for one outside. Raises OutsideBounds where a link leads out."""
        seen = self._lookup.look(path)
        refusal = self.bounds.refusal(path) if seen is None else None
        if refusal is not None and refusal.is_link:
            raise OutsideBounds(path, refusal)
        return seen


class InMemoryFileSystem:
    """Files given as a mapping from path to text or bytes; their directories exist by themselves."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self._files = {_normal(path): content for path, content in files.items()}
        self._names = _directory_names(self._files)
        self.paths: frozenset[str] = frozenset((*self._files, *self._names))
        """All files and their directories, as absolute paths."""

    def read_text(self, path: str) -> str:
        return decode(self.read_bytes(path))

    def read_bytes(self, path: str) -> bytes:
        normal = _normal(path)
        if normal in self._files:
            content = self._files[normal]
            return content.encode() if isinstance(content, str) else content
        if normal in self._names:
            raise IsADirectoryError(21, "Is a directory", path)
        raise FileNotFoundError(2, "No such file or directory", path)

    def is_file(self, path: str) -> bool:
        return _normal(path) in self._files

    def is_dir(self, path: str) -> bool:
        return _normal(path) in self._names

    def exists(self, path: str) -> bool:
        return self.is_file(path) or self.is_dir(path)

    def list_dir(self, path: str) -> list[str]:
        return sorted(self._names.get(_normal(path), ()))

    def refusal(self, path: str) -> Refusal | None:
        return None

    def plain_folders(self) -> set[str]:
        return set()

    def stamp(self, path: str) -> Hashable | None:
        normal = _normal(path)
        if normal in self._files:
            return self._files[normal]
        return tuple(sorted(self._names[normal])) if normal in self._names else False

    def stamps(self, paths: Iterable[str]) -> dict[str, Hashable | None]:
        return {path: self.stamp(path) for path in paths}


class OverlayFileSystem:
    """`base` with some files replaced or added, by every name that links give them; nothing is ever written to `base`.

    A file of `files` that is named exactly as somebody asks for it goes before one that is reached by a link, and
    `base` says first whether a link may be followed. Where links lead is kept until stamps of many paths are asked for
    at once, as by a run that holds what it knows: it asks for single ones some fifty times. Folders that `base` has
    just seen to be none are not looked at again.
    """

    def __init__(self, base: FileSystem, files: Mapping[str, str | bytes]) -> None:
        self.base = base
        self._leads = Leads(base.plain_folders())
        self._same: set[tuple[Hashable, ...]] | None = None
        """What the paths of the overlay are on the disk below; None before it is asked for."""
        named = {_normal(path): content for path, content in files.items()}
        self._top = InMemoryFileSystem({**{self._leads.of(path): text for path, text in named.items()}, **named})
        self._touched = self._top.paths

    def overlays_nothing(self) -> bool:
        return not self._touched

    def read_text(self, path: str) -> str:
        holder, place = self._holder(path)
        return holder.read_text(place)

    def read_bytes(self, path: str) -> bytes:
        holder, place = self._holder(path)
        return holder.read_bytes(place)

    def is_file(self, path: str) -> bool:
        return self._top.is_file(path) or self.base.is_file(path) or self._shows(path, self._top.is_file)

    def is_dir(self, path: str) -> bool:
        return self._top.is_dir(path) or self.base.is_dir(path) or self._shows(path, self._top.is_dir)

    def exists(self, path: str) -> bool:
        return self._top.exists(path) or self.base.exists(path) or self._shows(path, self._top.exists)

    def list_dir(self, path: str) -> list[str]:
        below = self.base.list_dir(path)
        place = self._place(path)
        return sorted({*self._top.list_dir(path), *below, *(self._top.list_dir(place) if place is not None else ())})

    def refusal(self, path: str) -> Refusal | None:
        return None if self._top.exists(path) else self.base.refusal(path)

    def plain_folders(self) -> set[str]:
        return self.base.plain_folders()

    def stamp(self, path: str) -> Hashable | None:
        place = path if path in self._touched else self._place(path)
        if place is None:
            return self.base.stamp(path)
        top, below = self._top.stamp(place), self.base.stamp(path)
        return None if below is None else (top, below)

    def stamps(self, paths: Iterable[str]) -> dict[str, Hashable | None]:
        asked = list(paths)
        if len(asked) >= _MANY:
            self._leads, self._same = Leads(self.base.plain_folders()), None
        found = self.base.stamps(asked)
        for path in self._touched.intersection(asked):
            found[path] = self.stamp(path)
        for path in self._linked(found):
            found[path] = self.stamp(path)
        return found

    def _holder(self, path: str) -> tuple[FileSystem, str]:
        """Who has a file, and by which name."""
        if self._top.is_file(path):
            return self._top, path
        place = self._place(path)
        if place is not None and self._top.is_file(place) and self.base.refusal(path) is None:
            return self._top, place
        return self.base, path

    def _place(self, path: str) -> str | None:
        """Where a path leads that leads to something of the overlay; None for another, and where that is no file."""
        normal = _normal(path)
        if normal in self._touched:
            return normal
        try:
            place = self._leads.of(normal)
        except (OSError, ValueError):  # what is no path leads nowhere
            return None
        return place if place in self._touched else None

    def _shows(self, path: str, is_there: Callable[[str], bool]) -> bool:
        """Whether the overlay has it where a link leads of which `base` has nothing."""
        place = self._place(path)
        return place is not None and is_there(place) and self.base.refusal(path) is None

    def _linked(self, found: Mapping[str, Hashable | None]) -> list[str]:
        """Those of the paths that may reach something of the overlay by another name.

        Their stamps tell it of what is there, which are of what links lead to; what is not there is looked at.
        """
        if self._same is None:
            # inode and device, which end a stamp of the disk
            self._same = {stamp[-2:] for stamp in map(stamp_as_it_is, self._touched) if stamp}
        same = self._same
        return [
            path
            for path, stamp in found.items()
            if (stamp[-2:] in same if isinstance(stamp, tuple) else self._place(path) is not None)
            and path not in self._touched
        ]


class RecordingFileSystem:
    """`inner`, remembering in `seen` the paths that were read or asked for.

    Not those of which only a stamp was taken: it may be held against what an earlier run looked at, and this one not.
    """

    def __init__(self, inner: FileSystem) -> None:
        self._inner = inner
        self.seen: set[str] = set()

    def read_text(self, path: str) -> str:
        self.seen.add(path)
        return self._inner.read_text(path)

    def read_bytes(self, path: str) -> bytes:
        self.seen.add(path)
        return self._inner.read_bytes(path)

    def is_file(self, path: str) -> bool:
        self.seen.add(path)
        return self._inner.is_file(path)

    def is_dir(self, path: str) -> bool:
        self.seen.add(path)
        return self._inner.is_dir(path)

    def exists(self, path: str) -> bool:
        self.seen.add(path)
        return self._inner.exists(path)

    def list_dir(self, path: str) -> list[str]:
        self.seen.add(path)
        return self._inner.list_dir(path)

    def refusal(self, path: str) -> Refusal | None:
        return self._inner.refusal(path)

    def plain_folders(self) -> set[str]:
        return self._inner.plain_folders()

    def stamp(self, path: str) -> Hashable | None:
        return self._inner.stamp(path)

    def stamps(self, paths: Iterable[str]) -> dict[str, Hashable | None]:
        return self._inner.stamps(paths)


class StampingFileSystem(RecordingFileSystem):
    """As `RecordingFileSystem`, remembering in `taken` also stamps: of paths of which nothing was asked before.

    What was read of such a path later is what the stamp stands for, or the stamp is none that comes again.
    """

    def __init__(self, inner: FileSystem) -> None:
        super().__init__(inner)
        self.taken: dict[str, Hashable | None] = {}

    def stamp(self, path: str) -> Hashable | None:
        found = super().stamp(path)
        if path not in self.seen:
            self.taken.setdefault(path, found)
        return found

    def stamps(self, paths: Iterable[str]) -> dict[str, Hashable | None]:
        found = super().stamps(paths)
        for path in found.keys() - self.seen - self.taken.keys():
            self.taken[path] = found[path]
        return found


def is_disk(file_system: FileSystem) -> bool:
    """Whether what a file system shows is what lies on disk, and nothing else."""
    if isinstance(file_system, OverlayFileSystem):
        return file_system.overlays_nothing() and is_disk(file_system.base)
    return type(file_system) in (OsFileSystem, BoundedFileSystem)


def bounds_of(file_system: FileSystem) -> Bounds | None:
    """How far a file system looks; None for one that looks anywhere."""
    if isinstance(file_system, OverlayFileSystem):
        return bounds_of(file_system.base)
    return file_system.bounds if isinstance(file_system, BoundedFileSystem) else None


def _normal(path: str) -> str:
    return path if is_normal(path) and os.sep == "/" else os.path.abspath(path)  # noqa: PTH100


def _directory_names(paths: Iterable[str]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for path in paths:
        parent, name = os.path.split(path)
        while name:
            known = parent in names
            names.setdefault(parent, set()).add(name)
            if known:
                break
            parent, name = os.path.split(parent)
    return names
