"""Where a pod may run: the filters and the preference of the scheduler, as pure functions.

Each filter answers None if the node will do, or a `Refusal` in the words in which the scheduler counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from kcl.records import dataclass
from runtimes.sandbox.controllers.owners import labels_of, selects
from runtimes.sandbox.controllers.pods import is_finished, is_going
from runtimes.sandbox.controllers.quantities import quantity
from runtimes.sandbox.pod_amounts import pod_amounts
from runtimes.sandbox.store import Object

PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
SPREAD = "node(s) didn't match pod topology spread constraints"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node will not do. `may_change`: it would, were other pods not there."""

    reasons: tuple[str, ...]
    may_change: bool = False


Filter = Callable[[Object, Object, list[Object]], Refusal | None]


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


def _cordon(pod: Object, node: Object, pods: list[Object]) -> Refusal | None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node["spec"].get("unschedulable") and not tolerates(pod["spec"].get("tolerations") or (), taint):
        return Refusal(("node(s) were unschedulable",))
    return None


def _taints(pod: Object, node: Object, pods: list[Object]) -> Refusal | None:
    if untolerated(pod["spec"], node, ("NoSchedule", "NoExecute")):
        return Refusal(("node(s) had untolerated taint(s)",))
    return None


def _affinity(pod: Object, node: Object, pods: list[Object]) -> Refusal | None:
    if fits_affinity(pod["spec"], node):
        return None
    named = nodes_named(pod["spec"])
    if named is not None and node["metadata"]["name"] not in named:
        return Refusal(("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
    return Refusal(("node(s) didn't match Pod's node affinity/selector",))


def nodes_named(pod_spec: Object) -> set[str] | None:
    """The only nodes that the affinity names, as that of a DaemonSet's pod does; None if it is not by name."""
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    named: set[str] = set()
    for term in terms:
        fields = [each for each in term.get("matchFields") or () if each["key"] == "metadata.name"]
        if not fields or fields[0]["operator"] != "In":
            return None
        named |= set(fields[0].get("values") or ())
    return named if terms else None


def _resources(pod: Object, node: Object, pods: list[Object]) -> Refusal | None:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    here = [each for each in _on(node, pods) if not is_finished(each)]
    reasons, may_change = [], True
    if "pods" in allocatable and len(here) + 1 > quantity(allocatable["pods"]):
        reasons.append("Too many pods")
    used: dict[str, Decimal] = {}
    for each in here:
        for name, requested in pod_amounts(each["spec"], "requests").items():
            used[name] = used.get(name, Decimal(0)) + requested.value
    for name, requested in pod_amounts(pod["spec"], "requests").items():
        value = requested.value
        room = quantity(allocatable.get(name, "0"))
        if value > 0 and value + used.get(name, Decimal(0)) > room:
            reasons.append(f"Insufficient {name}")
            may_change &= value <= room
    return Refusal(tuple(reasons), may_change) if reasons else None


def _ports(pod: Object, node: Object, pods: list[Object]) -> Refusal | None:
    wanted = _host_ports(pod)
    if wanted and any(wanted & _host_ports(each) for each in _on(node, pods)):
        return Refusal((PORTS_TAKEN,), may_change=True)
    return None


def _on(node: Object, pods: list[Object]) -> list[Object]:
    return [each for each in pods if each["spec"].get("nodeName") == node["metadata"]["name"]]


def _host_ports(pod: Object) -> set[tuple[int, str]]:
    return {
        (port["hostPort"], port.get("protocol", "TCP"))
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }


# In the order of the scheduler: what an earlier filter refuses, a later one is not asked about.
FILTERS: tuple[Filter, ...] = (_cordon, _taints, _affinity, _ports, _resources)


def refusals(pod: Object, nodes: list[Object], pods: list[Object]) -> dict[str, Refusal]:
    """Why which nodes will not do, by their names."""
    refused: dict[str, Refusal] = {}
    for node in nodes:
        why = next((found for check in FILTERS if (found := check(pod, node, pods)) is not None), None)
        if why is not None:
            refused[node["metadata"]["name"]] = why
    for check in (_spread, _neighbours):
        left = [node for node in nodes if node["metadata"]["name"] not in refused]
        refused |= check(pod, left, nodes, pods)
    return refused


def _spread(pod: Object, nodes: list[Object], every: list[Object], pods: list[Object]) -> dict[str, Refusal]:
    """Nodes on which a topologySpreadConstraint that must hold would not. `nodes`: those that could take the pod."""
    refused: dict[str, Refusal] = {}
    for constraint in pod["spec"].get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        domain_of = {node["metadata"]["name"]: labels_of(node).get(constraint["topologyKey"]) for node in nodes}
        counts = {domain: 0 for domain in domain_of.values() if domain is not None}
        for each in pods:
            domain = domain_of.get(each["spec"].get("nodeName", ""))
            if domain is not None and _same_namespace(each, pod) and not is_going(each) and not is_finished(each):
                counts[domain] += selects(constraint.get("labelSelector"), labels_of(each))
        for name, domain in domain_of.items():
            if domain is None:
                refused[name] = Refusal((f"{SPREAD} (missing required label)",))
            elif counts[domain] + 1 - min(counts.values()) > constraint.get("maxSkew", 1):
                refused[name] = Refusal((SPREAD,), may_change=True)
    return refused


def _neighbours(pod: Object, nodes: list[Object], every: list[Object], pods: list[Object]) -> dict[str, Refusal]:
    """Nodes near which pods are that must not be, or are not that must be."""
    labels = {node["metadata"]["name"]: labels_of(node) for node in every}
    placed = [each for each in pods if each["spec"].get("nodeName") in labels and not is_finished(each)]
    refused: dict[str, Refusal] = {}
    for node in nodes:
        name = node["metadata"]["name"]
        for term in _required(pod, "podAffinity"):
            near = _near(term, labels[name], placed, labels)
            # The first of a group that wants its own kind around it has to begin somewhere.
            alone = not any(_meant(term, pod, each) for each in placed) and _meant(term, pod, pod)
            fits = term["topologyKey"] in labels[name] and (alone or any(_meant(term, pod, each) for each in near))
            if not fits:
                refused[name] = Refusal(("node(s) didn't match pod affinity rules",))
        for term in _required(pod, "podAntiAffinity"):
            if any(_meant(term, pod, each) for each in _near(term, labels[name], placed, labels)):
                refused.setdefault(name, Refusal(("node(s) didn't match pod anti-affinity rules",), may_change=True))
        for each in placed:
            for term in _required(each, "podAntiAffinity"):
                if _meant(term, each, pod) and each in _near(term, labels[name], placed, labels):
                    text = "node(s) didn't satisfy existing pods anti-affinity rules"
                    refused.setdefault(name, Refusal((text,), may_change=True))
    return refused


def _required(pod: Object, kind: str) -> list[Object]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())


def _near(
    term: Object, here: Mapping[str, str], placed: list[Object], labels: Mapping[str, Mapping[str, str]]
) -> list[Object]:
    """The pods in the same domain of the term's topology."""
    key = term["topologyKey"]
    if key not in here:
        return []
    return [each for each in placed if labels[each["spec"]["nodeName"]].get(key) == here[key]]


def _meant(term: Object, owner: Object, other: Object) -> bool:
    """Whether a term of `owner` speaks of the other pod."""
    namespaces = term.get("namespaces")
    within = other["metadata"].get("namespace") in namespaces if namespaces else _same_namespace(owner, other)
    return bool(within) and selects(term.get("labelSelector"), labels_of(other))


def _same_namespace(one: Object, other: Object) -> bool:
    return bool(one["metadata"].get("namespace") == other["metadata"].get("namespace"))


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


def explained(refused: Mapping[str, Refusal], *, is_helped: bool = False) -> str:
    """The scheduler's message, from the refusal of each node; a pod that is helped needs no words about preemption."""
    number = len(refused)
    if not number:
        return "no nodes available to schedule pods"
    reasons = Counter(reason for refusal in refused.values() for reason in refusal.reasons)
    hopes = Counter(NO_VICTIMS if refusal.may_change else NO_HELP for refusal in refused.values())
    nodes = f"0/{number} nodes are available"
    if is_helped:
        return f"{nodes}: {_listed(reasons)}."
    return f"{nodes}: {_listed(reasons)}. no new claims to deallocate, preemption: {nodes}: {_listed(hopes)}."


NO_VICTIMS = "No preemption victims found for incoming pod"
NO_HELP = "Preemption is not helpful for scheduling"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{times} {reason}" for reason, times in counts.items()))
