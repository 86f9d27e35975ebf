"""A release: one attempt to make the clusters say what a Spec says, and what of it was done.

It is written before the first write to a cluster (with every object it intends to touch), after each step, and at the
end. So whatever happens in between, the next plan knows what may be there and continues. Secrets are sealed: a record
holds keyed digests in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from runtimes.base import Address, Body, ResourceId, RuntimeType
from workbench.engine.events import Action, Event


class Phase(StrEnum):
    """`APPLYING` on a release that nobody works on any more means that its process died: the next plan continues it."""

    APPLYING = "applying"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class StepState(StrEnum):
    """`INTENDED` may or may not have happened: the record was written before the cluster was asked."""

    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class ReleasedResource:
    """One resource as a release left it.

    `attributes` are what was applied, secrets sealed; `uid` is empty until the object is known. `depends_on` keeps the
    order for a later deletion.
    """

    address: Address
    type: RuntimeType
    action: Action
    state: StepState
    uid: str = ""
    attributes: Body = field(default_factory=dict, repr=False)
    depends_on: tuple[ResourceId, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """`revision` counts from 1 for each stack. `resources` are all that the stack owns after it, deleted ones left out
    once that is done. `warning` names an older, broken record that reading had to pass over."""

    stack: str
    revision: int
    phase: Phase
    plan: str
    user: str
    host: str
    started: datetime
    finished: datetime | None
    resources: Mapping[Address, ReleasedResource] = field(repr=False)
    spec_digest: str = ""
    warning: str = ""


class Journal(Protocol):
    """Where an apply writes what it does. Every method blocks until the record is safe on disk.

    Raises `ReleaseFailure` if it can't be; the executor then starts no further step.
    """

    def record(self, event: Event) -> None: ...
