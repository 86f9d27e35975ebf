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
KINDS = sorted({each["body"]["kind"] for each in RECORDED})


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    made.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_refusals_are_those_of_a_real_server(cluster: Cluster, kind: str) -> None:
    differing = []
    for each in RECORDED:
        if each["body"]["kind"] != kind:
            continue
        group, _, version = each["body"]["apiVersion"].rpartition("/")
        resource = cluster.resources.of_kind(group, version, kind)
        assert resource is not None
        try:
            cluster.create(resource, "default" if resource.namespaced else None, each["body"])
            found: Any = "accepted"
        except ApiError as error:
            found = [[cause["field"], cause["message"]] for cause in (error.details or {}).get("causes") or ()]
        if found != each["causes"]:
            differing.append((each["body"].get("spec"), each["causes"], found))
    assert not differing
