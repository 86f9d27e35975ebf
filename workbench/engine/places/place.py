"""The contract of a place: a cluster in which resources of a stack live, or the workspace of its Terraform resources.

Every place answers the same questions, so that whoever plans and applies needs to know of no kinds:

    kind       what holds for it and all others of its kind: which resources live here, when it deletes
    survey     what is there of a stack, and what would an apply change: reads and dry runs only
    check      is what a plan would change still as the plan saw it
    steps      of what was checked: carry out the steps of the plan that are here

What a place cannot be asked is a problem of that place, and says nothing of the others. Only what was checked can be
carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kcl.records import dataclass, field
from runtimes.base import Address, Reference, Resource, ResourceId, RuntimeFailure
from workbench.engine.changes import Change, Gap, Problem
from workbench.engine.place_kinds import PlaceKind
from workbench.engine.places.surveying import Surveying
from workbench.engine.plan import Plan
from workbench.engine.values import Filled, Value


@dataclass(slots=True)
class Found:
    """What a place answered. `cautions` are those of the warnings that call for more than a yes."""

    changes: Mapping[ResourceId, Change] = field(default_factory=dict)
    deletions: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    cautions: tuple[str, ...] = ()


class PlaceSurvey(Protocol):
    """One survey of a place."""

    async def run(self, prune: bool) -> None:
        """Asks. A place that fails has a problem afterwards; nothing is raised."""

    def found(self) -> Found:
        """Returns the answer as it may be shown. To be asked when all places have answered: what is secret may have
        been told by another one."""


class Apply(Protocol):
    """The apply that steps are part of: the order of all places, and what is told."""

    def is_stopping(self) -> bool: ...

    async def settled(self, address: Address) -> None:
        """Waits until a step has ended, whichever way."""

    def settle(self, address: Address) -> None:
        """Lets go on those who wait for the step: what it made can be read now."""

    def is_done(self, address: Address) -> bool: ...

    async def begin(self, change: Change) -> None:
        """Tells that a step began; once."""

    async def progress(self, change: Change, message: str) -> None: ...

    async def finish(self, change: Change, uid: str) -> None:
        """`uid` is what the resource has now, empty where it has none, or none that is known."""

    async def fail(self, change: Change, error: RuntimeFailure) -> None: ...

    async def skip(self, change: Change, because: Address | None) -> None: ...

    async def resolve(self, change: Change, *, waits: bool = True) -> Filled | None:
        """Puts in place what a resource refers to elsewhere; raises `RuntimeFailure`.

        Waits for what is not there yet, with a bound, or returns None then if it does not wait.
        """


class PlaceSteps(Protocol):
    """The steps of a place in one apply."""

    @property
    def fills_own_references(self) -> bool:
        """Whether the place itself reads what its resources get from each other, so that references to it stay."""

    async def run(self) -> None:
        """Carries them out, each when what it needs is done, and tells of each how it ended."""

    async def interrupt(self, *, at_once: bool) -> None:
        """Starts nothing more. `at_once` also drops what was begun, where a place can do that."""

    async def value(self, reference: Reference) -> Value:
        """Returns what a resource here has now, `UNKNOWN` where it may have it later; raises `NoSuchValue` where it
        never will, and `RuntimeFailure`."""


class Checked(Protocol):
    """A place in which everything that a plan would change is as the plan saw it."""

    @property
    def place(self) -> Place: ...

    def steps(self, apply: Apply) -> PlaceSteps: ...


class Place(Protocol):
    """A cluster or a workspace of a stack."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> PlaceKind: ...

    @property
    def is_waited_for(self) -> bool:
        """Whether it will be asked: not where it is known already that it does not answer."""

    def survey(self, surveying: Surveying) -> PlaceSurvey: ...

    async def check(self, plan: Plan) -> Checked:
        """Raises `StalePlan` if anything is not what it was, `RuntimeFailure` if it cannot be asked."""


def steps_of(plan: Plan, place: str) -> tuple[Change, ...]:
    return tuple(each for each in plan.steps() if each.address.cluster == place)


def known(resource: Resource | None) -> Resource:
    assert resource is not None, "only a deletion has no resource"
    return resource
