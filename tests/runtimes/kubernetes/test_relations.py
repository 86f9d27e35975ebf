"""Which fields of which kinds name other objects, and which labels select a pod."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.kubernetes.relations import references, selects

POD_SPEC = {
    "nodeName": "n1",
    "serviceAccountName": "robot",
    "priorityClassName": "high",
    "imagePullSecrets": [{"name": "pull"}],
    "initContainers": [{"name": "i", "envFrom": [{"configMapRef": {"name": "init", "optional": True}}]}],
    "containers": [
        {
            "name": "c",
            "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "k"}}}],
            "envFrom": [{"secretRef": {"name": "all"}}],
        }
    ],
    "volumes": [
        {"name": "a", "secret": {"secretName": "certificate"}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "disk"}},
        {"name": "c", "projected": {"sources": [{"secret": {"name": "part"}}, {"configMap": {"name": "piece"}}]}},
    ],
}
OF_A_POD = {
    "Node//n1": False,
    "ServiceAccount/shop/robot": False,
    "PriorityClass//high": False,
    "Secret/shop/pull": True,
    "ConfigMap/shop/init": True,
    "Secret/shop/token": False,
    "Secret/shop/all": False,
    "Secret/shop/certificate": False,
    "PersistentVolumeClaim/shop/disk": False,
    "Secret/shop/part": False,
    "ConfigMap/shop/piece": False,
}


def body(version: str, kind: str, spec: Any = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": "it", "namespace": "shop", "labels": more.pop("labels", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec or {}, **more}


def named(live: dict[str, Any]) -> dict[str, bool]:
    return {f"{each.id.kind}/{each.id.namespace}/{each.id.name}": each.is_optional for each in references(live)}


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (body("v1", "Pod", POD_SPEC), OF_A_POD),
        (body("apps/v1", "Deployment", {"template": {"spec": POD_SPEC}}), OF_A_POD),
        (
            body("apps/v1", "StatefulSet", {"serviceName": "db", "template": {"spec": POD_SPEC}}),
            {**OF_A_POD, "Service/shop/db": False},
        ),
        (body("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}}}), OF_A_POD),
        (body("acme.io/v1", "Deployment", {"template": {"spec": POD_SPEC}}), {}),
        (
            body(
                "networking.k8s.io/v1",
                "Ingress",
                {
                    "ingressClassName": "public",
                    "tls": [{"secretName": "cert"}],
                    "defaultBackend": {"service": {"name": "d"}},
                    "rules": [{"http": {"paths": [{"backend": {"service": {"name": "web"}}}]}}],
                },
            ),
            dict.fromkeys(("IngressClass//public", "Secret/shop/cert", "Service/shop/d", "Service/shop/web"), False),
        ),
        (
            body(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
            ),
            {"Deployment/shop/web": False},
        ),
        (
            body("v1", "PersistentVolumeClaim", {"volumeName": "v", "storageClassName": "fast"}),
            {"PersistentVolume//v": False, "StorageClass//fast": False},
        ),
        (
            body(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                roleRef={"kind": "ClusterRole", "name": "view"},
                subjects=[{"kind": "ServiceAccount", "name": "robot"}, {"kind": "User", "name": "ann"}],
            ),
            {"ClusterRole//view": False, "ServiceAccount/shop/robot": False},
        ),
        (
            body("discovery.k8s.io/v1", "EndpointSlice", endpoints=[{"targetRef": {"kind": "Pod", "name": "p"}}, {}]),
            {"Pod/shop/p": False},
        ),
    ],
)
def test_each_field_that_names_another_object_is_found(live: dict[str, Any], expected: dict[str, bool]) -> None:
    assert named(live) == expected


@pytest.mark.parametrize("value", [None, "text", 7, ["text"], [{"name": 7}], {"name": []}])
def test_no_shape_of_an_object_ends_it(value: Any) -> None:
    fields = ("containers", "volumes", "rules", "tls", "template", "scaleTargetRef", "claimRef", "defaultBackend")
    for version, kind in (("v1", "Pod"), ("apps/v1", "Deployment"), ("networking.k8s.io/v1", "Ingress")):
        assert list(references(body(version, kind, dict.fromkeys(fields, value)))) == []
        assert list(references({**body(version, kind), "spec": value})) == []


def test_a_pod_is_selected_by_its_labels_in_its_namespace_alone() -> None:
    pod = body("v1", "Pod", labels={"app": "web", "tier": "x"})
    assert selects(body("v1", "Service", {"selector": {"app": "web"}}), pod)
    assert not selects(body("v1", "Service", {"selector": {}}), pod), "its endpoints are made by somebody else"
    assert not selects(body("v1", "Service", {"selector": {"app": "db"}}), pod)
    assert selects(body("policy/v1", "PodDisruptionBudget", {"selector": {"matchLabels": {"tier": "x"}}}), pod)
    assert selects(body("networking.k8s.io/v1", "NetworkPolicy", {"podSelector": {}}), pod)
    elsewhere = {**pod, "metadata": {**pod["metadata"], "namespace": "other"}}
    assert not selects(body("v1", "Service", {"selector": {"app": "web"}}), elsewhere)
