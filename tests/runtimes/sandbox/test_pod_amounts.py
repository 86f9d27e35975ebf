"""What a Pod counts for, where quotas, limit ranges and the scheduler ask, as a server of 1.34.3 sums."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.controllers.scheduling import explained, refusals
from runtimes.sandbox.errors import ApiError


def amounts(cpu: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}


def container(name: str, cpu: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", **({"resources": amounts(cpu)} if cpu else {}), **more}


def sidecar(name: str, cpu: str) -> dict[str, Any]:
    return container(name, cpu, restartPolicy="Always")


PODS: dict[str, tuple[str, dict[str, Any]]] = {
    "of its own": ("2", {"resources": amounts("2"), "containers": [container("a")]}),
    "of its own, above its containers": ("2", {"resources": amounts("2"), "containers": [container("a", "400m")]}),
    "with a sidecar": (
        "1200m",
        {"initContainers": [sidecar("s", "600m")], "containers": [container("a", "600m")]},
    ),
    "init beside a sidecar": (
        "1200m",
        {"initContainers": [sidecar("s", "600m"), container("i", "600m")], "containers": [container("a", "300m")]},
    ),
    "init before a sidecar": (
        "",
        {"initContainers": [container("i", "900m"), sidecar("s", "600m")], "containers": [container("a", "300m")]},
    ),
    "large init": ("1100m", {"initContainers": [container("i", "1100m")], "containers": [container("a", "300m")]}),
    "fits": ("", {"containers": [container("a", "900m")]}),
}
OVERHEAD: dict[str, tuple[str, dict[str, Any]]] = {
    "over its containers": ("1200m", {"runtimeClassName": "r", "containers": [container("a", "700m")]}),
    "over its own": ("1200m", {"runtimeClassName": "r", "resources": amounts("700m"), "containers": [container("a")]}),
}
BOTH = PODS | OVERHEAD


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(), seed=7)
    made.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    overhead = {"podFixed": {"cpu": "500m"}}
    made.create("runtimeclasses.node.k8s.io", None, {"metadata": {"name": "r"}, "handler": "x", "overhead": overhead})
    return made


def refusal(cluster: Cluster, spec: dict[str, Any]) -> str:
    """What is said to the creation of a Pod, "" if it is created."""
    try:
        cluster.create("pods", "default", {"metadata": {"name": "p"}, "spec": spec})
    except ApiError as error:
        return error.message
    return ""


@pytest.mark.parametrize(("asked", "spec"), BOTH.values(), ids=BOTH)
def test_a_quota_counts_the_whole_pod(cluster: Cluster, asked: str, spec: dict[str, Any]) -> None:
    hard = {"requests.cpu": "1", "limits.cpu": "1"}
    cluster.create("resourcequotas", "default", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    used = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    cluster.patch("resourcequotas", "default", "q", used, "merge", subresource="status")
    told = f"requested: limits.cpu={asked},requests.cpu={asked}, used" if asked else ""
    assert told in (said := refusal(cluster, spec)) and bool(said) == bool(told)


@pytest.mark.parametrize(("asked", "spec"), PODS.values(), ids=PODS)
def test_a_limit_range_bounds_the_whole_pod(cluster: Cluster, asked: str, spec: dict[str, Any]) -> None:
    limits = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
    cluster.create("limitranges", "default", {"metadata": {"name": "l"}, "spec": limits})
    told = f"maximum cpu usage per Pod is 1, but limit is {asked}" if asked else ""
    assert told in (said := refusal(cluster, spec)) and bool(said) == bool(told)


def test_a_limit_range_leaves_overhead_out(cluster: Cluster) -> None:
    limits = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
    cluster.create("limitranges", "default", {"metadata": {"name": "l"}, "spec": limits})
    assert not refusal(cluster, OVERHEAD["over its containers"][1])


@pytest.mark.parametrize(("asked", "spec"), BOTH.values(), ids=BOTH)
def test_the_scheduler_makes_room_for_the_whole_pod(cluster: Cluster, asked: str, spec: dict[str, Any]) -> None:
    pod = cluster.create("pods", "default", {"metadata": {"name": "p"}, "spec": spec})
    node = {"metadata": {"name": "n"}, "spec": {}, "status": {"allocatable": {"cpu": "1"}}}
    refused = refusals(pod, [node], [])
    assert bool(refused) == bool(asked)
    assert not refused or "Insufficient cpu" in explained(refused)
