"""The scheduler: binds pods to nodes, or says why it cannot, and tries again when something has changed."""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.sandbox.cluster import User
from runtimes.sandbox.controllers import preemption, scheduling
from runtimes.sandbox.controllers.base import Controller, Key, World, key_of
from runtimes.sandbox.controllers.conditions import condition, without
from runtimes.sandbox.controllers.pods import is_finished, is_going
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.controllers.volumes import SELECTED_NODE, waits_for_consumer
from runtimes.sandbox.store import Change, Object, copied

PROFILE = "default-scheduler"


class Scheduler(Controller):
    name = "default-scheduler"
    manager = "kube-scheduler"
    component = "kube-scheduler"
    watches = ("pods", "nodes", "persistentvolumeclaims", "persistentvolumes")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.hands.user = User("system:kube-scheduler", ("system:authenticated",))

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "pods" and change.type != "DELETED":
            if _waits(change.object):
                yield change.key
                return
            if not is_finished(change.object):
                return
        # Room was made, a node came, a claim was bound: what could not be placed may fit now.
        for pod in self.hands.all("pods"):
            if _waits(pod):
                yield key_of(pod)

    def reconcile(self, key: Key) -> None:
        pod = self.hands.find("pods", *key)
        if pod is None or not _waits(pod):
            return
        message = self._unbound_claims(pod)
        if message is None:
            nodes, pods = self.hands.all("nodes"), preemption.with_nominated(pod, self.hands.all("pods"))
            refused = scheduling.refusals(pod, nodes, pods)
            fitting = [node for node in nodes if node["metadata"]["name"] not in refused]
            if fitting:
                node = scheduling.preferred(pod, fitting, pods)
                if not self._choose_for_claims(pod, node):
                    self._bind(pod, node)
                return
            if preemption.is_being_helped(pod, pods):
                return
            freed = self._preempt(pod, nodes, pods, refused)
            if freed is not None:
                self._refuse(pod, scheduling.explained(refused, is_helped=True), freed)
                return
            message = scheduling.explained(refused)
        self._refuse(pod, message)

    def _preempt(
        self, pod: Object, nodes: list[Object], pods: list[Object], refused: dict[str, scheduling.Refusal]
    ) -> str | None:
        """End pods of a lower priority where that makes room. The name of the node; None if it would not help."""
        helpful = [name for name, refusal in refused.items() if refusal.may_change]
        if not helpful or pod["spec"].get("preemptionPolicy") == "Never":
            return None
        budgets = self.hands.all("poddisruptionbudgets.policy")
        found = preemption.preempted(pod, nodes, pods, budgets, helpful)
        if found is None:
            return None
        for victim in found.victims:
            if not is_going(victim):
                self._end(pod, victim, found.node)
        return found.node

    def _end(self, pod: Object, victim: Object, node: str) -> None:
        changed = copied(self.hands.find("pods", *key_of(victim)) or victim)
        status = changed.setdefault("status", {})
        status["conditions"] = [
            *without(status.get("conditions") or [], "DisruptionTarget"),
            {
                "type": "DisruptionTarget",
                "observedGeneration": victim["metadata"].get("generation", 0),
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": stamp(self.clock.now()),
                "reason": "PreemptionByScheduler",
                "message": f"{PROFILE}: preempting to accommodate a higher priority pod",
            },
        ]
        self.hands.delete("pods", self.hands.update_status("pods", changed))
        self.event(victim, "Normal", "Preempted", f"Preempted by pod {pod['metadata']['uid']} on node {node}")

    def _bind(self, pod: Object, node: Object) -> None:
        name = node["metadata"]["name"]
        self.hands.bind(pod, name)
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self.event(pod, "Normal", "Scheduled", f"Successfully assigned {where} to {name}")

    def _refuse(self, pod: Object, message: str, nominated: str = "") -> None:
        present = condition((pod.get("status") or {}).get("conditions"), "PodScheduled")
        if present and present["status"] == "False" and present.get("message") == message and not nominated:
            return
        self.event(pod, "Warning", "FailedScheduling", message)
        changed = copied(pod)
        moment = stamp(self.clock.now())
        since = present["lastTransitionTime"] if present and present["status"] == "False" else moment
        status = changed.setdefault("status", {})
        if nominated:
            status["nominatedNodeName"] = nominated
        status["conditions"] = [
            *without(status.get("conditions") or [], "PodScheduled"),
            {
                "type": "PodScheduled",
                "observedGeneration": pod["metadata"].get("generation", 0),
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": since,
                "reason": "Unschedulable",
                "message": message,
            },
        ]
        self.hands.update_status("pods", changed)

    def _choose_for_claims(self, pod: Object, node: Object) -> bool:
        """Tell claims that waited for their first consumer where it will be. True if any is still to be bound."""
        waiting = [claim for claim in self._claims(pod) if claim["status"]["phase"] == "Pending"]
        for claim in waiting:
            if SELECTED_NODE not in (claim["metadata"].get("annotations") or {}):
                changed = copied(claim)
                changed["metadata"].setdefault("annotations", {})[SELECTED_NODE] = node["metadata"]["name"]
                self.hands.update("persistentvolumeclaims", changed)
        return bool(waiting)

    def _claims(self, pod: Object) -> list[Object]:
        namespace = pod["metadata"]["namespace"]
        names = [
            (each.get("persistentVolumeClaim") or {}).get("claimName") for each in pod["spec"].get("volumes") or ()
        ]
        found = [self.hands.find("persistentvolumeclaims", namespace, name) for name in names if name]
        return [claim for claim in found if claim is not None]

    def _unbound_claims(self, pod: Object) -> str | None:
        """What is wrong with the pod's claims, as far as it keeps the pod from every node."""
        namespace, nodes = pod["metadata"]["namespace"], len(self.hands.all("nodes"))
        for volume in pod["spec"].get("volumes") or ():
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if name is None:
                continue
            claim = self.hands.find("persistentvolumeclaims", namespace, name)
            if claim is None:
                return f'0/{nodes} nodes are available: persistentvolumeclaim "{name}" not found. not found'
            if (claim.get("status") or {}).get("phase") == "Lost":
                lost = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume'
                return f'0/{nodes} nodes are available: {lost} "{claim["spec"].get("volumeName", "")}". not found'
            if (claim.get("status") or {}).get("phase") != "Bound" and not waits_for_consumer(self.hands, claim):
                return f"0/{nodes} nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        return None


def _waits(pod: Object) -> bool:
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName", PROFILE) == PROFILE
        and not pod["metadata"].get("deletionTimestamp")
        and not is_finished(pod)
    )
