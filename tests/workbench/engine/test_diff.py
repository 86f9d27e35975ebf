"""Whose doing each difference is, and how it is shown."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kcl.records import replace
from runtimes.base import Basis, KubernetesId, ListKey, format_path
from runtimes.kubernetes.predict import _unchanged
from tests.workbench.engine.world import World, config_map, deployment, namespace, secret
from workbench.engine.changes import Change, ChangeClass, Op
from workbench.engine.diff import differences, sensitive
from workbench.engine.events import Action
from workbench.engine.masking import LAST_APPLIED, Masked

WEB = KubernetesId("apps/v1", "Deployment", "shop", "web")
SETTINGS = KubernetesId("v1", "ConfigMap", "shop", "settings")
KEY = KubernetesId("v1", "Secret", "shop", "key")
MAIN = ListKey((("name", "main"),))
IMAGE = ("spec", "template", "spec", "containers", MAIN, "image")


async def released(*bodies: Any) -> World:
    world = World()
    await world.release(namespace(), *bodies)
    return world


async def change_of(world: World, id_: KubernetesId, *bodies: Any) -> Change:
    diff = await world.diff(namespace(), *bodies)
    return next(each for each in diff.changes if each.address.id == id_)


def lines(change: Change) -> list[str]:
    return [
        f"{each.op} {format_path(each.path)} {each.before} -> {each.after} {each.class_}"
        + (f" by {each.actor.manager}" if each.actor else "")
        for each in change.fields
    ]


async def test_the_same_configuration_again_is_no_change() -> None:
    world = await released(
        deployment("web", replicas=2), config_map("settings", {"a": "1"}), secret("key", {"k": "cw=="})
    )
    diff = await world.diff(
        namespace(), deployment("web", replicas=2), config_map("settings", {"a": "1"}), secret("key", {"k": "cw=="})
    )
    assert [each.action for each in diff.changes] == [Action.NONE] * 4
    assert not diff.is_different


async def test_a_changed_configuration_is_intended_and_knows_its_source() -> None:
    world = await released(deployment("web"))
    change = await change_of(world, WEB, deployment("web", image="web:2"))
    assert lines(change) == ["~ spec.template.spec.containers[name=main].image web:1 -> web:2 intended"]
    (image,) = change.fields
    assert image.restarts and change.restarts
    assert image.source[0].line == 7, "one line deeper for each step, the element by its index"


async def test_a_changed_live_object_is_drift_with_who_and_when() -> None:
    world = await released(deployment("web", replicas=2))
    world.hz.edit(WEB, ("spec", "replicas"), 5)
    change = await change_of(world, WEB, deployment("web", replicas=2))
    assert lines(change) == ["~ spec.replicas 5 -> 2 drift by kubectl-edit"]
    (replicas,) = change.fields
    assert replicas.is_conflict and replicas.actor is not None and replicas.actor.when == world.hz.now
    assert not replicas.restarts


async def test_both_changed_is_intended_and_names_whom_it_overrides() -> None:
    world = await released(deployment("web", replicas=2))
    world.hz.edit(WEB, ("spec", "replicas"), 5)
    change = await change_of(world, WEB, deployment("web", replicas=3))
    assert lines(change) == ["~ spec.replicas 5 -> 3 intended by kubectl-edit"]


async def test_without_a_record_a_field_taken_over_from_us_is_drift() -> None:
    world = await released(deployment("web", replicas=2))
    world.hz.edit(WEB, ("spec", "replicas"), 5)
    world.prior = None
    change = await change_of(world, WEB, deployment("web", replicas=2))
    assert lines(change) == ["~ spec.replicas 5 -> 2 drift by kubectl-edit"]


async def test_a_field_given_up_is_intended_and_one_a_person_added_stays() -> None:
    world = await released(config_map("settings", {"a": "1", "b": "2"}))
    world.hz.edit(SETTINGS, ("data", "c"), "3")
    change = await change_of(world, SETTINGS, config_map("settings", {"a": "1"}))
    assert lines(change) == [
        "- data.b 2 -> None intended",
        "! data.c 3 -> 3 drift by kubectl-edit",
    ]
    assert change.action is Action.UPDATE


async def test_a_field_that_only_a_person_added_is_a_difference_but_nothing_to_do() -> None:
    world = await released(config_map("settings", {"a": "1"}))
    world.hz.edit(SETTINGS, ("data", "c"), "3", manager="kubectl-patch")
    change = await change_of(world, SETTINGS, config_map("settings", {"a": "1"}))
    assert (change.action, change.is_different) == (Action.NONE, True)
    assert [each.op for each in change.fields] == [Op.KEPT]


async def test_what_programs_and_creation_left_in_the_object_is_not_drift() -> None:
    world = await released(config_map("settings", {"a": "1"}))
    world.hz.edit(SETTINGS, ("data", "c"), "3", manager="kube-controller-manager")
    world.hz.edit(SETTINGS, ("data", "d"), "3", manager="kubectl-create")
    change = await change_of(world, SETTINGS, config_map("settings", {"a": "1"}))
    assert not change.is_different


async def test_a_new_object_shows_what_is_said_and_counts_what_is_filled_in() -> None:
    world = World()
    change = await change_of(world, WEB, deployment("web"))
    assert change.action is Action.CREATE
    assert "+ spec.template.spec.containers[name=main].image None -> web:1 intended" in lines(change)
    assert not any("replicas" in each for each in lines(change)), "a default nobody wrote"
    assert not any("workbench.konfig.io" in each for each in lines(change)), "labels of ours are no news"
    assert change.defaulted == 5, "two defaults, three labels"


async def test_an_object_of_somebody_else_is_taken_over_without_noise() -> None:
    world = World()
    world.hz.put(namespace())
    world.hz.put(config_map("settings", {"a": "1"}))
    change = await change_of(world, SETTINGS, config_map("settings", {"a": "1"}))
    assert (change.action, change.fields) == (Action.UPDATE, ())
    assert change.because == "takes it under the management of this stack"


async def test_labels_of_ownership_that_somebody_took_off_are_drift() -> None:
    world = await released(config_map("settings", {"a": "1"}))
    world.hz.edit(SETTINGS, ("metadata", "labels", "workbench.konfig.io/stack"), None)
    change = await change_of(world, SETTINGS, config_map("settings", {"a": "1"}))
    assert change.action is Action.UPDATE
    assert lines(change) == ['+ metadata.labels["workbench.konfig.io/stack"] None -> prod drift']


async def test_an_object_that_somebody_made_again_never_had_the_labels() -> None:
    world = await released(config_map("settings", {"a": "1"}))
    del world.hz.objects[SETTINGS]
    world.hz.put(config_map("settings", {"a": "1"}))
    change = await change_of(world, SETTINGS, config_map("settings", {"a": "1"}))
    assert (change.was_deleted, change.fields, change.action) == (True, (), Action.UPDATE)


async def test_an_object_that_was_relabelled_for_another_stack_is_drift_with_who() -> None:
    world = await released(config_map("settings", {"a": "1"}))
    world.hz.edit(SETTINGS, ("metadata", "labels", "workbench.konfig.io/stack"), "dev")
    change = await change_of(world, SETTINGS, config_map("settings", {"a": "1"}))
    assert lines(change) == ['~ metadata.labels["workbench.konfig.io/stack"] dev -> prod drift by kubectl-edit']
    assert change.other_owner and not change.fields[0].source, "no line sets whose it is"


async def test_a_moved_element_with_identity_is_the_same_element() -> None:
    world = await released(deployment("web", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]))
    env = [{"name": "C", "value": "3"}, {"name": "B", "value": "2"}, {"name": "A", "value": "9"}]
    change = await change_of(world, WEB, deployment("web", env=env))
    assert lines(change) == [
        "~ spec.template.spec.containers[name=main].env[name=A].value 1 -> 9 intended",
        "+ spec.template.spec.containers[name=main].env[name=C].value None -> 3 intended",
    ]


async def test_a_port_is_found_in_the_source_although_its_protocol_was_filled_in() -> None:
    world = await released(deployment("web", ports=[{"containerPort": 80, "name": "http"}]))
    change = await change_of(world, WEB, deployment("web", ports=[{"containerPort": 80, "name": "web"}]))
    (name,) = change.fields
    assert format_path(name.path).endswith("ports[containerPort=80,protocol=TCP].name")
    assert name.class_ is ChangeClass.INTENDED
    assert name.source[0].line == 1 + len(("spec", "template", "spec", "containers", 0, "ports", 0, "name"))


async def test_a_reordered_command_line_is_a_change() -> None:
    world = await released(deployment("web", args=["--a", "--b"]))
    change = await change_of(world, WEB, deployment("web", args=["--b", "--a"]))
    assert lines(change) == [
        "~ spec.template.spec.containers[name=main].args ['--a', '--b'] -> ['--b', '--a'] intended"
    ]


async def test_a_secret_shows_that_it_changed_and_never_what_it_is() -> None:
    world = await released(secret("key", {"a": "b25l", "b": "c2FtZQ=="}))
    world.hz.edit(KEY, ("data", "b"), "ZHJpZnQ=")
    change = await change_of(world, KEY, secret("key", {"a": "dHdv", "b": "c2FtZQ=="}))
    one, two = change.fields
    assert isinstance(one.before, Masked) and isinstance(one.after, Masked) and one.before != one.after
    assert (one.class_, two.class_) == (ChangeClass.INTENDED, ChangeClass.DRIFT), "classed without keeping the value"
    text = repr(change) + repr(world.prior) + repr(world.prior.resources if world.prior else "")
    for value in ("b25l", "c2FtZQ==", "dHdv", "ZHJpZnQ="):
        assert value not in text
    assert one.is_masked


async def test_the_name_of_an_entry_that_is_secret_is_masked_and_still_known_to_the_record() -> None:
    code = "code-7Kq9Zx41"
    both = (secret("key", {"k": base64.b64encode(code.encode()).decode()}), config_map("settings", {code: "1"}))
    world = await released(*both)
    assert not (await world.diff(namespace(), *both)).is_different
    world.hz.edit(SETTINGS, ("data", code), "9")
    (drift,) = (await change_of(world, SETTINGS, *both)).fields
    assert drift.class_ is ChangeClass.DRIFT
    assert format_path(drift.path).startswith("data.«masked#") and code not in repr(drift)
    changed = await change_of(world, SETTINGS, both[0], config_map("settings", {code: "2"}))
    assert [each.class_ for each in changed.fields] == [ChangeClass.INTENDED]
    assert code not in str(changed.before) + str(changed.after)


async def test_a_repository_does_not_hide_which_field_it_sets_by_a_secret_of_its_name() -> None:
    hiding = secret("key", {"k": base64.b64encode(b"terminationGracePeriodSeconds").decode()})
    world = await released(hiding)
    change = await change_of(world, WEB, hiding, deployment("web"))
    assert all("masked" not in format_path(each.path) for each in change.fields)


async def test_equal_secrets_look_equal() -> None:
    world = World()
    diff = await world.diff(namespace(), secret("key", {"a": "b25l", "b": "b25l", "c": "dHdv"}))
    shown = {each.path: each.after for each in diff.changes[1].fields}
    assert shown["data", "a"] == shown["data", "b"] != shown["data", "c"]


async def test_what_cannot_be_changed_in_place_is_replaced() -> None:
    world = await released(deployment("web"))
    other = deployment("web")
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    change = await change_of(world, WEB, other)
    assert change.action is Action.REPLACE
    assert change.because == "spec.selector cannot be changed in place"
    assert [each.replaces for each in change.fields] == [True]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": True}, {"a": 1}, [(("a",), True, 1)]),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": []}, {}, [(("a",), [], None)]),
        ({"a": {}}, {}, [(("a",), {}, None)]),
        ({"a": {}}, {"a": {"b": 1}}, [(("a", "b"), None, 1)]),
        ({"a": [{"x": 1}, {"x": 2}]}, {"a": [{"x": 1}]}, [(("a", 1, "x"), 2, None)]),
        ({"a": [1, 2]}, {"a": [1, 2]}, []),
        ({"a": {"b": 1}}, {"a": [1]}, [(("a",), {"b": 1}, [1])]),
    ],
)
def test_differences_of_plain_values(before: Any, after: Any, expected: list[Any]) -> None:
    from workbench.engine.fields import MISSING

    found = [
        (each.path, None if each.before is MISSING else each.before, None if each.after is MISSING else each.after)
        for each in differences(before, after, lambda path: ())
    ]
    assert found == expected


def test_elements_that_change_places_are_a_difference_of_order() -> None:
    found = list(differences([{"n": "a"}, {"n": "b"}], [{"n": "b"}, {"n": "a"}], lambda path: ("n",)))
    assert [(each.path, each.before, each.after) for each in found] == [((), ["n=a", "n=b"], ["n=b", "n=a"])]


def test_what_ownership_told_of_is_as_secret_as_what_was_dry_run() -> None:
    """The runtime looked through the object with the same rules: what it hides is not looked for again, nor lost."""
    pods = {"containers": [{"name": "main", "env": [{"name": "PASSWORD", "value": "x"}, {"name": "A", "value": "y"}]}]}
    live = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": {LAST_APPLIED: "{}"}},
        "spec": {"template": {"spec": pods}},
    }
    for content in (live, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "data": {"k": "cw=="}}):
        told = _unchanged(KubernetesId.of(content), content, content)
        assert set(sensitive(told)) == set(sensitive(replace(told, basis=Basis.DRY_RUN)))
