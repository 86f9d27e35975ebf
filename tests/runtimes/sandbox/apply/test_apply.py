"""Server-side apply and the ownership that other writes leave."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.sandbox.apply import (
    ApplyConflict,
    ApplyError,
    keep_times_if_unchanged,
    scale,
    server_side_apply,
    track_update,
)
from runtimes.sandbox.schema.registry import KindSchema, Registry

from ..kinds import CONFIG_MAP, DEPLOYMENT, complete, config_map, deployment

EARLY, LATE = "2024-01-01T00:00:00Z", "2024-01-01T00:00:05Z"
Object = dict[str, Any]


def apply(
    live: Object | None,
    body: Object,
    manager: str = "one",
    *,
    force: bool = False,
    now: str = EARLY,
    kind: KindSchema = CONFIG_MAP,
    subresource: str | None = None,
) -> Object:
    return server_side_apply(kind, live, body, manager, force, now, subresource)


def entries(obj: Object) -> dict[str, Any]:
    return {f"{entry['manager']} {entry['operation']}": entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def test_the_applier_owns_what_it_sent_and_no_default() -> None:
    made = apply(None, deployment(replicas=2), kind=DEPLOYMENT)
    assert made["spec"]["progressDeadlineSeconds"] == 600
    assert entries(made)["one Apply"]["f:spec"].keys() == {"f:replicas", "f:selector", "f:template"}


def test_another_value_of_an_owned_field_is_a_conflict_that_names_manager_and_field() -> None:
    live = apply(None, config_map(k="1"))
    with pytest.raises(ApplyConflict) as caught:
        apply(live, config_map(k="2"), "two")
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "one": .data.k'
    assert caught.value.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}
    ]


def test_conflicts_are_grouped_by_manager() -> None:
    live = track_update(CONFIG_MAP, None, complete(CONFIG_MAP, config_map(k="1", l="1")), "editor", EARLY)
    live = apply(live, config_map(m="1"), "one")
    with pytest.raises(ApplyConflict) as caught:
        apply(live, config_map(k="2", l="2", m="2"), "two")
    assert caught.value.message.splitlines() == [
        'Apply failed with 3 conflicts: conflicts with "editor" using v1:',
        "- .data.k",
        "- .data.l",
        'conflicts with "one":',
        "- .data.m",
    ]


def test_force_takes_the_field_away() -> None:
    live = apply(None, config_map(k="1", l="1"))
    forced = apply(live, config_map(k="2"), "two", force=True)
    assert forced["data"] == {"k": "2", "l": "1"}
    assert entries(forced) == {"one Apply": {"f:data": {"f:l": {}}}, "two Apply": {"f:data": {"f:k": {}}}}


def test_the_same_value_is_shared_and_stays_until_its_last_owner_drops_it() -> None:
    live = apply(apply(None, config_map(k="1")), config_map(k="1", l="2"), "two")
    once = apply(live, config_map(), "one")
    assert once["data"] == {"k": "1", "l": "2"}
    assert apply(once, config_map(l="2"), "two")["data"] == {"l": "2"}


def test_a_field_that_an_update_set_survives_an_applier_that_never_owned_it() -> None:
    live = apply(None, config_map(k="1"))
    edited = {**live, "data": {"k": "1", "by-hand": "x"}}
    live = track_update(CONFIG_MAP, live, edited, "editor", EARLY)
    assert apply(live, config_map())["data"] == {"by-hand": "x"}


def test_list_elements_are_told_apart_by_their_keys() -> None:
    live = apply(None, deployment(), kind=DEPLOYMENT)
    side: Object = deployment()
    side["spec"]["template"]["spec"]["containers"] = [{"name": "side", "image": "example/side:1"}]
    live = apply(live, side, "two", kind=DEPLOYMENT)
    containers = live["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["main", "side"]
    side["spec"]["template"]["spec"]["containers"] = []
    live = apply(live, side, "two", kind=DEPLOYMENT)
    assert [container["name"] for container in live["spec"]["template"]["spec"]["containers"]] == ["main"]


def test_an_atomic_list_conflicts_as_a_whole() -> None:
    body = deployment()
    body["spec"]["template"]["spec"]["containers"][0]["args"] = ["a", "b"]
    live = apply(None, body, kind=DEPLOYMENT)
    body["spec"]["template"]["spec"]["containers"][0]["args"] = ["a"]
    with pytest.raises(ApplyConflict, match=r'containers\[name="main"\]\.args'):
        apply(live, body, "two", kind=DEPLOYMENT)


def test_an_element_without_protocol_is_the_one_with_the_default_protocol() -> None:
    body = deployment()
    container = body["spec"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"containerPort": 80}]
    live = apply(None, body, kind=DEPLOYMENT)
    container["ports"] = [{"containerPort": 80, "protocol": "TCP", "name": "http"}]
    live = apply(live, body, "two", kind=DEPLOYMENT)
    ports = live["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "protocol": "TCP", "name": "http"}]


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3), st.booleans())
def test_applying_the_same_again_changes_nothing_and_keeps_the_time(data: dict[str, str], force: bool) -> None:
    live = apply(None, config_map(**data))
    again = apply(live, config_map(**data), force=force, now=LATE)
    assert keep_times_if_unchanged(live, again) == live


def test_after_owners_were_cleared_all_fields_belong_to_before_first_apply() -> None:
    live = apply(None, config_map(k="1"))
    cleared = track_update(
        CONFIG_MAP, live, {**live, "metadata": {**live["metadata"], "managedFields": [{}]}}, "x", EARLY
    )
    assert "managedFields" not in cleared["metadata"]
    with pytest.raises(ApplyConflict, match=r'conflict with "before-first-apply" using v1: .data.k'):
        apply(cleared, config_map(k="2"))


def test_status_is_owned_through_its_subresource_only() -> None:
    body = deployment(replicas=1)
    body["status"] = {"replicas": 1}
    through_spec = apply(None, body, kind=DEPLOYMENT)
    assert "f:status" not in entries(through_spec)["one Apply"]
    through_status = apply(through_spec, body, "two", kind=DEPLOYMENT, subresource="status")
    mine = next(entry for entry in through_status["metadata"]["managedFields"] if entry["manager"] == "two")
    assert (mine["subresource"], mine["fieldsV1"]) == ("status", {"f:status": {"f:replicas": {}}})


def test_kubectl_takes_over_what_it_applied_from_the_client() -> None:
    body = config_map(k="1")
    body["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": '{"apiVersion":"v1","kind":"ConfigMap",'
        '"metadata":{"name":"a"},"data":{"k":"1"}}\n'
    }
    live = track_update(CONFIG_MAP, None, complete(CONFIG_MAP, body), "kubectl-client-side-apply", EARLY)
    with pytest.raises(ApplyConflict):
        apply(live, config_map(k="2"), "other")
    taken = apply(live, config_map(k="2"), "kubectl")
    note = taken["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert taken["data"] == {"k": "2"}
    assert '"data":{"k":"2"}' in note


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"nothing": 1}, 500, "(/a; /v1, Kind=ConfigMap): .nothing: field not declared in schema"),
        ({"data": ["x"]}, 500, "(/a; /v1, Kind=ConfigMap): .data: expected map, got &{[x]}"),
        ({"kind": ["x"]}, 400, "invalid object type: /v1, Kind="),
        ({"metadata": [1]}, 500, "(/; /v1, Kind=ConfigMap): .metadata: expected map, got &{[1]}"),
        (
            {"metadata": {"name": True}},
            500,
            "(/; /v1, Kind=ConfigMap): .metadata.name: expected string, got &value.valueUnstructured{Value:true}",
        ),
        ({"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        ({"metadata": {"name": "a", "managedFields": []}}, 400, "metadata.managedFields must be nil"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(change: Object, code: int, message: str) -> None:
    with pytest.raises(ApplyError) as caught:
        apply(None, {**config_map(k="1"), **change})
    assert caught.value.code == code
    assert caught.value.message.endswith(message)


def test_duplicate_elements_are_refused_with_their_key() -> None:
    body = deployment()
    body["spec"]["template"]["spec"]["containers"] *= 2
    with pytest.raises(ApplyError, match=r'containers: duplicate entries for key \[name="main"\]$'):
        apply(None, body, kind=DEPLOYMENT)


def test_a_create_owns_all_it_holds_even_defaults() -> None:
    made = track_update(DEPLOYMENT, None, complete(DEPLOYMENT, deployment()), "creator", EARLY)
    spec = entries(made)["creator Update"]["f:spec"]
    assert spec["f:strategy"] == {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}}
    assert "." not in spec["f:template"]


def test_the_eleventh_updater_makes_the_oldest_share_a_name() -> None:
    live = track_update(CONFIG_MAP, None, complete(CONFIG_MAP, config_map(k="0")), "m0", "2024-01-01T00:00:00Z")
    live["metadata"]["uid"] = "u"
    for count in range(1, 12):
        new = {**live, "data": {**live["data"], f"k{count}": "x"}}
        live = track_update(CONFIG_MAP, live, new, f"m{count}", f"2024-01-01T00:00:{count:02}Z")
    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert len(managers) == 10
    assert "ancient-changes" in managers


def test_a_write_that_changes_only_times_is_no_change() -> None:
    live = apply(None, config_map(k="1"))
    later = {
        **live,
        "metadata": {
            **live["metadata"],
            "managedFields": [{**entry, "time": LATE} for entry in live["metadata"]["managedFields"]],
        },
    }
    assert keep_times_if_unchanged(live, later) == live


def test_scaling_takes_the_replicas_from_their_applier_and_gives_them_back_under_the_subresource() -> None:
    live = apply(None, deployment(replicas=2), kind=DEPLOYMENT)
    held = live["metadata"]["managedFields"]
    of_scale = scale.to_scale(held, ("spec", "replicas"))
    assert [(entry["manager"], entry["apiVersion"]) for entry in of_scale] == [("one", "autoscaling/v1")]
    scaler = {**of_scale[0], "manager": "scaler", "operation": "Update", "subresource": "scale"}
    after = scale.to_parent(held, [scaler], "apps/v1", ("spec", "replicas"))
    owners = {entry["manager"]: entry["fieldsV1"]["f:spec"].keys() for entry in after}
    assert "f:replicas" not in owners["one"]
    assert owners["scaler"] == {"f:replicas"}


def test_a_write_that_does_not_fit_its_schema_is_owned_by_nobody() -> None:
    parts = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    kind = Registry.load().custom("example.com", "v1", "Widget", {"type": "object", "properties": {"parts": parts}})
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "parts": [{}]}
    assert "managedFields" not in track_update(kind, None, body, "one", EARLY)["metadata"]
