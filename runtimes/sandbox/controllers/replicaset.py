"""ReplicaSet and ReplicationController: keep so many pods of a template, and count them."""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.sandbox.controllers.base import Controller, Key
from runtimes.sandbox.controllers.conditions import condition, nonzero, without
from runtimes.sandbox.controllers.owners import (
    claim,
    controller_of,
    is_controlled_by,
    labels_of,
    owners_to_wake,
    selects,
)
from runtimes.sandbox.controllers.pods import first_to_delete, from_template, is_active, is_available, is_ready
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.limits import BURST
from runtimes.sandbox.store import Change, Object, copied


class ReplicaSets(Controller):
    name = "replicaset-controller"
    watches = ("replicasets.apps", "pods")
    resource, kind = "replicasets.apps", "ReplicaSet"

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] != "pods":
            yield change.key
            return
        yield from owners_to_wake(self.hands, self.resource, self.kind, (change.object, change.previous))

    def reconcile(self, key: Key) -> None:
        replica_set = self.hands.find(self.resource, *key)
        if replica_set is None:
            return
        active = [pod for pod in self.hands.all("pods", key[0]) if is_active(pod)]
        pods = claim(self.hands, "pods", replica_set, active)
        failure: _Failure | None = None
        if not replica_set["metadata"].get("deletionTimestamp"):
            failure = self._manage(replica_set, pods)
        self._write_status(replica_set, pods, failure)
        if failure is not None:
            raise failure.error

    def _manage(self, replica_set: Object, pods: list[Object]) -> _Failure | None:
        missing = replica_set["spec"].get("replicas", 1) - len(pods)
        if missing > 0:
            return self._make(replica_set, min(missing, BURST))
        if missing < 0:
            return self._give_up(replica_set, pods, min(-missing, BURST))
        return None

    def _make(self, replica_set: Object, number: int) -> _Failure | None:
        """In batches of 1, 2, 4, ...: where creation is refused, the attempts stay few."""
        namespace, batch = replica_set["metadata"]["namespace"], 1
        while number > 0:
            failure = None
            for _ in range(min(batch, number)):
                try:
                    pod = self.hands.create(
                        "pods", namespace, from_template(replica_set, replica_set["spec"]["template"])
                    )
                except ApiError as error:
                    failure = _Failure("FailedCreate", error)
                    self.event(replica_set, "Warning", "FailedCreate", f"Error creating: {error.message}")
                else:
                    self.event(replica_set, "Normal", "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")
            if failure is not None:
                return failure
            number -= batch
            batch *= 2
        return None

    def _give_up(self, replica_set: Object, pods: list[Object], number: int) -> _Failure | None:
        failure = None
        for pod in first_to_delete(pods, self._related(replica_set), self.clock.now())[:number]:
            try:
                self.hands.delete("pods", pod)
            except ApiError as error:
                failure = _Failure("FailedDelete", error)
                self.event(replica_set, "Warning", "FailedDelete", f"Error deleting: {error.message}")
            else:
                self.event(replica_set, "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
        return failure

    def _related(self, replica_set: Object) -> list[Object]:
        """The active pods of all the ReplicaSets that the same Deployment owns."""
        namespace, owner = replica_set["metadata"]["namespace"], controller_of(replica_set)
        sets = [replica_set]
        if owner is not None:
            siblings = self.hands.all(self.resource, namespace)
            sets = [each for each in siblings if (controller_of(each) or {}).get("uid") == owner["uid"]]
        pods = self.hands.all("pods", namespace)
        return [pod for pod in pods if is_active(pod) and any(is_controlled_by(pod, each) for each in sets)]

    def _write_status(self, replica_set: Object, pods: list[Object], failure: _Failure | None) -> None:
        spec, min_ready = replica_set["spec"], replica_set["spec"].get("minReadySeconds", 0)
        now = self.clock.now()
        template_labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        ready = [pod for pod in pods if is_ready(pod)]
        available = [pod for pod in ready if is_available(pod, min_ready, now)]
        labeled = [pod for pod in pods if selects({"matchLabels": template_labels}, labels_of(pod))]
        status: Object = {"replicas": len(pods)}
        status |= nonzero(
            {"fullyLabeledReplicas": len(labeled), "readyReplicas": len(ready), "availableReplicas": len(available)}
        )
        status["observedGeneration"] = replica_set["metadata"].get("generation", 0)
        conditions = self._conditions(replica_set, failure)
        if conditions:
            status["conditions"] = conditions
        old = replica_set.get("status") or {}
        if status != old:
            changed = copied(self.hands.find(self.resource, *_key(replica_set)) or replica_set)
            changed["status"] = status
            self.hands.update_status(self.resource, changed)
        if min_ready > 0 and len(ready) == spec.get("replicas", 1) and len(available) != len(ready):
            self.enqueue(_key(replica_set), after=min_ready)

    def _conditions(self, replica_set: Object, failure: _Failure | None) -> list[Object]:
        conditions = list((replica_set.get("status") or {}).get("conditions") or [])
        if failure is None:
            return without(conditions, "ReplicaFailure")
        if condition(conditions, "ReplicaFailure") is not None:
            return conditions
        return [
            *conditions,
            {
                "type": "ReplicaFailure",
                "status": "True",
                "lastTransitionTime": stamp(self.clock.now()),
                "reason": failure.reason,
                "message": failure.error.message,
            },
        ]


class ReplicationControllers(ReplicaSets):
    name = "replication-controller"
    watches = ("replicationcontrollers", "pods")
    resource, kind = "replicationcontrollers", "ReplicationController"


class _Failure:
    def __init__(self, reason: str, error: ApiError) -> None:
        self.reason, self.error = reason, error


def _key(obj: Object) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]
