"""Objects that a real API server refuses are refused with its causes, each in its words and in its order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError

RECORDED: list[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("refused.yaml").read_text(), Loader=yaml.CSafeLoader
)
RESOURCES = {
    "CSIStorageCapacity": "csistoragecapacities.storage.k8s.io",
    "CustomResourceDefinition": "customresourcedefinitions.apiextensions.k8s.io",
    "FlowSchema": "flowschemas.flowcontrol.apiserver.k8s.io",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers.autoscaling",
    "Job": "jobs.batch",
    "LimitRange": "limitranges",
    "PersistentVolume": "persistentvolumes",
    "Pod": "pods",
    "PriorityLevelConfiguration": "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "ServiceCIDR": "servicecidrs.networking.k8s.io",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies.admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "VolumeAttachment": "volumeattachments.storage.k8s.io",
    "VolumeAttributesClass": "volumeattributesclasses.storage.k8s.io",
}
NAMESPACED = ("CSIStorageCapacity", "HorizontalPodAutoscaler", "Job", "LimitRange", "Pod")


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    made.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    return made


@pytest.mark.parametrize("kind", sorted(RESOURCES))
def test_refusals_are_those_of_a_real_server(cluster: Cluster, kind: str) -> None:
    assert any(each["body"]["kind"] == kind for each in RECORDED)
    differing = []
    for each in RECORDED:
        if each["body"]["kind"] != kind:
            continue
        namespace = "default" if kind in NAMESPACED else None
        try:
            cluster.create(RESOURCES[kind], namespace, each["body"])
            found: Any = "accepted"
        except ApiError as error:
            found = [[cause["field"], cause["message"]] for cause in (error.details or {}).get("causes") or ()]
        if found != each["causes"]:
            differing.append((each["body"].get("spec"), each["causes"], found))
    assert not differing
