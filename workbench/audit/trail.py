"""The audit trail: every write to a cluster, from whatever face, appended and never changed.

STATE/audit/YYYY-MM.jsonl     one entry a line, 0600
STATE/audit/head              number and hash of the last entry
STATE/audit/broken-TIME/      a trail that was broken, set aside by `repair`

Every entry carries the hash of the one before it, so that one that is changed, taken out or put in is found by
`verify`; cut off at the end, it is missed by `head`. Who can write these files can write the head as well, or the whole
chain again: that is found by what is known of the chain elsewhere, its anchors. Release records hold one of the begin
and the end of their apply, `wb audit` prints the newest, and every entry can go to syslog as it is written
(WB_AUDIT_SYSLOG). What came after the last anchor can be cut without being found.

A crash or a full disk costs the entry that was being written, which was never acknowledged, and nothing else: the next
entry follows the last whole one. A head that cannot be read is made again from the entries, and an entry says so.

An intent is written before the first write of an apply or a recovery, then one entry an object, then the result. What
an apply writes into objects is no part of it, and no secret ever is.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field
from kcl.regular import open_regular
from runtimes.base.documents import load_json
from workbench.audit.chain import BEGUN_AGAIN, FIRST, Anchor, Chain, Link, digest, follow, link
from workbench.engine.errors import ReleaseFailure
from workbench.release.files import append_line, failure, lines_of, make_folder, open_to_append

_FILE = re.compile(r"\d{4}-\d{2}\.jsonl")
_TAIL_BYTES = 64 * 1024
_MOST_LINE_BYTES = 1024 * 1024
"""Of an entry. A longer line is none, and is not held to find that out."""
_HEAD = re.compile(r"(\d{1,15}) ([0-9a-f]{64})\n")
Sink = Callable[[bytes], None]
"""Takes each entry as it is written, somewhere else; raises `ReleaseFailure`."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`at` is in UTC. `origin` is the face (cli, tui, notebook, python), with more behind a colon where it says more.

    action   apply, recovery: begins and ends; create, update, replace, delete, evict, rollout restart, ... : one object
    plan     id of the plan or recovery; `target` the stack, recovery or object; `cluster` empty where it is several
    result   begun, done, failed, skipped, ...: how it came out; `detail` in words
    identity which cluster that name was: context, server, user and uid; of all clusters in the entry of an apply
    confirm  the phrase that was given; `reason` why it was done (an incident's number)
    """

    number: int
    at: datetime
    user: str
    host: str
    origin: str
    action: str
    plan: str
    target: str
    cluster: str = ""
    identity: str = ""
    result: str = ""
    detail: str = ""
    confirm: str = ""
    reason: str = ""
    is_dry_run: bool = False
    previous: str = field(default="", repr=False)
    hash: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """`entries` counts the intact ones before the first break. `broken` says where and how, empty if all is intact.

    `tip` is the newest of them as an anchor (NUMBER:HASH), empty without any. `torn` are places of lines that are no
    entries, as crashes leave them, and `more_torn` counts those besides. `first` is the number the trail begins with:
    above 1 where one was set aside.
    """

    entries: int
    broken: str = ""
    tip: str = ""
    torn: tuple[str, ...] = ()
    first: int = 1
    more_torn: int = 0

    @property
    def is_intact(self) -> bool:
        return not self.broken


@dataclass(frozen=True, slots=True)
class Actor:
    """Who writes, and where from."""

    user: str
    host: str
    origin: str


class AuditTrail:
    """The trail of one machine's state folder. Several processes may append at once."""

    def __init__(self, state_dir: Path, sink: Sink | None = None) -> None:
        self._folder, self._sink = state_dir / "audit", sink

    @property
    def folder(self) -> Path:
        return self._folder

    def append(self, actor: Actor, at: datetime, *, action: str, plan: str, target: str, **more: Any) -> AuditEntry:
        """Adds an entry and returns it once it is on disk. `more` are further fields. Raises `ReleaseFailure`."""
        make_folder(self._folder)
        written = {"action": action, "plan": plan, "target": target, **more}
        with self._locked() as head:
            tip = self._tip(head)
            for each in (*tip.notes, written):
                tip = self._write(head, tip, actor, at, each)
        return tip.entry()

    def entries(self, *, limit: int | None = None) -> tuple[AuditEntry, ...]:
        """Returns the readable entries, newest first, at most `limit`; raises `ReleaseFailure`."""
        found: list[AuditEntry] = []
        for path in reversed(self._files()):
            for line in _lines_back(path):
                if limit is not None and len(found) >= limit:
                    return tuple(found)
                try:
                    found.append(_entry(load_json(line)))
                except (ValueError, TypeError, KeyError):
                    continue  # `verify` names it
        return tuple(found)

    def verify(self, anchors: Iterable[Anchor] = ()) -> AuditCheck:
        """Follows the chain from the first entry to the head; raises `ReleaseFailure` if a file cannot be read.

        `anchors` are what is known of it elsewhere.
        """
        anchors = tuple(anchors)
        if not self._folder.exists():
            return _check(Chain(), Chain().missed_by(anchors))
        with self._locked() as head:
            files, state = self._lengths(), _read_head(head)
        # what others write from now on comes after these lengths: they need not wait until a long trail is read
        chain = _chain(files, {each.number for each in anchors})
        if chain.broken:
            return _check(chain, chain.broken)
        if state is None:
            return _check(chain, "its head cannot be read: whether its end is cut is not known")
        if state[0] > chain.tip[0] or (state[0] == chain.tip[0] and state[1] != chain.tip[1]):
            written = f"the trail ends at entry {chain.tip[0]}, but entry {state[0]} was written: its end is cut"
            return _check(chain, written)
        return _check(chain, chain.missed_by(anchors))

    def repair(self, actor: Actor, at: datetime) -> str:
        """Makes the trail one that `verify` finds intact, and returns what was done; empty if nothing had to be.

        A head that cannot be read is made again. A chain that is broken is set aside as it is, and a new one begins
        with an entry that says so: what was broken stays to be looked at. Raises `ReleaseFailure`.
        """
        check = self.verify()
        if check.is_intact:
            return ""
        with self._locked() as head:
            chain, state = _chain(self._lengths()), _read_head(head)
            if state is None and chain.entries and not chain.broken:
                done = f"its head was made again from entry {chain.tip[0]}"
                _write_head(head, *chain.tip)
            else:
                aside = self._set_aside(at)
                done = f"{check.broken}; {check.entries} entries were intact; all of it was moved to {aside.name}"
                number = max(chain.tip[0], state[0] if state else 0)
                begun = _Tip(number, FIRST)
                self._write(head, begun, actor, at, _own(BEGUN_AGAIN, done))
                return done
        self.append(actor, at, **_own("repaired", done))
        return done

    # --- writing

    def _write(self, head: int, tip: _Tip, actor: Actor, at: datetime, written: Mapping[str, Any]) -> _Tip:
        at = at.astimezone(UTC)
        # Into the newest file, whatever the clock says now: it may have been set back.
        newest = [each.name for each in self._files()[-1:]]
        path = self._folder / max([f"{at:%Y-%m}.jsonl", *newest])
        content = {
            "number": tip.number + 1,
            "at": at.isoformat(timespec="milliseconds"),
            "user": actor.user,
            "host": actor.host,
            "origin": actor.origin,
            **written,
            "previous": tip.hash,
        }
        content["hash"] = digest(content)
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        handle = open_to_append(path)
        try:
            append_line(handle, line + b"\n", path)
        finally:
            os.close(handle)
        try:
            _write_head(head, content["number"], content["hash"])
        except OSError as error:
            raise failure("cannot be written", self._folder / "head", error) from error
        if self._sink is not None:
            self._sink(line)
        return _Tip(content["number"], content["hash"], content=content)

    def _tip(self, head: int) -> _Tip:
        """Returns the entry that the next one follows, and what has to be said about it first."""
        state, last = _read_head(head), self._last()
        if state is None:
            if last is None:
                nothing = "the head could not be read, and there was no entry"
                return _Tip(0, FIRST, notes=(_own("repaired", nothing),))
            again = f"the head could not be read and was made again from entry {last.number}"
            return _Tip(last.number, last.hash, notes=(_own("repaired", again),))
        if last is not None and last.number > state[0]:
            return _Tip(last.number, last.hash)  # a process ended between the entry and the head
        return _Tip(*state)  # where the end is cut, the gap stays to be seen

    def _last(self) -> Link | None:
        """The last whole entry, whatever torn lines follow it."""
        for path in reversed(self._files()):
            for line in _lines_back(path, most=_MOST_LINE_BYTES):
                read = link(line, path.name)
                if read is not None and digest(read.content) == read.hash:
                    return read
        return None

    def _set_aside(self, at: datetime) -> Path:
        aside = self._folder / f"broken-{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        try:
            aside.mkdir(mode=0o700)
            for each in self._files():
                each.rename(aside / each.name)
        except OSError as error:
            raise failure("cannot be set aside", self._folder, error) from error
        return aside

    # --- reading

    def _lengths(self) -> list[_Length]:
        """How far each file goes. Held by whoever has the head, it is where the last entry ends."""
        found: list[_Length] = []
        for path in self._files():
            try:
                status = path.stat()
            except OSError as error:
                raise failure("cannot be read", path, error) from error
            found.append(_Length(path, status.st_ino, status.st_size))
        return found

    def _files(self) -> list[Path]:
        try:
            return sorted(each for each in self._folder.iterdir() if _FILE.fullmatch(each.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise failure("cannot be read", self._folder, error) from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Gives the handle of the head, held by nobody else; raises `ReleaseFailure`."""
        path = self._folder / "head"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise failure("cannot be opened", path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class _Length:
    """A file of the trail as it was at one moment: which one lay at its path, and how long it was."""

    path: Path
    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class _Tip:
    """The entry that the next one follows. `notes` are entries that have to be written first."""

    number: int
    hash: str
    notes: tuple[Mapping[str, Any], ...] = ()
    content: Mapping[str, Any] = field(default_factory=dict)

    def entry(self) -> AuditEntry:
        return _entry(self.content)


def _own(result: str, detail: str) -> dict[str, Any]:
    """An entry of the trail about itself."""
    return {"action": "audit", "plan": "", "target": "audit trail", "result": result, "detail": detail}


def _check(chain: Chain, broken: str) -> AuditCheck:
    tip = f"{chain.tip[0]}:{chain.tip[1]}" if chain.entries else ""
    return AuditCheck(chain.entries, broken, tip, chain.torn, chain.first, chain.more_torn)


def _chain(files: Iterable[_Length], sought: Collection[int] = ()) -> Chain:
    lines = ((f"{each.path.name}:{number}", line) for each in files for number, line in _lines(each))
    return follow(lines, sought)


def _lines(of: _Length) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file that say something, by their numbers, one at a time, as far as it went; of one that is
    too long for an entry only the begin. Raises `ReleaseFailure`."""
    try:
        with os.fdopen(open_regular(of.path), "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_ino != of.inode or found.st_size < of.size:
                raise _replaced(of.path)
            for number, line in enumerate(lines_of(file, _MOST_LINE_BYTES, of.size), 1):
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        raise _replaced(of.path) from None
    except OSError as error:
        raise failure("cannot be read", of.path, error) from error


def _replaced(path: Path) -> ReleaseFailure:
    return ReleaseFailure(
        "was cut or taken away while it was read",
        where=str(path),
        hint="somebody may have repaired the trail: wb audit --verify again",
    )


def _lines_back(path: Path, most: int | None = None) -> Iterator[bytes]:
    """Yields the lines of a file that say something, the last one first, without those that are too long for an entry.

    Reads from the end, as far as its lines are wanted, `most` bytes at the most. Raises `ReleaseFailure`.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            size = start = os.fstat(file.fileno()).st_size
            begun, is_too_long = b"", False  # what is read of a line whose begin lies further up
            while start and (most is None or size - start < most):
                length = min(_TAIL_BYTES, start)
                start -= length
                head, *lines = (os.pread(file.fileno(), length, start) + (b"" if is_too_long else begun)).split(b"\n")
                if lines:
                    yield from (each for each in reversed(lines[:-1] if is_too_long else lines) if each.strip())
                    is_too_long = False
                begun = head
                if len(begun) > _MOST_LINE_BYTES:
                    begun, is_too_long = b"", True
            if not start and begun.strip() and not is_too_long:
                yield begun
    except OSError as error:
        raise failure("cannot be read", path, error) from error


def _read_head(handle: int) -> tuple[int, str] | None:
    """Returns number and hash of the last entry; None if it says nothing that can be used."""
    if os.fstat(handle).st_size == 0:
        return 0, FIRST  # as it is made
    read = _HEAD.fullmatch(os.pread(handle, 200, 0).decode("ascii", "replace"))
    return (int(read[1]), read[2]) if read else None


def _write_head(handle: int, number: int, hash_: str) -> None:
    data = f"{number} {hash_}\n".encode()
    os.pwrite(handle, data, 0)
    os.ftruncate(handle, len(data))
    os.fsync(handle)


def _entry(content: Mapping[str, Any]) -> AuditEntry:
    return AuditEntry(**{**content, "at": datetime.fromisoformat(content["at"])})


__all__ = ["Actor", "Anchor", "AuditCheck", "AuditEntry", "AuditTrail"]
