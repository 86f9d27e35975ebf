"""The contract of a place, held by clusters and by the workspace of Terraform resources alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import anyio
import pytest

from runtimes.base import KubernetesId, ResourceId, RuntimeFailure, Unreachable
from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.engine.world import World, config_map, namespace, resource
from workbench.engine.errors import StalePlan
from workbench.engine.events import Action, ApplyFinished, Event, Outcome, StepFinished, StepSkipped, StepStarted
from workbench.engine.execute import check, execute
from workbench.engine.places import Place

DOWN = Unreachable("nobody answers", target="there", hint="look at the network")


class Kind(Protocol):
    """One kind of place, alone in a world, and how a test meddles with it."""

    name: str
    world: World

    def body(self, name: str, text: str = "x") -> dict[str, Any]: ...
    def id(self, name: str) -> ResourceId: ...
    def names(self) -> set[str]: ...
    def edit(self, name: str) -> None: ...
    def remove(self, name: str) -> None: ...
    def put(self, name: str) -> None: ...
    def break_(self) -> None: ...
    def hold(self) -> Callable[[], None]: ...


class Cluster:
    name = "hz"

    def __init__(self) -> None:
        self.world = World()
        self.world.hz.put(namespace())

    def body(self, name: str, text: str = "x") -> dict[str, Any]:
        return config_map(name, {"text": text})

    def id(self, name: str) -> ResourceId:
        return KubernetesId("v1", "ConfigMap", "shop", name)

    def names(self) -> set[str]:
        return {each.name for each in self.world.hz.objects if isinstance(each, KubernetesId)} - {"shop"}

    def edit(self, name: str) -> None:
        self.world.hz.edit(self.id(name), ("data", "text"), "edited")

    def remove(self, name: str) -> None:
        del self.world.hz.objects[self.id(name)]

    def put(self, name: str) -> None:
        self.world.hz.put(self.body(name, "theirs"))

    def break_(self) -> None:
        self.world.hz.fail["everything"] = DOWN

    def hold(self) -> Callable[[], None]:
        gate = self.world.hz.gate = anyio.Event()
        return gate.set


class Workspace:
    name = "terraform"

    def __init__(self) -> None:
        self.fake = FakeWorkspace()
        self.world = World(clusters={}, workspace=self.fake)

    def body(self, name: str, text: str = "x") -> dict[str, Any]:
        return resource(name, text=text)

    def id(self, name: str) -> ResourceId:
        return thing(name)

    def names(self) -> set[str]:
        return {each.name for each in self.fake.state}

    def edit(self, name: str) -> None:
        self.fake.cloud[thing(name)]["text"] = "edited"

    def remove(self, name: str) -> None:
        del self.fake.cloud[thing(name)]

    def put(self, name: str) -> None:
        self.fake.make(thing(name), {"name": name, "text": "theirs"}, None)

    def break_(self) -> None:
        self.fake.broken = DOWN

    def hold(self) -> Callable[[], None]:
        gate = self.fake.gate = anyio.Event()
        return gate.set


@pytest.fixture(params=[Cluster, Workspace], ids=["cluster", "workspace"])
def kind(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param()
    return made


def only(kind: Kind) -> Place:
    (place,) = kind.world.places()
    return place


@contextmanager
def refuses(kind: Kind, name: str) -> Iterator[None]:
    """What was checked is refused, and says of which resource; nothing is written."""
    before = kind.names()
    with pytest.raises(StalePlan) as stale:
        yield
    assert name in {each.address.id.name for each in stale.value.moved if each.address is not None}
    assert kind.names() == before


# --- who it is, and what it holds


def test_it_holds_what_its_type_says_and_nothing_else(kind: Kind) -> None:
    place = only(kind)
    assert place.name == kind.name and place.is_waited_for
    other = Workspace() if isinstance(kind, Cluster) else Cluster()
    assert place.kind.holds(kind.id("a")) and not place.kind.holds(other.id("a"))


# --- survey


async def test_a_survey_says_what_would_change_and_changes_nothing(kind: Kind) -> None:
    await kind.world.release(kind.body("kept"), kind.body("edited"), kind.body("gone"), kind.body("pruned"))
    kind.edit("edited")
    kind.remove("gone")
    before = kind.names()
    found = await kind.world.diff(kind.body("kept"), kind.body("edited"), kind.body("gone"), kind.body("new"))
    actions = {each.address.id.name: each.action for each in found.changes}
    assert actions == {
        "kept": Action.NONE,
        "edited": Action.UPDATE,
        "gone": Action.CREATE,
        "new": Action.CREATE,
        "pruned": Action.DELETE,
    }
    assert {each.address.cluster for each in found.changes} == {kind.name}
    assert found.is_certain and kind.names() == before


@pytest.mark.parametrize("how", ["it fails while it is asked", "it could not be reached"])
async def test_a_place_that_does_not_answer_is_a_problem_and_never_nothing_to_do(kind: Kind, how: str) -> None:
    if how.startswith("it fails"):
        kind.break_()
    elif isinstance(kind, Cluster):
        kind.world.clusters["hz"] = DOWN
    else:
        kind.world.workspace = DOWN
    plan = await kind.world.plan(kind.body("a"))
    assert plan.problems and all(each.cluster == kind.name for each in plan.problems)
    assert "nobody answers" in plan.problems[0].message
    assert plan.is_empty and not plan.is_as_configured and plan.is_refused
    assert only(kind).is_waited_for == how.startswith("it fails")


# --- check


async def test_what_is_as_it_was_planned_is_carried_out(kind: Kind) -> None:
    plan = await kind.world.plan(kind.body("a"), kind.body("b"))
    events = await kind.world.apply(plan)
    assert [each.outcome for each in events if isinstance(each, ApplyFinished)] == [Outcome.SUCCEEDED]
    assert {each.address.id.name for each in events if isinstance(each, StepFinished)} == {"a", "b"} == kind.names()
    again = await kind.world.plan(kind.body("a"), kind.body("b"))
    assert again.is_as_configured


async def test_what_was_edited_or_made_meanwhile_is_found_before_anything_is_written(kind: Kind) -> None:
    await kind.world.release(kind.body("a"))
    plan = await kind.world.plan(kind.body("a", "y"), kind.body("b"))
    kind.edit("a")
    with refuses(kind, "a"):
        await check(plan, kind.world.places())

    kind.put("b")
    with refuses(kind, "b"):
        await check(plan, kind.world.places())


async def test_what_is_gone_meanwhile_is_found_before_anything_is_written(kind: Kind) -> None:
    await kind.world.release(kind.body("a"))
    plan = await kind.world.plan(kind.body("a", "y"))
    kind.remove("a")
    with refuses(kind, "a"):
        await check(plan, kind.world.places())


async def test_a_place_that_does_not_answer_any_more_stops_the_apply(kind: Kind) -> None:
    plan = await kind.world.plan(kind.body("a"))
    kind.break_()
    with pytest.raises(RuntimeFailure, match="nobody answers"):
        await check(plan, kind.world.places())
    assert kind.names() == set()


async def test_a_place_that_cannot_be_reached_any_more_stops_the_apply(kind: Kind) -> None:
    plan = await kind.world.plan(kind.body("a"))
    if isinstance(kind, Cluster):
        kind.world.clusters["hz"] = DOWN
    else:
        kind.world.workspace = DOWN
    with pytest.raises(RuntimeFailure, match="nobody answers"):
        await check(plan, kind.world.places())


# --- steps


async def test_an_interrupt_lets_what_was_begun_finish_and_tells_the_rest_as_skipped(kind: Kind) -> None:
    second = kind.body("b")
    if isinstance(kind, Cluster):
        second["data"]["text"] = "$kusion_path.v1:ConfigMap:shop:a.data.text"
    else:
        second["attributes"]["text"] = "$kusion_path.acme:cloud:thing:a.text"
    plan = await kind.world.plan(kind.body("a"), second)
    release, journal = kind.hold(), kind.world.begin(plan)
    seen: list[Event] = []
    async with execute(plan, await check(plan, kind.world.places()), journal, kind.world.now) as applying:
        async for event in applying:
            seen.append(event)
            if isinstance(event, StepStarted):
                await applying.interrupt()
                release()
    last = seen[-1]
    assert isinstance(last, ApplyFinished) and last.outcome is Outcome.INTERRUPTED
    assert kind.names() == {"a"}
    assert [each.address.id.name for each in seen if isinstance(each, StepSkipped)] == ["b"]
