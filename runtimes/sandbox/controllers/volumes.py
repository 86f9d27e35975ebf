"""Volumes and claims: found for one another, bound, kept while in use, and let go."""

from __future__ import annotations

import re
from collections.abc import Iterable

from runtimes.sandbox.controllers.base import Controller, Hands, Key, key_of
from runtimes.sandbox.controllers.owners import labels_of, selects
from runtimes.sandbox.controllers.pods import is_finished
from runtimes.sandbox.controllers.quantities import quantity
from runtimes.sandbox.storage_classes import class_of
from runtimes.sandbox.store import Change, Object, copied

PVC_PROTECTION, PV_PROTECTION = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
BIND_COMPLETED, BOUND_BY = "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "sandbox.konfig-workbench/volumes"  # a StorageClass of this provisioner gets its volumes made


_ASKED_OF = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")
_DELETABLE = re.compile("/tmp/.+")
BIND_SECONDS = 0.02  # a claim is looked at no sooner


class Volumes(Controller):
    """Keys: ("", volume) for volumes, (namespace, claim) for claims."""

    name = "persistentvolume-controller"
    watches = ("persistentvolumes", "persistentvolumeclaims", "storageclasses.storage.k8s.io")

    def heard(self, change: Change) -> None:
        for key in self.concerned(change):
            self.enqueue(key, after=BIND_SECONDS if key[0] else 0.0)

    def concerned(self, change: Change) -> Iterable[Key]:
        match change.resource[1]:
            case "persistentvolumes":
                yield change.key
                reference = change.object["spec"].get("claimRef")
                if reference:
                    yield reference.get("namespace", ""), reference["name"]
                if change.type == "ADDED":
                    yield from self._unbound()
            case "persistentvolumeclaims":
                yield change.key
                volume = change.object["spec"].get("volumeName")
                if volume:
                    yield "", volume
            case _ if change.type == "ADDED":
                yield from self._unbound()

    def _unbound(self) -> Iterable[Key]:
        for claim in self.hands.all("persistentvolumeclaims"):
            if (claim.get("status") or {}).get("phase") == "Pending":
                yield key_of(claim)

    def reconcile(self, key: Key) -> None:
        if key[0]:
            claim = self.hands.find("persistentvolumeclaims", *key)
            if claim is not None:
                self._sync_claim(claim)
        else:
            volume = self.hands.find("persistentvolumes", *key)
            if volume is not None:
                self._sync_volume(volume)

    # Volumes

    def _sync_volume(self, volume: Object) -> None:
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            self._set_phase(volume, "Available")
            return
        claim = self.hands.find("persistentvolumeclaims", reference.get("namespace", ""), reference["name"])
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            if (volume.get("status") or {}).get("phase") != "Failed":
                volume = self._set_phase(volume, "Released")
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                self._reclaim(volume)

    def _reclaim(self, volume: Object) -> None:
        """Deletes what is behind a volume and the volume; those of other provisioners wait for theirs."""
        maker, source = (
            (volume["metadata"].get("annotations") or {}).get(PROVISIONED_BY),
            volume["spec"].get("hostPath"),
        )
        if maker == PROVISIONER or (maker is None and source and _DELETABLE.match(source["path"])):
            self.hands.delete("persistentvolumes", volume)
        elif maker is None and (volume.get("status") or {}).get("phase") != "Failed":
            name = volume["metadata"]["name"]
            why = f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
            if source:
                why = f"host_path deleter only supports {_DELETABLE.pattern} but received provided {source['path']}"
            self.event(volume, "Warning", "VolumeFailedDelete", why)
            self._set_phase(volume, "Failed", why)

    def _set_phase(self, volume: Object, phase: str, message: str = "") -> Object:
        if (volume.get("status") or {}).get("phase") == phase:
            return volume
        changed = copied(volume)
        changed.setdefault("status", {})["phase"] = phase
        if message:
            changed["status"]["message"] = message
        return self.hands.update_status("persistentvolumes", changed)

    # Claims

    def _sync_claim(self, claim: Object) -> None:
        completed = BIND_COMPLETED in (claim["metadata"].get("annotations") or {})
        if completed:
            self._check_bound(claim)
            return
        chosen = SELECTED_NODE in (claim["metadata"].get("annotations") or {})
        if waits_for_consumer(self.hands, claim) and not chosen and not claim["spec"].get("volumeName"):
            text = "waiting for first consumer to be created before binding"
            self.event(claim, "Normal", "WaitForFirstConsumer", text)
            return
        volume = self._volume_for(claim)
        if volume is not None:
            self._bind(claim, volume)
        elif not claim["spec"].get("volumeName"):
            self._want_volume(claim)

    def _check_bound(self, claim: Object) -> None:
        volume = self.hands.find("persistentvolumes", "", claim["spec"].get("volumeName", ""))
        phase = (claim.get("status") or {}).get("phase")
        if volume is not None:
            if phase != "Bound":
                self._bind(claim, volume)
        elif phase != "Lost":
            lost = copied(claim)
            lost["status"] = {"phase": "Lost"}
            self.hands.update_status("persistentvolumeclaims", lost)
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self.event(claim, "Warning", "ClaimLost", text)

    def _volume_for(self, claim: Object) -> Object | None:
        namespace, name = key_of(claim)
        volumes = [
            each for each in self.hands.all("persistentvolumes") if not each["metadata"].get("deletionTimestamp")
        ]
        for volume in volumes:
            reference = volume["spec"].get("claimRef") or {}
            if (reference.get("namespace"), reference.get("name")) == (namespace, name):
                if reference.get("uid") in (None, claim["metadata"]["uid"]) and _fits(volume, claim):
                    return volume
        asked = claim["spec"].get("volumeName")
        if asked:
            return next(
                (
                    v
                    for v in volumes
                    if v["metadata"]["name"] == asked and not v["spec"].get("claimRef") and _fits(v, claim)
                ),
                None,
            )
        free = [each for each in volumes if not each["spec"].get("claimRef") and _fits(each, claim)]
        return min(free, key=lambda each: (_size(each), each["metadata"]["name"]), default=None)

    def _want_volume(self, claim: Object) -> None:
        """None fits: have one made, or say what is missing."""
        class_name = class_of(claim)
        if not class_name:
            text = "no persistent volumes available for this claim and no storage class is set"
            self.event(claim, "Normal", "FailedBinding", text)
            return
        storage_class = self.hands.find("storageclasses.storage.k8s.io", "", class_name)
        if storage_class is None:
            text = f'storageclass.storage.k8s.io "{class_name}" not found'
            self.event(claim, "Warning", "ProvisioningFailed", text)
        elif storage_class["provisioner"] == PROVISIONER:
            self._provision(claim, storage_class)
        else:
            self._note_provisioner(claim, storage_class["provisioner"])
            text = (
                "Waiting for a volume to be created either by the external provisioner "
                f"'{storage_class['provisioner']}' or manually by the system administrator. If volume creation is "
                "delayed, please verify that the provisioner is running and correctly registered."
            )
            self.event(claim, "Normal", "ExternalProvisioning", text)

    def _note_provisioner(self, claim: Object, provisioner: str) -> None:
        """On the claim, for whom it is about."""
        annotations = claim["metadata"].get("annotations") or {}
        if any(annotations.get(name) != provisioner for name in _ASKED_OF):
            changed = copied(claim)
            changed["metadata"]["annotations"] = {**annotations, **dict.fromkeys(_ASKED_OF, provisioner)}
            self.hands.update("persistentvolumeclaims", changed)

    def _provision(self, claim: Object, storage_class: Object) -> None:
        name = f"pvc-{claim['metadata']['uid']}"
        if self.hands.find("persistentvolumes", "", name) is not None:
            return
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
            "spec": {
                "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
                "accessModes": list(claim["spec"]["accessModes"]),
                "claimRef": {"namespace": key_of(claim)[0], "name": key_of(claim)[1]},
                "storageClassName": storage_class["metadata"]["name"],
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
                "hostPath": {"path": f"/sandbox/{name}"},
            },
        }
        self.hands.create("persistentvolumes", "", body)
        self.event(claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    def _bind(self, claim: Object, volume: Object) -> None:
        """In the order in which a binding can be picked up again after any of its steps: volume first, claim last."""
        reference = volume["spec"].get("claimRef") or {}
        if reference.get("uid") != claim["metadata"]["uid"]:
            changed = copied(volume)
            changed["spec"]["claimRef"] = {
                **reference,
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": key_of(claim)[0],
                "name": key_of(claim)[1],
                "uid": claim["metadata"]["uid"],
                "resourceVersion": claim["metadata"]["resourceVersion"],
            }
            if not reference:
                changed["metadata"].setdefault("annotations", {})[BOUND_BY] = "yes"
            volume = self.hands.update("persistentvolumes", changed)
        self._set_phase(volume, "Bound")
        bound = copied(claim)
        annotations = bound["metadata"].setdefault("annotations", {})
        annotations[BIND_COMPLETED] = "yes"
        if not claim["spec"].get("volumeName"):
            annotations[BOUND_BY] = "yes"
            bound["spec"]["volumeName"] = volume["metadata"]["name"]
        if bound != claim:
            bound = copied(self.hands.update("persistentvolumeclaims", bound))
        bound["status"] = {
            **(bound.get("status") or {}),
            "phase": "Bound",
            "accessModes": list(volume["spec"]["accessModes"]),
            "capacity": dict(volume["spec"]["capacity"]),
        }
        self.hands.update_status("persistentvolumeclaims", bound)


class ClaimProtection(Controller):
    """A deleted claim stays while a pod uses it; a deleted volume, while it is bound."""

    name = "pvc-protection-controller"
    watches = ("persistentvolumeclaims", "persistentvolumes", "pods")

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "pods":
            for volume in change.object["spec"].get("volumes") or ():
                claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
                if claim:
                    yield change.key[0], claim
        elif change.object["metadata"].get("deletionTimestamp"):
            yield change.key

    def reconcile(self, key: Key) -> None:
        resource = "persistentvolumeclaims" if key[0] else "persistentvolumes"
        finalizer = PVC_PROTECTION if key[0] else PV_PROTECTION
        obj = self.hands.find(resource, *key)
        if obj is None or not obj["metadata"].get("deletionTimestamp"):
            return
        finalizers = obj["metadata"].get("finalizers") or []
        if finalizer not in finalizers or self._is_used(key, obj):
            return
        changed = copied(obj)
        changed["metadata"]["finalizers"] = [each for each in finalizers if each != finalizer]
        self.hands.update(resource, changed)

    def _is_used(self, key: Key, obj: Object) -> bool:
        if not key[0]:
            return bool((obj.get("status") or {}).get("phase") == "Bound")
        for pod in self.hands.all("pods", key[0]):
            for volume in pod["spec"].get("volumes") or ():
                if (volume.get("persistentVolumeClaim") or {}).get("claimName") == key[1] and not is_finished(pod):
                    return True
        return False


def waits_for_consumer(hands: Hands, claim: Object) -> bool:
    """Its class has volumes bound only when it is known where they are needed."""
    name = class_of(claim)
    storage_class = hands.find("storageclasses.storage.k8s.io", "", name) if name else None
    return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


def _size(volume: Object) -> object:
    return quantity(volume["spec"]["capacity"]["storage"])


def _fits(volume: Object, claim: Object) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    asked = wanted.get("resources", {}).get("requests", {}).get("storage", "0")
    return (
        class_of(volume) == class_of(claim)
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and quantity(spec["capacity"].get("storage", "0")) >= quantity(asked)
        and spec.get("volumeMode", "Filesystem") == wanted.get("volumeMode", "Filesystem")
        and (wanted.get("selector") is None or selects(wanted["selector"], labels_of(volume)))
    )
