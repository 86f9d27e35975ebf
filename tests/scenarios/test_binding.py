"""What somebody changes between approval and apply, at any moment of it, is never written over.

The stack goes from version 1 to version 2. At a moment that differs from case to case, something happens to an object
that was not written yet: what was approved for it no longer holds, so the apply stops there and says so.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import RuntimeFailure
from runtimes.kubernetes.client import FIELD_MANAGER
from runtimes.sandbox.server import Sandbox
from runtimes.sandbox.store import Change
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from tests.sizes import is_soak
from workbench.engine.errors import StalePlan
from workbench.engine.events import ApplyFinished, Event, Outcome, StepFailed, StepSkipped
from workbench.project import WorkbenchError

pytestmark = pytest.mark.slow

NAMES = tuple(f"app-{number}" for number in range(5))
WRITES = 2 * len(NAMES)
STAGES = 'stages: [{name: all, stacks: ["*/prod"]}]\n'
HAPPENINGS = ("edited by hand", "edited as us", "deleted", "made anew", "noted")
EVERY = [(happening, moment, turn) for happening in HAPPENINGS for moment in range(WRITES - 1) for turn in range(4)]
POINTS = EVERY if is_soak() else [("edited as us", 4, 0), ("edited by hand", 4, 0), ("made anew", 0, 0)]


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a",), clusters=1, seed=1, controllers=False) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, NAMES, ("east",), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


@dataclass
class Somebody:
    """Does one thing to one object, as soon as so many objects have been written."""

    fleet: Fleet
    happening: str
    moment: int
    dice: random.Random
    written: set[tuple[str, str]] = field(default_factory=set)
    target: tuple[str, str] | None = None
    left: dict[str, Any] | None = None
    is_due: bool = False

    def look(self, change: Change) -> None:
        kind, metadata = change.resource[1], change.object["metadata"]
        if kind not in ("deployments", "configmaps") or metadata.get("namespace") != "fleet" or self.target:
            return
        self.written.add((kind, metadata["name"]))
        if len(self.written) >= self.moment and not self.is_due:
            self.is_due = True
            self.act()

    def act(self) -> None:
        every = [(kind, name) for kind in ("deployments", "configmaps") for name in NAMES]
        unwritten = [each for each in every if each not in self.written]
        if not unwritten:
            return
        kind, name = self.target = self.dice.choice(unwritten)
        cluster, resource = self.fleet.sandbox.clusters[0], self.resource
        there: Any = cluster.get(resource, "fleet", name)
        match self.happening:
            case "edited by hand":
                containers = [{"name": "main", "image": f"{name}:3"}]
                patch = {"spec": {"template": {"spec": {"containers": containers}}}}
                by_kind = patch if kind == "deployments" else {"data": {"version": "3"}}
                cluster.patch(resource, "fleet", name, by_kind, "merge", manager="kubectl-edit")
            case "edited as us":  # another machine applies: no field has another owner by that
                metadata = {key: there["metadata"][key] for key in ("name", "namespace", "labels")}
                body = {each: there[each] for each in ("apiVersion", "kind", "spec", "data") if each in there}
                text = json.dumps({**body, "metadata": metadata})
                for old in (f'"{name}:1"', '"version": "1"'):
                    text = text.replace(old, old[:-2] + '3"')
                cluster.patch(resource, "fleet", name, json.loads(text), "apply", force=True, manager=FIELD_MANAGER)
            case "noted":
                note = {"metadata": {"annotations": {"note": "mine"}}}
                cluster.patch(resource, "fleet", name, note, "merge", manager="kubectl-annotate")
            case "deleted" | "made anew":
                cluster.delete(resource, "fleet", name)
                if self.happening == "made anew":
                    metadata = {"name": name, "namespace": "fleet", "labels": there["metadata"]["labels"]}
                    body = {each: there[each] for each in ("apiVersion", "kind", "spec", "data") if each in there}
                    cluster.create(resource, "fleet", {**body, "metadata": metadata}, manager="kubectl-create")
        self.left = self.live()

    @property
    def resource(self) -> str:
        assert self.target is not None
        return "deployments.apps" if self.target[0] == "deployments" else "configmaps"

    def live(self) -> dict[str, Any] | None:
        assert self.target is not None
        return self.fleet.sandbox.clusters[0].find(self.resource, "fleet", self.target[1])


async def _applied(fleet: Fleet, somebody: Somebody) -> list[Event] | Exception:
    session = fleet.session()
    plan = await session.plan(session.select("fleet/prod"))
    assert len(plan.steps()) == WRITES and not plan.is_refused
    if somebody.moment == 0:
        somebody.act()
    fleet.sandbox.clusters[0].subscribe(somebody.look)
    try:
        return await apply(session, plan)
    except (WorkbenchError, RuntimeFailure) as error:
        return error


@pytest.mark.parametrize(("happening", "moment", "turn"), POINTS)
async def test_only_what_was_approved_is_written(fleet: Fleet, happening: str, moment: int, turn: int) -> None:
    session = fleet.session()
    stack = session.select("fleet/prod")
    await apply(session, await session.plan(stack))
    fleet.write("2")
    somebody = Somebody(fleet, happening, moment, random.Random(f"{happening} {moment} {turn}"))
    ended = await _applied(fleet, somebody)
    assert somebody.target is not None
    now, left = somebody.live(), somebody.left
    name = somebody.target[1]
    if happening == "noted":
        assert now is not None and left is not None
        assert now["metadata"]["annotations"]["note"] == "mine"
        assert now["metadata"]["uid"] == left["metadata"]["uid"]
    else:
        assert now == left, f"{happening}: written without approval"
    if now == left:
        if isinstance(ended, Exception):
            assert isinstance(ended, StalePlan) and name in str(ended), ended
            assert moment == 0
        else:
            failed = [each for each in ended if isinstance(each, StepFailed | StepSkipped)]
            assert any(each.address.id.name == name for each in failed), failed
            end = ended[-1]
            assert isinstance(end, ApplyFinished) and end.outcome is not Outcome.SUCCEEDED
    # who plans again sees what it is now, and may decide
    again = await session.plan(stack, force=True)
    if now == left:
        assert not again.is_empty or again.gaps
