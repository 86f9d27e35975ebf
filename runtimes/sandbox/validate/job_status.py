"""Rules for what controllers, or somebody in their place, may write into the status of a Job."""

from __future__ import annotations

from runtimes.sandbox.validate import job_policies
from runtimes.sandbox.validate.causes import Causes, Object

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_ENDS = ("Failed", "Complete")


def _true(status: Object) -> set[str]:
    return {each.get("type", "") for each in status.get("conditions") or () if each.get("status") == "True"}


def job_status(causes: Causes, new: Object, old: Object) -> None:
    status, before = new.get("status") or {}, old.get("status") or {}
    for name in _COUNTS:
        causes.nonnegative(f"status.{name}", status.get(name))
    _uncounted(causes, status.get("uncountedTerminatedPods"))
    _ended(causes, new, status)
    _kept(causes, new, status, before)


def _uncounted(causes: Causes, pods: Object | None) -> None:
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate((pods or {}).get(field) or []):
            here = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                causes.invalid(here, uid, "must not be empty")
            elif uid in seen:
                causes.duplicate(here, uid)
            seen.add(uid)


def _ended(causes: Causes, job: Object, status: Object) -> None:
    """What holds of a Job that is over, and of one that is not."""
    true = _true(status)
    finished = bool(true & set(_ENDS))
    started, completed = status.get("startTime"), status.get("completionTime")
    if true >= set(_ENDS):
        causes.invalid_whole("status.conditions", "cannot set Complete=True and Failed=true conditions")
    if {"Complete", "FailureTarget"} <= true:
        causes.invalid_whole("status.conditions", "cannot set Complete=True and FailureTarget=true conditions")
    if completed and "Complete" not in true:
        text = "cannot set completionTime when there is no Complete=True condition"
        causes.invalid("status.completionTime", completed, text)
    if not completed and "Complete" in true:
        causes.required("status.completionTime", "completionTime is required for Complete jobs")
    if completed and started and completed < started:
        causes.invalid("status.completionTime", completed, "must be equal to or after `startTime`")
    if "Failed" in true and "FailureTarget" not in true:
        causes.invalid_whole(
            "status.conditions", "cannot set Failed=True condition without the FailureTarget=true condition"
        )
    if "Complete" in true and "SuccessCriteriaMet" not in true:
        causes.invalid_whole(
            "status.conditions", "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        )
    if finished:
        _finished(causes, status)
    _indexes(causes, job, status)
    ready = status.get("ready")
    if ready is not None and ready > (status.get("active") or 0):
        causes.invalid("status.ready", ready, "cannot set more ready pods than active")
    if {"SuccessCriteriaMet", "Failed"} <= true:
        causes.invalid_whole("status.conditions", "cannot set Failed=True and SuccessCriteriaMet=true conditions")
    if {"SuccessCriteriaMet", "FailureTarget"} <= true:
        causes.invalid_whole(
            "status.conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"
        )


def _finished(causes: Causes, status: Object) -> None:
    if status.get("active"):
        causes.invalid("status.active", status["active"], "active>0 is invalid for finished job")
    if not status.get("startTime"):
        causes.required("status.startTime", "startTime is required for finished job")
    pods = status.get("uncountedTerminatedPods") or {}
    if pods.get("succeeded") or pods.get("failed"):
        shown = {"Succeeded": pods.get("succeeded"), "Failed": pods.get("failed")}
        causes.invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")
    if status.get("terminating"):
        text = "terminating>0 is invalid for finished job"
        causes.invalid("status.terminating", status["terminating"], text)


def _indexes(causes: Causes, job: Object, status: Object) -> None:
    spec = job.get("spec") or {}
    done, failed = status.get("completedIndexes"), status.get("failedIndexes")
    if done and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        causes.invalid("status.completedIndexes", done, text)
    elif done:
        try:
            job_policies.count_indexes(done, spec.get("completions") or 0)
        except ValueError as error:
            causes.invalid("status.completedIndexes", done, f"error parsing completedIndexes: {error}")
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        causes.invalid("status.failedIndexes", failed, text)


def _kept(causes: Causes, job: Object, status: Object, before: Object) -> None:
    """What was said once is not taken back."""
    for name in ("failed", "succeeded"):
        if (status.get(name) or 0) < (before.get(name) or 0):
            causes.invalid(f"status.{name}", status.get(name) or 0, f"cannot decrease the {name} counter")
    lost = _true(before) - _true(status)
    for name in (*_ENDS, "FailureTarget"):
        if name in lost:
            causes.invalid_whole("status.conditions", f"cannot disable the terminal {name}=True condition")
    if "SuccessCriteriaMet" in lost:
        causes.invalid_whole("status.conditions", "cannot disable the SuccessCriteriaMet=True condition")
    started, was = status.get("startTime"), before.get("startTime")
    said = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    is_resuming = "Suspended" in _true(before) and said.get("Suspended") == "False"
    if was and started != was and not is_resuming and not (job.get("spec") or {}).get("suspend"):
        causes.required("status.startTime", "startTime cannot be removed for unsuspended job")
    if before.get("completionTime") and status.get("completionTime") not in (None, before["completionTime"]):
        causes.invalid("status.completionTime", status["completionTime"], "field is immutable")
