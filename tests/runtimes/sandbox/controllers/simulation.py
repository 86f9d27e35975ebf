"""Plays the actions of a recorded scenario on a simulated cluster, on virtual time, and keeps what happened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import ApiError, Change, Cluster, User
from runtimes.sandbox.controllers import start
from runtimes.sandbox.deletion import Options

from . import timeline
from .timeline import Object, View

RECORDER = User("admin", ("system:masters",))
NAMESPACE = "demo"
# Kinds the recorder did not watch, and objects it left out.
UNWATCHED = {"Endpoints", "Lease", "PriorityClass", "APIService"}
LEFT_OUT = {"ServiceAccount/default", "ConfigMap/kube-root-ca.crt"}
# Without the API server nothing can be done by anybody.
COMPONENTS = {
    "kwok": ("kubelet",),
    "kube-apiserver": ("kubelet", "kube-scheduler", "kube-controller-manager"),
    "etcd": ("kubelet", "kube-scheduler", "kube-controller-manager"),
}
LONGEST_WAIT_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Entry:
    type: str
    kind: str
    name: str
    object: Object
    reference: str


@dataclass(slots=True)
class Names:
    """The recordings' numbered names (`web-<rs:1>-<pod:2>`) for the names our cluster generated."""

    told: dict[tuple[str, str], str] = field(default_factory=dict)
    real: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def of(self, obj: Object) -> str:
        kind, metadata = obj["kind"], obj["metadata"]
        name: str = metadata["name"]
        known = self.told.get((kind, metadata["uid"]))
        if known is not None:
            return known
        told = self._new(kind, name, metadata)
        self.told[kind, metadata["uid"]] = told
        self.real[f"{kind}/{told}"] = name
        return told

    def _new(self, kind: str, name: str, metadata: Object) -> str:
        owners = {reference["kind"] for reference in metadata.get("ownerReferences") or ()}
        if kind == "ReplicaSet" and "Deployment" in owners:
            return self._hashed(name, "rs")
        if kind == "ControllerRevision":
            return self._hashed(name, "rev")
        if kind == "Job" and "CronJob" in owners:
            return self._hashed(name, "time")
        if "generateName" in metadata and "StatefulSet" not in owners:
            prefix = self.known(metadata["generateName"])
            token = {"Pod": "pod", "EndpointSlice": "slice"}.get(kind, kind.lower())
            self.counts[prefix] += 1
            return f"{prefix}<{token}:{self.counts[prefix]}>"
        return name

    def _hashed(self, name: str, token: str) -> str:
        prefix, _, digest = name.rpartition("-")
        self.counts[token] += 1
        self.hashes.setdefault(digest, f"<{token}:{self.counts[token]}>")
        return f"{prefix}-{self.hashes[digest]}"

    def told_in(self, value: Any) -> Any:
        """The object with generated parts of names replaced, wherever one is mentioned."""
        if isinstance(value, dict):
            return {name: self.told_in(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.told_in(each) for each in value]
        return self.known(value) if isinstance(value, str) and self.hashes else value

    def known(self, text: str) -> str:
        for digest, token in self.hashes.items():
            text = re.sub(rf"(?<=-){re.escape(digest)}\b", token, text)
        return text


class Simulation:
    def __init__(self, scenario: Object, nodes: list[str]) -> None:
        self.scenario = scenario
        self.clock = VirtualClock()
        self.cluster = Cluster("simulated", self.clock, seed=1)
        self.controllers = start(self.cluster, self.clock, nodes=nodes, seed=1)
        self.names = Names()
        self.entries: list[Entry] = []
        self.acted_at: list[int] = []  # how many entries there were before each action
        self.view = View(scenario["top"])
        self.version = 0
        self._awaited: tuple[Counter[str], set[tuple[str, str]]] | None = None
        self.told_by_then: set[tuple[str, str]] = set()  # the events up to the recorded end
        self.clock.advance(60)
        if scenario["top"].startswith("Namespace/"):
            self.cluster.subscribe(self._heard)
            self._make_namespace()
            self.clock.advance(1)
        else:
            self._make_namespace()
            self.clock.advance(1)
            self.cluster.subscribe(self._heard)

    def _make_namespace(self) -> None:
        self.cluster.create("namespaces", None, {"metadata": {"name": NAMESPACE}}, user=RECORDER, manager="recorder")

    def _heard(self, change: Change) -> None:
        obj = change.object
        namespace = obj["metadata"].get("namespace", NAMESPACE)
        if obj["kind"] in UNWATCHED - {self.view.top.partition("/")[0]} or namespace not in (NAMESPACE, "default"):
            return
        name = self.names.of(obj)
        if f"{obj['kind']}/{name}" in LEFT_OUT | ({"Namespace/demo"} - {self.view.top}):
            return
        self.version += 1
        obj = self.names.told_in(obj)
        self.entries.append(Entry(change.type, obj["kind"], name, obj, f"{obj['kind']}/{name}"))
        self.view.take(change.type, obj["kind"], name, obj)
        self._note_passage()

    # Requests

    def act(self, action: Object) -> None:
        self.acted_at.append(len(self.entries))
        if "component" in action:
            verb, component = next(iter(action["component"].items()))
            for each in COMPONENTS.get(component, (component,)):
                if verb == "start":
                    self.controllers.faults.start(each)
                else:
                    self.controllers.faults.stop(each)
            return
        expected = action.get("answer")
        try:
            self._request(action)
        except ApiError as refusal:
            if expected is None:
                raise
            got = {"code": refusal.code, "reason": refusal.reason, "message": refusal.message}
            assert got == {name: expected[name] for name in got}
            causes = (refusal.details or {}).get("causes") or []
            causes = [{name: cause[name] for name in ("reason", "message")} for cause in causes]
            assert causes == expected.get("causes", causes)
        else:
            assert expected is None, f"not refused: {action}"

    def _request(self, action: Object) -> None:
        who: dict[str, Any] = {"user": RECORDER, "manager": "recorder"}
        if action["request"] == "create":
            manifest = action["manifest"]
            resource, namespace = self._resource(manifest["kind"], manifest["apiVersion"])
            self.cluster.create(resource, namespace, manifest, **who)
            return
        kind, _, told = action["on"].partition("/")
        name = self.names.real.get(action["on"], told)
        resource, namespace = self._resource(kind)
        match action["request"]:
            case "patch":
                self.cluster.patch(resource, namespace, name, action["with"], action["way"], **who)
            case "status":
                self.cluster.patch(
                    resource, namespace, name, action["with"], action["way"], subresource="status", **who
                )
            case "scale":
                patch = {"spec": {"replicas": action["replicas"]}}
                self.cluster.patch(resource, namespace, name, patch, "merge", subresource="scale", **who)
            case "delete":
                self.cluster.delete(
                    resource,
                    namespace,
                    name,
                    propagation=action.get("propagationPolicy"),
                    grace_seconds=action.get("gracePeriodSeconds"),
                    user=RECORDER,
                )
            case "evict":
                assert namespace is not None, "only Pods are evicted"
                self.cluster.evict(namespace, name, Options())
            case other:
                raise AssertionError(f"no such request: {other}")

    def _resource(self, kind: str, version: str | None = None) -> tuple[str, str | None]:
        for resource in self.cluster.resources:
            if resource.kind == kind and version in (None, resource.api_version):
                group = f".{resource.group}" if resource.group else ""
                return f"{resource.plural}{group}", NAMESPACE if resource.namespaced else None
        raise AssertionError(f"the cluster serves no {kind}")

    # Time

    def run_until(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Step by step until the state is reached, at most so long. Looks only when something has changed."""
        end, looked = self.clock.now() + timedelta(seconds=seconds), -1
        while True:
            if self.version != looked:
                looked = self.version
                if reached():
                    return True
            if not self.clock.step(end):
                self.clock.advance(max((end - self.clock.now()).total_seconds(), 0.0))
                return False

    def summary(self) -> Counter[str]:
        return timeline.summary(self.view.state)

    def play(self) -> None:
        """Each action at the moment when the state is the recorded one; where it is never quite that, after a while."""
        recorded = self.scenario["timeline"]
        for action in self.scenario["actions"]:
            past = recorded[: action["after_event"]]
            before, told = timeline.summary(timeline.fold(past)), timeline.reasons(past) - timeline.RACES
            self._awaited = (before, told)
            self._note_passage()
            self.run_until(lambda: self._awaited is None, LONGEST_WAIT_SECONDS)
            self.act(action)

    def _note_passage(self) -> None:
        """A controller may pass the awaited state in the middle of one step; the action then comes right after it."""
        if self._awaited is not None and self._awaited[1] <= self.told() and self.summary() == self._awaited[0]:
            self._awaited = None

    def settle(self) -> tuple[bool, bool]:
        """Run until well after the recorded end. Whether the end was reached at some time, and whether it was kept."""
        wanted, begin = timeline.recorded_end(self.scenario.get("end") or ()), self.clock.now()
        reached = self.run_until(lambda: self.summary() == wanted, LONGEST_WAIT_SECONDS)
        last = self.scenario["actions"][-1]["after_ms"]
        recorded_seconds = (max(entry["after_ms"] for entry in self.scenario["timeline"]) - last) / 1000
        passed = (self.clock.now() - begin).total_seconds()
        self.clock.advance(max(recorded_seconds - passed, 0.0))
        self.told_by_then = self.told()
        self.clock.advance(10)
        return reached, self.summary() == wanted

    def told(self) -> set[tuple[str, str]]:
        """Kind of object and reason of all events."""
        events = [entry.object for entry in self.entries if entry.kind == "Event"]
        return {(event["involvedObject"]["kind"], event["reason"]) for event in events}
