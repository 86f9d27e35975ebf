"""DaemonSet: one pod on every node that will have it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from runtimes.sandbox.controllers import revisions, scheduling
from runtimes.sandbox.controllers.base import Controller, Key, key_of
from runtimes.sandbox.controllers.conditions import nonzero, resolved
from runtimes.sandbox.controllers.owners import claim, labels_of, owners_to_wake
from runtimes.sandbox.controllers.pods import from_template, is_available, is_finished, is_going, is_ready
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.store import Change, Object, copied

HASH, GENERATION = "controller-revision-hash", "pod-template-generation"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
# A daemon is to run where others would not, and to stay while its node is in trouble.
TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


class DaemonSets(Controller):
    name = "daemonset-controller"
    watches = ("daemonsets.apps", "pods", "nodes")

    def concerned(self, change: Change) -> Iterable[Key]:
        match change.resource[1]:
            case "daemonsets":
                yield change.key
            case "pods":
                changed = (change.object, change.previous)
                yield from owners_to_wake(self.hands, "daemonsets.apps", "DaemonSet", changed)
            case _ if change.type != "DELETED":  # a node that goes is noticed when its pods are collected
                for daemon_set in self.hands.all("daemonsets.apps"):
                    yield key_of(daemon_set)

    def reconcile(self, key: Key) -> None:
        daemon_set = self.hands.find("daemonsets.apps", *key)
        if daemon_set is None:
            return
        revision, history = revisions.current(self.hands, daemon_set, HASH, [TEMPLATE_GENERATION])
        digest = revisions.hash_of(revision, HASH)
        failure: ApiError | None = None
        if not daemon_set["metadata"].get("deletionTimestamp"):
            try:
                self._manage(daemon_set, digest)
            except ApiError as error:
                failure = error
            if (
                failure is None
                and (daemon_set["spec"].get("updateStrategy") or {}).get("type", "RollingUpdate") == "RollingUpdate"
            ):
                self._roll(daemon_set, digest)
        by_node = self._by_node(daemon_set)
        used = {revision["metadata"]["name"]}
        hashes = {labels_of(pod).get(HASH) for pods in by_node.values() for pod in pods}
        used |= {each["metadata"]["name"] for each in history if revisions.hash_of(each, HASH) in hashes}
        revisions.forget_old(self.hands, history, used, daemon_set["spec"].get("revisionHistoryLimit", 10))
        self._write_status(daemon_set, digest, by_node)
        if failure is not None:
            raise failure

    def _by_node(self, daemon_set: Object) -> dict[str, list[Object]]:
        """Its pods, oldest first, by the node they are on or meant for; those that ended and are going do not count."""
        pods = claim(self.hands, "pods", daemon_set, self.hands.all("pods", daemon_set["metadata"]["namespace"]))
        found: dict[str, list[Object]] = defaultdict(list)
        for pod in sorted(pods, key=_seniority):
            if not (is_finished(pod) and is_going(pod)):
                found[_node_of(pod)].append(pod)
        return found

    def _manage(self, daemon_set: Object, digest: str) -> None:
        by_node, failure = self._by_node(daemon_set), None
        for node in self.hands.all("nodes"):
            name = node["metadata"]["name"]
            runs, stays = _suits(daemon_set, node)
            pods = by_node.pop(name, [])
            for pod in pods:
                if is_finished(pod) and not is_going(pod):
                    kind = pod["status"]["phase"]
                    text = f"Found {kind.lower()} daemon pod {key_of(pod)[0]}/{key_of(pod)[1]} on node {name}"
                    if kind == "Failed":
                        self.event(daemon_set, "Warning", "FailedDaemonPod", f"{text}, will try to kill it")
                    else:
                        self.event(daemon_set, "Normal", "SucceededDaemonPod", f"{text}, will try to delete it")
                    self._delete(daemon_set, pod)
            waits = pods if not _surges(daemon_set) else [pod for pod in pods if not is_going(pod)]
            if runs and not waits:
                try:
                    self._make(daemon_set, name, digest)
                except ApiError as error:
                    self.event(daemon_set, "Warning", "FailedCreate", f"Error creating: {error.message}")
                    failure = error
            surplus = pods if not stays else self._surplus(daemon_set, pods, digest)
            for pod in surplus:
                if not is_going(pod):
                    self._delete(daemon_set, pod)
        if failure is not None:
            raise failure

    def _surplus(self, daemon_set: Object, pods: list[Object], digest: str) -> list[Object]:
        """All but the oldest; while surging, all but the oldest of each revision."""
        staying = [pod for pod in pods if not is_going(pod)]
        if not _surges(daemon_set):
            return staying[1:]
        new = [pod for pod in staying if labels_of(pod).get(HASH) == digest]
        old = [pod for pod in staying if labels_of(pod).get(HASH) != digest]
        return [*new[1:], *old[1:]]

    def _roll(self, daemon_set: Object, digest: str) -> None:
        """Replace old pods: those that do not serve at once, of the others as many as may be missing."""
        rolling = (daemon_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        by_node = self._by_node(daemon_set)
        nodes = [node for node in self.hands.all("nodes") if _suits(daemon_set, node)[0]]
        most = resolved(rolling.get("maxUnavailable", 1), len(nodes), up=True)
        surge = resolved(rolling.get("maxSurge", 0), len(nodes), up=True)
        missing, idle, serving = 0, [], []
        for node in nodes:
            pods = by_node.get(node["metadata"]["name"], [])
            old = [pod for pod in pods if labels_of(pod).get(HASH) != digest and not is_going(pod)]
            new = [pod for pod in pods if labels_of(pod).get(HASH) == digest and not is_going(pod)]
            if old and not new and self._is_up(daemon_set, old[0]):
                serving.append(old[0])
                continue
            missing += not any(self._is_up(daemon_set, pod) for pod in new)
            if old and not new:
                idle.append(old[0])
            elif old and new and (self._is_up(daemon_set, new[0]) or not is_ready(old[0])):
                idle.append(old[0])  # its successor has surged and serves, or it serves no longer itself
        if surge:
            for pod in serving[: max(surge - missing, 0)]:
                self._make(daemon_set, _node_of(pod), digest)
            serving = []
        for pod in [*idle, *serving[: max(most - missing, 0)]]:
            self._delete(daemon_set, pod)

    def _is_up(self, daemon_set: Object, pod: Object) -> bool:
        min_ready = daemon_set["spec"].get("minReadySeconds", 0)
        return is_ready(pod) and not is_going(pod) and is_available(pod, min_ready, self.clock.now())

    def _make(self, daemon_set: Object, node: str, digest: str) -> None:
        pod = from_template(daemon_set, daemon_set["spec"]["template"])
        generation = (daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "1")
        pod["metadata"]["labels"] = {**pod["metadata"].get("labels", {}), HASH: digest, GENERATION: generation}
        spec = pod["spec"]
        spec["tolerations"] = _tolerations(spec)
        affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
        }
        made = self.hands.create("pods", daemon_set["metadata"]["namespace"], pod)
        self.event(daemon_set, "Normal", "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")

    def _delete(self, daemon_set: Object, pod: Object) -> None:
        self.hands.delete("pods", pod)
        self.event(daemon_set, "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def _write_status(self, daemon_set: Object, digest: str, by_node: dict[str, list[Object]]) -> None:
        now, min_ready = self.clock.now(), daemon_set["spec"].get("minReadySeconds", 0)
        always = dict.fromkeys(("currentNumberScheduled", "numberMisscheduled"), 0)
        always |= dict.fromkeys(("desiredNumberScheduled", "numberReady"), 0)
        updated = available = 0
        for node in self.hands.all("nodes"):
            pods = by_node.get(node["metadata"]["name"], [])
            if not _suits(daemon_set, node)[0]:
                always["numberMisscheduled"] += bool(pods)
                continue
            always["desiredNumberScheduled"] += 1
            if not pods:
                continue
            always["currentNumberScheduled"] += 1
            always["numberReady"] += is_ready(pods[0])
            available += is_ready(pods[0]) and is_available(pods[0], min_ready, now)
            updated += labels_of(pods[0]).get(HASH) == digest
        counts = {
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": always["desiredNumberScheduled"] - available,
        }
        generation = daemon_set["metadata"].get("generation", 0)
        status: Object = {**always, "observedGeneration": generation, **nonzero(counts)}
        if (daemon_set.get("status") or {}).get("conditions"):
            status["conditions"] = daemon_set["status"]["conditions"]
        if status != (daemon_set.get("status") or {}):
            changed = copied(self.hands.find("daemonsets.apps", *key_of(daemon_set)) or daemon_set)
            changed["status"] = status
            self.hands.update_status("daemonsets.apps", changed)
        running = [pod for pods in by_node.values() for pod in pods if is_ready(pod)]
        if min_ready and not all(is_available(pod, min_ready, now) for pod in running):
            self.enqueue(key_of(daemon_set), after=min_ready)


def _seniority(pod: Object) -> tuple[str, int, str]:
    """Of one second, the pod of the earlier template is the older one."""
    generation = labels_of(pod).get(GENERATION, "")
    metadata = pod["metadata"]
    return metadata["creationTimestamp"], int(generation) if generation.isdecimal() else 0, metadata["name"]


def _surges(daemon_set: Object) -> bool:
    """Whether a node may have two of its pods, so that one need not be gone before the next one comes."""
    rolling = (daemon_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return rolling.get("maxSurge", 0) not in (0, "0%")


def _node_of(pod: Object) -> str:
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def _tolerations(spec: Object) -> list[Object]:
    own = list(spec.get("tolerations") or ())
    for key, effect in TOLERATED:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        if toleration not in own:
            own.append(toleration)
    return own


def _suits(daemon_set: Object, node: Object) -> tuple[bool, bool]:
    """Whether a pod should run there, and whether one that is there may stay."""
    spec = dict(daemon_set["spec"]["template"].get("spec") or {})
    spec["tolerations"] = _tolerations(spec)
    if not scheduling.fits_affinity(spec, node):
        return False, False
    if scheduling.untolerated(spec, node, ("NoSchedule", "NoExecute")) is None:
        return True, True
    return False, scheduling.untolerated(spec, node, ("NoExecute",)) is None
