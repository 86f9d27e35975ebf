"""Fields that a rule in project.yaml leaves to others: not sent, reported where they differ, and left by an apply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from tests.scenarios.test_field_owners import REPLICAS, STAGES, diff, edit, live, released, said, scale
from workbench.engine.drift import StackDrift
from workbench.engine.errors import StalePlan
from workbench.present import drift, drift_report
from workbench.present.glyphs import UNICODE
from workbench.project import BrokenFile, StackPath

pytestmark = pytest.mark.slow

REPLICAS_RULE = "{kind: Deployment, path: spec.replicas, reason: load decides}"


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a",), clusters=1, seed=1, controllers=False) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, ("web",), ("east",), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


def ignore(fleet: Fleet, *rules: str) -> None:
    file = fleet.root / "fleet" / "project.yaml"
    file.write_text(f"name: fleet\nignore:\n{''.join(f'- {each}{chr(10)}' for each in rules)}")


def image(fleet: Fleet) -> Any:
    return live(fleet)["spec"]["template"]["spec"]["containers"][0]["image"]


async def test_replicas_that_an_autoscaler_took_stay_its_own_through_an_apply_of_the_rest(fleet: Fleet) -> None:
    await released(fleet)
    scale(fleet, 5)
    ignore(fleet, REPLICAS_RULE)
    found = await diff(fleet)
    assert said(found) == {}
    (note,) = found.notes
    assert "web@east: spec.replicas stays as it is live, set by kube-controller-manager, not as configured" in note
    assert note.endswith("load decides (fleet/project.yaml: ignore, rule 1)")
    looked = [StackDrift(StackPath.parse("fleet/prod"), datetime.now(UTC), found)]
    whole = "1 field not as configured, left to others by `ignore` (wb diff STACK)"
    assert str(drift.summary_line(looked, UNICODE)) == f"1 stack: 1 without drift  {whole}"
    assert whole in drift_report.markdown(looked, (), fleet.root, datetime.now(UTC))
    edit(fleet, 'version = "1"', 'version = "2"')
    await released(fleet)
    assert (live(fleet)["spec"]["replicas"], image(fleet)) == (5, "web:2")
    scale(fleet, 7)
    assert said(await diff(fleet)) == {}
    # without the rule it is to be changed, and another's
    ignore(fleet)
    found = await diff(fleet)
    assert said(found) == {"apps/v1:Deployment:fleet:web": ["spec.replicas intended"]}
    assert [each.manager for change in found.changes for each in change.conflicts] == ["kube-controller-manager"]


async def test_what_nobody_else_owns_is_sent_as_it_is_live_and_not_taken_away(fleet: Fleet) -> None:
    await released(fleet)
    ignore(fleet, REPLICAS_RULE)
    edit(fleet, REPLICAS, "            replicas = 3\n")
    found = await diff(fleet)
    assert said(found) == {}
    assert len(found.notes) == 1
    edit(fleet, 'version = "1"', 'version = "2"')
    await released(fleet)
    assert (live(fleet)["spec"]["replicas"], image(fleet)) == (1, "web:2")


async def test_a_new_object_is_made_as_it_is_configured(fleet: Fleet) -> None:
    ignore(fleet, REPLICAS_RULE)
    edit(fleet, REPLICAS, "            replicas = 3\n")
    await released(fleet)
    assert live(fleet)["spec"]["replicas"] == 3
    assert (await diff(fleet)).notes == ()


async def test_a_rule_with_a_manager_counts_where_that_one_owns_the_field(fleet: Fleet) -> None:
    await released(fleet)
    cluster = fleet.sandbox.clusters[0]
    by_hand = {"spec": {"replicas": 4}}
    cluster.patch("deployments.apps", "fleet", "web", by_hand, "merge", manager="kubectl-edit")
    ignore(fleet, "{kind: apps/Deploy*, name: w*, path: spec.replicas, manager: kube-controller-manager, reason: load}")
    assert said(await diff(fleet)) == {"apps/v1:Deployment:fleet:web": ["spec.replicas drift"]}
    scale(fleet, 5)
    assert said(await diff(fleet)) == {}


async def test_a_field_of_an_element_is_left_alone_and_its_neighbours_are_not(fleet: Fleet) -> None:
    await released(fleet)
    containers = [{"name": "main", "image": "mesh:9"}]
    fleet.sandbox.clusters[0].patch(
        "deployments.apps", "fleet", "web", {"spec": {"template": {"spec": {"containers": containers}}}}, "strategic",
        manager="mesh",
    )  # fmt: skip
    ignore(fleet, '{kind: Deployment, path: "spec.template.spec.containers[name=main].image", reason: the mesh does}')
    edit(fleet, REPLICAS, "            replicas = 2\n")
    assert said(await diff(fleet)) == {"apps/v1:Deployment:fleet:web": ["spec.replicas intended"]}
    await released(fleet)
    assert (live(fleet)["spec"]["replicas"], image(fleet)) == (2, "mesh:9")


async def test_what_we_alone_own_below_a_shared_field_is_not_taken_away(fleet: Fleet) -> None:
    await released(fleet)
    labels = {"spec": {"template": {"metadata": {"labels": {"mesh": "on"}}}}}
    fleet.sandbox.clusters[0].patch("deployments.apps", "fleet", "web", labels, "merge", manager="mesh")
    ignore(fleet, "{kind: Deployment, path: spec.template.metadata.labels, reason: the mesh adds some}")
    edit(fleet, 'version = "1"', 'version = "2"')
    await released(fleet)
    assert live(fleet)["spec"]["template"]["metadata"]["labels"] == {"app": "web", "mesh": "on"}
    assert image(fleet) == "web:2"


async def test_a_plan_is_bound_to_the_object_as_it_was_all_the_same(fleet: Fleet) -> None:
    await released(fleet)
    scale(fleet, 5)
    ignore(fleet, REPLICAS_RULE)
    edit(fleet, 'version = "1"', 'version = "2"')
    session = fleet.session()
    plan = await session.plan(session.select("fleet/prod"))
    scale(fleet, 6)
    with pytest.raises(StalePlan):
        await apply(session, plan)
    await released(fleet)
    assert (live(fleet)["spec"]["replicas"], image(fleet)) == (6, "web:2")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{kind: Deployment, path: spec.replicas}", "has no reason"),
        ("{kind: Deployment, path: metadata, reason: x}", "says which object it is"),
        ("{kind: Deployment, path: metadata.name, reason: x}", "says which object it is"),
        ("{kind: Deployment, path: metadata.labels, reason: x}", "says whose object it is"),
        (
            """{kind: Deployment, path: 'metadata.labels["workbench.konfig.io/stack"]', reason: x}""",
            "whose object it is",
        ),
        ("{kind: Deployment, path: 'a[', reason: x}", "is no path of a field"),
        ("{kind: Deployment, paths: spec.replicas, reason: x}", "unknown key 'paths'"),
        ("{kind: 7, path: spec.replicas, reason: x}", "kind needs to be text"),
        ("spec.replicas", "needs to be a mapping"),
    ],
)
async def test_a_rule_that_is_wrong_is_named_before_anything_is_compared(fleet: Fleet, rule: str, message: str) -> None:
    ignore(fleet, REPLICAS_RULE, rule)
    with pytest.raises(BrokenFile) as caught:
        await diff(fleet)
    assert message in caught.value.message
    assert str(caught.value.where).endswith("fleet/project.yaml: ignore, rule 2")
