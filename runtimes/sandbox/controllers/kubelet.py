"""The kubelets of all nodes: they start what is bound to their node, report on it, and end what is deleted.

No process runs. What containers would do is data (`stages/`); order, states, reasons and conditions are those of a
real kubelet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from runtimes.sandbox import stages
from runtimes.sandbox.controllers.base import Controller, Key, World, key_of
from runtimes.sandbox.controllers.containers import Container, Step
from runtimes.sandbox.controllers.podlife import PodLife
from runtimes.sandbox.controllers.pods import is_finished, is_going
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.stages import Behaviour
from runtimes.sandbox.store import Change, Object, copied


class Kubelets(Controller):
    name = "kubelet"
    manager = "kubelet"
    component = "kubelet"
    watches = ("pods", "configmaps", "secrets", "nodes")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.stages = stages.load()
        self._lives: dict[str, PodLife] = {}
        self._addresses = 0
        self._silent: set[str] = set()
        world.faults.listen(self._faults_changed)

    def concerned(self, change: Change) -> Iterable[Key]:
        match change.resource[1]:
            case "pods":
                if change.object["spec"].get("nodeName"):
                    yield change.key
            case "nodes":
                if change.type == "ADDED":
                    name = change.object["metadata"]["name"]
                    yield from (key_of(pod) for pod in self.hands.all("pods") if pod["spec"].get("nodeName") == name)
            case _ if change.type != "DELETED":
                yield from self._waiting_for(change.key)

    def _waiting_for(self, key: Key) -> Iterator[Key]:
        """The pods that could not start without this ConfigMap or Secret."""
        for pod in self.hands.all("pods", key[0]):
            life = self._lives.get(pod["metadata"]["uid"])
            if life is None or key[1] not in {name for _, name, _ in _needed(pod)}:
                continue
            now = self.clock.now()
            for container in life.containers:
                if container.state.get("waiting", {}).get("reason") == "CreateContainerConfigError":
                    container.plans = [(now, Step.START)]
            if not life.sandboxed and life.due is not None:
                life.due = now
            yield key_of(pod)

    def _faults_changed(self) -> None:
        nodes = {node["metadata"]["name"] for node in self.hands.all("nodes")}
        silent = {name for name in nodes if self.world.faults.is_silent(name)}
        for pod in self.hands.all("pods"):
            node, life = pod["spec"].get("nodeName"), self._lives.get(pod["metadata"]["uid"])
            if life is not None:
                self._change_behaviours(pod, life)
                if node in self._silent - silent:
                    life.written = None  # back again: it reports again what others concluded meanwhile
            if node:
                self.enqueue(key_of(pod))
        self._silent = silent

    def _change_behaviours(self, pod: Object, life: PodLife) -> None:
        """A fault came or went: what runs gets the new end (if any), what waits tries again."""
        now = self.clock.now()
        for container in life.all:
            behaviour = self._behaviour(pod, container.image)
            if behaviour is container.behaviour or container.is_over or life.stopping:
                continue
            container.behaviour, container.plans = behaviour, []
            if "running" not in container.state:
                if life.sandboxed and not container.is_init:
                    container.plan(now, self.stages.timing.start, Step.START)
            elif behaviour.exit is not None:
                container.plan(now, behaviour.exit.after_seconds, Step.EXIT)
            elif behaviour.waiting is not None:
                # An image that can no longer be pulled is noticed when the container has to be started again.
                container.plan(now, 0.0, Step.EXIT)
            elif behaviour.ready_after is None:
                container.ready = False
                container.plan(now, self.stages.timing.probe, Step.PROBE)
            elif not container.ready:
                container.plan(now, behaviour.ready_after, Step.READY)

    def reconcile(self, key: Key) -> None:
        pod = self.hands.find("pods", *key)
        if pod is None or not pod["spec"].get("nodeName"):
            return
        node = pod["spec"]["nodeName"]
        if self.world.faults.is_silent(node) or self.hands.find("nodes", "", node) is None:
            return
        life = self._life_of(pod)
        now = self.clock.now()
        if is_going(pod) and not life.stopping:
            self._begin_to_stop(pod, life, now)
        if is_finished(pod) and not life.stopping:
            return  # finished by itself, or by somebody's hand: nothing is started any more
        if life.stopping:
            self._stop(pod, life, now)
        elif not life.attended:
            self._attend(pod, life, now)
        elif not life.sandboxed:
            self._sandbox(pod, life, now)
        else:
            self._run(pod, life, now)
        if life.next_at is not None:
            self.enqueue(key, after=max((life.next_at - self.clock.now()).total_seconds(), 0.001))

    # The stages of a pod

    def _life_of(self, pod: Object) -> PodLife:
        uid = pod["metadata"]["uid"]
        life = self._lives.get(uid)
        if life is None:
            self._forget_gone()
            life = self._lives[uid] = self._new_life(pod)
        return life

    def _forget_gone(self) -> None:
        live = {pod["metadata"]["uid"] for pod in self.hands.all("pods")}
        self._lives = {uid: life for uid, life in self._lives.items() if uid in live}

    def _new_life(self, pod: Object) -> PodLife:
        policy = pod["spec"].get("restartPolicy", "Always")
        inits = []
        for spec in pod["spec"].get("initContainers") or ():
            sidecar = spec.get("restartPolicy") == "Always"
            its_policy = "Always" if sidecar else "OnFailure" if policy == "Always" else policy
            container = self._container(pod, spec, its_policy)
            container.is_init, container.is_sidecar = True, sidecar
            inits.append(container)
        containers = [self._container(pod, spec, policy) for spec in pod["spec"]["containers"]]
        if inits:
            for container in [*inits, *containers]:
                container.state = {"waiting": {"reason": "PodInitializing"}}
        due = self.clock.now() + timedelta(seconds=self.stages.timing.accept)
        return PodLife(pod["metadata"]["uid"], pod["spec"]["nodeName"], inits, containers, policy, due=due)

    def _container(self, pod: Object, spec: Object, policy: str) -> Container:
        image = spec.get("image", "")
        container = Container(spec["name"], image, self._behaviour(pod, image), self.stages.timing, policy)
        container.is_probed = spec.get("readinessProbe") is not None
        return container

    def _behaviour(self, pod: Object, image: str) -> Behaviour:
        return self.stages.of(pod, image, self.world.faults.behaviour_of(image))

    def _attend(self, pod: Object, life: PodLife, now: datetime) -> None:
        if life.due is not None and life.due > now:
            return
        life.attended = True
        life.started_at = stamp(now)
        life.host_ip = self._host_ip(life.node)
        life.due = now + timedelta(seconds=self.stages.timing.start)
        self._write(pod, life, now)

    def _sandbox(self, pod: Object, life: PodLife, now: datetime) -> None:
        """Give the pod its address and begin with its containers, once its volumes are there."""
        if life.due is not None and life.due > now:
            return
        missing = self._missing_volume(pod)
        if missing is not None:
            self._tell(pod, "Warning", "FailedMount", missing)
            life.due = now + timedelta(seconds=self.stages.timing.retry_mount)
            return
        life.due, life.sandboxed = None, True
        life.ip = self._new_ip()
        first = life.next_init
        for container in [first] if first is not None else life.containers:
            container.plan(now, 0.0, Step.START)
        self._run(pod, life, now)

    def _run(self, pod: Object, life: PodLife, now: datetime) -> None:
        for container in life.all:
            while (step := container.due(now)) is not None:
                problem = self._missing_config(pod, container.name) if step is Step.START else None
                for told in container.act(step, now, pod["metadata"]["name"], problem):
                    self._tell(pod, told.type, told.reason, told.message, container.name)
        self._go_on_after_init(life, now)
        for sidecar in life.sidecars_left:
            sidecar.end(now, 0, "Completed")
        self._write(pod, life, now)

    def _go_on_after_init(self, life: PodLife, now: datetime) -> None:
        """The next init container may start, or after the last of them the containers proper."""
        if not life.inits or life.phase() == "Failed":
            return
        waiting = life.next_init
        if waiting is not None:
            if waiting.state.get("waiting", {}).get("reason") == "PodInitializing" and not waiting.plans:
                waiting.plan(now, 0.0, Step.START)
            return
        for container in life.containers:
            if container.state.get("waiting", {}).get("reason") == "PodInitializing":
                container.state = {"waiting": {"reason": "ContainerCreating"}}
                container.plan(now, self.stages.timing.start, Step.START)

    def _begin_to_stop(self, pod: Object, life: PodLife, now: datetime) -> None:
        life.stopping = True
        for container in life.all:
            container.plans.clear()
        if any(not container.behaviour.stops and container.started for container in life.containers):
            life.due = None
            return
        if any("running" in container.state for container in life.all):
            grace = pod["metadata"].get("deletionGracePeriodSeconds", 30)
            life.due = now + timedelta(seconds=min(self.stages.timing.stop, grace))
        else:
            life.ended = True
            life.due = now + timedelta(seconds=self.stages.timing.confirm_unstarted)

    def _stop(self, pod: Object, life: PodLife, now: datetime) -> None:
        if life.due is None or life.due > now:
            return
        if life.ended:
            life.due = None
            self.hands.delete("pods", pod, grace_seconds=0)
            return
        # A server told to stop (Always) ends well; work that is cut short does not.
        code, reason = (0, "Completed") if life.restart_policy == "Always" else (143, "Error")
        for container in life.all:
            if "running" in container.state:
                container.end(now, code, reason)
        life.ended = True
        life.due = now + timedelta(seconds=self.stages.timing.confirm)
        self._write(pod, life, now)

    # What a pod needs from elsewhere

    def _missing_volume(self, pod: Object) -> str | None:
        namespace = pod["metadata"]["namespace"]
        for volume in pod["spec"].get("volumes") or ():
            for kind, source, field in (("configmap", "configMap", "name"), ("secret", "secret", "secretName")):
                reference = volume.get(source)
                if reference is None or reference.get("optional"):
                    continue
                if self.hands.find(f"{kind}s", namespace, reference.get(field, "")) is None:
                    missing = f'{kind} "{reference.get(field, "")}" not found'
                    return f'MountVolume.SetUp failed for volume "{volume["name"]}" : {missing}'
        return None

    def _missing_config(self, pod: Object, container: str) -> str | None:
        """What the container's environment refers to and is not there."""
        namespace = pod["metadata"]["namespace"]
        for kind, name, key in _needed(pod, container):
            found = self.hands.find(f"{kind}s", namespace, name)
            if found is None:
                return f'{kind} "{name}" not found'
            if key and key not in {**(found.get("data") or {}), **(found.get("binaryData") or {})}:
                shown = "ConfigMap" if kind == "configmap" else "Secret"
                return f"couldn't find key {key} in {shown} {namespace}/{name}"
        return None

    def _host_ip(self, node: str) -> str:
        found = self.hands.find("nodes", "", node) or {}
        for address in (found.get("status") or {}).get("addresses") or ():
            if address.get("type") == "InternalIP":
                return str(address["address"])
        return ""

    def _new_ip(self) -> str:
        self._addresses += 1
        return f"10.244.{self._addresses // 250 % 250}.{self._addresses % 250 + 1}"

    # Writing

    def _write(self, pod: Object, life: PodLife, now: datetime) -> None:
        """Only what has changed by the kubelet's own doing: a status set by another hand is left alone."""
        own = {"phase": life.phase(), "ip": life.ip, "all": [each.status() for each in life.all], "ended": life.ended}
        if all(each.ready for each in life.containers):
            own["gates"] = life.gates(pod)
        if own == life.written:
            return
        changed = copied(pod)
        changed["status"] = life.status(pod, now)
        self.hands.update_status("pods", changed)
        life.written = copied(own)

    def _tell(self, pod: Object, type_: str, reason: str, message: str, container: str = "") -> None:
        node = pod["spec"]["nodeName"]
        self.world.recorder.record("kubelet", pod, type_, reason, message, host=node, container=container)


def _needed(pod: Object, container: str | None = None) -> Iterator[tuple[str, str, str]]:
    """Kind, name and key ("" for the whole) of what environments and volumes refer to, optional ones left out."""
    for spec in [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]:
        if container is not None and spec["name"] != container:
            continue
        for source in spec.get("envFrom") or ():
            yield from _reference("configmap", source.get("configMapRef"))
            yield from _reference("secret", source.get("secretRef"))
        for variable in spec.get("env") or ():
            value = variable.get("valueFrom") or {}
            yield from _reference("configmap", value.get("configMapKeyRef"))
            yield from _reference("secret", value.get("secretKeyRef"))
    if container is None:
        for volume in pod["spec"].get("volumes") or ():
            yield from _reference("configmap", volume.get("configMap"))
            yield from _reference("secret", volume.get("secret"), field="secretName")


def _reference(kind: str, reference: Object | None, field: str = "name") -> Iterator[tuple[str, str, str]]:
    if reference and not reference.get("optional"):
        yield kind, reference.get(field, ""), reference.get("key", "")
