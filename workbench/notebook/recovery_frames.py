"""Recoveries and the audit trail → DataFrames; the rules of `frames` hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from workbench.audit import AuditEntry
from workbench.engine.recovery.events import (
    RecoveryEvent,
    RecoveryStarted,
    RecoveryStepBlocked,
    RecoveryStepFailed,
    RecoveryStepSkipped,
    RecoveryStepUnverified,
    RecoveryStepVerified,
)
from workbench.engine.recovery.values import HostResult, Recovery, StepResult, StepState, Target
from workbench.notebook.frames import FRACTION, TEXT, TIME, TRUTH, WHOLE, Values, frame

if TYPE_CHECKING:
    import pandas as pd

PODS = {
    "hostname": TEXT,
    "cluster": TEXT,
    "ns": TEXT,
    "pod": TEXT,
    "node": TEXT,
    "owner": TEXT,
    "ready": TRUTH,
    "restarts": WHOLE,
    "age_s": FRACTION,
    "replicas_left": WHOLE,
    "pdb_allowed": WHOLE,
    "action": TEXT,
    "state": TEXT,
    "new_pod": TEXT,
    "ready_s": FRACTION,
    "error": TEXT,
}
HOSTS = {"hostname": TEXT, "state": TEXT, "clusters": TEXT, "pods": TEXT, "why": TEXT}
TIMELINE = {"ts": TIME, "seconds": FRACTION, "recovered": WHOLE, "failed": WHOLE}
AUDIT = {
    "ts": TIME,
    "user": TEXT,
    "host": TEXT,
    "origin": TEXT,
    "action": TEXT,
    "plan": TEXT,
    "target": TEXT,
    "cluster": TEXT,
    "reason": TEXT,
    "dry_run": TRUTH,
    "result": TEXT,
    "detail": TEXT,
    "hash": TEXT,
}

_FAILED = (RecoveryStepFailed, RecoveryStepUnverified, RecoveryStepBlocked, RecoveryStepSkipped)


def pods(
    found: Recovery,
    results: Mapping[str, StepResult] | None,
    now: datetime,
    states: Mapping[str, tuple[StepState, str]] | None = None,
) -> pd.DataFrame:
    """One row a hostname and pod, then one for each hostname that leads to no pod.

    `replicas_left` are the ready replicas of the owner without this pod. `state` is that of the step, what holds it, or
    what is wrong with the hostname.
    """
    return frame(PODS, _pods(found, results or {}, now, states or {}))


def _pods(
    found: Recovery,
    results: Mapping[str, StepResult],
    now: datetime,
    states: Mapping[str, tuple[StepState, str]],
) -> Iterator[Values]:
    verbs = {each.id: each.verb.value for each in found.steps}
    for target in found.targets:
        row = {**_target(target, now), "action": verbs.get(target.step, "")}
        if target.step in results:
            row |= _result(results[target.step])
        elif target.step in states:
            row |= {"state": states[target.step][0].value, "error": ""}
        for hostname in target.hostnames:
            yield {"hostname": hostname, **row}
    for host in found.hosts:
        if not host.pods:
            yield {"hostname": host.hostname, "state": host.state.value, "error": host.why}


def _target(target: Target, now: datetime) -> dict[str, Any]:
    pod, workload = target.pod, target.workload
    row: dict[str, Any] = {
        "cluster": target.key.cluster,
        "ns": target.key.namespace,
        "pod": target.pod_name,
        "node": target.node_name,
        "pdb_allowed": target.budgets_allow,
        "state": target.hold.value if target.hold else "to do",
        "error": target.why,
    }
    if pod is not None:
        row |= {
            "owner": str(pod.workload) if pod.workload else "",
            "ready": pod.is_ready,
            "restarts": pod.restarts,
            "age_s": (now - pod.created).total_seconds() if pod.created else None,
            "replicas_left": workload.ready - pod.is_ready if workload else None,
        }
    return row


def _result(result: StepResult) -> dict[str, Any]:
    return {
        "state": result.state.value,
        "new_pod": result.new_pod,
        "ready_s": result.ready_seconds,
        "error": result.error,
    }


def hosts(found: Iterable[HostResult]) -> pd.DataFrame:
    """One row a hostname, in the order they were given."""
    return frame(
        HOSTS,
        (
            {
                "hostname": each.hostname,
                "state": each.state.value,
                "clusters": ", ".join(dict.fromkeys(key.cluster for key in each.pods)),
                "pods": ", ".join(key.path for key in each.pods),
                "why": each.why,
            }
            for each in found
        ),
    )


def timeline(events: Iterable[RecoveryEvent]) -> pd.DataFrame:
    """How many steps were recovered, or had come to another end, when; counted from the start."""
    rows: list[Values] = []
    began: datetime | None = None
    recovered = failed = 0
    for event in events:
        if isinstance(event, RecoveryStarted):
            began = event.at
        elif isinstance(event, RecoveryStepVerified):
            recovered += 1
        elif isinstance(event, _FAILED):
            failed += 1
        else:
            continue
        elapsed = (event.at - began).total_seconds() if began else 0.0
        rows.append({"ts": event.at, "seconds": elapsed, "recovered": recovered, "failed": failed})
    return frame(TIMELINE, rows)


def audit(entries: Iterable[AuditEntry]) -> pd.DataFrame:
    """One row an entry, newest first."""
    return frame(
        AUDIT,
        (
            {
                "ts": each.at,
                "user": each.user,
                "host": each.host,
                "origin": each.origin,
                "action": each.action,
                "plan": each.plan,
                "target": each.target,
                "cluster": each.cluster,
                "reason": each.reason,
                "dry_run": each.is_dry_run,
                "result": each.result,
                "detail": each.detail,
                "hash": each.hash,
            }
            for each in entries
        ),
    )
