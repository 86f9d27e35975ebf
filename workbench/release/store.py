"""Release records on the local disk.

STATE/release.key                              keys the digests of secrets in records, 0600, made once
STATE/releases/REPOSITORY/checkout.json        see checkouts.py
                         /PROJECT/STACK/N.json one record a revision
                                       /N.log  what its apply did since the record was written, while it runs
                                       /lock   see lock.py
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kcl import whole_file
from kcl.records import replace
from kcl.regular import read_regular
from runtimes.base import ClusterIdentity
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import ApplyFinished, Event
from workbench.engine.masking import Seal
from workbench.engine.release import Folding, Phase, Release
from workbench.project import StackPath
from workbench.release import checkouts
from workbench.release.encoding import MOST_EVENT_BYTES, BrokenRecord, decode, decode_events, encode, encode_event
from workbench.release.files import append_line, failure, lines, make_folder, open_to_append, write_atomically
from workbench.release.lock import Lock

_RECORD = re.compile(r"([1-9]\d*)\.json")
_KEY_BYTES = 32
_ANCHORED_RELEASES = 3


class ReleaseStore:
    """The releases of one repository on this machine."""

    def __init__(self, state_dir: Path, root: Path) -> None:
        self._state_dir, self._root = state_dir, root
        self._folder = state_dir / "releases" / repository_name(root)

    def seal(self) -> Seal:
        """Returns the seal for secrets in records, making its key on first use; raises `ReleaseFailure`."""
        path = self._state_dir / "release.key"
        make_folder(self._state_dir)
        if not path.exists():
            _make_key(path)
        return Seal(_read_key(path))

    def folder(self, stack: StackPath) -> Path:
        return self._folder / _file_name(stack.project) / _file_name(stack.stack)

    def workspace_folder(self, stack: StackPath) -> Path:
        """Returns where the stack's Terraform configuration and local state are: beside the releases, kept alike."""
        own = self._folder.relative_to(self._state_dir / "releases")
        return self._state_dir / "terraform" / own / _file_name(stack.project) / _file_name(stack.stack)

    def releases(self, stack: StackPath) -> tuple[Release, ...]:
        """Returns the readable records, newest first; the first names those newer than it that are broken as warnings.

        Raises `ReleaseFailure` if the folder itself cannot be read, or if there are records and none can be read.
        """
        return tuple(self._newest_first(stack))

    def _newest_first(self, stack: StackPath) -> Iterator[Release]:
        """Yields the readable records, the first with warnings of newer ones that are not."""
        broken: list[str] = []
        has_any = False
        for revision in reversed(self.revisions(stack)):
            path = self.record_path(stack, revision)
            try:
                release = record_of(stack, path)
            except BrokenRecord as error:
                broken.append(f"release record {path} {error}: passed over")
            except OSError as error:
                broken.append(f"release record {path} cannot be read ({error.strerror}): passed over")
            else:
                yield release if has_any else replace(release, warnings=tuple(broken))
                has_any = True
        if broken and not has_any:
            raise ReleaseFailure(
                "; ".join(broken),
                where=str(self.folder(stack)),
                hint="bring back a copy, or move the files away to start again; nothing can be pruned then",
            )

    def latest(self, stack: StackPath) -> Release | None:
        """Returns the newest readable record, None if the stack was never released from here; raises as `releases`."""
        return next(self._newest_first(stack), None)

    def besides(self, stacks: Iterable[StackPath]) -> Iterator[tuple[str, Release | None]]:
        """Yields each stack released from here that is none of these, with its newest record; None where that can't be
        read."""
        own = {self.folder(each) for each in stacks}
        for folder in sorted(self._folder.glob("*/*")):
            newest = max((int(each.stem) for each in folder.glob("*.json") if _RECORD.fullmatch(each.name)), default=0)
            if folder in own or not newest:
                continue
            try:
                record = read_record(folder / f"{newest}.json")
                yield record.stack, record
            except (BrokenRecord, OSError):
                yield folder.relative_to(self._folder).as_posix(), None

    def release(self, stack: StackPath, revision: int) -> Release | None:
        """Returns one record, None where there is none; raises `ReleaseFailure` for one that cannot be read."""
        path = self.record_path(stack, revision)
        try:
            return record_of(stack, path)
        except FileNotFoundError:
            return None
        except BrokenRecord as error:
            raise ReleaseFailure(f"release {revision} can't be read: its record {error}", where=str(path)) from error
        except OSError as error:
            raise failure("cannot be read", path, error) from error

    def next_revision(self, stack: StackPath) -> int:
        """Counts broken records too: a number is never used twice."""
        return max(self.revisions(stack), default=0) + 1

    def elsewhere(self, stack: StackPath) -> tuple[checkouts.Records, ...]:
        """Returns what other checkouts on this machine have of the stack."""
        return tuple(checkouts.others(self._state_dir, self._folder.name, self.folder(stack).relative_to(self._folder)))

    def take_over(self, former: Path) -> tuple[str, ...]:
        """Gives the records of a checkout that was moved here to this one; returns the stacks. See `checkouts`."""
        if former.is_dir():
            raise ReleaseFailure(
                "that checkout is still there",
                where=str(former),
                hint="move or remove it first: its records are its own",
            )
        return checkouts.take_over(self._state_dir, repository_name(former), self._folder.name, self._root)

    def lock(
        self, stack: StackPath, *, user: str, host: str, clusters: Mapping[str, ClusterIdentity] = MappingProxyType({})
    ) -> Lock:
        checkouts.write_down(self._folder, self._root)
        return Lock.acquire(self.folder(stack), user=user, host=host, clusters=clusters)

    def journal(self, stack: StackPath, release: Release, lock: Lock) -> ReleaseJournal:
        """Writes the release as intended, before anything is applied; raises `ReleaseFailure`."""
        path = self.record_path(stack, release.revision)
        if path.exists():
            raise ReleaseFailure("there is such a release already", where=str(path), hint="plan again")
        return ReleaseJournal(path, release, lock)

    def record_path(self, stack: StackPath, revision: int) -> Path:
        return self.folder(stack) / f"{revision}.json"

    def revisions(self, stack: StackPath) -> list[int]:
        try:
            names = os.listdir(self.folder(stack))  # noqa: PTH208 - names only, thousands of them
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise failure("cannot be read", self.folder(stack), error) from error
        return sorted(int(found[1]) for each in names if (found := _RECORD.fullmatch(each)))


class ReleaseJournal:
    """Keeps one record in step with an apply. Made, it has written the intent already.

    Each event is appended to a log beside the record, one flushed line, so that an apply of a thousand steps does not
    write the whole record a thousand times. The end, and an append that failed, writes the whole and begins again.
    """

    def __init__(self, path: Path, release: Release, lock: Lock) -> None:
        self._path, self._folding, self._lock = path, Folding(release), lock
        self._log = path.with_suffix(".log")
        self._is_whole_due = False
        self._write_whole()

    @property
    def release(self) -> Release:
        """As it stands now."""
        return self._folding.release

    def note_audit(self, anchor: str) -> None:
        """Takes the newest entry of the audit trail into the record; it is written with the next whole one."""
        self._folding.note_audit(anchor)

    def record(self, event: Event) -> None:
        """See `workbench.engine.release.Journal`. Not for several threads at once."""
        if not self._folding.take(event):
            return
        # It is taken even if writing fails: the next successful write then holds it too.
        if self._is_whole_due or isinstance(event, ApplyFinished):
            self._write_whole()
        else:
            self._append(event)

    def _append(self, event: Event) -> None:
        self._lock.verify()
        try:
            handle = open_to_append(self._log)
            try:
                append_line(handle, encode_event(event), self._log)
            finally:
                os.close(handle)
        except ReleaseFailure:
            self._is_whole_due = True  # it is not in the log, so the record has to say it
            raise

    def _write_whole(self) -> None:
        self._is_whole_due = True
        self._lock.verify()
        write_atomically(self._path, encode(self.release))
        self._is_whole_due = False
        try:
            self._log.unlink(missing_ok=True)
        except OSError as error:
            raise failure("cannot be removed", self._log, error) from error


_decoded: Final = lru_cache(maxsize=2)(decode)
"""One command reads the last release of its stack more than once."""


def read_record(path: Path) -> Release:
    """Reads a record and, where its apply did not end, what its log tells beyond it; raises `BrokenRecord`."""
    release = _decoded(read_regular(path))
    if release.phase is not Phase.APPLYING:
        return release
    folding = Folding(release)
    try:
        for event in decode_events(lines(path.with_suffix(".log"), MOST_EVENT_BYTES)):
            folding.take(event)
    except FileNotFoundError:
        return release
    return folding.release


def record_of(stack: StackPath, path: Path) -> Release:
    """Reads a record as `read_record` does; one that was put into the place of another is broken."""
    release = read_record(path)
    if (release.stack, str(release.revision)) != (str(stack), path.stem):
        raise BrokenRecord(f"is of release {release.revision} of {release.stack}: somebody put it there")
    return release


def audit_anchors(state_dir: Path, host: str) -> Iterator[tuple[str, str]]:
    """Yields what the newest releases of every stack, made on this host, know of its audit trail: anchor, stack.

    Records that cannot be read are passed over: `wb release` names them.
    """
    for folder in sorted(each.parent for each in (state_dir / "releases").glob("*/*/*/1.json")):
        revisions = sorted(int(found[1]) for each in folder.iterdir() if (found := _RECORD.fullmatch(each.name)))
        for revision in revisions[-_ANCHORED_RELEASES:]:
            with suppress(BrokenRecord, OSError):
                release = read_record(folder / f"{revision}.json")
                if release.audit and release.host == host:
                    yield release.audit, f"release {revision} of {release.stack}"


def _make_key(path: Path) -> None:
    """The first of two makers wins; the other then reads that key."""
    try:
        with suppress(FileExistsError):
            whole_file.create(path, secrets.token_bytes(_KEY_BYTES))
    except OSError as error:
        raise failure("cannot be made", path, error) from error


def _read_key(path: Path) -> bytes:
    try:
        key = read_regular(path)
    except OSError as error:
        raise failure("cannot be read", path, error) from error
    if len(key) != _KEY_BYTES:
        raise ReleaseFailure("is not a key", where=str(path), hint="move it away; secrets will show as changed once")
    return key


def repository_name(root: Path) -> str:
    """Two check-outs of one repository keep apart: their stacks may go to different clusters."""
    return f"{_file_name(root.name)}-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"


def _file_name(name: str) -> str:
    """Returns a name that stays inside its folder and is unique; most names stay as they are."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", name):
        return name
    kept = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60]
    return f"{kept or 'x'}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"
