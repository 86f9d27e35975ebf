"""The class of a claim or volume in the annotation that is older than the field, as 1.34.3 reads it."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox.errors import ApiError

from .controllers.conftest import Object, World

ANNOTATION = "volume.beta.kubernetes.io/storage-class"
MODES = {"accessModes": ["ReadWriteOnce"]}
CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"


@pytest.fixture
def world() -> Any:
    made = World()
    yield made
    made.controllers.stop()


def metadata(name: str, annotated: str | None) -> Object:
    return {"name": name, "annotations": {} if annotated is None else {ANNOTATION: annotated}}


def claim(world: World, name: str, annotated: str | None, **spec: Any) -> Object:
    body = {**MODES, "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return world.create(CLAIMS, {"metadata": metadata(name, annotated), "spec": body})


def volume(world: World, name: str, annotated: str | None, **spec: Any) -> None:
    body = {**MODES, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp/x"}, **spec}
    world.cluster.create(VOLUMES, None, {"metadata": metadata(name, annotated), "spec": body})


def storage_class(world: World, name: str, **more: Any) -> None:
    body = {"metadata": {"name": name}, "provisioner": "x.io/y", **more}
    world.cluster.create("storageclasses.storage.k8s.io", None, body)


def test_the_annotation_comes_before_the_field_where_volumes_are_found(world: World) -> None:
    volume(world, "silver", "gold", storageClassName="silver")
    claim(world, "a", "silver", storageClassName="gold")
    claim(world, "b", "gold", storageClassName="silver")
    world.pass_seconds(5)
    assert world.get(CLAIMS, "b")["spec"].get("volumeName") == "silver"
    assert not world.get(CLAIMS, "a")["spec"].get("volumeName")


def test_what_a_claim_waits_for_is_the_class_of_its_annotation(world: World) -> None:
    storage_class(world, "late", volumeBindingMode="WaitForFirstConsumer")
    for name, annotated, field in (("a", "late", None), ("b", "lost", "late"), ("c", "", "late")):
        claim(world, name, annotated, **({"storageClassName": field} if field else {}))
    world.pass_seconds(5)
    told = {
        event["involvedObject"]["name"]: event["message"]
        for event in world.cluster.list("events", "default").items
        if event["involvedObject"]["kind"] == "PersistentVolumeClaim"
    }
    assert told == {
        "a": "waiting for first consumer to be created before binding",
        "b": 'storageclass.storage.k8s.io "lost" not found',
        "c": "no persistent volumes available for this claim and no storage class is set",
    }


def test_a_quota_counts_a_claim_for_the_class_of_its_annotation(world: World) -> None:
    counted = "gold.storageclass.storage.k8s.io/persistentvolumeclaims"
    world.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {counted: "1"}}})
    world.pass_seconds(5)
    claim(world, "a", "gold")
    claim(world, "b", "silver", storageClassName="gold")
    claim(world, "c", "", storageClassName="gold")
    with pytest.raises(ApiError, match=f"exceeded quota: q, requested: {counted}=1, used: {counted}=1"):
        claim(world, "d", "gold", storageClassName="silver")


def test_a_claim_grows_where_the_class_of_its_annotation_lets_it(world: World) -> None:
    storage_class(world, "gold", allowVolumeExpansion=True)
    storage_class(world, "silver")
    for name, annotated, field in (("a", "gold", "silver"), ("b", "silver", "gold")):
        volume(world, name, annotated)
        claim(world, name, annotated, storageClassName=field)
    world.pass_seconds(5)
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    world.patch(CLAIMS, "a", larger)
    with pytest.raises(ApiError, match="only dynamically provisioned pvc can be resized"):
        world.patch(CLAIMS, "b", larger)


@pytest.mark.parametrize(("before", "after"), [("gold", "bronze"), ("gold", None), (None, "gold")])
def test_the_annotation_of_a_claim_does_not_change(world: World, before: str | None, after: str | None) -> None:
    claim(world, "a", before)
    with pytest.raises(ApiError, match=rf'annotations\.{ANNOTATION}: Invalid value: "{after or ""}": field is immut'):
        world.patch(CLAIMS, "a", {"metadata": {"annotations": {ANNOTATION: after}}})


def test_the_field_is_filled_in_beside_the_annotation_with_the_same_class_only(world: World) -> None:
    claim(world, "a", "gold")
    with pytest.raises(ApiError, match="spec is immutable after creation"):
        world.patch(CLAIMS, "a", {"spec": {"storageClassName": "other"}})
    assert world.cluster.patch(CLAIMS, "default", "a", {"spec": {"storageClassName": "gold"}}, "merge")
