"""What is approved is what is applied; what goes wrong stops what depends on it and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import anyio
import pytest

from kcl.records import replace
from runtimes.base import ApplyRequest, Conflict, Forbidden, KubernetesId, LiveResource, ResourceId, Unreachable
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.world import Recorded, World, config_map, deployment, names, namespace, secret
from workbench.engine.errors import StalePlan
from workbench.engine.events import ApplyFinished, Outcome, StepFailed, StepFinished, StepStarted
from workbench.engine.execute import check, execute
from workbench.engine.release import Phase, StepState

WEB = KubernetesId("apps/v1", "Deployment", "shop", "web")
SETTINGS = KubernetesId("v1", "ConfigMap", "shop", "settings")
NAMESPACE = KubernetesId("v1", "Namespace", "", "shop")


def finished(events: Sequence[object]) -> ApplyFinished:
    last = events[-1]
    assert isinstance(last, ApplyFinished)
    return last


async def test_a_plan_is_carried_out_in_order_and_recorded() -> None:
    world = World()
    web = deployment("web", envFrom=[{"configMapRef": {"name": "settings"}}])
    events = await world.release(web, config_map("settings", {"a": "1"}), namespace())
    assert names(events) == [
        "ApplyStarted",
        "StepStarted shop",
        "StepFinished shop",
        "StepStarted settings",
        "StepFinished settings",
        "StepStarted web",
        "StepFinished web",
        "ApplyFinished",
    ]
    assert finished(events).outcome is Outcome.SUCCEEDED
    assert world.prior is not None and world.prior.phase is Phase.SUCCEEDED
    uids = {each.address.id: each.uid for each in world.prior.resources.values()}
    assert uids == {id_: stored.uid for id_, stored in world.hz.objects.items()}
    assert (await world.plan(web, config_map("settings", {"a": "1"}), namespace())).is_empty


async def test_a_failed_step_stops_its_dependents_only() -> None:
    world = World()
    world.hz.fail["apply", str(SETTINGS)] = Forbidden("may not", hint="ask for the role")
    web = deployment("web", envFrom=[{"configMapRef": {"name": "settings"}}])
    events = await world.release(namespace(), web, config_map("settings", {}), config_map("free", {}))
    failed = next(each for each in events if isinstance(each, StepFailed))
    assert (failed.kind, failed.message, failed.hint) == ("Forbidden", "may not", "ask for the role")
    assert "StepSkipped web" in names(events)
    assert "StepFinished free" in names(events)
    end = finished(events)
    assert (end.outcome, end.done, end.failed, end.skipped) == (Outcome.PARTIAL, 2, 1, 1)
    assert world.prior is not None and world.prior.phase is Phase.PARTIAL
    # the next plan does the rest
    del world.hz.fail["apply", str(SETTINGS)]
    plan = await world.plan(namespace(), web, config_map("settings", {}), config_map("free", {}))
    assert [each.address.id for each in plan.steps()] == [SETTINGS, WEB]


@pytest.mark.parametrize("what", ["changed", "gone", "made again", "came"])
async def test_a_plan_over_a_world_that_moved_is_refused_before_the_first_write(what: str) -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {"a": "1"}))
    plan = await world.plan(namespace(), config_map("settings", {"a": "2"}), config_map("new", {}))
    match what:
        case "changed":
            world.hz.edit(SETTINGS, ("data", "b"), "x")
        case "gone":
            del world.hz.objects[SETTINGS]
        case "made again":
            body = world.hz.body(SETTINGS)
            del world.hz.objects[SETTINGS]
            world.hz.put(body)
        case "came":
            world.hz.put(config_map("new", {}))
    writes = list(world.hz.calls)
    with pytest.raises(StalePlan) as stale:
        await world.apply(plan)
    expected = {
        "changed": "was changed",
        "gone": "is gone",
        "made again": "was deleted and made again",
        "came": "exists now",
    }
    assert [each.what for each in stale.value.moved] == [expected[what]]
    assert world.hz.calls == writes


async def test_an_object_whose_status_moved_is_still_what_was_planned() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {"a": "1"}))
    plan = await world.plan(namespace(), config_map("settings", {"a": "2"}))
    world.hz.touch(SETTINGS)
    times = 0

    def touch(verb: str, id_: ResourceId) -> None:
        nonlocal times
        times += 1
        if times == 1:
            world.hz.touch(SETTINGS)  # between the last look and the write, too

    world.hz.before_write = touch
    assert finished(await world.apply(plan)).outcome is Outcome.SUCCEEDED
    assert world.hz.body(SETTINGS)["data"] == {"a": "2"}


async def test_a_change_between_the_last_look_and_the_write_is_not_overwritten() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {"a": "1"}))
    plan = await world.plan(namespace(), config_map("settings", {"a": "2"}))
    world.hz.before_write = lambda verb, id_: world.hz.edit(SETTINGS, ("data", "b"), "x")
    events = await world.apply(plan)
    (failed,) = [each for each in events if isinstance(each, StepFailed)]
    assert failed.kind == "Moved"
    assert world.hz.body(SETTINGS)["data"] == {"a": "1", "b": "x"}


async def test_a_conflict_that_came_up_meanwhile_is_not_forced() -> None:
    world = World()
    world.hz.fail["apply", str(SETTINGS)] = Conflict("somebody else owns data.a")
    events = await world.release(namespace(), config_map("settings", {}))
    assert [each.kind for each in events if isinstance(each, StepFailed)] == ["Conflict"]


async def test_a_replacement_waits_until_the_old_object_is_gone() -> None:
    world = World()
    await world.release(namespace(), deployment("web"))
    other = deployment("web")
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    old = world.hz.objects[WEB].uid
    events = await world.release(namespace(), other)
    assert finished(events).outcome is Outcome.SUCCEEDED
    assert world.hz.objects[WEB].uid != old
    assert world.hz.calls[-2:] == [("delete", str(WEB)), ("apply", str(WEB))]
    assert (await world.plan(namespace(), other)).is_empty


async def test_a_full_disk_stops_the_apply_and_says_so() -> None:
    world = World()

    def fill(journal: Recorded) -> None:
        journal.fail_at = 2  # after the first step's start

    plan = await world.plan(namespace(), config_map("a", {}), config_map("b", {}))
    events = await world.apply(plan, fill)
    assert finished(events).outcome is Outcome.INTERRUPTED
    assert [name for name, _ in world.hz.calls] == ["apply"], "no step was started after that"
    assert "RecordFailed shop" in names(events)


async def test_leaving_early_lets_the_write_in_flight_finish_and_records_the_rest() -> None:
    world = World()
    plan = await world.plan(namespace(), config_map("settings", {}))
    journal = world.begin(plan)
    world.hz.gate = anyio.Event()
    checked = await check(plan, world.places())
    async with execute(plan, checked, journal, world.now) as events:
        async for event in events:
            if isinstance(event, StepStarted):
                break
        world.hz.gate.set()
    assert list(world.hz.objects) == [NAMESPACE], "the write that was under way was done, the next not begun"
    release = journal.release
    assert release.phase is Phase.INTERRUPTED
    assert {each.address.id: each.state for each in release.resources.values()} == {NAMESPACE: StepState.DONE}
    # and the next plan continues
    world.prior, world.hz.gate = release, None
    plan = await world.plan(namespace(), config_map("settings", {}))
    assert [each.address.id for each in plan.steps()] == [SETTINGS]
    assert "was not finished" in plan.notes[0]


async def test_being_cancelled_from_outside_is_no_different() -> None:
    world = World()
    plan = await world.plan(namespace(), config_map("settings", {}))
    journal = world.begin(plan)
    world.hz.gate = anyio.Event()
    checked = await check(plan, world.places())

    async def run() -> None:
        async with execute(plan, checked, journal, world.now) as events:
            async for _ in events:
                pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        while not world.hz.calls:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
        world.hz.gate.set()
    assert journal.release.phase is Phase.INTERRUPTED
    assert list(world.hz.objects) == [NAMESPACE]


async def test_a_crash_after_the_write_and_before_the_record_loses_nothing() -> None:
    world = World()
    plan = await world.plan(namespace(), config_map("settings", {}))
    journal = world.begin(plan)  # what is on disk when the process dies
    intent = journal.release
    await world.apply(plan)
    world.prior = intent
    plan = await world.plan(namespace(), config_map("settings", {}))
    assert plan.is_empty, "what was applied is seen, whatever the record says"
    plan = await world.plan(namespace())
    assert [each.address.id for each in plan.steps()] == [SETTINGS], "it is known to be ours, though not its uid"


async def test_clusters_that_are_away_stop_an_apply_before_the_first_write() -> None:
    world = World({"hz": FakeCluster("hz"), "sh": FakeCluster("sh")})
    plan = await world.plan(namespace())
    sh = world.clusters["sh"]
    assert isinstance(sh, FakeCluster)
    sh.fail["read"] = Unreachable("connection refused", target="sh")
    with pytest.raises(Unreachable):
        await world.apply(plan)
    assert world.hz.calls == []


async def test_many_steps_run_side_by_side_but_not_all_at_once() -> None:
    world = World()
    await world.release(namespace())
    gate = world.hz.gate = anyio.Event()
    running = most = 0

    def count(verb: str, id_: ResourceId) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 10:
            gate.set()

    world.hz.before_write = count
    events = await world.release(namespace(), *(config_map(f"c{n}", {}) for n in range(25)))
    started = [index for index, each in enumerate(events) if isinstance(each, StepStarted)]
    ended = [index for index, each in enumerate(events) if isinstance(each, StepFinished)]
    assert len(started) == len(ended) == 25
    assert started[9] < ended[0] < started[10], "ten at first, the eleventh once one is done"


@pytest.mark.parametrize("is_new", [True, False], ids=["create", "update"])
@pytest.mark.parametrize("was_done", [True, False], ids=["done", "not done"])
async def test_a_write_whose_answer_was_lost_is_looked_for_and_done_once(is_new: bool, was_done: bool) -> None:
    world = World()
    if not is_new:
        await world.release(namespace(), config_map("settings", {"a": "1"}))
    losing = Losing(world.hz, was_done=was_done)
    events = await world.release(namespace(), config_map("settings", {"a": "2"}))
    assert finished(events).outcome is Outcome.SUCCEEDED and losing.lost == 1
    assert world.hz.objects[SETTINGS].leaves["data", "a"] == "2"
    writes = [each for each in world.hz.calls if each == ("apply", str(SETTINGS))]
    assert len(writes) == (1 if is_new else 2), "what was done is not sent again"
    assert (await world.plan(namespace(), config_map("settings", {"a": "2"}))).is_empty


async def test_a_creation_is_given_up_twice_and_then_waited_for() -> None:
    """A webhook that takes long would end none of them else."""
    world, patience = World(), []

    async def silent(request: ApplyRequest) -> LiveResource:
        if request.resource.id == SETTINGS:
            patience.append(request.gives_up_after)
            if request.gives_up_after < math.inf:
                raise Unreachable("no answer: given up", target="hz", is_uncertain=True)
        return await apply(request)

    apply, world.hz.apply = world.hz.apply, silent  # type: ignore[method-assign]
    events = await world.release(namespace(), config_map("settings", {"a": "1"}))
    assert finished(events).outcome is Outcome.SUCCEEDED
    assert patience == [1.0, 3.0, math.inf]


async def test_a_write_whose_answer_was_lost_is_not_done_where_somebody_else_was_faster() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {"a": "1"}))
    Losing(world.hz, was_done=False, meanwhile=lambda: world.hz.edit(SETTINGS, ("data", "a"), "3", "kubectl-edit"))
    events = await world.release(namespace(), config_map("settings", {"a": "2"}))
    failed = next(each for each in events if isinstance(each, StepFailed))
    assert "reset" in failed.message and world.hz.objects[SETTINGS].leaves["data", "a"] == "3"


class Losing:
    """Loses the answer to the next write of the settings, which was done or not."""

    def __init__(self, cluster: FakeCluster, *, was_done: bool, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.lost, self._apply, self._was_done, self._meanwhile = 0, cluster.apply, was_done, meanwhile
        cluster.apply = self.apply  # type: ignore[method-assign]

    async def apply(self, request: ApplyRequest) -> LiveResource:
        if self.lost or request.resource.id != SETTINGS:
            return await self._apply(request)
        self.lost += 1
        if self._was_done:
            await self._apply(request)
        self._meanwhile()
        raise Unreachable("reset", target="hz", is_uncertain=True)


async def test_a_write_that_is_answered_well_and_was_not_done_is_not_told_as_done() -> None:
    """As where a proxy answers, or a webhook puts back what is written and lets dry runs pass."""
    world = World()
    await world.release(namespace(), config_map("settings", {"a": "1"}))
    plan = await world.plan(namespace(), config_map("settings", {"a": "2"}))
    world.hz.overrule[SETTINGS, ("data", "a")] = "1"
    events = await world.apply(plan)
    failed = next(each for each in events if isinstance(each, StepFailed))
    assert (failed.kind, failed.message) == ("Rejected", "the API answered well, and wrote nothing")
    assert finished(events).outcome is Outcome.FAILED


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_write_that_leaves_something_else_than_was_approved_is_not_told_as_done(is_new: bool) -> None:
    """As by a webhook that lets dry runs pass, or was changed since."""
    world = World()
    await world.release(namespace(), *([] if is_new else [deployment("web", image="web:1", replicas=1)]))
    plan = await world.plan(namespace(), deployment("web", image="web:2", replicas=3))
    world.hz.overrule[WEB, ("spec", "replicas")] = 2
    events = await world.apply(plan)
    failed = next(each for each in events if isinstance(each, StepFailed))
    assert (failed.kind, failed.message) == ("Rejected", "it was written, and not as approved: spec.replicas")
    again = await world.plan(namespace(), deployment("web", image="web:2", replicas=3))
    assert [each.address.id for each in again.steps()] == [WEB]


async def test_a_field_that_was_to_go_and_stays_is_not_told_as_done() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {"a": "1", "b": "1"}))
    plan = await world.plan(namespace(), config_map("settings", {"a": "2"}))
    world.hz.overrule[SETTINGS, ("data", "b")] = "1"
    failed = next(each for each in await world.apply(plan) if isinstance(each, StepFailed))
    assert failed.message == "it was written, and not as approved: data.b"


async def test_a_secret_that_was_not_written_as_approved_is_named_without_its_value() -> None:
    world = World()
    await world.release(namespace())
    plan = await world.plan(namespace(), secret("key", {"token": "aHVudGVyMg==", "user": "YQ=="}))
    world.hz.overrule[KubernetesId("v1", "Secret", "shop", "key"), ("data", "token")] = "b3RoZXI="
    failed = next(each for each in await world.apply(plan) if isinstance(each, StepFailed))
    assert failed.message == "it was written, and not as approved: data.token"


@pytest.mark.parametrize("moment", ["before a creation", "while it is created", "with the answer"])
async def test_what_is_made_on_a_cluster_that_took_the_place_of_another_is_not_told_as_done(moment: str) -> None:
    """Creations are bound to there being nothing, which another cluster has as well."""
    world = World()
    await world.release(namespace())
    plan = replace(await world.plan(namespace(), config_map("a", {})), identities={"hz": world.hz.identity})

    def swap(verb: str, id_: ResourceId) -> None:
        world.hz.identity = replace(world.hz.identity, uid="uid-of-another")
        if moment == "with the answer":
            world.hz.fail["apply", str(id_)] = Unreachable("lost", is_uncertain=True)
            world.hz.before_write = lambda verb, id_: world.hz.fail.clear()

    if moment != "before a creation":
        world.hz.before_write = swap
    calls = len(world.hz.calls)
    events = await world.apply(plan, lambda _: swap("", NAMESPACE) if moment == "before a creation" else None)
    failed = next(each for each in reversed(events) if isinstance(each, StepFailed))
    assert failed.kind == "Moved" and "is another cluster now" in failed.message
    assert finished(events).outcome is Outcome.FAILED
    assert len(world.hz.calls) - calls == (0 if moment == "before a creation" else 1)


async def test_what_replaces_an_object_is_not_made_on_a_cluster_that_took_the_place_of_another() -> None:
    world = World()
    await world.release(namespace(), deployment("web"))
    other = deployment("web")
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    plan = replace(await world.plan(namespace(), other), identities={"hz": world.hz.identity})

    def swap(verb: str, id_: ResourceId) -> None:
        if verb == "delete":
            world.hz.identity = replace(world.hz.identity, uid="uid-of-another")

    world.hz.before_write = swap
    events = await world.apply(plan)
    (failed,) = (each for each in events if isinstance(each, StepFailed))
    assert failed.kind == "Moved" and "is another cluster now" in failed.message
    assert world.hz.calls[-1] == ("delete", str(WEB))
