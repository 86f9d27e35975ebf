"""Nodes: their kubelets' reports, what is concluded when those stop, and what becomes of the pods of a lost node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from runtimes.sandbox.controllers.base import Controller, Key, World, key_of
from runtimes.sandbox.controllers.conditions import condition
from runtimes.sandbox.controllers.pods import is_finished, is_going
from runtimes.sandbox.controllers.scheduling import tolerates
from runtimes.sandbox.controllers.times import parsed, stamp
from runtimes.sandbox.store import Change, Object, copied

SILENCE_SECONDS = 50.0  # without a report, until a node counts as lost
COLLECT_SECONDS = 40.0  # a pod of a node that does not exist waits at least so long, since the node might come back
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
DEFAULT_TOLERATION_SECONDS = 300  # what admission gives a pod that says nothing of lost nodes

REPORT = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)


def new_node(name: str, number: int) -> Object:
    """A worker as the sandbox makes them: eight cores, sixteen gigabytes."""
    capacity = {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "spec": {"podCIDR": f"10.244.{number}.0/24", "podCIDRs": [f"10.244.{number}.0/24"]},
        "status": {"capacity": capacity, "allocatable": dict(capacity)},
    }


class NodeReports(Controller):
    """What the kubelets say of the nodes themselves. No leases are written: silence is a fault set by name."""

    name = "kubelet"
    manager = "kubelet"
    component = "kubelet"
    watches = ("nodes",)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        world.faults.listen(self._faults_changed)

    def _faults_changed(self) -> None:
        for node in self.hands.all("nodes"):
            self.enqueue(key_of(node))

    def reconcile(self, key: Key) -> None:
        node = self.hands.find("nodes", *key)
        if node is None or self.world.faults.is_silent(key[1]):
            return
        status = node.get("status") or {}
        ready = condition(status.get("conditions"), "Ready")
        # A report by another hand (a rehearsed NotReady) stands; only what is missing or was lost is renewed.
        if ready is not None and ready["status"] != "Unknown" and ready.get("reason") != "NodeStatusUnknown":
            return
        changed = copied(node)
        moment = stamp(self.clock.now())
        number = sum(ord(letter) for letter in key[1]) % 250 + 1
        changed["status"] = {
            **status,
            "conditions": [
                {
                    "type": type_,
                    "status": value,
                    "lastHeartbeatTime": moment,
                    "lastTransitionTime": moment,
                    "reason": reason,
                    "message": message,
                }
                for type_, value, reason, message in REPORT
            ],
            "addresses": [
                {"type": "InternalIP", "address": f"192.168.64.{number}"},
                {"type": "Hostname", "address": key[1]},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "sandbox://1",
                "kernelVersion": "",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.34.3",
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "Konfig Workbench sandbox",
                "systemUUID": "",
            },
        }
        self.hands.update_status("nodes", changed)


class NodeLifecycle(Controller):
    """Registers nodes, notices their silence, taints them by their condition, and takes Ready from their pods."""

    name = "node-controller"
    watches = ("nodes",)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._silent_since: dict[str, datetime] = {}
        self._registered: dict[str, Object] = {}
        world.faults.listen(self._faults_changed)

    def _faults_changed(self) -> None:
        for node in self.hands.all("nodes"):
            name = node["metadata"]["name"]
            if not self.world.faults.is_silent(name):
                self._silent_since.pop(name, None)
            elif name not in self._silent_since:
                self._silent_since[name] = self.clock.now()
                self.enqueue(key_of(node), after=SILENCE_SECONDS)

    def reconcile(self, key: Key) -> None:
        name, node = key[1], self.hands.find("nodes", *key)
        if node is None:
            gone = self._registered.pop(name, None)
            if gone is not None:
                self.event(gone, "Normal", "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")
            return
        if name not in self._registered:
            self.event(node, "Normal", "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
        self._registered[name] = node
        if self._is_lost(name, node):
            node = self._mark_lost(node)
        self._taint(node)

    def _is_lost(self, name: str, node: Object) -> bool:
        since = self._silent_since.get(name)
        if since is None or self.clock.now() - since < timedelta(seconds=SILENCE_SECONDS):
            return False
        ready = condition((node.get("status") or {}).get("conditions"), "Ready")
        return ready is not None and ready["status"] != "Unknown"

    def _mark_lost(self, node: Object) -> Object:
        changed, moment, name = copied(node), stamp(self.clock.now()), node["metadata"]["name"]
        for each in changed["status"]["conditions"]:
            if each["type"] != "NetworkUnavailable":
                each["status"], each["reason"] = "Unknown", "NodeStatusUnknown"
                each["message"], each["lastTransitionTime"] = "Kubelet stopped posting node status.", moment
        node = self.hands.update_status("nodes", changed)
        self.event(node, "Normal", "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        for pod in self.hands.all("pods"):
            if pod["spec"].get("nodeName") == name and not is_finished(pod):
                self._take_readiness(pod, moment)
        return node

    def _take_readiness(self, pod: Object, moment: str) -> None:
        changed = copied(pod)
        for each in changed["status"].get("conditions") or ():
            if each["type"] == "Ready" and each["status"] != "False":
                each["status"], each["lastTransitionTime"] = "False", moment
        self.hands.update_status("pods", changed)
        self.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    def _taint(self, node: Object) -> None:
        ready = condition((node.get("status") or {}).get("conditions"), "Ready")
        value = ready["status"] if ready else "Unknown"
        reported = ready is not None
        wanted: list[tuple[str, str]] = []
        if node["spec"].get("unschedulable"):
            wanted.append((UNSCHEDULABLE, "NoSchedule"))
        if value != "True":
            key = NOT_READY if value == "False" or not reported else UNREACHABLE
            wanted.append((key, "NoSchedule"))
            # Where no node is ready, the fault is rather between us and them: nothing is evicted.
            if reported and any(_is_ready(each) for each in self.hands.all("nodes")):
                wanted.append((key, "NoExecute"))
        ours = (NOT_READY, UNREACHABLE, UNSCHEDULABLE)
        present = node["spec"].get("taints") or []
        taints = [taint for taint in present if taint["key"] not in ours or (taint["key"], taint["effect"]) in wanted]
        held = {(taint["key"], taint["effect"]) for taint in taints}
        moment = stamp(self.clock.now())
        taints += [
            {"key": key, "effect": effect, "timeAdded": moment} for key, effect in wanted if (key, effect) not in held
        ]
        if taints == present:
            return
        changed = copied(node)
        if taints:
            changed["spec"]["taints"] = taints
        else:
            changed["spec"].pop("taints", None)
        self.hands.update("nodes", changed)


def _is_ready(node: Object) -> bool:
    ready = condition((node.get("status") or {}).get("conditions"), "Ready")
    return ready is not None and ready["status"] == "True"


class TaintEviction(Controller):
    """Deletes pods from nodes with NoExecute taints they do not tolerate, or no longer."""

    name = "taint-eviction-controller"
    watches = ("nodes", "pods")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._seen: dict[tuple[Key, str], datetime] = {}  # since when a pod bears a taint for a while

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "pods":
            if change.object["spec"].get("nodeName"):
                yield change.key
            return
        for pod in self.hands.all("pods"):
            if pod["spec"].get("nodeName") == change.key[1]:
                yield key_of(pod)

    def reconcile(self, key: Key) -> None:
        pod = self.hands.find("pods", *key)
        if pod is None or is_going(pod) or is_finished(pod):
            return
        node = self.hands.find("nodes", "", pod["spec"].get("nodeName", ""))
        taints = [
            taint for taint in (node or {"spec": {}})["spec"].get("taints") or () if taint["effect"] == "NoExecute"
        ]
        self._seen = {each: at for each, at in self._seen.items() if taints or each[0] != key}
        if not taints:
            return
        wait = min(self._wait(pod, taint) for taint in taints)
        if wait == float("inf"):
            return
        if wait > 0:
            self.enqueue(key, after=wait)
            return
        where = f"{key[0]}/{key[1]}"
        self.event(pod, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {where}")
        _mark_disrupted(self, pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        self.hands.delete("pods", pod)

    def _wait(self, pod: Object, taint: Object) -> float:
        """Seconds until this taint drives the pod away; infinite if it is tolerated for good."""
        tolerations = pod["spec"].get("tolerations") or ()
        fitting = [each for each in tolerations if tolerates([each], taint)]
        limits = [each["tolerationSeconds"] for each in fitting if each.get("tolerationSeconds") is not None]
        if fitting and not limits:
            return float("inf")
        limit = min(limits, default=0)
        if not fitting and taint["key"] in (NOT_READY, UNREACHABLE):
            limit = DEFAULT_TOLERATION_SECONDS
        if limit <= 0:
            return 0.0
        # a taint set by hand does not tell its age
        seen = self._seen.setdefault((key_of(pod), taint["key"]), self.clock.now())
        added = parsed(taint["timeAdded"]) if "timeAdded" in taint else seen
        return max((added - self.clock.now()).total_seconds() + limit, 0.0)


class PodCollector(Controller):
    """Removes pods whose node is gone, a while after it went."""

    name = "pod-garbage-collector"
    watches = ("nodes",)

    def concerned(self, change: Change) -> Sequence[Key]:
        return [change.key] if change.type == "DELETED" else []

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._gone_since: dict[str, datetime] = {}

    def reconcile(self, key: Key) -> None:
        if self.hands.find("nodes", *key) is not None:
            self._gone_since.pop(key[1], None)
            return
        now = self.clock.now()
        remaining = COLLECT_SECONDS - (now - self._gone_since.setdefault(key[1], now)).total_seconds()
        if remaining > 0:
            self.enqueue(key, after=remaining)
            return
        del self._gone_since[key[1]]
        for pod in self.hands.all("pods"):
            if pod["spec"].get("nodeName") == key[1]:
                if not is_finished(pod):
                    pod = _mark_disrupted(self, pod, "DeletionByPodGC", "PodGC: node no longer exists", phase="Failed")
                self.hands.delete("pods", pod, grace_seconds=0)


def _mark_disrupted(controller: Controller, pod: Object, reason: str, message: str, phase: str = "") -> Object:
    changed = copied(pod)
    status = changed.setdefault("status", {})
    others = [each for each in status.get("conditions") or () if each["type"] != "DisruptionTarget"]
    target = {
        "type": "DisruptionTarget",
        "observedGeneration": pod["metadata"].get("generation", 0),
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(controller.clock.now()),
        "reason": reason,
        "message": message,
    }
    status["conditions"] = [*others, target]
    if phase:
        status["phase"] = phase
    return controller.hands.update_status("pods", changed)
