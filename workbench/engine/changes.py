"""What an apply would change, as values: a change for each resource in each cluster, with its fields.

Fields come in three classes. *Intended*: the configuration says something else than what the last release applied.
*Drift*: the configuration did not change, the live object did; `actor` says who changed it and when. *Defaulted*: the
infrastructure fills it in or follows from something else; only counted. A whole resource drifts too: `was_deleted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from kcl.records import dataclass, field, replace
from runtimes.base import (
    Address,
    Basis,
    Body,
    ClusterIdentity,
    FieldConflict,
    FieldPath,
    Identity,
    Resource,
    ResourceId,
    RuntimeFailure,
    unknown_paths,
)
from workbench.engine.events import Action
from workbench.engine.spec import Chain, Spec
from workbench.project import WorkbenchError


class Op(StrEnum):
    """`KEPT`: only the live object has it, a person put it there, and an apply leaves it alone."""

    ADD = "+"
    REMOVE = "-"
    CHANGE = "~"
    KEPT = "!"


class ChangeClass(StrEnum):
    INTENDED = "intended"
    DRIFT = "drift"
    DEFAULTED = "defaulted"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who set a live field: the field manager's name, how (Apply or Update) and when (None if not recorded).

    `when` is by a clock that was `ahead` of this machine's by so much.
    """

    manager: str
    operation: str = ""
    when: datetime | None = None
    ahead: timedelta = field(default=timedelta(), repr=False, compare=False)

    def seconds_ago(self, now: datetime) -> float | None:
        """Returns how long ago that was, `now` being this machine's time."""
        return (now + self.ahead - self.when).total_seconds() if self.when is not None else None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, or a whole list where its elements have no identity.

    `before` and `after` are plain JSON-like values, or `Masked` for secrets (`is_masked`); None with op `ADD` or
    `REMOVE` on the side that has none. `after` is `UNKNOWN`, or has it inside, where only applying decides. `source` is
    the chain of source sites, the decisive one first, empty for what no line says. `actor` is whose value would be lost
    (drift, conflict) or stays (`KEPT`). `is_conflict`: an apply that is not forced fails on it. `restarts`: pods are
    replaced because of it. `replaces`: it can't be changed in place. `recorded` is what Terraform's state had for a
    field that drifted, None where it had nothing or there is no state.
    """

    path: FieldPath
    op: Op
    class_: ChangeClass
    before: Any = None
    after: Any = None
    is_masked: bool = False
    source: Chain = ()
    actor: Actor | None = None
    is_conflict: bool = False
    restarts: bool = False
    replaces: bool = False
    recorded: Any = None

    @property
    def is_unknown(self) -> bool:
        return any(True for _ in unknown_paths(self.after))


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one resource in one cluster.

    `identity` is what the change is bound to: None where nothing is there. `resource` is what will be applied, labels
    of ownership included, secrets in clear and references as they are written; None for a deletion. `resolved` is its
    body with what is known now in place of references, and `UNKNOWN` in place of the others; None where it has none.
    `fields` hold intended ones and drift, in path order; `defaulted` counts the rest. `source` is the chain of the
    resource as a whole, `because` a sentence for deletions and replacements. `before` and `after` are whole bodies with
    secrets masked, None on the side that has none. `state` is a keyed digest of the live body: the object may get a new
    version from its own status, and is still what was looked at.

    `was_deleted`: the last release left it there, and somebody else deleted it since; `identity` is then None, or that
    of what was made under its name. `takes_away` are leaves that people put into the live object and that go with the
    apply. `other_owner` is the stack that the labels of the live object name, as
    `project/stack`, where that is another one. `basis` is how a cluster's change is known; None for deletions and what
    a workspace plans.

    For what a workspace plans: `planned` is the whole body it will have, secrets in clear, `UNKNOWN` where that is
    decided while applying; `import_id` the id an existing one is taken over by; `former` its id before a move.
    """

    address: Address
    action: Action
    identity: Identity | None = None
    resource: Resource | None = field(default=None, repr=False)
    fields: tuple[FieldChange, ...] = ()
    defaulted: int = 0
    conflicts: tuple[FieldConflict, ...] = ()
    warnings: tuple[str, ...] = ()
    source: Chain = ()
    because: str = ""
    sensitive: tuple[FieldPath, ...] = field(default=(), repr=False)
    before: Body | None = field(default=None, repr=False)
    after: Body | None = field(default=None, repr=False)
    state: str = field(default="", repr=False)
    resolved: Body | None = field(default=None, repr=False)
    planned: Body | None = field(default=None, repr=False)
    import_id: str = ""
    former: ResourceId | None = None
    was_deleted: bool = False
    other_owner: str = ""
    basis: Basis | None = None
    takes_away: frozenset[FieldPath] = field(default=frozenset(), repr=False)

    @property
    def configured(self) -> Body | None:
        """What the configuration says, with references resolved as far as they can be; None for a deletion."""
        return self.resolved if self.resolved is not None else self.resource.attributes if self.resource else None

    @property
    def restarts(self) -> bool:
        return any(each.restarts for each in self.fields)

    @property
    def drift(self) -> tuple[FieldChange, ...]:
        if self.identity is None:
            return ()  # nothing is there to have drifted: all of it is made again
        return tuple(each for each in self.fields if each.class_ is ChangeClass.DRIFT)

    @property
    def has_drifted(self) -> bool:
        """Somebody else changed a field of it, or deleted all of it."""
        return self.was_deleted or bool(self.drift)

    @property
    def intended(self) -> tuple[FieldChange, ...]:
        return tuple(each for each in self.fields if each.class_ is ChangeClass.INTENDED)

    @property
    def is_different(self) -> bool:
        """Live and configuration differ, be it only in a field that an apply would leave alone."""
        return self.action is not Action.NONE or bool(self.fields) or self.was_deleted


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be found out: a cluster that does not answer, a resource that it refuses.

    `address` is None where it concerns the whole cluster. `kind` is the class of failure (Unreachable, Rejected, ...).
    `source` is the chain of the field it speaks of, empty where it names none.
    """

    cluster: str
    kind: str
    message: str
    hint: str = ""
    address: Address | None = None
    source: Chain = ()

    @staticmethod
    def of(place: str, error: RuntimeFailure | WorkbenchError, address: Address | None = None) -> Problem:
        return Problem(place, type(error).__name__, error.message, error.hint, address)


@dataclass(frozen=True, slots=True)
class Gap:
    """Something of the stack that a diff or plan says nothing about: that all is as it should be can't be claimed.

    `exists`: it is there for certain and is left alone; else it is not known. `subject` is None where it concerns a
    whole place; `place` is empty where it concerns every cluster. `owner` is the stack, as `project/stack`, that the
    labels of the subject name instead of this one.
    """

    place: str
    message: str
    hint: str = ""
    subject: ResourceId | None = None
    exists: bool = False
    owner: str = ""

    def __str__(self) -> str:
        about = f"{self.subject}@{self.place}" if self.subject and self.place else str(self.subject or self.place)
        return f"{about}: {self.message}" if about else self.message


@dataclass(frozen=True, slots=True)
class Summary:
    """`import_`, `move` and `forget` count resources taken over, known by another id and given up."""

    create: int = 0
    update: int = 0
    replace: int = 0
    delete: int = 0
    unchanged: int = 0
    drift: int = 0
    defaulted: int = 0
    restarts: int = 0
    import_: int = 0
    move: int = 0
    forget: int = 0

    @property
    def changes(self) -> int:
        return self.create + self.update + self.replace + self.delete + self.import_ + self.move + self.forget

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Summary:
        """Counts resources by action, `drift` (fields, and resources somebody deleted), `defaulted` fields, and
        resources whose pods restart."""
        every = tuple(changes)
        actions = [each.action for each in every]
        return cls(
            create=actions.count(Action.CREATE),
            update=actions.count(Action.UPDATE),
            replace=actions.count(Action.REPLACE),
            delete=actions.count(Action.DELETE),
            unchanged=actions.count(Action.NONE),
            drift=sum(len(each.drift) + each.was_deleted for each in every),
            defaulted=sum(each.defaulted for each in every),
            restarts=sum(each.restarts for each in every),
            import_=actions.count(Action.IMPORT),
            move=actions.count(Action.MOVE),
            forget=actions.count(Action.FORGET),
        )


@dataclass(frozen=True, slots=True)
class StackDiff:
    """Configuration against live, in every place of the stack. `changes` are in the order they would be applied.

    `compared_at` is when the first place was asked: what is said here may be older than when it is read.
    `workspace` is the place of its Terraform resources, empty where it has none and had none. `release` is the revision
    it was compared with, 0 where no release of the stack can be read here. `notes` say what was left out on purpose.
    `cautions` are those of the warnings that call for more than a yes: it is not known for sure what exists.
    `identities` says which cluster each name is, for those that answered. `replaced` is what is to be
    replaced as somebody asked for it, `forgets` what is to leave Terraform's state and stay where it is.
    `left_to_others` counts fields that are not as configured and no drift, by rules of the repository; notes name them.
    """

    spec: Spec = field(repr=False)
    clusters: tuple[str, ...]
    changes: tuple[Change, ...]
    compared_at: datetime
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    workspace: str = ""
    release: int = 0
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    identities: Mapping[str, ClusterIdentity] = field(default_factory=dict)
    replaced: frozenset[Address] = frozenset()
    forgets: frozenset[ResourceId] = frozenset()
    left_to_others: int = 0

    @property
    def stack(self) -> str:
        return self.spec.stack

    @property
    def summary(self) -> Summary:
        return Summary.of(self.changes)

    @property
    def is_different(self) -> bool:
        return any(each.is_different for each in self.changes) or any(each.exists for each in self.gaps)

    @property
    def is_certain(self) -> bool:
        """Whether it could be told of everything that was asked for."""
        return not self.problems and not self.gaps

    @property
    def is_drift_certain(self) -> bool:
        """Whether all that others did is told: a place that has lost track of what exists can't tell it all."""
        return self.is_certain and not self.cautions and not any(True for _ in self.undecided())

    def different(self) -> Iterator[Change]:
        yield from (each for each in self.changes if each.is_different)

    @property
    def drift(self) -> StackDiff:
        """Only what others did: the resources that drifted, with the fields that did."""
        drifted = (replace(each, fields=each.drift) for each in self.changes if each.has_drifted)
        return replace(self, changes=tuple(drifted))

    def undecided(self) -> Iterator[Change]:
        """Yields what is new as far as can be told here, and may have been deleted: only a release could tell."""
        if not self.release:
            yield from (each for each in self.changes if each.action is Action.CREATE and not each.was_deleted)
