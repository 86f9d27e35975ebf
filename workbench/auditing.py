"""What an apply and a recovery leave in the audit trail, written on the way by what records them anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from runtimes.base import Address
from workbench.audit import Actor, AuditTrail
from workbench.engine.events import ApplyFinished, Event, StepFailed, StepFinished
from workbench.engine.plan import Plan
from workbench.engine.recovery.record import RecoveryLog
from workbench.engine.recovery.values import Recovery, StepResult, StepState
from workbench.engine.release import Journal


@dataclass(frozen=True, slots=True)
class AuditedJournal:
    """A release journal whose writes are in the audit trail as well: `Journal` by its one method."""

    journal: Journal
    trail: AuditTrail
    actor: Actor
    now: Callable[[], datetime]
    plan: Plan

    def begin(self, confirm: str) -> None:
        """Writes the intent, before anything is applied."""
        steps = f"{len(self.plan.steps())} steps"
        self._append("apply", self.plan.stack, "begun", detail=steps, confirm=confirm)

    def record(self, event: Event) -> None:
        """An event that cannot be audited is an event that cannot be recorded: the apply starts no further step."""
        self.journal.record(event)
        match event:
            case StepFinished(address=address, action=action):
                self._append(action.value, str(address.id), "done", address)
            case StepFailed(address=address, action=action, kind=kind):
                # not the message: it may quote what was applied
                self._append(action.value, str(address.id), "failed", address, detail=kind)
            case ApplyFinished(outcome=outcome, done=done, failed=failed, skipped=skipped):
                detail = f"{done} done, {failed} failed, {skipped} skipped"
                self._append("apply", self.plan.stack, outcome.value, detail=detail)
            case _:
                pass

    def _append(
        self,
        action: str,
        target: str,
        result: str,
        address: Address | None = None,
        *,
        detail: str = "",
        confirm: str = "",
    ) -> None:
        self.trail.append(
            self.actor,
            self.now(),
            action=action,
            plan=self.plan.id,
            target=target,
            cluster=address.cluster if address else "",
            result=result,
            detail=detail,
            confirm=confirm,
        )


class Unrecorded:
    """The record of a dry run: there is none."""

    def record(self, result: StepResult) -> None:
        raise AssertionError("a dry run does nothing that could be recorded")


@contextmanager
def audited_recovery(
    trail: AuditTrail,
    actor: Actor,
    now: Callable[[], datetime],
    recovery: Recovery,
    log: RecoveryLog,
    confirm: str,
    dry_run: bool,
) -> Iterator[RecoveryLog]:
    """Writes the intent at once, each write as it is recorded, and the end whichever way it comes."""
    counts: dict[StepState, set[str]] = {}

    def append(action: str, target: str, **more: object) -> None:
        trail.append(
            actor,
            now(),
            action=action,
            plan=recovery.id,
            target=target,
            reason=recovery.document.reason,
            is_dry_run=dry_run,
            **more,
        )

    class Audited:
        def record(self, result: StepResult) -> None:
            log.record(result)
            step = result.step
            for known in counts.values():
                known.discard(step.id)
            counts.setdefault(result.state, set()).add(step.id)
            if result.state is not StepState.STARTED:
                target = f"{step.namespace}/{step.subject}" if step.namespace else step.subject
                detail = result.error or result.new_pod
                append(step.verb.value, target, cluster=step.cluster, result=result.state.value, detail=detail)

    what = f"{recovery.document.operation}: {len(recovery.steps)} steps for {len(recovery.hosts)} hosts"
    append("recovery", recovery.name, result="begun", detail=what, confirm=confirm)
    try:
        yield Audited()
    finally:
        ended = ", ".join(f"{len(ids)} {state}" for state, ids in counts.items() if ids) or "nothing was done"
        append("recovery", recovery.name, result="ended", detail=ended)
