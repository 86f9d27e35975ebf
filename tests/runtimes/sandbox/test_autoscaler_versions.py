"""Annotations that hold what autoscaling/v1 has no fields for, as a real server of 1.34.3 reads what clients wrote."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError

ALPHA = "autoscaling.alpha.kubernetes.io"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster("test", VirtualClock(), seed=7)


def created(cluster: Cluster, annotation: str, text: str) -> dict[str, Any]:
    """The autoscaler in v2 after a dry run of its creation in v1."""
    served = cluster.resources.find("autoscaling", "v1", "horizontalpodautoscalers")
    assert served is not None
    body = {
        "metadata": {"name": "h", "annotations": {f"{ALPHA}/{annotation}": text}},
        "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET},
    }
    return cluster.create(served, "default", body, dry_run=True)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        *(("metrics", text) for text in ("x", '["a"]', "5", "null", '{"a":1}')),
        ("metrics", '[{"type":"Object","object":{"target":"x"}}]'),
        ("metrics", '[{"type":"Resource","resource":"x"}]'),
        ("metrics", '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"zz"}}]'),
        ("metrics", '[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":"5"}}]'),
        *(("current-metrics", text) for text in ('["a"]', "5", "[]")),
        *(("behavior", text) for text in ("[1]", '"q"', "{}", '{"ScaleUp":{"Policies":"x"}}', '{"ScaleUp":null}')),
        ("behavior", '{"ScaleUp":{"StabilizationWindowSeconds":"7"}}'),
        *(("conditions", text) for text in ('["a"]', "5", '"a"', '[{"type":5}]')),
    ],
)
def test_an_annotation_of_another_form_is_passed_over(cluster: Cluster, annotation: str, text: str) -> None:
    made = created(cluster, annotation, text)
    assert "annotations" not in made["metadata"]
    assert made["spec"]["targetCPUUtilizationPercentage"] == 80, "as without any metric"
    assert made["status"] == {"currentReplicas": 0, "desiredReplicas": 0}


def test_an_amount_in_an_annotation_is_written_as_the_server_writes_it(cluster: Cluster) -> None:
    text = '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"%s"}}]'
    annotations = created(cluster, "metrics", text % "1024Mi")["metadata"]["annotations"]
    assert annotations == {f"{ALPHA}/metrics": text % "1Gi"}


@pytest.mark.parametrize("text", ["[null]", "[{}]"])
def test_an_empty_metric_in_an_annotation_is_refused(cluster: Cluster, text: str) -> None:
    with pytest.raises(ApiError, match=r"spec\.metrics\[0\]\.type: Required value: must specify a metric source type"):
        created(cluster, "metrics", text)
