"""CronJobs are ready as soon as they exist; that they run nothing, or how the last run ended, is a note."""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health.verdict import Verdict, current
from runtimes.kubernetes.objects import Object, Objects, condition, is_true, mappings, name_of, spec, status


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    if spec(live).get("suspend"):
        return current("suspended: its schedule starts no Job", "Suspended", is_qualified=True)
    runs = objects.owned_by(live, "Job")
    if runs and is_true(condition(runs[-1], "Failed")):
        return current(f"the last run, {name_of(runs[-1])}, failed", "LastRunFailed", is_qualified=True)
    active = len(mappings(status(live).get("active")))
    return current(f"{active} active" if active else "waits for its schedule")
