"""After any changes a watch has of every resource what looking at everything again would give."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from runtimes.base import NO_RULES, Forbidden, KubernetesId
from runtimes.kubernetes import watch
from runtimes.kubernetes.client import WatchEvent
from runtimes.kubernetes.informer import Informer
from runtimes.kubernetes.objects import Objects
from runtimes.kubernetes.server_clock import ServerClock
from runtimes.kubernetes.watch import _Observer

SHOP = "shop"
IDS = (
    *(KubernetesId("apps/v1", "Deployment", SHOP, f"d{n}") for n in range(4)),
    *(KubernetesId("apps/v1", "StatefulSet", SHOP, f"s{n}") for n in range(2)),
    *(KubernetesId("v1", "Service", SHOP, f"v{n}") for n in range(2)),
    KubernetesId("v1", "ConfigMap", SHOP, "c0"),
    KubernetesId("v1", "PersistentVolumeClaim", SHOP, "data-s0-0"),
    KubernetesId("v1", "Namespace", "", SHOP),
)


class World:
    """Objects that come, change and go at random, told to the informers of an observer as a server would."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.objects: dict[str, dict[str, Any]] = {}
        self.version = 0

    def body(self, id_: KubernetesId, owner: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        self.version += 1
        known = self.objects.get(f"{id_}")
        uid = known["metadata"]["uid"] if known else f"u{self.version}"
        metadata = {"name": id_.name, "uid": uid, "resourceVersion": f"{self.version}", "generation": 1}
        metadata |= {"namespace": id_.namespace} if id_.namespace else {}
        if owner is not None:
            metadata["ownerReferences"] = [
                {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
            ]
        metadata["labels"] = more.pop("labels", {})
        return {"apiVersion": id_.api_version, "kind": id_.kind, "metadata": metadata, **more}

    def change(self) -> tuple[str, dict[str, Any]]:
        """Returns a watch event's type and object."""
        dice = self.dice
        if self.objects and dice.random() < 0.15:
            return "DELETED", self.objects.pop(dice.choice(sorted(self.objects)))
        made = self.made(dice.choice([*range(8)]))
        key = str(KubernetesId.of(made))
        kind = "MODIFIED" if key in self.objects else "ADDED"
        self.objects[key] = made
        return kind, made

    def made(self, what: int) -> dict[str, Any]:
        dice = self.dice
        ready = dice.randint(0, 1)
        counts = {"replicas": 1, "readyReplicas": ready, "updatedReplicas": 1, "availableReplicas": ready}
        template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "a"}]}}
        if what <= 1:
            status = {**counts, "observedGeneration": 1, "unavailableReplicas": 1 - ready}
            spec = {"replicas": 1, "template": template, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
            return self.body(dice.choice(IDS[:6]), spec=spec, status=status)
        if what == 2:
            owner = self.any("Deployment")
            id_ = KubernetesId("apps/v1", "ReplicaSet", SHOP, f"r{dice.randint(0, 4)}")
            return self.body(id_, owner, spec={"replicas": 1, "template": template}, status=counts)
        if what == 3:
            id_ = KubernetesId("v1", "Pod", SHOP, f"p{dice.randint(0, 6)}")
            owner = self.any(dice.choice(["ReplicaSet", "StatefulSet"]))
            phase = dice.choice(["Pending", "Running", "Failed"])
            claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "data-s0-0"}}]
            return self.body(
                id_, owner, spec={"containers": [{"name": "a"}], "volumes": claim}, status={"phase": phase}
            )
        if what == 4:
            about = self.any(dice.choice(["Pod", "ReplicaSet", "Deployment", "Service"])) or {
                "kind": "Node",
                "metadata": {},
            }
            subject = {"kind": about["kind"], "namespace": SHOP, "name": about["metadata"].get("name")}
            subject |= {"uid": about["metadata"].get("uid")} if dice.random() < 0.7 else {}
            id_ = KubernetesId("v1", "Event", SHOP, f"e{dice.randint(0, 9)}")
            reason = dice.choice(["FailedCreate", "BackOff", "FailedScheduling", "Pulled"])
            when = f"2026-11-23T10:{self.version // 60:02}:{self.version % 60:02}Z"  # without, their order says nothing
            return self.body(id_, involvedObject=subject, type="Warning", reason=reason, lastTimestamp=when)
        if what == 5:
            number = dice.randint(0, 1)
            if dice.random() < 0.5:
                return self.body(
                    KubernetesId("v1", "Service", SHOP, f"v{number}"), spec={"type": "ClusterIP"}, status={}
                )
            id_ = KubernetesId("discovery.k8s.io/v1", "EndpointSlice", SHOP, f"v{number}-a")
            ends = [{"conditions": {"ready": bool(ready)}}]
            labels = {"kubernetes.io/service-name": f"v{number}"}
            return self.body(id_, self.any("Service") if ready else None, labels=labels, endpoints=ends)
        if what == 6:
            id_ = KubernetesId("v1", "PersistentVolumeClaim", SHOP, f"data-s{dice.randint(0, 1)}-0")
            phase = dice.choice(["Pending", "Bound"])
            return self.body(id_, spec={"volumeName": "vol"}, status={"phase": phase})
        if dice.random() < 0.5:
            return self.body(KubernetesId("v1", "Namespace", "", SHOP), status={"phase": "Active"})
        return self.body(KubernetesId("v1", "ConfigMap", SHOP, "c0"))

    def any(self, kind: str) -> dict[str, Any] | None:
        found = [each for each in self.objects.values() if each["kind"] == kind]
        return self.dice.choice(found) if found else None


def informers_of(observer: _Observer, body: dict[str, Any]) -> list[Informer]:
    id_ = KubernetesId.of(body)
    found = []
    for (_, kind, namespace, name), informer in observer._informers.items():
        if kind == id_.kind and namespace == id_.namespace and name in ("", id_.name):
            found.append(informer)
    return found


def everything(observer: _Observer) -> Objects:
    live: dict[str, Any] = {}
    events: dict[str, Any] = {}
    for informer in observer._informers.values():
        (events if informer.is_of_events else live).update(informer.objects)
    return Objects(live.values(), events.values())


@pytest.mark.parametrize("seed", range(12))
async def test_what_changed_is_followed_to_all_that_it_may_concern(seed: int) -> None:
    world = World(seed)
    nobody: Any = SimpleNamespace(uid="", transport=SimpleNamespace(clock=ServerClock()))  # no server is asked
    observer = _Observer(nobody, IDS, NO_RULES, lambda: datetime.now(UTC))
    for id_ in IDS:
        await observer._prepare(id_)
    for informer in observer._informers.values():
        informer._heard()
    observer._look()
    current = 0
    for _ in range(250):
        for _ in range(world.dice.randint(1, 3)):
            type_, body = world.change()
            if type_ == "DELETED":
                world.version += 1
                body = {**body, "metadata": {**body["metadata"], "resourceVersion": f"{world.version}"}}
            for informer in informers_of(observer, body):
                informer._take(WatchEvent(type_, body))
        observer._look()
        now, objects = datetime.now(UTC), everything(observer)
        for id_ in IDS:
            expected = observer._observe(id_, objects, now)
            assert observer._last[id_] == expected, id_
            current += expected.health.status.value == "Current"
    assert current > 500, "what is final is what may be forgotten"


async def test_log_lines_do_not_keep_from_being_looked_at_what_waits_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be a line at any moment, and a look is at a few of many."""
    monkeypatch.setattr(watch, "_SHARE_SECONDS", -1.0)  # one at a time
    nobody: Any = SimpleNamespace(uid="", transport=SimpleNamespace(clock=ServerClock()))  # no server is asked
    observer = _Observer(nobody, IDS, NO_RULES, lambda: datetime.now(UTC))
    for id_ in IDS:
        await observer._prepare(id_)
    for informer in observer._informers.values():
        informer._heard()
        informer.failure = Forbidden("no")  # what is not known is not final
    observer._look_at_unsettled(set(), datetime.now(UTC))
    for _ in IDS[1:]:
        observer._hear_of_logs()
        observer._look_at_unsettled(set(), datetime.now(UTC))
    assert list(observer._last) == list(IDS)
