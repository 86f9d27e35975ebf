"""Events: old ones have counts, new ones an eventTime and say who reports what; the newer API takes new ones only."""

from __future__ import annotations

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

_MOST = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_OLD = ("firstTimestamp", "lastTimestamp", "count", "source")


def event(causes: Causes, obj: Object) -> None:
    """What both APIs want, of an event in its core form."""
    namespace = (obj.get("metadata") or {}).get("namespace") or ""
    about = (obj.get("involvedObject") or {}).get("namespace") or ""
    if not obj.get("eventTime"):
        if about != namespace and (about or namespace != "default"):
            causes.invalid("involvedObject.namespace", about, "does not match event.namespace")
        return
    if not about and namespace not in ("default", "kube-system"):
        causes.invalid("involvedObject.namespace", about, "does not match event.namespace")
    reporter = obj.get("reportingComponent") or ""
    if not reporter:
        causes.required("reportingComponent")
    causes.invalid_each("reportingComponent", reporter, names.qualified(reporter))
    for name, most in _MOST.items():
        value = obj.get(name) or ""
        if not value and name != "message":
            causes.required(name)
        if len(value.encode()) > most:
            causes.invalid(name, "", f"can have at most {most} characters")


_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
"""What the newer API lets nobody change, in the server's order and as often as it says so."""


def newer_change(new: Object, old: Object) -> Causes:
    """What events.k8s.io wants of a changed event on top, both in their core form: only the series goes on."""
    causes = Causes()
    if new.get("series") is not None and new["series"] != old.get("series"):
        _series(causes, new["series"])
    for name in _FIXED:
        path = "reportingController" if name == "reportingComponent" else name
        if (new.get(name) or None) != (old.get(name) or None):
            causes.immutable(path, new.get(name), old.get(name))
    return causes


def _series(causes: Causes, series: Object) -> None:
    if (series.get("count") or 0) < 2:
        causes.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        causes.required("series.lastObservedTime")


def newer_event(obj: Object) -> Causes:
    """What events.k8s.io wants of a new event on top, in its core form."""
    causes = Causes()
    series, kind = obj.get("series"), obj.get("type") or ""
    if series is not None:
        _series(causes, series)
    if not obj.get("eventTime"):
        causes.required("eventTime")
    if kind not in ("Normal", "Warning"):
        causes.invalid("type", "", f"has invalid value: {kind}")
    for name in _OLD:
        value = obj.get(name)
        if any(value.values()) if isinstance(value, dict) else value:
            causes.invalid(name, "", "needs to be unset")
    return causes
