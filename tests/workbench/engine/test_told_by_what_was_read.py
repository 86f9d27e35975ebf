"""Most of a large stack does not change, which what was read tells: nobody waits for a cluster about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import anyio
import anyio.lowlevel

from runtimes.base import Basis, Body, KubernetesId, PlanRequest, Prediction, ResourceId
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.world import World, config_map, namespace
from workbench.engine.events import Action
from workbench.engine.places.cluster_survey import AT_ONCE


class Telling(FakeCluster):
    """Lists what it has; that tells what an apply would leave as it is. What it is asked it answers when it may."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.may_answer = anyio.Event()
        self.may_answer.set()
        self.asked: list[str] = []
        self.told: list[str] = []
        self.at_once = 0

    async def read_many(
        self, ids: Collection[ResourceId], labels: Mapping[str, str]
    ) -> Mapping[ResourceId, Body | None]:
        return {id_: self._live(id_, self.objects[id_]).body if id_ in self.objects else None for id_ in ids}

    def predicted(self, request: PlanRequest) -> Prediction | None:
        id_ = request.resource.id
        assert isinstance(id_, KubernetesId) and request.observed is not None
        stored = self.objects[id_]
        after, conflicts = self._applied(id_, stored, request.resource.attributes)
        if after.leaves != stored.leaves or conflicts:
            return None
        self.told.append(id_.name)
        live = self._live(id_, stored)
        return Prediction(id_, live, live.body, basis=Basis.OWNERSHIP)

    async def plan(self, request: PlanRequest) -> Prediction:
        if isinstance(request.resource.id, KubernetesId) and request.resource.id.kind == "Namespace":
            return await super().plan(request)  # the namespace comes before all others
        self.asked.append(request.resource.id.name)
        self.at_once += 1
        try:
            await self.may_answer.wait()
            return await super().plan(request)
        finally:
            self.at_once -= 1


def _bodies(value: Callable[[int], str]) -> list[dict[str, Any]]:
    return [namespace(), *(config_map(f"c{number:02}", {"at": value(number)}) for number in range(40))]


async def test_the_rest_is_told_by_what_was_read_while_the_cluster_is_asked_about_what_changes() -> None:
    cluster = Telling("hz")
    world = World({"hz": cluster})
    await world.release(*_bodies(lambda number: "1"))
    cluster.asked.clear()
    cluster.told.clear()
    cluster.may_answer = anyio.Event()

    async def answer() -> None:
        with anyio.fail_after(10):
            while len(cluster.told) < 26 or cluster.at_once < AT_ONCE:
                await anyio.lowlevel.checkpoint()
        assert cluster.at_once == AT_ONCE, "no more is asked at once"
        cluster.may_answer.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
        diff = await world.diff(*_bodies(lambda number: "2" if number % 3 == 0 else "1"))
    assert sorted(cluster.asked) == [f"c{number:02}" for number in range(0, 40, 3)]
    actions = {each.address.id.name: each.action for each in diff.changes}
    assert [name for name, action in sorted(actions.items()) if action is Action.UPDATE] == sorted(cluster.asked)
    assert len(actions) == 41 and not diff.problems
