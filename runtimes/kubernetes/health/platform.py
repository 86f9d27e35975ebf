"""Kinds that extend or divide the cluster: definitions, API services, namespaces, autoscalers, budgets, nodes."""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, failed, in_progress, unobserved
from runtimes.kubernetes.objects import (
    Object,
    Objects,
    condition,
    is_false,
    is_observed,
    is_true,
    mapping,
    mappings,
    status,
)


def assess_definition(live: Object, objects: Objects, now: datetime) -> Verdict:
    """Established is what counts, and that never comes once the names are refused."""
    names, established = condition(live, "NamesAccepted"), condition(live, "Established")
    if is_false(names) and names.get("reason") != "NotAccepted":
        return failed(
            str(names.get("message") or "its names are taken"),
            reason=str(names.get("reason")),
            evidence=condition_text(names),
        )
    if is_true(established):
        return current("established", "Established")
    evidence = condition_text(established) if established else "no Established condition"
    return in_progress("not established yet", reason=str(established.get("reason") or "Installing"), evidence=evidence)


def assess_api_service(live: Object, objects: Objects, now: datetime) -> Verdict:
    available = condition(live, "Available")
    if is_true(available):
        return current("available", "Available")
    return in_progress(
        str(available.get("message") or "not available yet"),
        reason=str(available.get("reason") or "Pending"),
        evidence=condition_text(available) if available else "no Available condition",
    )


def assess_namespace(live: Object, objects: Objects, now: datetime) -> Verdict:
    phase = status(live).get("phase")
    return (
        current("active", "Active") if phase in ("Active", None) else in_progress(f"phase {phase}", reason=str(phase))
    )


def assess_autoscaler(live: Object, objects: Objects, now: datetime) -> Verdict:
    able, active = condition(live, "AbleToScale"), condition(live, "ScalingActive")
    if not able and not active:
        return in_progress("not looked at yet", reason="Pending", evidence="no conditions")
    if is_false(active) and active.get("reason") == "ScalingDisabled":
        return current("disabled: its target has no replicas", "ScalingDisabled")
    for state in (able, active):
        if is_false(state):
            return in_progress(
                str(state.get("message") or "cannot scale"),
                reason=str(state.get("reason")),
                evidence=condition_text(state),
            )
    return current()


def assess_signing_request(live: Object, objects: Objects, now: datetime) -> Verdict:
    """A person, or a controller in their place, says yes or no; then the signer makes the certificate."""
    for type_ in ("Denied", "Failed"):
        if state := condition(live, type_):
            message = str(state.get("message") or type_.lower())
            return failed(message, reason=str(state.get("reason") or type_), evidence=condition_text(state))
    if status(live).get("certificate"):
        return current("issued", "Issued")
    approved = condition(live, "Approved")
    what = "approved, and not signed yet" if approved else "nobody has approved it yet"
    return in_progress(what, reason="NotSigned" if approved else "Pending", evidence=condition_text(approved) or what)


def assess_observed(live: Object, objects: Objects, now: datetime) -> Verdict:
    """Kinds whose controller has nothing to say but that it has seen them."""
    return current() if is_observed(live) else unobserved(live)


def assess_budget(live: Object, objects: Objects, now: datetime) -> Verdict:
    """How many may go is no matter of readiness; that nobody could count them is."""
    if not is_observed(live):
        return unobserved(live)
    allowed = condition(live, "DisruptionAllowed")
    if allowed.get("reason") != "SyncFailed":
        return current()
    return in_progress(
        str(allowed.get("message") or "its pods could not be counted"),
        reason="SyncFailed",
        evidence=condition_text(allowed),
    )


def assess_policy(live: Object, objects: Objects, now: datetime) -> Verdict:
    """An admission policy holds once it is seen. One whose expressions are at fault refuses what it should judge."""
    if not is_observed(live):
        return unobserved(live)
    faults = mappings(mapping(status(live).get("typeChecking")).get("expressionWarnings"))
    if not faults:
        return current()
    where, said = faults[0].get("fieldRef"), " ".join(str(faults[0].get("warning")).split())
    return current(f"the server finds fault with {where}: {said}", "TypeChecking", is_qualified=True)


def assess_flow_schema(live: Object, objects: Objects, now: datetime) -> Verdict:
    """Requests are put in order by a level, and by none where that is not there."""
    dangling = condition(live, "Dangling")
    if not is_true(dangling):
        return current()
    message = str(dangling.get("message") or "its priority level is not there")
    return in_progress(message, reason=str(dangling.get("reason") or "Dangling"), evidence=condition_text(dangling))


def assess_node(live: Object, objects: Objects, now: datetime) -> Verdict:
    ready = condition(live, "Ready")
    if is_true(ready):
        return current("ready")
    return in_progress(
        str(ready.get("message") or "not ready"),
        reason=str(ready.get("reason") or "NotReady"),
        evidence=condition_text(ready) if ready else "no Ready condition",
    )
