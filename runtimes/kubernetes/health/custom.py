"""Any other kind, by the conventions that controllers follow.

Stalled and Reconciling are kstatus' own conditions; Ready is the custom of most operators, and those that have none may
say that they are not Available, are Degraded, or how they ended (Succeeded, Failed). A kind that keeps an
observedGeneration is not judged by a status of an older one; where there is nothing to go by, the object is what it
should be (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md#the-standard-conditions).
"""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, failed, in_progress, unobserved
from runtimes.kubernetes.objects import Object, Objects, condition, is_false, is_observed, is_true, metadata, status


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    if "observedGeneration" in status(live) and not is_observed(live):
        return unobserved(live)
    stalled, reconciling, ready = (condition(live, type_) for type_ in ("Stalled", "Reconciling", "Ready"))
    if is_true(stalled) and not _is_older(stalled, live):
        return failed(
            str(stalled.get("message") or "stalled"), reason=_reason(stalled), evidence=condition_text(stalled)
        )
    if is_true(reconciling) and not _is_older(reconciling, live):
        return in_progress(
            str(reconciling.get("message") or "reconciling"),
            reason=_reason(reconciling),
            evidence=condition_text(reconciling),
        )
    if not ready and is_false(available := condition(live, "Available")):
        ready = available
    if (verdict := _said_otherwise(live, has_ready=bool(ready))) is not None:
        return verdict
    deciding = ready or next((each for each in (stalled, reconciling) if is_true(each)), {})
    if not deciding:
        return current()
    if _is_older(deciding, live):
        seen, generation = deciding.get("observedGeneration"), metadata(live).get("generation")
        return in_progress(
            f"{deciding.get('type')} speaks of generation {seen}, not {generation}",
            reason="NotObserved",
            evidence=f"observedGeneration {seen} of {generation}",
        )
    if is_true(ready):
        return current(str(ready.get("message") or "ready"), _reason(ready))
    return in_progress(str(ready.get("message") or "not ready"), reason=_reason(ready), evidence=condition_text(ready))


def _said_otherwise(live: Object, *, has_ready: bool) -> Verdict | None:
    """What controllers say without Ready: how a run ended, and that something is wrong. Of no older generation.

    What was not taken over yet (Crossplane's Synced) is not done, whatever Ready says of what was there before.
    """
    ended, failure, wrong, synced = (
        state if not _is_older(state, live) else {}
        for state in (condition(live, type_) for type_ in ("Succeeded", "Failed", "Degraded", "Synced"))
    )
    if is_false(synced):
        return in_progress(
            str(synced.get("message") or "not synced"), reason=_reason(synced), evidence=condition_text(synced)
        )
    if has_ready:
        return None
    for state, is_over in ((failure, is_true(failure)), (ended, is_false(ended))):
        if is_over:
            return failed(str(state.get("message") or "failed"), reason=_reason(state), evidence=condition_text(state))
    for state, is_open in ((ended, ended.get("status") == "Unknown"), (wrong, is_true(wrong))):
        if is_open:
            said = str(state.get("message") or str(state.get("type")).lower())
            return in_progress(said, reason=_reason(state), evidence=condition_text(state))
    return None


def _is_older(state: Object, live: Object) -> bool:
    """Whether a condition says that it is about an earlier generation: about this one it says nothing then."""
    seen, generation = state.get("observedGeneration"), metadata(live).get("generation")
    return isinstance(seen, int) and isinstance(generation, int) and seen < generation


def _reason(state: Object) -> str:
    return str(state.get("reason") or "")
