"""What others did to a released stack is drift, all of it and nothing else, in clusters and in Terraform alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runtimes.base import Address, KubernetesId, ResourceId
from tests.workbench.engine.fake_cluster import EPOCH, FakeCluster
from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.engine.world import World, config_map, namespace, resource
from workbench.engine.drift import StackDrift
from workbench.engine.events import Action
from workbench.engine.release import StepState
from workbench.present import diff, documents
from workbench.present.glyphs import UNICODE
from workbench.project import StackPath

STACK = (namespace(), config_map("settings", {"a": "1"}), resource("db", size=1), resource("mail", size=1))
SETTINGS = KubernetesId("v1", "ConfigMap", "shop", "settings")


def in_place(id_: ResourceId) -> Address:
    return Address("hz" if isinstance(id_, KubernetesId) else "terraform", id_)


async def released() -> tuple[World, FakeWorkspace]:
    workspace = FakeWorkspace()
    world = World({"hz": FakeCluster("hz")}, workspace=workspace)
    await world.release(*STACK)
    return world, workspace


def deleted(id_: ResourceId) -> Callable[[World, FakeWorkspace], None]:
    def act(world: World, workspace: FakeWorkspace) -> None:
        (world.hz.objects if isinstance(id_, KubernetesId) else workspace.cloud).pop(id_)

    return act


def made_again(world: World, workspace: FakeWorkspace) -> None:
    body = world.hz.body(SETTINGS)
    world.hz.objects.pop(SETTINGS)
    world.hz.put(body)


def forgotten(world: World, workspace: FakeWorkspace) -> None:
    """Found gone by terraform while it applied something else: its state has nothing of it afterwards."""
    workspace.cloud.pop(thing("db"))
    workspace.state.pop(thing("db"))


def edited(world: World, workspace: FakeWorkspace) -> None:
    world.hz.edit(SETTINGS, ("data", "a"), "2")


def edited_in_the_cloud(world: World, workspace: FakeWorkspace) -> None:
    workspace.cloud[thing("db")]["size"] = 2


@pytest.mark.parametrize(
    ("deed", "id_", "is_gone"),
    [
        (edited, SETTINGS, False),
        (edited_in_the_cloud, thing("db"), False),
        (deleted(SETTINGS), SETTINGS, True),
        (deleted(thing("db")), thing("db"), True),
        (forgotten, thing("db"), True),
        (made_again, SETTINGS, True),
    ],
)
@pytest.mark.parametrize("is_changed", [False, True])
async def test_whatever_somebody_does_is_drift_whatever_the_configuration_says_by_now(
    deed: Callable[[World, FakeWorkspace], None], id_: ResourceId, is_gone: bool, is_changed: bool
) -> None:
    world, workspace = await released()
    assert (await world.diff(*STACK)).drift.changes == ()
    deed(world, workspace)
    # the configuration goes on meanwhile: something new, something else said of what was not touched
    more = (config_map("new", {}), resource("new", size=1)) if is_changed else ()
    found = (await world.diff(*STACK, *more)).drift
    assert [(each.address, each.was_deleted) for each in found.changes] == [(in_place(id_), is_gone)]
    assert found.is_different and found.summary.drift >= 1
    assert bool(found.changes[0].because) == is_gone
    assert not list(found.undecided())


async def test_where_a_place_has_lost_track_of_what_exists_nobody_knows_that_there_is_no_drift() -> None:
    world, workspace = await released()
    assert StackDrift(StackPath.parse("shop/prod"), EPOCH, await world.diff(*STACK)).is_certain
    workspace.cautions.append("the state has lost 1 of 1 resources: found, and taken over again")
    look = StackDrift(StackPath.parse("shop/prod"), EPOCH, await world.diff(*STACK))
    assert not look.is_certain and not look.has_drifted
    assert look.diff is not None and documents.diff(look.diff, Path("/"), drift_only=True)["status"] == "unknown"
    assert "what exists is not known for sure" in str(diff.drift_line(look.diff, UNICODE))


async def test_what_the_configuration_does_is_no_drift() -> None:
    world, _ = await released()
    space, _, db, _ = STACK
    found = await world.diff(space, config_map("settings", {"a": "2"}), {**db, "attributes": {"name": "db", "size": 5}})
    assert {each.action for each in found.different()} == {Action.UPDATE, Action.DELETE}
    assert found.drift.changes == () and not found.drift.is_different


async def test_without_a_release_what_is_not_there_may_be_new_or_deleted() -> None:
    world, workspace = await released()
    deleted(SETTINGS)(world, workspace)
    forgotten(world, workspace)
    world.prior = None
    found = await world.diff(*STACK)
    assert found.drift.changes == ()
    assert {each.address.id for each in found.undecided()} == {SETTINGS, thing("db")}


@pytest.mark.parametrize(
    ("action", "state", "is_certain"),
    [
        (Action.CREATE, StepState.INTENDED, False),
        (Action.CREATE, StepState.FAILED, False),
        (Action.REPLACE, StepState.INTENDED, False),
        (Action.DELETE, StepState.FAILED, False),
        (Action.UPDATE, StepState.INTENDED, True),
        (Action.UPDATE, StepState.FAILED, True),
        (Action.DELETE, StepState.SKIPPED, True),
        (Action.NONE, StepState.KEPT, True),
    ],
)
async def test_what_a_release_did_not_leave_for_certain_was_not_deleted_by_somebody(
    action: Action, state: StepState, is_certain: bool
) -> None:
    world, workspace = await released()
    assert world.prior is not None
    address = in_place(SETTINGS)
    ended = replace(world.prior.resources[address], action=action, state=state)
    world.prior = replace(world.prior, resources={**world.prior.resources, address: ended})
    deleted(SETTINGS)(world, workspace)
    found = await world.diff(*STACK)
    assert [each.address for each in found.drift.changes] == ([address] if is_certain else [])
