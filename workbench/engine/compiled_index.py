"""What the Specs in a folder were made from, so that the next run compiles only what an edit touches.

For every stack the files it was read from, and for every such file what it held then (`kcl.memo.contents`): a file is
read again only where its stamp is another, a folder counts as what it lists, a missing file as missing, and where links
lead counts for all, since a package may get out of its root so. The record is one JSON file beside the Specs. One that
cannot be read, or was written by another version, is as good as none.

A record may have come with the repository, and says what is to be removed and what is up to date: it is believed of
files that a compilation would write, and of nothing else. One that is a link is not read. What it names outside of the
repository is not read either: of such files (code of plugins, settings of the user) only the stamps are compared.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

from kcl import whole_file
from kcl.api import BoundedFileSystem, Bounds, OsFileSystem
from kcl.memo.contents import UNRELIABLE, State, digest_of_bytes, digest_of_path, look_again, state_of
from kcl.memo.inputs import Clock, Moment, Stamp, now, settled_each, stamp, stamp_as_it_is
from kcl.records import dataclass, field, replace
from kcl.regular import read_regular
from runtimes.base.documents import load_json
from workbench.engine.errors import EngineError
from workbench.project import lies_below

INDEX_FILE = ".konfig-index.json"
_FORMAT = 3
_OUTDATED = ""
"""The key of a record whose files may say that they are as they were: they are as the last run found them."""
NOTHING_WRITTEN = State(None, "")


@dataclass(frozen=True, slots=True)
class Record:
    """How one Spec was made.

    `key` stands for everything but files (options, name, compiler), `file` is relative to the folder, `written` is what
    it held. `shared` and `own` are absolute paths read, outside of the stack's project and inside of it:
    thousands of stacks have the same shared ones, and they are kept once.
    """

    key: str
    file: str
    written: State
    lines: int
    shared: frozenset[str] = field(repr=False)
    own: frozenset[str] = field(repr=False)

    def has_read(self, paths: Iterable[str]) -> frozenset[str]:
        return frozenset(each for each in paths if each in self.shared or each in self.own)


class Index:
    """The record of one folder. Not thread-safe; two runs over one folder must not overlap."""

    def __init__(self, folder: Path, bounds: Bounds, clock: Clock = now) -> None:
        self.folder = folder
        self.clock = clock
        self._bounds = bounds
        self.records: dict[str, Record] = {}
        self.ignored: tuple[str, ...] = ()
        """Stacks whose record names a file that lies outside of the folder."""
        self.outdated: dict[str, Record] = {}
        """What is known of stacks that are out of date and were not compiled again: what they were read from."""
        self.failed: set[str] = set()
        """Stacks that could not be compiled when that was last tried."""
        self._states: dict[str, State] = {}
        self._as_looked_at: dict[str, tuple[Stamp | None, str | None]] = {}
        """The stamps, settled or not, and leads of what was looked at in this run before anything was compiled."""
        self._read_since: dict[str, Moment] = {}
        """What was read by compilations of this run, and when the run began."""
        self._sets: dict[frozenset[str], frozenset[str]] = {}

    @classmethod
    def load(cls, folder: Path, bounds: Bounds, clock: Clock = now) -> Index:
        index = cls(folder, bounds, clock)
        try:
            index._take(load_json(_bytes(folder / INDEX_FILE)))
        except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return cls(folder, bounds, clock)
        return index

    def _take(self, document: Any) -> None:
        if document["format"] != _FORMAT:
            return
        names = [_path_text(each) for each in document["paths"]]
        for name, state in zip(names, document["states"], strict=True):
            self._states[name] = state_of(*state)
        sets = [self._kept(frozenset(names[each] for each in members)) for members in document["sets"]]
        self.failed = {str(each) for each in document.get("failed", ())}
        for stack, (key, file, written, lines, shared, own) in document["stacks"].items():
            if not _leads_below(_path_text(file)):
                self.ignored += (stack,)
                continue
            self.records[stack] = Record(
                str(key), file, state_of(*written), int(lines), sets[shared], frozenset(names[each] for each in own)
            )

    def drop_outdated(self) -> dict[str, Record]:
        """Looks at every file again, and forgets (and returns) the stacks that read one with another content now."""
        changed = set()
        within = BoundedFileSystem(self._bounds, self.clock)
        for path, before in self._states.items():
            now = self._look(path, before, within)
            if not before.says(now):
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

    def meant(self, files: Collection[str]) -> dict[str, str]:
        """Returns by recorded path the file that it means: itself, one it leads to, or a link that it lies below."""
        links = [each for each in files if os.path.islink(each)]
        found = {path: path for path in files if path in self._states}
        found |= {path: state.lead for path, state in self._states.items() if state.lead and state.lead in files}
        for link in links:
            found |= {path: link for path in self._states if path.startswith(link + os.sep)}
        return found

    def below(self, folders: Iterable[str]) -> dict[str, str]:
        """Returns by recorded path the folder that it is, or lies below: what is in one may all be another."""
        return {
            path: each for each in folders for path in self._states if path == each or path.startswith(each + os.sep)
        }

    def is_written(self, record: Record) -> bool:
        """Whether the Spec lies there as it was written."""
        try:
            file = place(self.folder, record.file)
        except EngineError:
            return False
        if file.is_symlink():
            return False
        return look_again(str(file), record.written, OsFileSystem(), self.clock).digest == record.written.digest

    def put(self, stack: str, record: Record, *, began: Moment) -> None:
        """Notes a stack that was compiled just now, in a run that began then."""
        for path in (*record.shared, *record.own):
            self._read_since[path] = began
        shared = self._kept(record.shared)
        self.records[stack] = Record(record.key, record.file, record.written, record.lines, shared, record.own)
        self.outdated.pop(stack, None)
        self.failed.discard(stack)

    def put_failed(self, stack: str) -> None:
        """Notes a stack that could not be compiled just now: what it was read from before tells nothing of that."""
        self.outdated.pop(stack, None)
        self.failed.add(stack)

    def _look(self, path: str, before: State, within: BoundedFileSystem) -> State:
        """As `look_again`, of a path that a record names."""
        found, lead = _stamp_and_lead(path, within, self.clock)
        self._as_looked_at[path] = stamp_as_it_is(path) if found is None else found, lead
        if found is not None and (found, lead) == (before.stamp, before.lead):
            return before
        return _state(path, found, lead, within)

    def _confirm(self) -> None:
        """Looks at what the compilations of this run read, once more.

        What may have changed since the run began is compiled again next time, also where it is now what it was before:
        a compilation may have read something else in between.
        """
        within = BoundedFileSystem(self._bounds, self.clock)
        for path in self._read_since.keys() & self._as_looked_at.keys():
            was, lead = self._as_looked_at[path]
            if was is None or (stamp_as_it_is(path), _stamp_and_lead(path, within, self.clock)[1]) != (was, lead):
                self._states[path] = UNRELIABLE
        new = {path: began for path, began in self._read_since.items() if path not in self._states}
        for began in set(new.values()):
            paths = [path for path, since in new.items() if since == began]
            for path, found in settled_each(paths, began, self.clock).items():
                lead = _stamp_and_lead(path, within, self.clock)[1]
                self._states[path] = UNRELIABLE if found is None else _state(path, found, lead, within)

    def _kept(self, paths: frozenset[str]) -> frozenset[str]:
        return self._sets.setdefault(paths, paths)

    def save(self) -> None:
        """Raises `EngineError` where the folder cannot be written."""
        self._confirm()
        numbers: dict[str, int] = {}
        sets: dict[frozenset[str], int] = {}

        def numbered(paths: Iterable[str]) -> list[int]:
            return sorted(numbers.setdefault(each, len(numbers)) for each in paths)

        members: list[list[int]] = []
        stacks = {}
        outdated = {name: replace(each, key=_OUTDATED) for name, each in self.outdated.items()}
        for stack, each in {**outdated, **self.records}.items():
            if each.shared not in sets:
                sets[each.shared] = len(members)
                members.append(numbered(each.shared))
            stacks[stack] = (
                each.key,
                each.file,
                each.written.plain(),
                each.lines,
                sets[each.shared],
                numbered(each.own),
            )
        self._sets = {each: each for each in sets}
        states = [self._states[path].plain() for path in numbers]
        document = {
            "format": _FORMAT,
            "paths": list(numbers),
            "states": states,
            "sets": members,
            "stacks": stacks,
            "failed": sorted(self.failed),
        }
        write_private(self.folder / INDEX_FILE, json.dumps(document, separators=(",", ":")).encode())


def _stamp_and_lead(path: str, within: BoundedFileSystem, clock: Clock) -> tuple[Stamp | None, str | None]:
    """As a `State` has them. Of what lies elsewhere, which is not read, only the stamp counts."""
    found, real = within.stamp_and_lead(path)
    if real is None:
        return stamp(path, clock), None
    return found, "" if real == path else real


def _state(path: str, found: Stamp | None, lead: str | None, within: BoundedFileSystem) -> State:
    if lead is None:
        return State(found, str(found), found is not None, lead)
    return State(found, digest_of_path(path, within), lead=lead)


def written_state(file: Path, content: bytes) -> State:
    """Returns what tells whether a file that was written just now still holds this."""
    return State(stamp_as_it_is(str(file)), digest_of_bytes(content))


def place(folder: Path, file: str) -> Path:
    """Returns where a file of the folder lies; raises `EngineError` where a link on the way leads out of the folder."""
    found = folder / file
    on_the_way = [each for each in found.parents if each != folder and each.is_relative_to(folder)]
    if any(each.is_symlink() for each in on_the_way) and not lies_below(found.parent, folder):
        raise EngineError(
            f"leads out of the folder, to {os.path.realpath(found.parent)}: not written",
            where=str(found.parent),
            hint="remove the link, or name another folder with --into",
        )
    return found


def _leads_below(file: str) -> bool:
    return not file.startswith("/") and all(part and not part.startswith(".") for part in file.split("/"))


def _path_text(value: object) -> str:
    """Raises TypeError or ValueError for what can't be the path of a file."""
    if not isinstance(value, str):
        raise TypeError("no path")
    if b"\0" in os.fsencode(value):
        raise ValueError("no path")
    return value


_NOBODY_WRITES_SECONDS: Final = 3600


def write_private(file: Path, content: bytes) -> None:
    """Puts a whole file in place at once, readable by its owner only: Specs hold secrets.

    What a killed process left of it an hour ago goes: that holds them, too. Raises `EngineError`. It does not wait for
    the disk: a Spec that is not as the index has it is compiled again, and an index that cannot be read is as good as
    none.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.remove_unfinished(file.parent, file.name, idle_seconds=_NOBODY_WRITES_SECONDS)
        whole_file.write(file, content, durable=False)
    except OSError as error:
        raise EngineError(
            f"cannot be written: {error.strerror}", where=str(file), hint="name another folder with --into"
        ) from error


def _bytes(file: Path) -> bytes:
    if not stat.S_ISREG(os.lstat(file).st_mode):  # of a device, or a pipe, there may be no end
        raise OSError("no regular file")
    return read_regular(file)
