"""What happens while a plan is applied and reconciled, as values: for screens, logs and the release record alike.

A recorded stream replays to the same screens, so every event carries its own time and nothing that only lives in
memory. `at` is in UTC. Times between events are in seconds.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from kcl.records import dataclass
from runtimes.base import Address


class Action(StrEnum):
    """What a step does to a resource. `REPLACE` deletes it and recreates it.

    `IMPORT` takes over what exists, `MOVE` keeps it under a new id, both changing it where the configuration differs.
    `FORGET` leaves it where it is, and manages it no more.
    """

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    IMPORT = "import"
    MOVE = "move"
    FORGET = "forget"
    NONE = "none"


class Outcome(StrEnum):
    """How an apply ended. `INTERRUPTED` leaves a release that the next plan continues.

    `UNRECORDED`: every step was done, and that could not be recorded; the next plan finds out what is there.
    """

    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNRECORDED = "unrecorded"


@dataclass(frozen=True, slots=True)
class ApplyStarted:
    """The intent is on disk; nothing was written to a cluster yet."""

    at: datetime
    plan: str
    stack: str
    revision: int
    steps: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class StepStarted:
    at: datetime
    address: Address
    action: Action


@dataclass(frozen=True, slots=True)
class StepProgress:
    """A step that takes its time, `seconds` after it started; `message` says what it waits for, where that is known."""

    at: datetime
    address: Address
    action: Action
    seconds: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class StepFinished:
    """`uid` identifies the object now there, empty after a deletion."""

    at: datetime
    address: Address
    action: Action
    seconds: float
    uid: str = ""


@dataclass(frozen=True, slots=True)
class StepFailed:
    """`kind` is the class of failure (Conflict, Rejected, Unreachable, ...), `hint` what to do, where that is known."""

    at: datetime
    address: Address
    action: Action
    seconds: float
    kind: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """Not tried: `because` names the failed step it depends on, None where the apply was stopped."""

    at: datetime
    address: Address
    action: Action
    because: Address | None


@dataclass(frozen=True, slots=True)
class RecordFailed:
    """A step was done but could not be recorded (disk full, say); no further step is started.

    `address` is None where it is the end of the apply that could not be recorded.
    """

    at: datetime
    address: Address | None
    message: str


@dataclass(frozen=True, slots=True)
class ApplyFinished:
    at: datetime
    outcome: Outcome
    revision: int
    seconds: float
    done: int
    failed: int
    skipped: int


Event = (
    ApplyStarted | StepStarted | StepProgress | StepFinished | StepFailed | StepSkipped | RecordFailed | ApplyFinished
)
