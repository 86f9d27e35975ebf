"""States that the recordings do not have: what is said of them, and what is named as the reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base import Status
from runtimes.kubernetes import health, why
from runtimes.kubernetes.objects import Objects

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
GATEWAYS = "gateway.networking.k8s.io/v1"


def live(kind: str, api: str, spec: Any, status: Any, **metadata: Any) -> dict[str, Any]:
    own = {"name": "a", "uid": "u1", "creationTimestamp": "2026-01-01T11:00:00Z", **metadata}
    return {"apiVersion": api, "kind": kind, "metadata": own, "spec": spec, "status": status}


def condition(type_: str, status: str, reason: str = "", message: str = "", **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "message": message, **more}


def claim(asked: str, has: str, **status: Any) -> dict[str, Any]:
    spec = {"resources": {"requests": {"storage": asked}}}
    made = {"phase": "Bound", "capacity": {"storage": has}, **status}
    return live("PersistentVolumeClaim", "v1", spec, made, namespace="d")


def namespace(*conditions: dict[str, Any]) -> dict[str, Any]:
    status = {"phase": "Terminating", "conditions": list(conditions)}
    return live("Namespace", "v1", {"finalizers": ["kubernetes"]}, status, deletionTimestamp="2026-01-01T11:50:00Z")


def request(**status: Any) -> dict[str, Any]:
    return live("CertificateSigningRequest", "certificates.k8s.io/v1", {}, status)


def route(*parents: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    spec = {"parentRefs": [{"name": "edge"}]}
    return live("HTTPRoute", GATEWAYS, spec, {"parents": list(parents)}, namespace="d", generation=generation)


def parent(name: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    return {"parentRef": {"name": name}, "conditions": list(conditions)}


REMAIN = condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", "pods. has 1 resource instances")
HELD = condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", "x.io/hold in 1 resource instances")
BLIND = condition("NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed", "metrics.k8s.io/v1beta1 is stale")
RESTART = "Waiting for user to (re-)start a pod"


@pytest.mark.parametrize(
    ("obj", "status", "reason", "said"),
    [
        pytest.param(claim("2Gi", "2Gi"), Status.CURRENT, "Bound", "bound", id="bound"),
        pytest.param(claim("1Gi", "2Gi"), Status.CURRENT, "Bound", "bound", id="bound to more than it asks for"),
        pytest.param(
            claim("2Gi", "1Gi", conditions=[condition("Resizing", "True")]),
            Status.IN_PROGRESS,
            "Resizing",
            "bound with 1Gi of 2Gi",
            id="being resized",
        ),
        pytest.param(
            claim("2Gi", "1Gi", conditions=[condition("FileSystemResizePending", "True", message=RESTART)]),
            Status.IN_PROGRESS,
            "FileSystemResizePending",
            RESTART,
            id="waits for a pod to be resized",
        ),
        pytest.param(
            claim("2Gi", "1Gi", allocatedResourceStatuses={"storage": "ControllerResizeInfeasible"}),
            Status.FAILED,
            "ControllerResizeInfeasible",
            "it cannot be resized",
            id="cannot be resized",
        ),
        pytest.param(claim("2Gi", "x"), Status.CURRENT, "Bound", "bound", id="a size that is none"),
        pytest.param(namespace(REMAIN, HELD), Status.TERMINATING, "", "x.io/hold", id="held by what nobody lists"),
        pytest.param(namespace(REMAIN, HELD, BLIND), Status.TERMINATING, "", "metrics.k8s.io", id="cannot look"),
        pytest.param(namespace(), Status.TERMINATING, "", "its deletion was requested", id="just deleted"),
        pytest.param(request(), Status.IN_PROGRESS, "Pending", "nobody has approved it", id="not approved"),
        pytest.param(
            request(conditions=[condition("Approved", "True")]),
            Status.IN_PROGRESS,
            "NotSigned",
            "not signed yet",
            id="not signed",
        ),
        pytest.param(
            request(conditions=[condition("Approved", "True")], certificate="eA=="),
            Status.CURRENT,
            "Issued",
            "issued",
            id="issued",
        ),
        pytest.param(
            request(conditions=[condition("Denied", "True", "NotMine", "no")]),
            Status.FAILED,
            "NotMine",
            "no",
            id="denied",
        ),
        pytest.param(
            live("Gateway", GATEWAYS, {}, {"conditions": [condition("Programmed", "False", "AddressNotAssigned")]}),
            Status.IN_PROGRESS,
            "AddressNotAssigned",
            "Programmed is False",
            id="a gateway without address",
        ),
        pytest.param(route(), Status.IN_PROGRESS, "Pending", "no gateway has taken it up", id="a route of nobody"),
        pytest.param(
            route(
                parent("edge", condition("Accepted", "True"), condition("ResolvedRefs", "True")),
                parent("inner", condition("Accepted", "True"), condition("ResolvedRefs", "False", "BackendNotFound")),
            ),
            Status.IN_PROGRESS,
            "BackendNotFound",
            "inner: ",
            id="a route that one of its parents refuses",
        ),
        pytest.param(
            route(parent("edge", condition("Accepted", "True", observedGeneration=1)), generation=2),
            Status.IN_PROGRESS,
            "NotObserved",
            "speaks of generation 1, not 2",
            id="a route of an older generation",
        ),
        pytest.param(
            route(parent("edge", condition("Accepted", "True", observedGeneration=2)), generation=2),
            Status.CURRENT,
            "",
            "",
            id="a route that is accepted",
        ),
    ],
)
def test_states(obj: dict[str, Any], status: Status, reason: str, said: str) -> None:
    objects = Objects([obj], [])
    verdict = health.assess(obj, objects, NOW)
    assert (verdict.health.status, verdict.health.reason) == (status, reason)
    assert said in verdict.health.message
    blocking = why.blocking(obj, objects, NOW)
    if status is Status.CURRENT:
        assert blocking is None
    else:
        assert blocking is not None and said in blocking.message and blocking.evidence


def test_a_namespace_names_what_keeps_it_where_that_is_known() -> None:
    going = namespace(REMAIN, HELD)
    pod = live("Pod", "v1", {}, {}, namespace="a", deletionTimestamp="2026-01-01T11:50:00Z", finalizers=["x.io/hold"])
    verdict = health.assess(going, Objects([going, pod], []), NOW)
    assert verdict.health.message == "waits for Pod/a"
