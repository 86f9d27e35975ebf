"""The Terraform steps of an apply: as few runs of the workspace as their order allows, each accepted before it writes.

A step of the workspace that needs nothing of a cluster, however indirectly, is in the first run; one that needs a
cluster's step which itself waits for the first run is in the second, and so on. Inside a run the workspace keeps the
order. A run plans again, and only what comes out as it was approved is applied: what does not fails as `Moved`, with
all that needs it, and the rest is tried again without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import assert_never

import anyio

from runtimes.base import (
    Address,
    LiveResource,
    Moved,
    Reference,
    Report,
    Resource,
    ResourceFailed,
    ResourceFinished,
    ResourceId,
    ResourceProgress,
    ResourceStarted,
    RuntimeFailure,
    Unreachable,
    Workspace,
    WorkspacePlan,
    WorkspaceRun,
)
from workbench.engine import values
from workbench.engine.changes import Change
from workbench.engine.events import Action
from workbench.engine.places.place import Apply, steps_of
from workbench.engine.plan import Plan
from workbench.engine.values import NoSuchValue, Value
from workbench.engine.workspace import Clusters, Desired, Recorded, desired, disagreement

_AWAY = frozenset({Action.DELETE, Action.FORGET})


class Disagreed(Exception):
    """A fresh plan is not what was approved: `wrong` says of each resource how."""

    def __init__(self, wrong: Mapping[ResourceId, str]) -> None:
        super().__init__("the workspace would do something else than was approved")
        self.wrong = wrong


def runs(plan: Plan, place: str) -> tuple[tuple[Change, ...], ...]:
    """Groups the steps of the workspace into runs, first to last."""
    level: dict[Address, int] = {}
    for change in plan.steps():  # in an order in which every step comes after its needs
        own = change.address.cluster == place
        level[change.address] = max(
            (level[need] + (need.cluster == place and not own) for need in plan.needs[change.address]),
            default=0,
        )
    grouped: dict[int, list[Change]] = {}
    for change in steps_of(plan, place):
        grouped.setdefault(level[change.address], []).append(change)
    return tuple(tuple(grouped[each]) for each in sorted(grouped))


class WorkspaceSteps:
    """`known` is what the workspace has by id: what is there now, kept up to date run by run."""

    fills_own_references = True

    def __init__(
        self,
        place: str,
        plan: Plan,
        workspace: Workspace,
        clusters: Clusters,
        known: Mapping[ResourceId, LiveResource],
        apply: Apply,
    ) -> None:
        self._place = place
        self._plan, self._workspace, self._clusters, self._apply = plan, workspace, clusters, apply
        self.known = dict(known)
        self._approved = {each.address.id: each for each in plan.changes if each.address.cluster == place}
        self._all = {each.address.id for each in steps_of(plan, place)}
        self._resolved: dict[ResourceId, Resource] = {}
        self._secrets: frozenset[str] = frozenset()
        self._run: WorkspaceRun | None = None
        self._at_once = False

    async def value(self, reference: Reference) -> Value:
        live = self.known.get(reference.id)
        if live is None:
            raise NoSuchValue(f"{reference.id} is not there")
        return values.of_live(live, reference, self._plan.spec.rules)

    async def run(self) -> None:
        for group in runs(self._plan, self._place):
            await self._group(group)

    async def interrupt(self, *, at_once: bool) -> None:
        """Asks a run that is under way to stop; one that is still planned is asked as soon as it begins."""
        self._at_once = self._at_once or at_once
        if self._run is not None:
            await self._run.interrupt(at_once=at_once)

    async def _group(self, group: tuple[Change, ...]) -> None:
        """Runs a group: first what can be, then what refers to a value that no cluster has yet, once that appeared."""
        members = {each.address for each in group}
        ready: list[Change] = []
        late: list[Change] = []
        for change in group:
            address = change.address
            if self._apply.is_done(address):
                continue
            for need in sorted(self._plan.needs[address] - members):
                await self._apply.settled(need)
            stopped = self._stopped(change, {each.address for each in (*ready, *late)})
            if stopped is not None or self._apply.is_stopping():
                await self._apply.skip(change, stopped)
            elif not self._plan.needs[address].isdisjoint(each.address for each in late):
                late.append(change)
            else:
                await self._resolve(change, ready, late)
        await self._attempts(ready)
        for change in group:
            if change not in late:
                self._apply.settle(change.address)
        await self._attempts(await self._appeared(late))
        for change in late:
            self._apply.settle(change.address)

    async def _appeared(self, late: list[Change]) -> list[Change]:
        """Waits for the values of all at once; what has them in vain fails, and is not among those returned."""
        late = await self._without_stopped(late)
        resolved: list[Change] = []
        async with anyio.create_task_group() as tasks:
            for change in late:
                tasks.start_soon(self._resolve, change, resolved, None)
        return await self._without_stopped([each for each in late if each in resolved])

    def _stopped(self, change: Change, going: set[Address]) -> Address | None:
        needs = sorted(self._plan.needs[change.address])
        return next((each for each in needs if each not in going and not self._apply.is_done(each)), None)

    async def _resolve(self, change: Change, ready: list[Change], late: list[Change] | None) -> None:
        """Puts a change among those that are ready, or the late ones; None for these: it waits. Tells of a failure."""
        if change.resource is None:
            ready.append(change)
            return
        try:
            filled = await self._apply.resolve(change, waits=late is None)
        except RuntimeFailure as error:
            await self._apply.begin(change)
            await self._apply.fail(change, error)
            return
        if filled is not None:
            self._resolved[change.address.id] = filled.resource
            self._secrets |= filled.secrets
            ready.append(change)
        elif late is not None:
            late.append(change)

    async def _attempts(self, ready: list[Change]) -> None:
        """Applies what is ready, again without what turns out not to be as approved, until nothing is left."""
        while ready:
            try:
                await self._attempt(ready)
                return
            except Disagreed as refusal:
                wrong = {
                    each.address: refusal.wrong[each.address.id] for each in ready if each.address.id in refusal.wrong
                }
                if not wrong:
                    others = "; ".join(f"{id_} {what}" for id_, what in refusal.wrong.items())
                    wrong = {each.address: f"the workspace would do more: {others}" for each in ready}
                for change in ready:
                    if change.address in wrong:
                        error = Moved(
                            wrong[change.address],
                            target=self._place,
                            subject=str(change.address.id),
                            hint="plan again and look at what changed",
                        )
                        await self._apply.begin(change)
                        await self._apply.fail(change, error)
                ready = await self._without_stopped([each for each in ready if each.address not in wrong])
            except RuntimeFailure as error:
                for change in ready:
                    if not self._apply.is_done(change.address):
                        await self._apply.begin(change)
                        await self._apply.fail(change, error)
                return

    async def _without_stopped(self, ready: list[Change]) -> list[Change]:
        left: list[Change] = []
        for change in ready:
            stopped = self._stopped(change, {each.address for each in left})
            if stopped is None:
                left.append(change)
            else:
                await self._apply.skip(change, stopped)
        return left

    async def _attempt(self, ready: list[Change]) -> None:
        if self._apply.is_stopping():
            for change in ready:
                await self._apply.skip(change, None)
            return
        ids = frozenset(each.address.id for each in ready)
        asked = await desired(self._plan.spec, self._clusters)
        asked = Desired(
            tuple(self._resolved.get(each.id, each) for each in asked.resources),
            secrets=asked.secrets | self._secrets,
        )
        # Everything at once needs no limit, which terraform would warn of.
        is_all = ids == self._all and self._plan.prune and not self._plan.is_part
        only = None if is_all else ids
        # one that an earlier run made again stays
        replaces = frozenset(each.id for each in self._plan.replaced) & ids
        known = Recorded(self._plan.released, self._plan.accept_lost, replaces, self._plan.forgets)
        request = asked.request(self._plan.spec, known, only)
        async with self._workspace.apply_all(request, lambda plan: self._accept(plan, ready)) as run:
            self._run = run
            try:
                # What was begun ends in its own time; asking it to stop is what cancelling does.
                with anyio.CancelScope(shield=True):
                    if self._apply.is_stopping():
                        await run.interrupt(at_once=self._at_once)
                    await self._follow(run, ready)
            finally:
                self._run = None

    def _accept(self, fresh: WorkspacePlan, ready: Iterable[Change]) -> None:
        """Raises `Disagreed` unless the fresh plan does what was approved, and nothing else."""
        expected = {each.address.id: each for each in ready}
        wrong = {
            each.id: f"cannot be planned any more: {each.message}"
            for each in fresh.findings
            if each.is_error and each.id is not None
        }
        planned = {each.id for each in fresh.resources}
        for each in fresh.resources:
            approved = expected.get(each.id)
            if approved is None and (other := self._approved.get(each.id)) and other.action is Action.MOVE:
                approved = other  # a workspace moves all that is to be moved, or does nothing
            if what := disagreement(approved, each):
                wrong.setdefault(each.id, what)
        for id_, change in expected.items():
            if id_ not in planned and change.action not in _AWAY:
                wrong[id_] = "is no longer planned"
        if wrong:
            raise Disagreed(wrong)

    async def _follow(self, run: WorkspaceRun, ready: list[Change]) -> None:
        failure: RuntimeFailure | None = None
        begun: set[ResourceId] = set()
        ended: set[ResourceId] = set()
        try:
            async for report in run:
                await self._report(report, begun, ended)
        except RuntimeFailure as error:
            failure = error
        with suppress(RuntimeFailure):
            self.known = dict(await run.outcome())
        for change in ready:
            id_ = change.address.id
            if id_ in ended:
                continue
            if failure is not None:
                await self._apply.begin(change)
                await self._apply.fail(change, failure)
            elif id_ in begun:
                await self._apply.fail(change, _lost(self._place, id_))
            elif change.action in _AWAY and id_ not in self.known:
                await self._apply.begin(change)
                await self._apply.finish(change, "")
            else:
                await self._apply.skip(change, self._stopped(change, set()))

    async def _report(self, report: Report, begun: set[ResourceId], ended: set[ResourceId]) -> None:
        change = self._approved.get(report.id)
        if change is None or change.action is Action.NONE:
            return
        match report:
            case ResourceStarted():
                begun.add(report.id)
                await self._apply.begin(change)
            case ResourceProgress(message=message):
                await self._apply.progress(change, message)
            case ResourceFinished(uid=uid):
                ended.add(report.id)
                await self._apply.finish(change, uid)
            case ResourceFailed(error=error):
                ended.add(report.id)
                await self._apply.fail(change, error)
            case _:
                assert_never(report)


def _lost(place: str, id_: ResourceId) -> Unreachable:
    return Unreachable(
        "it was begun, and how it ended is not known",
        target=place,
        subject=str(id_),
        hint="plan again: what can be found out is looked for then",
        is_uncertain=True,
    )
