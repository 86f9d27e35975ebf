"""Any other kind, by the conventions that controllers follow.

Stalled and Reconciling are kstatus' own conditions, and Ready is the custom of most operators
(https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md#the-standard-conditions). Those that
have none say by other conditions what is wrong or missing (`polarity`), or without any (`reported`). A kind that keeps
an observedGeneration is not judged by a status of an older one, nor one that says otherwise what it looked at
(`inputs`). Where a kind keeps a status and a new object has none, its controller has not looked at it yet, or there is
none; where there is nothing to go by, the object is what it should be.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from runtimes.base import Status
from runtimes.kubernetes.health import inputs, polarity, reported
from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, failed, in_progress, unobserved
from runtimes.kubernetes.objects import Object, Objects, condition, created, is_true, mappings, metadata, status

REPORTED_SECONDS = 10.0


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    if not _is_observed(live):
        return unobserved(live)
    verdict = _by_status(live, objects, now)
    # who says that it is well may speak of what it was before
    return (inputs.assess(live, now) or verdict) if verdict.health.status is Status.CURRENT else verdict


def _by_status(live: Object, objects: Objects, now: datetime) -> Verdict:
    stalled, reconciling, ready = (condition(live, type_) for type_ in ("Stalled", "Reconciling", "Ready"))
    if is_true(stalled) and not _is_older(stalled, live):
        return _by(polarity.Says.FAILED, stalled)
    if is_true(reconciling) and not _is_older(reconciling, live):
        return _by(polarity.Says.OPEN, reconciling)
    for state in _present(live):
        if (says := polarity.whatever_ready_says(state)) is not None:
            return _by(says, state)
    if ready:
        return _by_ready(ready, live)
    if (verdict := _said_otherwise(live)) is not None:
        return verdict
    older = next((each for each in (stalled, reconciling) if is_true(each)), None)
    if older:
        return _speaks_of_older(older, live)
    return current() if status(live) or not objects.is_status_expected(live) else _without_status(live, now)


def _without_status(live: Object, now: datetime) -> Verdict:
    """A controller writes what it makes of an object within moments, and some kinds have none that ever does."""
    since = created(live)
    if since is not None and (now - since).total_seconds() < REPORTED_SECONDS:
        return in_progress("no controller has reported on it yet", reason="NotObserved", evidence="it has no status")
    what = f"no controller reported on it within {REPORTED_SECONDS:g} s: it has no status"
    return current(what, "NoStatus", is_qualified=True)


def _by_ready(ready: Object, live: Object) -> Verdict:
    if _is_older(ready, live):
        return _speaks_of_older(ready, live)
    if not is_true(ready):
        return reported.failure(live) or _by(polarity.Says.OPEN, ready)
    if (doubt := reported.failure(live)) is not None:
        return in_progress(doubt.health.message, reason=doubt.health.reason, evidence=doubt.evidence)
    return current(str(ready.get("message") or "ready"), _reason(ready))


def _said_otherwise(live: Object) -> Verdict | None:
    """What controllers say without Ready: that something is wrong first, then what is missing."""
    said = [(says, state) for state in _present(live) if (says := polarity.of(state, live)) is not None]
    for wanted in (polarity.Says.FAILED, polarity.Says.OPEN):
        for says, state in said:
            if says is wanted:
                return _by(says, state)
    return reported.assess(live)


def _present(live: Object) -> list[Object]:
    """The conditions of the present generation, then those that each parent, listener or router writes."""
    own = mappings(status(live).get("conditions"))
    theirs = [
        each
        for name in _PARTS
        for part in mappings(status(live).get(name))
        for each in mappings(part.get("conditions"))
        if each.get("type") in _PART_CONDITIONS
    ]
    return [each for each in (*own, *theirs) if not _is_older(each, live)]


_PARTS = ("parents", "ancestors", "listeners", "ingress")
_PART_CONDITIONS = ("Accepted", "Admitted", "Programmed", "ResolvedRefs")


def _by(says: polarity.Says, state: Object) -> Verdict:
    """The verdict of one condition. Some controllers write null for a message."""
    message = str(state.get("message") or _bare(state))
    verdict = failed if says is polarity.Says.FAILED else in_progress
    return verdict(message, reason=_reason(state), evidence=condition_text(state))


def _bare(state: Object) -> str:
    type_ = str(state.get("type"))
    if is_true(state):
        return type_.lower()
    return "not ready" if type_ == "Ready" else f"{type_} is {state.get('status')}"


def _speaks_of_older(state: Object, live: Object) -> Verdict:
    seen, generation = state.get("observedGeneration"), metadata(live).get("generation")
    return in_progress(
        f"{state.get('type')} speaks of generation {seen}, not {generation}",
        reason="NotObserved",
        evidence=f"observedGeneration {seen} of {generation}",
    )


def _is_observed(live: Object) -> bool:
    """Argo Rollouts writes the number as text, and wrote a hash in its place, of figures alone at times, which tells
    nothing of a generation."""
    seen: Any = status(live).get("observedGeneration", ())
    generation = metadata(live).get("generation")
    if isinstance(seen, str):
        return not (seen.isdecimal() and isinstance(generation, int) and int(seen[:9]) < generation)
    return seen == () or bool(seen == generation)


def _is_older(state: Object, live: Object) -> bool:
    """Whether a condition says that it is about an earlier generation: about this one it says nothing then."""
    seen, generation = state.get("observedGeneration"), metadata(live).get("generation")
    return isinstance(seen, int) and isinstance(generation, int) and seen < generation


def _reason(state: Object) -> str:
    return str(state.get("reason") or "")
