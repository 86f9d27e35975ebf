"""What a rollout is made of, and what is recorded of it. Times are in UTC, spans in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from kcl.records import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A component of a stack in a cluster; no component where what changes there belongs to none."""

    stack: str
    cluster: str
    component: str

    def __str__(self) -> str:
        return f"{self.stack} {self.component or '(no component)'} in {self.cluster}"


@dataclass(frozen=True, slots=True)
class Stage:
    """`max_unavailable` counts targets of the stage, over all clusters."""

    name: str
    batches: tuple[tuple[Target, ...], ...]
    max_unavailable: int
    ready_seconds: float
    needs_approval: bool
    timeout_seconds: float

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(each for batch in self.batches for each in batch)


@dataclass(frozen=True, slots=True)
class Part:
    """What a rollout began with for one stack: its last release (0 for none), and a digest of what it shall have.

    The digest is keyed with the rollout's salt: a stack that compiles to something else later is not what was begun.
    `reasons` are why a phrase had to be typed: whatever else asks for one later was not confirmed.
    """

    prior: int
    digest: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Began:
    """The intent: nothing was written to any cluster yet. `left_out` are targets that change and are in no stage.

    `homes` says for each stack where its releases are kept, and so the claim of the rollout on it: a cluster, a bucket,
    empty for the machine that began it. Nothing is said by older versions.
    """

    at: datetime
    id: str
    user: str
    host: str
    reason: str
    stages: tuple[Stage, ...]
    left_out: tuple[Target, ...]
    parts: Mapping[str, Part]
    salt: bytes = field(repr=False)
    homes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchBegan:
    """Batches count from 0 in their stage."""

    at: datetime
    stage: str
    batch: int
    user: str
    host: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A part of a batch was applied to a stack: the release that it became, and how it ended."""

    at: datetime
    stage: str
    batch: int
    stack: str
    revision: int
    outcome: str


@dataclass(frozen=True, slots=True)
class BatchReady:
    """All of a batch was applied, and everything of it is ready; `notes` say what that leaves out.

    Such as that no pod was replaced yet. Of many the first are recorded, and the last says how many there are besides.
    Older versions recorded none.
    """

    at: datetime
    stage: str
    batch: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Halted:
    """It goes no further by itself. `target` is where, as far as that is one place; `why` one sentence."""

    at: datetime
    stage: str
    batch: int
    target: Target | None
    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Whoever ran it was told to stop."""

    at: datetime
    stage: str
    batch: int


@dataclass(frozen=True, slots=True)
class Waits:
    """A stage that nobody approved yet comes next."""

    at: datetime
    stage: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody wants it otherwise: from whichever terminal, while it runs or not."""

    at: datetime
    what: Ask
    user: str
    host: str
    reason: str = ""
    stage: str = ""


class Ask(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    APPROVE = "approve"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Finished:
    """Every batch is ready, and the stacks are as configured in all that was in the rollout."""

    at: datetime


@dataclass(frozen=True, slots=True)
class RolledBack:
    """A stack has again what it had before; `revision` is the release of that."""

    at: datetime
    stack: str
    revision: int


Record = (
    Began
    | BatchBegan
    | Applied
    | BatchReady
    | Halted
    | Interrupted
    | Waits
    | Asked
    | Finished
    | RolledBack
)  # fmt: skip
