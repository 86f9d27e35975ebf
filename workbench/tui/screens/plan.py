"""Plan: the steps in their order, the gates before them, the typed confirmation; then the same steps as they run."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input

from workbench.engine.events import ApplyFinished, StepFailed
from workbench.engine.plan import Level, Plan
from workbench.present import diff, plan
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import Frame
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText


class PlanScreen(Frame):
    name_in_trail = "Plan"

    DEFAULT_CSS = """
    PlanScreen #head { height: auto; padding: 0 1; }
    PlanScreen #gates { height: auto; max-height: 7; padding: 0 1; }
    PlanScreen #confirm { height: auto; padding: 0 1; display: none; }
    PlanScreen #confirm.asked { display: block; }
    PlanScreen #answer { height: 1; }
    PlanScreen #phrase { width: 1fr; height: 1; border: none; padding: 0 1; background: $surface-lighten-1; }
    PlanScreen #phrase:focus { border: none; background: $surface-lighten-2; }
    PlanScreen Button { min-width: 10; margin-left: 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "app.switch_to('whatif')", "What if", show=False),
        Binding("a", "ask", "Apply…"),
        Binding("F", "force", "Force", show=False),
        Binding("d", "app.switch_to('diff')", "Diff"),
        Binding("w", "app.switch_to('reconcile')", "Watch"),
        Binding("K", "stop", "Stop", show=False),
        Binding("r", "reload", "Plan again"),
    ]

    def body(self) -> ComposeResult:
        yield ToneText(id="head")
        yield ResourceTable(plan.STEP_COLUMNS, id="steps", empty="planning ...")
        yield ToneText(id="gates", wrap=True)
        with Vertical(id="confirm"):
            yield ToneText(id="question", wrap=True)
            with Horizontal(id="answer"):
                yield Input(id="phrase")
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Apply", id="apply", variant="error", disabled=True, compact=True)

    def on_mount(self) -> None:
        super().on_mount()
        if self.state is not None and not self.state.is_applying:
            self.workbench.plan_stack(self.state)

    def show_state(self) -> None:
        state = self.state
        made = state.plan if state else None
        steps = self.query_one("#steps", ResourceTable)
        if state is None or made is None:
            steps.empty = "no plan" if state and state.error else "planning ..."
            steps.refresh()
            return
        glyphs = self.workbench.glyphs
        summary = diff.summary_line(made.summary, glyphs, is_certain=not made.problems)
        self.query_one("#head", ToneText).show(plan.title(made, glyphs), summary)
        steps.empty = "nothing to do: the clusters say what the configuration says"
        steps.set_rows(plan.step_rows(made, state.events))
        self.query_one("#gates", ToneText).show_all(self._below(made))
        for event in state.events[-1:]:
            if isinstance(event, ApplyFinished):
                self._close_question()

    def _below(self, made: Plan) -> list[Line]:
        """Gates before an apply, what went wrong and how it ended after one."""
        events, glyphs = (self.state.events if self.state else ()), self.workbench.glyphs
        if not events:
            listed = list(plan.gates(made, glyphs))
            if any(each.conflicts for each in made.changes):
                how = "F gives them back" if made.force else "F takes over the fields in conflict"
                listed.append(line(Span(how, Tone.MUTED)))
            return listed
        shown = [each for each in events if isinstance(each, StepFailed | ApplyFinished)]
        lines = [found for each in shown[-6:] if (found := plan.event_line(each, glyphs))]
        if isinstance(events[-1], ApplyFinished):
            lines.append(line(Span("w watches it become ready", Tone.MUTED)))
        return lines

    def action_force(self) -> None:
        """Plans again, taking over what other managers own; a second time gives it back."""
        if self.state is not None and not self.state.is_applying:
            self.state.is_forced = not self.state.is_forced
            self.workbench.plan_stack(self.state)

    # --- confirmation

    def action_ask(self) -> None:
        state = self.state
        made = state.plan if state else None
        if state is None or made is None or state.is_applying:
            return
        why_not = self._why_not(made)
        if why_not:
            self.notify(why_not, severity="warning")
            return
        confirmation = made.confirmation
        self.query_one("#confirm").add_class("asked")
        phrase = self.query_one("#phrase", Input)
        phrase.value = ""
        typed = confirmation.level is Level.PHRASE
        wanted = confirmation.phrase or "yes"
        reasons = f" ({'; '.join(confirmation.reasons)})" if confirmation.reasons else ""
        ask = Span("type " if typed else "to apply type ", Tone.PLAIN)
        question = line(ask, Span(wanted, Tone.STRONG), Span(reasons, Tone.WARN))
        self.query_one("#question", ToneText).show(question)
        phrase.focus()

    def _why_not(self, made: Plan) -> str:
        if self.workbench.session.settings.is_read_only:
            return "this session is read-only"
        if self.state and self.state.events:
            return "this plan was applied: r plans again"
        if made.is_empty:
            return "nothing to apply"
        refused = [each for each in made.guards if not each.passed]
        if refused and any(each.conflicts for each in made.changes):
            return "other managers own fields of this plan: F takes them over"
        return f"refused: {refused[0].message or refused[0].name}" if refused else ""

    def _close_question(self) -> None:
        if self.query_one("#confirm").has_class("asked"):
            self.query_one("#confirm").remove_class("asked")
            self.query_one("#steps").focus()

    @property
    def _is_confirmed(self) -> bool:
        made = self.state.plan if self.state else None
        return made is not None and self.query_one("#phrase", Input).value == (made.confirmation.phrase or "yes")

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "phrase":
            self.query_one("#apply", Button).disabled = not self._is_confirmed
        else:
            super().on_input_changed(event)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id != "phrase":
            super().on_input_submitted(event)
        elif self._is_confirmed:
            self._start()
        else:
            self.notify("that is not the phrase: nothing was applied", severity="warning")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "apply" and self._is_confirmed:
            self._start()
        else:
            self._close_question()

    def _start(self) -> None:
        if self.state is not None:
            self._close_question()
            self.workbench.apply_plan(self.state)

    def action_back(self) -> None:
        if self.query_one("#confirm").has_class("asked"):
            self._close_question()
        else:
            super().action_back()

    def action_stop(self) -> None:
        if self.state is not None and self.state.is_applying:
            self.workbench.stop_apply(self.state)
