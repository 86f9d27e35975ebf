"""A Terraform workspace small enough to read: a cloud and a state in memory, behind the `Workspace` contract.

It knows one type of resource, `thing`: every attribute may be said; `zone` cannot be changed in place; `id` and
`address` are given by the cloud; `password` is secret. Ids count up, so that tests can name them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio

from runtimes.base import (
    UNKNOWN,
    Contact,
    Drifted,
    FieldPath,
    Finding,
    Health,
    Identity,
    LiveResource,
    Observation,
    Owned,
    PartlyUnknown,
    PlannedAction,
    Prediction,
    Rejected,
    Report,
    Resource,
    ResourceFailed,
    ResourceFinished,
    ResourceId,
    ResourcePlan,
    ResourceProgress,
    ResourceStarted,
    RuntimeFailure,
    Status,
    TerraformId,
    Unknown,
    WatchReport,
    WatchRequest,
    WorkspacePlan,
    WorkspacePlanRequest,
    WorkspaceRun,
    followed,
    references,
    replaced,
    unknown_paths,
)
from workbench.engine.graph import found_references

COMPUTED = ("id", "address", "port")
HIDDEN = (("password",),)


def thing(name: str) -> TerraformId:
    return TerraformId("acme", "cloud", "thing", name)


@dataclass
class FakeWorkspace:
    """`cloud` is what exists, `state` what terraform knows of it. `fail` maps names to what making them raises.

    `broken` is what planning raises, `unreadable` what reading the state does.
    `requests` are all that was asked, as (verb, only), `released` what was said to be there, each time. `gate` holds an
    apply up at its first step until it is set, which an interrupt does; where the workspace `is_patient`, only one at
    once.
    """

    cloud: dict[ResourceId, dict[str, Any]] = field(default_factory=dict)
    state: dict[ResourceId, dict[str, Any]] = field(default_factory=dict)
    fail: dict[str, RuntimeFailure] = field(default_factory=dict)
    broken: RuntimeFailure | None = None
    unreadable: RuntimeFailure | None = None
    findings: list[Finding] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    released: list[dict[str, str]] = field(default_factory=list)
    requests: list[tuple[str, frozenset[str] | None]] = field(default_factory=list)
    interrupts: list[bool] = field(default_factory=list)
    secrets: frozenset[str] = frozenset()
    gate: anyio.Event | None = None
    is_patient: bool = False
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    hidden: tuple[FieldPath, ...] = HIDDEN
    before_plan: Callable[[], None] = lambda: None
    _count: int = 0

    @property
    def place(self) -> str:
        return "terraform"

    async def survey(self, request: WorkspacePlanRequest) -> WorkspacePlan:
        await anyio.lowlevel.checkpoint()
        self._ask("survey", request)
        return self._plan(request)

    @asynccontextmanager
    async def apply_all(
        self, request: WorkspacePlanRequest, accept: Callable[[WorkspacePlan], None]
    ) -> AsyncIterator[WorkspaceRun]:
        await anyio.lowlevel.checkpoint()
        self._ask("apply", request)
        plan = self._plan(request)
        accept(plan)
        yield _Run(self, plan, request)

    @asynccontextmanager
    async def watch(self, request: WatchRequest) -> AsyncIterator[AsyncIterator[WatchReport]]:
        async def reports() -> AsyncIterator[WatchReport]:
            yield Contact(self.clock(), None, 600.0)
            for id_ in request.ids:
                yield Observation(id_, Health(Status.CURRENT if id_ in self.state else Status.NOT_FOUND), None)
            await anyio.sleep_forever()

        yield reports()

    async def owned(self, labels: Mapping[str, str], known: Collection[str] = ()) -> Owned:
        await anyio.lowlevel.checkpoint()
        if self.unreadable is not None:
            raise self.unreadable
        return Owned(tuple(self._live(id_, body) for id_, body in self.state.items()))

    async def close(self) -> None:
        pass

    # Inside

    def _ask(self, verb: str, request: WorkspacePlanRequest) -> None:
        self.before_plan()
        self.requests.append((verb, None if request.only is None else frozenset(each.name for each in request.only)))
        self.secrets |= request.secrets
        self.released.append({each.name: uid for each, uid in request.released.items()})
        if self.broken is not None:
            raise self.broken

    def _plan(self, request: WorkspacePlanRequest) -> WorkspacePlan:
        plans = {each.id: each for each in self._planned(request)}
        return WorkspacePlan(tuple(plans.values()), tuple(self.findings), tuple(self.cautions))

    def _planned(self, request: WorkspacePlanRequest) -> Iterator[ResourcePlan]:
        wanted = {each.id: each for each in request.resources}
        after: dict[ResourceId, Any] = {}
        for resource in _ordered(request.resources):
            if request.only is not None and not _needed(resource.id, request, wanted):
                after[resource.id] = {**resource.attributes, **self.state.get(resource.id, {})}
                continue
            plan = self._one(resource, wanted, after)
            after[resource.id] = plan.prediction.after
            yield plan
        for id_, recorded in self.state.items():
            if id_ not in wanted and (request.only is None or id_ in request.only):
                live = self._live(id_, self.cloud.get(id_, recorded))
                yield ResourcePlan(
                    Prediction(id_, live, {}, sensitive=self.hidden), PlannedAction.DELETE, was_recorded=True
                )

    def _one(
        self, resource: Resource, wanted: Mapping[ResourceId, Resource], after: Mapping[ResourceId, Any]
    ) -> ResourcePlan:
        ids = {str(each): each for each in wanted}
        said = _as_terraform(replaced(resource.attributes, ids, lambda each: followed(after[each.id], each)[0]))
        found = self.cloud.get(resource.id)
        recorded = self.state.get(resource.id)
        types = {"id": "string", "address": "string", "port": "number"}
        if found is None or recorded is None:
            body = {**dict.fromkeys(COMPUTED, UNKNOWN), **said}
            prediction = Prediction(resource.id, None, body, sensitive=self.hidden, unknown=tuple(unknown_paths(body)))
            return ResourcePlan(prediction, PlannedAction.CREATE, types=types, was_recorded=recorded is not None)
        drift = tuple(
            Drifted((key,), recorded.get(key), found.get(key))
            for key in dict.fromkeys((*recorded, *found))
            if recorded.get(key) != found.get(key)
        )
        live = self._live(resource.id, found)
        replaces = (("zone",),) if said.get("zone") != found.get("zone") else ()
        given = dict.fromkeys(COMPUTED, UNKNOWN) if replaces else {key: found[key] for key in COMPUTED}
        body = {**given, **said}
        changed = any(body.get(key) != found.get(key) for key in dict.fromkeys((*body, *found)))
        action = PlannedAction.REPLACE if replaces else PlannedAction.UPDATE if changed else PlannedAction.NONE
        prediction = Prediction(
            resource.id, live, body, replaces=replaces, sensitive=self.hidden, unknown=tuple(unknown_paths(body))
        )
        return ResourcePlan(prediction, action, drift=drift, types=types, was_recorded=True)

    def _live(self, id_: ResourceId, body: Mapping[str, Any]) -> LiveResource:
        return LiveResource(id_, Identity(str(body.get("id")), ""), dict(body), observed=dict(body), hidden=self.hidden)

    def make(self, id_: ResourceId, body: Mapping[str, Any], old: Mapping[str, Any] | None) -> None:
        if old is None:
            self._count += 1
            given = {"id": f"t-{self._count}", "address": f"{id_.name}-{self._count}.cloud", "port": 5000 + self._count}
        else:
            given = {key: old[key] for key in COMPUTED}
        self.cloud[id_] = {**body, **given}
        self.state[id_] = dict(self.cloud[id_])


class _Run:
    def __init__(self, workspace: FakeWorkspace, plan: WorkspacePlan, request: WorkspacePlanRequest) -> None:
        self._workspace, self._plan, self._request = workspace, plan, request
        self._is_stopping = False

    async def __aiter__(self) -> AsyncIterator[Report]:
        workspace = self._workspace
        failed: set[ResourceId] = set()
        wanted = {each.id: each for each in self._request.resources}
        ids = {str(each): each for each in wanted}
        deletions = [each for each in self._plan.resources if each.action is PlannedAction.DELETE]
        for plan in [*reversed(deletions), *self._plan.resources]:
            id_ = plan.id
            if plan.action is PlannedAction.NONE or (
                plan.action is PlannedAction.DELETE and id_ not in workspace.state
            ):
                continue
            needs = {each.id for _, each in found_references(wanted[id_], ids)} if id_ in wanted else set()
            if self._is_stopping or needs & failed:
                failed.add(id_)
                continue
            yield ResourceStarted(id_)
            if workspace.gate is not None:
                await workspace.gate.wait()
            yield ResourceProgress(id_, 0.5, "at it")
            if id_.name in workspace.fail:
                failed.add(id_)
                yield ResourceFailed(id_, 1.0, workspace.fail[id_.name])
                continue
            self._do(plan, wanted, ids)
            yield ResourceFinished(id_, 1.0, str(workspace.cloud.get(id_, {}).get("id", "")))

    def _do(self, plan: ResourcePlan, wanted: Mapping[ResourceId, Resource], ids: Mapping[str, ResourceId]) -> None:
        workspace, id_ = self._workspace, plan.id
        if plan.action is PlannedAction.DELETE:
            workspace.cloud.pop(id_, None)
            del workspace.state[id_]
            return
        body = replaced(wanted[id_].attributes, ids, lambda each: followed(workspace.cloud[each.id], each)[0])
        if any(isinstance(each, Unknown) for each in body.values()):
            raise Rejected("is not known yet", subject=str(id_))
        workspace.make(id_, body, None if plan.action is not PlannedAction.UPDATE else workspace.cloud[id_])

    async def interrupt(self, *, at_once: bool = False) -> None:
        self._workspace.interrupts.append(at_once)
        self._is_stopping = True
        if self._workspace.gate is not None and (at_once or not self._workspace.is_patient):
            self._workspace.gate.set()

    async def outcome(self) -> Mapping[ResourceId, LiveResource]:
        await anyio.lowlevel.checkpoint()
        return {id_: self._workspace._live(id_, body) for id_, body in self._workspace.state.items()}


def _as_terraform(body: Any) -> Any:
    """A text of which a part is not known is not known, to Terraform."""
    match body:
        case PartlyUnknown():
            return UNKNOWN
        case Mapping():
            return {key: _as_terraform(each) for key, each in body.items()}
        case list():
            return [_as_terraform(each) for each in body]
        case _:
            return body


def _ordered(resources: tuple[Resource, ...]) -> list[Resource]:
    """What is referred to comes first."""
    by_id = {each.id: each for each in resources}
    ids = {str(each): each for each in by_id}
    done: dict[ResourceId, Resource] = {}

    def visit(resource: Resource) -> None:
        for _, each in references(resource.attributes, ids):
            visit(by_id[each.id])
        done.setdefault(resource.id, resource)

    for each in resources:
        visit(each)
    return list(done.values())


def _needed(id_: ResourceId, request: WorkspacePlanRequest, wanted: Mapping[ResourceId, Resource]) -> bool:
    """Whether an id is among those asked for, or something asked for refers to it."""
    ids = {str(each): each for each in wanted}
    todo, seen = list(request.only or ()), set[ResourceId]()
    while todo:
        each = todo.pop()
        if each in seen or each not in wanted:
            continue
        seen.add(each)
        todo += [reference.id for _, reference in found_references(wanted[each], ids)]
    return id_ in seen
