"""Recovery: the hosts and pods a program names, what would be done about each, the typed confirmation, the run.

    :recover [FILE.k] [NAME=VALUE ...]      ops/AppRecovery.k if no file is given

A run goes on when its screen is left; `:recover` alone comes back to it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workbench.engine.recovery.values import HostState, RecoveryReport, StepState
from workbench.present import errors, recovery
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.state import RecoveryJob
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

DEFAULT_FILE = "ops/AppRecovery.k"
_DRAW_SECONDS = 0.25


def parse(text: str) -> RecoveryJob:
    """Reads what was typed after `:recover`; a word without `=` is the file. Raises `ValueError`."""
    words = text.split()
    files = [each for each in words if "=" not in each]
    if len(files) > 1:
        # a value with a space in it may be a password: what was typed is not repeated
        raise ValueError(f"one file, then NAME=VALUE; got {len(files)} words without =")
    pairs = (each.partition("=") for each in words if "=" in each)
    return RecoveryJob(files[0] if files else DEFAULT_FILE, {name: value for name, _, value in pairs})


class RecoveryScreen(Frame):
    name_in_trail = "Recovery"

    DEFAULT_CSS = """
    RecoveryScreen #head { height: auto; padding: 0 1; }
    RecoveryScreen #row { height: auto; max-height: 2; padding: 0 1; }
    RecoveryScreen #below { height: auto; max-height: 8; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "ask", "Run ..."),
        Binding("K", "stop", "Stop"),
        Binding("r", "reload", "Look again"),
        *MATCH_KEYS,
    ]

    def __init__(self, job: RecoveryJob) -> None:
        super().__init__()
        self.job = job

    def body(self) -> ComposeResult:
        yield ToneText(id="head")
        yield ResourceTable(recovery.COLUMNS, id="targets", empty="asking the inventory and the clusters ...")
        yield ToneText(id="row", wrap=True)
        yield ToneText(id="below", wrap=True)
        yield TypedConfirmation("Run", "that is not the phrase: nothing was done")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(_DRAW_SECONDS, self._draw_progress)
        if self.job.found is None and not self.job.busy:
            self.action_reload()

    def _draw_progress(self) -> None:
        if self.job.busy:
            self.redraw()

    def show_state(self) -> None:
        job, glyphs = self.job, self.workbench.glyphs
        trouble = self.query_one("#trouble", ToneText)
        trouble.set_class(job.error is not None, "shown")
        if job.error is not None:
            trouble.show_all(errors.lines(job.error, glyphs))
        targets = self.query_one("#targets", ResourceTable)
        if job.found is None:
            self.query_one("#head", ToneText).show(line(Span(job.file, Tone.SOURCE)))
            targets.empty = "nothing to show" if job.error else "asking the inventory and the clusters ..."
            targets.refresh()
            return
        self.query_one("#head", ToneText).show(recovery.title(job.found, glyphs), recovery.limits(job.found))
        targets.empty = "no host leads to a pod"
        targets.set_rows(recovery.rows(job.found, glyphs, self.workbench.now(), job.states))
        self._show_hidden()
        below = job.log[-6:] or list(recovery.notes(job.found, glyphs))
        if job.report is not None:
            below = [recovery.summary(job.report, glyphs), *self._open_hosts(job.report)]
        self.query_one("#below", ToneText).show_all(below)

    def on_resource_table_highlighted(self) -> None:
        self._show_hidden()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_hidden)

    def _show_hidden(self) -> None:
        """Says of the row under the cursor what a narrow screen has no column for."""
        table = self.query_one("#targets", ResourceTable)
        row = table.current_row
        parts: list[Span | Line] = []
        for index in table.hidden if row is not None else ():
            assert row is not None
            parts += [Span(f"{table.columns[index].title} ", Tone.MUTED), row.cells[index], Span("  ")]
        self.query_one("#row", ToneText).show(*([line(*parts)] if parts else []))

    def banner(self) -> Line:
        found = super().banner()
        where = self.job.found.clusters if self.job.found else ()
        return line(*self._environments(where), found)

    def _environments(self, names: Collection[str]) -> Iterator[Span]:
        """Marks the environments of these clusters; a protected one is marked as on the screens of its stacks."""
        konfig, clusters = self.workbench.konfig, set(names)
        marks = {each.environment: False for each in konfig.clusters.clusters if each.name in clusters}
        for each in konfig.clusters.placements:
            if not clusters.isdisjoint(each.clusters):
                marks[each.environment] = marks.get(each.environment, False) or each.protected
        for environment, is_protected in marks.items():
            if environment or is_protected:
                text = environment.upper() or "PROTECTED"
                yield Span(f" {text} ", Tone.PROTECTED if is_protected else Tone.ENVIRONMENT)
                yield Span(" ")

    def _open_hosts(self, report: RecoveryReport) -> list[Line]:
        fine = (HostState.RECOVERED, HostState.DONE_BEFORE)
        rest = [each for each in report.hosts if each.state not in fine]
        return [line(Span(f"{each.hostname}: {each.state}", Tone.WARN), f"  {each.why}") for each in rest[:6]]

    def status(self) -> Line:
        if not self.job.busy:
            return super().status()
        done = sum(state is StepState.RECOVERED for state, _ in self.job.states.values())
        count = f"  {done}/{len(self.job.states)} recovered" if self.job.states else ""
        elapsed = time.monotonic() - self.job.busy_since
        return line(Span(f"{self.job.busy} ... {elapsed:.0f}s", Tone.BUSY), count)

    # --- work: the app does it, and goes on when the screen is left

    def action_reload(self) -> None:
        if self.job.is_running and self.job.report is None:
            self.notify(self._why_not(), severity="warning")
        else:
            self.workbench.recovering.look_at(self.job)

    def action_stop(self) -> None:
        self.workbench.recovering.stop(self.job)

    # --- confirmation

    def action_ask(self) -> None:
        found = self.job.found
        why_not = self._why_not()
        if found is None or why_not:
            self.notify(why_not, severity="warning")
            return
        question = line("type ", Span(found.phrase, Tone.STRONG), Span(f" ({', '.join(found.clusters)})", Tone.WARN))
        self.query_one(TypedConfirmation).ask(question, found.phrase)

    def why_not(self, action: str) -> str:
        match action:
            case "ask":
                return self._why_not()
            case "stop":
                return "" if self.job.is_running else "nothing runs"
        return super().why_not(action)

    def _why_not(self) -> str:
        job = self.job
        if job.found is None or job.busy:
            stop = f"it runs: {self.workbench.key('recovery.stop')} stops it"
            return stop if job.is_running else "wait until it is looked at"
        if job.report is not None:
            return f"it was run: {self.workbench.key('everywhere.reload')} looks again"
        if job.found.is_empty:
            return "nothing of it can be run: the state of each host says why"
        return "this session is read-only" if self.workbench.session.settings.is_read_only else ""

    def on_typed_confirmation_confirmed(self, event: TypedConfirmation.Confirmed) -> None:
        if not self._why_not():
            self.workbench.recovering.run(self.job, event.phrase)

    def on_typed_confirmation_closed(self) -> None:
        self.focus_main()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        else:
            super().action_back()
