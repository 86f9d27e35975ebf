"""The ledgers of incidents on the local disk: STATE/recoveries/REPOSITORY/ID.jsonl, one line a run or a step's state.

The file is locked while a run of its incident goes on. Half a line at the end, left by a crash, is passed over: it was
never reported to anybody.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kcl.regular import read_regular
from runtimes.base.documents import load_json
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.engine.recovery.ledger import Ledger, RunBegan, decode_run, decode_step, encode_run, encode_step, merged
from workbench.engine.recovery.values import StepResult
from workbench.release.files import append_line, end_torn_line, failure, make_folder, open_to_append
from workbench.release.store import repository_name

_ID = re.compile(r"[0-9a-f]{8,64}")


class RecoveryStore:
    """The incidents of one repository on this machine."""

    def __init__(self, state_dir: Path, root: Path) -> None:
        self._folder = state_dir / "recoveries" / repository_name(root)

    def ledger(self, incident: str) -> Ledger:
        """Returns what runs of an incident did from here, empty if there were none; raises `ReleaseFailure`."""
        path = self._path(incident)
        try:
            data = read_regular(path)
        except FileNotFoundError:
            return Ledger()
        except OSError as error:
            raise failure("cannot be read", path, error) from error
        steps: dict[str, StepResult] = {}
        runs: list[RunBegan] = []
        *lines, _torn = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                content = load_json(line)
                if "run" in content:
                    runs.append(decode_run(content["run"]))
                else:
                    result = decode_step(content)
                    steps[result.step.id] = result
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ReleaseFailure(
                    f"line {number} is not a record of a recovery",
                    where=str(path),
                    hint="without it nobody knows what was done: look at the pods, then move the file away",
                ) from None
        return merged([Ledger(tuple(steps.values()), tuple(runs))])

    @contextmanager
    def log(self, incident: str) -> Iterator[RecoveryFile]:
        """Opens the ledger for a run; raises `Locked` while another run of the same incident goes on."""
        path = self._path(incident)
        make_folder(path.parent)
        handle = open_to_append(path)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Locked("another run of this incident", where=str(path)) from None
            except OSError as error:
                raise failure("cannot be locked", path, error) from error
            try:
                end_torn_line(handle)
            except OSError as error:
                raise failure("cannot be written", path, error) from error
            yield RecoveryFile(handle, path)
        finally:
            os.close(handle)

    def _path(self, incident: str) -> Path:
        assert _ID.fullmatch(incident), "the id of an incident is a digest"
        return self._folder / f"{incident}.jsonl"


class RecoveryFile:
    """The ledger of one incident while a run writes it. Not for several threads at once."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle, self._path = handle, path
        self._size = os.fstat(handle).st_size

    def begin(self, run: RunBegan) -> None:
        """Raises `ReleaseFailure`, as `record`."""
        self._append({"run": encode_run(run)})

    def record(self, result: StepResult) -> None:
        """Blocks until the state is on disk."""
        self._append(encode_step(result))

    def _append(self, content: Mapping[str, Any]) -> None:
        line = json.dumps(content, separators=(",", ":")).encode() + b"\n"
        self._refuse_taken_away()
        append_line(self._handle, line, self._path)
        self._size = os.fstat(self._handle).st_size

    def _refuse_taken_away(self) -> None:
        """Raises `ReleaseFailure` where the file is not at its place any more, or has lost what it had."""
        found = os.fstat(self._handle)
        try:
            is_there = os.path.samestat(found, self._path.stat())
        except OSError:
            is_there = False
        if not is_there or found.st_size < self._size:
            raise ReleaseFailure(
                f"was {'emptied' if is_there else 'taken away'} while a run wrote it",
                where=str(self._path),
                hint="what was done until then is in the audit trail and in the clusters' records: wb audit",
            )
