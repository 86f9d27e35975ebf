"""Rules for kinds that those who run a cluster write: what has to be there."""

from __future__ import annotations

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.volumes import csi_driver


def volume_attachment(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    source, node = spec.get("source") or {}, spec.get("nodeName") or ""
    if not spec.get("attacher"):
        causes.required("spec.attacher")
    given = [name for name in ("inlineVolumeSpec", "persistentVolumeName") if source.get(name) is not None]
    if len(given) != 1:
        text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        causes.required("spec.source", text)
    causes.invalid_each("spec.nodeName", node, names.subdomain(node))
    csi_driver(causes, spec.get("attacher") or "", "spec.attacher")  # in this version it is one


def storage_capacity(causes: Causes, obj: Object) -> None:
    name = obj.get("storageClassName") or ""
    causes.invalid_each("storageClassName", name, names.subdomain(name))


def volume_attributes_class(causes: Causes, obj: Object) -> None:
    if not obj.get("driverName"):
        causes.required("driverName")
    if not obj.get("parameters"):
        causes.required("parameters", "must contain at least one key/value pair")


def volume_attributes_class_update(causes: Causes, new: Object, old: Object) -> None:
    for name in ("driverName", "parameters"):
        if (new.get(name) or None) != (old.get(name) or None):
            causes.forbidden(name, f"updates to {name} are forbidden.")


def flow_schema(causes: Causes, obj: Object) -> None:
    if not ((obj.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name"):
        causes.required("spec.priorityLevelConfiguration.name", "must reference a priority level")


def priority_level(causes: Causes, obj: Object) -> None:
    kind, name = (obj.get("spec") or {}).get("type") or "", (obj.get("metadata") or {}).get("name")
    if (name == "exempt") != (kind == "Exempt"):
        causes.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind not in ("Exempt", "Limited"):
        causes.not_supported("spec.type", kind, ("Exempt", "Limited"))


def service_cidr(causes: Causes, obj: Object) -> None:
    cidrs = (obj.get("spec") or {}).get("cidrs") or []
    if not cidrs:
        causes.required("spec.cidrs", "at least one CIDR required")
    for index, cidr in enumerate(cidrs):
        causes.invalid_each(f"spec.cidrs[{index}]", cidr, names.cidr(cidr))
