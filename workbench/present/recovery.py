"""A recovery for reading: hosts and pods before, each step as it goes, every hostname at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import assert_never

from workbench.audit import AuditEntry
from workbench.engine.changes import Problem
from workbench.engine.recovery.events import (
    ClusterLost,
    RecoveryEvent,
    RecoveryFinished,
    RecoveryStarted,
    RecoveryStepBlocked,
    RecoveryStepDone,
    RecoveryStepFailed,
    RecoveryStepSkipped,
    RecoveryStepStarted,
    RecoveryStepUnverified,
    RecoveryStepVerified,
    RecoveryStopping,
)
from workbench.engine.recovery.hosts import STRICT, Acceptance, is_accomplished, unaccounted
from workbench.engine.recovery.values import (
    HostResult,
    HostState,
    Recovery,
    RecoveryOutcome,
    RecoveryReport,
    Step,
    StepState,
    Target,
)
from workbench.present.durations import short
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

COLUMNS = (
    Column("Host", most=24, rank=2),
    Column("Cluster", most=16, rank=1),
    Column("NS", most=20, rank=4),
    Column("Pod", grow=True, has_tail=True),
    Column("Node", most=16, rank=6),
    Column("Owner", most=28, rank=3),
    Column("Ready", width=7, right=True),
    Column("Age", width=5, right=True, rank=5),
    Column("PDB", width=5),
    Column("Action", most=16),
    Column("State", most=50),
)
HOST_COLUMNS = (Column("Host", most=24), Column("State", most=14), Column("Why", grow=True))
AUDIT_COLUMNS = (
    Column("When", width=20),
    Column("Who", most=24),
    Column("Face", most=20),
    Column("Action", most=16),
    Column("Target", grow=True),
    Column("Cluster", most=16),
    Column("Result", most=12),
    Column("Detail", most=60),
)
_HOSTS_IN_FULL = 40
_HOSTS_IN_SHORT = 5
_TONES: Mapping[HostState, Tone] = {
    HostState.TO_DO: Tone.BUSY,
    HostState.HELD: Tone.WARN,
    HostState.UNKNOWN: Tone.WARN,
    HostState.STALE: Tone.WARN,
    HostState.RECOVERED: Tone.GOOD,
    HostState.UNVERIFIED: Tone.BAD,
    HostState.BLOCKED: Tone.WARN,
    HostState.FAILED: Tone.BAD,
    HostState.NOT_TRIED: Tone.MUTED,
    HostState.DONE_BEFORE: Tone.GOOD,
}
_STEP_TONES: Mapping[StepState, Tone] = {
    StepState.WAITING: Tone.MUTED,
    StepState.STARTED: Tone.BUSY,
    StepState.DONE: Tone.BUSY,
    StepState.RECOVERED: Tone.GOOD,
    StepState.UNVERIFIED: Tone.BAD,
    StepState.BLOCKED: Tone.WARN,
    StepState.FAILED: Tone.BAD,
    StepState.NOT_TRIED: Tone.MUTED,
}


def title(recovery: Recovery, glyphs: Glyphs) -> Line:
    """Returns one line: `app-recovery INC-1  Hosts(12) → Pods(11)  restart 11 pods`."""
    reason = f" {recovery.document.reason}" if recovery.document.reason else ""
    what = recovery.phrase or ("nothing to do" if is_accomplished(recovery.hosts) else "nothing can be done")
    return line(
        Span(recovery.name, Tone.STRONG),
        Span(f"{reason}  ", Tone.MUTED),
        f"Hosts({len(recovery.hosts)}) {glyphs.arrow} {_targets(recovery)}  ",
        Span(what, Tone.STRONG),
        Span(f"  {', '.join(recovery.clusters)}", Tone.ENVIRONMENT),
    )


def _targets(recovery: Recovery) -> str:
    pods = sum(bool(each.pod_name) for each in recovery.targets)
    nodes = len(recovery.targets) - pods
    return " ".join(([f"Pods({pods})"] if pods or not nodes else []) + ([f"Nodes({nodes})"] if nodes else []))


def limits(recovery: Recovery) -> Line:
    of = recovery.limits
    text = (
        f"at most {of.max_pods} pods, {of.max_fraction:.0%} of a workload over all runs, {of.batch} at a time in a "
        f"cluster, {of.per_owner} of one workload; budgets are respected; stops after {of.stop_after} "
        f"failure{'' if of.stop_after == 1 else 's'}; {of.timeout_seconds:g} s for a replacement"
    )
    return line(Span(text, Tone.MUTED))


def notes(recovery: Recovery, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what stands beside the table: clusters that did not answer, hosts that lead nowhere."""
    for problem in recovery.problems:
        yield problem_line(problem, glyphs)
    for warning in recovery.warnings:
        yield line(Span(f"{glyphs.finding} {warning}", Tone.WARN))
    lost = recovery.unresolved
    for host in lost[:_HOSTS_IN_FULL]:
        yield line(
            Span(f"{glyphs.finding} {host.hostname}: {host.state}", Tone.WARN), Span(f"  {host.why}", Tone.MUTED)
        )
    if len(lost) > _HOSTS_IN_FULL:
        yield line(Span(f"{glyphs.finding} and {len(lost) - _HOSTS_IN_FULL} more that lead to no pod", Tone.WARN))


def problem_line(problem: Problem, glyphs: Glyphs) -> Line:
    after = f" {glyphs.arrow} {problem.hint}" if problem.hint else ""
    return line(
        Span(f"{glyphs.bad} ", Tone.BAD),
        Span(problem.cluster, Tone.ENVIRONMENT),
        f": {problem.message}",
        Span(after, Tone.MUTED),
    )


def rows(
    recovery: Recovery, glyphs: Glyphs, now: datetime, states: Mapping[str, tuple[StepState, str]] | None = None
) -> tuple[Row, ...]:
    """Returns a row a target, keyed by its pod. `states` are (state, detail) by step, as `follow` keeps them."""
    verbs = {each.id: each.verb.value for each in recovery.steps}
    return tuple(_row(each, verbs.get(each.step, "-"), glyphs, now, states or {}) for each in recovery.targets)


def _row(
    target: Target, action: str, glyphs: Glyphs, now: datetime, states: Mapping[str, tuple[StepState, str]]
) -> Row:
    pod, workload = target.pod, target.workload
    owner = str(pod.workload) if pod and pod.workload else ""
    ready = f"{workload.ready}/{workload.desired}" if workload else ""
    allowed = target.budgets_allow
    budget = "" if allowed is None else f"{glyphs.good if allowed > 0 else glyphs.bad} {allowed}"
    names = target.hostnames[0] + (f" +{len(target.hostnames) - 1}" if len(target.hostnames) > 1 else "")
    is_bad = pod is not None and not pod.is_ready
    cells = (
        line(names),
        line(Span(target.key.cluster, Tone.ENVIRONMENT)),
        line(target.key.namespace),
        line(Span(target.pod_name, Tone.BAD if is_bad else Tone.PLAIN)),
        line(target.node_name),
        line(owner),
        line(ready),
        line(short((now - pod.created).total_seconds()) if pod and pod.created else ""),
        line(Span(budget, Tone.MUTED if allowed else Tone.WARN)),
        line(action),
        _state(target, glyphs, states),
    )
    return Row(target.key, cells)


def _state(target: Target, glyphs: Glyphs, states: Mapping[str, tuple[StepState, str]]) -> Line:
    if target.hold is not None:
        return line(Span(f"{target.hold.value}", Tone.WARN), Span(f": {target.why}" if target.why else "", Tone.MUTED))
    state, detail = states.get(target.step, (None, ""))
    if state is None:
        reason = target.pod.reason if target.pod else ""
        return line(Span(reason, Tone.BAD) if reason else "")
    signs = {StepState.RECOVERED: glyphs.good, StepState.DONE: glyphs.busy, StepState.STARTED: glyphs.busy}
    sign = signs.get(state, glyphs.bad if _STEP_TONES[state] is Tone.BAD else glyphs.going)
    return line(Span(f"{sign} {state.value}", _STEP_TONES[state]), Span(f"  {detail}" if detail else "", Tone.MUTED))


def follow(states: dict[str, tuple[StepState, str]], event: RecoveryEvent) -> None:
    """Takes an event into the states that `rows` shows."""
    match event:
        case RecoveryStarted(steps=steps):
            states.update({each.id: (StepState.WAITING, "") for each in steps})
        case RecoveryStepStarted(step=step):
            states[step.id] = StepState.STARTED, ""
        case RecoveryStepDone(step=step):
            states[step.id] = StepState.DONE, "waiting for its replacement" if step.kind == "Pod" else "waiting"
        case RecoveryStepVerified(step=step, seconds=seconds, new_pod=new_pod):
            states[step.id] = StepState.RECOVERED, f"{new_pod} ready {seconds:.0f}s".strip()
        case RecoveryStepUnverified(step=step, message=message):
            states[step.id] = StepState.UNVERIFIED, message
        case RecoveryStepBlocked(step=step, message=message):
            states[step.id] = StepState.BLOCKED, message
        case RecoveryStepFailed(step=step, message=message):
            states[step.id] = StepState.FAILED, message
        case RecoveryStepSkipped(step=step, because=because):
            states[step.id] = StepState.NOT_TRIED, because
        case ClusterLost() | RecoveryStopping() | RecoveryFinished():
            pass
        case _:
            assert_never(event)


def event_line(event: RecoveryEvent, glyphs: Glyphs) -> Line | None:
    """Returns an event as one line for a log; None for those that only move a display."""
    match event:
        case RecoveryStarted(name=name, steps=steps, is_dry_run=dry):
            what = "dry run, nothing is written" if dry else f"{len(steps)} step{'' if len(steps) == 1 else 's'}"
            return line(Span(f"{name}: {what}", Tone.STRONG))
        case RecoveryStepVerified(step=step, seconds=seconds, new_pod=new_pod):
            after = f" {glyphs.arrow} {new_pod}" if new_pod else ""
            return line(Span(f"{glyphs.good} ", Tone.GOOD), _step(step), after, Span(f"  {seconds:.1f}s", Tone.MUTED))
        case RecoveryStepUnverified(step=step, message=message):
            return line(Span(f"{glyphs.bad} ", Tone.BAD), _step(step), f": {message}")
        case RecoveryStepBlocked(step=step, message=message):
            return line(Span(f"{glyphs.going} ", Tone.WARN), _step(step), f": blocked: {message}")
        case RecoveryStepFailed(step=step, message=message, hint=hint):
            after = f" {glyphs.arrow} {hint}" if hint else ""
            return line(Span(f"{glyphs.bad} ", Tone.BAD), _step(step), f": {message}", Span(after, Tone.MUTED))
        case RecoveryStepSkipped(step=step, because=because):
            return line(Span(f"{glyphs.going} ", Tone.MUTED), _step(step), Span(f": not tried: {because}", Tone.MUTED))
        case ClusterLost(problem=problem):
            return problem_line(problem, glyphs)
        case RecoveryStopping(because=because):
            return line(Span(f"{glyphs.bad} nothing more is started: {because}", Tone.BAD))
        case RecoveryStepStarted() | RecoveryStepDone() | RecoveryFinished():
            return None
        case _:
            assert_never(event)


def _step(step: Step) -> str:
    where = f"{step.namespace}/" if step.namespace else ""
    return f"{step.verb} {where}{step.name}@{step.cluster}"


def summary(report: RecoveryReport, glyphs: Glyphs, accepted: Acceptance = STRICT) -> Line:
    """Returns one line: `✗ app-recovery partial in 14s: 11 recovered, 1 unknown`."""
    is_good = is_accomplished(report.hosts, accepted) or report.outcome is RecoveryOutcome.DRY_RUN
    sign = Span(f"{glyphs.good if is_good else glyphs.bad} ", Tone.GOOD if is_good else Tone.BAD)
    counts = ", ".join(f"{number} {state}" for state, number in report.counts().items())
    took = f" in {short(report.seconds)}" if not report.is_dry_run else ""
    what = Span(f"{report.name} {report.outcome}{took}", Tone.GOOD if is_good else Tone.BAD)
    rest = Span(", the rest is accepted" if is_good and not is_accomplished(report.hosts) else "", Tone.WARN)
    return line(sign, what, Span(f": {counts or 'no hosts'}", Tone.MUTED), "" if report.is_dry_run else rest)


def open_hosts(hosts: Sequence[HostResult], accepted: Acceptance, glyphs: Glyphs) -> Line | None:
    """Returns one line that says what keeps a recovery from ending well, with what would accept it; None if nothing."""
    left = unaccounted(hosts, accepted)
    if is_accomplished(hosts, accepted):
        return None
    if not left:
        what = "no host was named" if not hosts else "no host is recovered"
        return line(Span(f"{glyphs.bad} {what}", Tone.BAD))
    names = ", ".join(each.hostname for each in left[:_HOSTS_IN_SHORT])
    more = f" and {len(left) - _HOSTS_IN_SHORT} more" if len(left) > _HOSTS_IN_SHORT else ""
    return line(Span(f"{glyphs.bad} not recovered: {names}{more}", Tone.BAD))


def host_rows(report: RecoveryReport, *, only_open: bool = False) -> tuple[Row, ...]:
    """Returns a row a hostname. `only_open` leaves out those that are recovered."""
    fine = (HostState.RECOVERED, HostState.DONE_BEFORE)
    return tuple(
        Row(each.hostname, (line(each.hostname), line(Span(each.state.value, _TONES[each.state])), line(each.why)))
        for each in report.hosts
        if not (only_open and each.state in fine)
    )


def audit_row(entry: AuditEntry) -> Row:
    result = f"{entry.result} (dry run)" if entry.is_dry_run else entry.result
    cells = (
        line(Span(f"{entry.at:%Y-%m-%d %H:%M:%SZ}", Tone.MUTED)),
        line(f"{entry.user}@{entry.host}"),
        line(entry.origin),
        line(entry.action),
        line(entry.target),
        line(Span(entry.cluster, Tone.ENVIRONMENT)),
        line(result),
        line(Span(" ".join(part for part in (entry.detail, entry.reason, entry.identity) if part), Tone.MUTED)),
    )
    return Row(entry.number, cells)
