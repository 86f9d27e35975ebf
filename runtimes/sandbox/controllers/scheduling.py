"""Where a pod may run: the filters and the preference of the scheduler, as pure functions.

Each filter answers None if the node will do, or the words in which the scheduler counts it among the refusals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from ..store import Object
from .owners import labels_of, selects
from .pods import is_finished, is_going
from .quantities import quantity, total

Filter = Callable[[Object, Object, list[Object]], str | None]


def requests_of(pod: Object) -> dict[str, Decimal]:
    """What the pod asks for: its containers together, or its greediest init container if that asks for more."""
    sums = total((each.get("resources") or {}).get("requests") or {} for each in pod["spec"]["containers"])
    for init in pod["spec"].get("initContainers") or ():
        for name, value in ((init.get("resources") or {}).get("requests") or {}).items():
            sums[name] = max(sums.get(name, Decimal(0)), quantity(value))
    return sums


def tolerates(tolerations: Iterable[Mapping[str, str]], taint: Mapping[str, str]) -> bool:
    for toleration in tolerations:
        if toleration.get("effect") not in (None, "", taint["effect"]):
            continue
        if not toleration.get("key"):
            if toleration.get("operator") == "Exists":
                return True
            continue
        if toleration["key"] != taint["key"]:
            continue
        if toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", ""):
            return True
    return False


def untolerated(pod_spec: Object, node: Object, effects: Iterable[str]) -> Object | None:
    """The first taint of these effects that keeps the pod away."""
    for taint in node["spec"].get("taints") or ():
        if taint["effect"] in effects and not tolerates(pod_spec.get("tolerations") or (), taint):
            return taint  # type: ignore[no-any-return]  # JSON
    return None


def fits_affinity(pod_spec: Object, node: Object) -> bool:
    """The node selector and the required node affinity."""
    labels = labels_of(node)
    if any(labels.get(name) != value for name, value in (pod_spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_fits_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def _fits_term(term: Object, node: Object) -> bool:
    fields = {"metadata.name": node["metadata"]["name"]}
    return selects({"matchExpressions": term.get("matchExpressions")}, labels_of(node)) and selects(
        {"matchExpressions": term.get("matchFields")}, fields
    )


def _name(pod: Object, node: Object, pods: list[Object]) -> str | None:
    if node["spec"].get("unschedulable") and untolerated(
        pod["spec"],
        {"spec": {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}},
        ["NoSchedule"],
    ):
        return "node(s) were unschedulable"
    return None


def _taints(pod: Object, node: Object, pods: list[Object]) -> str | None:
    return "node(s) had untolerated taint(s)" if untolerated(pod["spec"], node, ("NoSchedule", "NoExecute")) else None


def _affinity(pod: Object, node: Object, pods: list[Object]) -> str | None:
    return None if fits_affinity(pod["spec"], node) else "node(s) didn't match Pod's node affinity/selector"


def _resources(pod: Object, node: Object, pods: list[Object]) -> str | None:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    here = [each for each in pods if each["spec"].get("nodeName") == node["metadata"]["name"] and not is_finished(each)]
    if "pods" in allocatable and len(here) + 1 > quantity(allocatable["pods"]):
        return "Too many pods"
    used: dict[str, Decimal] = {}
    for each in here:
        for name, value in requests_of(each).items():
            used[name] = used.get(name, Decimal(0)) + value
    for name, value in requests_of(pod).items():
        if value > 0 and value + used.get(name, Decimal(0)) > quantity(allocatable.get(name, "0")):
            return f"Insufficient {name}"
    return None


def _ports(pod: Object, node: Object, pods: list[Object]) -> str | None:
    wanted = _host_ports(pod)
    for each in pods if wanted else ():
        if each["spec"].get("nodeName") == node["metadata"]["name"] and wanted & _host_ports(each):
            return "node(s) didn't have free ports for the requested pod ports"
    return None


def _host_ports(pod: Object) -> set[tuple[int, str]]:
    return {
        (port["hostPort"], port.get("protocol", "TCP"))
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }


# In the order of the scheduler: what a cheaper filter refuses, a later one is not asked about.
FILTERS: tuple[Filter, ...] = (_name, _taints, _affinity, _ports, _resources)


def refusal(pod: Object, node: Object, pods: list[Object]) -> str | None:
    for check in FILTERS:
        why = check(pod, node, pods)
        if why is not None:
            return why
    return None


def spread_refusals(pod: Object, nodes: list[Object], pods: list[Object]) -> dict[str, str]:
    """Nodes on which a topologySpreadConstraint that must hold would not. `nodes`: those that could take the pod."""
    refused: dict[str, str] = {}
    for constraint in pod["spec"].get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        key = constraint["topologyKey"]
        domains: dict[str, int] = {}
        for node in nodes:
            if key in labels_of(node):
                domains.setdefault(labels_of(node)[key], 0)
        by_name = {node["metadata"]["name"]: labels_of(node).get(key) for node in nodes}
        for each in pods:
            domain = by_name.get(each["spec"].get("nodeName", ""))
            same = each["metadata"].get("namespace") == pod["metadata"].get("namespace")
            if domain is not None and same and not is_going(each) and not is_finished(each):
                domains[domain] += selects(constraint.get("labelSelector"), labels_of(each))
        for name, domain in by_name.items():
            if domain is None:
                refused[name] = "node(s) didn't match pod topology spread constraints (missing required label)"
            elif domains[domain] + 1 - min(domains.values()) > constraint.get("maxSkew", 1):
                refused[name] = "node(s) didn't match pod topology spread constraints"
    return refused


def preferred(pod: Object, nodes: list[Object], pods: list[Object]) -> Object:
    """The node with the fewest pods of the same making, then with the fewest pods."""

    def load(node: Object) -> tuple[int, int, int, str]:
        name = node["metadata"]["name"]
        here = [each for each in pods if each["spec"].get("nodeName") == name and not is_finished(each)]
        labels = labels_of(pod)
        alike = sum(bool(labels) and labels_of(each) == labels for each in here)
        shunned = sum(taint["effect"] == "PreferNoSchedule" for taint in node["spec"].get("taints") or ())
        return shunned, alike, len(here), name

    return min(nodes, key=load)


def explained(refusals: Mapping[str, str]) -> str:
    """The scheduler's message, from the refusal of each node."""
    number, reasons = len(refusals), Counter(refusals.values())
    if not number:
        return "no nodes available to schedule pods"
    listed = ", ".join(f"{times} {reason}" for reason, times in sorted(reasons.items()))
    return (
        f"0/{number} nodes are available: {listed}. no new claims to deallocate, preemption: 0/{number} nodes are "
        f"available: {number} Preemption is not helpful for scheduling."
    )
