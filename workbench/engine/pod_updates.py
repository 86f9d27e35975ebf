"""When the pods of a workload follow its template, and when they stay as they are.

A Deployment that is paused, and a set whose strategy is OnDelete, take a new template and do nothing with it: "its pods
are replaced" would be as wrong of them as "ready" is of what runs the former image
(https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#update-strategies).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtimes.base import KubernetesId, starts_with
from workbench.engine.changes import Change

POD_TEMPLATE: Final = ("spec", "template")
RESTARTING: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
"""Kinds that replace their pods when the template of these changes."""


def held_back(kind: str, body: object) -> str:
    """Returns why the pods of this workload do not follow its template, as the end of a sentence; empty if they do."""
    match body:
        case {"spec": {"paused": True}} if kind == "Deployment":
            return "as long as it is paused"
        case {"spec": {"updateStrategy": {"type": "OnDelete"}}} if kind != "Deployment":
            return "until somebody deletes them (updateStrategy OnDelete)"
        case {"spec": {"replicas": int() as replicas, "updateStrategy": {"rollingUpdate": Mapping() as rolling}}}:
            return _by_partition(rolling, replicas) if kind == "StatefulSet" else ""
    return ""


def stays(change: Change) -> str:
    """Returns until when pods stay as they are though their template changes; empty where they do not, or it does
    not."""
    id_ = change.address.id
    if not isinstance(id_, KubernetesId) or id_.kind not in RESTARTING or change.before is None:
        return ""
    if not any(starts_with(each.path, POD_TEMPLATE) for each in change.fields):
        return ""
    return held_back(id_.kind, change.after)


def _by_partition(rolling: Mapping[str, Any], replicas: int) -> str:
    partition = rolling.get("partition")
    if not isinstance(partition, int) or partition < replicas or not replicas:
        return ""
    return f"as long as the partition is {partition}"
