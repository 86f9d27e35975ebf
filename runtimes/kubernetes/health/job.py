"""Jobs: their result is what one waits for, so a running one is in progress.

Jobs have no observedGeneration. SuccessCriteriaMet and FailureTarget announce what Complete and Failed then confirm
(https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup).
"""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health import replicas
from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, event_text, failed, in_progress
from runtimes.kubernetes.objects import Object, Objects, condition, count, is_going, is_true, spec, status


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    if is_true(condition(live, "Complete")):
        return current(f"{count(status(live), 'succeeded')} succeeded", "Complete")
    pods = objects.owned_by(live, "Pod")
    ended = tuple(each for each in reversed(pods) if status(each).get("phase") == "Failed")
    for type_ in ("Failed", "FailureTarget"):
        verdict = condition(live, type_)
        if is_true(verdict):
            return failed(
                str(verdict.get("message") or "the job failed"),
                reason=str(verdict.get("reason") or "Failed"),
                evidence=condition_text(verdict),
                because=ended,
            )
    running = replicas.active(pods)
    if verdict_of_pods := replicas.broken(running, objects, ""):
        return verdict_of_pods
    succeeded, failures = count(status(live), "succeeded"), count(status(live), "failed")
    if spec(live).get("suspend"):
        going = tuple(each for each in pods if is_going(each))
        if running:
            return in_progress("suspended; its pods have not been stopped yet", reason="Suspending", because=running)
        if going:
            return current("suspended; its pods are ending", "Suspended")
        return current("suspended: it does not run", "Suspended", is_qualified=True)
    warning = objects.last_warning(live, "FailedCreate")
    if warning and not running:
        return in_progress(str(warning.get("message")), reason="FailedCreate", evidence=event_text(warning))
    parts = [f"{count(status(live), 'active')} active", f"{succeeded} succeeded"]
    if failures:
        parts.append(f"{failures} failed")
    return in_progress(
        ", ".join(parts),
        reason="Running" if status(live) else "NotObserved",
        evidence=", ".join(parts),
        because=replicas.unready(running, now) or running or ended,
    )
