"""The same objects in another notation are no change: quantities, defaults said or not, null or absent, order of keys.

The order of a command line is one.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from tests.sizes import size
from workbench.engine.events import ApplyFinished, Outcome

pytestmark = pytest.mark.slow

OBJECTS, TURNS = size(20, 100), size(1, 100)
STAGES = 'stages: [{name: all, stacks: ["*/prod"]}]\n'
ABSENT = object()
CPU = [("1", "1000m", "1.0"), ("500m", "0.5"), ("2", "2000m"), ("100m", "0.1")]
MEMORY = [("1Gi", "1024Mi", "1048576Ki"), ("64Mi", "65536Ki"), ("1G", "1000M")]


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a",), clusters=1, seed=1, controllers=False) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, (), ("east",), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


def written(name: str, meaning: int, notation: random.Random) -> dict[str, Any]:
    """Returns a Deployment; `meaning` says which, `notation` how it is written down."""
    dice = random.Random(f"{name} {meaning}")
    some = notation.choice

    def shuffled(body: dict[str, Any]) -> dict[str, Any]:
        said = [(key, value) for key, value in body.items() if value is not ABSENT]
        notation.shuffle(said)
        return dict(said)

    limits = {"cpu": some(dice.choice(CPU)), "memory": some(dice.choice(MEMORY))}
    ports = [
        shuffled({"containerPort": port, "protocol": some([ABSENT, "TCP"])}) for port in dice.sample([80, 443, 9090], 2)
    ]
    container = shuffled(
        {
            "name": "main",
            "image": f"{name}:{dice.randrange(3)}",
            "args": dice.sample(["--one", "--two", "--three"], 3),
            "ports": ports,
            "resources": shuffled({"limits": shuffled(limits), "requests": some([ABSENT, None])}),
            "imagePullPolicy": some([ABSENT, "IfNotPresent"]),
            "command": some([ABSENT, None]),
            "terminationMessagePath": some([ABSENT, "/dev/termination-log"]),
        }
    )
    pod = shuffled(
        {
            "containers": [container],
            "restartPolicy": some([ABSENT, "Always"]),
            "terminationGracePeriodSeconds": some([ABSENT, 30]),
            "dnsPolicy": some([ABSENT, "ClusterFirst"]),
        }
    )
    spec = {
        "replicas": dice.randrange(4),
        "selector": {"matchLabels": {"app": name}},
        "template": shuffled({"metadata": {"labels": {"app": name}}, "spec": pod}),
        "revisionHistoryLimit": some([ABSENT, 10]),
        "paused": some([ABSENT, None]),
    }
    metadata = shuffled({"name": name, "namespace": "fleet", "annotations": some([ABSENT, None])})
    return shuffled({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": shuffled(spec)})


def write(fleet: Fleet, bodies: list[dict[str, Any]]) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fleet"}}
    text = f"import manifests\n\nmanifests.yaml_stream({[namespace, *bodies]!r})\n"
    (fleet.root / "fleet" / "prod" / "main.k").write_text(text)


async def test_another_notation_is_no_change_and_another_order_of_arguments_is_one(fleet: Fleet) -> None:
    names = [f"app-{number}" for number in range(OBJECTS)]
    session = fleet.session()
    stack = session.select("fleet/prod")
    for turn in range(TURNS):
        notation = random.Random(turn)
        bodies = [written(name, turn, notation) for name in names]
        first = repr(bodies)
        write(fleet, bodies)
        end = (await apply(session, await session.plan(stack, force=True)))[-1]
        assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, end
        again = [written(name, turn, notation) for name in names]
        assert repr(again) != first
        write(fleet, again)
        plan = await session.plan(stack)
        assert not plan.problems
        phantoms = {str(each.address): [str(field) for field in each.fields] for each in plan.steps()}
        assert phantoms == {}, f"turn {turn}"
        moved = notation.sample(range(OBJECTS), 3)
        for index in moved:
            again[index]["spec"]["template"]["spec"]["containers"][0]["args"].reverse()
        write(fleet, again)
        plan = await session.plan(stack)
        assert {each.address.id.name for each in plan.steps()} == {names[index] for index in moved}
