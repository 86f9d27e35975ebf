"""Events (core/v1), as controllers tell of what they did.

Repeating oneself raises a count instead of making another object. The scheduler's are of the newer kind: without a
count, with a series once they repeat.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from runtimes.sandbox.clock import Clock
from runtimes.sandbox.cluster import Cluster, User, service_account
from runtimes.sandbox.controllers.times import micro_stamp, stamp
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.store import Object, copied

LONGEST_MESSAGE = 1024
SIMILAR = 10  # so many messages of one reason on one object within the time below; then they are told as one
SIMILAR_SECONDS = 600.0
REMEMBERED = 4096


class Recorder:
    """Writes events. One that cannot be written (its namespace is going) is dropped, as a real recorder does."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster, self._clock = cluster, clock
        self._names: dict[tuple[str, ...], str] = {}
        self._similar: dict[tuple[str, ...], dict[str, float]] = {}
        self._serial = 0

    def record(
        self, source: str, about: Object, type_: str, reason: str, message: str, host: str = "", container: str = ""
    ) -> None:
        """`about` is the whole object the event is on; `container` narrows it to one of a pod's."""
        reference = _reference(about, container)
        namespace = reference.get("namespace") or "default"
        message = message[:LONGEST_MESSAGE]
        about_whom = (reference["kind"], reference["name"], reference.get("uid", ""), container)
        identity: tuple[str, ...] = (source, namespace, *about_whom, type_, reason)
        if source != "default-scheduler" and self._are_many(identity, message):
            message = f"(combined from similar events): {message}"
        else:
            identity = (*identity, message)
        user = _user(source)
        manager = (
            "kubelet" if source == "kubelet" else source if source == "default-scheduler" else "kube-controller-manager"
        )
        now = self._clock.now()
        try:
            if self._repeat(identity, message, namespace, now, user, manager):
                return
            body = self._body(reference, namespace, source, host, type_, reason, message, now)
            self._cluster.create("events", namespace, body, user=user, manager=manager)
        except ApiError:
            return
        self._remember(identity, body["metadata"]["name"])

    def _are_many(self, kind: tuple[str, ...], message: str) -> bool:
        """Whether too many different messages of this kind were told lately to tell each for itself."""
        now = self._clock.now().timestamp()
        times = self._similar.pop(kind, {})
        times = {text: at for text, at in times.items() if now - at < SIMILAR_SECONDS}
        known = message in times
        if known or len(times) < SIMILAR:
            times[message] = now
        self._similar[kind] = times
        while len(self._similar) > REMEMBERED:
            del self._similar[next(iter(self._similar))]
        return not known and message not in times

    def _repeat(
        self, identity: tuple[str, ...], message: str, namespace: str, now: datetime, user: User, manager: str
    ) -> bool:
        name = self._names.get(identity)
        known = self._cluster.store.get(("", "events"), (namespace, name)) if name else None
        if known is None:
            return False
        event = copied(known)
        if event.get("eventTime"):
            series = event.get("series") or {"count": 1}
            event["series"] = {"count": series["count"] + 1, "lastObservedTime": micro_stamp(now)}
        else:
            event["count"] = event.get("count", 1) + 1
            event["message"] = message
            event["lastTimestamp"] = stamp(now)
        self._cluster.update("events", namespace, event["metadata"]["name"], event, user=user, manager=manager)
        return True

    def _body(
        self,
        reference: Object,
        namespace: str,
        source: str,
        host: str,
        type_: str,
        reason: str,
        message: str,
        now: datetime,
    ) -> Object:
        self._serial += 1
        digest = blake2b(f"{now.timestamp()} {self._serial}".encode(), digest_size=8).hexdigest()
        body: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{reference['name']}.{digest}", "namespace": namespace},
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "type": type_,
            "reportingComponent": source,
            "reportingInstance": host,
        }
        if source == "default-scheduler":
            body |= {
                "eventTime": micro_stamp(now),
                "action": "Binding" if reason == "Scheduled" else "Scheduling",
                "reportingInstance": "default-scheduler-sandbox",
                "source": {},
                "firstTimestamp": None,
                "lastTimestamp": None,
            }
        else:
            body |= {
                "source": {"component": source, **({"host": host} if host else {})},
                "firstTimestamp": stamp(now),
                "lastTimestamp": stamp(now),
                "count": 1,
                "eventTime": None,
            }
        return body

    def _remember(self, identity: tuple[str, ...], name: str) -> None:
        self._names[identity] = name
        while len(self._names) > REMEMBERED:
            del self._names[next(iter(self._names))]


def _user(source: str) -> User:
    if source == "kubelet":
        return User("system:node:sandbox", ("system:nodes", "system:authenticated"))
    if source == "default-scheduler":
        return User("system:kube-scheduler", ("system:authenticated",))
    return service_account(source)


def _reference(about: Object, container: str) -> Object:
    metadata = about["metadata"]
    reference: Object = {
        "kind": about["kind"],
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "uid": metadata.get("uid"),
        "apiVersion": about["apiVersion"],
        "resourceVersion": metadata.get("resourceVersion"),
        "fieldPath": f"spec.containers{{{container}}}" if container else None,
    }
    return {field: value for field, value in reference.items() if value}
