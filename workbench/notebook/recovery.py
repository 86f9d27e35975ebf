"""Failing hosts: resolve → preview → run → verify → report, one cell each.

recovery = session.recovery("ops/AppRecovery.k", hostnames=hostnames, incident="INC-1234")
recovery.resolve()                         which pods in which clusters these hosts are
recovery.preview()                         what would be done about each, and what is held and why
recovery.run(dry_run=False, confirm=...)   in batches, within the limits; returns at once
recovery.verify().raise_if_failed()        waits until replacements are ready; fails unless every host is
recovery.report()                          every hostname, accounted for
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kcl.records import replace
from runtimes.base import RuntimeFailure
from workbench.audit import AuditCheck, AuditEntry
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import ConfirmationRequired
from workbench.engine.recovery import values
from workbench.engine.recovery.approval import approve
from workbench.engine.recovery.events import (
    RecoveryEvent,
    RecoveryFinished,
    RecoveryStepBlocked,
    RecoveryStepFailed,
    RecoveryStepSkipped,
    RecoveryStepUnverified,
    RecoveryStepVerified,
)
from workbench.engine.recovery.execute import RecoveryRun
from workbench.engine.recovery.hosts import Acceptance, is_accomplished
from workbench.engine.recovery.values import HostState, RecoveryReport, StepState
from workbench.notebook.boards import Live, Unfinished
from workbench.notebook.durations import seconds
from workbench.notebook.engine_thread import readable
from workbench.notebook.headless import has_widgets
from workbench.notebook.results import Shown
from workbench.notebook.views import Picture, Tab
from workbench.present import errors
from workbench.present import recovery as present
from workbench.present import recovery_documents as documents
from workbench.present.glyphs import UNICODE
from workbench.present.rows import Column, Row, Table
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    import pandas as pd

    from workbench.notebook.plots import Chart
    from workbench.notebook.workspace import Workspace

_LOG_LINES = 50
_HOST_COLUMNS = (Column("Host"), Column("State"), Column("Cluster"), Column("Pods"), Column("Why"))
_FAILED = (RecoveryStepFailed, RecoveryStepUnverified, RecoveryStepBlocked, RecoveryStepSkipped)
States = dict[str, tuple[StepState, str]]


class Recovery:
    """A declared recovery. Nothing is asked of anybody before `resolve` or `preview`."""

    def __init__(self, workspace: Workspace, source: str, inputs: CompileInputs, limits: dict[str, float]) -> None:
        self.workspace, self.source, self._inputs, self._limits = workspace, source, inputs, limits
        self._found: values.Recovery | None = None
        self._run: RecoveryProgress | None = None

    @property
    def value(self) -> values.Recovery:
        """What was found out, asked for at first use."""
        if self._found is None:
            self._found = self.workspace.call(self._resolve)
        return self._found

    @property
    def phrase(self) -> str:
        """What `run` wants as `confirm`: of these pods, hosts and limits. Empty where nothing can be done."""
        return self.value.phrase

    @property
    def pods(self) -> pd.DataFrame:
        """One row a hostname and pod; a hostname that leads to no pod has one row without."""
        return self.preview().df

    @property
    def unresolved(self) -> tuple[str, ...]:
        return tuple(each.hostname for each in self.value.unresolved)

    def resolve(self, *, allow_unresolved: bool = True) -> Resolution:
        """Asks inventory and clusters again. Raises `Unresolved` for hosts that lead nowhere, unless allowed."""
        self._found, self._run = self.workspace.call(self._resolve), None
        if self.unresolved and not allow_unresolved:
            few = ", ".join(self.unresolved[:10])
            more = f" and {len(self.unresolved) - 10} more" if len(self.unresolved) > 10 else ""
            hint = "correct the hostnames, or go on without them: allow_unresolved=True"
            raise readable(Unresolved(f"no pod is known for {few}{more}", where=self.source, hint=hint))
        return Resolution(self.value)

    def preview(self) -> Preview:
        """Shows what would be done about each pod; writes nothing."""
        return Preview(self.value)

    def run(self, *, dry_run: bool = True, confirm: str = "") -> RecoveryProgress:
        """Runs it; without `dry_run=False` it only reports what would be done. Returns at once: `verify` waits.

        Without the exact `confirm` a notebook that somebody looks at asks for it below the cell; elsewhere it raises
        `ConfirmationRequired`. A recovery that ran is not run again: the same run is returned.
        """
        if self._run is not None and not self._run.may_begin and not self._run.is_dry_run:
            return self._run
        if dry_run or self._run is None or self._run.is_dry_run:
            self._run = RecoveryProgress(self, is_dry=dry_run)
        self._run.begin(confirm)
        return self._run

    def verify(self, timeout: str | float | None = None) -> RecoveryProgress:
        """Waits until the run is over; its replacements are then ready or have had their time."""
        return self._last_run().wait(timeout)

    def report(self) -> Report:
        return self._last_run().report()

    async def _resolve(self) -> values.Recovery:
        session = self.workspace.session
        found = await session.recovery(self.source, self._inputs)
        if not self._limits:
            return found
        try:
            limits: Any = replace(found.limits, **self._limits)  # type: ignore[arg-type]  # whole numbers stay whole
        except WorkbenchError as error:
            raise readable(error) from None
        return await session.recovery(found.document, limits=limits)

    def _last_run(self) -> RecoveryProgress:
        if self._run is None:
            raise readable(Unresolved("nothing was run yet", where=self.source, hint="run() first"))
        return self._run

    def __repr__(self) -> str:
        return f"{self.source}: {'not resolved yet' if self._found is None else present.title(self._found, UNICODE)}"


class Unresolved(WorkbenchError):
    """Hostnames that lead to no pod, or a call that was left out."""


class Resolution(Shown):
    """Every hostname, and where it leads."""

    name = "hosts"

    def __init__(self, found: values.Recovery) -> None:
        self.value = found

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import recovery_frames

        return recovery_frames.hosts(self.value.hosts)

    def _picture(self) -> Picture:
        head = (present.title(self.value, UNICODE), *present.notes(self.value, UNICODE))
        rows = tuple(_host_row(each) for each in self.value.hosts)
        return Picture(head, (Tab("Hosts", Table(_HOST_COLUMNS, rows)),))

    def _document(self) -> dict[str, Any]:
        return documents.recovery(self.value)


def _host_row(host: values.HostResult) -> Row:
    clusters = ", ".join(dict.fromkeys(each.cluster for each in host.pods))
    pods = ", ".join(each.path for each in host.pods)
    tone = Tone.PLAIN if host.state is HostState.TO_DO else Tone.WARN
    cells = (
        line(host.hostname),
        line(Span(host.state.value, tone)),
        line(Span(clusters, Tone.ENVIRONMENT)),
        line(pods),
        line(Span(host.why, Tone.MUTED)),
    )
    return Row(host.hostname, cells)


class Preview(Shown):
    """What would be done about each pod: owner, replicas, budget, the write; or what holds it and why."""

    name = "recovery"

    def __init__(self, found: values.Recovery) -> None:
        self.value, self._now = found, datetime.now(UTC)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import recovery_frames

        return recovery_frames.pods(self.value, None, self._now)

    def _picture(self) -> Picture:
        return Picture(
            (present.title(self.value, UNICODE), present.limits(self.value)),
            (Tab("Pods", Table(present.COLUMNS, present.rows(self.value, UNICODE, self._now))),),
            tuple(present.notes(self.value, UNICODE)),
        )

    def _document(self) -> dict[str, Any]:
        return documents.recovery(self.value)


class RecoveryProgress(Live):
    """A recovery while it runs: the board."""

    name = "recovery-run"

    def __init__(self, recovery: Recovery, *, is_dry: bool) -> None:
        super().__init__(recovery.workspace.thread)
        self._recovery, self.is_dry_run = recovery, is_dry
        self._value = recovery.value
        self._states: States = {}
        self._events: list[RecoveryEvent] = []
        self._running: RecoveryRun | None = None
        self._failure: BaseException | None = None
        self._is_asking = False
        self._finished: RecoveryReport | None = None

    @property
    def outcome(self) -> str:
        """That of the report, else `running` or `not confirmed`."""
        if self._finished is not None:
            return self._finished.outcome.value
        return "running" if self.is_running else "not confirmed"

    @property
    def may_begin(self) -> bool:
        """Nothing was written yet, and nothing is under way."""
        return not self._events and not self.is_running

    @property
    def _may_go_on(self) -> bool:
        return self.is_running or (self._is_asking and self.may_begin)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import recovery_frames

        steps = {each.step.id: each for each in self._finished.steps} if self._finished else None
        return recovery_frames.pods(self._value, steps, datetime.now(UTC), dict(self._states))

    @property
    def timeline(self) -> pd.DataFrame:
        """How many steps were recovered, or had failed, when."""
        from workbench.notebook import recovery_frames

        return recovery_frames.timeline(tuple(self._events))

    def plot(self) -> Chart:
        from workbench.notebook import plots

        return plots.recovery(self.timeline, len(self._value.steps), self._value.name)

    def begin(self, confirm: str) -> None:
        if not self.may_begin:
            return
        settings = self._recovery.workspace.session.settings
        try:
            approve(self._value, confirm, dry_run=self.is_dry_run, is_read_only=settings.is_read_only)
        except ConfirmationRequired as error:
            if confirm or not has_widgets():
                raise readable(error) from None
            self._is_asking = True
            return
        except WorkbenchError as error:
            raise readable(error) from None
        self._start(confirm)
        self._until_begun(lambda: bool(self._events))

    def wait(self, timeout: str | float | None = None) -> RecoveryProgress:
        """Waits until it is over; raises `Unfinished` if it takes longer than `timeout` (it then goes on)."""
        if self._is_asking and self.may_begin:
            raise readable(
                ConfirmationRequired(self._value.phrase, "nothing was typed yet", where=self._recovery.source)
            )
        self._await(None if timeout is None else seconds(timeout))
        if self._finished is None:
            raise readable(Unfinished("is still running", self, where=self._recovery.source, hint="wait again"))
        return self

    def raise_if_failed(self, *, require_all: bool = True, allow_unresolved: bool = False) -> RecoveryProgress:
        """Raises `Unfinished` unless every host is recovered or accepted, or it was a dry run.

        `allow_unresolved` accepts hosts that lead to no pod, or nobody knows to which; `require_all=False` those that
        limits, budgets or a stop left alone. A run that recovered no host at all never ends well.
        """
        report = self._finished
        if report is None:
            raise readable(Unfinished(self.outcome, self, where=self._recovery.source, hint="verify() first"))
        accepted = Acceptance(require_all, allow_unresolved)
        if not report.is_dry_run and not is_accomplished(report.hosts, accepted):
            left = present.open_hosts(report.hosts, accepted, UNICODE)
            shown = f"{present.summary(report, UNICODE, accepted)}; {left}"
            raise readable(Unfinished(shown, self, where=self._recovery.source, hint="the report has every hostname"))
        return self

    def report(self) -> Report:
        if self._finished is None:
            raise readable(Unfinished("is not over yet", self, where=self._recovery.source, hint="verify() first"))
        return Report(self._finished)

    def stop(self) -> None:
        """Starts nothing more; what is under way is seen to its end."""

        def ask() -> None:
            if self._running is not None:
                self._running.stop()

        self._thread.post(ask)

    def _start(self, confirm: str) -> Any:
        session = self._recovery.workspace.session

        async def work() -> None:
            session.origin = self._origin
            try:
                async with session.recover(self._value, confirm=confirm, dry_run=self.is_dry_run) as running:
                    self._running = running
                    async for event in running:
                        self._take(event)
            except (WorkbenchError, RuntimeFailure) as error:
                self._failure = error
                raise
            finally:
                self._running = None
                self._repaint()

        return self._begin(work)

    def _take(self, event: RecoveryEvent) -> None:
        self._events.append(event)
        present.follow(self._states, event)
        if isinstance(event, RecoveryFinished):
            self._finished = event.report
            self._log.append(present.summary(event.report, UNICODE))
        elif (shown := present.event_line(event, UNICODE)) is not None:
            self._log.append(shown)
        self._repaint()

    def _confirmed(self, text: str) -> None:
        if self.may_begin:
            self._failure = None
            self._start(text)

    def _picture(self) -> Picture:
        mode = Span("  DRY RUN", Tone.WARN) if self.is_dry_run else Span("")
        head = (line(present.title(self._value, UNICODE), mode), present.limits(self._value))
        foot: list[Line] = [*self._log[-_LOG_LINES:]]
        if isinstance(self._failure, WorkbenchError | RuntimeFailure):
            foot += errors.lines(self._failure, UNICODE)
        rows = present.rows(self._value, UNICODE, datetime.now(UTC), dict(self._states))
        return Picture(head, (Tab("Pods", Table(present.COLUMNS, rows)),), tuple(foot))

    def _traits(self) -> dict[str, Any]:
        from workbench.notebook.live import payload

        events = tuple(self._events)
        done = sum(isinstance(each, RecoveryStepVerified) for each in events)
        failed = sum(isinstance(each, _FAILED) for each in events)
        total = len(self._value.steps) if events and not self.is_dry_run else 0
        phrase = self._value.phrase
        button = phrase[:1].upper() + phrase[1:]
        return {
            "picture": payload(self._picture()),
            "progress": [done, failed, total] if total else [],
            "ask": {"phrase": phrase, "reasons": [], "button": button} if self._is_asking and self.may_begin else {},
            "can_stop": bool(events) and self._finished is None,
            **self._stop_traits(),
        }

    def _document(self) -> dict[str, Any]:
        return documents.report(self._finished) if self._finished else documents.recovery(self._value)


class Report(Shown):
    """How it ended, for every hostname."""

    name = "recovery-report"

    def __init__(self, found: RecoveryReport) -> None:
        self.value = found

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import recovery_frames

        return recovery_frames.hosts(self.value.hosts)

    @property
    def markdown(self) -> str:
        """The report as text for a ticket."""
        counts = [f"- {number} {state}" for state, number in self.value.counts().items()]
        rows = [f"| {_cell(each.hostname)} | {each.state} | {_cell(each.why)} |" for each in self.value.hosts]
        return "\n".join(
            (
                f"## {_cell(self.value.name)} {_cell(self.value.reason)}: {self.value.outcome}",
                f"{self.value.started:%Y-%m-%d %H:%M:%S}Z, {self.value.seconds:.0f} s, recovery {self.value.recovery}",
                *("", *counts, "", "| Host | State | Why |", "|---|---|---|", *rows, ""),
            )
        )

    def _picture(self) -> Picture:
        head = (present.summary(self.value, UNICODE),)
        problems = (present.problem_line(each, UNICODE) for each in self.value.problems)
        rows = present.host_rows(self.value)
        return Picture((*head, *problems), (Tab("Hosts", Table(present.HOST_COLUMNS, rows)),))

    def _document(self) -> dict[str, Any]:
        return documents.report(self.value)


def _cell(text: str) -> str:
    """Text from outside in a Markdown table: neither a border of it nor markup."""
    shown = str(line(text))
    for sign in "\\`*_[]<>|":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


class Audit(Shown):
    """Every write from this machine, newest first. `check` says whether the chain of entries is intact."""

    name = "audit"

    def __init__(self, entries: tuple[AuditEntry, ...], check: AuditCheck) -> None:
        self.value, self.check = entries, check

    def __len__(self) -> int:
        return len(self.value)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import recovery_frames

        return recovery_frames.audit(self.value)

    def _picture(self) -> Picture:
        if self.check.is_intact:
            state = Span(f"{UNICODE.good} the chain of {self.check.entries} entries is intact", Tone.GOOD)
        else:
            state = Span(f"{UNICODE.bad} {self.check.broken}", Tone.BAD)
        table = Table(present.AUDIT_COLUMNS, tuple(present.audit_row(each) for each in self.value))
        return Picture((line(state),), (Tab("Entries", table),))

    def _document(self) -> dict[str, Any]:
        return documents.audit(self.value, self.check)


__all__ = ["Audit", "Preview", "Recovery", "RecoveryProgress", "Report", "Resolution", "Unresolved"]
