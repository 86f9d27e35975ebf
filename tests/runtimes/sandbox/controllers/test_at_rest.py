"""What controllers do where there is little to do: once, and no more. As compared with real ones, state by state."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import World

POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "app:v1-done"}]}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "c"}
SLICES = "endpointslices.discovery.k8s.io"


@pytest.mark.parametrize("address", [None, "None"])
def test_a_service_without_pods_is_written_about_once(world: World, address: str | None) -> None:
    spec: dict[str, Any] = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    world.create("services", {"metadata": {"name": "web"}, "spec": spec | ({"clusterIP": address} if address else {})})
    world.pass_seconds(2)
    revision = world.cluster.revision
    world.pass_seconds(20)
    assert world.cluster.revision == revision
    [made] = world.cluster.list(SLICES, "default").items
    held = world.get("endpoints", "web")
    assert made["metadata"]["generation"] == 1 and not made["endpoints"]
    for each in (made, held):
        assert ("service.kubernetes.io/headless" in each["metadata"]["labels"]) is (address == "None")
        assert "endpoints.kubernetes.io/last-change-trigger-time" in each["metadata"]["annotations"]


def test_a_job_that_may_make_no_pod_tries_later_and_later(world: World) -> None:
    world.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    world.pass_seconds(1)
    world.create("jobs.batch", {"metadata": {"name": "once"}, "spec": {"template": POD}})
    world.pass_seconds(10)
    told = [each for each in world.cluster.list("events", "default").items if each["reason"] == "FailedCreate"]
    assert 3 <= sum(each.get("count", 1) for each in told) <= 5


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ({"hostPath": {"path": "/tmp/x"}}, None),
        ({"hostPath": {"path": "/x"}}, "host_path deleter only supports /tmp/.+ but received provided /x"),
        (
            {"nfs": {"server": "s", "path": "/x"}},
            'error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
        ),
    ],
)
def test_a_volume_that_is_to_be_deleted_goes_or_says_why_not(
    world: World, source: dict[str, Any], end: str | None
) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": "c", **source}
    body = {"metadata": {"name": "v"}, "spec": {**spec, "persistentVolumeReclaimPolicy": "Delete"}}
    world.cluster.create("persistentvolumes", None, body)
    world.create("persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": CLAIM})
    world.pass_seconds(2)
    world.cluster.delete("persistentvolumeclaims", "default", "data")
    world.pass_seconds(5)
    left = world.cluster.list("persistentvolumes", None).items
    assert [(each["status"]["phase"], each["status"]["message"]) for each in left] == ([("Failed", end)] if end else [])


def test_a_claim_names_whom_it_waits_for(world: World) -> None:
    body = {"metadata": {"name": "c"}, "provisioner": "x.example/y"}
    world.cluster.create("storageclasses.storage.k8s.io", None, body)
    world.create("persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": CLAIM})
    world.pass_seconds(2)
    annotations = world.get("persistentvolumeclaims", "data")["metadata"]["annotations"]
    assert annotations["volume.kubernetes.io/storage-provisioner"] == "x.example/y"
