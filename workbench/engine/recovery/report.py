"""How a recovery ended, told for every hostname it was about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from kcl.records import replace
from workbench.engine.changes import Problem
from workbench.engine.recovery.hosts import AS_WANTED, is_accomplished
from workbench.engine.recovery.values import (
    HostResult,
    HostState,
    Recovery,
    RecoveryOutcome,
    RecoveryReport,
    StepResult,
    StepState,
)

_STATES: Final[Mapping[StepState, HostState]] = {
    StepState.WAITING: HostState.TO_DO,
    StepState.STARTED: HostState.UNVERIFIED,
    StepState.DONE: HostState.UNVERIFIED,
    StepState.RECOVERED: HostState.RECOVERED,
    StepState.UNVERIFIED: HostState.UNVERIFIED,
    StepState.BLOCKED: HostState.BLOCKED,
    StepState.FAILED: HostState.FAILED,
    StepState.NOT_TRIED: HostState.NOT_TRIED,
}
_WORST: Final = (
    HostState.FAILED,
    HostState.UNVERIFIED,
    HostState.BLOCKED,
    HostState.NOT_TRIED,
    HostState.TO_DO,
    HostState.RECOVERED,
)


def make_report(
    recovery: Recovery,
    steps: tuple[StepResult, ...],
    problems: tuple[Problem, ...],
    *,
    started: datetime,
    ended: datetime,
    is_dry_run: bool,
    is_stopped: bool,
) -> RecoveryReport:
    """A hostname with several pods comes out as the worst of them."""
    mine: dict[str, list[StepResult]] = {}
    for result in steps:
        for name in result.step.hostnames:
            mine.setdefault(name, []).append(result)
    hosts = tuple(_host(each, mine.get(each.hostname, ())) for each in recovery.hosts)
    return RecoveryReport(
        recovery=recovery.id,
        name=recovery.name,
        operation=recovery.operation,
        reason=recovery.document.reason,
        outcome=_outcome(hosts, steps, is_dry_run=is_dry_run, is_stopped=is_stopped),
        is_dry_run=is_dry_run,
        started=started,
        ended=ended,
        hosts=hosts,
        steps=steps,
        problems=tuple(dict.fromkeys(problems)),
    )


def _host(before: HostResult, steps: list[StepResult] | tuple[()]) -> HostResult:
    if before.state is not HostState.TO_DO or not steps:
        return before
    states = {_STATES[each.state]: each for each in reversed(steps)}
    state: HostState = next(each for each in _WORST if each in states)
    result = states[state]
    why = result.error or (f"{result.new_pod} took its place" if result.new_pod else "")
    if state is HostState.RECOVERED and not set(before.holds) <= AS_WANTED:
        state = HostState.HELD  # one of its pods is recovered, another was left alone
    return replace(before, state=state, why="; ".join(part for part in (why, before.why) if part))


def _outcome(
    hosts: tuple[HostResult, ...], steps: tuple[StepResult, ...], *, is_dry_run: bool, is_stopped: bool
) -> RecoveryOutcome:
    if is_dry_run:
        return RecoveryOutcome.DRY_RUN
    if is_accomplished(hosts):
        return RecoveryOutcome.RECOVERED if steps else RecoveryOutcome.NOTHING_TO_DO
    if is_stopped:
        return RecoveryOutcome.STOPPED
    is_any = any(each.state is StepState.RECOVERED for each in steps)
    return RecoveryOutcome.PARTIAL if is_any else RecoveryOutcome.FAILED
