"""The arithmetic of a Deployment: how many pods each of its ReplicaSets should have, and what its counts say.

Pure functions. `d` is a Deployment, `rs` a ReplicaSet; the names of the rules are those of the API's documentation.
"""

from __future__ import annotations

import json
from datetime import datetime

from runtimes.sandbox.controllers.conditions import condition, resolved
from runtimes.sandbox.controllers.times import parsed, stamp
from runtimes.sandbox.store import Object, copied

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
HASH_LABEL = "pod-template-hash"
NOT_COPIED = {
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
}
NO_DEADLINE = 2**31 - 1
HASH_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def wanted(obj: Object) -> int:
    return obj["spec"].get("replicas", 1)  # type: ignore[no-any-return]  # JSON


def count(rs: Object, field: str) -> int:
    return (rs.get("status") or {}).get(field, 0)  # type: ignore[no-any-return]  # JSON


def strategy(d: Object) -> str:
    return (d["spec"].get("strategy") or {}).get("type", "RollingUpdate")  # type: ignore[no-any-return]  # JSON


def _fenceposts(d: Object) -> tuple[int, int]:
    """maxSurge (rounded up) and maxUnavailable (down). Both zero would never end, so one may then be unavailable."""
    rolling = (d["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = resolved(rolling.get("maxSurge", "25%"), wanted(d), up=True)
    unavailable = resolved(rolling.get("maxUnavailable", "25%"), wanted(d), up=False)
    return surge, 1 if surge == 0 and unavailable == 0 else unavailable


def max_surge(d: Object) -> int:
    return _fenceposts(d)[0] if strategy(d) == "RollingUpdate" else 0


def max_unavailable(d: Object) -> int:
    if strategy(d) != "RollingUpdate" or wanted(d) == 0:
        return 0
    return min(_fenceposts(d)[1], wanted(d))


def revision(obj: Object) -> int:
    try:
        return int((obj["metadata"].get("annotations") or {}).get(REVISION, 0))
    except ValueError:
        return 0


def by_creation(sets: list[Object]) -> list[Object]:
    return sorted(sets, key=lambda rs: (rs["metadata"]["creationTimestamp"], rs["metadata"]["name"]))


def same_template(rs: Object, d: Object) -> bool:
    return _without_hash(rs["spec"]["template"]) == _without_hash(d["spec"]["template"])


def _without_hash(template: Object) -> Object:
    bare = copied(template)
    metadata = bare.get("metadata") or {}
    metadata.pop("creationTimestamp", None)
    labels = {name: value for name, value in (metadata.pop("labels", None) or {}).items() if name != HASH_LABEL}
    bare["metadata"] = {**metadata, **({"labels": labels} if labels else {})}
    return bare  # type: ignore[no-any-return]  # copied keeps the shape


def template_hash(template: Object, collisions: int) -> str:
    """Ten letters at most, the same for the same template. (Go's own hash is of its memory; ours of the JSON.)"""
    digest = 0x811C9DC5
    for byte in json.dumps([template, collisions], sort_keys=True).encode():
        digest = ((digest ^ byte) * 0x01000193) & 0xFFFFFFFF
    return safe_text(str(digest))


def safe_text(text: str) -> str:
    """In letters that make no words: what hashes are written in, in names."""
    return "".join(HASH_LETTERS[ord(each) % len(HASH_LETTERS)] for each in text)


def new_set(d: Object, sets: list[Object]) -> Object | None:
    """The ReplicaSet of the present template; of several, the oldest."""
    return next((rs for rs in by_creation(sets) if same_template(rs, d)), None)


def size_of_new_set(d: Object, sets: list[Object], new: Object) -> int:
    """How far the new ReplicaSet may grow at this moment."""
    if strategy(d) == "Recreate":
        return wanted(d)
    total, limit = sum(wanted(rs) for rs in sets), wanted(d) + max_surge(d)
    if total >= limit:
        return wanted(new)
    return wanted(new) + min(limit - total, wanted(d) - wanted(new))


def proportional_sizes(d: Object, sets: list[Object]) -> dict[str, int]:
    """New sizes by name when a Deployment is scaled in the middle of a rollout: each set grows or shrinks by its share,
    the largest takes what rounding leaves over."""
    total = sum(wanted(rs) for rs in sets)
    to_add = (wanted(d) + max_surge(d) if wanted(d) > 0 else 0) - total
    # Growing favours the newer of two equals, shrinking the older one.
    ordered = sorted(
        sets, key=lambda rs: (rs["metadata"]["creationTimestamp"], rs["metadata"]["name"]), reverse=to_add > 0
    )
    ordered.sort(key=lambda rs: -wanted(rs))
    sizes: dict[str, int] = {}
    added = 0
    for rs in ordered:
        share = _proportion(rs, d, to_add, added) if to_add else 0
        sizes[rs["metadata"]["name"]] = wanted(rs) + share
        added += share
    if ordered and to_add:
        largest = ordered[0]["metadata"]["name"]
        sizes[largest] = max(sizes[largest] + to_add - added, 0)
    return sizes


def _proportion(rs: Object, d: Object, to_add: int, added: int) -> int:
    if wanted(rs) == 0 or to_add == added:
        return 0
    fraction, allowed = _fraction(rs, d), to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(rs: Object, d: Object) -> int:
    if wanted(d) == 0:
        return -wanted(rs)
    try:
        before = int((rs["metadata"].get("annotations") or {})[MAXIMUM])
    except (KeyError, ValueError):
        before = count(d, "replicas")
    if before == 0:
        return 0
    # Half away from zero, as Go rounds; Python's round() would take the even neighbour.
    return int(wanted(rs) * (wanted(d) + max_surge(d)) / before + 0.5) - wanted(rs)


def status_of(d: Object, sets: list[Object], new: Object | None, now: datetime) -> Object:
    """The status the ReplicaSets' counts amount to, conditions of before included, Available set again."""
    available = sum(count(rs, "availableReplicas") for rs in sets)
    counts = {
        "observedGeneration": d["metadata"].get("generation", 0),
        "replicas": sum(count(rs, "replicas") for rs in sets),
        "updatedReplicas": count(new, "replicas") if new else 0,
        "readyReplicas": sum(count(rs, "readyReplicas") for rs in sets),
        "availableReplicas": available,
        "unavailableReplicas": max(sum(wanted(rs) for rs in sets) - available, 0),
    }
    status: Object = {name: value for name, value in counts.items() if value}
    old = d.get("status") or {}
    if "collisionCount" in old:
        status["collisionCount"] = old["collisionCount"]
    status["conditions"] = list(old.get("conditions") or [])
    if available >= wanted(d) - max_unavailable(d):
        enough = ("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        enough = ("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    set_condition(status, *enough, now)
    return status


def set_condition(status: Object, type_: str, value: str, reason: str, message: str, now: datetime) -> None:
    """Status and reason as before: nothing changes, not even the message. The time of transition is the status' own."""
    conditions = status.setdefault("conditions", [])
    present = condition(conditions, type_)
    if present and present["status"] == value and present["reason"] == reason:
        return
    moment = stamp(now)
    since = present["lastTransitionTime"] if present and present["status"] == value else moment
    status["conditions"] = [each for each in conditions if each["type"] != type_] + [
        {
            "type": type_,
            "status": value,
            "lastUpdateTime": moment,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
    ]


def is_complete(d: Object, status: Object) -> bool:
    """All pods are of the new revision and available, none of an older one is left, and the status is of this spec."""
    return bool(
        status.get("updatedReplicas", 0) == wanted(d)
        and status.get("replicas", 0) == wanted(d)
        and status.get("availableReplicas", 0) == wanted(d)
        and status.get("observedGeneration", 0) >= d["metadata"].get("generation", 0)
    )


def is_progressing(old: Object, new: Object) -> bool:
    def older(status: Object) -> int:
        return status.get("replicas", 0) - status.get("updatedReplicas", 0)  # type: ignore[no-any-return]  # JSON

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return bool(older(new) < older(old)) or any(new.get(field, 0) > old.get(field, 0) for field in grown)


def deadline_seconds(d: Object) -> int | None:
    seconds = d["spec"].get("progressDeadlineSeconds")
    return None if seconds is None or seconds == NO_DEADLINE else int(seconds)


def deadline_at(d: Object, progressing: Object) -> float:
    """The POSIX time until which progress is due; `progressing` carries the last one."""
    deadline = deadline_seconds(d)
    assert deadline is not None
    return parsed(progressing["lastUpdateTime"]).timestamp() + deadline


def is_timed_out(d: Object, status: Object, now: datetime) -> bool:
    progressing = condition(status.get("conditions"), "Progressing")
    if deadline_seconds(d) is None or progressing is None or progressing["reason"] == "NewReplicaSetAvailable":
        return False
    if progressing["reason"] == "ProgressDeadlineExceeded":
        return True
    return deadline_at(d, progressing) < now.timestamp()
