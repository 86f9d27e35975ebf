"""Rules for what all objects have: metadata, labels, selectors, owner references."""

from __future__ import annotations

from typing import Any

from runtimes.sandbox.validate.causes import Causes, Object
from runtimes.sandbox.validate.names import NameCheck, label, label_value, percent, qualified

ANNOTATIONS_LIMIT = 256 * 1024
MISMATCH = "`selector` does not match template `labels`"


def labels(causes: Causes, path: str, values: dict[str, str] | None) -> None:
    for key, value in (values or {}).items():
        causes.invalid_each(path, key, qualified(key))
        causes.invalid_each(path, value, label_value(value))


def annotation_map(causes: Causes, path: str, values: dict[str, str] | None) -> None:
    size = 0
    for key, value in (values or {}).items():
        causes.invalid_each(path, key, qualified(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_LIMIT:
        causes.too_long(path, ANNOTATIONS_LIMIT)


def owner_references(causes: Causes, path: str, references: list[Object] | None) -> None:
    controller = ""
    for reference in references or []:
        if not reference.get("apiVersion"):
            causes.invalid(f"{path}.apiVersion", "", "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not reference.get(name):
                causes.invalid(f"{path}.{name}", "", "must not be empty")
        if (reference.get("apiVersion"), reference.get("kind")) == ("v1", "Event"):
            causes.invalid(path, reference, "/v1, Kind=Event is disallowed from being an owner")
        if reference.get("controller"):
            this = f"{reference.get('kind', '')}/{reference.get('name', '')}"
            if controller:
                causes.invalid(
                    path,
                    references,
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {this}",
                )
            else:
                controller = this


def finalizers(causes: Causes, path: str, values: list[str] | None) -> None:
    for value in values or []:
        causes.invalid_each(path, value, qualified(value))
    if {"orphan", "foregroundDeletion"} <= set(values or ()):
        causes.invalid(path, values, "finalizer orphan and foregroundDeletion cannot be both set")


def managed_fields(causes: Causes, path: str, entries: list[Object] | None) -> None:
    for index, entry in enumerate(entries or []):
        here = f"{path}[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            causes.invalid(f"{here}.operation", entry.get("operation", ""), "must be `Apply` or `Update`")
        if entry.get("fieldsType") not in (None, "", "FieldsV1"):
            causes.invalid(f"{here}.fieldsType", entry["fieldsType"], "must be `FieldsV1`")
        manager = entry.get("manager", "")
        if len(manager) > 128:
            causes.too_long(f"{here}.manager", 128)


STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def known_finalizers(causes: Causes, values: list[str] | None) -> None:
    """Built-in kinds take finalizers without a path only if they are the server's own."""
    for index, value in enumerate(values or []):
        if "/" not in value and value not in STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            causes.invalid(f"metadata.finalizers[{index}]", value, text)


def object_meta(causes: Causes, meta: Object, name_check: NameCheck, *, namespaced: bool) -> None:
    """Metadata of an object with a name."""
    path = "metadata"
    if meta.get("generateName"):
        causes.invalid_each(f"{path}.generateName", meta["generateName"], name_check(meta["generateName"], True))
    if not meta.get("name"):
        causes.required(f"{path}.name", "name or generateName is required")
    else:
        causes.invalid_each(f"{path}.name", meta["name"], name_check(meta["name"], False))
    if not namespaced:
        if meta.get("namespace"):
            causes.forbidden(f"{path}.namespace", "not allowed on this type")
    elif not meta.get("namespace"):
        causes.required(f"{path}.namespace")
    else:
        causes.invalid_each(f"{path}.namespace", meta["namespace"], label(meta["namespace"]))
    causes.nonnegative(f"{path}.generation", meta.get("generation"))
    labels(causes, f"{path}.labels", meta.get("labels"))
    annotation_map(causes, f"{path}.annotations", meta.get("annotations"))
    owner_references(causes, f"{path}.ownerReferences", meta.get("ownerReferences"))
    finalizers(causes, f"{path}.finalizers", meta.get("finalizers"))
    managed_fields(causes, f"{path}.managedFields", meta.get("managedFields"))


def object_meta_update(causes: Causes, new: Object, old: Object) -> None:
    """Metadata of a changed object: what may not change, and syntax of the rest."""
    path = "metadata"
    if old.get("deletionTimestamp"):
        extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            listed = "[]string{" + ", ".join(f'"{name}"' for name in extra) + "}"
            causes.forbidden(
                f"{path}.finalizers",
                f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}",
            )
    for name in ("name", "namespace", "uid"):
        causes.immutable(f"{path}.{name}", new.get(name) or "", old.get(name) or "")
    for name in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(name) != old.get(name):
            causes.invalid(f"{path}.{name}", new.get(name), "field is immutable")
    labels(causes, f"{path}.labels", new.get("labels"))
    annotation_map(causes, f"{path}.annotations", new.get("annotations"))
    owner_references(causes, f"{path}.ownerReferences", new.get("ownerReferences"))
    managed_fields(causes, f"{path}.managedFields", new.get("managedFields"))


# --- selectors ---


def label_selector(causes: Causes, path: str, selector: Object | None) -> None:
    if selector is None:
        return
    labels(causes, f"{path}.matchLabels", selector.get("matchLabels"))
    for index, requirement in enumerate(selector.get("matchExpressions") or []):
        selector_requirement(causes, f"{path}.matchExpressions[{index}]", requirement)


def selector_requirement(causes: Causes, path: str, requirement: Object, *, knows_others: bool = False) -> None:
    """`knows_others`: an operator that is none of the four is no mistake."""
    values = requirement.get("values") or []
    match requirement.get("operator"):
        case "In" | "NotIn":
            if not values:
                causes.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                causes.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        case operator:
            if not knows_others:
                causes.invalid(f"{path}.operator", operator or "", "not a valid selector operator")
    causes.invalid_each(f"{path}.key", requirement.get("key", ""), qualified(requirement.get("key", "")))
    for at, value in enumerate(values):
        causes.invalid_each(f"{path}.values[{at}]", value, label_value(value))


def is_selector(selector: Object | None) -> bool:
    """Whether it can be used to select, whatever it selects."""
    causes = Causes()
    label_selector(causes, "", selector)
    return not causes


def is_empty(selector: Object) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def int_or_percent(causes: Causes, path: str, value: Any) -> None:
    if isinstance(value, str):
        causes.invalid_each(path, value, percent(value))
    else:
        causes.nonnegative(path, value)


def at_most_all(causes: Causes, path: str, value: Any) -> None:
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit() and int(value[:-1]) > 100:
        causes.invalid(path, value, "must not be greater than 100%")
