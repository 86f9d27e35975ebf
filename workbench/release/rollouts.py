"""The rollouts of a repository on the local disk: STATE/rollouts/REPOSITORY/ID.jsonl, one line a record.

Whoever runs one locks ID.lock for as long as it does; a record is added by anybody, one at a time, so that a rollout
is paused from another terminal. Half a line at the end, left by a crash, was never reported to anybody.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runtimes.base.documents import load_json
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.engine.rollout.progress import Progress, progress
from workbench.engine.rollout.records import decode, encode
from workbench.engine.rollout.values import Began, Record
from workbench.release.files import append_line, end_torn_line, failure, make_folder
from workbench.release.store import repository_name

_ID = re.compile(r"r-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A rollout of which nobody can say where it stands."""

    id: str
    error: ReleaseFailure


class RolloutStore:
    """The rollouts of one repository that were begun on this machine."""

    def __init__(self, state_dir: Path, root: Path) -> None:
        self._folder = state_dir / "rollouts" / repository_name(root)

    def ids(self) -> tuple[str, ...]:
        """Returns them, the one that was written last first; raises `ReleaseFailure`."""
        try:
            found = [each for each in self._folder.glob("*.jsonl") if _ID.fullmatch(each.stem)]
            return tuple(each.stem for each in sorted(found, key=lambda each: -each.stat().st_mtime_ns))
        except OSError as error:
            raise failure("cannot be read", self._folder, error) from error

    def all(self) -> Iterable[Progress | Unreadable]:
        """Yields where each of them stands."""
        for each in self.ids():
            try:
                yield self.read(each)
            except ReleaseFailure as error:
                yield Unreadable(each, error)

    def read(self, id_: str) -> Progress:
        """Raises `ReleaseFailure` where there is no such rollout, or none that can be read."""
        path = self._path(id_)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            known = ", ".join(self.ids()) or "none was begun on this machine"
            raise ReleaseFailure(f"there is no rollout {id_}: {known}", hint="wb rollout list") from None
        except OSError as error:
            raise failure("cannot be read", path, error) from error
        *lines, _torn = data.split(b"\n")
        records: list[Record] = []
        for number, line in enumerate(lines, 1):
            try:
                records.append(decode(load_json(line)))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise ReleaseFailure(
                    f"line {number} is no record of a rollout",
                    where=str(path),
                    hint="releases tell what was applied (wb release list STACK); move the file away to begin anew",
                ) from None
        try:
            return progress(records)
        except ValueError as error:
            hint = "releases tell what was applied (wb release list STACK); move the file away to begin anew"
            raise ReleaseFailure(f"is not the record of one rollout: {error}", where=str(path), hint=hint) from None

    def begin(self, record: Began) -> None:
        """Writes the intent; raises `ReleaseFailure`."""
        self.add(record.id, record, is_new=True)

    def add(self, id_: str, record: Record, *, is_new: bool = False) -> None:
        """Returns once the record is on disk; raises `ReleaseFailure`."""
        path = self._path(id_)
        make_folder(path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if is_new else 0)
        line = json.dumps(encode(record), separators=(",", ":")).encode() + b"\n"
        try:
            handle = os.open(path, flags, 0o600)
        except OSError as error:
            raise failure("cannot be written", path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            end_torn_line(handle)
            append_line(handle, line, path)
        except OSError as error:
            raise failure("cannot be written", path, error) from error
        finally:
            os.close(handle)

    @contextmanager
    def running(self, id_: str) -> Iterator[None]:
        """Runs a rollout alone; raises `Locked` while another process of this machine does."""
        path = self._path(id_).with_suffix(".lock")
        make_folder(path.parent)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise failure("cannot be written", path, error) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Locked("another run of this rollout", where=id_) from None
            yield
        finally:
            os.close(handle)

    def is_running(self, id_: str) -> bool:
        """Tells whether a process of this machine runs it now."""
        try:
            with self.running(id_):
                return False
        except Locked:
            return True

    def _path(self, id_: str) -> Path:
        if not _ID.fullmatch(id_):
            raise ReleaseFailure(f"{id_!r} is no id of a rollout: they look like r-1234abcd", hint="wb rollout list")
        return self._folder / f"{id_}.jsonl"
