"""The contract of a runtime that plans and applies many resources in one go: a Terraform workspace.

A `Runtime` answers for one resource at a time. Starting terraform for each would take seconds a resource and lose what
it knows of their order, so the engine asks a runtime that is a `Workspace` for all of its resources together:

    survey       one plan of everything: what is there, what an apply would make of it, what is to be deleted
    apply_all    a part of it (`only`), planned again, shown to the caller to accept, then done, told step by step

References between resources of the workspace stay as they are written (`$kusion_path.<id>.<attribute>`): the
workspace knows their order. References to anything else were replaced by their value or by `UNKNOWN` before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kcl.records import dataclass, field
from runtimes.base.errors import RuntimeFailure
from runtimes.base.paths import FieldPath
from runtimes.base.resource import Resource, ResourceId
from runtimes.base.runtime import LiveResource, Prediction


class PlannedAction(StrEnum):
    """What the workspace will do with a resource.

    `IMPORT` takes an existing one under management, and may change it then; `MOVE` knows a resource by another id.
    `FORGET` takes it out of the state and leaves it where it is.
    """

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    IMPORT = "import"
    MOVE = "move"
    FORGET = "forget"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Drifted:
    """A field that somebody changed outside: what the state had, and what is there (None where there is none)."""

    path: FieldPath
    recorded: Any = field(repr=False)
    found: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class ResourcePlan:
    """One resource of a workspace plan.

    `prediction.live` is what is there after looking (None: nothing), `prediction.after` the planned body, empty for a
    deletion. Unknown values are `UNKNOWN` in `after` and named in `prediction.unknown`; `types` gives for unknown and
    computed top attributes what they will be: string, number, bool, list, map or object. `reason` says in words why it
    is replaced or deleted. `was_recorded`: the state knew it before; with `prediction.live` None it was deleted
    outside. `import_id` is the id it is taken over by, `former` the id it had before a move.
    """

    prediction: Prediction
    action: PlannedAction
    reason: str = ""
    drift: tuple[Drifted, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict, repr=False)
    was_recorded: bool = False
    import_id: str = ""
    former: ResourceId | None = None

    @property
    def id(self) -> ResourceId:
        return self.prediction.id


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the workspace says about a plan. `id` and `path` are None and empty where it names no resource.

    An error makes the plan of its resource worthless; `message` is one line, `detail` may be several. `in_extensions`
    says that `path` is one of the resource's extensions, not of its attributes.
    """

    is_error: bool
    message: str
    detail: str = ""
    id: ResourceId | None = None
    path: FieldPath = ()
    in_extensions: bool = False


@dataclass(frozen=True, slots=True)
class ProviderUse:
    """A provider that terraform would fetch and run, and how it would be configured.

    `source` is host/namespace/name, `version` a constraint, empty for any. `pin` is what the repository's own lock file
    says of it: version and checksums, empty where it says nothing. `settings` are those of `providerMeta`, with what
    they refer to. `id` is the resource that needs it, None where only the state names it. `is_local`: it lies in a
    mirror of this machine, so that nobody is asked for it.
    """

    source: str
    version: str = ""
    pin: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    id: ResourceId | None = None
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class WorkspacePlanRequest:
    """`resources` are all that should be in the workspace: what its state has besides is to be deleted.

    `only` limits the plan to some ids, and to what they need inside the workspace; None means all, deletions included.
    `secrets` are texts never written to a file or an argument in clear. `former` are resources as they were last
    applied, where that is known: deleting one takes the provider's configuration it was made with.

    `released` are the resources that were there after the last apply, each with its id in the infrastructure, empty
    where not known: the workspace may have lost them. What it has lost and cannot find is an error, unless
    `accepts_lost`, which takes it for gone. `replaces` are to be made again although nothing else calls for it.
    `forgets` are to leave the state and stay where they are: they are not among `resources`, and the plan is of them
    alone. A copy of the state as it was is left before that is applied.
    """

    resources: tuple[Resource, ...]
    only: frozenset[ResourceId] | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    former: tuple[Resource, ...] = ()
    released: Mapping[ResourceId, str] = field(default_factory=dict)
    accepts_lost: bool = False
    replaces: frozenset[ResourceId] = frozenset()
    forgets: frozenset[ResourceId] = frozenset()


@dataclass(frozen=True, slots=True)
class WorkspacePlan:
    """`resources` hold every one of the request and every deletion, the unchanged too, in the request's order first.

    What was lost and may exist is in none: an error among `findings` counts it. `cautions` are reasons to have the plan
    confirmed with more than a yes: the workspace does not know for sure what exists.
    """

    resources: tuple[ResourcePlan, ...]
    findings: tuple[Finding, ...] = ()
    cautions: tuple[str, ...] = ()

    def get(self, id_: ResourceId) -> ResourcePlan | None:
        return next((each for each in self.resources if each.id == id_), None)


@dataclass(frozen=True, slots=True)
class ResourceStarted:
    id: ResourceId


@dataclass(frozen=True, slots=True)
class ResourceProgress:
    """Still at it, `seconds` after it started; `message` is what is known of it, if anything."""

    id: ResourceId
    seconds: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class ResourceFinished:
    """`uid` is its id in the infrastructure, empty where that is secret, not known yet, or nothing is left."""

    id: ResourceId
    seconds: float
    uid: str = ""


@dataclass(frozen=True, slots=True)
class ResourceFailed:
    id: ResourceId
    seconds: float
    error: RuntimeFailure


Report = ResourceStarted | ResourceProgress | ResourceFinished | ResourceFailed


class WorkspaceRun(Protocol):
    """An apply that was accepted and runs."""

    def __aiter__(self) -> AsyncIterator[Report]:
        """Yields reports until the apply has ended. What has no report by then was not begun."""

    async def interrupt(self, *, at_once: bool = False) -> None:
        """Asks it to stop after what it has begun. `at_once` loses what it has begun: only after a confirmation."""

    async def outcome(self) -> Mapping[ResourceId, LiveResource]:
        """Waits for the end and returns everything the state knows then, partly applied resources too."""


@runtime_checkable
class Workspace(Protocol):
    async def survey(self, request: WorkspacePlanRequest) -> WorkspacePlan:
        """Raises `RuntimeFailure` where nothing can be planned at all; what concerns resources are findings."""

    def apply_all(
        self, request: WorkspacePlanRequest, accept: Callable[[WorkspacePlan], None]
    ) -> AbstractAsyncContextManager[WorkspaceRun]:
        """Plans again, calls `accept`, which raises to refuse, and applies exactly that plan.

        Entering raises `RuntimeFailure`, or what `accept` raises, before anything is written. Leaving early interrupts
        and waits.
        """


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One resource in a state. `address` is the workspace's own name of it, `provider` a source, as host/name/type.

    `is_tainted`: it was not finished and will be replaced. `deposed` counts older objects of it that still have to go.
    `exists` is False where only these are left.
    """

    live: LiveResource
    address: str
    provider: str
    is_tainted: bool = False
    deposed: int = 0
    exists: bool = True


@dataclass(frozen=True, slots=True)
class PossiblyCreated:
    """A resource that an apply was creating when it was stopped, and that the state does not have.

    `names` are by what it could be found in the infrastructure; `since` is when its creation was begun, RFC 3339.
    """

    id: ResourceId
    names: tuple[str, ...]
    since: str


@dataclass(frozen=True, slots=True)
class StateRecord:
    """What a state has. `lineage` is empty where there is none yet; `where` says in words where it is kept.

    `unsure` are resources that it does not have and that may exist all the same. `elsewhere` says that it may be in
    another place as well, empty where that is not so.
    """

    entries: tuple[StateEntry, ...]
    lineage: str
    serial: int
    where: str
    unsure: tuple[PossiblyCreated, ...] = ()
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class StateMove:
    """A state that was moved. `was_there`: it had been before, so that only the folder was told.

    `backup` is a copy on this machine of what was moved, None where none was made.
    """

    record: StateRecord
    was_there: bool
    backup: Path | None = None


@runtime_checkable
class StateKeeper(Protocol):
    """A workspace whose record of what exists is kept somewhere, and can be looked at and moved."""

    async def record(self, request: WorkspacePlanRequest) -> StateRecord:
        """Reads the state. Raises `RuntimeFailure`, also where it has lost what it had.

        `request` is what is configured: a state elsewhere is asked for in its name.
        """

    async def move_state(self, request: WorkspacePlanRequest) -> StateMove:
        """Moves the state from where it was to where the settings say now. Raises `RuntimeFailure`.

        What is there of another lineage, or older, is not written over.
        """

    async def unlock_state(self, request: WorkspacePlanRequest, lock: str) -> None:
        """Takes away a lock that its holder left; `lock` is its id. Raises `RuntimeFailure`."""
