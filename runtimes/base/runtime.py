"""The contract between the engine and an infrastructure.

A `Runtime` speaks for one place: a cluster, or a Terraform workspace. Every verb is async, takes one frozen request
and gives one frozen result; none keeps state between calls that the caller could notice. All raise
`RuntimeFailure` (errors.py) and nothing else, and all may be cancelled at any await without leaving a half-made write
behind on our side.

    read     what is there now
    plan     what an apply would make of it, asked from the infrastructure itself, changing nothing
    apply    make it so, if it is still what the plan was made from
    delete   take it away, if it is still what the plan was made from
    watch    what becomes of it and of everything it owns
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from kcl.records import dataclass, field
from runtimes.base.errors import FieldConflict
from runtimes.base.paths import FieldPath
from runtimes.base.readiness import NO_RULES, ReadyRules
from runtimes.base.resource import Body, Resource, ResourceId
from runtimes.base.status import Health


class Identity:
    """Which object, and which state of it: what a plan is bound to. Two are equal where both say the same.

    `uid` changes when an object is deleted and made again under the same name, `version` with every write. Most are
    never asked for their version, which may take a digest of all that an object says: `version` may be what gives it.
    """

    __slots__ = ("_version", "uid")

    def __init__(self, uid: str, version: str | Callable[[], str]) -> None:
        self.uid: Final = uid
        self._version = version

    @property
    def version(self) -> str:
        if not isinstance(self._version, str):
            self._version = self._version()
        return self._version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return NotImplemented
        return self.uid == other.uid and self.version == other.version

    def __hash__(self) -> int:
        return hash((self.uid, self.version))

    def __repr__(self) -> str:
        return f"Identity(uid={self.uid!r}, version={self.version!r})"

    def __reduce__(self) -> tuple[type[Identity], tuple[str, str]]:
        return Identity, (self.uid, self.version)


@dataclass(frozen=True, slots=True)
class FieldOwner:
    """Who last set a field: manager name, how (Apply or Update) and when (None if not recorded)."""

    path: FieldPath
    manager: str
    operation: str
    when: datetime | None


@dataclass(frozen=True, slots=True)
class LiveResource:
    """A resource as the infrastructure has it.

    `body` is what is left of it once everything that no configuration may set is taken out (for Kubernetes: status,
    managedFields, uid, resourceVersion, generation, creationTimestamp). `owners` lists each owned leaf once a manager.
    `health` is there where it decides what can be done with the resource, as of one that is being deleted, or of a
    definition that is not served yet: whether anything is ready is what watching tells.
    `observed` is all of it as it was read, status included: what references to it may name. `hidden` are paths in it
    whose values are secret. `ahead` is how far the clock that its times are by was ahead of this machine's.
    """

    id: ResourceId
    identity: Identity
    body: Body = field(repr=False)
    owners: tuple[FieldOwner, ...] = field(default=(), repr=False)
    health: Health | None = None
    observed: Body = field(default_factory=dict, repr=False)
    hidden: tuple[FieldPath, ...] = field(default=(), repr=False)
    ahead: timedelta = field(default=timedelta(), repr=False, compare=False)


class Basis(StrEnum):
    """What a prediction rests on: the infrastructure's own dry run, the ownership of fields, the resource alone."""

    DRY_RUN = "dry run"
    OWNERSHIP = "ownership"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an apply would make of a resource, without having done it.

    `before` and `after` are bodies in the sense of `LiveResource.body`; `before` is None where nothing is there yet.
    `after` assumes that conflicts are overridden, so that a diff can show what forcing would do; an apply that is not
    forced fails with `Conflict` while `conflicts` is not empty. `replaces` names fields that can't be changed in
    place, so that the resource has to be deleted and recreated. `list_keys` maps the path of a list, written with
    map keys only (`("spec", "template", "spec", "containers")`), to the names of the keys that identify its elements.
    `sensitive` are paths whose values, and all below them, are never shown. `unknown` are paths decided only while
    applying. `warnings` are the infrastructure's own. `basis` says how it is known.
    """

    id: ResourceId
    live: LiveResource | None
    after: Body = field(repr=False)
    conflicts: tuple[FieldConflict, ...] = ()
    replaces: tuple[FieldPath, ...] = ()
    list_keys: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    sensitive: tuple[FieldPath, ...] = ()
    unknown: tuple[FieldPath, ...] = ()
    warnings: tuple[str, ...] = ()
    basis: Basis = Basis.DRY_RUN

    @property
    def before(self) -> Body | None:
        return self.live.body if self.live else None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    id: ResourceId


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """`new_namespaces` are namespaces that the same plan creates first: an object in one can't be dry-run yet.

    The runtime then predicts from the resource alone, and says so in `warnings`. `observed` is the whole object as it
    was read a moment ago, None to have it read. With `presumed_absent` it is not read first, as a list did not hold it:
    the answer to the dry run tells whether it is there. With `dry_run` the infrastructure is asked even where what is
    there tells that nothing would change. `taken_away` are leaves that others put into the live object and that go with
    the apply, as paths of its `owners`; one that cannot go is in `after` still.
    """

    resource: Resource
    new_namespaces: frozenset[str] = frozenset()
    observed: Body | None = field(default=None, repr=False)
    presumed_absent: bool = False
    dry_run: bool = False
    taken_away: frozenset[FieldPath] = frozenset()


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """`expected` is what the plan saw: None means that nothing was there. `Moved` is raised if that is no longer so.

    `force` takes over the fields named in the prediction's conflicts, `taken_away` is as in `PlanRequest`. A
    creation whose answer is overdue, `gives_up_after` times, is given up, so that it can be looked for and requested
    again: `Unreachable`, uncertain, is raised.
    """

    resource: Resource
    expected: Identity | None
    force: bool = False
    taken_away: frozenset[FieldPath] = frozenset()
    gives_up_after: float = math.inf


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """Absent already is success; another uid than expected raises `Moved`. Dependents are deleted in the background."""

    id: ResourceId
    expected: Identity | None


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """`ids` are the top resources; everything they own, however deep, is observed with them.

    `rules` say when some of them are ready, instead of what their kinds say.
    """

    ids: tuple[ResourceId, ...]
    rules: ReadyRules = field(default_factory=lambda: NO_RULES)


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One observed object: a top resource, something it owns, or a thing its status depends on."""

    kind: str
    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event of the infrastructure about an object (a Kubernetes Event). `when` is its last time, in UTC.

    Where there are more than are kept, the first one without a time stands for the others, and says how many.
    """

    about: ObjectRef
    warning: bool
    reason: str
    message: str
    count: int
    when: datetime | None


@dataclass(frozen=True, slots=True)
class StatusNode:
    """One object in the tree of owners with its own health and its children, oldest first.

    `details` are a few short facts for a row, such as ready counts ("2/3 ready") or restarts, in a fixed order a kind.
    `labels` are the object's, to be found by; None where it is of a kind that has none.
    """

    ref: ObjectRef
    health: Health
    details: tuple[str, ...] = ()
    created: datetime | None = None
    children: tuple[StatusNode, ...] = ()
    events: tuple[Occurrence, ...] = ()
    labels: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Blocking:
    """Why a resource is not ready: the deepest object that explains it, in one line.

    `evidence` is the event, container state or condition that decides; `log_tail` are the last lines its container
    wrote, oldest first, where there are any (may be filled in later by the watcher, as reading logs takes a request).
    """

    ref: ObjectRef
    reason: str
    message: str
    evidence: str = ""
    log_tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """Since when something is not heard, in UTC, and why. `reason` is the class of failure (Unreachable, ...)."""

    since: datetime
    reason: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of one top resource at one moment. `health` is the verdict over the whole tree.

    `lost` is None while every part of it is heard; else the rest is what was last known.
    """

    id: ResourceId
    health: Health
    tree: StatusNode | None
    blocking: Blocking | None = None
    lost: Lost | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    """Whether the place that is watched answers: no state is shown as present without one.

    `answered_at` is when it last did, in UTC, None if it never has. An answer is good for `valid_seconds`: by then the
    next `Contact` has come, or whoever should have asked is dead, too. `lost` says that it does not answer now.
    """

    answered_at: datetime | None
    lost: Lost | None = None
    valid_seconds: float = 10.0


WatchReport = Observation | Contact


@dataclass(frozen=True, slots=True)
class LogRequest:
    """`ref` is a Pod; `container` empty means all of its containers: each line then begins with the name of its own,
    where there are several. `tail_lines` are those of one container. `previous` reads those before the last restart.
    """

    ref: ObjectRef
    container: str = ""
    previous: bool = False
    tail_lines: int = 50


@dataclass(frozen=True, slots=True)
class Owned:
    """`unlisted` are kinds of which nothing is known: they may not be listed, or, where they are in `away` too, which
    says why, could not be.

    `listed` are the group and kind of those that were, where the runtime tells, and `uids` those of all that these
    lists had: what is known to be there and is in none of them shows that a list is not whole.
    """

    resources: tuple[LiveResource, ...] = ()
    unlisted: tuple[str, ...] = ()
    listed: frozenset[tuple[str, str]] = frozenset()
    uids: frozenset[str] = frozenset()
    away: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class BulkReadable(Protocol):
    """A runtime that reads many resources with few requests."""

    async def read_many(
        self, ids: Collection[ResourceId], labels: Mapping[str, str]
    ) -> Mapping[ResourceId, Body | None]:
        """Returns whole objects of these ids that carry the labels, as `LiveResource.observed` has them.

        None is what a complete list did not hold: it is not there, or is there without the labels. Nothing is said of
        those that are not in the answer: they could not be listed.
        """


@runtime_checkable
class Predicting(Protocol):
    """A runtime that needs to ask nobody about resources of which all is known, as of most that do not change."""

    def predicted(self, request: PlanRequest) -> Prediction | None:
        """Returns what `Runtime.plan` would, where `request.observed` alone tells that an apply changes nothing of it;
        None where somebody has to be asked. Raises nothing.
        """


@runtime_checkable
class BulkComparable(Protocol):
    """A runtime that tells of many resources with few requests that they are as they were seen."""

    async def unmoved(self, seen: Mapping[ResourceId, Identity | None]) -> frozenset[ResourceId]:
        """Returns those that are in the very state that was seen; for None, those that are not there.

        Nothing is said of the others: they moved, or are being deleted, or it takes a look at each of them to know.
        """


class Labelled(Protocol):
    """What carries some labels: found while `run` runs, each answer as soon as it can be given."""

    async def run(self) -> None:
        """Looks for everything; raises no `RuntimeFailure`, which the answers do."""

    async def observed(self, ids: Collection[ResourceId]) -> Mapping[ResourceId, Body | None]:
        """As `BulkReadable.read_many`."""

    async def owned(self, known: Collection[str]) -> Owned:
        """As `Runtime.owned`."""


@runtime_checkable
class Labelling(Protocol):
    """A runtime that looks once for all that carries labels, for those who compare and those who delete."""

    def labelled(self, labels: Mapping[str, str], ids: Collection[ResourceId] = ()) -> Labelled:
        """Nothing is asked before it runs. Of what these ids may be it finds first."""


@runtime_checkable
class Enumerable(Protocol):
    """A runtime that tells everything that is in a namespace, whoever made it."""

    async def contents(self, namespace: str, most: int) -> Owned | None:
        """Returns every object of every kind that is served, by id; None where there is no such namespace.

        What no other object owns is whole; of the rest that may be its metadata. Raises `TooMany` as soon as there are
        more than `most` of the former, and `RuntimeFailure` where the cluster does not answer.
        """


@runtime_checkable
class RightsReviewable(Protocol):
    """A runtime that can be asked what its user may do, without doing it."""

    async def may_delete(self, id_: ResourceId) -> str:
        """Returns why this resource may not be deleted, empty where it may; raises `RuntimeFailure` if nobody tells."""


class Runtime(Protocol):
    """See the module's docstring. `place` is the cluster's or workspace's name."""

    @property
    def place(self) -> str: ...

    async def read(self, request: ReadRequest) -> LiveResource | None:
        """Returns None if nothing is there."""

    async def plan(self, request: PlanRequest) -> Prediction: ...

    async def apply(self, request: ApplyRequest) -> LiveResource: ...

    async def delete(self, request: DeleteRequest) -> None: ...

    def watch(self, request: WatchRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchReport]]:
        """Yields the state of every id once, then each change, and again and again a `Contact`.

        Survives lost connections, and notices within seconds that nothing answers any more; ends with the context.
        """

    async def logs(self, request: LogRequest) -> tuple[str, ...]:
        """Returns the last lines, oldest first; empty where there are none or the runtime has no logs."""

    async def owned(self, labels: Mapping[str, str], known: Collection[str] = ()) -> Owned:
        """Finds every top object that carries all these labels, in any namespace: what a stack owns here.

        Objects with the uids `known` may be left out: who asks has looked at them.
        """

    async def close(self) -> None: ...
