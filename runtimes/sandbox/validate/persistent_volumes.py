"""Rules for PersistentVolumes: what they hold, where it is, and who may have it."""

from __future__ import annotations

from runtimes.base.quantity import amount
from runtimes.sandbox.validate import claims, names, scheduling, volumes
from runtimes.sandbox.validate.causes import Causes, Object

_NO_QUANTITY = "must be a valid resource quantity"
_NOT_SOURCES = frozenset(
    [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ]
)


def persistent_volume(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    modes, capacity = spec.get("accessModes") or [], spec.get("capacity") or {}
    if not modes:
        causes.required("spec.accessModes")
    claims.access_modes(causes, modes, "spec.accessModes")
    if not capacity:
        causes.required("spec.capacity")
    if set(capacity) != {"storage"}:
        shown = None if spec.get("capacity") is None else dict(sorted(capacity.items()))
        causes.not_supported("spec.capacity", shown, ("storage",))
    for name, value in capacity.items():
        if amount(value) < 0:
            causes.add("FieldValueInvalid", f"spec.capacity[{name}]", f"Invalid value: {value}: {_NO_QUANTITY}")
        if amount(value) <= 0:
            causes.invalid(f"spec.capacity[{name}]", value, "must be greater than zero")
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in ("Delete", "Recycle", "Retain"):
        causes.not_supported("spec.persistentVolumeReclaimPolicy", policy, ("Delete", "Recycle", "Retain"))
    sources = [name for name, value in spec.items() if name not in _NOT_SOURCES and value is not None]
    for extra in sources[1:]:
        causes.forbidden(f"spec.{extra}", "may not specify more than 1 volume type")
    if not sources:
        causes.required("spec", "must specify a volume type")
    _source(causes, {name: value for name, value in spec.items() if name not in sources[1:]})
    affinity = spec.get("nodeAffinity")
    if affinity is not None and affinity.get("required") is None:
        causes.required("spec.nodeAffinity.required", "must specify required node constraints")
    elif affinity is not None:
        scheduling.node_selector(causes, affinity["required"], "spec.nodeAffinity.required")
    if spec.get("local") is not None and affinity is None:
        causes.required("spec.nodeAffinity", "Local volume requires node affinity")
    if spec.get("storageClassName"):
        name = spec["storageClassName"]
        causes.invalid_each("spec.storageClassName", name, names.subdomain(name))
    if spec.get("volumeMode") not in (None, "Block", "Filesystem"):
        causes.not_supported("spec.volumeMode", spec["volumeMode"], ("Block", "Filesystem"))


def _source(causes: Causes, spec: Object) -> None:
    host_path, nfs, csi = spec.get("hostPath"), spec.get("nfs"), spec.get("csi")
    if host_path is not None:
        volumes.host_path(causes, host_path, "spec.hostPath")
    if nfs is not None:
        volumes.nfs(causes, nfs, "spec.nfs")
    if csi is not None:
        volumes.csi_driver(causes, csi.get("driver") or "", "spec.csi.driver")
        if not csi.get("volumeHandle"):
            causes.required("spec.csi.volumeHandle")
    elif spec.get("volumeAttributesClassName") is not None:
        causes.required("spec.csi", "has to be specified when using volumeAttributesClassName")
    if (host_path or {}).get("path") == "/" and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        causes.forbidden("spec.persistentVolumeReclaimPolicy", text)


def persistent_volume_update(causes: Causes, new: Object, old: Object) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}

    def source(fields: Object) -> Object:
        return {name: value for name, value in fields.items() if name not in _NOT_SOURCES}

    if source(spec) != source(before):
        changed = "\n".join(sorted(source(spec) | source(before)))
        causes.forbidden(
            "spec.persistentvolumesource", f"spec.persistentvolumesource is immutable after creation\n{changed}"
        )
    causes.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    affinity = spec.get("nodeAffinity")
    if before.get("nodeAffinity") is not None and affinity != before["nodeAffinity"]:
        causes.invalid("nodeAffinity", affinity, "field is immutable, except for updating from beta label to GA")
