"""Objects, namespaces and definitions on their way out: a dry run says of them that nothing is to be done, an apply
into them is lost, and a deletion that a finalizer holds never ends. None of it is "all is well"."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Health, KubernetesId, Status
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.machines import Machines, apply, machines, released
from tests.workbench.session.shop import Clusters, session, shop
from workbench.engine.changes import Gap
from workbench.engine.errors import Refused, StalePlan
from workbench.engine.events import ApplyFinished, Event, Outcome, StepFailed, StepProgress
from workbench.engine.fleet import Sync
from workbench.engine.places import cluster_steps
from workbench.session import Session

SETTINGS = KubernetesId("v1", "ConfigMap", "web-dev", "front")
SPACE = KubernetesId("v1", "Namespace", "", "web-dev")
HOLD = "example.org/hold"
GOING = Health(Status.TERMINATING, "", f"held by finalizer {HOLD}")


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Machines]:
    async with machines(tmp_path, clusters=1) as found:
        ann = found.session("ann")
        await released(ann, ann.select("web/dev"))
        yield found


def hold(fleet: Machines, resource: str, namespace: str, name: str) -> None:
    held = {"metadata": {"finalizers": [HOLD]}}
    fleet.sandbox.clusters[0].patch(resource, namespace, name, held, "merge", manager="somebody")


async def test_nothing_is_said_to_be_the_same_that_is_being_deleted(fleet: Machines) -> None:
    ann, cluster = fleet.session("ann"), fleet.sandbox.clusters[0]
    stack = ann.select("web/dev")
    assert not (await ann.diff(stack)).is_different
    hold(fleet, "configmaps", "web-dev", "front")
    cluster.delete("configmaps", "web-dev", "front")

    found = await ann.diff(stack)
    (gap,) = found.gaps
    assert gap.subject == SETTINGS and gap.exists and HOLD in gap.message and "being deleted" in gap.message
    assert found.is_different and not found.is_certain
    plan = await ann.plan(stack)
    assert plan.is_empty
    with pytest.raises(Refused, match="being deleted"):
        await apply(ann, plan)

    # a namespace waits for what is in it, and what is in it looks untouched
    hold(fleet, "namespaces", "", "web-dev")
    cluster.delete("namespaces", "", "web-dev")
    (gap,) = (await ann.diff(stack)).gaps
    assert gap.subject == SPACE and "3 resources of the stack in it" in gap.message
    cluster.patch("configmaps", "web-dev", "front", {"metadata": {"finalizers": None}}, "merge", manager="somebody")


async def test_a_deletion_that_a_finalizer_holds_is_not_done_with(fleet: Machines) -> None:
    ann = fleet.session("ann")
    hold(fleet, "configmaps", "web-dev", "front")
    fleet.edit("ann", "models/server.k", 'id = "v1:ConfigMap:${space}:${s.name}"', 'id = "v1:ConfigMap:${space}:other"')
    fleet.edit("ann", "models/server.k", 'kind = "ConfigMap"\n                metadata = {name = s.name,',
               'kind = "ConfigMap"\n                metadata = {name = "other",')  # fmt: skip
    stack = ann.select("web/dev")
    events = await apply(ann, await ann.plan(stack))
    end = events[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED
    (told,) = [each for each in events if isinstance(each, StepProgress) and each.address.id == SETTINGS]
    assert HOLD in told.message
    (gap,) = (await ann.diff(stack)).gaps
    assert gap.subject == SETTINGS and "still being deleted" in gap.message and "--adopt" not in gap.hint


async def test_a_destruction_says_what_it_waits_for_while_it_does(
    fleet: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was silent for two minutes; and interrupted it said that no answer came, which had come at once."""
    monkeypatch.setattr(cluster_steps, "_HELD_SECONDS", 0.0)
    monkeypatch.setattr(cluster_steps, "_DRAIN_SECONDS", 0.2)
    ann = fleet.session("ann")
    hold(fleet, "configmaps", "web-dev", "front")
    plan = await ann.plan_destroy(ann.select("web/dev"))
    events: list[Event] = []
    async with ann.apply(plan, confirm=plan.confirmation.phrase) as running:
        async for each in running:
            events.append(each)
            if isinstance(each, StepProgress) and each.address.id == SETTINGS:
                assert each.message == f"is being deleted: held by finalizer {HOLD}"
                await running.interrupt()
    assert len([each for each in events if isinstance(each, StepProgress) and each.address.id == SETTINGS]) == 1
    (failed,) = [each for each in events if isinstance(each, StepFailed) and each.address.id == SETTINGS]
    assert failed.message == f"it is still being deleted: held by finalizer {HOLD}"

    monkeypatch.setattr(cluster_steps, "_GONE_PATIENCE_SECONDS", 0.5)
    events = await apply(ann, await ann.plan_destroy(ann.select("web/dev")))
    (failed,) = [each for each in events if isinstance(each, StepFailed) and each.address.id == SETTINGS]
    assert HOLD in failed.message and "after 0 s" in failed.message


# --- in memory


@pytest.fixture
async def shopping(tmp_path: Path) -> AsyncIterator[tuple[Session, FakeCluster]]:
    clusters = Clusters("hz")
    async with session(shop(tmp_path / "repo"), clusters) as opened:
        plan = await opened.plan(opened.select("web/dev"))
        await apply(opened, plan)
        yield opened, clusters["hz"]


def gaps_of(found: Any) -> list[tuple[str, bool]]:
    return [(str(each.subject), each.exists) for each in found.gaps if isinstance(each, Gap)]


async def test_a_namespace_that_the_stack_only_uses_counts_too(
    shopping: tuple[Session, FakeCluster], tmp_path: Path
) -> None:
    opened, cluster = shopping
    render = tmp_path / "repo" / "models" / "render.k"
    render.write_text(render.read_text().replace("[_namespace] + ", ""))
    server = tmp_path / "repo" / "models" / "server.k"
    server.write_text(server.read_text().replace('dependsOn = ["v1:Namespace:${space}"]', ""))
    cluster.become(SPACE, Status.TERMINATING)
    cluster.health[SPACE] = (GOING, None)
    found = await opened.diff(opened.select("web/dev"))
    assert (str(SPACE), True) in gaps_of(found)


async def test_what_began_to_be_deleted_since_it_was_planned_is_not_written_to(
    shopping: tuple[Session, FakeCluster], tmp_path: Path
) -> None:
    opened, cluster = shopping
    base = tmp_path / "repo" / "web" / "base" / "base.k"
    base.write_text(base.read_text().replace("red", "blue"))
    plan = await opened.plan(opened.select("web/dev"))
    cluster.health[SETTINGS] = (GOING, None)
    before = list(cluster.calls)
    with pytest.raises(StalePlan, match="is being deleted"):
        await apply(opened, plan)
    assert cluster.calls == before
    # and what was seen to be so when it was planned is not seen as moved
    plan = await opened.plan(opened.select("web/dev"))
    assert (str(SETTINGS), True) in gaps_of(plan)
    end = (await apply(opened, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED


async def test_a_definition_whose_names_are_refused_is_not_done(
    shopping: tuple[Session, FakeCluster], tmp_path: Path
) -> None:
    opened, cluster = shopping
    definition = KubernetesId("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "tools.example.org")
    render = tmp_path / "repo" / "models" / "render.k"
    render.write_text(render.read_text().replace("[_namespace] + ", "[_namespace, _definition] + ").replace(
        "_namespace = {",
        '_definition = {id = "apiextensions.k8s.io/v1:CustomResourceDefinition:tools.example.org", $type = "Kubernetes"'
        ', attributes = {apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition"'
        ', metadata.name = "tools.example.org", spec = {group = "example.org", names.kind = "Tool"}}}\n'
        "_namespace = {",
    ))  # fmt: skip
    refused = Health(Status.FAILED, "ListKindConflict", "its names are taken")
    cluster.health[definition] = (refused, None)
    events = await apply(opened, await opened.plan(opened.select("web/dev")))
    (failed,) = [each for each in events if isinstance(each, StepFailed)]
    assert failed.address.id == definition and "its names are taken" in failed.message


async def test_what_is_being_deleted_is_neither_the_same_nor_without_drift(
    shopping: tuple[Session, FakeCluster],
) -> None:
    from workbench.engine.drift import StackDrift
    from workbench.engine.fleet import StackLook

    opened, cluster = shopping
    cluster.health[SETTINGS] = (GOING, None)
    stack = opened.select("web/dev")
    found = await opened.diff(stack)
    look = StackDrift(stack.path, found.compared_at, found)
    assert not look.is_certain
    assert StackLook(stack.path, found.compared_at, look).sync is Sync.DIFFERENT


async def test_a_deletion_that_only_a_proxy_accepted_is_not_done(
    shopping: tuple[Session, FakeCluster], tmp_path: Path
) -> None:
    opened, cluster = shopping
    render = tmp_path / "repo" / "models" / "render.k"
    render.write_text(render.read_text().replace("for r in server.resources(s, _space)", _WITHOUT_SETTINGS))

    async def accepted(request: Any) -> None:
        return None

    cluster.delete = accepted  # type: ignore[method-assign]  # as a proxy that answers by itself
    events = await apply(opened, await opened.plan(opened.select("web/dev")))
    (failed,) = [each for each in events if isinstance(each, StepFailed)]
    assert failed.address.id == SETTINGS and "it is there as before" in failed.message


_WITHOUT_SETTINGS = 'for r in server.resources(s, _space) if "ConfigMap" not in r.id'
