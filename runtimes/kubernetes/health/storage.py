"""PersistentVolumeClaims and PersistentVolumes, told by their phase."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runtimes.base.quantity import amount
from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, event_text, failed, in_progress
from runtimes.kubernetes.objects import Object, Objects, condition, is_true, mapping, spec, status


def assess_claim(live: Object, objects: Objects, now: datetime) -> Verdict:
    match status(live).get("phase"):
        case "Bound":
            return _bound(live)
        case "Lost":
            return failed("its volume is gone", reason="Lost", evidence="phase Lost")
    event = _telling(objects.events_about(live), objects.last_warning(live))
    wanted = spec(live).get("volumeName")
    silent = f"not bound to volume {wanted} yet" if wanted else "not bound to a volume yet"
    return in_progress(
        str(event.get("message")) if event else silent,
        reason=str(event.get("reason")) if event else "Pending",
        evidence=event_text(event) or "phase Pending",
    )


def _telling(events: Sequence[Object], warning: Object | None) -> Object | None:
    """Returns the event that says what a claim waits for. Some of these are no warnings, and what was warned of before
    them is over: that no class is set and no volume fits, and that no pod uses the claim yet."""
    newest = events[-1] if events else None
    if newest is not None and newest.get("reason") in _WAITING:
        return newest
    return warning or newest


_WAITING = ("FailedBinding", "WaitForFirstConsumer", "WaitForPodScheduled")


def _bound(live: Object) -> Verdict:
    """A claim that asks for more than it has is being resized, by a controller and then by a node."""
    wanted = mapping(mapping(spec(live).get("resources")).get("requests")).get("storage")
    has = mapping(status(live).get("capacity")).get("storage")
    if not _is_less(has, wanted):
        return _modified(live)
    what = f"bound with {has} of {wanted}"
    resize = str(mapping(status(live).get("allocatedResourceStatuses")).get("storage") or "")
    if resize.endswith("Infeasible"):
        return failed(f"{what}: it cannot be resized", reason=resize, evidence=f"allocatedResourceStatuses {resize}")
    for type_ in _RESIZING:
        state = condition(live, type_)
        if is_true(state) or (type_ in _RESIZE_ERRORS and state):
            message = str(state.get("message") or "it is being resized")
            return in_progress(f"{what}: {message}", reason=type_, evidence=condition_text(state))
    return in_progress(f"{what}: nobody has begun to resize it", reason="Resizing", evidence=f"capacity {has}")


def _modified(live: Object) -> Verdict:
    """One that asks for another VolumeAttributesClass than it has is being changed, for as long as that is told
    (https://kubernetes.io/docs/concepts/storage/volume-attributes-classes/)."""
    change = mapping(status(live).get("modifyVolumeStatus"))
    if not change:
        return current("bound", "Bound")
    what = f"bound, and not of class {change.get('targetVolumeAttributesClassName')} yet"
    told = f"modifyVolumeStatus {change.get('status')}"
    if change.get("status") == "Infeasible":
        return failed(f"{what}: its volume cannot be changed to that", reason="ModifyVolumeInfeasible", evidence=told)
    error = condition(live, "ModifyVolumeError")
    evidence = condition_text(error) if error else told
    return in_progress(str(error.get("message") or what), reason="ModifyingVolume", evidence=evidence)


def assess_attachment(live: Object, objects: Objects, now: datetime) -> Verdict:
    """A volume is attached, or why not is told by whoever tried last."""
    if status(live).get("attached"):
        return current("attached", "Attached")
    error = mapping(status(live).get("attachError"))
    message = str(error.get("message") or "not attached yet")
    return in_progress(message, reason="AttachError" if error else "Pending", evidence=f"attached False, {message}")


_RESIZE_ERRORS = ("ControllerResizeError", "NodeResizeError")
_RESIZING = (*_RESIZE_ERRORS, "FileSystemResizePending", "Resizing")


def _is_less(has: object, wanted: object) -> bool:
    try:
        return has is not None and wanted is not None and amount(has) < amount(wanted)
    except ValueError:
        return False


def assess_volume(live: Object, objects: Objects, now: datetime) -> Verdict:
    match status(live).get("phase"):
        case "Failed":
            message = str(status(live).get("message") or "reclaiming it failed")
            return failed(message, reason=str(status(live).get("reason") or "Failed"), evidence="phase Failed")
        case "Available" | "Bound" | "Released" as phase:
            return current(str(phase).lower(), str(phase))
    return in_progress("not available yet", reason="Pending", evidence="phase Pending")
