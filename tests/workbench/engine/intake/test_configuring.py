"""A live object as a configuration would say it: what may go, and what has to stay."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base import FieldOwner, FieldPath, Identity, KubernetesId, LiveResource
from runtimes.base.status import Health, Status
from runtimes.registry import with_defaults
from workbench.engine.intake.configuring import autoscaled, configured

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def live(body: dict[str, Any], *chosen: FieldPath, manager: str = "kubectl") -> LiveResource:
    owners = tuple(FieldOwner(each, manager, "Apply", WHEN) for each in chosen)
    health = Health(Status.CURRENT)
    return LiveResource(KubernetesId.of(body), Identity("u", "1"), body, owners, health, body, ())


def said(body: dict[str, Any], *chosen: FieldPath, manager: str = "kubectl") -> Any:
    return configured(live(body, *chosen, manager=manager), with_defaults, {}).body


def thing(kind: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **more}


def deployment(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {}, "spec": {"containers": [{"name": "x", "image": "x:1"}]}}
    body = thing("Deployment", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec})
    filled = with_defaults(body)
    assert filled is not None
    return filled


def test_defaults_go_and_what_is_said_stays() -> None:
    found = said(deployment(replicas=3))
    assert found["spec"]["replicas"] == 3
    assert found["spec"].keys() == {"replicas", "selector", "template"}
    assert found["spec"]["template"]["spec"] == {"containers": [{"name": "x", "image": "x:1"}]}


def test_what_filling_in_brings_back_is_the_whole_object_again() -> None:
    body = deployment(replicas=3, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    assert with_defaults(said(body)) == body


def test_a_default_that_a_person_set_stays() -> None:
    path = ("spec", "revisionHistoryLimit")
    assert "revisionHistoryLimit" in said(deployment(), path)["spec"]
    assert "revisionHistoryLimit" not in said(deployment(), path, manager="kube-controller-manager")["spec"]


def test_what_is_owned_as_a_whole_is_left_whole() -> None:
    value = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    body = deployment()
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "valueFrom": value}]
    path = ("spec", "template", "spec", "containers", 0, "env", 0, "valueFrom", "fieldRef")
    (env,) = said(body, path, manager="any")["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env["valueFrom"] == value


def test_the_size_is_left_to_an_autoscaler() -> None:
    scaler = thing(
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        spec={"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "x"}},
    )
    scaled = autoscaled([scaler])
    found = configured(live(deployment(replicas=3)), with_defaults, scaled)
    assert "replicas" not in found.body["spec"]
    assert found.notes == ("spec.replicas is left to HorizontalPodAutoscaler/x",)
    kept = configured(live(deployment(replicas=3), ("spec", "replicas")), with_defaults, scaled)
    assert kept.body["spec"]["replicas"] == 3, "a person set it"


@pytest.mark.parametrize(("address", "left"), [("10.0.0.7", {}), ("None", {"clusterIP": "None"})])
def test_a_drawn_address_goes_and_the_wish_for_none_stays(address: str, left: dict[str, str]) -> None:
    drawn = {"clusterIP": address, "clusterIPs": [address], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    found = said(thing("Service", spec={"ports": [{"port": 80, "nodePort": 30080}], **drawn}))
    assert found["spec"] == {"ports": [{"port": 80, "nodePort": 30080}], **left}


def test_a_job_loses_the_selector_that_its_uid_gave_it() -> None:
    labels = {"batch.kubernetes.io/controller-uid": "u", "controller-uid": "u", "job-name": "x", "mine": "1"}
    pods = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [], "restartPolicy": "Never"}}
    spec = {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}, "template": pods}
    found = said(thing("Job", "batch/v1", spec=spec))["spec"]
    assert "selector" not in found and found["template"]["metadata"] == {"labels": {"mine": "1"}}
    found = said(thing("Job", "batch/v1", spec={**spec, "manualSelector": True}))["spec"]
    assert found["selector"] == spec["selector"]


def test_a_custom_resource_is_written_whole_and_that_is_said() -> None:
    body = thing("Widget", "example.com/v1", spec={"size": 1, "none": None})
    found = configured(live(body), with_defaults, {})
    assert found.body["spec"] == {"size": 1}
    assert found.notes == ("its defaults are not known, so all that the server has is written out",)


def test_bookkeeping_of_servers_and_tools_goes() -> None:
    body = thing("ConfigMap", data={"a": "1"})
    body["metadata"] |= {
        "finalizers": ["x"],
        "labels": {"app.kubernetes.io/managed-by": "workbench", "workbench.konfig.io/stack": "dev", "mine": "1"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"data": {"a": "0"}})},
    }
    assert said(body) == thing("ConfigMap", data={"a": "1"}) | {"metadata": {"name": "x", "labels": {"mine": "1"}}}
