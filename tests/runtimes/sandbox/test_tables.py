"""Rows of tables do not depend on the version that an object is read in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtimes.sandbox.api.tables import row_cells
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.versions import read_as

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EVENT = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    "reason": "Started",
    "message": "it did",
    "type": "Normal",
    "firstTimestamp": "2026-01-02T03:00:05Z",
    "lastTimestamp": "2026-01-02T03:03:05Z",
    "count": 3,
}
AUTOSCALER = {
    "metadata": {"name": "a"},
    "spec": {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
}


@pytest.mark.parametrize(
    ("name", "group", "version", "body", "cells"),
    [
        (
            "events",
            "events.k8s.io",
            "v1",
            EVENT,
            ["60s", "Normal", "Started", "pod/p", "", "", "it did", "4m", 3, "e"],
        ),
        (
            "horizontalpodautoscalers.autoscaling",
            "autoscaling",
            "v1",
            AUTOSCALER,
            ["a", "Deployment/web", "cpu: <unknown>/80%", "1", 5, 0, "0s"],
        ),
    ],
)
def test_cells_are_those_of_the_stored_version(
    name: str, group: str, version: str, body: dict[str, object], cells: list[object]
) -> None:
    cluster = Cluster("test", VirtualClock(NOW), seed=7)
    stored = cluster.create(name, "default", body)
    other = cluster.resources.find(group, version, name.partition(".")[0])
    assert other is not None
    assert row_cells(other, read_as(stored, other), NOW) == cells
