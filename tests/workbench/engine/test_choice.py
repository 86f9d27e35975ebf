"""Parts of a plan: what is chosen, what comes along, what is left out with what it needs, and what becomes of it."""

from __future__ import annotations

import random

import pytest

from runtimes.base import Address, KubernetesId, Rejected, RuntimeType, parse_id
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.fake_workspace import FakeWorkspace
from tests.workbench.engine.world import World, config_map, deployment, namespace, resource
from workbench.engine.approval import approve
from workbench.engine.choice import BadChoice, Choice, Selector, Subject
from workbench.engine.errors import Refused
from workbench.engine.plan import Level, Plan

LABELS = {"metadata": {"labels": {"app.kubernetes.io/component": "web"}}}
WEB = Subject(Address("hz", KubernetesId("apps/v1", "Deployment", "shop", "web")), LABELS)
ROLE = Subject(Address("sh", KubernetesId("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:web")), {})
DB = Subject(Address("terraform", parse_id("acme:cloud:thing:db", RuntimeType.TERRAFORM)), {})
EVERY = (WEB, ROLE, DB)


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("Deployment/web", [WEB]),
        ("Deployment/*", [WEB]),
        ("*/web", [WEB]),
        ("shop/Deployment/web", [WEB]),
        ("apps/v1:Deployment:shop:web", [WEB]),
        ("apps/v1:Deployment:shop:web@hz", [WEB]),
        ("Deployment/web@hz", [WEB]),
        ("ClusterRole/system:web", [ROLE]),
        ("thing/db", [DB]),
        ("acme:cloud:thing:db", [DB]),
        ("@hz", [WEB]),
        ("@*", [WEB, ROLE, DB]),
        ("*@terraform", [DB]),
        ("component=web", [WEB]),
        ("component=web@h*", [WEB]),
        ("kind=thing", [DB]),
        ("kind=Cluster*", [ROLE]),
        ("namespace=shop", [WEB]),
        ("cluster=sh", [ROLE]),
        ("cluster=*", [WEB, ROLE]),
        ("runtime=terraform", [DB]),
        ("runtime=kubernetes", [WEB, ROLE]),
        ("deployment/web", []),
        ("Deployment/web@sh", []),
        ("component=w", []),
    ],
)
def test_a_selector_fits(text: str, fitting: list[Subject]) -> None:
    selector = Selector.parse(text)
    assert [each for each in EVERY if selector.fits(each)] == fitting


@pytest.mark.parametrize("text", ["", " ", "web", "nothing=web", "component=", "Deployment/web@", "=web", "@"])
def test_what_is_no_selector_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(BadChoice) as refused:
        Selector.parse(text)
    assert "component=" in refused.value.hint


@pytest.mark.parametrize(("text", "near"), [("Deployment/wbe", "Deployment/web"), ("component=wep", "component=web")])
def test_a_selector_that_fits_nothing_is_refused_and_names_what_is_near(text: str, near: str) -> None:
    for choice in (Choice.of([text], []), Choice.of([], [text])):
        with pytest.raises(BadChoice, match="fits nothing") as refused:
            choice.of_plan(EVERY, {}, {})
        assert near in refused.value.hint


def test_whatever_is_chosen_has_what_it_needs_and_nothing_is_lost() -> None:
    """Over random graphs: chosen and left out are everything, once; the chosen need nothing that is left out."""
    dice = random.Random(20261123)
    for _ in range(300):
        ids = [KubernetesId("v1", "ConfigMap", "shop", f"c{n}") for n in range(dice.randint(1, 9))]
        nodes = [Address("hz", each) for each in ids]
        needs = {each: frozenset(dice.sample(nodes[:n], dice.randint(0, n))) for n, each in enumerate(nodes)}
        only = [f"ConfigMap/{each.name}" for each in dice.sample(ids, dice.randint(0, len(ids)))]
        skip = [f"ConfigMap/{each.name}" for each in dice.sample(ids, dice.randint(0, len(ids) - 1))]
        subjects = [Subject(each, {}) for each in nodes]
        part = Choice.of(only, skip).of_plan(subjects, dict.fromkeys(nodes, "update"), needs)
        out = {each.address for each in part.left_out}
        assert part.resources | out == set(nodes) and not part.resources & out
        assert all(needs[each] <= part.resources for each in part.resources)
        assert not {f"ConfigMap/{each.id.name}" for each in part.resources} & set(skip), "skipped is skipped"
        asked = {f"ConfigMap/{each.id.name}" for each in part.resources - part.along.keys()}
        assert not only or asked <= set(only), "nothing comes unasked that nobody needs"
        for each in part.left_out:
            assert each.because is None or f"ConfigMap/{each.because.id.name}" in skip


def steps(plan: Plan) -> list[str]:
    return [f"{each.action.value} {each.address.id.name}@{each.address.cluster}" for each in plan.steps()]


def left(plan: Plan) -> dict[str, str]:
    return {each.address.id.name: each.because.id.name if each.because else "" for each in plan.left_out}


def web(settings: str = "settings", image: str = "web:1") -> object:
    return deployment("web", image=image, envFrom=[{"configMapRef": {"name": settings}}])


async def test_what_is_needed_comes_along_and_is_named() -> None:
    world = World()
    plan = await world.plan(namespace(), config_map("settings", {}), web(), config_map("other", {}), only=["*/web"])
    assert steps(plan) == ["create shop@hz", "create settings@hz", "create web@hz"]
    assert left(plan) == {"other": ""}
    assert any("ConfigMap:shop:settings@hz comes along" in each and "Deployment" in each for each in plan.notes)
    assert not plan.is_as_configured


async def test_what_needs_the_skipped_is_left_out_with_it() -> None:
    world = World()
    every = namespace(), config_map("settings", {}), web(), config_map("other", {})
    plan = await world.plan(*every, skip=["ConfigMap/settings"])
    assert steps(plan) == ["create shop@hz", "create other@hz"]
    assert left(plan) == {"settings": "", "web": "settings"}
    none = await world.plan(*every, only=["*/web"], skip=["ConfigMap/settings"])
    assert none.is_empty and none.is_certain and not none.is_as_configured, "nothing done is not all done"
    assert none.confirmation.level is Level.NOTHING


async def test_what_is_skipped_and_as_it_should_be_keeps_nothing_from_being_done() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {}), web())
    plan = await world.plan(namespace(), config_map("settings", {}), web(image="web:2"), skip=["kind=ConfigMap"])
    assert steps(plan) == ["update web@hz"] and not plan.left_out and not plan.is_part


async def test_a_part_is_released_and_the_whole_plan_is_then_what_is_left() -> None:
    world = World({"hz": FakeCluster("hz"), "sh": FakeCluster("sh")})
    await world.release(namespace(), config_map("a", {"x": "1"}), config_map("b", {"x": "1"}), config_map("gone", {}))
    after = namespace(), config_map("a", {"x": "2"}), config_map("b", {"x": "2"}), config_map("new", {})
    part = await world.plan(*after, only=["ConfigMap/a@hz", "ConfigMap/new"])
    assert steps(part) == ["update a@hz", "create new@hz", "create new@sh"]
    await world.apply(part)
    rest = await world.plan(*after)
    assert sorted(steps(rest)) == ["delete gone@hz", "delete gone@sh", "update a@sh", "update b@hz", "update b@sh"]
    assert not any(each.has_drifted for each in rest.changes), "the record has of the others what it had"
    await world.apply(rest)
    assert (await world.plan(*after)).is_as_configured


async def test_a_deletion_is_not_dragged_in_nor_drags_what_only_comes_before_it() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {}), web(), config_map("old", {}), config_map("a", {}))
    after = namespace(), config_map("settings", {}), web(), config_map("a", {"x": "1"})
    assert steps(await world.plan(*after, only=["*/a"])) == ["update a@hz"]
    assert steps(await world.plan(*after, only=["*/old"])) == ["delete old@hz"]


async def test_before_something_is_deleted_what_uses_it_comes_along() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {}), web(), config_map("a", {}))
    after = namespace(), config_map("newer", {}), web("newer"), config_map("a", {"x": "1"})
    plan = await world.plan(*after, only=["ConfigMap/settings"])
    assert steps(plan) == ["create newer@hz", "update web@hz", "delete settings@hz"]
    kept = await world.plan(*after, skip=["Deployment/web"])
    assert "delete settings@hz" not in steps(kept) and left(kept)["settings"] == "web", "a pod would not start again"


async def test_what_a_cluster_refuses_is_skipped_and_the_others_are_planned() -> None:
    world = World()
    await world.release(namespace(), config_map("settings", {}), web())
    bad = KubernetesId("v1", "ConfigMap", "shop", "settings")
    world.hz.fail["plan", str(bad)] = Rejected("no", target="hz")
    after = namespace(), config_map("settings", {"x": "1"}), web(image="web:2"), config_map("other", {})
    assert (await world.plan(*after)).is_refused
    plan = await world.plan(*after, skip=["ConfigMap/settings"])
    assert not plan.is_refused and steps(plan) == ["create other@hz"]
    assert left(plan) == {"settings": "", "web": "settings"}, "what needs the refused may not be right without it"
    assert [each.what for each in plan.left_out if each.address.id == bad] == ["refused"]
    with pytest.raises(Refused):
        approve(await world.plan(*after, only=["Deployment/web"]), "yes")


async def test_a_conflict_of_what_is_left_out_refuses_nothing() -> None:
    world = World()
    await world.release(namespace(), deployment("web", replicas=2), deployment("api"))
    world.hz.edit(KubernetesId("apps/v1", "Deployment", "shop", "web"), ("spec", "replicas"), 7, "hpa")
    after = namespace(), deployment("web", replicas=3), deployment("api", image="web:2")
    assert (await world.plan(*after)).is_refused
    plan = await world.plan(*after, skip=["*/web"])
    assert not plan.is_refused and steps(plan) == ["update api@hz"]


async def test_only_what_is_chosen_needs_its_confirmation() -> None:
    world = World()
    await world.release(namespace(), *(config_map(f"c{n}", {}) for n in range(9)))
    after = (config_map("c0", {"x": "1"}),)
    assert (await world.plan(*after)).confirmation.level is Level.PHRASE
    assert (await world.plan(*after, only=["*/c0"])).confirmation.level is Level.YES
    assert (await world.plan(*after, only=["Namespace/*"])).confirmation.level is Level.PHRASE


async def test_the_same_choice_over_the_same_world_gives_the_same_id_and_another_one_another() -> None:
    world = World()
    every = namespace(), config_map("a", {}), config_map("b", {})
    assert (await world.plan(*every, only=["*/a"])).id == (await world.plan(*every, only=["*/a"])).id
    ids = {(await world.plan(*every, only=only)).id for only in ([], ["*/a"], ["*/b"], ["*"])}
    assert len(ids) == 4


async def test_terraform_is_done_in_part_and_left_out_as_a_whole() -> None:
    world = World()
    world.workspace = FakeWorkspace()
    await world.release(namespace(), resource("old"), resource("db", size=1), config_map("a", {}))
    uses = config_map("b", {"host": "$kusion_path.acme:cloud:thing:db.name"})
    after = namespace(), resource("db", size=2), resource("cache"), config_map("a", {"x": "1"}), uses
    plan = await world.plan(*after, only=["runtime=kubernetes"], skip=["runtime=terraform"])
    assert steps(plan) == ["update a@hz"] and left(plan)["b"] == "db"
    await world.apply(plan)
    plan = await world.plan(*after, only=["ConfigMap/b"])
    assert steps(plan) == ["update db@terraform", "create b@hz"]
    await world.apply(plan)
    rest = await world.plan(*after)
    assert sorted(steps(rest)) == ["create cache@terraform", "delete old@terraform"]
    await world.apply(rest)
    assert (await world.plan(*after)).is_as_configured


async def test_what_is_to_be_replaced_is_made_again_and_only_where_that_was_said() -> None:
    world = World({"hz": FakeCluster("hz"), "sh": FakeCluster("sh")})
    every = namespace(), config_map("a", {}), config_map("b", {})
    await world.release(*every)
    at = Address("hz", KubernetesId("v1", "ConfigMap", "shop", "a"))
    before = {each.address: each.identity for each in (await world.plan(*every)).changes}
    plan = await world.plan(*every, replaces=frozenset([at]))
    assert steps(plan) == ["replace a@hz"] and any("was requested" in each for each in plan.notes)
    assert plan.id != (await world.plan(*every)).id
    await world.apply(plan)
    after = await world.plan(*every)
    assert after.is_as_configured, "asked for once, done once"
    assert {each.address for each in after.changes if each.identity != before[each.address]} == {at}


async def test_a_holder_of_others_is_replaced_only_after_its_phrase() -> None:
    world = World()
    await world.release(namespace())
    at = Address("hz", KubernetesId("v1", "Namespace", "", "shop"))
    assert (await world.plan(namespace(), replaces=frozenset([at]))).confirmation.level is Level.PHRASE
