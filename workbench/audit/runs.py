"""What an apply and a recovery leave in the audit trail, written on the way by what records them anyway."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Self

from runtimes.base import Address, ClusterIdentity
from workbench.audit.trail import Actor, AuditTrail
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import ApplyFinished, Event, StepFailed, StepFinished
from workbench.engine.plan import Plan
from workbench.engine.recovery.values import Recovery, RecoveryReport, StepResult, StepState
from workbench.release.recoveries import RecoveryFile
from workbench.release.shared import SharedJournal
from workbench.words import counted


class AuditedApply:
    """The journal of an apply whose writes are in the audit trail as well: `Journal`, while its context lasts.

    Entering writes the intent and returns it as an anchor for the release. However the apply ends, the trail says so
    once: by the event, else when the context ends.
    """

    def __init__(
        self,
        trail: AuditTrail,
        actor: Actor,
        now: Callable[[], datetime],
        plan: Plan,
        *,
        confirm: str,
        reason: str,
    ) -> None:
        self._trail, self._actor, self._now, self._plan = trail, actor, now, plan
        self._confirm, self._reason, self._has_ended = confirm, reason, False
        self._journal: SharedJournal | None = None
        self.anchor = ""

    def __enter__(self) -> Self:
        """Before anything is applied."""
        steps = counted(len(self._plan.steps()), "step")
        self._append("apply", self._plan.stack, "begun", detail=steps, confirm=self._confirm)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._has_ended:
            # what ends it counts for more than that this cannot be written
            with suppress(ReleaseFailure) if kind else nullcontext():
                self._append("apply", self._plan.stack, "interrupted", detail="it ended without a result")

    def into(self, journal: SharedJournal) -> Self:
        self._journal = journal
        return self

    def record(self, event: Event) -> None:
        """An event that cannot be audited is an event that cannot be recorded: the apply starts no further step."""
        assert self._journal is not None, "an apply records into the journal of its release"
        if isinstance(event, ApplyFinished):
            self._finish(event, self._journal)
            return
        self._journal.record(event)
        match event:
            case StepFinished(address=address, action=action):
                self._append(action.value, str(address.id), "done", address)
            case StepFailed(address=address, action=action, kind=kind):
                # not the message: it may quote what was applied
                self._append(action.value, str(address.id), "failed", address, detail=kind)
            case _:
                pass

    def _finish(self, event: ApplyFinished, journal: SharedJournal) -> None:
        """The result goes into the trail first, so that the release knows the entry."""
        self._has_ended = True
        detail = f"{event.done} done, {event.failed} failed, {event.skipped} skipped"
        try:
            self._append("apply", self._plan.stack, event.outcome.value, detail=detail)
            journal.note_audit(self.anchor)
        finally:
            try:
                journal.record(event)
            except ReleaseFailure:
                with suppress(ReleaseFailure):
                    self._append("apply", self._plan.stack, "unrecorded", detail="its release could not be written")
                raise

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
        entry = self._trail.append(
            self._actor,
            self._now(),
            action=action,
            plan=self._plan.id,
            target=target,
            cluster=address.cluster if address else "",
            identity=self._identity(address),
            result=result,
            detail=detail,
            confirm=confirm,
            reason=self._reason,
        )
        self.anchor = f"{entry.number}:{entry.hash}"

    def _identity(self, address: Address | None) -> str:
        """Which cluster it is; of an entry about all of them, which each one is."""
        identities = self._plan.identities
        if address is not None:
            return str(identities[address.cluster]) if address.cluster in identities else ""
        return "; ".join(f"{name}: {each}" for name, each in identities.items())


class AuditedRecovery:
    """The ledger file of a run whose writes are in the audit trail as well, while its context lasts.

    Entering writes the intent. However the run ends, the trail says so once: by `finished`, else when the context ends.
    `ledger` is None for a dry run. `identities` says which cluster each name is, as far as that is known.
    """

    def __init__(
        self,
        trail: AuditTrail,
        actor: Actor,
        now: Callable[[], datetime],
        recovery: Recovery,
        ledger: RecoveryFile | None,
        *,
        confirm: str,
        is_dry_run: bool,
        identities: Mapping[str, ClusterIdentity],
    ) -> None:
        self._trail, self._actor, self._now, self._recovery, self._ledger = trail, actor, now, recovery, ledger
        self._identities = identities
        self._confirm, self._is_dry_run, self._has_ended = confirm, is_dry_run, False

    def __enter__(self) -> Self:
        found = self._recovery
        what = f"{found.operation}: {counted(len(found.steps), 'step')} for {counted(len(found.hosts), 'host')}"
        self._append("recovery", found.name, result="begun", detail=what, confirm=self._confirm)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._has_ended:
            with suppress(ReleaseFailure) if kind else nullcontext():
                self._append("recovery", self._recovery.name, result="interrupted", detail="it ended without a report")

    def record(self, result: StepResult) -> None:
        """Blocks until it is safe. Raises `ReleaseFailure`. Not for several threads at once."""
        assert self._ledger is not None, "a dry run does nothing that could be recorded"
        self._ledger.record(result)
        step = result.step
        if result.state is not StepState.STARTED:
            target = f"{step.namespace}/{step.subject}" if step.namespace else step.subject
            detail = result.error or result.new_pod
            self._append(step.verb.value, target, cluster=step.cluster, result=result.state.value, detail=detail)

    def finished(self, report: RecoveryReport) -> None:
        """As `record`, for the end of the run."""
        self._has_ended = True
        hosts = ", ".join(f"{number} {state}" for state, number in report.counts().items()) or "no hosts"
        self._append("recovery", self._recovery.name, result=report.outcome.value, detail=hosts)

    def _append(self, action: str, target: str, *, cluster: str = "", **more: object) -> None:
        named = {name: each for name, each in self._identities.items() if cluster in ("", name)}
        self._trail.append(
            self._actor,
            self._now(),
            action=action,
            plan=self._recovery.id,
            target=target,
            cluster=cluster,
            identity="; ".join(str(each) if cluster else f"{name}: {each}" for name, each in named.items()),
            reason=self._recovery.document.reason,
            is_dry_run=self._is_dry_run,
            **more,
        )
