"""Why is it not ready? Follows the explanations of health/ down to the deepest object that has its own."""

from __future__ import annotations

from datetime import datetime

from kcl.records import replace
from runtimes.base import Blocking, ReadyRule, Status
from runtimes.kubernetes import health
from runtimes.kubernetes.health import Verdict
from runtimes.kubernetes.objects import Object, Objects, reference, uid_of

_DEEPEST = 8


def blocking(live: Object, objects: Objects, now: datetime, rule: ReadyRule | None = None) -> Blocking | None:
    """Returns None for an object that is Current. Log lines are not filled in."""
    found = deepest(live, objects, now, rule)
    return blocking_of(*found) if found else None


def blocking_of(blamed: Object, verdict: Verdict) -> Blocking:
    return Blocking(
        ref=reference(blamed),
        reason=verdict.health.reason,
        message=verdict.health.message,
        evidence=verdict.evidence,
    )


def deepest(
    live: Object, objects: Objects, now: datetime, rule: ReadyRule | None = None
) -> tuple[Object, Verdict] | None:
    """Returns the deepest object that explains the status, with its verdict; None for an object that is Current.

    Where the last explanation is an object that is Current by itself (ready, but not for long enough), its name
    stands with the reason of the object above it.
    """
    verdict = health.assess(live, objects, now, rule)
    if verdict.health.status is Status.CURRENT:
        return None
    blamed, seen, advice = live, {uid_of(live)}, verdict.advice
    for _ in range(_DEEPEST):
        below = next((each for each in verdict.because if uid_of(each) not in seen), None)
        if below is None:
            break
        seen.add(uid_of(below))
        found = health.assess(below, objects, now)
        blamed = below
        if found.health.status is Status.CURRENT:
            break
        verdict = found
        advice = advice or verdict.advice
    return blamed, verdict if not advice else _advised(verdict, advice)


def _advised(verdict: Verdict, advice: str) -> Verdict:
    """What an object above knows to be of help stands with the reason of the deepest."""
    return replace(verdict, health=replace(verdict.health, message=f"{verdict.health.message}; {advice}"))
