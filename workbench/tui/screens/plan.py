"""Plan: the steps in their order, the guards before them, the typed confirmation; then the same steps as they run.

The same screen shows the plans that take everything away, take drift back, or return to a former release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtimes.base import Address
from workbench.engine.events import ApplyFinished, Outcome, RecordFailed, StepFailed
from workbench.engine.plan import Level, Plan
from workbench.engine.policy.findings import PolicyFinding
from workbench.present import clusters, durations, plan, policy
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.screens.details import StepScreen
from workbench.tui.screens.reach import ReachScreen, shown_reach
from workbench.tui.state import Verb
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

_NAMES = {Verb.APPLY: "Plan", Verb.DESTROY: "Destroy", Verb.REVERT: "Revert drift", Verb.ROLLBACK: "Roll back"}

_MOST_FINDINGS = 5
"""So many are shown at a time; the others are scrolled to."""
DROP = "drop"
"""What has to be typed to make Terraform drop what it has begun."""


class PlanScreen(Frame):
    writes = True
    name_in_trail = "Plan"
    stops = "plan.stop"

    DEFAULT_CSS = """
    PlanScreen #head { height: auto; padding: 0 1; }
    PlanScreen #findings { height: auto; max-height: 6; display: none; }
    PlanScreen #findings.shown { display: block; }
    PlanScreen #guards { height: auto; max-height: 7; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "app.switch_to('whatif')", "What if", show=False),
        Binding("a", "ask", "Apply ..."),
        Binding("space", "skip", "Leave out", show=False),
        Binding("F", "force", "Force", show=False),
        Binding("d", "app.switch_to('diff')", "Diff"),
        Binding("w", "app.switch_to('reconcile')", "Watch"),
        Binding("X", "destroy", "Destroy", show=False),
        Binding("s", "source", "Source", show=False),
        Binding("b", "reach", "Blast radius", show=False),
        Binding("K", "stop", "Stop"),
        Binding("U", "app.undo", "Undo the last release", show=False),
        Binding("r", "reload", "Plan again"),
        *MATCH_KEYS,
    ]

    def body(self) -> ComposeResult:
        yield ToneText(id="head", wrap=True)
        yield ResourceTable(plan.STEP_COLUMNS, id="steps", empty="planning ...")
        yield ResourceTable(policy.FINDING_COLUMNS, id="findings", empty="no findings")
        yield ToneText(id="guards", wrap=True)
        yield TypedConfirmation("Apply", "that is not the phrase: nothing was applied")

    _labelled: Plan | None = None
    _labels: Mapping[Address, Line]

    _asked_to_stop = False
    """Whether the question that stands there is the one about stopping at once."""

    def banner(self) -> Line:
        self.name_in_trail = _NAMES[self.state.goal.verb] if self.state else "Plan"
        return super().banner()

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
        summary = plan.summary(made, glyphs)
        age = durations.short((self.workbench.now() - made.made_at).total_seconds())
        made_ago = Span(f"  made {age} ago", Tone.MUTED)
        title = line(plan.title(made, glyphs), made_ago)
        judged = [policy.report_line(made.policy, glyphs)] if made.policy is not None else []
        is_of_edits = state.goal.verb is Verb.APPLY and state.reach is not None and not state.events
        reach = [shown_reach(self, state)] if is_of_edits else []
        places = clusters.few_lines(made.identities, self.app.size.width - 2)
        self.query_one("#head", ToneText).show(title, *places, summary, *reach, *judged)
        if made.left_out:
            steps.empty = "nothing to do but what is left out"
        elif not made.is_certain:
            steps.empty = "no step, and not everything could be found out: what is missing is said below"
        elif made.rolls_back_to:
            steps.empty = f"nothing to do: {_everywhere(made)} what release #{made.rolls_back_to} had"
        elif made.destroys:
            steps.empty = "nothing to do: nothing is left of this stack"
        else:
            steps.empty = f"nothing to do: {_everywhere(made)} what the configuration says"
        if self._labelled is not made:
            self._labelled, self._labels = made, plan.step_labels(made)
        steps.set_rows(plan.step_rows(made, state.events, self._labels))
        self._show_findings(made)
        self.query_one("#guards", ToneText).show_all(self._below(made))
        for event in state.events[-1:]:
            # a question about stopping stays: who types into it would otherwise press keys of the screen
            if isinstance(event, ApplyFinished) and not self._asked_to_stop:
                self.query_one(TypedConfirmation).close()

    def _show_findings(self, made: Plan) -> None:
        """What policies found stays beside the steps until these are carried out."""
        table = self.query_one("#findings", ResourceTable)
        found = made.policy.findings if made.policy is not None and self.state and not self.state.events else ()
        table.set_class(bool(found), "shown")
        if made.policy is not None and found:
            table.set_rows(policy.finding_rows(made.policy, self.roots, self.workbench.glyphs))
            table.styles.height = min(len(found), _MOST_FINDINGS) + 1

    def _finding(self) -> PolicyFinding | None:
        """The finding under the cursor, where the cursor is in their table."""
        made, table = self.state.plan if self.state else None, self.query_one("#findings", ResourceTable)
        match table.current:
            case int() as number if made is not None and made.policy is not None and self.focused is table:
                return made.policy.findings[number] if number < len(made.policy.findings) else None
        return None

    def _below(self, made: Plan) -> list[Line]:
        """Gates before an apply, what went wrong and how it ended after one."""
        events, glyphs = (self.state.events if self.state else ()), self.workbench.glyphs
        if not events:
            listed = list(plan.guards(made, glyphs, compact=True, with_findings=False))
            if (finding := self._finding()) is not None:
                listed.insert(0, policy.finding_line(finding, self.workbench.konfig.root, glyphs))
            if any(each.conflicts for each in made.changes):
                force, skip = (self.workbench.key(each) for each in ("plan.force", "plan.leave-out"))
                how = (
                    f"{force} gives them back"
                    if made.force
                    else f"{force} takes over the fields in conflict, {skip} leaves a step out"
                )
                listed.insert(0, line(Span(how, Tone.MUTED)))
            return listed
        shown = [each for each in events if isinstance(each, StepFailed | RecordFailed | ApplyFinished)]
        lines = [found for each in shown[-6:] if (found := plan.event_line(each, glyphs))]
        if not isinstance(events[-1], ApplyFinished):
            return [*lines, *plan.going_on(events, glyphs)]
        if events[-1].outcome is not Outcome.SUCCEEDED:
            lines.append(line(Span(f"{self.workbench.key('everywhere.reload')} plans what is left", Tone.MUTED)))
        elif made.rolls_back_to:
            said = "the configuration says what it said: the next plan of it would go forward again"
            lines.append(line(Span(said, Tone.WARN)))
        elif not made.destroys:
            lines.append(line(Span(f"{self.workbench.key('plan.watch')} watches it become ready", Tone.MUTED)))
        return lines

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        if event.table.id == "findings":
            self.redraw()

    def on_descendant_focus(self) -> None:
        if self.state is not None and self.state.plan is not None and self.state.plan.policy is not None:
            self.redraw()

    def action_source(self) -> None:
        """Opens the editor at the line that a finding is about, or that says the resource of a step."""
        made, finding = self.state.plan if self.state else None, self._finding()
        change = None
        match self.query_one("#steps", ResourceTable).current:
            case Address() as address if made is not None:
                change = made.by_address().get(address)
        chain = finding.source if finding is not None else change.source if change is not None else ()
        if chain:
            self.workbench.edit(chain[0].file, chain[0].line)
        else:
            self.notify("no source line is known for this", severity="warning")

    def action_reach(self) -> None:
        """Opens all that the edits at hand change, in whatever stack."""
        if self.state is not None and self.state.goal.verb is not Verb.APPLY:
            self.notify("this plan is not of what is edited", severity="warning")
        elif self.state is not None:
            self.app.push_screen(ReachScreen(self.state))

    def action_destroy(self) -> None:
        """Plans to take everything away; a second time plans what the configuration says again."""
        if self.state is not None and not self.state.is_applying:
            self.query_one(TypedConfirmation).close()
            self.workbench.toggle_destroying(self.state)
            self.redraw()

    def action_force(self) -> None:
        """Plans again, taking over what other managers own; a second time gives it back."""
        if self.state is not None and self.state.goal.verb is Verb.REVERT:
            self.notify("a plan that takes drift back takes over the fields in conflict as it is", severity="warning")
        elif self.state is not None and not self.state.is_applying:
            self.workbench.toggle_forced(self.state)

    def action_skip(self) -> None:
        """Plans again without the step under the cursor, or with what was left out by it."""
        state, key = self.state, self.query_one("#steps", ResourceTable).current
        made = state.plan if state else None
        if state is None or made is None or state.is_applying or state.events or not isinstance(key, Address):
            return
        if made.destroys:
            self.notify("what is destroyed is destroyed as a whole", severity="warning")
            return
        because = {each.address: each.because for each in made.left_out}.get(key)
        self.query_one(TypedConfirmation).close()
        self.workbench.toggle_skipped(state, because or key)
        self.redraw()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        """Opens the fields of the step under the cursor, or the line of the finding."""
        if event.table.id == "findings":
            self.action_source()
            return
        made = self.state.plan if self.state is not None else None
        if made is None or event.key not in made.by_address():
            return
        if self.state is not None and isinstance(event.key, Address):
            self.app.push_screen(StepScreen(self.state, event.key))

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
        typed = confirmation.level is Level.PHRASE
        wanted = confirmation.phrase or "yes"
        reasons = f" ({'; '.join(confirmation.reasons)})" if confirmation.reasons else ""
        ask = Span("type " if typed else "to apply type ", Tone.PLAIN)
        question = line(ask, Span(wanted, Tone.STRONG), Span(reasons, Tone.WARN))
        self._asked_to_stop = False
        if made.destroys:
            refusal = "that is not the phrase: nothing was destroyed"
            self.query_one(TypedConfirmation).ask(question, wanted, verb="Destroy", refusal=refusal)
        else:
            self.query_one(TypedConfirmation).ask(question, wanted)

    def why_not(self, action: str) -> str:
        state = self.state
        made = state.plan if state is not None else None
        match action:
            case "ask":
                is_applying = state is not None and state.is_applying
                said = "it is applied now" if is_applying else "it is not planned yet"
                return said if made is None or is_applying else self._why_not(made)
            case "stop":
                return "" if state is not None and state.busy else "nothing is awaited here"
        return super().why_not(action)

    def _why_not(self, made: Plan) -> str:
        if self.workbench.session.settings.is_read_only:
            return "this session is read-only"
        if self.state and self.state.events:
            return f"this plan was applied: {self.workbench.key('everywhere.reload')} plans again"
        if made.is_as_configured and not made.is_unrecorded:
            return "nothing to destroy" if made.destroys else "nothing to apply"
        if made.is_empty and made.left_out:
            return "nothing to apply but what is left out"
        if made.is_empty and made.gaps:
            return f"nothing is known to do, and something may be left: {made.gaps[0]}"
        refused = [each for each in made.guards if not each.passed]
        if refused and any(each.conflicts for each in made.changes):
            return f"other managers own fields of this plan: {self.workbench.key('plan.force')} takes them over"
        return f"refused: {refused[0].message or refused[0].name}" if refused else ""

    def on_typed_confirmation_confirmed(self, event: TypedConfirmation.Confirmed) -> None:
        made = self.state.plan if self.state else None
        if self._asked_to_stop:
            if self.state is not None and self.state.is_applying:
                self.workbench.stop_apply(self.state, at_once=True)
            else:
                self.notify("it has ended meanwhile")
            return
        if self.state is None or made is None or self._why_not(made):
            return
        if event.phrase == (made.confirmation.phrase or "yes"):
            self.workbench.apply_plan(self.state)
        else:
            self.notify("the plan was made again meanwhile: ask again", severity="warning")

    def on_typed_confirmation_closed(self) -> None:
        self._asked_to_stop = False
        self.query_one("#steps").focus()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        else:
            super().action_back()

    def action_stop(self) -> None:
        """Ends an apply in order; pressed again, asks whether Terraform shall drop what it has begun."""
        state = self.state
        if state is None or not state.is_applying:
            self.action_call_off()
            return
        if not state.is_stopping:
            self.workbench.stop_apply(state)
        elif state.plan is None or not any(each.cluster == state.plan.workspace for each in plan.running(state.events)):
            self.notify("it is stopping: what was begun ends first", severity="warning")
        else:
            self._asked_to_stop = True
            why = " (Terraform may lose track of what it is making; the next plan looks for it)"
            question = line("to stop at once type ", Span(DROP, Tone.STRONG), Span(why, Tone.WARN))
            refusal = "that is not the word: what was begun goes on to its end"
            self.query_one(TypedConfirmation).ask(question, DROP, verb="Stop now", refusal=refusal)


def _everywhere(made: Plan) -> str:
    if not made.workspace:
        return "the clusters say"
    return "the clusters and Terraform say" if made.clusters else "Terraform says"
