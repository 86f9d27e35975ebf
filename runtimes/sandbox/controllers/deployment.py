"""Deployment: one ReplicaSet a template, the newest growing as the others shrink.

The order of the steps is the real controller's, because people and tools see it: the new ReplicaSet is there before the
Deployment's status says so, and the generation is observed before anything of it is counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtimes.sandbox.controllers import rollout
from runtimes.sandbox.controllers.base import Controller, Key, key_of
from runtimes.sandbox.controllers.conditions import condition, without
from runtimes.sandbox.controllers.owners import claim, controller_of, is_controlled_by, owners_to_wake, reference_to
from runtimes.sandbox.controllers.pods import is_finished
from runtimes.sandbox.controllers.rollout import count, set_condition, wanted
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.store import Change, Object, copied


class Deployments(Controller):
    name = "deployment-controller"
    watches = ("deployments.apps", "replicasets.apps", "pods")

    def concerned(self, change: Change) -> Iterable[Key]:
        match change.resource:
            case ("apps", "deployments"):
                yield change.key
            case ("apps", "replicasets"):
                changed = (change.object, change.previous)
                yield from owners_to_wake(self.hands, "deployments.apps", "Deployment", changed)
            case _ if change.type == "DELETED":
                yield from self._recreating(change.object)

    def _recreating(self, pod: Object) -> Iterable[Key]:
        """The Deployment that waited for this, the last of its old pods, to go."""
        owner, namespace = controller_of(pod), pod["metadata"]["namespace"]
        replica_set = self.hands.find("replicasets.apps", namespace, owner["name"]) if owner else None
        over = controller_of(replica_set) if replica_set else None
        deployment = self.hands.find("deployments.apps", namespace, over["name"]) if over else None
        if deployment and rollout.strategy(deployment) == "Recreate" and not self._pods_of(self._sets(deployment)):
            yield key_of(deployment)

    def _sets(self, d: Object) -> list[Object]:
        sets = self.hands.all("replicasets.apps", d["metadata"]["namespace"])
        return [rs for rs in sets if is_controlled_by(rs, d)]

    def _pods_of(self, sets: list[Object]) -> list[Object]:
        if not sets:
            return []
        pods = self.hands.all("pods", sets[0]["metadata"]["namespace"])
        return [pod for pod in pods if any(is_controlled_by(pod, rs) for rs in sets)]

    def reconcile(self, key: Key) -> None:
        stored = self.hands.find("deployments.apps", *key)
        if stored is None:
            return
        d = copied(stored)
        sets = claim(self.hands, "replicasets.apps", d, self.hands.all("replicasets.apps", key[0]))
        if d["metadata"].get("deletionTimestamp"):
            new, old = self._new_and_old(d, sets, create=False)
            self._write_plain_status(d, [*old, *_present(new)], new)
            return
        d = self._note_pause(d)
        if d["spec"].get("paused") or self._is_scaled(d, sets):
            self._scale_only(d, sets)
        elif rollout.strategy(d) == "Recreate":
            self._recreate(d, sets)
        else:
            self._roll(d, sets)

    def _note_pause(self, d: Object) -> Object:
        if rollout.deadline_seconds(d) is None:
            return d
        progressing = condition((d.get("status") or {}).get("conditions"), "Progressing")
        if progressing and progressing["reason"] == "ProgressDeadlineExceeded":
            return d
        noted = progressing is not None and progressing["reason"] == "DeploymentPaused"
        if bool(d["spec"].get("paused")) == noted:
            return d
        reason, message = ("DeploymentResumed", "Deployment is resumed")
        if not noted:
            reason, message = ("DeploymentPaused", "Deployment is paused")
        set_condition(d.setdefault("status", {}), "Progressing", "Unknown", reason, message, self.clock.now())
        return copied(self.hands.update_status("deployments.apps", d))  # type: ignore[no-any-return]  # copied keeps the shape

    def _is_scaled(self, d: Object, sets: list[Object]) -> bool:
        """Somebody changed the number of replicas since the ReplicaSets last heard of it."""
        for rs in sets:
            desired = (rs["metadata"].get("annotations") or {}).get(rollout.DESIRED)
            if wanted(rs) > 0 and desired is not None and desired != str(wanted(d)):
                return True
        return False

    # The three ways a pass can go

    def _scale_only(self, d: Object, sets: list[Object]) -> None:
        new, old = self._new_and_old(d, sets, create=False)
        sets = [*old, *_present(new)]
        sets = self._scale(d, new, sets)
        new = _again(new, sets)
        if d["spec"].get("paused"):
            self._forget_history(d, [rs for rs in sets if rs is not new])
        self._write_plain_status(d, sets, new)

    def _roll(self, d: Object, sets: list[Object]) -> None:
        new, old = self._new_and_old(d, sets, create=True)
        assert new is not None
        grown = self._resize(new, self._target_of_new(d, [*old, new], new), d)
        if grown is not None:
            self._write_rollout_status(d, [*old, grown], grown)
            return
        shrunk = self._shrink_old(d, [rs for rs in old if wanted(rs) > 0], [*old, new], new)
        if shrunk:
            old = [shrunk.get(rs["metadata"]["name"], rs) for rs in old]
        elif rollout.is_complete(d, d.get("status") or {}):
            self._forget_history(d, old)
        self._write_rollout_status(d, [*old, new], new)

    def _recreate(self, d: Object, sets: list[Object]) -> None:
        new, old = self._new_and_old(d, sets, create=False)
        active = [rs for rs in old if wanted(rs) > 0]
        if active:
            changed = {rs["metadata"]["name"]: self._resize(rs, 0, d) or rs for rs in active}
            old = [changed.get(rs["metadata"]["name"], rs) for rs in old]
        elif not any(not is_finished(pod) for pod in self._pods_of(old)):
            if new is None:
                new, old = self._new_and_old(d, sets, create=True)
                assert new is not None
            new = self._resize(new, wanted(d), d) or new
            if rollout.is_complete(d, d.get("status") or {}):
                self._forget_history(d, old)
        self._write_rollout_status(d, [*old, *_present(new)], new)

    # ReplicaSets

    def _new_and_old(self, d: Object, sets: list[Object], *, create: bool) -> tuple[Object | None, list[Object]]:
        """The ReplicaSet of the present template (made if asked for and missing) and the others."""
        found = rollout.new_set(d, sets)
        old = [rs for rs in sets if found is None or rs["metadata"]["uid"] != found["metadata"]["uid"]]
        number = max((rollout.revision(rs) for rs in old), default=0) + 1
        if found is not None:
            return self._renew(d, found, number), old
        return (self._make_set(d, old, number), old) if create else (None, old)

    def _renew(self, d: Object, found: Object, number: int) -> Object:
        """A ReplicaSet of this template exists (perhaps of an earlier revision, now rolled back to)."""
        new = copied(found)
        min_ready = d["spec"].get("minReadySeconds", 0)
        annotated = _annotate(d, new, number, exists=True)
        if annotated or new["spec"].get("minReadySeconds", 0) != min_ready:
            if min_ready:
                new["spec"]["minReadySeconds"] = min_ready
            else:
                new["spec"].pop("minReadySeconds", None)
            return self.hands.update("replicasets.apps", new)
        changed = _set_revision(d, rollout.revision(new))
        status = d.setdefault("status", {})
        if rollout.deadline_seconds(d) is not None and condition(status.get("conditions"), "Progressing") is None:
            message = f'Found new replica set "{new["metadata"]["name"]}"'
            set_condition(status, "Progressing", "True", "FoundNewReplicaSet", message, self.clock.now())
            changed = True
        if changed:
            self._update(d)
        return found

    def _make_set(self, d: Object, old: list[Object], number: int) -> Object:
        template = copied(d["spec"]["template"])
        digest = rollout.template_hash(template, count(d, "collisionCount"))
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels[rollout.HASH_LABEL] = digest
        selector = copied(d["spec"]["selector"])
        selector.setdefault("matchLabels", {})[rollout.HASH_LABEL] = digest
        name = f"{d['metadata']['name']}-{digest}"
        new: Object = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name,
                "namespace": d["metadata"]["namespace"],
                "labels": dict(labels),
                "ownerReferences": [reference_to(d)],
            },
            "spec": {"replicas": 0, "selector": selector, "template": template},
        }
        if d["spec"].get("minReadySeconds"):
            new["spec"]["minReadySeconds"] = d["spec"]["minReadySeconds"]
        new["spec"]["replicas"] = rollout.size_of_new_set(d, [*old, new], new)
        _annotate(d, new, number, exists=False)
        try:
            made = self.hands.create("replicasets.apps", d["metadata"]["namespace"], new)
        except ApiError as error:
            self._note_refused(d, name, error)
            raise
        if wanted(made) > 0:
            self.event(d, "Normal", "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {wanted(made)}")
        _set_revision(d, number)
        if rollout.deadline_seconds(d) is not None:
            message = f'Created new replica set "{name}"'
            status = d.setdefault("status", {})
            set_condition(status, "Progressing", "True", "NewReplicaSetCreated", message, self.clock.now())
        self._update(d)
        return made

    def _note_refused(self, d: Object, name: str, error: ApiError) -> None:
        status = d.setdefault("status", {})
        if error.reason == "AlreadyExists":  # another template has this hash: count, and hash again
            status["collisionCount"] = status.get("collisionCount", 0) + 1
            self._update(d)
            return
        message = f'Failed to create new replica set "{name}": {error.message}'
        self.event(d, "Warning", "ReplicaSetCreateError", message)
        if rollout.deadline_seconds(d) is not None:
            set_condition(status, "Progressing", "False", "ReplicaSetCreateError", message, self.clock.now())
            self._update(d)

    def _resize(self, rs: Object, size: int, d: Object) -> Object | None:
        """The ReplicaSet with its new size, None if it has that already."""
        if wanted(rs) == size:
            return None
        return self._write_size(rs, size, d)

    def _write_size(self, rs: Object, size: int, d: Object) -> Object:
        before, changed = wanted(rs), copied(rs)
        if not _note_sizes(d, changed) and before == size:
            return rs
        changed["spec"]["replicas"] = size
        written = self.hands.update("replicasets.apps", changed)
        if before != size:
            way = "up" if size > before else "down"
            name = rs["metadata"]["name"]
            self.event(d, "Normal", "ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {size}")
        return written

    def _scale(self, d: Object, new: Object | None, sets: list[Object]) -> list[Object]:
        active = [rs for rs in sets if wanted(rs) > 0]
        if len(active) <= 1:
            latest = max(sets, key=lambda rs: (rs["metadata"]["creationTimestamp"], rs is new), default=None)
            only = active[0] if active else new or latest
            resized = self._resize(only, wanted(d), d) if only else None
            return [resized if resized and rs is only else rs for rs in sets]
        if new is not None and _is_saturated(d, new):
            sizes = {rs["metadata"]["name"]: 0 for rs in active if rs is not new}
        elif rollout.strategy(d) == "RollingUpdate":
            sizes = rollout.proportional_sizes(d, active)
        else:
            return sets
        return [
            self._write_size(rs, sizes[rs["metadata"]["name"]], d) if rs["metadata"]["name"] in sizes else rs
            for rs in sets
        ]

    def _target_of_new(self, d: Object, sets: list[Object], new: Object) -> int:
        if wanted(new) > wanted(d):
            return wanted(d)
        return rollout.size_of_new_set(d, sets, new) if wanted(new) < wanted(d) else wanted(new)

    def _shrink_old(self, d: Object, active: list[Object], sets: list[Object], new: Object) -> dict[str, Object]:
        """First what never became available, then the others as far as enough stay available. Changed sets by name."""
        minimum = wanted(d) - rollout.max_unavailable(d)
        new_unavailable = wanted(new) - count(new, "availableReplicas")
        room = sum(wanted(rs) for rs in sets) - minimum - new_unavailable
        if not active or room <= 0:
            return {}
        changed: dict[str, Object] = {}
        active = rollout.by_creation(active)
        for position, rs in enumerate(active):
            unhealthy = min(room, wanted(rs) - count(rs, "availableReplicas"))
            if wanted(rs) > 0 and wanted(rs) < count(rs, "availableReplicas"):
                return changed  # it was scaled a moment ago and its status does not know yet: wait for the next pass
            if wanted(rs) == 0 or unhealthy <= 0:
                continue
            room -= unhealthy
            active[position] = changed[rs["metadata"]["name"]] = self._write_size(rs, wanted(rs) - unhealthy, d)
        spare = sum(count(rs, "availableReplicas") for rs in sets) - minimum
        for rs in active:
            fewer = min(wanted(rs), spare)
            if fewer <= 0:
                continue
            spare -= fewer
            changed[rs["metadata"]["name"]] = self._write_size(rs, wanted(rs) - fewer, d)
        return changed

    def _forget_history(self, d: Object, old: list[Object]) -> None:
        limit = d["spec"].get("revisionHistoryLimit")
        kept = [rs for rs in old if not rs["metadata"].get("deletionTimestamp")]
        if limit is None or len(kept) <= limit:
            return
        for rs in sorted(kept, key=rollout.revision)[: len(kept) - limit]:
            unobserved = rs["metadata"].get("generation", 0) > count(rs, "observedGeneration")
            if not (count(rs, "replicas") or wanted(rs) or unobserved):
                self.hands.delete("replicasets.apps", rs)

    # Status

    def _update(self, d: Object) -> None:
        """Writes status and annotations, and takes over the new version for a later write of the same pass."""
        written = self.hands.update_status("deployments.apps", d)
        d["metadata"] = copied(written["metadata"])
        d["status"] = copied(written.get("status") or {})

    def _write_plain_status(self, d: Object, sets: list[Object], new: Object | None) -> None:
        status = rollout.status_of(d, sets, new, self.clock.now())
        if status != (d.get("status") or {}):
            d["status"] = status
            self._update(d)

    def _write_rollout_status(self, d: Object, sets: list[Object], new: Object | None) -> None:
        now, old = self.clock.now(), d.get("status") or {}
        status = rollout.status_of(d, sets, new, now)
        progressing = condition(old.get("conditions"), "Progressing")
        if rollout.deadline_seconds(d) is None:
            status["conditions"] = without(status["conditions"], "Progressing")
        elif not (
            progressing is not None
            and progressing["reason"] == "NewReplicaSetAvailable"
            and status.get("replicas", 0) == status.get("updatedReplicas", 0)
        ):
            self._note_progress(d, status, old, progressing, new)
        refused = [condition((rs.get("status") or {}).get("conditions"), "ReplicaFailure") for rs in _present(new)]
        refused += [
            condition((rs.get("status") or {}).get("conditions"), "ReplicaFailure") for rs in sets if rs is not new
        ]
        failure = next((each for each in refused if each), None)
        if failure:
            set_condition(status, "ReplicaFailure", failure["status"], failure["reason"], failure["message"], now)
        else:
            status["conditions"] = without(status["conditions"], "ReplicaFailure")
        if status == old:
            self._watch_deadline(d, status)
            return
        d["status"] = status
        self._update(d)

    def _note_progress(
        self, d: Object, status: Object, old: Object, progressing: Object | None, new: Object | None
    ) -> None:
        now = self.clock.now()
        subject = f'ReplicaSet "{new["metadata"]["name"]}"' if new else f'Deployment "{d["metadata"]["name"]}"'
        if rollout.is_complete(d, status):
            message = f"{subject} has successfully progressed."
            set_condition(status, "Progressing", "True", "NewReplicaSetAvailable", message, now)
        elif rollout.is_progressing(old, status):
            since = progressing["lastTransitionTime"] if progressing and progressing["status"] == "True" else None
            status["conditions"] = without(status["conditions"], "Progressing")
            set_condition(status, "Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.", now)
            if since:
                status["conditions"][-1]["lastTransitionTime"] = since
        elif rollout.is_timed_out(d, status, now):
            message = f"{subject} has timed out progressing."
            set_condition(status, "Progressing", "False", "ProgressDeadlineExceeded", message, now)

    def _watch_deadline(self, d: Object, status: Object) -> None:
        """Nothing will move by itself any more: come back when the deadline has passed."""
        progressing = condition(status.get("conditions"), "Progressing")
        if rollout.deadline_seconds(d) is None or progressing is None or rollout.is_complete(d, status):
            return
        if progressing["reason"] not in ("NewReplicaSetAvailable", "ProgressDeadlineExceeded"):
            remaining = rollout.deadline_at(d, progressing) - self.clock.now().timestamp()
            self.enqueue(key_of(d), after=max(remaining, 0.0) + 1.0)


def _present(new: Object | None) -> list[Object]:
    return [] if new is None else [new]


def _again(new: Object | None, sets: list[Object]) -> Object | None:
    """The same ReplicaSet among those that may have been written since."""
    return next((rs for rs in sets if new and rs["metadata"]["uid"] == new["metadata"]["uid"]), new)


def _is_saturated(d: Object, new: Object) -> bool:
    desired = (new["metadata"].get("annotations") or {}).get(rollout.DESIRED)
    return wanted(new) == wanted(d) == count(new, "availableReplicas") and bool(desired == str(wanted(d)))


def _set_revision(d: Object, number: int) -> bool:
    annotations = d["metadata"].setdefault("annotations", {})
    if annotations.get(rollout.REVISION) == str(number):
        return False
    annotations[rollout.REVISION] = str(number)
    return True


def _annotate(d: Object, rs: Object, number: int, *, exists: bool) -> bool:
    """The Deployment's annotations, the revision and (for a new set) the sizes. True if anything changed."""
    annotations = rs["metadata"].setdefault("annotations", {})
    before = dict(annotations)
    for name, value in (d["metadata"].get("annotations") or {}).items():
        if name not in rollout.NOT_COPIED:
            annotations[name] = value
    present = rollout.revision(rs)
    if present < number:
        if exists and present:
            earlier = annotations.get(rollout.REVISION_HISTORY)
            annotations[rollout.REVISION_HISTORY] = f"{earlier},{present}" if earlier else str(present)
        annotations[rollout.REVISION] = str(number)
    if not exists:
        _note_sizes(d, rs)
    return bool(annotations != before)


def _note_sizes(d: Object, rs: Object) -> bool:
    annotations = rs["metadata"].setdefault("annotations", {})
    sizes = {rollout.DESIRED: str(wanted(d)), rollout.MAXIMUM: str(wanted(d) + rollout.max_surge(d))}
    if all(annotations.get(name) == value for name, value in sizes.items()):
        return False
    annotations.update(sizes)
    return True
