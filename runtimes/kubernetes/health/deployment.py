"""Deployments: counts before conditions.

Available stays True through a failed rollout, as it says only that the minimum is met, and Progressing keeps
NewReplicaSetAvailable when readiness is lost later. So the counts of the observed generation decide, and of the
conditions only the passed deadline (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status).
"""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health import replicas
from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, failed, in_progress, unobserved
from runtimes.kubernetes.objects import (
    Object,
    Objects,
    condition,
    count,
    is_going,
    is_observed,
    is_true,
    mapping,
    spec,
    status,
)

_TEMPLATE_HASH = "pod-template-hash"


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    newest = newest_replica_set(live, objects)
    pods = replicas.active(objects.owned_by(newest, "Pod")) if newest else ()
    if not is_observed(live):
        return unobserved(live, replicas.unready(pods, now))
    wanted, counts = count(spec(live), "replicas", 1), status(live)
    existing, updated, ready, available = (
        count(counts, name) for name in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    )
    done = f"{updated} of {wanted} updated, {available} available"
    progressing = condition(live, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        because = _explained_by(live, newest, pods, objects, now)
        return failed(
            f"{done}; the progress deadline has passed",
            reason="ProgressDeadlineExceeded",
            evidence=condition_text(progressing),
            because=because,
        )
    if wanted and (verdict := replicas.broken(pods, objects, done)):
        return verdict
    if updated < wanted or existing > min(updated, wanted) or ready < wanted or available < wanted:
        return in_progress(
            f"{done}; it is paused" if _is_held(live, updated, wanted) else done,
            reason=_reason(live, existing, updated, wanted),
            evidence=_evidence(live, existing, updated, available, wanted),
            because=_explained_by(live, newest, pods, objects, now),
        )
    return replicas.unsteady(pods, now) or current(f"{available} of {wanted} available")


def newest_replica_set(live: Object, objects: Objects) -> Object | None:
    """Returns the ReplicaSet of the present template; None while there is none.

    The template tells, as for the controller, not the revision: a new ReplicaSet may not have been made yet, and a
    return to an earlier template takes its old one up again.
    """
    wanted = _template(live)
    found = [each for each in objects.owned_by(live, "ReplicaSet") if not is_going(each) and _template(each) == wanted]
    return found[0] if found else None


def _template(live: Object) -> Object:
    """The pod template without the hash that the controller adds to its labels."""
    template = mapping(spec(live).get("template"))
    labels = {
        name: text
        for name, text in mapping(mapping(template.get("metadata")).get("labels")).items()
        if name != _TEMPLATE_HASH
    }
    return {**template, "metadata": {**mapping(template.get("metadata")), "labels": labels}}


def _is_held(live: Object, updated: int, wanted: int) -> bool:
    return bool(spec(live).get("paused")) and updated < wanted


def _reason(live: Object, existing: int, updated: int, wanted: int) -> str:
    if _is_held(live, updated, wanted):
        return "Paused"
    if updated < wanted:
        return "RollingOut"
    if existing > updated:
        return "RemovingOld"
    return "ScalingDown" if existing > wanted else "Unavailable"


def _evidence(live: Object, existing: int, updated: int, available: int, wanted: int) -> str:
    refusal = condition(live, "ReplicaFailure")
    if is_true(refusal):
        return condition_text(refusal)
    if updated < wanted:
        held = "spec.paused; " if _is_held(live, updated, wanted) else ""
        return f"{held}updatedReplicas {updated} of {wanted}"
    if existing > updated:
        return f"{existing - updated} replicas of older revisions are left"
    if existing > wanted:
        return f"replicas {existing} of {wanted}"
    return f"availableReplicas {available} of {wanted}"


def _explained_by(
    live: Object, newest: Object | None, pods: tuple[Object, ...], objects: Objects, now: datetime
) -> tuple[Object, ...]:
    """New pods that are not ready; else the new ReplicaSet, if it can't make or count them; else old pods."""
    if unready := replicas.unready(pods, now):
        return unready
    old = [
        each
        for owner in objects.owned_by(live, "ReplicaSet")
        if owner is not newest
        for each in objects.owned_by(owner, "Pod")
    ]
    going = tuple(each for each in old if is_going(each))
    if newest is None:
        # strategy Recreate waits for the old pods; else the Deployment itself has to act
        return going
    if _is_held(live, count(status(live), "updatedReplicas"), count(spec(live), "replicas", 1)):
        return ()
    wanted = count(spec(newest), "replicas", 1)
    if is_true(condition(newest, "ReplicaFailure")) or count(status(newest), "availableReplicas") < wanted:
        return (newest,)
    return going or replicas.active(old)
