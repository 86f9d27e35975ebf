"""A pod on its node: its containers in order, and the status they amount to. No I/O."""

from __future__ import annotations

from datetime import datetime

from kcl.records import dataclass
from runtimes.sandbox.controllers.conditions import condition
from runtimes.sandbox.controllers.containers import Container
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.store import Object


@dataclass(slots=True)
class PodLife:
    """What the kubelet remembers of a pod; the object itself may be changed by others meanwhile.

    attended    the first status has been written
    sandboxed   the pod has its address, containers may run
    stopping    its deletion has been noticed
    """

    uid: str
    node: str
    inits: list[Container]
    containers: list[Container]
    restart_policy: str
    attended: bool = False
    sandboxed: bool = False
    stopping: bool = False
    ended: bool = False
    ip: str = ""
    host_ip: str = ""
    started_at: str = ""
    written: Object | None = None
    due: datetime | None = None

    @property
    def all(self) -> list[Container]:
        return [*self.inits, *self.containers]

    @property
    def next_init(self) -> Container | None:
        """The init container whose turn it is: the first that is neither done nor, as a sidecar, started.

        Once a container proper has run there is none: a sidecar that ends later does not hold the pod up.
        """
        if any(container.has_run for container in self.containers):
            return None
        for container in self.inits:
            if container.is_sidecar:
                if not container.started:
                    return container
            elif container.exit_code != 0:
                return container
        return None

    @property
    def sidecars_left(self) -> list[Container]:
        """Those that have nobody to serve any more."""
        if not all(container.is_over for container in self.containers):
            return []
        return [init for init in self.inits if init.is_sidecar and "running" in init.state]

    @property
    def next_at(self) -> datetime | None:
        moments = [container.next_at for container in self.all]
        return min((moment for moment in [self.due, *moments] if moment is not None), default=None)

    def phase(self) -> str:
        if any(init.has_failed_for_good and not init.is_sidecar for init in self.inits):
            return "Failed"
        if self.next_init is not None:
            return "Pending"
        if any(each.state.get("waiting") and not each.last for each in self.containers):
            return "Pending"
        over = [each for each in self.containers if each.is_over or (self.ended and each.exit_code is not None)]
        if len(over) < len(self.containers):
            return "Running"
        if any(each.exit_code != 0 for each in over):
            return "Failed"
        return "Succeeded"

    def status(self, pod: Object, now: datetime) -> Object:
        """The whole status: what the kubelet says, and the conditions that are others'."""
        old = pod.get("status") or {}
        phase, generation = self.phase(), pod["metadata"].get("generation", 0)
        own = self._conditions(pod, phase)
        conditions = []
        for type_, (value, reason, message) in own.items():
            present = condition(old.get("conditions"), type_)
            since = present["lastTransitionTime"] if present and present["status"] == value else stamp(now)
            each = {"type": type_, "observedGeneration": generation, "status": value, "lastProbeTime": None}
            each |= {"lastTransitionTime": since}
            each |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
            conditions.append(each)
        conditions += [each for each in old.get("conditions") or () if each["type"] not in own]
        status: Object = {name: old[name] for name in ("qosClass", "nominatedNodeName") if name in old}
        status |= {"observedGeneration": generation, "phase": phase, "conditions": conditions}
        if self.host_ip:
            status |= {"hostIP": self.host_ip, "hostIPs": [{"ip": self.host_ip}]}
        if self.sandboxed:
            status |= {"podIP": self.ip, "podIPs": [{"ip": self.ip}]}
        status["startTime"] = self.started_at
        if self.inits:
            status["initContainerStatuses"] = [each.status() for each in self.inits]
        status["containerStatuses"] = [each.status() for each in self.containers]
        return status

    def _conditions(self, pod: Object, phase: str) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message by type, in the order in which a kubelet writes them."""
        incomplete = []
        if not any(container.has_run for container in self.containers):
            incomplete = [
                init.name for init in self.inits if not (init.exit_code == 0 or (init.is_sidecar and init.started))
            ]
        initialized = ("True", "", "")
        if incomplete:
            text = f"containers with incomplete status: [{' '.join(incomplete)}]"
            initialized = ("False", "ContainersNotInitialized", text)
        serving = [*(init for init in self.inits if init.is_sidecar), *self.containers]
        unready = [each.name for each in serving if not each.ready]
        containers = ("True", "", "")
        if phase == "Succeeded":
            containers = ("False", "PodCompleted", "")
        elif phase == "Failed":
            containers = ("False", "PodFailed", "")
        elif unready:
            text = f"containers with unready status: [{' '.join(unready)}]"
            containers = ("False", "ContainersNotReady", text)
        ready = containers if containers[0] == "False" else self.gates(pod)
        return {
            "PodReadyToStartContainers": ("True" if self.sandboxed else "False", "", ""),
            "Initialized": initialized,
            "Ready": ready,
            "ContainersReady": containers,
        }

    def gates(self, pod: Object) -> tuple[str, str, str]:
        """Ready, as far as the pod's readiness gates are concerned."""
        problems = []
        for gate in pod["spec"].get("readinessGates") or ():
            type_ = gate["conditionType"]
            present = condition((pod.get("status") or {}).get("conditions"), type_)
            if present is None:
                problems.append(f'corresponding condition of pod readiness gate "{type_}" does not exist.')
            elif present["status"] != "True":
                problems.append(f'the status of pod readiness gate "{type_}" is not "True", but {present["status"]}')
        return ("False", "ReadinessGatesNotReady", ", ".join(problems)) if problems else ("True", "", "")
