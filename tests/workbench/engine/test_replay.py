"""What an apply told is told again from the record of its release: the same steps, times, ends and reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtimes.base import Rejected
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.world import World, config_map, deployment, namespace
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import ApplyFinished, ApplyStarted, Event, StepProgress
from workbench.engine.release import Release
from workbench.engine.replay import replay
from workbench.release.encoding import decode, encode


async def applied(world: World, *objects: object) -> tuple[list[Event], Release]:
    told = await world.apply(await world.plan(*objects))
    assert world.prior is not None
    return [each for each in told if not isinstance(each, StepProgress)], decode(encode(world.prior))


def by_time(events: list[Event] | tuple[Event, ...]) -> list[Event]:
    """The whole took a moment longer by the record: that is begun before anything is told."""
    events = [replace(each, seconds=0.0) if isinstance(each, ApplyFinished) else each for each in events]
    return sorted(events, key=lambda each: (each.at, str(each)))


async def test_all_that_was_told_is_told_again() -> None:
    world = World()
    told, release = await applied(world, namespace(), deployment("web"), config_map("c", {"a": "1"}))
    again = replay(release)
    assert isinstance(again[0], ApplyStarted) and isinstance(again[-1], ApplyFinished)
    assert sorted(map(str, again[0].steps)) == sorted(map(str, getattr(told[0], "steps", ())))
    assert by_time(again[1:]) == by_time(told[1:])


async def test_failures_and_what_was_skipped_for_them_are_told_with_their_reasons() -> None:
    world = World()
    cluster = world.clusters["hz"]
    assert isinstance(cluster, FakeCluster)
    cluster.fail["apply", "v1:Namespace:shop"] = Rejected("no", target="hz", subject="v1:Namespace:shop")
    told, release = await applied(world, namespace(), deployment("web"))
    assert by_time(replay(release)[1:]) == by_time(told[1:])


async def test_a_record_without_ends_of_steps_says_so() -> None:
    world = World()
    _, release = await applied(world, namespace(), deployment("web"))
    with pytest.raises(ReleaseFailure, match="does not say when its steps ended"):
        replay(replace(release, events=()))


async def test_one_that_did_not_end_has_no_end() -> None:
    world = World()
    _, release = await applied(world, namespace(), deployment("web"))
    again = replay(replace(release, finished=None))
    assert not isinstance(again[-1], ApplyFinished)
