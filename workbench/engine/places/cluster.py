"""A cluster as a place: each resource is asked about, compared and written on its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import anyio

from kcl.records import dataclass
from runtimes.base import Address, BulkComparable, Identity, ResourceId, Runtime, RuntimeFailure
from runtimes.base.limiter import Limiter
from workbench.engine.changes import Change, Problem
from workbench.engine.ending import why_ending
from workbench.engine.errors import MovedObject, StalePlan
from workbench.engine.masking import Seal
from workbench.engine.place_kinds import CLUSTER, PlaceKind
from workbench.engine.places.cluster_steps import ClusterSteps, difference, read
from workbench.engine.places.cluster_survey import AT_ONCE, ClusterSurvey, Progress, silent
from workbench.engine.places.place import Apply, Checked, Found, PlaceSteps, PlaceSurvey, steps_of
from workbench.engine.places.surveying import Surveying
from workbench.engine.plan import Plan


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """A failure in place of the runtime becomes its problem. `progress` is told how far a survey is."""

    name: str
    runtime: Runtime | RuntimeFailure
    progress: Progress = silent

    @property
    def kind(self) -> PlaceKind:
        return CLUSTER

    @property
    def is_waited_for(self) -> bool:
        return not isinstance(self.runtime, RuntimeFailure)

    def survey(self, surveying: Surveying) -> PlaceSurvey:
        if isinstance(self.runtime, RuntimeFailure):
            return _Unanswered(Problem.of(self.name, self.runtime))
        return ClusterSurvey(surveying, self.name, self.runtime, self.progress)

    async def check(self, plan: Plan) -> Checked:
        """Reads again what the plan would change. See `Place.check`.

        A new version alone is no difference: an object's own status gives it one.
        """
        if isinstance(self.runtime, RuntimeFailure):
            raise self.runtime
        seal, runtime, limiter = Seal(plan.salt), self.runtime, Limiter(AT_ONCE)
        ending = {each.subject for each in plan.gaps if each.place == self.name}  # as the plan saw
        found: dict[Address, Identity | None] = {}
        moved: list[MovedObject] = []
        failures: list[RuntimeFailure] = []

        async def look(change: Change) -> None:
            async with limiter.slot():
                try:
                    live = await read(change, runtime)
                except RuntimeFailure as error:
                    failures.append(error)
                    return
            what = difference(change, live, seal)
            if not what and why_ending(live) and change.address.id not in ending and change.resource is not None:
                what = "is being deleted"
            if what:
                moved.append(MovedObject(change.address, what))
            else:
                found[change.address] = live.identity if live else None

        steps = tuple(steps_of(plan, self.name))
        still: Collection[ResourceId] = ()
        if isinstance(runtime, BulkComparable):
            still = await runtime.unmoved({each.address.id: each.identity for each in steps})
        found.update({each.address: each.identity for each in steps if each.address.id in still})
        async with anyio.create_task_group() as tasks:
            for change in steps:
                if change.address not in found:
                    tasks.start_soon(look, change)
        if failures:
            raise failures[0]
        if moved:
            raise StalePlan(sorted(moved, key=str), where=plan.stack)
        return CheckedCluster(self, plan, runtime, found)


@dataclass(frozen=True, slots=True)
class CheckedCluster:
    """`identities` are those to write with."""

    place: ClusterPlace
    plan: Plan
    runtime: Runtime
    identities: Mapping[Address, Identity | None]

    def steps(self, apply: Apply) -> PlaceSteps:
        return ClusterSteps(self.place.name, self.plan, self.runtime, self.identities, apply)


@dataclass(frozen=True, slots=True)
class _Unanswered:
    """The survey of a cluster that cannot be asked."""

    problem: Problem

    async def run(self, prune: bool) -> None:
        """There is nobody to ask."""

    def found(self) -> Found:
        return Found(problems=(self.problem,))
