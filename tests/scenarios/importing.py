"""A cluster that somebody filled by kubectl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runtimes.base import KubernetesId
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.resources import Resource

_FIRST = ("CustomResourceDefinition", "Namespace")


@dataclass(frozen=True)
class Applied:
    """What is live after `kubectl apply` went through all of it; `refused` is what the server did not take, and why."""

    namespaces: tuple[str, ...]
    live: tuple[KubernetesId, ...]
    refused: tuple[str, ...]


def applied_by_kubectl(cluster: Cluster, bodies: Iterable[Mapping[str, Any]], manager: str = "kubectl") -> Applied:
    """Applies objects as `kubectl apply --server-side` does. Kinds that nobody defined are, with any content."""
    every = sorted(bodies, key=lambda each: each["kind"] not in _FIRST)
    namespaces = {str(each["metadata"].get("namespace") or "") for each in every} - {""}
    made = {each["metadata"]["name"] for each in every if each["kind"] == "Namespace"} | {"default", "kube-system"}
    for name in sorted(namespaces - made):
        cluster.create("namespaces", None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    live, refused = [], []
    for each in every:
        id_ = KubernetesId.of(each)
        served = _served(cluster, id_)
        if served is None:
            cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, _definition(id_))
            served = _served(cluster, id_)
            assert served is not None
        try:
            cluster.patch(served, id_.namespace or None, id_.name, dict(each), "apply", manager=manager)
        except ApiError as error:
            refused.append(f"{id_}: {error}")
        else:
            live.append(id_ if served.namespaced else replace(id_, namespace=""))
    return Applied(tuple(sorted(namespaces)), tuple(live), tuple(refused))


def _served(cluster: Cluster, id_: KubernetesId) -> Resource | None:
    group, _, version = id_.api_version.rpartition("/")
    return cluster.resources.of_kind(group, version, id_.kind)


def _definition(id_: KubernetesId) -> dict[str, Any]:
    group, _, version = id_.api_version.rpartition("/")
    plural = f"{id_.kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if id_.namespace else "Cluster",
            "names": {"plural": plural, "singular": id_.kind.lower(), "kind": id_.kind, "listKind": f"{id_.kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}],
        },
    }
