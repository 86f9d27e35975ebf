"""kill -9 at each write of an apply, and between a request and its answer: nothing is lost, nothing made twice."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from runtimes.sandbox.store import Change
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from tests.scenarios.killing import killable
from tests.sizes import is_soak, size
from workbench.engine.events import Action, ApplyFinished, Outcome
from workbench.engine.release import Phase

pytestmark = pytest.mark.slow

NAMES = tuple(f"app-{number:02}" for number in range(size(3, 25)))
RESOURCES = 2 * len(NAMES) + 1
"""A Deployment and a ConfigMap each, and their namespace."""
STAGES = 'stages: [{name: all, stacks: ["*/prod"]}]\n'


@asynccontextmanager
async def ground(folder: Path) -> AsyncIterator[Fleet]:
    """A cluster in which nothing is, and a repository."""
    home = Path(tempfile.mkdtemp(dir=folder))
    async with Sandbox(names=("a",), clusters=1, seed=1) as sandbox:
        fleet = Fleet.make(home, sandbox, NAMES, ("east",), STAGES)
        try:
            yield fleet
        finally:
            for each in fleet.opened:
                await each.__aexit__(None, None, None)


def there(fleet: Fleet) -> dict[tuple[str, str], str]:
    """Returns the uid of each of our objects in the cluster, by kind and name."""
    found: dict[tuple[str, str], str] = {}
    for kind, resource in (
        ("Deployment", "deployments.apps"),
        ("ConfigMap", "configmaps"),
        ("Namespace", "namespaces"),
    ):
        for each in fleet.sandbox.clusters[0].list(resource).items:
            metadata: Any = each["metadata"]
            is_ours = (
                "fleet" in (metadata.get("namespace"), metadata["name"]) and metadata["name"] != "kube-root-ca.crt"
            )
            if is_ours:
                found[kind, metadata["name"]] = metadata["uid"]
    return found


async def _the_rest_is_done(fleet: Fleet, where: str) -> None:
    """What a plan after the kill says is exactly what is not there; after it all is there, once."""
    before = there(fleet)
    session = fleet.session()
    stack = session.select("fleet/prod")
    records = session.releases(stack)
    assert records or not before, f"{where}: something was made, and no record tells of it"
    assert not any(each.warnings for each in records), where
    plan = await session.plan(stack)
    assert not plan.is_refused and not plan.gaps, f"{where}: {plan.problems} {plan.gaps}"
    steps = {(each.address.id.kind, each.address.id.name): each.action for each in plan.steps()}  # type: ignore[union-attr]
    assert set(steps.values()) <= {Action.CREATE}, f"{where}: {steps}"
    assert not set(steps) & set(before), f"{where}: {sorted(set(steps) & set(before))} would be made again"
    assert len(steps) + len(before) == RESOURCES, f"{where}: {len(steps)} to do, {len(before)} there"
    if not plan.is_empty or (records and records[0].phase is Phase.APPLYING):
        end = (await apply(session, plan))[-1]
        assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, f"{where}: {end}"
    after = there(fleet)
    assert len(after) == RESOURCES and before.items() <= after.items(), where
    assert (await session.plan(stack)).is_empty, where
    latest = session.releases(stack)[0]
    assert latest.phase is Phase.SUCCEEDED, where
    known = {(each.id.kind, each.id.name): state.uid for each, state in latest.resources.items()}  # type: ignore[union-attr]
    assert known == after, where
    left = {each.name for each in (fleet.home / "state").rglob("*")}
    # what a dead process left when all was done: a lock is taken over by the next who needs it, and given up then;
    # a log beside a record that has ended is not read, and goes with the record
    is_done = len(before) == RESOURCES
    assert is_done or not {f"{latest.revision}.log", "lock"} & left, where


async def test_at_each_write_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with killable() as process:
        async with ground(tmp_path) as fleet:
            killed, writes = await process.apply(fleet.root, fleet.home)
            assert not killed and len(there(fleet)) == RESOURCES
        some = sorted({0, len(writes) - 1, random.Random(3).randrange(len(writes))})
        made = set()
        for write in range(len(writes)) if is_soak() else some:
            async with ground(tmp_path) as fleet:
                killed, _ = await process.apply(fleet.root, fleet.home, write=write)
                where = f"killed at write {write} of {len(writes)}: {writes[write]}"
                assert killed or write >= len(writes) - 10, where
                made.add(len(there(fleet)))
                await _the_rest_is_done(fleet, where)
    with capsys.disabled():
        print(f"\n{RESOURCES} resources, {len(writes)} writes; {len(made)} different remainders")  # noqa: T201
    assert {0, RESOURCES} <= made


@pytest.mark.parametrize("change", [each + 1 for each in (range(RESOURCES) if is_soak() else (3,))])
async def test_between_the_success_of_a_request_and_its_answer(tmp_path: Path, change: int) -> None:
    """The cluster has the object, nobody here was told."""
    async with killable() as process, ground(tmp_path) as fleet:
        pids: list[int] = []
        seen: set[str] = set()

        def look(event: Change) -> None:
            metadata = event.object["metadata"]
            if event.type != "ADDED" or event.resource[1] not in ("deployments", "configmaps", "namespaces"):
                return
            if metadata["name"] == "kube-root-ca.crt" or "fleet" not in (metadata.get("namespace"), metadata["name"]):
                return
            seen.add(metadata["uid"])
            if len(seen) == change:
                os.kill(pids[0], signal.SIGKILL)

        fleet.sandbox.clusters[0].subscribe(look)
        killed, _ = await process.apply(fleet.root, fleet.home, begun=pids.append)
        assert killed
        assert change <= len(there(fleet))
        await _the_rest_is_done(fleet, f"killed when {change} objects were made")
