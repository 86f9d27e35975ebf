"""Recorded timelines of a real control plane: reading them, and the words in which they speak of a state.

A state is a mapping of references (`Pod/web-<rs:1>-<pod:2>`) to objects. A `View` is the little language of the
recordings over the states passed so far, `summary` the form in which they write down an end.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]

FOLDER = (
    Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", Path(__file__).parents[5] / "shared" / "conformance"))
    / "kube-behaviour-1.34"
)

OWN = Path(__file__).parents[2] / "kubernetes" / "recordings"
OF_THE_PROJECT = " of the project"

# Events that depend on a race, and those an earlier scenario left behind.
RACES = {("Node", "RegisteredNode"), ("Node", "RemovingNode"), ("PodDisruptionBudget", "NoPods")}
PULLING = ("ErrImagePull", "ImagePullBackOff")
PROGRESSING = ("NewReplicaSetCreated", "ReplicaSetUpdated")
# Times and versions, and what several writers race for.
DROPPED = {
    *("lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime", "lastScheduleTime"),
    *(
        "lastSuccessfulTime",
        "startTime",
        "completionTime",
        "message",
        "uid",
        "resourceVersion",
        "apiVersion",
        "namespace",
    ),
}
NOT_TOLD = {"Event", "ControllerRevision"}


def names() -> list[str]:
    """Those of the conformance data, where it is there, and those of the project."""
    given = sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.glob("*/*.yaml"))
    own = sorted(str(path.relative_to(OWN).with_suffix("")) for path in OWN.glob("*/*.yaml"))
    return given + [f"{name}{OF_THE_PROJECT}" for name in own]


def load(name: str) -> Object:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    plain = name.removesuffix(OF_THE_PROJECT)
    folder = FOLDER if plain == name else OWN
    document: Object = yaml.load((folder / f"{plain}.yaml").read_text("utf-8"), loader)
    return document


def fold(timeline: Iterable[Object]) -> dict[str, Object]:
    state: dict[str, Object] = {}
    for entry in timeline:
        if entry["type"] == "DELETED":
            state.pop(f"{entry['kind']}/{entry['name']}", None)
        elif entry["kind"] != "Event":
            state[f"{entry['kind']}/{entry['name']}"] = entry["object"]
    return state


def reasons(timeline: Iterable[Object]) -> set[tuple[str, str]]:
    """Kind of object and reason of the events."""
    events = [entry["object"] for entry in timeline if entry["kind"] == "Event"]
    return {(event["involvedObject"]["kind"], event["reason"]) for event in events}


def bare(name: str) -> str:
    """Tokens without their numbers."""
    return re.sub(r"<(\w+):\d+>", r"<\1>", name)


def summary(state: Mapping[str, Object]) -> Counter[str]:
    """The objects as an `end` tells them, each as one line of JSON, counted."""
    lines: Counter[str] = Counter()
    for reference, obj in state.items():
        kind, _, name = reference.partition("/")
        if kind in NOT_TOLD:
            continue
        told = {"kind": kind, "name": bare(name), **(_pod(obj) if kind == "Pod" else _other(kind, obj))}
        lines[json.dumps(told, sort_keys=True)] += 1
    return lines


def recorded_end(end: Iterable[Object]) -> Counter[str]:
    lines: Counter[str] = Counter()
    for entry in end:
        told = {name: value for name, value in entry.items() if name != "count"}
        lines[json.dumps(told, sort_keys=True)] += entry["count"]
    return lines


def _pod(pod: Object) -> Object:
    status = pod.get("status") or {}
    containers = []
    for each in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        state, detail = next(iter((each.get("state") or {"waiting": {}}).items()))
        words = [each["name"], state]
        if state != "running":
            reason = detail.get("reason", "")
            words.append("ErrImagePull or ImagePullBackOff" if reason in PULLING else reason)
        if each.get("restartCount"):
            words.append("restarted")
        containers.append("/".join(words))
    told = {
        "containers": containers,
        "going": bool(pod["metadata"].get("deletionTimestamp")),
        "image": pod["spec"]["containers"][0]["image"],
        "phase": status.get("phase"),
        "ready": _ready(pod),
    }
    return told | ({"reason": status["reason"]} if status.get("reason") else {})


def _ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _other(kind: str, obj: Object) -> Object:
    told: Object = {}
    if kind == "EndpointSlice":
        return {"ready": sorted(str(each["conditions"].get("ready")) for each in obj.get("endpoints") or ())}
    if obj["metadata"].get("deletionTimestamp"):
        told["going"] = True
    if kind == "ReplicaSet":
        told["image"] = obj["spec"]["template"]["spec"]["containers"][0]["image"]
    if obj.get("status"):
        status = _plain(obj["status"])
        if kind == "ReplicaSet":
            status.pop("observedGeneration", None)
        if kind == "Node":
            status = {"conditions": status.get("conditions", [])}
        told["status"] = status
    return told


def _plain(value: Any) -> Any:
    """Without times, messages, uids and the numbers of tokens; conditions in order of type."""
    if isinstance(value, dict):
        plain = {}
        for name, each in value.items():
            if name in DROPPED:
                continue
            plain[name] = "<time>" if isinstance(each, str) and _is_time(each) else _plain(each)
        if plain.get("type") == "Progressing" and plain.get("reason") in PROGRESSING:
            plain["reason"] = " or ".join(PROGRESSING)
        return plain
    if isinstance(value, list):
        plains = [_plain(each) for each in value]
        if all(isinstance(each, dict) and "type" in each for each in plains):
            plains.sort(key=lambda each: each["type"])
        return plains
    return bare(value) if isinstance(value, str) else value


def _is_time(text: str) -> bool:
    return re.fullmatch(r"T\+\d+s|\d{4}-\d\d-\d\dT[\d:.]+Z", text) is not None


@dataclass(slots=True)
class View:
    """The words of the recordings' expressions, over a state and what has been seen on the way to it."""

    top: str
    state: dict[str, Object] = field(default_factory=dict)
    seen: dict[str, list[str]] = field(default_factory=dict)
    ever: set[str] = field(default_factory=set)
    told: Counter[tuple[str, str]] = field(default_factory=Counter)
    events: dict[str, Object] = field(default_factory=dict)

    def take(self, type_: str, kind: str, name: str, obj: Object) -> None:
        reference = f"{kind}/{name}"
        if kind == "Event":
            self.events[reference] = obj
            return
        if type_ == "DELETED":
            self.state.pop(reference, None)
            return
        if reference not in self.ever:
            self.ever.add(reference)
            self.seen.setdefault(kind, []).append(reference)
        self.state[reference] = obj

    def holds(self, expression: str) -> bool:
        words: dict[str, Any] = {name: getattr(self, name) for name in _WORDS}
        return bool(eval(expression, {"__builtins__": {}, **_BUILTINS, **words}))

    def o(self, reference: str | None, path: str = "", default: Any = None) -> Any:
        obj: Any = self.state.get(reference or "")
        if obj is None:
            return default
        for part in path.split(".") if path else ():
            if not isinstance(obj, dict) or part not in obj:
                return default
            obj = obj[part]
        return obj

    def st(self, reference: str, path: str) -> Any:
        return self.o(reference, f"status.{path}", 0)

    def cond(self, reference: str, type_: str) -> str:
        for each in self.o(reference, "status.conditions") or ():
            if each["type"] == type_:
                return f"{each['status']}/{each.get('reason', '')}"
        return ""

    def synced(self, reference: str) -> bool:
        return bool(self.st(reference, "observedGeneration") == self.o(reference, "metadata.generation"))

    def rolled(self, reference: str) -> bool:
        wanted = self.o(reference, "spec.replicas", 1)
        counts = {self.st(reference, name) for name in ("replicas", "updatedReplicas", "availableReplicas")}
        return self.synced(reference) and counts == {wanted}

    def live(self, kind: str, where: Any = None) -> list[str]:
        references = [each for each in self.seen.get(kind, ()) if each in self.state]
        return [each for each in references if where is None or where(each)]

    def count(self, kind: str) -> int:
        return len(self.seen.get(kind, ()))

    def rs(self, number: int) -> str | None:
        sets = self.seen.get("ReplicaSet", [])
        return sets[number - 1] if len(sets) >= number else None

    def gone(self, reference: str | None) -> bool:
        return reference in self.ever and reference not in self.state

    def going(self, reference: str | None) -> bool:
        return bool(self.o(reference, "metadata.deletionTimestamp"))

    def _all_pods(self) -> list[str]:
        return [each for each in self.live("Pod") if not self.going(each)]

    def pods(self, phase: str | None = None, image: str | None = None) -> list[str]:
        return [
            each
            for each in self._all_pods()
            if (phase is None or self.o(each, "status.phase") == phase)
            and (image is None or self.o(each, "spec.containers")[0]["image"] == image)
        ]

    def terminating(self) -> list[str]:
        return [each for each in self.live("Pod") if self.going(each)]

    def ready(self) -> list[str]:
        return [each for each in self._all_pods() if _ready(self.state[each])]

    def unready(self) -> list[str]:
        return [each for each in self._all_pods() if not _ready(self.state[each])]

    def _statuses(self, reference: str) -> list[Object]:
        return [
            *(self.o(reference, "status.initContainerStatuses") or ()),
            *(self.o(reference, "status.containerStatuses") or ()),
        ]

    def waiting(self, *reasons: str) -> list[str]:
        return [
            each
            for each in self._all_pods()
            if any(c.get("state", {}).get("waiting", {}).get("reason") in reasons for c in self._statuses(each))
        ]

    def pulling(self) -> list[str]:
        return self.waiting(*PULLING)

    def restarts(self, number: int) -> list[str]:
        return [
            each for each in self._all_pods() if any(c.get("restartCount", 0) >= number for c in self._statuses(each))
        ]

    def unschedulable(self) -> list[str]:
        return [each for each in self._all_pods() if self.cond(each, "PodScheduled") == "False/Unschedulable"]

    def starting(self) -> list[str]:
        return self.pods("Pending")

    def event(self, reason: str, text: str = "") -> int:
        return sum(each["reason"] == reason and text in each.get("message", "") for each in self.events.values())


_WORDS = (
    *("top", "o", "st", "cond", "synced", "rolled", "live", "count", "rs", "gone", "going", "pods", "terminating"),
    *("ready", "unready", "waiting", "pulling", "restarts", "unschedulable", "starting", "event"),
)
_BUILTINS = {
    "len": len,
    "any": any,
    "all": all,
    "sum": sum,
    "max": max,
    "min": min,
    "set": set,
    "sorted": sorted,
    "str": str,
    "int": int,
}
