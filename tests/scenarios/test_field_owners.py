"""Fields that an autoscaler, another person or another tool owns: shown with who and when, never taken silently."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import format_path
from runtimes.base.sensitive import LAST_APPLIED
from runtimes.sandbox.server import Sandbox
from tests.scenarios.conftest import apply
from tests.scenarios.fleet import Fleet
from workbench.engine.changes import Op, StackDiff
from workbench.engine.errors import EngineError, UnresolvedConflict
from workbench.engine.events import ApplyFinished, Outcome

pytestmark = pytest.mark.slow

STAGES = 'stages: [{name: all, stacks: ["*/prod"]}]\n'
WITHOUT_TIER = 'metadata = {name = "web", namespace = "fleet", labels.app = "web"}'
REPLICAS = "            replicas = 1\n"


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Sandbox(names=("a",), clusters=1, seed=1, controllers=False) as sandbox:
        fleet = Fleet.make(tmp_path, sandbox, ("web",), ("east",), STAGES)
        yield fleet
        for each in fleet.opened:
            await each.__aexit__(None, None, None)


def edit(fleet: Fleet, old: str, new: str) -> None:
    file = fleet.root / "fleet" / "prod" / "main.k"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def live(fleet: Fleet) -> Any:
    return fleet.sandbox.clusters[0].get("deployments.apps", "fleet", "web")


def said(found: StackDiff) -> dict[str, list[str]]:
    return {
        str(each.address.id): [f"{format_path(field.path)} {field.class_}" for field in each.fields]
        for each in found.changes
        if each.fields
    }


async def released(fleet: Fleet, *, force: bool = False) -> None:
    session = fleet.session()
    end = (await apply(session, await session.plan(session.select("fleet/prod"), force=force)))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, end


def scale(fleet: Fleet, replicas: int) -> None:
    patch = {"spec": {"replicas": replicas}}
    fleet.sandbox.clusters[0].patch(
        "deployments.apps", "fleet", "web", patch, "merge", manager="kube-controller-manager", subresource="scale"
    )


async def test_an_autoscaler_has_the_replicas_that_the_configuration_does_not_say(fleet: Fleet) -> None:
    edit(fleet, REPLICAS, "")
    await released(fleet)
    scale(fleet, 5)
    session = fleet.session()
    stack = session.select("fleet/prod")
    assert said(await session.diff(stack)) == {}
    edit(fleet, 'version = "1"', 'version = "2"')
    await released(fleet)
    assert live(fleet)["spec"]["replicas"] == 5
    assert said(await session.diff(stack)) == {}


async def test_an_autoscaler_that_took_the_replicas_is_named_and_not_overruled(fleet: Fleet) -> None:
    await released(fleet)
    scale(fleet, 5)
    session = fleet.session()
    stack = session.select("fleet/prod")
    found = await session.diff(stack)
    assert said(found) == {"apps/v1:Deployment:fleet:web": ["spec.replicas drift"]}
    plan = await session.plan(stack)
    assert plan.is_refused
    with pytest.raises(UnresolvedConflict) as caught:
        await apply(session, plan)
    # when is not said: a server keeps no time of who writes by the subresource
    assert str(caught.value).endswith("web@east: spec.replicas is owned by kube-controller-manager")
    assert live(fleet)["spec"]["replicas"] == 5
    edit(fleet, REPLICAS, "")
    await released(fleet)
    assert live(fleet)["spec"]["replicas"] == 5
    assert said(await session.diff(stack)) == {}


async def test_what_kubectl_applied_is_shared_and_its_own_fields_stay(fleet: Fleet) -> None:
    """As `kubectl apply` leaves it: its fields in an entry of its own, its input in an annotation."""
    await released(fleet)
    cluster = fleet.sandbox.clusters[0]
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "fleet", "labels": {"app": "web", "tier": "old"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "web:1"}]},
            },
        },
    }
    cluster.delete("deployments.apps", "fleet", "web")
    annotated = {**body["metadata"], "annotations": {LAST_APPLIED: json.dumps(body)}}
    cluster.create("deployments.apps", "fleet", {**body, "metadata": annotated}, manager="kubectl-client-side-apply")
    edit(fleet, WITHOUT_TIER, 'metadata = {name = "web", namespace = "fleet", labels = {app = "web", tier = "old"}}')
    await released(fleet)
    assert said(await diff(fleet)) == {}
    edit(fleet, 'metadata = {name = "web", namespace = "fleet", labels = {app = "web", tier = "old"}}', WITHOUT_TIER)
    assert said(await diff(fleet)) == {"apps/v1:Deployment:fleet:web": ["metadata.labels.tier drift"]}
    await released(fleet)
    # it is kubectl's still: shown, and not taken away without a word
    assert live(fleet)["metadata"]["labels"]["tier"] == "old"
    (change,) = [each for each in (await diff(fleet)).changes if each.fields]
    (field,) = change.fields
    assert field.actor is not None and field.actor.manager == "kubectl-client-side-apply"
    # with a word it is, and then nothing is left to be said
    session = fleet.session()
    plan = await session.plan(session.select("fleet/prod"), take_away=True)
    assert "what people put into live objects is taken away (1 field)" in plan.confirmation.reasons
    end = (await apply(session, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, end
    assert "tier" not in live(fleet)["metadata"]["labels"]
    assert said(await diff(fleet)) == {}


async def test_what_a_person_put_there_goes_by_a_plan_that_says_so_and_no_other(fleet: Fleet) -> None:
    await released(fleet)
    before = live(fleet)["spec"]
    by_hand = {"metadata": {"annotations": {"note": "x"}}, "spec": {"minReadySeconds": 9, "paused": True}}
    cluster = fleet.sandbox.clusters[0]
    cluster.patch("deployments.apps", "fleet", "web", by_hand, "merge", manager="kubectl-edit")
    await released(fleet)
    assert live(fleet)["spec"] == {**before, "minReadySeconds": 9, "paused": True}
    session = fleet.session()
    stack = session.select("fleet/prod")
    plan = await session.plan(stack, take_away=True)
    assert plan.confirmation.reasons == ("what people put into live objects is taken away (3 fields)",)
    assert [(format_path(each.path), each.op) for change in plan.changes for each in change.fields] == [
        ("metadata.annotations.note", Op.REMOVE),
        ("spec.minReadySeconds", Op.REMOVE),
        ("spec.paused", Op.REMOVE),
    ]
    file = fleet.root / "plan.json"
    session.save_plan(plan, file)
    # what somebody puts there after the plan was made was not approved
    cluster.patch(
        "deployments.apps", "fleet", "web", {"spec": {"minReadySeconds": 10}}, "merge", manager="kubectl-edit"
    )
    with pytest.raises(EngineError):
        await apply(session, plan)
    with pytest.raises(EngineError):
        await session.load_plan(file)
    cluster.patch("deployments.apps", "fleet", "web", {"spec": {"minReadySeconds": 9}}, "merge", manager="kubectl-edit")
    end = (await apply(session, await session.load_plan(file)))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, end
    assert live(fleet)["spec"] == before and "note" not in live(fleet)["metadata"].get("annotations", {})
    assert said(await session.diff(stack)) == {}
    assert (await session.plan(stack, take_away=True)).is_empty


async def diff(fleet: Fleet) -> StackDiff:
    session = fleet.session()
    return await session.diff(session.select("fleet/prod"))
