"""ReplicaSets and their elder sibling, ReplicationControllers."""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health import replicas
from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, event_text, in_progress, unobserved
from runtimes.kubernetes.objects import Object, Objects, condition, count, is_observed, is_true, spec, status


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    pods = replicas.active(objects.owned_by(live, "Pod"))
    if not is_observed(live):
        return unobserved(live, replicas.unready(pods, now))
    wanted, counts = count(spec(live), "replicas", 1), status(live)
    existing, ready, available = (count(counts, name) for name in ("replicas", "readyReplicas", "availableReplicas"))
    done = f"{available} of {wanted} available"
    if wanted and (verdict := replicas.broken(pods, objects, done)):
        return verdict
    refusal = condition(live, "ReplicaFailure")
    if is_true(refusal) and existing < wanted:
        warning = objects.last_warning(live, "FailedCreate")
        return in_progress(
            str(refusal.get("message") or done),
            reason=str(refusal.get("reason") or "FailedCreate"),
            evidence="; ".join(filter(None, (condition_text(refusal), event_text(warning)))),
        )
    if existing > wanted:
        return in_progress(f"{existing} replicas exist, {wanted} wanted", reason="ScalingDown")
    if existing < wanted or ready < wanted or available < wanted:
        unready = replicas.unready(pods, now)
        aging = () if unready else replicas.aging(live, pods, wanted - available)
        return in_progress(
            done + replicas.aging_in_words(live, aging),
            reason="Unavailable",
            evidence=f"availableReplicas {available} of {wanted}",
            because=unready or aging,
        )
    return replicas.unsteady(pods, now) or current(done)
