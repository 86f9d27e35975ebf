"""PersistentVolumeClaims and PersistentVolumes, told by their phase."""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health.verdict import Verdict, current, event_text, failed, in_progress
from runtimes.kubernetes.objects import Object, Objects, status


def assess_claim(live: Object, objects: Objects, now: datetime) -> Verdict:
    match status(live).get("phase"):
        case "Bound":
            return current("bound", "Bound")
        case "Lost":
            return failed("its volume is gone", reason="Lost", evidence="phase Lost")
    warning = objects.last_warning(live)
    waits = next(
        (each for each in reversed(objects.events_about(live)) if each.get("reason") == "WaitForFirstConsumer"), None
    )
    event = warning or waits
    return in_progress(
        str(event.get("message")) if event else "not bound to a volume yet",
        reason=str(event.get("reason")) if event else "Pending",
        evidence=event_text(event) or "phase Pending",
    )


def assess_volume(live: Object, objects: Objects, now: datetime) -> Verdict:
    match status(live).get("phase"):
        case "Failed":
            message = str(status(live).get("message") or "reclaiming it failed")
            return failed(message, reason=str(status(live).get("reason") or "Failed"), evidence="phase Failed")
        case "Available" | "Bound" | "Released" as phase:
            return current(str(phase).lower(), str(phase))
    return in_progress("not available yet", reason="Pending", evidence="phase Pending")
