"""What this machine knows of a repository besides its releases: what its user trusts, practice clusters that run.

    STATE/local/REPOSITORY/trust.json      digests of what may be used, by kind, with their names and since when
                          /practice.json   where the practice clusters and their CMDB are, while somebody serves them
                          /practice.lock   held by who serves them: without it practice.json is a left-over
                          /screens.json    where one was on the screens, and bookmarks
                          /drafts.json     edits of a What-if that were not written

Light: opening a session looks here.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kcl.records import asdict, dataclass, field
from kcl.regular import open_regular
from runtimes.base.documents import load_json
from workbench.project import WorkbenchError, checkout

_LARGEST_BYTES: Final = 16_000_000


class LocalStateFailure(WorkbenchError):
    """The folder for local state cannot be used."""


class AlreadyServed(LocalStateFailure):
    """Somebody serves practice clusters for this repository already."""


@dataclass(frozen=True, slots=True)
class ServedPractice:
    """Practice clusters that run. `plugins` are settings by plugin and may hold tokens; `trusted` digests by plugin.

    `incident` and `hostnames` are an alarm to practise on. `terraform_mirrors` hold the provider to practise with,
    and `terraform_environment` says where its cloud is.
    """

    kubeconfig: str
    state_dir: str
    plugins: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    trusted: Mapping[str, str] = field(default_factory=dict)
    incident: str = ""
    hostnames: tuple[str, ...] = ()
    terraform_mirrors: tuple[str, ...] = ()
    terraform_environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trusted:
    """Something that the user trusts: `digest` says exactly what, `name` is for people, `about` what it is one of."""

    kind: str
    digest: str
    name: str = ""
    about: str = ""
    since: str = ""


class LocalState:
    """The local state of the repository at `root` (absolute)."""

    def __init__(self, state_dir: Path, root: Path) -> None:
        self._root = root
        self._folder = state_dir / "local" / f"{root.name}-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"

    # What its user trusts

    def trusted(self, kind: str) -> tuple[Trusted, ...]:
        """Returns what is trusted of one kind; nothing is where `problem` says why."""
        found = _entries(self._own("trust.json")[0], kind)
        return tuple(Trusted(kind, digest, *_told(each)) for digest, each in found.items())

    def problem(self) -> str:
        """Why nothing is trusted although there is a file that says so, as a clause that begins with the file."""
        return self._own("trust.json")[1]

    def _own(self, name: str) -> tuple[Mapping[str, Any], str]:
        """What a file says that only its user writes; nothing where it is not believed, and why."""
        file = self._folder / name
        if not os.path.lexists(file):
            return {}, ""
        if self._lies_in_checkout():
            return {}, f"{file} lies in the repository, which may have brought it along"
        try:
            with os.fdopen(open_regular(file, os.O_NOFOLLOW), "rb") as stream:
                if why := _why_foreign(os.fstat(stream.fileno())) or _why_foreign(self._folder.stat()):
                    return {}, f"{file} is not believed: {why}"
                content = load_json(stream.read(_LARGEST_BYTES + 1))
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror or "unknown"
            return {}, f"{file} cannot be read: {why}"
        except ValueError:
            return {}, f"{file} is damaged"
        return (content, "") if isinstance(content, dict) else ({}, f"{file} is damaged")

    def _lies_in_checkout(self) -> bool:
        return self._folder.resolve().is_relative_to(checkout(self._root).resolve())

    # What its screens are left with

    def path(self, name: str) -> Path:
        return self._folder / name

    def stored(self, name: str) -> tuple[Mapping[str, Any], str]:
        """Returns what a file of the screens says, and why it is not believed, as a clause; both empty without one."""
        return self._own(name)

    def store(self, name: str, content: Mapping[str, Any]) -> None:
        """Raises `LocalStateFailure`."""
        self._write(name, content)

    def stamp(self) -> int:
        """Returns what changes when anything is trusted, or no longer."""
        try:
            return (self._folder / "trust.json").stat().st_mtime_ns
        except OSError:
            return 0

    def trust(self, kind: str, digest: str, name: str, *, about: str = "") -> None:
        """Raises `LocalStateFailure`."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        content = self._own("trust.json")[0]
        entry = {"name": name, "about": about, "since": since}
        self._write("trust.json", {**content, kind: {**_entries(content, kind), digest: entry}})

    def revoke(self, kind: str, digest: str) -> None:
        """Trusts it no longer, and does nothing where it was not; raises `LocalStateFailure`."""
        content = self._own("trust.json")[0]
        others = {key: value for key, value in _entries(content, kind).items() if key != digest}
        self._write("trust.json", {**content, kind: others})

    # Practice clusters

    def practice(self) -> ServedPractice | None:
        """Returns the practice clusters served for this repository right now, None if nobody does."""
        path = self._folder / "practice.json"
        if not path.is_file() or not self._is_served():
            return None
        content, _ = self._own("practice.json")
        try:
            return ServedPractice(
                kubeconfig=str(content["kubeconfig"]),
                state_dir=str(content["state_dir"]),
                plugins=dict(content["plugins"]),
                trusted=dict(content["trusted"]),
                incident=str(content["incident"]),
                hostnames=tuple(content["hostnames"]),
                terraform_mirrors=tuple(content.get("terraform_mirrors", ())),
                terraform_environment=dict(content.get("terraform_environment", {})),
            )
        except (KeyError, TypeError, ValueError):
            return None

    @contextmanager
    def serve(self, practice: ServedPractice) -> Iterator[None]:
        """Makes practice clusters known while the context lasts, even if it ends by a crash; raises `AlreadyServed`."""
        self._make()
        with (self._folder / "practice.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyServed(
                    "practice clusters are served already", where=str(self._folder), hint="stop that `wb demo` first"
                ) from None
            self._write("practice.json", asdict(practice))
            try:
                yield
            finally:
                (self._folder / "practice.json").unlink(missing_ok=True)

    def _is_served(self) -> bool:
        try:
            with (self._folder / "practice.lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _make(self) -> None:
        if self._lies_in_checkout():
            raise LocalStateFailure(
                "lies in the repository, which could bring along what it is trusted with: nothing is stored there",
                where=str(self._folder),
                hint=f"set WB_STATE_DIR to a folder outside of {checkout(self._root)}",
            )
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise LocalStateFailure(
                f"cannot be made: {error.strerror}", where=str(self._folder), hint="set WB_STATE_DIR to another folder"
            ) from error

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        from kcl import whole_file

        self._make()
        try:
            whole_file.write(self._folder / name, json.dumps(content, indent=2).encode())
        except OSError as error:
            raise LocalStateFailure(f"cannot be written: {error.strerror}", where=str(self._folder / name)) from error


def _entries(content: Mapping[str, Any], kind: str) -> dict[str, Mapping[str, Any]]:
    found = content.get(kind)
    return {key: each for key, each in found.items() if isinstance(each, dict)} if isinstance(found, dict) else {}


def _told(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(entry.get("name", "")), str(entry.get("about", "")), str(entry.get("since", ""))


def _why_foreign(found: os.stat_result) -> str:
    """Why a file or folder may hold what others wrote, as a clause; empty where its user alone writes it."""
    if found.st_uid != os.geteuid():
        return f"it belongs to another user of this machine ({found.st_uid})"
    return "others may write it" if found.st_mode & 0o022 else ""
