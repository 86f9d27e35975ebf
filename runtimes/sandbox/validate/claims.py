"""Rules for claims of storage."""

from __future__ import annotations

from runtimes.base.quantity import amount
from runtimes.sandbox.storage_classes import STORAGE_CLASS_ANNOTATION, annotated_class
from runtimes.sandbox.validate import meta, names
from runtimes.sandbox.validate.causes import Causes, Object

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def claim(causes: Causes, obj: Object) -> None:
    claim_spec(causes, obj.get("spec") or {}, "spec")


def claim_spec(causes: Causes, spec: Object, path: str) -> None:
    modes = spec.get("accessModes") or []
    if not modes:
        causes.required(f"{path}.accessModes", "at least 1 access mode is required")
    meta.label_selector(causes, f"{path}.selector", spec.get("selector"))
    access_modes(causes, modes, f"{path}.accessModes")
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        causes.required(f"{path}.resources[storage]")
    elif amount(storage) <= 0:
        causes.invalid(f"{path}.resources[storage]", storage, "must be greater than zero")
    if spec.get("storageClassName"):
        name = spec["storageClassName"]
        causes.invalid_each(f"{path}.storageClassName", name, names.subdomain(name))
    if spec.get("volumeMode") not in (None, "Block", "Filesystem"):
        causes.not_supported(f"{path}.volumeMode", spec["volumeMode"], ("Block", "Filesystem"))
    for field in ("dataSource", "dataSourceRef"):
        if spec.get(field) is not None:
            _data_source(causes, spec[field], f"{path}.{field}")
    source, wanted = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and wanted is not None and wanted.get("namespace"):
        causes.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif source is not None and wanted is not None and source != wanted:
        causes.invalid(path, {}, "must match dataSourceRef")
    attributes = spec.get("volumeAttributesClassName")
    if attributes:
        causes.invalid_each(f"{path}.volumeAttributesClassName", attributes, names.subdomain(attributes))


def _data_source(causes: Causes, source: Object, path: str) -> None:
    for part in ("name", "kind"):
        if not source.get(part):
            causes.required(f"{path}.{part}")
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        causes.invalid(path, source.get("kind") or "", text)
    if group:
        causes.invalid_each(f"{path}.apiGroup", group, names.subdomain(group))


def access_modes(causes: Causes, modes: list[str], path: str) -> None:
    for mode in modes:
        if mode not in ACCESS_MODES:
            causes.not_supported(path, mode, ACCESS_MODES)
    others = [mode for mode in modes if mode != "ReadWriteOncePod" and mode in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and others:
        causes.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def claim_update(causes: Causes, new: Object, old: Object) -> None:
    spec, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
    if before.get("storageClassName") is None and annotated_class(old) in (None, spec.get("storageClassName")):
        before["storageClassName"] = spec.get("storageClassName")
    bound = (new.get("status") or {}).get("phase") == "Bound"
    if bound:
        for fields in (spec, before):
            fields.pop("volumeAttributesClassName", None)
            resources = dict(fields.get("resources") or {})
            resources["requests"] = {**(resources.get("requests") or {}), "storage": ""}
            fields["resources"] = resources
    given = {name: value for name, value in spec.items() if value is not None}
    held = {name: value for name, value in before.items() if value is not None}
    if given != held:
        changed = sorted(name for name in given | held if given.get(name) != held.get(name))
        causes.forbidden("spec", _IMMUTABLE + "\n" + "\n".join(changed))
    _claim_size(causes, new, old)
    path = f"metadata.annotations.{STORAGE_CLASS_ANNOTATION}"
    causes.immutable(path, annotated_class(new) or "", annotated_class(old) or "")
    causes.immutable("volumeMode", (new.get("spec") or {}).get("volumeMode"), (old.get("spec") or {}).get("volumeMode"))


def _claim_size(causes: Causes, new: Object, old: Object) -> None:
    def size(obj: Object) -> str:
        return str((((obj.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage", "0"))

    if amount(size(new)) < amount(size(old)):
        capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
        if amount(size(new)) <= amount(capacity):
            causes.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
