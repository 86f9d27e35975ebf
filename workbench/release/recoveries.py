"""What recoveries did, on the local disk: STATE/recoveries/REPOSITORY/ID.jsonl, one line a change of a step's state.

The file is locked while its recovery runs: the same recovery does not run twice at the same time. Half a line at the
end, left by a crash, is passed over: it was never told to anybody.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from runtimes.base import WorkloadRef
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.engine.recovery.values import PodKey, Step, StepResult, StepState, Verb
from workbench.release.files import failure, make_folder
from workbench.release.store import repository_name

_ID = re.compile(r"[0-9a-f]{8,64}")


class RecoveryStore:
    """The recoveries of one repository on this machine."""

    def __init__(self, state_dir: Path, root: Path) -> None:
        self._folder = state_dir / "recoveries" / repository_name(root)

    def previous(self, recovery: str) -> tuple[StepResult, ...]:
        """Returns the last known state of every step that this recovery ever began; raises `ReleaseFailure`."""
        path = self._path(recovery)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise failure("cannot be read", path, error) from error
        found: dict[str, StepResult] = {}
        *lines, _torn = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                result = _decode(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise ReleaseFailure(
                    f"line {number} is not a record of a recovery",
                    where=str(path),
                    hint="without it nobody knows what was done: look at the pods, then move the file away",
                ) from None
            found[result.step.id] = result
        return tuple(found.values())

    @contextmanager
    def log(self, recovery: str) -> Iterator[RecoveryFile]:
        """Opens the record for a run; raises `Locked` while another run of the same recovery goes on."""
        path = self._path(recovery)
        make_folder(path.parent)
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise failure("cannot be written", path, error) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Locked("another run of this recovery", where=str(path)) from None
            _end_torn_line(handle)
            yield RecoveryFile(handle, path)
        finally:
            os.close(handle)

    def _path(self, recovery: str) -> Path:
        assert _ID.fullmatch(recovery), "the id of a recovery is a digest"
        return self._folder / f"{recovery}.jsonl"


class RecoveryFile:
    """See `workbench.engine.recovery.record.RecoveryLog`. Not for several threads at once."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle, self._path = handle, path

    def record(self, result: StepResult) -> None:
        line = json.dumps(_encode(result), separators=(",", ":")).encode() + b"\n"
        try:
            if os.write(self._handle, line) != len(line):
                raise ReleaseFailure("was written in part only", where=str(self._path), hint="free some space")
            os.fsync(self._handle)
        except OSError as error:
            raise failure("cannot be written", self._path, error) from error


def _end_torn_line(handle: int) -> None:
    """Cuts what a crash left of the last line."""
    size = os.fstat(handle).st_size
    data = os.pread(handle, size, 0)
    whole = data.rfind(b"\n") + 1
    if whole != size:
        os.ftruncate(handle, whole)


def _encode(result: StepResult) -> dict[str, Any]:
    content = asdict(result)
    content["started"] = result.started.isoformat() if result.started else None
    content["ended"] = result.ended.isoformat() if result.ended else None
    return content


def _decode(content: Mapping[str, Any]) -> StepResult:
    raw = content["step"]
    workload = raw["workload"]
    step = Step(
        **{
            **raw,
            "verb": Verb(raw["verb"]),
            "pods": tuple(PodKey(**each) for each in raw["pods"]),
            "hostnames": tuple(raw["hostnames"]),
            "workload": WorkloadRef(**workload) if workload else None,
        }
    )
    times = {name: datetime.fromisoformat(content[name]) if content[name] else None for name in ("started", "ended")}
    return StepResult(**{**content, **times, "step": step, "state": StepState(content["state"])})
