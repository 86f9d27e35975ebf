"""StatefulSet: pods with a number and a volume of their own, made in order and given up in the opposite one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtimes.sandbox.controllers import revisions
from runtimes.sandbox.controllers.base import PASS_SECONDS, Controller, Key, key_of
from runtimes.sandbox.controllers.conditions import nonzero
from runtimes.sandbox.controllers.owners import claim, labels_of, owners_to_wake, reference_to
from runtimes.sandbox.controllers.pods import from_template, is_available, is_finished, is_going, is_ready
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.limits import BURST
from runtimes.sandbox.store import Change, Object, copied

HASH, POD_NAME, POD_INDEX = (
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
)
REVISION_HASH = "controller.kubernetes.io/hash"


class StatefulSets(Controller):
    name = "statefulset-controller"
    watches = ("statefulsets.apps", "pods")

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource == ("apps", "statefulsets"):
            yield change.key
            return
        yield from owners_to_wake(self.hands, "statefulsets.apps", "StatefulSet", (change.object, change.previous))

    def reconcile(self, key: Key) -> None:
        found = self.hands.find("statefulsets.apps", *key)
        if found is None:
            return
        candidates = [pod for pod in self.hands.all("pods", key[0]) if ordinal(found, pod) is not None]
        pods = claim(self.hands, "pods", found, candidates)
        update, history = revisions.current(self.hands, found, REVISION_HASH)
        named = (found.get("status") or {}).get("currentRevision")
        current = next((each for each in history if each["metadata"]["name"] == named), update)
        status = self._counts(found, current, update, pods)
        failure: ApiError | None = None
        if not found["metadata"].get("deletionTimestamp"):
            try:
                self._manage(found, current, update, pods, status)
            except ApiError as error:
                failure = error
        self._write_status(found, status, update)
        used = {current["metadata"]["name"], update["metadata"]["name"]} | {
            labels_of(pod).get(HASH, "") for pod in pods
        }
        revisions.forget_old(self.hands, history, used, found["spec"].get("revisionHistoryLimit", 10))
        if failure is not None:
            raise failure
        min_ready = found["spec"].get("minReadySeconds", 0)
        if min_ready and status.get("readyReplicas", 0) != status["availableReplicas"]:
            self.enqueue(key, after=min_ready)

    def _counts(self, found: Object, current: Object, update: Object, pods: list[Object]) -> Object:
        min_ready, now = found["spec"].get("minReadySeconds", 0), self.clock.now()
        staying = [pod for pod in pods if not is_going(pod)]

        def of_revision(revision: Object) -> int:
            return sum(labels_of(pod).get(HASH) == revision["metadata"]["name"] for pod in staying)

        return {
            "observedGeneration": found["metadata"].get("generation", 0),
            "replicas": len(pods),
            "readyReplicas": sum(_is_serving(pod) for pod in pods),
            "currentReplicas": of_revision(current),
            "updatedReplicas": of_revision(update),
            "currentRevision": current["metadata"]["name"],
            "updateRevision": update["metadata"]["name"],
            "collisionCount": (found.get("status") or {}).get("collisionCount") or 0,
            "availableReplicas": sum(_is_serving(pod) and is_available(pod, min_ready, now) for pod in pods),
        }

    # One step

    def _manage(self, found: Object, current: Object, update: Object, pods: list[Object], status: Object) -> None:
        """The next thing to do, if it may be done now; in order and one at a time, unless the set says Parallel."""
        first = (found["spec"].get("ordinals") or {}).get("start", 0)
        wanted = range(first, first + found["spec"].get("replicas", 1))
        present = {ordinal(found, pod): pod for pod in pods}
        in_order = found["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        made = 0
        for number in wanted:
            if not self._tend(found, current, update, number, present.get(number)):
                continue
            made += number not in present
            if in_order:
                return
            if made >= BURST:
                self.enqueue(key_of(found), after=PASS_SECONDS)
                return
        surplus = sorted((number for number in present if number is not None and number not in wanted), reverse=True)
        unhealthy = [pod for pod in pods if not _is_healthy(pod)]
        for number in surplus:
            pod = present[number]
            if is_going(pod):
                if in_order:
                    return
                continue
            if (
                in_order
                and not _is_serving(pod)
                and pod is not min(unhealthy, key=lambda each: ordinal(found, each) or 0)
            ):
                return
            self._own_claims(found, pod, is_surplus=True)
            self._delete(found, pod)
            if in_order:
                return
        self._roll(found, update, present, wanted, status)

    def _tend(self, found: Object, current: Object, update: Object, number: int, pod: Object | None) -> bool:
        """True if this one is not yet as it should be."""
        if pod is None:
            if self._has_claims_of_another(found, number):
                self.enqueue(key_of(found), after=PASS_SECONDS)  # they go with a pod of that name that is gone
                return True
            self._make(found, current if self._stays_behind(found, number) else update, number)
            return True
        if is_finished(pod):
            if not is_going(pod):
                self._delete(found, pod)
            return True
        self._make_claims(found, pod)
        self._own_claims(found, pod, is_surplus=False)
        return is_going(pod) or not self._is_up(found, pod)

    def _is_up(self, found: Object, pod: Object) -> bool:
        return _is_serving(pod) and is_available(pod, found["spec"].get("minReadySeconds", 0), self.clock.now())

    def _stays_behind(self, found: Object, number: int) -> bool:
        """Below the partition a pod keeps the old revision, even when it is recreated."""
        strategy = found["spec"].get("updateStrategy") or {}
        partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        first = (found["spec"].get("ordinals") or {}).get("start", 0)
        return strategy.get("type", "RollingUpdate") == "RollingUpdate" and bool(number < first + partition)

    def _roll(
        self, found: Object, update: Object, present: dict[int | None, Object], wanted: range, status: Object
    ) -> None:
        """The highest pod of an older revision goes next, once all above it are healthy."""
        strategy = found["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        for number in reversed(wanted):
            if self._stays_behind(found, number):
                return
            pod = present.get(number)
            if pod is None:
                return
            if labels_of(pod).get(HASH) != update["metadata"]["name"] and not is_going(pod):
                self._delete(found, pod)
                if labels_of(pod).get(HASH) == status["currentRevision"]:
                    status["currentReplicas"] -= 1
                return
            if not _is_healthy(pod):
                return

    def _delete(self, found: Object, pod: Object) -> None:
        self.hands.delete("pods", pod)
        text = f"delete Pod {pod['metadata']['name']} in StatefulSet {found['metadata']['name']} successful"
        self.event(found, "Normal", "SuccessfulDelete", text)

    def _make(self, found: Object, revision: Object, number: int) -> None:
        name = f"{found['metadata']['name']}-{number}"
        template = copied(revision["data"]["spec"]["template"])
        template.pop("$patch", None)
        pod = from_template(found, template, name)
        pod["metadata"]["generateName"] = f"{found['metadata']['name']}-"
        labels = {HASH: revision["metadata"]["name"], POD_NAME: name, POD_INDEX: str(number)}
        pod["metadata"]["labels"] = {**pod["metadata"].get("labels", {}), **labels}
        pod["spec"]["hostname"] = name
        if found["spec"].get("serviceName"):
            pod["spec"]["subdomain"] = found["spec"]["serviceName"]
        claims = [each["metadata"]["name"] for each in found["spec"].get("volumeClaimTemplates") or ()]
        volumes = [each for each in pod["spec"].get("volumes") or () if each["name"] not in claims]
        for claimed in claims:
            volumes.append({"name": claimed, "persistentVolumeClaim": {"claimName": f"{claimed}-{name}"}})
        if volumes:
            pod["spec"]["volumes"] = volumes
        what = f"create Pod {name} in StatefulSet {found['metadata']['name']}"
        try:
            self._make_claims(found, pod)
            self.hands.create("pods", found["metadata"]["namespace"], pod)
        except ApiError as error:
            if error.reason != "AlreadyExists":  # the name is still taken, as by a pod that was let go
                self.event(found, "Warning", "FailedCreate", f"{what} failed error: {error.message}")
            raise
        self.event(found, "Normal", "SuccessfulCreate", f"{what} successful")

    def _claims(self, found: Object, pod_name: str) -> Iterator[Object]:
        for template in found["spec"].get("volumeClaimTemplates") or ():
            name = f"{template['metadata']['name']}-{pod_name}"
            claimed = self.hands.find("persistentvolumeclaims", found["metadata"]["namespace"], name)
            if claimed is not None:
                yield claimed

    def _has_claims_of_another(self, found: Object, number: int) -> bool:
        claims = self._claims(found, f"{found['metadata']['name']}-{number}")
        owners = (owner for each in claims for owner in each["metadata"].get("ownerReferences") or ())
        return any(owner["kind"] == "Pod" for owner in owners)

    def _own_claims(self, found: Object, pod: Object, *, is_surplus: bool) -> None:
        """Whoever owns a claim takes it along: the pod when the set is scaled down, the set when it is deleted, each
        where the set says so. Who says Retain gives it up."""
        retention = found["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        wanted: list[Object] = []
        if is_surplus and retention.get("whenScaled") == "Delete":
            wanted = [reference_to({"apiVersion": "v1", "kind": "Pod", **pod})]
        elif retention.get("whenDeleted") == "Delete":
            wanted = [reference_to(found)]
        ours = (("StatefulSet", found["metadata"]["name"]), ("Pod", pod["metadata"]["name"]))
        for claimed in self._claims(found, pod["metadata"]["name"]):
            had = claimed["metadata"].get("ownerReferences") or []
            owners = [each for each in had if (each["kind"], each["name"]) not in ours] + wanted
            if owners != had:
                changed = copied(claimed)
                changed["metadata"]["ownerReferences"] = owners
                self.hands.update("persistentvolumeclaims", changed)

    def _make_claims(self, found: Object, pod: Object) -> None:
        namespace, name = found["metadata"]["namespace"], pod["metadata"]["name"]
        retention = found["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        for template in found["spec"].get("volumeClaimTemplates") or ():
            claim_name = f"{template['metadata']['name']}-{name}"
            if self.hands.find("persistentvolumeclaims", namespace, claim_name) is not None:
                continue
            labels = {**labels_of(template), **(found["spec"]["selector"].get("matchLabels") or {})}
            metadata: Object = {"name": claim_name, "namespace": namespace, "labels": labels}
            if retention.get("whenDeleted") == "Delete":
                metadata["ownerReferences"] = [reference_to(found)]
            body = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": copied(template["spec"]),
            }
            self.hands.create("persistentvolumeclaims", namespace, body)
            text = f"create Claim {claim_name} Pod {name} in StatefulSet {found['metadata']['name']} success"
            self.event(found, "Normal", "SuccessfulCreate", text)

    def _write_status(self, found: Object, status: Object, update: Object) -> None:
        strategy = found["spec"].get("updateStrategy") or {}
        counts = {status[name] for name in ("updatedReplicas", "replicas", "readyReplicas")}
        done = counts == {found["spec"].get("replicas", 1)}
        if strategy.get("type", "RollingUpdate") == "RollingUpdate" and done:
            status["currentReplicas"] = status["updatedReplicas"]
            status["currentRevision"] = update["metadata"]["name"]
        for name in ("readyReplicas", "currentReplicas", "updatedReplicas"):
            status |= nonzero({name: status.pop(name)})
        if status != (found.get("status") or {}):
            changed = copied(self.hands.find("statefulsets.apps", *key_of(found)) or found)
            changed["status"] = status
            self.hands.update_status("statefulsets.apps", changed)


def ordinal(found: Object, pod: Object) -> int | None:
    """The number in the pod's name; None if it is not named after the set."""
    prefix, _, number = pod["metadata"]["name"].rpartition("-")
    return int(number) if prefix == found["metadata"]["name"] and number.isdecimal() else None


def _is_serving(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and is_ready(pod)


def _is_healthy(pod: Object) -> bool:
    return _is_serving(pod) and not is_going(pod)
