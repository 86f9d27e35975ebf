"""Rollouts over clusters in memory: what a batch may touch, and everything at which it halts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import pytest

from runtimes.base import Blocking, Health, KubernetesId, ObjectRef, ResourceId, Status, Unreachable
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.fleet import FleetRepository
from tests.workbench.session.shop import Clusters, session
from workbench.engine.errors import Locked, Refused
from workbench.engine.rollout.execute import Picture, ReadyBut, RolloutEvent, StackEvent
from workbench.engine.rollout.progress import Phase, Progress
from workbench.engine.rollout.values import Ask, BatchReady
from workbench.present.glyphs import UNICODE
from workbench.present.rollout import Shown, event_lines, progress_lines
from workbench.session import Session

CLUSTERS = ("east", "west", "north", "south")
TARGETS = int(os.environ.get("KONFIG_WORKBENCH_ROLLOUT_TARGETS", "24"))
"""1000 for the long form: a quarter of them in each cluster."""
PERCENT = "stages:\n" + "".join(
    f"  - {{name: in-{each}, stacks: ['*/*'], clusters: [{each}], batches: [1%, 5%, 25%, 100%]}}\n" for each in CLUSTERS
)


@dataclass
class World:
    """`written` are the components that got version 2, as CLUSTER/NAME, in order."""

    repository: FleetRepository
    clusters: Clusters
    opened: list[Session] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    slow: bool = False
    most_down: int = 0
    down: set[tuple[str, ResourceId]] = field(default_factory=set)
    broken: set[tuple[str, ResourceId]] = field(default_factory=set)
    """Down before anything was changed, until they are written."""

    def session(self) -> Session:
        self.opened.append(session(self.repository.root, self.clusters))
        return self.opened[-1]

    def watch_writes(self) -> None:
        """From here on a written Deployment is as its component is to be."""
        for name, cluster in self.clusters.by_name.items():
            cluster.before_write = partial(self._wrote, name, cluster)

    def _wrote(self, name: str, cluster: FakeCluster, verb: str, id_: ResourceId) -> None:
        if verb != "apply" or not isinstance(id_, KubernetesId) or id_.kind != "Deployment":
            return
        self.written.append(f"{name}/{id_.name}")
        if f"{name}/{id_.name}" in self.failing:
            pod = ObjectRef("v1", "Pod", "fleet", f"{id_.name}-x")
            cluster.become(id_, Status.FAILED, Blocking(pod, "CrashLoopBackOff", "exits with 1"), "CrashLoopBackOff")
        elif self.slow:
            self.broken.discard((name, id_))
            self.down.add((name, id_))
            self.most_down = max(self.most_down, len(self.down | self.broken))
            cluster.become(id_, Status.IN_PROGRESS)

    async def recover(self, most: int, batch: int) -> None:
        """Has what was written become ready, one by one, once as many are down as may be or a batch is written.

        What is written together is waited for together, so by then nothing more is going to be.
        """
        is_full = False
        while True:
            await anyio.sleep(0.005)
            is_full = bool(self.down) and (
                is_full or len(self.down | self.broken) >= most or len(self.written) % batch == 0
            )
            if is_full:
                name, id_ = self.down.pop()
                self.clusters[name].become(id_, Status.CURRENT)

    def versions(self, name: str) -> dict[str, str]:
        found = {}
        for id_ in self.clusters[name].objects:
            if isinstance(id_, KubernetesId) and id_.kind == "ConfigMap":
                found[id_.name] = str(self.clusters[name].body(id_)["data"]["version"])
        return found


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = await make(tmp_path, PERCENT)
    yield world
    for each in world.opened:
        await each.__aexit__(None, None, None)


async def make(folder: Path, stages: str, targets: int = TARGETS, clusters: tuple[str, ...] = CLUSTERS) -> World:
    """Returns a fleet that is applied in its first version, and says the second."""
    names = [f"app-{number:03}" for number in range(targets // len(clusters))]
    repository = FleetRepository.make(folder / "repo", names, {each: each for each in clusters}, stages)
    world = World(repository, Clusters(*clusters))
    opened = world.session()
    plan = await opened.plan(opened.select("fleet/prod"))
    async with opened.apply(plan, confirm=plan.confirmation.phrase) as events:
        async for _ in events:
            pass
    world.watch_writes()
    repository.write("2")
    return world


async def start(opened: Session) -> str:
    planned = await opened.plan_rollout()
    return await opened.begin_rollout(planned, confirm=planned.confirmation.phrase)


async def carry_out(opened: Session, id_: str) -> list[RolloutEvent]:
    async with opened.rollout(id_) as run:
        return [each async for each in run]


async def resumed(opened: Session, id_: str) -> Progress:
    await opened.ask_rollout(id_, Ask.RESUME)
    await carry_out(opened, id_)
    return await opened.rollout_progress(id_)


async def test_every_target_is_done_once_and_all_is_as_configured(world: World) -> None:
    opened = world.session()
    id_ = await start(opened)
    events = await carry_out(opened, id_)
    at = await opened.rollout_progress(id_)
    assert at.phase is Phase.FINISHED, at.halted
    assert len(world.written) == len(set(world.written)) == at.total == TARGETS
    assert [each.partition("/")[0] for each in world.written] == [
        each for each in CLUSTERS for _ in range(TARGETS // 4)
    ]
    sizes = [len(batch) for batch in at.began.stages[0].batches]
    assert sum(sizes) == TARGETS // 4 and sizes[0] == math.ceil(TARGETS / 400)
    assert len([each for each in events if isinstance(each, BatchReady)]) == sum(
        len(each.batches) for each in at.began.stages
    )
    assert (await opened.plan(opened.select("fleet/prod"))).is_as_configured


async def test_a_batch_that_is_ready_says_what_that_leaves_out(world: World) -> None:
    """Where pods are replaced when somebody deletes them, a first batch that is ready proves nothing of the change."""
    old = Health(Status.CURRENT, "OnDelete", "1 of 1 ready, 0 with the present template", is_qualified=True)
    opened = world.session()
    id_ = await start(opened)
    for cluster in world.clusters.by_name.values():
        for each in cluster.objects:
            if isinstance(each, KubernetesId) and each.kind == "Deployment":
                cluster.health[each] = (old, None)
    events = await carry_out(opened, id_)
    said = [each for each in events if isinstance(each, ReadyBut)]
    at = await opened.rollout_progress(id_)
    assert len({each.address for each in said}) == len(said) == at.total == TARGETS
    first = next(index for index, each in enumerate(events) if isinstance(each, BatchReady))
    assert isinstance(events[first - 1], ReadyBut), "it is said before the batch is called ready"
    (text,) = map(str, event_lines(said[0], at.began.stages, UNICODE))
    assert text.startswith("  fleet/prod  ! Deployment") and text.endswith(": " + old.message)
    noted = [each for notes in at.notes.values() for each in notes]
    left_out = [int(more[1]) for each in noted if (more := re.fullmatch(r"and (\d+) more", each)) is not None]
    named = len(noted) - len(left_out)
    assert named + sum(left_out) == TARGETS, "who reads the record later is told as well"
    known = await opened.find_rollout(id_)
    shown = [str(each) for each in progress_lines(Shown(known, known.progress.began.at), UNICODE)]
    assert sum(each.endswith(old.message) and each.startswith("          ! fleet/prod: ") for each in shown) == named
    assert sum(each.startswith("          ! and ") for each in shown) == len(left_out)


async def test_wherever_it_fails_it_halts_there_and_going_back_gives_all_again(tmp_path: Path) -> None:
    """Fails the first target of each batch in turn; what is touched are the batches up to there, and no more."""
    probe = await make(tmp_path / "probe", PERCENT)
    opened = probe.session()
    stages = (await opened.plan_rollout()).schedule.stages
    every = [(stage, number) for stage in stages for number in range(len(stage.batches))]
    for index, (stage, number) in enumerate(every if TARGETS >= 1000 else every[2 :: len(every) // 2]):
        world = await make(tmp_path / str(index), PERCENT)
        first = stage.batches[number][0]
        world.failing.add(f"{first.cluster}/{first.component}")
        before = {
            name: {str(id_): each.body(id_) for id_ in each.objects} for name, each in world.clusters.by_name.items()
        }
        opened = world.session()
        id_ = await start(opened)
        await carry_out(opened, id_)
        at = await opened.rollout_progress(id_)
        assert at.phase is Phase.HALTED and at.halted is not None
        assert (at.halted.stage, at.halted.batch, at.halted.target) == (stage.name, number, first)
        assert "CrashLoopBackOff" in at.halted.why
        allowed = {
            f"{target.cluster}/{target.component}"
            for each, batch in every[: every.index((stage, number)) + 1]
            for target in each.batches[batch]
        }
        assert set(world.written) <= allowed
        back = await opened.plan_rollback(opened.select("fleet/prod"))
        assert back.rolls_back_to == at.began.parts["fleet/prod"].prior, "batches of the rollout are passed over"
        async with opened.apply(back, confirm=back.confirmation.phrase) as events:
            async for _ in events:
                pass
        after = {
            name: {str(id_): each.body(id_) for id_ in each.objects} for name, each in world.clusters.by_name.items()
        }
        assert after == before


async def test_it_goes_on_after_a_failure_is_put_right_and_repeats_nothing(world: World) -> None:
    failing = f"west/{world.repository.names[0]}"
    world.failing.add(failing)
    opened = world.session()
    id_ = await start(opened)
    await carry_out(opened, id_)
    assert (await opened.rollout_progress(id_)).phase is Phase.HALTED
    done = list(world.written)
    world.failing.clear()
    name, _, component = failing.partition("/")
    world.clusters[name].become(KubernetesId("apps/v1", "Deployment", "fleet", component), Status.CURRENT)
    at = await resumed(world.session(), id_)
    assert at.phase is Phase.FINISHED, at.halted
    assert len(world.written) == len(set(world.written)) == TARGETS
    assert world.written[: len(done)] == done


async def test_no_more_are_down_than_may_be_over_all_clusters(tmp_path: Path) -> None:
    stages = "stages: [{name: all, stacks: ['*/*'], batches: [50%, 100%], max_unavailable: 3}]\n"
    world = await make(tmp_path, stages, 16, CLUSTERS)
    world.slow = True
    # one is down for another reason, in the cluster that comes last
    broken = KubernetesId("apps/v1", "Deployment", "fleet", world.repository.names[-1])
    world.clusters["south"].become(broken, Status.IN_PROGRESS)
    world.broken.add(("south", broken))
    opened = world.session()
    id_ = await start(opened)
    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(world.recover, 3, 8)
            await carry_out(opened, id_)
            tasks.cancel_scope.cancel()
    at = await opened.rollout_progress(id_)
    assert at.phase is Phase.FINISHED, at.halted
    assert world.most_down == 3


async def test_where_too_many_are_down_already_nothing_is_touched(tmp_path: Path) -> None:
    stages = "stages: [{name: all, stacks: ['*/*'], batches: [1, 100%], max_unavailable: 2}]\n"
    world = await make(tmp_path, stages, 8, CLUSTERS)
    for name in world.repository.names:
        world.clusters["south"].become(KubernetesId("apps/v1", "Deployment", "fleet", name), Status.IN_PROGRESS)
    opened = world.session()
    id_ = await start(opened)
    await carry_out(opened, id_)
    at = await opened.rollout_progress(id_)
    assert at.halted is not None and "2 of 8 targets are not available" in at.halted.why
    assert world.written == []


ONE = "stages: [{name: all, stacks: ['*/*'], batches: [1, 100%], timeout: 1s}]\n"


async def test_a_cluster_that_is_not_heard_is_not_ready(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 4, ("east",))
    opened = world.session()
    id_ = await start(opened)
    world.clusters["east"].before_write = lambda verb, id_: world.clusters["east"].fall_silent()
    await carry_out(opened, id_)
    at = await opened.rollout_progress(id_)
    assert at.halted is not None, at.phase
    assert "not ready after 1 s" in at.halted.why and "east" in at.halted.why, at.halted.why


async def test_a_cluster_that_is_away_halts_it_before_anything_is_written(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 8, ("east", "west"))
    opened = world.session()
    id_ = await start(opened)
    world.clusters["west"].fail["everything"] = Unreachable("connection refused", target="west")
    await carry_out(opened, id_)
    at = await opened.rollout_progress(id_)
    assert at.halted is not None and "west" in at.halted.why
    assert world.written == []


async def test_another_configuration_is_not_what_was_confirmed(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 4, ("east",))
    opened = world.session()
    id_ = await start(opened)
    world.repository.write("3")
    await carry_out(opened, id_)
    at = await opened.rollout_progress(id_)
    assert at.halted is not None and "something else than when the rollout began" in at.halted.why
    assert world.written == []
    world.repository.write("2")
    assert (await resumed(opened, id_)).phase is Phase.FINISHED


async def test_what_somebody_changes_after_its_batch_halts_it(tmp_path: Path) -> None:
    world = await make(tmp_path, "stages: [{name: a, stacks: ['*/*'], batches: [1, 2, 100%]}]\n", 4, ("east",))
    first, second = world.repository.names[:2]
    opened = world.session()
    id_ = await start(opened)
    edited = KubernetesId("v1", "ConfigMap", "fleet", first)

    def edit(verb: str, id_: ResourceId) -> None:
        if isinstance(id_, KubernetesId) and id_.name == second and id_.kind == "ConfigMap":
            world.clusters["east"].objects.pop(edited, None)

    world.clusters["east"].before_write = edit
    await carry_out(opened, id_)
    at = await opened.rollout_progress(id_)
    assert at.halted is not None and f"{first} in east was changed after its batch" in at.halted.why


async def test_it_is_finished_only_if_everything_is_as_configured(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 4, ("east",))
    opened = world.session()
    id_ = await start(opened)
    async with opened.rollout(id_) as run:
        async for event in run:
            if isinstance(event, BatchReady) and event.batch == 1:
                # a resource that no component of the stack has, and that the stack had before
                world.clusters["east"].objects.pop(KubernetesId("v1", "Namespace", "", "fleet"))
    at = await opened.rollout_progress(id_)
    assert at.phase is Phase.HALTED and at.halted is not None
    assert "differs now" in at.halted.why or "not as configured" in at.halted.why


async def test_what_is_deleted_goes_when_everything_else_is_ready(tmp_path: Path) -> None:
    world = await make(tmp_path, "stages: [{name: a, stacks: ['*/*'], batches: [1, 2, 100%]}]\n", 12, ("east",))
    gone = world.repository.names[0]
    world.repository.write("2", without=(gone,))
    opened = world.session()
    id_ = await start(opened)
    assert (await opened.rollout_progress(id_)).total == 11
    async with opened.rollout(id_) as run:
        async for event in run:
            if isinstance(event, BatchReady) and event.batch < 2:
                assert gone in world.versions("east")
    assert (await opened.rollout_progress(id_)).phase is Phase.FINISHED
    assert gone not in world.versions("east")


async def test_targets_in_no_stage_are_left_and_said(tmp_path: Path) -> None:
    world = await make(tmp_path, "stages: [{name: a, stacks: ['*/*'], clusters: [east]}]\n", 8, ("east", "west"))
    opened = world.session()
    planned = await opened.plan_rollout()
    assert {each.cluster for each in planned.schedule.left_out} == {"west"}
    id_ = await opened.begin_rollout(planned, confirm="yes")
    await carry_out(opened, id_)
    assert (await opened.rollout_progress(id_)).phase is Phase.FINISHED
    assert set(world.versions("west").values()) == {"1"}
    assert set(world.versions("east").values()) == {"2"}


async def test_it_stays_ready_before_it_goes_on(tmp_path: Path) -> None:
    stages = (
        "stages: [{name: a, stacks: ['*/*'], clusters: [east], ready_for: 3s, timeout: 2s},"
        " {name: b, stacks: ['*/*']}]\n"
    )
    world = await make(tmp_path, stages, 4, ("east", "west"))
    opened = world.session()
    id_ = await start(opened)
    name = KubernetesId("apps/v1", "Deployment", "fleet", world.repository.names[0])
    was_ready = False
    async with opened.rollout(id_) as run:
        async for event in run:
            was_ready = was_ready or isinstance(event, BatchReady)
            if was_ready and isinstance(event, Picture):
                # it was ready when its batch ended
                world.clusters["east"].become(name, Status.FAILED, None, "Crashed")
    at = await opened.rollout_progress(id_)
    assert at.halted is not None and at.halted.stage == "b", at.phase
    assert world.versions("west") == dict.fromkeys(world.repository.names, "1")


async def test_a_pause_lets_the_batch_end_and_one_process_carries_it_out(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 4, ("east",))
    opened, other = world.session(), world.session()
    id_ = await start(opened)
    async with opened.rollout(id_) as run:
        async for event in run:
            if isinstance(event, StackEvent) and (await opened.rollout_progress(id_)).phase is Phase.OPEN:
                await other.ask_rollout(id_, Ask.PAUSE)
                with pytest.raises(Locked):
                    async with other.rollout(id_):
                        pass
    at = await opened.rollout_progress(id_)
    assert (at.phase, len(at.ready)) == (Phase.PAUSED, 1)
    assert (await resumed(other, id_)).phase is Phase.FINISHED


async def test_stopping_it_lets_what_was_begun_end(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 4, ("east",))
    opened = world.session()
    id_ = await start(opened)
    async with opened.rollout(id_) as run:
        async for event in run:
            if isinstance(event, StackEvent):
                await run.interrupt()
    at = await opened.rollout_progress(id_)
    assert (at.phase, at.ready) == (Phase.OPEN, frozenset())
    assert (await resumed(opened, id_)).phase is Phase.FINISHED
    assert len(world.written) == len(set(world.written)) == 4


async def test_a_stage_waits_for_its_approval(tmp_path: Path) -> None:
    stages = "stages: [{name: a, stacks: ['*/*'], clusters: [east]}, {name: b, stacks: ['*/*'], approval: true}]\n"
    world = await make(tmp_path, stages, 4, ("east", "west"))
    opened = world.session()
    id_ = await start(opened)
    await carry_out(opened, id_)
    assert (await opened.rollout_progress(id_)).phase is Phase.WAITING
    assert set(world.versions("west").values()) == {"1"}
    with pytest.raises(Refused, match="stage b waits for an approval"):
        await opened.ask_rollout(id_, Ask.RESUME)
    with pytest.raises(Refused, match="no stage 'a' needs an approval"):
        await opened.ask_rollout(id_, Ask.APPROVE, stage="a")
    await opened.ask_rollout(id_, Ask.APPROVE, stage="b")
    with pytest.raises(Refused, match="approved already, by ann"):
        await opened.ask_rollout(id_, Ask.APPROVE, stage="b")
    assert (await resumed(opened, id_)).phase is Phase.FINISHED
    assert [(each.action, each.target) for each in opened.audit().entries() if each.action == "rollout approve"] == [
        ("rollout approve", "b")
    ]


async def test_two_rollouts_of_one_stack_are_refused(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 4, ("east",))
    opened = world.session()
    id_ = await start(opened)
    with pytest.raises(Refused, match=f"rollout {id_} of fleet/prod has not ended"):
        await start(opened)
    await opened.ask_rollout(id_, Ask.ABORT)
    await start(opened)


async def test_a_stack_that_no_stage_has_is_not_passed_over(tmp_path: Path) -> None:
    world = await make(tmp_path, ONE, 4, ("east",))
    other = world.repository.root / "fleet" / "dev"
    other.mkdir()
    (other / "stack.yaml").write_text("name: dev\n")
    (world.repository.root / "rollout.yaml").write_text(ONE.replace("*/*", "*/prod"))
    with pytest.raises(Refused, match="fleet/dev is in no stage"):
        await world.session().plan_rollout("fleet/dev")
    assert (await world.session().plan_rollout("fleet/*")).outside == ("fleet/dev",)
    with pytest.raises(Refused, match="fleet/dev is in no stage"):
        await world.session().plan_rollout("*/dev")
