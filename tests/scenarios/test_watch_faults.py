"""Watches that break, expire and fall silent while objects come, change and go: what is told ends at what is there.

Judged by a look of its own, which lists everything anew.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from runtimes.base import Address
from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.server import Sandbox
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from tests.sizes import size
from workbench.engine.status import StatusTree

pytestmark = pytest.mark.slow

NAMES = tuple(f"app-{number:03}" for number in range(size(6, 500)))
STAGES = 'stages: [{name: all, stacks: ["*/prod"]}]\n'
FAULTS = (
    [Disturbance("drop", verbs=("watch",), seconds=0.2, times=40)],
    [Disturbance("drop", verbs=("watch",), seconds=1.0, times=12)],
    [Disturbance("gone", verbs=("watch",), times=12)],
    [Disturbance("gone", verbs=("watch",), times=4), Disturbance("internal-error", verbs=("list",), times=4)],
    [Disturbance("too-many-requests", verbs=("watch", "list"), times=8)],
    [Disturbance("cut", verbs=("watch",), times=10)],
    [Disturbance("truncate", verbs=("list",), times=2), Disturbance("drop", verbs=("watch",), seconds=0.1, times=8)],
    [Disturbance("unavailable", verbs=("watch", "list"), times=10)],
)
FAR_TOO_LONG_SECONDS = 60.0


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a",), clusters=1, seed=5) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, NAMES, ("east",), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


def told(tree: StatusTree) -> Mapping[Address, tuple[str, str, tuple[str, ...]]]:
    return {
        each.address: (each.health.status.value, each.health.reason, each.tree.details if each.tree is not None else ())
        for each in tree.resources
    }


def disturb_objects(fleet: Fleet, dice: random.Random) -> None:
    """Changes, deletes and makes again some objects, as somebody else would."""
    cluster = fleet.sandbox.clusters[0]
    for name in dice.sample(NAMES, max(2, len(NAMES) // 20)):
        try:
            match dice.randint(0, 3):
                case 0:
                    scale = {"spec": {"replicas": dice.randint(0, 2)}}
                    cluster.patch("deployments.apps", "fleet", name, scale)
                case 1:
                    cluster.delete("configmaps", "fleet", name)
                case 2:
                    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "fleet"}}
                    cluster.create("configmaps", "fleet", body)
                case 3:
                    pods = [each for each in cluster.list("pods", "fleet").items if name in each["metadata"]["name"]]
                    for each in pods[:1]:
                        cluster.delete("pods", "fleet", each["metadata"]["name"])
        except ApiError as error:
            assert error.code in (404, 409), error


async def test_whatever_becomes_of_watches_what_is_told_is_what_is_there(fleet: Fleet) -> None:
    session = fleet.session()
    stack = session.select("fleet/prod")
    await apply(session, await session.plan(stack))
    dice = random.Random(11)
    latest: list[StatusTree] = []

    async def follow() -> None:
        async with session.watch(stack) as trees:
            async for tree in trees:
                latest[:] = [tree]

    following = asyncio.create_task(follow())
    took = []
    try:
        for faults in FAULTS:
            fleet.sandbox.disturbances[0].clear()
            for each in faults:
                fleet.sandbox.disturbances[0].add(each)
            for _ in range(3):
                disturb_objects(fleet, dice)
                await asyncio.sleep(0.3)
            took.append(await until_same(fleet, latest))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    spent = f"{min(took):.1f} to {max(took):.1f} s"
    sys.stdout.write(f"{2 * len(NAMES) + 1} objects: what is told is what is there {spent} after the last fault\n")


async def until_same(fleet: Fleet, latest: list[StatusTree]) -> float:
    """Waits until the watch tells what a look of its own does; returns the seconds since the last fault was met."""
    session = fleet.session()
    stack = session.select("fleet/prod")
    deadline = time.monotonic() + FAR_TOO_LONG_SECONDS
    differing: list[object] = []
    faults, calm_since = -1, 0.0
    while time.monotonic() < deadline:
        if (left := sum(each.times or 0 for each in fleet.sandbox.disturbances[0].active)) != faults:
            faults, calm_since = left, time.monotonic()
        there = told(await session.status(stack))
        seen = told(latest[0]) if latest else {}
        differing = [(each, seen.get(each), there[each]) for each in there if seen.get(each) != there[each]]
        if not differing and all(status != "Unknown" for status, *_ in there.values()):
            return time.monotonic() - calm_since
        await asyncio.sleep(0.2)
    raise AssertionError(f"{len(differing)} differ: {differing[:5]}")
