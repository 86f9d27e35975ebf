"""What every controller is made of: a queue of keys, hands in the cluster, and a loop that brings them together.

A controller hears of every change of the resources it watches, notes which of its objects may be concerned, and a
moment later brings that one object (named by its key) nearer to what it should be. It always reads the present state,
so one pass too many does no harm and one that failed is simply repeated, later and later.

Passes are plain function calls on the cluster's clock, one key at a time, so that the controllers of a cluster take
turns as they do in life, and a virtual clock runs them all in an order that never varies.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from kcl.records import dataclass, field
from runtimes.sandbox.binding import bind
from runtimes.sandbox.clock import Clock, Timer
from runtimes.sandbox.cluster import Cluster, Propagation, service_account
from runtimes.sandbox.controllers.events import Recorder
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.faults import Faults
from runtimes.sandbox.store import Change, Object, ResourceKey

log = logging.getLogger(__name__)

Key = tuple[str, str]  # namespace ("" for objects of the whole cluster), name

FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 0.005, 60.0
PASS_SECONDS = 0.002  # between a change and the pass it causes, and between two passes of one controller


def resource_key(resource: str) -> ResourceKey:
    """`deployments.apps` → `("apps", "deployments")`."""
    plural, _, group = resource.partition(".")
    return group, plural


def key_of(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@dataclass(frozen=True, slots=True)
class World:
    """What the controllers of one cluster share."""

    cluster: Cluster
    clock: Clock
    faults: Faults
    recorder: Recorder
    random: random.Random = field(default_factory=random.Random)


class Hands:
    """The verbs of the cluster, done in one controller's name."""

    def __init__(self, cluster: Cluster, account: str, manager: str) -> None:
        self.cluster, self.user, self.manager = cluster, service_account(account), manager

    def find(self, resource: str, namespace: str, name: str) -> Object | None:
        return self.cluster.store.get(resource_key(resource), (namespace, name))

    def all(self, resource: str, namespace: str | None = None) -> list[Object]:
        return [obj for _, obj in self.cluster.store.items(resource_key(resource), namespace)]

    def create(self, resource: str, namespace: str, body: Object) -> Object:
        return self.cluster.create(resource, namespace or None, body, user=self.user, manager=self.manager)

    def update(self, resource: str, body: Object, subresource: str | None = None) -> Object:
        """Write a changed copy; its resourceVersion makes a lost race a 409."""
        namespace, name = key_of(body)
        return self.cluster.update(
            resource, namespace or None, name, body, subresource=subresource, user=self.user, manager=self.manager
        )

    def update_status(self, resource: str, body: Object) -> Object:
        return self.update(resource, body, "status")

    def patch(self, resource: str, namespace: str, name: str, patch: Any, subresource: str | None = None) -> Object:
        """A merge patch."""
        return self.cluster.patch(
            resource,
            namespace or None,
            name,
            patch,
            "merge",
            subresource=subresource,
            user=self.user,
            manager=self.manager,
        )

    def bind(self, pod: Object, node: str) -> None:
        namespace, name = key_of(pod)
        bind(self.cluster, namespace, name, node, uid=pod["metadata"]["uid"])

    def delete(
        self,
        resource: str,
        obj: Object,
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete just this object, not a namesake that took its place. Being gone already is fine."""
        namespace, name = key_of(obj)
        try:
            self.cluster.delete(
                resource,
                namespace or None,
                name,
                uid=obj["metadata"]["uid"],
                propagation=propagation,
                grace_seconds=grace_seconds,
                user=self.user,
            )
        except ApiError as error:
            if error.code not in (404, 409):
                raise


class Controller:
    """Subclasses say whose name they act in, what they watch, which keys a change concerns, and what a pass does."""

    name: ClassVar[str]
    manager: ClassVar[str] = "kube-controller-manager"
    component: ClassVar[str] = "kube-controller-manager"
    watches: ClassVar[tuple[str, ...]]

    def __init__(self, world: World) -> None:
        self.world = world
        self.clock = world.clock
        self.hands = Hands(world.cluster, self.name, self.manager)
        self._queue: dict[Key, None] = {}
        self._later: dict[Key, tuple[float, Timer]] = {}
        self._failures: dict[Key, int] = {}
        self._timer: Timer | None = None
        self.stopped = False
        world.faults.listen(self._go_on)

    def _go_on(self) -> None:
        if self._queue and self._timer is None and not self.stopped:
            self._timer = self.clock.call_later(PASS_SECONDS, self._pass)

    def start(self) -> None:
        """Called once, after every controller exists and before the first change is heard."""

    def concerned(self, change: Change) -> Iterable[Key]:
        """The keys a change is about. Only takes note: it must not write."""
        yield change.key

    first_retry_seconds = FIRST_RETRY_SECONDS

    def reconcile(self, key: Key) -> None:
        raise NotImplementedError

    def heard(self, change: Change) -> None:
        for key in self.concerned(change):
            self.enqueue(key)

    def enqueue(self, key: Key, after: float = 0.0) -> None:
        """Plan a pass over the key; of several plans the earliest counts."""
        if self.stopped:
            return
        if after > 0:
            self._enqueue_later(key, after)
            return
        self._queue.setdefault(key)
        if self._timer is None:
            self._timer = self.clock.call_later(PASS_SECONDS, self._pass)

    def _enqueue_later(self, key: Key, after: float) -> None:
        due = self.clock.now().timestamp() + after
        planned = self._later.get(key)
        if planned is not None:
            if planned[0] <= due:
                return
            planned[1].cancel()

        def arrive() -> None:
            self._later.pop(key, None)
            self.enqueue(key)

        self._later[key] = due, self.clock.call_later(after, arrive)

    def _pass(self) -> None:
        self._timer = None
        if self.stopped or not self._queue or self.world.faults.is_stopped(self.component):
            return
        key = next(iter(self._queue))
        del self._queue[key]
        try:
            self.reconcile(key)
        except ApiError as error:
            log.debug("%s: %s: %s", self.name, "/".join(key), error)
            self._retry(key)
        except Exception:
            # A fault of ours in one object must not stop the cluster for all the others.
            log.exception("%s failed on %s", self.name, "/".join(key))
            self._retry(key)
        else:
            self._failures.pop(key, None)
        if self._queue and self._timer is None:
            self._timer = self.clock.call_later(PASS_SECONDS, self._pass)

    def _retry(self, key: Key) -> None:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.enqueue(key, min(self.first_retry_seconds * 2 ** min(failures, 30), LONGEST_RETRY_SECONDS))

    def stop(self) -> None:
        self.stopped = True
        self._queue.clear()
        for timer in [self._timer, *(timer for _, timer in self._later.values())]:
            if timer is not None:
                timer.cancel()
        self._later.clear()

    def event(self, about: Object, type_: str, reason: str, message: str) -> None:
        self.world.recorder.record(self.name, about, type_, reason, message)


Factory = Callable[[World], Controller]
