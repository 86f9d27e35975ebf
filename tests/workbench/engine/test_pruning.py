"""What is there and not configured: deleted where all sources agree, said where one knows of it, never passed over."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from runtimes.base import Address, Forbidden, KubernetesId, RuntimeFailure
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.world import STACK, World, config_map, deployment, namespace, resource
from workbench.engine.compiled import CompileInputs
from workbench.engine.events import Action
from workbench.engine.plan import Level
from workbench.engine.planning import make_plan

OLD = KubernetesId("v1", "ConfigMap", "shop", "old")


async def world_with(*, is_labelled: bool, recorded: str, is_listable: bool) -> World:
    """A released stack, whose object `old` is in its configuration no more."""
    world = World()
    await world.release(namespace(), config_map("old", {"a": "1"}))
    assert world.prior is not None
    if not is_labelled:
        world.hz.edit(OLD, ("metadata", "labels", "workbench.konfig.io/stack"), "by-hand")
    address = Address("hz", OLD)
    match recorded:
        case "another":
            other = replace(world.prior.resources[address], uid="somebody-else")
            world.prior = replace(world.prior, resources={**world.prior.resources, address: other})
        case "no":
            left = {key: each for key, each in world.prior.resources.items() if key != address}
            world.prior = replace(world.prior, resources=left)
        case "no release":
            world.prior = None
    if not is_listable:
        world.hz.unlisted.add("ConfigMap")
    return world


@pytest.mark.parametrize(
    ("is_labelled", "recorded", "is_listable"),
    [*product([True, False], ["this one", "another", "no", "no release"], [True, False])],
)
async def test_no_step_means_nothing_to_do_only_where_no_source_knows_of_anything(
    is_labelled: bool, recorded: str, is_listable: bool
) -> None:
    world = await world_with(is_labelled=is_labelled, recorded=recorded, is_listable=is_listable)
    plan = await world.plan(namespace())
    deleted = [each.address.id for each in plan.steps() if each.action is Action.DELETE]
    assert deleted == ([OLD] if is_labelled and recorded == "this one" else [])

    # what is known of it: by a list of labels, or by a release that names it
    can_be_seen = is_listable or recorded in ("this one", "another")
    is_ours = (is_labelled and can_be_seen) or recorded == "this one"
    assert any(each.subject == OLD and each.exists for each in plan.gaps) == (is_ours and not deleted)
    assert plan.is_certain == (not plan.gaps)
    if not is_listable and recorded == "no release":
        assert any(not each.exists and "ConfigMap" in each.message for each in plan.gaps), "it can't be known"
    if not is_listable and recorded != "no release":
        assert any("may not be listed (ConfigMap)" in each for each in plan.warnings)
    if is_listable and not is_labelled and recorded in ("no", "no release", "another"):
        assert plan.is_certain, "somebody else's object is nobody's gap"


@pytest.mark.parametrize("is_refused", [False, True])
async def test_what_a_server_serves_that_is_away_is_no_question_of_rights(is_refused: bool) -> None:
    world = await world_with(is_labelled=True, recorded="no release", is_listable=not is_refused)
    world.hz.away = {"all of metrics.example/v1": "503"}
    (gap,) = [each for each in (await world.plan(namespace())).gaps if not each.exists]
    assert (
        "all of metrics.example/v1: 503 could not be listed, so what the stack has of them is not known" in gap.message
    )
    assert ("1 kind may not be listed (ConfigMap)" in gap.message) == is_refused
    assert ("permission" in gap.hint) == is_refused and "kubectl get apiservices" in gap.hint


async def test_what_a_release_made_and_can_not_be_read_is_not_taken_for_gone() -> None:
    """The server behind its kind is away: all else is told."""
    world = await world_with(is_labelled=True, recorded="this one", is_listable=False)
    world.hz.fail["read", str(OLD)] = RuntimeFailure("database is away", target="hz", hint="wait")
    plan = await world.plan(namespace())
    assert [(each.subject, each.message, each.hint) for each in plan.gaps] == [
        (OLD, "the last release made it, and whether it is still there is not known: database is away", "wait")
    ]
    assert not plan.is_certain and not plan.problems


async def test_what_another_stack_took_over_is_not_called_nobodys() -> None:
    """To delete it by hand would take away what that stack runs."""
    world = await world_with(is_labelled=True, recorded="this one", is_listable=True)
    world.hz.edit(OLD, ("metadata", "labels", "workbench.konfig.io/stack"), "other", manager="workbench")
    (gap,) = (await world.plan(namespace())).gaps
    assert (gap.subject, gap.owner, gap.exists) == (OLD, "shop/other", True)
    assert gap.message == "the last release made it, and its labels say that shop/other has it now: left to that"
    assert "by hand" not in gap.hint


@pytest.mark.parametrize("recorded", ["another", "no", "no release"])
async def test_what_labels_alone_know_is_deleted_where_a_person_says_so(recorded: str) -> None:
    world = await world_with(is_labelled=True, recorded=recorded, is_listable=True)
    found = await world.diff(namespace(), adopts=True)
    assert [(each.address.id, each.action) for each in found.different()] == [(OLD, Action.DELETE)]
    assert found.is_certain


async def test_a_deletion_that_is_not_allowed_is_found_before_anything_is_done() -> None:
    world = World()
    await world.release(namespace(), deployment("web"), config_map("c", {"a": "1"}))
    gone = KubernetesId("v1", "ConfigMap", "shop", "c")
    world.hz.undeletable[gone] = "our user may not delete it"
    plan = await world.plan(namespace(), deployment("web"))
    assert [(each.address.id, each.kind) for each in plan.problems if each.address] == [(gone, "Forbidden")]
    assert plan.is_refused and [each.name for each in plan.guards if not each.passed] == ["dry run accepted"]
    world.hz.undeletable.clear()
    world.hz.fail["may delete"] = Forbidden("reviews are not served", target="hz")
    plan = await world.plan(namespace(), deployment("web"))
    assert not plan.is_refused
    assert plan.warnings == ("hz: whether 1 deletions are allowed is not known: reviews are not served",)


async def test_a_cluster_that_cannot_be_asked_leaves_no_claim() -> None:
    from runtimes.base import Unreachable

    world = World({"hz": FakeCluster("hz"), "sh": FakeCluster("sh")})
    await world.release(namespace())
    world.clusters["sh"] = Unreachable("connection refused", target="sh")
    plan = await world.plan(destroys=True)
    assert plan.is_refused and not plan.is_certain


async def test_objects_of_another_stack_are_taken_over_only_by_the_phrase() -> None:
    world = World()
    await world.release(namespace(), deployment("web"))
    world.prior = None
    taking = replace(world.stack, path=replace(STACK, stack=type(STACK.stack)("preview")))
    found = await world.diff(namespace(), deployment("web"), stack=taking.path)
    assert {each.other_owner for each in found.changes} == {"shop/prod"}
    plan = make_plan(
        found, taking, prior=None, revision=1, inputs=CompileInputs(), force=False, prune=True, read_only="",
        salt=b"s" * 32, now=world.now(),
    )  # fmt: skip
    assert plan.confirmation.level is Level.PHRASE
    assert "2 of the objects written carry the labels of another stack, shop/prod" in plan.confirmation.reasons[0]


async def test_creating_what_may_be_there_already_takes_the_phrase() -> None:
    from tests.workbench.engine.fake_workspace import FakeWorkspace

    world = World(workspace=FakeWorkspace())
    bodies = (namespace(), resource("db"), resource("mail"))
    assert (await world.plan(*bodies)).confirmation.level is Level.YES, "nothing speaks for it"
    await world.release(*bodies)
    world.prior, world.workspace = None, FakeWorkspace()  # another machine: no release, and a state of its own
    plan = await world.plan(*bodies)
    assert plan.confirmation.level is Level.PHRASE
    (reason,) = plan.confirmation.reasons
    assert reason.startswith("2 Terraform resources are created, and may be there already")
    assert "what is in its clusters carries its labels (1)" in reason


async def test_a_list_that_lacks_what_was_read_is_not_whole() -> None:
    """Behind a proxy that filters lists, what is left over would be nothing to do."""
    world = World()
    await world.release(namespace(), config_map("kept", {"a": "1"}))
    assert (await world.plan(namespace(), config_map("kept", {"a": "1"}))).is_certain
    world.hz.hidden.add(KubernetesId("v1", "ConfigMap", "shop", "kept"))
    plan = await world.plan(namespace(), config_map("kept", {"a": "1"}))
    (gap,) = plan.gaps
    assert not plan.is_certain and "its list of ConfigMap lacks v1:ConfigMap:shop:kept" in gap.message
