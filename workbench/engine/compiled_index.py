"""What the Specs in a folder were made from, so that the next run compiles only what an edit touches.

For every stack the files it was read from, and for every such file what it held then. A file is looked at again only
where its size, time or inode moved; a folder counts as what it lists, a missing file as missing. The record is one
JSON file beside the Specs. One that cannot be read, or was written by another version, is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.engine.errors import EngineError

INDEX_FILE = ".konfig-index.json"
_FORMAT = 1
_MISSING = "missing"
_NO_STAMP = (0, 0, 0)
_SETTLED_NS = 100_000_000
"""A file younger than this may be written again without its times telling, as clocks of file systems are coarse."""


@dataclass(frozen=True, slots=True)
class State:
    """What a path held. `stamp` is (mtime in ns, size, inode), None if nobody may rely on what is said here."""

    stamp: tuple[int, int, int] | None
    digest: str


@dataclass(frozen=True, slots=True)
class Record:
    """How one Spec was made.

    `key` stands for everything but files (options, name, compiler), `file` is relative to the folder, `written` is its
    (mtime in ns, size). `shared` and `own` are absolute paths read, outside of the stack's project and inside of it:
    thousands of stacks have the same shared ones, and they are kept once.
    """

    key: str
    file: str
    written: tuple[int, int]
    lines: int
    shared: frozenset[str] = field(repr=False)
    own: frozenset[str] = field(repr=False)

    def has_read(self, paths: Iterable[str]) -> frozenset[str]:
        return frozenset(each for each in paths if each in self.shared or each in self.own)


class Index:
    """The record of one folder. Not thread-safe; two runs over one folder must not overlap."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, Record] = {}
        self._states: dict[str, State] = {}
        self._sets: dict[frozenset[str], frozenset[str]] = {}

    @classmethod
    def load(cls, folder: Path) -> Index:
        index = cls(folder)
        try:
            index._read(json.loads((folder / INDEX_FILE).read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            return cls(folder)
        return index

    def _read(self, document: Any) -> None:
        if document["format"] != _FORMAT:
            return
        names: list[str] = document["paths"]
        states: list[tuple[list[int] | None, str]] = document["states"]
        for name, (stamp, content) in zip(names, states, strict=True):
            self._states[name] = State((stamp[0], stamp[1], stamp[2]) if stamp else None, content)
        sets = [self._kept(frozenset(names[each] for each in members)) for members in document["sets"]]
        for stack, (key, file, written, lines, shared, own) in document["stacks"].items():
            self.records[stack] = Record(
                key, file, (written[0], written[1]), lines, sets[shared], frozenset(names[each] for each in own)
            )

    def drop_outdated(self) -> dict[str, Record]:
        """Looks at every file anew, and forgets (and returns) the stacks that read one with another content now."""
        changed = set()
        for path, before in self._states.items():
            now = _look(path, before)
            if now.digest != before.digest or before.stamp is None:
                changed.add(path)
            self._states[path] = now
        touched: dict[frozenset[str], bool] = {}
        outdated = {}
        for stack, record in self.records.items():
            if record.shared not in touched:
                touched[record.shared] = not changed.isdisjoint(record.shared)
            if touched[record.shared] or not changed.isdisjoint(record.own):
                outdated[stack] = record
        for stack in outdated:
            del self.records[stack]
        return outdated

    def is_written(self, record: Record) -> bool:
        """Whether the Spec lies there as it was written."""
        return written_state(self.folder / record.file) == record.written

    def put(self, stack: str, record: Record, *, began_ns: int) -> None:
        """Notes a stack that was compiled just now. Files that moved since the run began are compiled again next time.

        `began_ns` is wall time: what is read after a compilation may not be what it read.
        """
        for path in (*record.shared, *record.own):
            if path not in self._states:
                self._states[path] = _look(path, None, began_ns)
        shared = self._kept(record.shared)
        self.records[stack] = Record(record.key, record.file, record.written, record.lines, shared, record.own)

    def _kept(self, paths: frozenset[str]) -> frozenset[str]:
        return self._sets.setdefault(paths, paths)

    def save(self) -> None:
        """Raises `EngineError` where the folder cannot be written."""
        numbers: dict[str, int] = {}
        sets: dict[frozenset[str], int] = {}

        def numbered(paths: Iterable[str]) -> list[int]:
            return sorted(numbers.setdefault(each, len(numbers)) for each in paths)

        members: list[list[int]] = []
        stacks = {}
        for stack, each in self.records.items():
            if each.shared not in sets:
                sets[each.shared] = len(members)
                members.append(numbered(each.shared))
            stacks[stack] = (each.key, each.file, each.written, each.lines, sets[each.shared], numbered(each.own))
        self._sets = {each: each for each in sets}
        self._states = {path: self._states[path] for path in numbers}
        states = [(state.stamp, state.digest) for state in self._states.values()]
        document = {"format": _FORMAT, "paths": list(numbers), "states": states, "sets": members, "stacks": stacks}
        write_private(self.folder / INDEX_FILE, json.dumps(document, separators=(",", ":")).encode())


def digest_of(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def code_state(folders: Iterable[Path]) -> Mapping[str, tuple[int, int]]:
    """Returns size and time of all Python and data files below some packages: another compiler, another state."""
    return {path: state for folder in folders for path, state in _files(str(folder))}


def _files(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.is_file():
                found = entry.stat()
                yield entry.path, (found.st_mtime_ns, found.st_size)


def written_state(file: Path) -> tuple[int, int] | None:
    """Returns (mtime in ns, size), None if there is no such file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size)


def write_private(file: Path, content: bytes) -> None:
    """Puts a whole file in place at once, readable by its owner only: Specs hold secrets.

    Raises `EngineError`. What a killed process leaves is a file whose name begins with a dot.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = file.with_name(f".{file.name}.{os.getpid()}.part")
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(content)
        made.replace(file)
    except OSError as error:
        raise EngineError(
            f"cannot be written: {error.strerror}", where=str(file), hint="name another folder with --into"
        ) from error


def _look(path: str, before: State | None, began_ns: int | None = None) -> State:
    """Returns what a path holds now; `before` is believed where the file did not move since.

    What moved after `began_ns` may have been read as it was: nobody may rely on it.
    """
    try:
        found = os.stat(path)
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if before is not None and before.stamp == stamp:
            return before
        if time.time_ns() - found.st_mtime_ns < _SETTLED_NS:
            stamp = _NO_STAMP  # it is read again next time
        if began_ns is not None and found.st_mtime_ns > began_ns:
            return State(None, "moved")
        if stat.S_ISDIR(found.st_mode):
            return State(stamp, digest_of(["folder", *sorted(os.listdir(path))]))
        if not stat.S_ISREG(found.st_mode):
            return State(None, "neither file nor folder")
        with open(path, "rb") as stream:
            return State(stamp, hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError:
        return State(_NO_STAMP, _MISSING)
