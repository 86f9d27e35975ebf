"""The workspace of a stack's Terraform resources as a place: all of its resources are planned and applied together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import anyio

from kcl.records import dataclass, field
from runtimes.base import (
    UNKNOWN,
    Address,
    LiveResource,
    Reference,
    ResourceId,
    ResourcePlan,
    RuntimeFailure,
    Workspace,
    WorkspacePlan,
)
from workbench.engine import values
from workbench.engine.changes import Change
from workbench.engine.errors import MovedObject, StalePlan
from workbench.engine.events import Action
from workbench.engine.masking import Seal
from workbench.engine.place_kinds import WORKSPACE, PlaceKind
from workbench.engine.places.place import Apply, Checked, Found, PlaceSteps, PlaceSurvey, steps_of
from workbench.engine.places.surveying import Surveying
from workbench.engine.places.workspace_steps import WorkspaceSteps
from workbench.engine.plan import Plan
from workbench.engine.release import in_workspace
from workbench.engine.values import Value
from workbench.engine.workspace import Clusters, Desired, Recorded, Surveyed, ask, desired, disagreement, failure, read

_NOT_PLANNED: Final = (Action.NONE, Action.DELETE, Action.FORGET)
"""What a plan approved that a fresh one need not speak of."""


@dataclass(frozen=True, slots=True)
class WorkspacePlace:
    """A failure in place of the workspace becomes its problem. `clusters` are those its resources may refer to."""

    name: str
    workspace: Workspace | RuntimeFailure
    clusters: Clusters = field(default_factory=dict)

    @property
    def kind(self) -> PlaceKind:
        return WORKSPACE

    @property
    def is_waited_for(self) -> bool:
        return not isinstance(self.workspace, RuntimeFailure)

    def survey(self, surveying: Surveying) -> PlaceSurvey:
        survey = WorkspaceSurvey(surveying, self.workspace, self.clusters)
        surveying.values[self.kind] = survey
        return survey

    async def check(self, plan: Plan) -> Checked:
        """Plans the workspace again, where the plan has to do with it. See `Place.check`."""
        if isinstance(self.workspace, RuntimeFailure):
            raise self.workspace
        if not self._is_read(plan):
            return CheckedWorkspace(self, plan, self.workspace, {})
        asked = await desired(plan.spec, self.clusters)
        only = None if plan.prune else frozenset(each.id for each in asked.resources)
        known = Recorded(plan.released, plan.accept_lost, frozenset(each.id for each in plan.replaced), plan.forgets)
        fresh = await self.workspace.survey(asked.request(plan.spec, known, only))
        if moved := self._moved(plan, fresh):
            raise StalePlan(sorted(moved, key=str), where=plan.stack)
        live = {each.id: each.prediction.live for each in fresh.resources if each.prediction.live is not None}
        return CheckedWorkspace(self, plan, self.workspace, live)

    def _is_read(self, plan: Plan) -> bool:
        """Whether applying needs to know what is here: it has steps here, or writes what refers to it."""
        if steps_of(plan, self.name):
            return True
        is_here = any(each.address.cluster == self.name for each in plan.changes)
        return is_here and any(each.resolved is not None for each in plan.steps())

    def _moved(self, plan: Plan, fresh: WorkspacePlan) -> list[MovedObject]:
        seal = Seal(plan.salt)
        approved = {each.address.id: each for each in plan.changes if each.address.cluster == self.name}
        planned = {each.id for each in fresh.resources}
        concerned = [each for each in fresh.resources if not plan.is_part or each.id in approved]
        moved = [
            MovedObject(Address(self.name, each.id), what)
            for each in concerned
            if (what := _difference(approved.get(each.id), each, seal))
        ]
        moved += [
            MovedObject(Address(self.name, each.id) if each.id else None, f"cannot be planned now: {each.message}")
            for each in fresh.findings
            if each.is_error and not (plan.is_part and each.id is not None and each.id not in approved)
        ]
        moved += [
            MovedObject(each.address, "is not planned any more")
            for each in approved.values()
            if each.address.id not in planned and each.action not in _NOT_PLANNED
        ]
        return moved


@dataclass(frozen=True, slots=True)
class CheckedWorkspace:
    """`live` is what was there when it was checked."""

    place: WorkspacePlace
    plan: Plan
    workspace: Workspace
    live: Mapping[ResourceId, LiveResource]

    def steps(self, apply: Apply) -> PlaceSteps:
        return WorkspaceSteps(self.place.name, self.plan, self.workspace, self.place.clusters, self.live, apply)


class WorkspaceSurvey:
    """One survey of a workspace, and its values for those who wait for them."""

    def __init__(self, surveying: Surveying, workspace: Workspace | RuntimeFailure, clusters: Clusters) -> None:
        self._surveying, self._workspace, self._clusters = surveying, workspace, clusters
        self._settled = anyio.Event()
        self._answer: tuple[WorkspacePlan, Desired] | None = None
        self._failure: RuntimeFailure | None = None
        self._plans: Mapping[ResourceId, ResourcePlan] = {}

    async def run(self, prune: bool) -> None:
        of = self._surveying
        known = Recorded(in_workspace(of.prior), of.accept_lost, frozenset(each.id for each in of.replaces), of.forgets)
        try:
            if isinstance(self._workspace, RuntimeFailure):
                raise self._workspace
            self._answer = await ask(self._surveying.spec, self._workspace, self._clusters, known, prune=prune)
        except RuntimeFailure as error:
            self._failure = error
        answer = self._read()
        self._plans = answer.plans
        self._surveying.secrets |= answer.secrets
        self._settled.set()

    def found(self) -> Found:
        answer = self._read()
        return Found(answer.changes, answer.deletions, answer.problems, answer.warnings, cautions=answer.cautions)

    def _read(self) -> Surveyed:
        """Returns the answer as it is shown with what is known to be secret by now."""
        if self._failure is not None:
            return Surveyed(problems=(failure(self._surveying.spec, self._failure, self._surveying.root),))
        if self._answer is None:
            return Surveyed()
        plan, asked = self._answer
        of, seals = self._surveying, self._surveying.seals
        return read(of.spec, plan, asked, screen=seals.screen, state=seals.state, prior=of.prior, root=of.root)

    async def settled(self) -> None:
        await self._settled.wait()

    def value(self, reference: Reference) -> Value:
        """Raises `NoSuchValue`. Where the workspace says nothing of a resource, everything of it is unknown."""
        plan = self._plans.get(reference.id)
        return values.of_plan(plan, reference) if plan is not None else Value(UNKNOWN)


def _difference(approved: Change | None, fresh: ResourcePlan, seal: Seal) -> str:
    if what := disagreement(approved, fresh):
        return what
    if approved is None or approved.action is Action.NONE:
        return ""
    live = fresh.prediction.live
    return "was changed" if (seal.digest(live.body) if live else "") != approved.state else ""
