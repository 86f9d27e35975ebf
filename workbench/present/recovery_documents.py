"""Recoveries and the audit trail as documents for programs: `-o json`."""

from __future__ import annotations

from typing import Any

from workbench.audit import AuditCheck, AuditEntry
from workbench.engine.recovery.hosts import is_accomplished
from workbench.engine.recovery.values import HostResult, Recovery, RecoveryReport, StepResult, Target


def recovery(found: Recovery) -> dict[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "Recovery",
        "status": _status(found),
        "id": found.id,
        "name": found.name,
        "operation": found.operation.value,
        "reason": found.document.reason,
        "phrase": found.phrase,
        "hosts": [_host(each) for each in found.hosts],
        "targets": [_target(each) for each in found.targets],
        "problems": _problems(found),
        "warnings": list(found.warnings),
    }


def _status(found: Recovery) -> str:
    if not found.is_empty:
        return "to-confirm"
    return "nothing-to-do" if is_accomplished(found.hosts) else "nothing-can-be-done"


def report(found: RecoveryReport) -> dict[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "RecoveryReport",
        "status": found.outcome.value.replace(" ", "-"),
        "id": found.recovery,
        "name": found.name,
        "operation": found.operation.value,
        "reason": found.reason,
        "dryRun": found.is_dry_run,
        "seconds": round(found.seconds, 3),
        "counts": {state.value: number for state, number in found.counts().items()},
        "hosts": [_host(each) for each in found.hosts],
        "steps": [_step(each) for each in found.steps],
        "problems": _problems(found),
    }


def audit(entries: tuple[AuditEntry, ...], check: AuditCheck | None) -> dict[str, Any]:
    content: dict[str, Any] = {"apiVersion": "wb/v1", "kind": "Audit", "status": "ok"}
    if check is not None:
        content["status"] = "intact" if check.is_intact else "broken"
        content |= {"broken": check.broken, "anchor": check.tip, "first": check.first, "torn": list(check.torn)}
        content["moreTorn"] = check.more_torn
    content["entries"] = [
        {
            "number": each.number,
            "at": each.at.isoformat(),
            "user": each.user,
            "host": each.host,
            "origin": each.origin,
            "action": each.action,
            "plan": each.plan,
            "target": each.target,
            "cluster": each.cluster,
            "identity": each.identity,
            "result": each.result,
            "detail": each.detail,
            "confirm": each.confirm,
            "reason": each.reason,
            "dryRun": each.is_dry_run,
        }
        for each in entries
    ]
    return content


def _host(each: HostResult) -> dict[str, Any]:
    return {
        "hostname": each.hostname,
        "state": each.state.value,
        "why": each.why,
        "pods": [{"cluster": key.cluster, "namespace": key.namespace, "name": key.name} for key in each.pods],
    }


def _target(each: Target) -> dict[str, Any]:
    pod, workload = each.pod, each.workload
    return {
        "cluster": each.key.cluster,
        "namespace": each.key.namespace,
        "pod": each.pod_name,
        "hostnames": list(each.hostnames),
        "uid": pod.uid if pod else "",
        "node": each.node_name,
        "owner": str(pod.workload) if pod and pod.workload else "",
        "ready": workload.ready if workload else None,
        "desired": workload.desired if workload else None,
        "budgetAllows": each.budgets_allow,
        "held": each.hold.value if each.hold else "",
        "why": each.why,
    }


def _step(each: StepResult) -> dict[str, Any]:
    return {
        "cluster": each.step.cluster,
        "namespace": each.step.namespace,
        "verb": each.step.verb.value,
        "subject": each.step.subject,
        "state": each.state.value,
        "newPod": each.new_pod,
        "readySeconds": each.ready_seconds,
        "error": each.error,
        "uncertain": each.is_uncertain,
    }


def _problems(found: Recovery | RecoveryReport) -> list[dict[str, Any]]:
    return [
        {"cluster": each.cluster, "kind": each.kind, "message": each.message, "hint": each.hint}
        for each in found.problems
    ]
