"""What happens while a recovery runs, as values. `at` is in UTC; seconds are counted from the step's own write."""

from __future__ import annotations

from datetime import datetime

from kcl.records import dataclass
from workbench.engine.changes import Problem
from workbench.engine.recovery.values import RecoveryReport, Step


@dataclass(frozen=True, slots=True)
class RecoveryStarted:
    """Nothing was written to a cluster yet. A dry run has this event, `ClusterLost` and the last one only."""

    at: datetime
    recovery: str
    name: str
    is_dry_run: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class RecoveryStepStarted:
    """The write is about to be sent; a record of it is on disk."""

    at: datetime
    step: Step


@dataclass(frozen=True, slots=True)
class RecoveryStepDone:
    """The cluster accepted the write; the replacement is waited for."""

    at: datetime
    step: Step
    seconds: float


@dataclass(frozen=True, slots=True)
class RecoveryStepVerified:
    """`new_pod` took the place and is ready; empty for steps about workloads and nodes."""

    at: datetime
    step: Step
    seconds: float
    new_pod: str = ""


@dataclass(frozen=True, slots=True)
class RecoveryStepUnverified:
    """Written, but nothing became ready in time; `message` says what is there instead. Counts as a failure."""

    at: datetime
    step: Step
    seconds: float
    message: str


@dataclass(frozen=True, slots=True)
class RecoveryStepBlocked:
    """A disruption budget did not allow it in time. Nothing was done, and it counts as no failure."""

    at: datetime
    step: Step
    seconds: float
    message: str


@dataclass(frozen=True, slots=True)
class RecoveryStepFailed:
    """`is_uncertain`: the answer was lost, the write may have happened. Never sent again."""

    at: datetime
    step: Step
    seconds: float
    kind: str
    message: str
    hint: str = ""
    is_uncertain: bool = False


@dataclass(frozen=True, slots=True)
class RecoveryStepSkipped:
    """Not tried; `because` is one short sentence."""

    at: datetime
    step: Step
    because: str


@dataclass(frozen=True, slots=True)
class ClusterLost:
    """A cluster does not answer: no further step is started there."""

    at: datetime
    problem: Problem


@dataclass(frozen=True, slots=True)
class RecoveryStopping:
    """Nothing more is started, in any cluster; what is under way is seen to its end."""

    at: datetime
    because: str


@dataclass(frozen=True, slots=True)
class RecoveryFinished:
    """The last event."""

    at: datetime
    report: RecoveryReport


RecoveryEvent = (
    RecoveryStarted
    | RecoveryStepStarted
    | RecoveryStepDone
    | RecoveryStepVerified
    | RecoveryStepUnverified
    | RecoveryStepBlocked
    | RecoveryStepFailed
    | RecoveryStepSkipped
    | ClusterLost
    | RecoveryStopping
    | RecoveryFinished
)
