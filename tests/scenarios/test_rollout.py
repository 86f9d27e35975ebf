"""A gray release of twelve components over three clusters: it halts where it is not healthy, and is rolled back.

Whoever carries it out is killed twice on the way, and it goes on from where it was.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.scenarios.conftest import apply, settle
from tests.scenarios.fleet import Fleet
from tests.scenarios.processes import Command
from workbench.engine.status import Verdict

pytestmark = pytest.mark.slow

NAMES = tuple(f"app-{number:02}" for number in range(12))
STAGES = """\
stages:
  - {name: pre, stacks: ["*/prod"], clusters: [east], batches: [2, 50%, 100%]}
  - {name: gray, stacks: ["*/prod"], clusters: [west], batches: [1, 25%, 100%], max_unavailable: 25%}
  - {name: prod, stacks: ["*/prod"], batches: [50%, 100%], approval: true}
"""
EAST, WEST, NORTH = 0, 1, 2


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a", "b", "c"), clusters=3, seed=1) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, NAMES, ("east", "west", "north"), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


async def status(wb: Command) -> Any:
    code, text = await wb("rollout", "status", "-o", "json")
    assert code == 0, text
    return json.loads(text)


def written(fleet: Fleet) -> list[list[str]]:
    return [sorted(name for name, each in fleet.versions(cluster).items() if each == "2") for cluster in range(3)]


async def test_it_halts_survives_kills_and_is_rolled_back(fleet: Fleet) -> None:
    session = fleet.session()
    stack = session.select("fleet/prod")
    await apply(session, await session.plan(stack))
    assert (await settle(session, stack)).verdict is Verdict.READY
    before = [fleet.said(cluster) for cluster in range(3)]
    wb = Command(fleet.root, fleet.home)
    fleet.write("2")
    fleet.sandbox.faults[WEST].fail_image("app-02:2", "missing")

    # the first batch of the first stage: two components, and whoever carries it out is killed in the middle of it
    text = await wb.killed("rollout", "start", "--yes", when=lambda line: "update Deployment fleet/app-01" in line)
    assert "app-01" in text
    assert written(fleet) == [["app-00", "app-01"], [], []]
    at = await status(wb)
    assert (at["state"], at["running"], at["ready"], at["targets"]) == ("open", False, 0, 36)
    id_ = at["id"]

    # it goes on, and is killed again in the second stage
    text = await wb.killed("rollout", "resume", id_, when=lambda line: "gray: batch 1 of 3" in line)
    assert written(fleet)[EAST] == sorted(NAMES)
    assert written(fleet)[NORTH] == []

    # the second batch of the second stage has a component that does not become healthy
    code, text = await wb("rollout", "resume", id_)
    assert code == 5, text
    assert "halted in gray, batch 2 (fleet/prod app-02 in west)" in text, text
    assert "WHY" in text and "ImagePull" in text, text
    assert written(fleet) == [sorted(NAMES), ["app-00", "app-01", "app-02"], []]
    at = await status(wb)
    assert (at["state"], at["ready"]) == ("halted", 13)
    assert at["halted"]["target"] == "fleet/prod app-02 in west"

    # nothing of it goes on by itself, and a stage that nobody approved is not begun
    code, text = await wb("rollout", "rollback", id_, "--yes")
    assert code == 0, text
    assert [fleet.said(cluster) for cluster in range(3)] == before
    assert (await status(wb))["state"] == "rolled back"
    code, text = await wb("rollout", "resume", id_)
    assert code == 4, text
