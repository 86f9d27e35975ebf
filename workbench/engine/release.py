"""A release: one attempt to make the clusters say what a Spec says, and what of it was done.

It is written before the first write to a cluster (with every object it intends to touch), after each step, and at the
end. So whatever happens in between, the next plan knows what may be there and continues. Secrets are sealed: a record
holds keyed digests in their place.

Pure values: `begin` makes one from a plan, `fold` takes it one event further. Where they are kept is workbench.release.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, assert_never

from kcl.records import dataclass, field, replace
from runtimes.base import Address, Body, ClusterIdentity, ResourceId, RuntimeType, TerraformId
from workbench.engine.changes import Change
from workbench.engine.events import (
    Action,
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    RecordFailed,
    StepFailed,
    StepFinished,
    StepProgress,
    StepSkipped,
    StepStarted,
)
from workbench.engine.masking import Seal, sealed

StepEnd = StepFinished | StepFailed | StepSkipped
"""What a release takes over, and its record has."""


class Phase(StrEnum):
    """`APPLYING` on a release that nobody works on any more means that its process died: the next plan continues it."""

    APPLYING = "applying"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class StepState(StrEnum):
    """`INTENDED` may or may not have happened: the record was written before the cluster was asked.

    `KEPT` was not touched by this release and is as an earlier one, or the cluster itself, had it.
    """

    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class ReleasedResource:
    """One resource as a release left it.

    `attributes` are what it was or is to be given, secrets sealed; `former` what an earlier release gave it, None if
    there was none. `uid` is empty until the object is known. `depends_on` keeps the order for a later deletion.
    """

    address: Address
    type: RuntimeType
    action: Action
    state: StepState
    uid: str = ""
    attributes: Body = field(default_factory=dict, repr=False)
    former: Body | None = field(default=None, repr=False)
    depends_on: tuple[ResourceId, ...] = ()
    error: str = ""

    @property
    def applied(self) -> Body | None:
        """What is known to have been applied last, None where that is not known."""
        match self.state:
            case StepState.DONE | StepState.KEPT:
                return self.attributes
            case StepState.FAILED | StepState.SKIPPED:
                return self.former
            case StepState.INTENDED:
                return None

    @property
    def existed(self) -> bool:
        """Whether it is certain that it was there when its release ended: a write with an unknown end makes it unsure.

        A resource that was to be created and was not is in no release (`fold`).
        """
        match self.state:
            case StepState.DONE | StepState.KEPT | StepState.SKIPPED:
                return True
            case StepState.FAILED | StepState.INTENDED:
                return self.action in (Action.UPDATE, Action.MOVE, Action.NONE)

    def may_be(self, uid: str) -> bool:
        """Tells whether a live object is the one known here: same uid, or made by a step whose end is unknown."""
        return uid == self.uid or (not self.uid and self.state in (StepState.INTENDED, StepState.FAILED))


@dataclass(frozen=True, slots=True)
class Release:
    """`revision` counts from 1 for each stack. `resources` are all the stack owns after it, without finished deletions.

    `warnings` are what reading had to pass over, such as a newer record that is broken. `audit` is the newest entry
    that the audit trail had when the record was written (NUMBER:HASH), empty in records of older versions. `clusters`
    says which cluster each name was, as far as the record does. `salt` keys the digests in it; empty where they are
    keyed by a file of the machine that made it. `rolled_back_to` is the revision whose resources it gave the stack
    again, 0 for one that followed a configuration; `reason` is why it was made, where somebody said so. `rollout` is
    the id of the rollout that it is a batch of, empty for none. `part` says what was chosen of its plan, empty for all.
    `gaps` are what its plan could say nothing about, such as kinds that could not be listed: that all of it is as
    configured after it is not claimed. `events` are how its steps ended, in that order. Both are empty in records of
    older versions.
    """

    stack: str
    revision: int
    phase: Phase
    plan: str
    user: str
    host: str
    started: datetime
    finished: datetime | None
    resources: Mapping[Address, ReleasedResource] = field(repr=False)
    warnings: tuple[str, ...] = ()
    audit: str = ""
    clusters: Mapping[str, ClusterIdentity] = field(default_factory=dict)
    salt: bytes = field(default=b"", repr=False)
    rolled_back_to: int = 0
    reason: str = ""
    rollout: str = ""
    part: str = ""
    gaps: tuple[str, ...] = ()
    events: tuple[StepEnd, ...] = field(default=(), repr=False)

    def count(self, state: StepState) -> int:
        return sum(each.state is state for each in self.resources.values())


class Journal(Protocol):
    """Where an apply writes what it does."""

    def record(self, event: Event) -> None:
        """Blocks until the event is safe. Raises `ReleaseFailure` if it cannot be; then no further step is started."""


def begin(
    changes: tuple[Change, ...],
    prior: Release | None,
    *,
    stack: str,
    revision: int,
    plan: str,
    pruned: bool,
    user: str,
    host: str,
    now: datetime,
    seal: Seal,
    clusters: Mapping[str, ClusterIdentity] = MappingProxyType({}),
    rolled_back_to: int = 0,
    reason: str = "",
    rollout: str = "",
    part: str = "",
    gaps: tuple[str, ...] = (),
) -> Release:
    """Returns the release as it stands before the first write: with everything it intends.

    `clusters` says which cluster each name is; of those not asked, `prior` has to tell.
    """
    former = dict(prior.resources) if prior else {}
    resources = {each.address: _intended(each, former.get(each.address), seal) for each in changes}
    looked_at = {each.address.cluster for each in changes} if pruned else set()
    for address, each in former.items():
        # Where pruning looked and gives no deletion, the object is gone or no longer ours.
        if address not in resources and address.cluster not in looked_at:
            resources[address] = _carried(each)
    named = {**(prior.clusters if prior else {}), **clusters}
    used = {each.cluster for each in resources}
    kept = {name: each for name, each in named.items() if name in used or name in clusters}
    return Release(
        stack, revision, Phase.APPLYING, plan, user, host, now, None, resources, clusters=kept,
        rolled_back_to=rolled_back_to, reason=reason, rollout=rollout, part=part, gaps=gaps,
    )  # fmt: skip


class Folding:
    """A release while events come: each costs what its step does, however many the release has."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._resources, self._events = dict(release.resources), list(release.events)
        self._ended = {each.address for each in self._events}
        self._is_behind = False

    @property
    def release(self) -> Release:
        """The release after all that was taken: made when it is asked for."""
        if self._is_behind:
            self._is_behind = False
            self._release = replace(self._release, resources=dict(self._resources), events=tuple(self._events))
        return self._release

    def note_audit(self, anchor: str) -> None:
        """Takes the newest entry of the audit trail into the release."""
        self._release = replace(self._release, audit=anchor)

    def take(self, event: Event) -> bool:
        """Returns whether the event changed the release."""
        match event:
            case StepFinished() | StepFailed() | StepSkipped():
                self._end(event)
                self._is_behind = True
                return True
            case ApplyFinished(at=at, outcome=outcome):
                self._release = replace(self._release, phase=_PHASES[outcome], finished=at)
                return True
            case ApplyStarted() | StepStarted() | StepProgress() | RecordFailed():
                return False
            case _:
                assert_never(event)

    def _end(self, event: StepEnd) -> None:
        address, resources = event.address, self._resources
        if isinstance(event, StepFailed) and address in self._ended:
            # it may have been done, and then found not to be recorded
            self._events = [each for each in self._events if each.address != address]
        self._events.append(event)
        self._ended.add(address)
        match event:
            case StepFinished(action=Action.DELETE | Action.FORGET) | StepSkipped(action=Action.CREATE | Action.IMPORT):
                resources.pop(address, None)
            case StepFinished(uid=uid):
                resources[address] = replace(resources[address], state=StepState.DONE, uid=uid)
            case StepFailed(message=message):
                if address in resources:  # else it was deleted, and that is not recorded where it was
                    resources[address] = replace(resources[address], state=StepState.FAILED, error=message)
            case StepSkipped():
                resources[address] = replace(resources[address], state=StepState.SKIPPED)
            case _:
                assert_never(event)


def fold(release: Release, *events: Event) -> Release:
    """Returns the release after some events."""
    folding = Folding(release)
    for each in events:
        folding.take(each)
    return folding.release


_PHASES = {
    Outcome.SUCCEEDED: Phase.SUCCEEDED,
    Outcome.PARTIAL: Phase.PARTIAL,
    Outcome.FAILED: Phase.FAILED,
    Outcome.INTERRUPTED: Phase.INTERRUPTED,
    Outcome.UNRECORDED: Phase.INTERRUPTED,
}


def in_workspace(release: Release | None) -> Mapping[ResourceId, str]:
    """Returns the Terraform resources that a release left in existence, each with its id in the infrastructure.

    What it was to create, to replace or to delete, and did not end with, may be there or not: it is not among them.
    """
    sure = (StepState.DONE, StepState.KEPT)
    unsure = (Action.CREATE, Action.REPLACE, Action.DELETE, Action.FORGET)
    made = (Action.CREATE, Action.REPLACE)  # with an id: it was made, and the state could not be written
    return {
        address.id: each.uid
        for address, each in (release.resources.items() if release else ())
        if isinstance(address.id, TerraformId)
        and (
            each.state in sure
            or (each.former is not None and each.action not in unsure)
            or (each.state is StepState.FAILED and each.action in made and each.uid)
        )
    }


def held(release: Release | None, type_: RuntimeType) -> tuple[Address, ...]:
    """Returns where a release has resources of one type."""
    return tuple(each for each in release.resources if type_of(each.id) is type_) if release is not None else ()


def type_of(id_: ResourceId) -> RuntimeType:
    return RuntimeType.TERRAFORM if isinstance(id_, TerraformId) else RuntimeType.KUBERNETES


def _intended(change: Change, former: ReleasedResource | None, seal: Seal) -> ReleasedResource:
    known = former.applied if former else None
    uid = change.identity.uid if change.identity else ""
    state = StepState.KEPT if change.action is Action.NONE else StepState.INTENDED
    if change.resource is None:
        type_ = type_of(change.address.id)
        depends_on = former.depends_on if former else ()
        return ReleasedResource(change.address, type_, change.action, state, uid, known or {}, known, depends_on)
    attributes = sealed(change.resource.attributes, change.sensitive, seal)
    # A replacement makes an object with a uid nobody knows yet.
    uid = "" if change.action in (Action.CREATE, Action.REPLACE, Action.IMPORT) else uid
    return ReleasedResource(
        change.address,
        change.resource.type,
        change.action,
        state,
        uid,
        attributes,
        known,
        change.resource.depends_on,
    )


def _carried(each: ReleasedResource) -> ReleasedResource:
    """Carries over what an earlier release left; an unknown end stays unknown."""
    if each.state in (StepState.DONE, StepState.KEPT):
        return replace(each, action=Action.NONE, state=StepState.KEPT)
    return each
