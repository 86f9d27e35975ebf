"""What the workspace has lost is told to it, and what it says of that asks for more than a yes, or refuses the plan."""

from __future__ import annotations

import pytest

from runtimes.base import Address, Finding, RuntimeType, TerraformId
from tests.workbench.engine.fake_cluster import EPOCH
from tests.workbench.engine.fake_workspace import FakeWorkspace
from tests.workbench.engine.world import World, namespace, resource
from workbench.engine.approval import approve
from workbench.engine.errors import ConfirmationRequired
from workbench.engine.events import Action, StepFailed, StepFinished
from workbench.engine.plan import Level
from workbench.engine.release import Phase, Release, ReleasedResource, StepState, fold, in_workspace

THING = TerraformId("acme", "cloud", "thing", "db")
PUT_BACK = (
    "the state file was empty and was put back from terraform.tfstate.last, as it was at serial 7 with 200 resources"
)


def with_workspace() -> tuple[World, FakeWorkspace]:
    world = World()
    workspace = world.workspace = FakeWorkspace()
    return world, workspace


async def test_the_workspace_is_told_what_the_last_release_left_each_time_it_is_asked() -> None:
    world, workspace = with_workspace()
    await world.release(namespace(), resource("db"))
    assert workspace.released == [{}, {}, {}]
    workspace.released.clear()
    await world.release(namespace(), resource("db"), resource("cache"))
    assert workspace.released == [{"db": "t-1"}] * 3, "planned, checked and applied"


async def test_a_state_that_was_put_back_asks_for_the_phrase() -> None:
    world, workspace = with_workspace()
    workspace.cautions.append(PUT_BACK)
    plan = await world.plan(namespace(), resource("db"))
    assert plan.confirmation.level is Level.PHRASE and plan.confirmation.reasons == (f"terraform: {PUT_BACK}",)
    assert not any(PUT_BACK in each for each in plan.warnings), "said once"
    with pytest.raises(ConfirmationRequired, match="with 200 resources"):
        approve(plan, "yes")
    approve(plan, "shop/prod")


async def test_a_state_that_was_put_back_is_said_where_nothing_changes_and_in_a_diff() -> None:
    world, workspace = with_workspace()
    await world.release(namespace(), resource("db"))
    workspace.cautions.append(PUT_BACK)
    plan = await world.plan(namespace(), resource("db"))
    assert plan.is_empty and f"terraform: {PUT_BACK}" in plan.warnings
    assert f"terraform: {PUT_BACK}" in (await world.diff(namespace(), resource("db"))).warnings


async def test_what_cannot_be_found_out_refuses_the_plan_with_the_count() -> None:
    world, workspace = with_workspace()
    workspace.findings.append(Finding(True, "the state has lost 3 of 3 resources", "plan again with --accept-lost"))
    plan = await world.plan(namespace())
    assert plan.is_refused
    (guard,) = [each for each in plan.guards if not each.passed]
    assert "lost 3 of 3" in guard.message and plan.problems[0].hint == "plan again with --accept-lost"


BODY = {"name": "db"}


@pytest.mark.parametrize(
    ("state", "action", "former", "is_there"),
    [
        (StepState.DONE, Action.CREATE, None, True),
        (StepState.DONE, Action.REPLACE, BODY, True),
        (StepState.KEPT, Action.NONE, BODY, True),
        (StepState.SKIPPED, Action.UPDATE, BODY, True),
        (StepState.FAILED, Action.UPDATE, BODY, True),
        (StepState.INTENDED, Action.UPDATE, BODY, True),
        (StepState.INTENDED, Action.CREATE, None, False),
        (StepState.FAILED, Action.CREATE, BODY, False),
        (StepState.FAILED, Action.REPLACE, BODY, False),
        (StepState.INTENDED, Action.DELETE, BODY, False),
        (StepState.FAILED, Action.DELETE, BODY, False),
        (StepState.INTENDED, Action.IMPORT, None, False),
    ],
)
def test_a_release_says_of_terraform_what_is_there_for_sure(
    state: StepState, action: Action, former: dict[str, str] | None, is_there: bool
) -> None:
    address = Address("terraform", THING)
    is_unmade = state is StepState.FAILED and action in (Action.CREATE, Action.REPLACE)
    uid = "" if is_unmade else "t-1"
    each = ReleasedResource(address, RuntimeType.TERRAFORM, action, state, uid, BODY, former)
    release = Release("shop/prod", 1, Phase.PARTIAL, "p-1", "ann", "box", EPOCH, None, {address: each})
    assert in_workspace(release) == ({THING: "t-1"} if is_there else {})
    assert in_workspace(None) == {}


@pytest.mark.parametrize("action", [Action.CREATE, Action.DELETE])
def test_what_was_done_and_is_in_no_state_has_failed_and_is_not_forgotten(action: Action) -> None:
    address = Address("terraform", THING)
    former = BODY if action is Action.DELETE else None
    each = ReleasedResource(address, RuntimeType.TERRAFORM, action, StepState.INTENDED, "", BODY, former)
    release = Release("shop/prod", 1, Phase.APPLYING, "p-1", "ann", "box", EPOCH, None, {address: each})
    release = fold(release, StepFinished(EPOCH, address, action, 1.0, "t-1"))
    release = fold(release, StepFailed(EPOCH, address, action, 1.0, "RuntimeFailure", "the state does not say so"))
    assert [type(each) for each in release.events] == [StepFailed], "it is one step"
    assert in_workspace(release) == ({THING: "t-1"} if action is Action.CREATE else {})
