"""Rules for kinds that those who run a cluster write: what has to be there."""

from __future__ import annotations

from typing import Final

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


def storage_capacity_update(causes: Causes, new: Object, old: Object) -> None:
    causes.immutable("storageClassName", new.get("storageClassName") or "", old.get("storageClassName") or "")


def volume_attributes_class(causes: Causes, obj: Object) -> None:
    if not obj.get("driverName"):
        causes.required("driverName")
    if not obj.get("parameters"):
        causes.required("parameters", "must contain at least one key/value pair")


def volume_attributes_class_update(causes: Causes, new: Object, old: Object) -> None:
    for name in ("driverName", "parameters"):
        if (new.get(name) or None) != (old.get(name) or None):
            causes.forbidden(name, f"updates to {name} are forbidden.")


def service_cidr(causes: Causes, obj: Object) -> None:
    cidrs = (obj.get("spec") or {}).get("cidrs") or []
    if not cidrs:
        causes.required("spec.cidrs", "at least one CIDR required")
        return
    if len(cidrs) > 2:
        causes.invalid("spec.cidrs", {"CIDRs": cidrs}, "may only hold up to 2 values")
        return
    for index, cidr in enumerate(cidrs):
        causes.invalid_each(f"spec.cidrs[{index}]", cidr, names.exact_cidr(cidr))
    if len(cidrs) == 2 and not any(map(names.cidr, cidrs)) and len({":" in cidr for cidr in cidrs}) == 1:
        text = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        causes.invalid("spec.cidrs", cidrs, text)


def service_cidr_update(causes: Causes, new: Object, old: Object) -> None:
    """A range stays; one of the other family may come beside it."""
    after, before = ((each.get("spec") or {}).get("cidrs") or [] for each in (new, old))
    if (len(before), len(after)) != (1, 2) and len(before) != len(after):
        causes.invalid("spec.cidrs", (new.get("spec") or {}).get("cidrs"), "field is immutable")
        return
    for index, (ours, theirs) in enumerate(zip(after, before, strict=False)):
        if ours != theirs:
            causes.invalid(f"spec.cidrs[{index}]", ours, "field is immutable")
    if len(after) > len(before):
        service_cidr(causes, new)


def _strict_address(value: str) -> list[str]:
    parts = value.split(".")
    if len(parts) == 4 and all(part.isdecimal() for part in parts) and any(len(p) > 1 and p[0] == "0" for p in parts):
        return ["must not have leading 0s"]
    return names.ip_address(value)


ADDRESS_NAME: Final = names.named_by(_strict_address)


def ip_address(causes: Causes, obj: Object) -> None:
    parent = (obj.get("spec") or {}).get("parentRef")
    if parent is None:
        causes.required("spec.parentRef")
        return
    for name in ("resource", "name"):
        if not parent.get(name):
            causes.required(f"spec.parentRef.{name}")


_HIGHEST_GROUP: Final = 20_000
_HIGHEST_VERSION: Final = 1_000


def api_service(causes: Causes, obj: Object) -> None:
    spec, name = obj.get("spec") or {}, (obj.get("metadata") or {}).get("name")
    group, version = spec.get("group") or "", spec.get("version") or ""
    if name and name != f"{version}.{group}":
        causes.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{version}.{group}"')
    if not group and version != "v1":
        causes.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    if group:
        causes.invalid_each("spec.group", group, names.subdomain(group))
    causes.invalid_each("spec.version", version, names.label_1035(version))
    for field, highest in (("groupPriorityMinimum", _HIGHEST_GROUP), ("versionPriority", _HIGHEST_VERSION)):
        value = spec.get(field) or 0
        if not 0 < value <= highest:
            causes.invalid(f"spec.{field}", value, f"must be positive and less than {highest}")
    service = spec.get("service")
    if service is not None:
        for part in ("namespace", "name"):
            if not service.get(part):
                causes.required(f"spec.service.{part}")
        if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
            causes.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")
    elif spec.get("insecureSkipTLSVerify"):
        text = "local APIServices may not have insecureSkipTLSVerify"
        causes.invalid("spec.insecureSkipTLSVerify", True, text)
