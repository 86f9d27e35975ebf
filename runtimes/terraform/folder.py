"""The working folder of a stack: what lies in it, who may read it, and who works in it at a time.

main.tf.json              all of the configuration, no secret in clear
terraform.tfstate         terraform's own, as are its backups, .terraform.lock.hcl and .terraform/
cli.tfrc                  the CLI configuration terraform is given
initialised.json          what the folder was last initialised for, and with which terraform
schemas.json              what the providers say of their resources
run.json                  the apply that runs, or the last one and what is unsure after it (record.py)
seen.json                 what the state had when it was last read whole (last_state.py)
terraform.tfstate.last    a copy of a local state, made when it was last read whole (restoring.py)
terraform.tfstate.before-forgetting-N   the state of serial N, before something of it was forgotten; the last five
errored.tfstate           what terraform could not write to its backend; .torn where that is not whole either
plan.tfplan, *.jsonl      only while in use: a saved plan holds secrets in clear
lock                      held by the workbench that works here
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kcl import whole_file
from kcl.records import dataclass
from kcl.regular import read_regular
from runtimes.base import Misconfigured, Overloaded
from runtimes.base.documents import load_json

_POLL_SECONDS = 0.05
_COPIES = 5


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path

    @property
    def configuration(self) -> Path:
        return self.path / "main.tf.json"

    @property
    def state(self) -> Path:
        """Where the local backend keeps the state; absent for other backends, and before the first apply."""
        return self.path / "terraform.tfstate"

    @property
    def rescued_state(self) -> Path:
        """Where terraform puts a state that it couldn't write to its backend."""
        return self.path / "errored.tfstate"

    @property
    def torn_rescue(self) -> Path:
        """What was there and can't be taken back, as the disk was full for it, too."""
        return self.path / "errored.tfstate.torn"

    @property
    def cli_config(self) -> Path:
        return self.path / "cli.tfrc"

    @property
    def initialised(self) -> Path:
        return self.path / "initialised.json"

    @property
    def schemas(self) -> Path:
        return self.path / "schemas.json"

    @property
    def dependency_lock(self) -> Path:
        return self.path / ".terraform.lock.hcl"

    @property
    def run(self) -> Path:
        return self.path / "run.json"

    @property
    def seen(self) -> Path:
        return self.path / "seen.json"

    @property
    def move(self) -> Path:
        """There while the state is moved to another place, and after a move that did not end."""
        return self.path / "move.json"

    @property
    def state_copy(self) -> Path:
        """A copy of a local state, as it was when it was last read whole."""
        return self.path / "terraform.tfstate.last"

    def before_forgetting(self, serial: int) -> Path:
        """Returns where the state of that serial is left, as it was before something of it was forgotten."""
        return self.path / f"terraform.tfstate.before-forgetting-{serial}"

    def remove_old_copies(self) -> None:
        """Leaves the newest ones of what `before_forgetting` names; raises OSError."""
        copies = self.path.glob("terraform.tfstate.before-forgetting-*")
        for each in sorted(copies, key=lambda one: one.stat().st_mtime_ns)[:-_COPIES]:
            each.unlink(missing_ok=True)

    @property
    def plan(self) -> Path:
        return self.path / "plan.tfplan"

    @property
    def plan_events(self) -> Path:
        return self.path / "plan.jsonl"

    @property
    def apply_events(self) -> Path:
        return self.path / "apply.jsonl"

    @property
    def errors(self) -> Path:
        """What terraform writes to stderr: little, as events hold its messages; a crash of it, for one."""
        return self.path / "errors.log"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    def prepare(self) -> None:
        """Makes the folder, or closes an existing one to others; raises `Misconfigured` where that can't be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.chmod(0o700)
        except OSError as error:
            raise Misconfigured(
                f"the working folder of Terraform {self.path} can't be used: {error.strerror}",
                hint="make it writable, or keep the workbench's state elsewhere",
            ) from None

    def write(self, path: Path, text: str) -> None:
        """Writes a file whole or not at all, readable by the user alone; leaves it untouched if it says so already."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if path.read_text(encoding="utf-8") == text:
                return
        whole_file.write(path, text.encode())

    def remove_leftovers(self) -> None:
        """Removes what a run left that may hold secrets. Only for the holder of the lock, while no terraform runs."""
        for path in (self.plan, self.plan_events, self.errors):
            path.unlink(missing_ok=True)
        whole_file.remove_unfinished(self.path)

    @asynccontextmanager
    async def held(self, place: str, doing: str, patience_seconds: float) -> AsyncIterator[None]:
        """Keeps other workbenches out; raises `Overloaded`, naming who is at work, when patience ends.

        The lock ends with its holder's process, however that ends.
        """
        file = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + patience_seconds
            while not _locked(file):
                if time.monotonic() >= deadline:
                    raise _busy(self.lock, place)
                await asyncio.sleep(_POLL_SECONDS)
            os.ftruncate(file, 0)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            os.pwrite(file, json.dumps({"pid": os.getpid(), "doing": doing, "since": since}).encode(), 0)
            yield
        finally:
            os.close(file)


def is_in_use(state: Path) -> bool:
    """Whether a terraform works on a local state: it locks the file itself, as POSIX record locks do, while it does."""
    try:
        file = os.open(state, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EACCES)
    finally:
        os.close(file)
    return False


def read_json(path: Path) -> Any:
    """Returns None for a file that is absent or that is not whole."""
    try:
        return load_json(read_regular(path))
    except (OSError, ValueError):
        return None


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _busy(lock: Path, place: str) -> Overloaded:
    who, since = "another workbench", ""
    match read_json(lock):
        case {"pid": int(pid), "doing": str(doing), "since": str(time_)}:
            who = "this workbench itself" if pid == os.getpid() else who
            since = f": process {pid}, which {doing} since {time_}"
    return Overloaded(
        f"{who} is at work on this stack's Terraform resources{since}",
        target=place,
        hint="wait until it is done, or stop it there",
    )
