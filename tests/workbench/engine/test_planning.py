"""Order, guards, confirmation, pruning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runtimes.base import (
    FieldPath,
    Forbidden,
    KubernetesId,
    ListKey,
    NotThere,
    OtherVersion,
    Rejected,
    RuntimeFailure,
    Unreachable,
)
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.world import World, config_map, deployment, namespace, secret
from workbench.engine.approval import approve
from workbench.engine.errors import ConfirmationRequired, Refused, UnresolvedConflict
from workbench.engine.events import Action
from workbench.engine.plan import Level

WEB = KubernetesId("apps/v1", "Deployment", "shop", "web")
SETTINGS = KubernetesId("v1", "ConfigMap", "shop", "settings")

IMAGE: FieldPath = ("spec", "template", "spec", "containers", ListKey((("name", "main"),)), "image")


def waves(plan: object) -> list[list[str]]:
    return [[f"{each.id.kind}/{each.id.name}@{each.cluster}" for each in wave] for wave in plan.waves]  # type: ignore[attr-defined]


async def test_waves_put_everything_after_what_it_needs_in_each_cluster() -> None:
    world = World({"hz": FakeCluster("hz"), "sh": FakeCluster("sh")})
    web = deployment("web", envFrom=[{"configMapRef": {"name": "settings"}}])
    plan = await world.plan(web, config_map("settings", {}), namespace())
    assert waves(plan) == [
        ["Namespace/shop@hz", "Namespace/shop@sh"],
        ["ConfigMap/settings@hz", "ConfigMap/settings@sh"],
        ["Deployment/web@hz", "Deployment/web@sh"],
    ]


async def test_planning_again_over_the_same_world_gives_the_same_id() -> None:
    world = World()
    await world.release(namespace(), deployment("web"))
    one = await world.plan(namespace(), deployment("web", image="web:2"))
    world.hz.touch(WEB)
    assert (await world.plan(namespace(), deployment("web", image="web:2"))).id == one.id, "status is not content"
    world.hz.edit(WEB, ("spec", "replicas"), 7)
    assert (await world.plan(namespace(), deployment("web", image="web:2"))).id != one.id
    assert (await world.plan(namespace(), deployment("web", image="web:3"))).id != one.id


async def test_nothing_to_do_needs_no_confirmation() -> None:
    world = World()
    await world.release(namespace())
    plan = await world.plan(namespace())
    assert plan.is_empty and plan.confirmation.level is Level.NOTHING
    approve(plan, "")


async def test_a_change_needs_a_yes_and_a_protected_stack_its_name() -> None:
    world = World()
    plan = await world.plan(namespace())
    with pytest.raises(ConfirmationRequired) as required:
        approve(plan, "")
    assert required.value.phrase == "yes"
    approve(plan, "yes")
    world.protected = True
    plan = await world.plan(namespace())
    for wrong in ("", "yes", "shop/dev"):
        with pytest.raises(ConfirmationRequired, match="protected"):
            approve(plan, wrong)
    approve(plan, "shop/prod")


async def test_what_the_configuration_no_longer_has_is_deleted_dependents_first_and_last_of_all() -> None:
    world = World()
    web = deployment("web", envFrom=[{"configMapRef": {"name": "settings"}}])
    await world.release(namespace(), web, config_map("settings", {}), *(config_map(f"c{n}", {}) for n in range(9)))
    plan = await world.plan(namespace(), *(config_map(f"c{n}", {"x": "1"}) for n in range(9)))
    assert [each.action for each in plan.steps()] == [Action.UPDATE] * 9 + [Action.DELETE] * 2
    assert waves(plan)[-2:] == [["Deployment/web@hz"], ["ConfigMap/settings@hz"]]
    assert plan.confirmation.level is Level.YES, "two of twelve are few"


async def test_without_pruning_nothing_is_deleted_and_nothing_forgotten() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {}))
    plan = await world.plan(namespace(), prune=False)
    assert plan.is_empty
    plan = await world.plan(namespace(), config_map("new", {}), prune=False)
    await world.apply(plan)
    assert SETTINGS in world.hz.objects
    plan = await world.plan(namespace(), config_map("new", {}))
    assert [str(each.address.id) for each in plan.steps()] == [str(SETTINGS)]


async def test_only_what_the_last_release_made_is_pruned() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {}), config_map("other", {}))
    # deleted and made again by somebody who copied the labels
    body = world.hz.body(SETTINGS)
    del world.hz.objects[SETTINGS]
    world.hz.put(body)
    world.hz.put({**body, "metadata": {**body["metadata"], "name": "copy"}})
    plan = await world.plan(namespace(), config_map("other", {}))
    assert plan.is_empty
    assert not plan.is_certain
    said = {each.subject: each.message for each in plan.gaps if each.exists}
    assert "another object has its name now" in said[SETTINGS]
    assert "no release of this stack recorded here made it" in said[replace(SETTINGS, name="copy")]


@pytest.mark.parametrize(
    ("kept", "gone", "reason"),
    [
        (100, 11, "11 resources are deleted"),
        (3, 2, "2 of 6 resources are deleted"),
        (0, 5, "everything the stack has is deleted"),
    ],
)
async def test_large_deletions_need_the_phrase(kept: int, gone: int, reason: str) -> None:
    world = World()
    keep = [config_map(f"keep{n}", {}) for n in range(kept)]
    ground = [namespace()] if kept else []
    if not kept:
        world.hz.put(namespace())
    await world.release(*ground, *keep, *(config_map(f"gone{n}", {}) for n in range(gone)))
    plan = await world.plan(*ground, *keep)
    assert plan.confirmation.level is Level.PHRASE
    assert reason in plan.confirmation.reasons[0]


async def test_a_namespace_is_never_deleted_on_a_plain_yes() -> None:
    world = World()
    await world.release(namespace("shop"), namespace("old"), *(config_map(f"c{n}", {}) for n in range(20)))
    plan = await world.plan(namespace("shop"), *(config_map(f"c{n}", {}) for n in range(20)))
    assert plan.confirmation.level is Level.PHRASE
    assert "with everything in it" in plan.confirmation.reasons[0]


async def test_a_conflict_refuses_the_plan_unless_it_is_forced() -> None:
    world = World()
    await world.release(namespace(), deployment("web", replicas=2))
    world.hz.edit(WEB, ("spec", "replicas"), 5)
    plan = await world.plan(namespace(), deployment("web", replicas=2))
    assert plan.is_refused
    with pytest.raises(UnresolvedConflict, match=r"spec\.replicas is owned by kubectl-edit since 2026"):
        approve(plan, plan.confirmation.phrase)
    forced = await world.plan(namespace(), deployment("web", replicas=2), force=True)
    assert forced.confirmation.level is Level.PHRASE
    await world.apply(forced)
    assert world.hz.body(WEB)["spec"]["replicas"] == 2


async def test_a_cluster_that_is_away_is_one_problem_and_the_other_is_still_shown() -> None:
    away = FakeCluster("sh")
    away.fail["plan"] = Unreachable("connection refused", target="sh", hint="is it running?")
    world = World({"hz": FakeCluster("hz"), "sh": away})
    plan = await world.plan(namespace(), *(config_map(f"c{n}", {}) for n in range(30)))
    assert [(each.cluster, each.kind, each.address) for each in plan.problems] == [("sh", "Unreachable", None)]
    assert plan.summary.create == 31
    with pytest.raises(Refused, match="connection refused"):
        approve(plan, "yes")


async def test_a_cluster_that_could_not_be_connected_is_a_problem_too() -> None:
    world = World({"hz": Unreachable("no such context")})
    plan = await world.plan(namespace())
    assert [each.message for each in plan.problems] == ["no such context"]
    assert plan.changes == ()


async def test_a_refused_dry_run_is_a_finding_of_its_resource_and_refuses_the_plan() -> None:
    world = World()
    bad = {**config_map("bad", {}), "refuse": "admission says no"}
    plan = await world.plan(namespace(), bad, config_map("good", {}))
    (found,) = plan.problems
    assert (found.kind, found.message, found.address and found.address.id) == (
        Rejected.__name__,
        "admission says no",
        KubernetesId("v1", "ConfigMap", "shop", "bad"),
    )
    assert plan.is_refused
    assert plan.summary.create == 2, "the others are still shown"


async def test_not_being_allowed_to_list_for_pruning_is_a_problem_not_an_empty_list() -> None:
    world = World()
    world.hz.fail["owned"] = Forbidden("may not list")
    plan = await world.plan(namespace())
    assert [each.message for each in plan.problems] == ["may not list"]


async def test_a_custom_resource_is_predicted_while_its_definition_is_not_there() -> None:
    world = World()
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Widget"}, "scope": "Namespaced"},
    }
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}}
    world.hz.fail["plan", "example.com/v1:Widget:shop:w"] = NotThere("no such kind")
    plan = await world.plan(namespace(), widget, definition)
    assert not plan.problems
    assert plan.changes[-1].warnings == (
        "predicted without asking the cluster: its definition is created by the same plan",
    )
    assert waves(plan)[1] == ["Widget/w@hz"]


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        (Rejected("is invalid", causes=(("spec.replicas", "must not be negative"),)), ("spec", "replicas")),
        (
            Rejected("patch object (d/a; apps/v1, Kind=Deployment): .spec.replicas: expected numeric"),
            ("spec", "replicas"),
        ),
        (Rejected('(d/a; v1, Kind=A): .spec.template.spec.containers[name="main"].image: expected string'), IMAGE),
    ],
)
async def test_a_refusal_of_a_field_names_the_line_that_sets_it(refusal: Rejected, field: FieldPath) -> None:
    web = deployment("web", replicas=-1)
    world = World()
    world.hz.fail["plan", "apps/v1:Deployment:shop:web"] = refusal
    plan = await world.plan(namespace(), web)
    (problem,) = plan.problems
    chain = plan.spec.chain(WEB, field)
    assert problem.source == chain and chain != plan.spec.chain(WEB)
    assert problem.message.startswith(refusal.message) and problem.message.endswith(f":{chain[0].line})")


async def test_a_refusal_that_names_no_field_names_no_line() -> None:
    world = World()
    world.hz.fail["plan", "apps/v1:Deployment:shop:web"] = Rejected('admission webhook "a.b" denied: .spec: no')
    (problem,) = (await world.plan(namespace(), deployment("web"))).problems
    assert problem.message == 'admission webhook "a.b" denied: .spec: no' and not problem.source


@pytest.mark.parametrize(
    "refusal", [Rejected(".spec.width: not in the schema"), OtherVersion("v1 is served", served="example.com/v1")]
)
async def test_what_the_present_definition_refuses_and_a_changed_one_might_not_names_the_way(
    refusal: RuntimeFailure,
) -> None:
    """A definition and what needs its change are one edit, and two applies: the cluster has the old one in between."""

    def definition(version: str) -> dict[str, Any]:
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Widget"}, "scope": "Namespaced", "version": version},
        }

    world = World()
    await world.release(namespace(), definition("v1"))
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}}
    world.hz.fail["plan", "example.com/v1:Widget:shop:w"] = refusal
    (changed,) = (await world.plan(namespace(), definition("v2"), widget)).problems
    assert changed.message == refusal.message
    assert changed.hint.endswith("apply it first, --only CustomResourceDefinition/widgets.example.com")
    (unchanged,) = (await world.plan(namespace(), definition("v1"), widget)).problems
    assert unchanged.hint == refusal.hint, "what is said of it elsewhere"


async def test_labels_of_ownership_are_part_of_what_is_applied_but_not_of_the_summary() -> None:
    world = World()
    plan = await world.plan(namespace(), secret("key", {"k": "cw=="}))
    change = plan.steps()[1]
    assert change.resource is not None
    assert change.resource.attributes["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "workbench",
        "workbench.konfig.io/project": "shop",
        "workbench.konfig.io/stack": "prod",
    }
    assert plan.summary.create == 2
