"""Ownership of fields tells of no object that nothing would change where a dry run says otherwise.

Objects of several kinds are applied, edited by other managers in every way that the API has, and planned again with
another configuration, by what ownership tells and by a dry run of all: both have to say the same.
KONFIG_WORKBENCH_OWNERSHIP_CASES sets how many (60 for each cluster).
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from runtimes.base import (
    ApplyRequest,
    Basis,
    Conflict,
    KubernetesId,
    PlanRequest,
    Prediction,
    ReadRequest,
    Rejected,
    RuntimeFailure,
)
from runtimes.kubernetes.client import FIELD_MANAGER
from runtimes.kubernetes.ownership import is_as_applied
from tests.runtimes.kubernetes.conftest import Place, resource

CASES = int(os.environ.get("KONFIG_WORKBENCH_OWNERSHIP_CASES", "60"))
SEED = int(os.environ.get("KONFIG_WORKBENCH_OWNERSHIP_SEED", "1"))
GROUP = "ownership.example.org"

Body = dict[str, Any]
Edit = Callable[[random.Random, Body], None]


async def test_what_ownership_tells_a_dry_run_says_too(place: Place) -> None:
    await place.apply(definition())
    await _served(place)
    seen: Counter[Basis] = Counter()
    for case in range(CASES):
        rng = random.Random(f"{SEED}/{case}")
        body = rng.choice([deployment, service, config_map, custom, quota])(place, f"case-{case}")
        for _ in range(rng.choice([0, 0, 1, 2])):
            rng.choice(EDITS)(rng, body)
        try:
            await place.apply(copy.deepcopy(body))
        except (Rejected, Conflict):
            continue
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            await _interfered(place, rng, body)
        if rng.random() < 0.4:
            rng.choice(EDITS)(rng, body)
        told, asked = await _planned(place, body), await _planned(place, body, dry_run=True)
        assert said(told) == said(asked), f"case {case}: {json.dumps(body)}"
        if isinstance(told, Prediction):
            seen[told.basis] += 1
            if told.basis is Basis.OWNERSHIP:
                assert told.live is not None
                assert told.after == told.live.body
        assert not isinstance(asked, Prediction) or asked.basis is Basis.DRY_RUN
    # neither way may have been taken by chance only
    assert seen[Basis.OWNERSHIP] >= CASES / 10, seen
    assert seen[Basis.DRY_RUN] >= CASES / 10, seen


async def _served(place: Place) -> None:
    """Waits until the new kind is served: a real server takes a moment."""
    import anyio

    for _ in range(100):
        try:
            await place.runtime._client.discovery.resource(f"{GROUP}/v1", "Gadget")
        except RuntimeFailure:
            await anyio.sleep(0.1)
        else:
            return


async def _planned(place: Place, body: Body, *, dry_run: bool = False) -> Prediction | RuntimeFailure:
    try:
        return await place.runtime.plan(PlanRequest(resource(copy.deepcopy(body)), dry_run=dry_run))
    except RuntimeFailure as error:
        return error


def said(planned: Prediction | RuntimeFailure) -> Any:
    if isinstance(planned, RuntimeFailure):
        return type(planned), planned.message
    assert planned.live is not None
    return planned.live.body, planned.after, planned.conflicts, planned.replaces, planned.unknown


async def _interfered(place: Place, rng: random.Random, body: Body) -> None:
    """Another manager writes: by an apply with or without force, a merge patch, or taking `managedFields` away."""
    id_ = KubernetesId.of(body)
    path = await place.runtime._client._path(id_)
    theirs = copy.deepcopy(body)
    for _ in range(rng.randrange(3)):
        rng.choice(EDITS)(rng, theirs)
    try:
        match rng.randrange(5):
            case 0 | 1:
                transport = place.runtime._client._transport
                await transport.call(
                    "PATCH",
                    path,
                    query=[("fieldManager", rng.choice(["someone", "hpa"])), ("force", rng.choice(["true", "false"]))],
                    body=json.dumps(theirs).encode(),
                    content_type="application/apply-patch+yaml; charset=utf-8",
                )
            case 2 | 3:
                theirs.pop("apiVersion"), theirs.pop("kind")
                await place.write("PATCH", path, theirs, manager=rng.choice(["kubectl-edit", FIELD_MANAGER]))
            case _:
                await place.write("PATCH", path, {"metadata": {"managedFields": [{}]}})
    except RuntimeFailure:
        return  # refused: the object stays as it is


def scalar(rng: random.Random, body: Body) -> None:
    """Another value of some leaf."""
    holder, key = rng.choice(list(_leaves(body)))
    old = holder[key]
    if isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, int):
        holder[key] = rng.choice([old + 1, str(old), old])
    else:
        holder[key] = rng.choice([f"{old}x", "1000m", "1", "0.5", old])


def added(rng: random.Random, body: Body) -> None:
    """One more label, annotation or key of data."""
    metadata = body["metadata"]
    part = rng.choice(["labels", "annotations", "data"])
    holder = body.get("data", metadata) if part == "data" else metadata.setdefault(part, {})
    if isinstance(holder, dict) and holder is not metadata:
        holder[rng.choice(["added", "more", "example.org/some.thing"])] = rng.choice(["yes", "no", ""])


def removed(rng: random.Random, body: Body) -> None:
    """Some leaf, or element of a list, is given up."""
    places = list(_leaves(body))
    lists = [each for each in _lists(body) if len(each) > 1]
    if lists and rng.random() < 0.5:
        chosen = rng.choice(lists)
        del chosen[rng.randrange(len(chosen))]
    else:
        holder, key = rng.choice(places)
        del holder[key]


def reordered(rng: random.Random, body: Body) -> None:
    for each in _lists(body):
        rng.shuffle(each)


def emptied(rng: random.Random, body: Body) -> None:
    """Forms of nothing: null, an empty map, an empty list."""
    body["metadata"][rng.choice(["labels", "annotations", "finalizers"])] = rng.choice([None, {}, []])


def doubled(rng: random.Random, body: Body) -> None:
    """One more element of a list, like one that is there but for a name or number in it."""
    lists = [each for each in _lists(body) if each]
    if not lists:
        return
    chosen = rng.choice(lists)
    made = copy.deepcopy(rng.choice(chosen))
    if isinstance(made, dict):
        for key, value in made.items():
            if key in ("name", "port", "containerPort", "key") and rng.random() < 0.8:
                made[key] = f"{value}b" if isinstance(value, str) else value + 1
    else:
        made = f"{made}b"
    chosen.insert(rng.randrange(len(chosen) + 1), made)


EDITS: list[Edit] = [scalar, scalar, added, removed, reordered, emptied, doubled]


def _leaves(value: Any) -> list[tuple[Any, Any]]:
    """Returns what holds a leaf and its key there, without what names the object."""
    found: list[tuple[Any, Any]] = []

    def walk(node: Any, path: tuple[Any, ...]) -> None:
        for key, below in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
            if (*path, key)[0] in ("apiVersion", "kind") or (*path, key) in [
                ("metadata", "name"),
                ("metadata", "namespace"),
            ]:
                continue
            if isinstance(below, dict | list) and below:
                walk(below, (*path, key))
            elif not isinstance(below, dict | list) and below is not None:
                found.append((node, key))

    walk(value, ())
    return found or [({"": 0}, "")]


def _lists(value: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += [below] if isinstance(below, list) and below else []
        found += _lists(below)
    return found


def deployment(place: Place, name: str) -> Body:
    body = place.deployment(name)
    spec = body["spec"]["template"]["spec"]
    spec["containers"] = [
        {
            "name": "main",
            "image": "example/app:v1",
            "args": ["serve", "--port", "80"],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
            "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        },
        {"name": "side", "image": "example/side:v1"},
    ]
    spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    return body


def service(place: Place, name: str) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": place.namespace, "labels": {"app": name}},
        "spec": {
            # a cluster has but 250 addresses to give away
            **({"clusterIP": "None"} if sum(name.encode()) % 8 else {}),
            "selector": {"app": name},
            "ports": [
                {"name": "http", "port": 80, "targetPort": 8080},
                {"name": "dns", "port": 53, "protocol": "UDP"},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": "dns"},
            ],
        },
    }


def config_map(place: Place, name: str) -> Body:
    return place.config_map(name, a="1", b="two", c="")


def quota(place: Place, name: str) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": place.namespace},
        "spec": {"hard": {"requests.cpu": "2", "pods": "1000"}, "scopes": ["NotTerminating", "BestEffort"][:1]},
    }


def custom(place: Place, name: str) -> Body:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "namespace": place.namespace},
        "spec": {
            "size": 3,
            "parts": [{"key": "a", "size": 1}, {"key": "b"}],
            "tags": ["x", "y"],
            "whole": {"one": {"two": "three"}},
            "plain": [{"key": "a"}, {"key": "b"}],
            "free": {"any": {"thing": [1, 2.5, True]}},
        },
    }


def definition() -> Body:
    part = {
        "type": "object",
        "required": ["key"],
        "properties": {
            "key": {"type": "string"},
            "zone": {"type": "string", "default": "here"},
            "size": {"type": "integer"},
        },
    }
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "mode": {"type": "string", "default": "slow"},
            "parts": {
                "type": "array",
                "items": part,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key", "zone"],
            },
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "whole": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "plain": {"type": "array", "items": {"type": "object", "properties": {"key": {"type": "string"}}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }


# What servers are not brought to in a few cases, each as managedFields and objects could say it.

FIELDS: Body = {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:app": {}}}}


def live(fields: Any = FIELDS, **changes: Any) -> Body:
    entry = {
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    metadata = {"name": "a", "labels": {"app": "a", "theirs": "b"}, "managedFields": [entry]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1", "b": "2"}, **changes}


def listed(*names: str) -> Body:
    elements = [{"name": each} for each in names]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": elements}}


APPLIED: Body = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "data": {"a": "1"},
}


def test_an_object_as_it_was_applied_is_told() -> None:
    assert is_as_applied(APPLIED, live(), FIELD_MANAGER)


def with_metadata(**metadata: Any) -> Body:
    found = live()
    return {**found, "metadata": {**found["metadata"], **metadata}}


def with_entry(**entry: Any) -> Body:
    return with_metadata(managedFields=[{**live()["metadata"]["managedFields"][0], **entry}])


LISTED: Body = {"f:data": {"f:a": {'k:{"name":"x"}': {"f:name": {}}, 'k:{"name":"y"}': {"f:name": {}}}}}


@pytest.mark.parametrize(
    ("applied", "there"),
    [
        pytest.param(APPLIED, with_entry(manager="kubectl"), id="another manager's"),
        pytest.param(APPLIED, with_entry(operation="Update"), id="no apply"),
        pytest.param(APPLIED, with_entry(subresource="status"), id="of a subresource"),
        pytest.param(APPLIED, with_entry(apiVersion="v2"), id="applied under another version"),
        pytest.param(APPLIED, with_entry(fieldsType="FieldsV2"), id="a form of fields to come"),
        pytest.param(APPLIED, with_entry(fieldsV1=["f:data"]), id="fields that are no tree"),
        pytest.param(APPLIED, with_entry(fieldsV1={**FIELDS, "f:spec": {}}), id="a field given up"),
        pytest.param(APPLIED, with_entry(fieldsV1={"f:data": {"f:a": {}}}), id="a field not owned yet"),
        pytest.param(APPLIED, with_entry(fieldsV1={**FIELDS, "f:data": {"f:a": {"i:0": {}}}}), id="by position"),
        pytest.param(APPLIED, with_entry(fieldsV1={**FIELDS, "f:data": {"f:a": {"k:{": {}}}}), id="a broken key"),
        pytest.param(APPLIED, with_metadata(managedFields=None), id="no managedFields"),
        pytest.param(APPLIED, with_metadata(managedFields=live()["metadata"]["managedFields"] * 2), id="two entries"),
        pytest.param(APPLIED, with_metadata(deletionTimestamp="2026-01-01T00:00:00Z"), id="being deleted"),
        pytest.param(APPLIED, live(data={"a": 1}), id="a number for a text"),
        pytest.param(APPLIED, live(data={"b": "2"}), id="a field that is not there"),
        pytest.param(APPLIED, live(data=None), id="null for a map"),
        pytest.param(APPLIED, live(kind="Secret"), id="another kind"),
        pytest.param({**APPLIED, "data": {"a": None}}, live(data={"a": None}), id="null"),
        pytest.param({**APPLIED, "data": {"a": True}}, live(data={"a": 1}), id="true is no 1"),
        pytest.param({**APPLIED, "data": {"a": 1.0}}, live(data={"a": 1}), id="1.0 is no 1"),
        pytest.param(
            {**APPLIED, "metadata": {**APPLIED["metadata"], "generateName": "a"}}, live(), id="metadata of other sorts"
        ),
        pytest.param(
            listed("y", "x"),
            live(LISTED, data={"a": [{"name": "x"}, {"name": "y"}]}),
            id="another order of elements",
        ),
        pytest.param(
            listed("x", "y"),
            live(LISTED, data={"a": [{"name": "x"}, {"name": "y"}, {"name": "y"}]}),
            id="elements that share a key",
        ),
        pytest.param(
            {**APPLIED, "metadata": {"name": "a"}, "data": {"a": [{"port": 1}]}},
            live({"f:data": {"f:a": {'k:{"port":1}': {"f:port": {}}}}}, data={"a": [{"port": True}]}),
            id="an element by another value that Python takes for the same",
        ),
        pytest.param(
            {**APPLIED, "metadata": {"name": "a"}, "data": {"a": [{"name": None}]}},
            live({"f:data": {"f:a": {'k:{"name":null}': {"f:name": {}}}}}, data={"a": [{"name": None}]}),
            id="an element by null",
        ),
        pytest.param(
            {**APPLIED, "metadata": {"name": "a"}, "data": {"a": [{"name": ["x"]}]}},
            live({"f:data": {"f:a": {'k:{"name":["x"]}': {"f:name": {}}}}}, data={"a": [{"name": ["x"]}]}),
            id="an element by a list",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": ["x", "x"]}},
            live({"f:data": {"f:a": {'v:"x"': {}, 'v:"y"': {}}}}, data={"a": ["x", "y"]}),
            id="a set with the same twice",
        ),
    ],
)  # fmt: skip
def test_what_is_not_beyond_doubt_is_left_to_the_server(applied: Body, there: Body) -> None:
    assert not is_as_applied(applied, there, FIELD_MANAGER)


async def test_an_object_that_another_configuration_wrote_under_our_name_is_seen(sandboxed: Place) -> None:
    """Our last apply said more: the field is ours, and an apply would take it away."""
    body = sandboxed.config_map(a="1", b="2")
    await sandboxed.apply(body)
    less = sandboxed.config_map(a="1")
    prediction = await sandboxed.runtime.plan(PlanRequest(resource(less)))
    assert prediction.basis is Basis.DRY_RUN
    assert prediction.after["data"] == {"a": "1"}


async def test_many_are_read_by_one_list(sandboxed: Place) -> None:
    bodies = [sandboxed.config_map(f"settings-{each}", a="1") for each in range(6)]
    for each in bodies:
        each["metadata"]["labels"] = {"stack": "here"}
    for each in bodies[:5]:
        await sandboxed.apply(each)
    requests: list[tuple[str, str]] = []
    transport = sandboxed.runtime._client._transport
    call = transport.call

    async def recorded(method: str, path: str, **rest: Any) -> Any:
        requests.append((method, path))
        return await call(method, path, **rest)

    transport.call = recorded  # type: ignore[method-assign]  # to count requests
    found = await sandboxed.runtime.read_many([KubernetesId.of(each) for each in bodies], {"stack": "here"})
    assert {id_: live is not None for id_, live in found.items()} == {
        KubernetesId.of(each): each in bodies[:5] for each in bodies
    }
    for each in bodies[:5]:
        observed = found[KubernetesId.of(each)]
        assert observed is not None
        prediction = await sandboxed.runtime.plan(PlanRequest(resource(each), observed=observed))
        assert prediction.basis is Basis.OWNERSHIP
    assert requests == [("GET", f"/api/v1/namespaces/{sandboxed.namespace}/configmaps")]
    assert await sandboxed.runtime.read(ReadRequest(KubernetesId.of(bodies[5]))) is None


async def test_an_object_observed_before_another_change_is_bound_to_what_was_observed(sandboxed: Place) -> None:
    """What is planned from an older reading cannot be applied over what came after it."""
    body = sandboxed.config_map(a="1")
    live_ = await sandboxed.apply(body)
    await sandboxed.write(
        "PATCH", f"/api/v1/namespaces/$NS/configmaps/{body['metadata']['name']}", {"data": {"a": "2"}}
    )
    prediction = await sandboxed.runtime.plan(PlanRequest(resource(body), observed=live_.observed))
    assert prediction.live is not None
    with pytest.raises(RuntimeFailure):
        await sandboxed.runtime.apply(ApplyRequest(resource(body), prediction.live.identity))
