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


FLOWS = "flowcontrol.apiserver.k8s.io/v1"
READY = condition("Ready", "True")
FAULT = {"fieldRef": "spec.validations[0].expression", "warning": "undefined field\n | object.x"}
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
        pytest.param(
            claim("1Gi", "1Gi", modifyVolumeStatus={"targetVolumeAttributesClassName": "gold", "status": "InProgress"}),
            Status.IN_PROGRESS,
            "ModifyingVolume",
            "not of class gold yet",
            id="being given other attributes",
        ),
        pytest.param(
            claim("1Gi", "1Gi", modifyVolumeStatus={"targetVolumeAttributesClassName": "gold", "status": "Infeasible"}),
            Status.FAILED,
            "ModifyVolumeInfeasible",
            "cannot be changed",
            id="cannot be given other attributes",
        ),
        pytest.param(
            live(
                "VolumeAttachment", "storage.k8s.io/v1", {}, {"attached": False, "attachError": {"message": "no disk"}}
            ),
            Status.IN_PROGRESS,
            "AttachError",
            "no disk",
            id="not attached",
        ),
        pytest.param(
            live("VolumeAttachment", "storage.k8s.io/v1", {}, {"attached": True}),
            Status.CURRENT,
            "Attached",
            "attached",
            id="attached",
        ),
        pytest.param(
            live("FlowSchema", FLOWS, {}, {"conditions": [condition("Dangling", "True", "NotFound", "no such level")]}),
            Status.IN_PROGRESS,
            "NotFound",
            "no such level",
            id="a flow without its level",
        ),
        pytest.param(
            live("FlowSchema", FLOWS, {}, {"conditions": [condition("Dangling", "False", "Found")]}),
            Status.CURRENT,
            "",
            "",
            id="a flow with its level",
        ),
        pytest.param(
            live(
                "ValidatingAdmissionPolicy",
                "admissionregistration.k8s.io/v1",
                {},
                {"observedGeneration": 1, "typeChecking": {"expressionWarnings": [FAULT]}},
                generation=1,
            ),
            Status.CURRENT,
            "TypeChecking",
            "spec.validations[0].expression: undefined field",
            id="a policy with a fault",
        ),
        pytest.param(
            live(
                "Pod",
                "v1",
                {},
                {
                    "phase": "Running",
                    "conditions": [READY, condition("PodResizePending", "True", "Deferred", "no room")],
                },
                namespace="d",
            ),
            Status.IN_PROGRESS,
            "Deferred",
            "no room",
            id="a pod that has other resources than it asks for",
        ),
        pytest.param(
            live(
                "Prometheus",
                "monitoring.coreos.com/v1",
                {},
                {"conditions": [condition("Available", "False", "Down", "0/1")]},
            ),
            Status.IN_PROGRESS,
            "Down",
            "0/1",
            id="not available, and says nothing of ready",
        ),
        pytest.param(
            live("Pod", "v1", {"nodeName": "n"}, {"phase": "Unknown"}),
            Status.IN_PROGRESS,
            "Unknown",
            "its node does not tell of it",
            id="a pod that nobody tells of",
        ),
        *(
            pytest.param(
                live("Run", "x.example/v1", {}, {"conditions": [condition(type_, value, "Why", "said"), *others]}),
                status,
                reason,
                said,
                id=f"{type_} {value}, {len(others)} others",
            )
            for type_, value, others, status, reason, said in (
                ("Failed", "True", [], Status.FAILED, "Why", "said"),
                ("Failed", "True", [READY], Status.CURRENT, "", "ready"),
                ("Failed", "False", [], Status.CURRENT, "", ""),
                ("Succeeded", "False", [], Status.FAILED, "Why", "said"),
                ("Succeeded", "Unknown", [], Status.IN_PROGRESS, "Why", "said"),
                ("Succeeded", "True", [], Status.CURRENT, "", ""),
                ("Degraded", "True", [condition("Available", "True")], Status.IN_PROGRESS, "Why", "said"),
                ("Synced", "False", [READY], Status.IN_PROGRESS, "Why", "said"),
                ("Synced", "True", [READY], Status.CURRENT, "", "ready"),
            )
        ),
        *(
            pytest.param(
                live(
                    "PodDisruptionBudget",
                    "policy/v1",
                    {},
                    {"observedGeneration": 1, "conditions": [condition("DisruptionAllowed", "False", reason, "said")]},
                    generation=1,
                ),
                status,
                reason if status is Status.IN_PROGRESS else "",
                "said" if status is Status.IN_PROGRESS else "",
                id=f"a budget: {reason}",
            )
            for reason, status in (("SyncFailed", Status.IN_PROGRESS), ("InsufficientPods", Status.CURRENT))
        ),
        pytest.param(
            live(
                "Thing",
                "x.example/v1",
                {},
                {"conditions": [condition("Stalled", "True", "Old", observedGeneration=1)]},
                generation=2,
            ),
            Status.IN_PROGRESS,
            "NotObserved",
            "Stalled speaks of generation 1, not 2",
            id="stalled in an earlier generation",
        ),
        pytest.param(
            live(
                "Thing",
                "x.example/v1",
                {},
                {
                    "conditions": [
                        condition("Stalled", "True", observedGeneration=1),
                        condition("Ready", "True", "Done", observedGeneration=2),
                    ]
                },
                generation=2,
            ),
            Status.CURRENT,
            "Done",
            "ready",
            id="ready since it stalled",
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
        pytest.param(
            live("Gateway", GATEWAYS, {}, {}), Status.IN_PROGRESS, "Pending", "no controller", id="new gateway"
        ),
        pytest.param(
            live(
                "Gateway",
                GATEWAYS,
                {},
                {
                    "conditions": [condition("Accepted", "True"), condition("Programmed", "True")],
                    "listeners": [
                        {"name": "https", "conditions": [condition("ResolvedRefs", "False", "NoSuchSecret")]}
                    ],
                },
            ),
            Status.IN_PROGRESS,
            "NoSuchSecret",
            "listener https: ",
            id="a gateway with a listener that has no certificate",
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


def pod_of(owner: dict[str, Any], name: str, ready_since: str = "", waiting: str = "", **labels: str) -> dict[str, Any]:
    said: dict[str, Any] = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    ready = condition("Ready", "True" if ready_since else "False", lastTransitionTime=ready_since or None)
    status = {"phase": "Running", "conditions": [ready], "containerStatuses": [{"name": "app", "state": said}]}
    above = {"kind": owner["kind"], "name": "a", "uid": owner["metadata"]["uid"], "controller": True}
    own = {"name": name, "uid": name, "namespace": "d", "labels": labels, "ownerReferences": [above]}
    return live("Pod", "v1", {"nodeName": "n"}, status, **own)


def workload(kind: str, spec: Any, **status: Any) -> dict[str, Any]:
    return live(kind, "apps/v1", spec, {"observedGeneration": 1, **status}, namespace="d", generation=1)


def test_a_paused_deployment_is_said_to_be_paused() -> None:
    one = workload("Deployment", {"replicas": 2, "paused": True, "template": {}}, replicas=2, availableReplicas=2)
    held = why.blocking(one, Objects([one]), NOW)
    assert held is not None
    assert (str(held.ref), held.message) == ("Deployment/a", "0 of 2 updated, 2 available; it is paused")
    one["status"] |= {"updatedReplicas": 2, "readyReplicas": 2}
    assert health.assess(one, Objects([one]), NOW).health.status is Status.CURRENT


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param("ReplicaSet", {"replicas": 2, "readyReplicas": 2, "availableReplicas": 1}, id="ReplicaSet"),
        pytest.param(
            "StatefulSet",
            {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 1},
            id="StatefulSet",
        ),
        pytest.param(
            "DaemonSet",
            {
                "desiredNumberScheduled": 2,
                "currentNumberScheduled": 2,
                "updatedNumberScheduled": 2,
                "numberReady": 2,
                "numberAvailable": 1,
            },
            id="DaemonSet",
        ),
    ],
)
def test_the_pod_that_was_ready_last_is_what_min_ready_seconds_waits_for(kind: str, status: dict[str, Any]) -> None:
    """Whatever the clock of this machine says."""
    one = workload(kind, {"replicas": 2, "minReadySeconds": 30}, **status)
    pods = [pod_of(one, "a-0", "2026-01-01T11:59:58Z"), pod_of(one, "a-1", "2026-01-01T11:59:00Z")]
    for now in (NOW, NOW.replace(year=2020), NOW.replace(year=2030)):
        held = why.blocking(one, Objects([one, *pods]), now)
        assert held is not None
        assert str(held.ref) == "Pod/a-0"
        assert held.message.endswith("; ready for less than the 30 s of minReadySeconds")


def test_a_stateful_set_that_waits_for_a_broken_pod_of_an_earlier_revision_says_what_to_do() -> None:
    spec: dict[str, Any] = {"replicas": 1}
    one = workload("StatefulSet", spec, replicas=1, currentRevision="a-1", updateRevision="a-2")
    old, new = ({"controller-revision-hash": each} for each in ("a-1", "a-2"))
    broken = why.blocking(one, Objects([one, pod_of(one, "a-0", waiting="ImagePullBackOff", **old)]), NOW)
    assert broken is not None
    assert str(broken.ref) == "Pod/a-0"
    assert broken.message.endswith("; a-0 is of an earlier revision, and is not replaced before it is deleted")
    newest = why.blocking(one, Objects([one, pod_of(one, "a-0", waiting="ImagePullBackOff", **new)]), NOW)
    assert newest is not None
    assert "earlier" not in newest.message
    spec["podManagementPolicy"] = "Parallel"
    at_once = why.blocking(one, Objects([one, pod_of(one, "a-0", waiting="ImagePullBackOff", **old)]), NOW)
    assert at_once is not None
    assert "earlier" not in at_once.message


def test_a_claim_says_why_no_volume_is_bound_though_no_event_warns() -> None:
    waiting = live("PersistentVolumeClaim", "v1", {}, {"phase": "Pending"}, namespace="d")
    about = {"kind": "PersistentVolumeClaim", "namespace": "d", "name": "a", "uid": "u1"}
    said = "no persistent volumes available for this claim and no storage class is set"
    event = {"kind": "Event", "type": "Normal", "reason": "FailedBinding", "message": said, "involvedObject": about}
    held = why.blocking(waiting, Objects([waiting], [event]), NOW)
    assert held is not None
    assert (held.reason, held.message) == ("FailedBinding", said)
    waiting["spec"]["volumeName"] = "disk-1"
    named = why.blocking(waiting, Objects([waiting]), NOW)
    assert named is not None
    assert named.message == "not bound to volume disk-1 yet"


def event(about: dict[str, Any], type_: str, reason: str, message: str, minute: int) -> dict[str, Any]:
    named = {"kind": about["kind"], "namespace": "d", "name": "a", "uid": "u1"}
    at = f"2026-01-01T11:{minute:02}:00Z"
    said = {"type": type_, "reason": reason, "message": message}
    return {"kind": "Event", **said, "involvedObject": named, "lastTimestamp": at}


def test_what_was_warned_of_before_it_was_put_right_is_no_reason() -> None:
    waiting = live("PersistentVolumeClaim", "v1", {}, {"phase": "Pending"}, namespace="d")
    late = event(waiting, "Warning", "ProvisioningFailed", "no such class", 1)
    waits = event(waiting, "Normal", "WaitForFirstConsumer", "waiting for first consumer", 2)
    held = why.blocking(waiting, Objects([waiting], [late, waits]), NOW)
    assert held is not None and held.reason == "WaitForFirstConsumer"
    held = why.blocking(waiting, Objects([waiting], [waits, {**late, "lastTimestamp": "2026-01-01T11:03:00Z"}]), NOW)
    assert held is not None and held.reason == "ProvisioningFailed"

    creating = {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
    bound = {"phase": "Pending", "conditions": [condition("PodScheduled", "True")], "containerStatuses": [creating]}
    pod = live("Pod", "v1", {"nodeName": "n1"}, bound, namespace="d")
    nowhere = event(pod, "Warning", "FailedScheduling", "0/2 nodes are available", 1)
    held = why.blocking(pod, Objects([pod], [nowhere]), NOW)
    assert held is not None and (held.reason, "nodes" in held.message) == ("ContainerCreating", False)
    held = why.blocking(pod, Objects([pod], [event(pod, "Warning", "FailedMount", "no disk", 0), nowhere]), NOW)
    assert held is not None and held.reason == "FailedMount"


def test_a_set_of_nodes_says_that_its_pods_are_refused() -> None:
    counts = {"desiredNumberScheduled": 2, "observedGeneration": 1}
    one = live("DaemonSet", "apps/v1", {}, counts, namespace="d", generation=1)
    refused = event(one, "Warning", "FailedCreate", "exceeded quota", 1)
    held = why.blocking(one, Objects([one], [refused]), NOW)
    assert held is not None and held.reason == "FailedCreate" and "exceeded quota" in held.evidence


@pytest.mark.parametrize(
    ("one", "reason", "said"),
    [
        (
            workload(
                "StatefulSet",
                {"replicas": 2, "updateStrategy": {"type": "OnDelete"}},
                replicas=2, readyReplicas=2, availableReplicas=2, updatedReplicas=0,
            ),
            "OnDelete",
            "2 of 2 ready, 0 with the present template: one is updated when it is deleted",
        ),
        (
            workload(
                "StatefulSet",
                {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
                replicas=3, readyReplicas=3, availableReplicas=3, updatedReplicas=1,
            ),
            "Partition",
            "3 of 3 ready, 1 with the present template: the partition is 2",
        ),
        (
            workload(
                "DaemonSet",
                {"updateStrategy": {"type": "OnDelete"}},
                desiredNumberScheduled=2, currentNumberScheduled=2, numberReady=2, numberAvailable=2,
                updatedNumberScheduled=1,
            ),
            "OnDelete",
            "2 of 2 available, 1 with the present template: one is updated when it is deleted",
        ),
    ],
)  # fmt: skip
def test_ready_is_not_all_that_is_said_of_pods_that_run_an_earlier_template(
    one: dict[str, Any], reason: str, said: str
) -> None:
    found = health.assess(one, Objects([one]), NOW).health
    assert (found.status, found.is_qualified) == (Status.CURRENT, True)
    assert (found.reason, found.message) == (reason, said)
    done = {**one["status"], "updatedReplicas": 3, "updatedNumberScheduled": 2}
    assert not health.assess({**one, "status": done}, Objects([]), NOW).health.is_qualified


def test_a_schedule_whose_last_run_failed_is_ready_and_that_is_said() -> None:
    one = live("CronJob", "batch/v1", {"schedule": "* * * * *"}, {}, namespace="d")
    owner = [{"uid": one["metadata"]["uid"], "kind": "CronJob", "name": "a"}]
    failed = {"conditions": [condition("Failed", "True", "BackoffLimitExceeded")]}
    run = live("Job", "batch/v1", {}, failed, name="a-1", uid="u2", namespace="d", ownerReferences=owner)
    found = health.assess(one, Objects([one, run]), NOW).health
    assert (found.status, found.reason, found.is_qualified) == (Status.CURRENT, "LastRunFailed", True)


@pytest.mark.parametrize(
    ("one", "reason", "said"),
    [
        (workload("DaemonSet", {}), "NoNodes", "no node is wanted: it runs nowhere"),
        (live("Job", "batch/v1", {"suspend": True}, {}, namespace="d"), "Suspended", "suspended: it does not run"),
        (
            live("CronJob", "batch/v1", {"suspend": True}, {}, namespace="d"),
            "Suspended",
            "suspended: its schedule starts no Job",
        ),
    ],
)
def test_what_is_ready_and_runs_nothing_says_so(one: dict[str, Any], reason: str, said: str) -> None:
    found = health.assess(one, Objects([one]), NOW).health
    assert (found.status, found.reason, found.message, found.is_qualified) == (Status.CURRENT, reason, said, True)


def slice_of(service: dict[str, Any], *endpoints: dict[str, Any], uid: str = "u9") -> dict[str, Any]:
    owner = [{"uid": service["metadata"]["uid"], "kind": "Service", "name": "a"}]
    found = live("EndpointSlice", "discovery.k8s.io/v1", {}, {}, namespace="d", uid=uid, ownerReferences=owner)
    return {**found, "endpoints": list(endpoints) or None}


def test_a_service_that_selects_no_pod_is_ready_with_a_note_once_its_controller_had_time() -> None:
    spec = {"type": "ClusterIP", "selector": {"app": "wbe"}}
    service = live("Service", "v1", spec, {}, namespace="d")
    found = health.assess(service, Objects([service, slice_of(service)]), NOW).health
    assert (found.status, found.reason, found.is_qualified) == (Status.CURRENT, "NoEndpoints", True)
    assert found.message == "no pod with an address has the labels that it selects (app=wbe): nothing answers it"

    young = live("Service", "v1", spec, {}, namespace="d", creationTimestamp="2026-01-01T11:59:59Z")
    found = health.assess(young, Objects([young, slice_of(young)]), NOW).health
    assert (found.status, found.reason) == (Status.IN_PROGRESS, "NoEndpoints"), "pods may be listed in a moment"


def test_a_service_that_has_a_pod_or_selects_none_or_whose_slices_nobody_made_has_no_note() -> None:
    service = live("Service", "v1", {"selector": {"app": "web"}}, {}, namespace="d")
    by_hand = live("Service", "v1", {}, {}, namespace="d")
    unready = {"addresses": ["10.0.0.1"], "conditions": {"ready": False}}
    for one, *slices in (
        (service, slice_of(service), slice_of(service, unready, uid="u10")),
        (by_hand, slice_of(by_hand)),
        (service,),
    ):
        assert not health.assess(one, Objects([one, *slices]), NOW).health.is_qualified
