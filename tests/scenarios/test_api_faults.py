"""An API that fails a sixth of all requests, in every way: an apply of hundreds of objects ends as configured in time.

Judged by what the cluster saw: each object is made once, and nothing is written after the end. How long it takes is
told by a clock that jumps while all wait: what counts is what a server takes to answer, and what it asks to be waited
for.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from runtimes.base import RuntimeFailure
from runtimes.sandbox.api.disturbances import Disturbance, Effect
from runtimes.sandbox.server import Sandbox
from runtimes.sandbox.store import Change
from tests import virtual_time
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from tests.sizes import is_soak, size
from workbench.engine.errors import StalePlan
from workbench.engine.events import ApplyFinished, Outcome, StepFinished
from workbench.project import WorkbenchError

pytestmark = pytest.mark.slow

NAMES = tuple(f"app-{number:03}" for number in range(size(6, 250)))
OBJECTS = 2 * len(NAMES) + 1
REQUESTS = size(300, 10_000)
"""So many are disturbed, or not, before the test is content."""
STALL_SECONDS = 5.5
ANSWER_SECONDS = 0.05 if is_soak() else 0.25
"""What each answer takes: a server far away, so that a few objects take as long as hundreds do."""
LONGEST = 3.0
"""So many times as long as undisturbed may it take, in the mean of all versions."""
ROUNDS = 12
STAGES = 'stages: [{name: all, stacks: ["*/prod"]}]\n'


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a",), clusters=1, seed=1, controllers=False) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, NAMES, ("east",), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with opened(tmp_path) as found:
        yield found


def answer_late(fleet: Fleet) -> None:
    fleet.sandbox.disturbances[0].add(Disturbance("delay", seconds=ANSWER_SECONDS))


def disturb(fleet: Fleet) -> None:
    disturbances = fleet.sandbox.disturbances[0]
    disturbances.rng.seed(4)
    disturbances.met.clear()
    left = 1.0
    shares: list[tuple[Effect, float]] = [
        ("too-many-requests", 0.05),
        ("internal-error", 0.025),
        ("unavailable", 0.025),
        ("cut", 0.02),
        ("delay", 0.02),
        ("truncate", 0.01),
    ]
    for effect, share in shares:
        # the first that fits is the one that happens: the share is of all requests, the probability of what is left
        disturbances.add(Disturbance(effect, probability=share / left, seconds=STALL_SECONDS))
        left -= share
    writes = ("patch", "create", "update", "delete")
    disturbances.add(Disturbance("conflict", verbs=writes, probability=0.01 / left))


@dataclass
class Witness:
    """What the cluster saw of our objects."""

    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    written: int = 0

    def look(self, change: Change) -> None:
        metadata = change.object["metadata"]
        if change.resource[1] in ("deployments", "configmaps") and metadata.get("namespace") == "fleet":
            self.written += 1
            self.made[change.resource[1], metadata["name"]] += change.type == "ADDED"


async def converged(fleet: Fleet) -> tuple[int, float]:
    """Plans and applies until a plan is empty; returns how often it took, and the seconds."""
    session = fleet.session()
    stack = session.select("fleet/prod")
    began = anyio.current_time()
    for attempt in range(ROUNDS):
        plan = await session.plan(stack)
        if plan.is_empty and plan.is_certain and not plan.is_refused:
            return attempt, anyio.current_time() - began
        if plan.is_refused:
            continue
        try:
            end = (await apply(session, plan))[-1]
        except StalePlan:
            continue  # what was written without an answer has moved since
        except (WorkbenchError, RuntimeFailure) as error:
            assert error.hint or error.message
            continue
        assert isinstance(end, ApplyFinished)
        assert end.outcome in (Outcome.SUCCEEDED, Outcome.PARTIAL)
    raise AssertionError(f"not converged after {ROUNDS} rounds: {plan.problems[:3]} {plan.gaps[:3]}")


def test_it_ends_as_configured_in_time_and_nothing_is_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    virtual_time.count_work(monkeypatch)
    random.seed(4)  # of what is waited for before a request is repeated

    async def work() -> str:
        async with opened(tmp_path) as fleet:
            return await disturbed_versions(fleet)

    said = virtual_time.run(work)
    with capsys.disabled():
        print(said)  # noqa: T201


async def disturbed_versions(fleet: Fleet) -> str:
    """Creates all objects and then changes them, version by version; returns how it went."""
    witness = Witness()
    fleet.sandbox.clusters[0].subscribe(witness.look)
    answer_late(fleet)
    rounds, creating = await converged(fleet)
    assert rounds == 1
    fleet.write("2")
    rounds, changing = await converged(fleet)
    assert rounds == 1
    met = fleet.sandbox.disturbances[0].met
    for name in NAMES:
        for kind in ("deployments.apps", "configmaps"):
            fleet.sandbox.clusters[0].delete(kind, "fleet", name)
    witness.made.clear()
    fleet.sandbox.disturbances[0].clear()
    disturb(fleet)
    answer_late(fleet)
    version, worst = 3, 0
    spent: list[float] = []
    while version < 5 or sum(met.values()) < REQUESTS:
        fleet.write(str(version))
        attempts, seconds = await converged(fleet)
        worst = max(worst, attempts)
        spent.append(seconds / (changing if spent else creating))
        assert fleet.versions(0) == dict.fromkeys(NAMES, str(version))
        version += 1
    assert set(witness.made.values()) == {1} and len(witness.made) == OBJECTS - 1
    assert sum(spent) / len(spent) < LONGEST, f"{spent} times as long as {creating:.1f} and {changing:.1f} s"
    return (
        f"\n{OBJECTS} objects, {sum(met.values())} requests, {dict(met)}: {len(spent)} versions, at most {worst} "
        f"applies each; {creating:.1f} and {changing:.1f} s undisturbed, disturbed {min(spent):.1f} to "
        f"{max(spent):.1f} times as long"
    )


@pytest.mark.soak
async def test_nothing_is_written_after_it_was_cancelled(fleet: Fleet) -> None:
    witness = Witness()
    fleet.sandbox.clusters[0].subscribe(witness.look)
    disturb(fleet)
    session = fleet.session()
    stack = session.select("fleet/prod")
    plan = await session.plan(stack)
    while plan.is_refused:
        plan = await session.plan(stack)
    async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
        async for each in events:
            if isinstance(each, StepFinished) and witness.written >= OBJECTS // 4:
                break
    written = witness.written
    assert written < 2 * len(NAMES)
    await asyncio.sleep(0.5)
    await fleet.opened.pop().__aexit__(None, None, None)
    assert witness.written == written
    fleet.sandbox.disturbances[0].clear()
    assert (await converged(fleet))[0] == 1
    assert set(witness.made.values()) == {1} and len(witness.made) == OBJECTS - 1
