"""A configuration that suddenly says less: half of a check-out, another branch, no registry. Nothing goes unasked."""

from __future__ import annotations

import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from tests.sizes import size
from workbench.engine.errors import ConfirmationRequired
from workbench.engine.events import Action, ApplyFinished, Outcome
from workbench.engine.plan import Level
from workbench.project import Stack, WorkbenchError
from workbench.session import Session

pytestmark = pytest.mark.slow

NAMES = tuple(f"app-{number:02}" for number in range(size(5, 12)))
STAGES = 'stages: [{name: all, stacks: ["*/prod"]}]\n'
NOTHING = (
    'import manifests\n\nmanifests.yaml_stream([{apiVersion = "v1", kind = "Namespace", metadata.name = "fleet"}])\n'
)
GONE = "import manifests\n\nmanifests.yaml_stream([])\n"


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a",), clusters=1, seed=1, controllers=False) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, NAMES, ("east",), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


async def released(fleet: Fleet) -> tuple[Session, Stack]:
    session = fleet.session()
    stack = session.select("fleet/prod")
    end = (await apply(session, await session.plan(stack)))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED
    return session, stack


def there(fleet: Fleet) -> dict[str, str]:
    """Returns the uid of each object in the namespace."""
    found = {}
    for kind in ("deployments.apps", "configmaps"):
        for each in fleet.sandbox.clusters[0].list(kind, "fleet").items:
            found[f"{kind}/{each['metadata']['name']}"] = each["metadata"]["uid"]
    return found


async def refused(session: Session, stack: Stack) -> None:
    """Whoever says yes, or nothing, deletes nothing."""
    plan = await session.plan(stack)
    assert plan.confirmation.level is Level.PHRASE and plan.confirmation.reasons
    assert any(each.action is Action.DELETE for each in plan.steps())
    for said in ("", "yes", "y", "fleet", "FLEET/PROD"):
        with pytest.raises(ConfirmationRequired):
            async with session.apply(plan, confirm=said):
                pass


async def test_less_than_there_was_takes_the_phrase(fleet: Fleet) -> None:
    session, stack = await released(fleet)
    main = fleet.root / "fleet" / "prod" / "main.k"
    whole, before = main.read_text(), there(fleet)
    dice = random.Random(10)
    for _ in range(size(1, 40)):
        count = dice.randrange(size(2, 3), len(NAMES))  # two objects each: more than a fifth
        fleet.repository.write("1", without=dice.sample(NAMES, count))
        await refused(session, stack)
    for text in (NOTHING, GONE):
        main.write_text(text)
        try:
            await refused(session, stack)
        except WorkbenchError as error:  # a configuration of nothing is refused before there is a plan
            assert text is GONE and error.hint, error
    assert there(fleet) == before
    # a file that is not there, or that does not compile, as a registry is down, is no smaller configuration
    for broken in ("", "import manifests\nimport not_there.at_all\nmanifests.yaml_stream([])\n", "x = ["):
        main.write_text(broken) if broken else main.unlink()
        with pytest.raises(WorkbenchError):
            await refused(session, stack)
    assert there(fleet) == before
    # a part that is small enough takes a yes
    main.write_text(whole)
    fleet.repository.write("1", without=NAMES[:1])
    plan = await session.plan(stack)
    assert plan.confirmation.level is Level.YES
    async with session.apply(plan, confirm="yes") as events:
        end = [each async for each in events][-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED
    assert len(there(fleet)) == len(before) - 2


async def test_what_is_not_ours_any_more_stays_whatever_is_confirmed(fleet: Fleet) -> None:
    """Made anew under its name, or with the labels of the stack taken off, an object is somebody else's."""
    await released(fleet)
    cluster = fleet.sandbox.clusters[0]
    anew: Any = cluster.get("configmaps", "fleet", "app-00")
    cluster.delete("configmaps", "fleet", "app-00")
    metadata = {"name": "app-00", "namespace": "fleet", "labels": anew["metadata"]["labels"]}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kept": "yes"}}
    cluster.create("configmaps", "fleet", body, manager="kubectl-create")
    unlabelled = {"metadata": {"labels": None}}
    cluster.patch("configmaps", "fleet", "app-01", unlabelled, "merge", manager="kubectl-edit")
    stranger = {**body, "metadata": {"name": "stranger", "namespace": "fleet"}}
    cluster.create("configmaps", "fleet", stranger, manager="kubectl-create")
    other = _another_stack(fleet)
    again = fleet.session()
    await apply(again, await again.plan(again.select("fleet/other")))
    kept = {
        name: uid
        for name, uid in there(fleet).items()
        if name in ("configmaps/app-00", "configmaps/app-01", "configmaps/stranger") or "/oth-" in name
    }
    assert len(kept) == 3 + 2 * len(other)

    fleet.repository.write("1", without=NAMES)
    session = fleet.session()
    plan = await session.plan(session.select("fleet/prod"))
    gone = {each.address.id.name for each in plan.steps() if each.action is Action.DELETE}
    assert gone == set(NAMES)
    await apply(session, plan)
    assert there(fleet) == kept
    (fleet.root / "fleet" / "other" / "main.k").write_text(NOTHING)
    fleet.repository.write("1")
    session = fleet.session()
    await apply(session, await session.plan(session.select("fleet/other")))
    assert {name for name in there(fleet) if "/oth-" in name} == set()
    assert {"configmaps/app-00", "configmaps/app-01", "configmaps/stranger"} <= set(there(fleet))


def _another_stack(fleet: Fleet) -> tuple[str, ...]:
    """Writes a second stack of the project, with components of its own in the same namespace."""
    prod, other = fleet.root / "fleet" / "prod", fleet.root / "fleet" / "other"
    shutil.copytree(prod, other)
    (other / "stack.yaml").write_text("name: other\n")
    (other / "main.k").write_text((prod / "main.k").read_text().replace("app-", "oth-"))
    return tuple(each.replace("app-", "oth-") for each in NAMES)
