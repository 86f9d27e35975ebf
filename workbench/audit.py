"""The audit trail: every write to a cluster, from whatever face, appended and never changed.

STATE/audit/YYYY-MM.jsonl   one entry a line, 0600
STATE/audit/head            number and hash of the last entry

Every entry carries the hash of the one before it, over the borders of months as well, so that one that is changed,
taken out or put in is found by `verify`; cut off at the end, it is missed by `head`. This shows tampering by those
who do not rewrite the whole chain; who needs more sends the file elsewhere as it grows.

An intent is written before the first write of an apply or a recovery, then one entry an object, then the result. What
an apply writes into objects is no part of it, and no secret ever is.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.engine.errors import ReleaseFailure
from workbench.release.files import failure, make_folder

_FILE = re.compile(r"\d{4}-\d{2}\.jsonl")
_FIRST = "0" * 64
_LONGEST_ENTRY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`at` is in UTC. `origin` is the face (cli, tui, notebook, python), with more behind a colon where it says more.

    action   apply, recovery: begins and ends; create, update, replace, delete, evict, rollout restart, ... : one object
    plan     id of the plan or recovery; `target` the stack, recovery or object; `cluster` empty where it is several
    result   begun, done, failed, skipped, ...: how it came out; `detail` in words
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
    result: str = ""
    detail: str = ""
    confirm: str = ""
    reason: str = ""
    is_dry_run: bool = False
    previous: str = field(default="", repr=False)
    hash: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """`entries` counts the intact ones before the first break. `broken` says where and how, empty if all is intact."""

    entries: int
    broken: str = ""

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

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / "audit"

    @property
    def folder(self) -> Path:
        return self._folder

    def append(self, actor: Actor, at: datetime, *, action: str, plan: str, target: str, **more: Any) -> AuditEntry:
        """Adds an entry and returns it once it is on disk. `more` are further fields. Raises `ReleaseFailure`."""
        make_folder(self._folder)
        at = at.astimezone(UTC)
        path = self._folder / f"{at:%Y-%m}.jsonl"
        try:
            with self._locked() as head:
                number, previous = self._after_a_crash(*_read_head(head))
                content = {
                    "number": number + 1,
                    "at": at.isoformat(timespec="milliseconds"),
                    "user": actor.user,
                    "host": actor.host,
                    "origin": actor.origin,
                    "action": action,
                    "plan": plan,
                    "target": target,
                    **more,
                    "previous": previous,
                }
                content["hash"] = _hash(content)
                _append(path, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
                _write_head(head, content["number"], content["hash"])
        except OSError as error:
            raise failure("cannot be written", path, error) from error
        return _entry(content)

    def entries(self, *, limit: int | None = None) -> tuple[AuditEntry, ...]:
        """Returns the readable entries, newest first, at most `limit`; raises `ReleaseFailure`."""
        found: list[AuditEntry] = []
        for path in reversed(self._files()):
            for _, line in reversed(list(self._lines(path))):
                if limit is not None and len(found) >= limit:
                    return tuple(found)
                try:
                    found.append(_entry(json.loads(line)))
                except (ValueError, TypeError, KeyError):
                    continue  # `verify` names it
        return tuple(found)

    def verify(self) -> AuditCheck:
        """Follows the chain from the first entry to the head; raises `ReleaseFailure` if a file cannot be read."""
        number, previous = 0, _FIRST
        for path in self._files():
            for line_number, line in self._lines(path):
                where = f"{path.name}:{line_number}"
                try:
                    content = json.loads(line)
                    claimed = content["hash"]
                    wrong = _hash({name: value for name, value in content.items() if name != "hash"}) != claimed
                    if wrong:
                        return AuditCheck(number, f"{where} was changed: its hash does not fit its content")
                    if content["previous"] != previous or content["number"] != number + 1:
                        return AuditCheck(number, f"{where} does not follow the entry before it: one is missing or new")
                except (ValueError, TypeError, KeyError, AttributeError):
                    return AuditCheck(number, f"{where} is not an entry")
                number, previous = number + 1, claimed
        if not self._folder.exists():
            return AuditCheck(0)
        with self._locked() as head:
            last, hash_ = _read_head(head)
        if (last, hash_) != (number, previous):
            return AuditCheck(number, f"the trail ends at entry {number}, but entry {last} was written: its end is cut")
        return AuditCheck(number)

    def _after_a_crash(self, number: int, previous: str) -> tuple[int, str]:
        """Where a process ended between an entry and the head, the entry counts."""
        for path in self._files()[-1:]:
            try:
                content = json.loads(_last_line(path))
                if content["number"] == number + 1 and content["previous"] == previous:
                    return content["number"], content["hash"]
            except (ValueError, TypeError, KeyError):
                break
        return number, previous

    def _files(self) -> list[Path]:
        try:
            return sorted(each for each in self._folder.iterdir() if _FILE.fullmatch(each.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise failure("cannot be read", self._folder, error) from error

    def _lines(self, path: Path) -> Iterator[tuple[int, bytes]]:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise failure("cannot be read", path, error) from error
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield number, line

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


def _hash(content: Mapping[str, Any]) -> str:
    packed = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()


def _last_line(path: Path) -> bytes:
    """Reads the end of a file only: it may be long, and this is asked before every entry."""
    handle = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(handle).st_size
        tail = os.pread(handle, _LONGEST_ENTRY_BYTES, max(0, size - _LONGEST_ENTRY_BYTES))
    finally:
        os.close(handle)
    return tail.rstrip(b"\n").rpartition(b"\n")[2]


def _append(path: Path, line: bytes) -> None:
    """Begins on a line of its own even where a crash left half a line: that one shows in `verify`."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(handle).st_size
        torn = size and os.pread(handle, 1, size - 1) != b"\n"
        data = (b"\n" if torn else b"") + line
        if os.write(handle, data) != len(data):
            raise OSError(28, "No space left on device")
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_head(handle: int) -> tuple[int, str]:
    text = os.pread(handle, 200, 0).decode("ascii", "replace").split()
    if not text:
        return 0, _FIRST
    if len(text) != 2 or not text[0].isdigit():
        raise ReleaseFailure("the head of the audit trail is broken", hint="wb audit --verify tells the last entry")
    return int(text[0]), text[1]


def _write_head(handle: int, number: int, hash_: str) -> None:
    data = f"{number} {hash_}\n".encode()
    os.pwrite(handle, data, 0)
    os.ftruncate(handle, len(data))
    os.fsync(handle)


def _entry(content: Mapping[str, Any]) -> AuditEntry:
    return AuditEntry(**{**content, "at": datetime.fromisoformat(content["at"])})


__all__ = ["Actor", "AuditCheck", "AuditEntry", "AuditTrail"]
