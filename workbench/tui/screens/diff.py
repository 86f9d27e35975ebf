"""Live diff: which resources would change, and for the one under the cursor every field with the line that set it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.timer import Timer

from runtimes.base import Address, KubernetesId, RuntimeFailure, format_path
from workbench.engine.changes import Change, FieldChange, Op
from workbench.engine.events import Action
from workbench.present import clusters, diff, diff_export, diff_sides, durations
from workbench.present.revealed import lines as revealed_lines
from workbench.present.rows import Key, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.session.revealing import WORD
from workbench.tui import saving
from workbench.tui.frame import Frame
from workbench.tui.later import later
from workbench.tui.screens.ignore import IgnoreScreen
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

NARROW = 36
"""What a field may take in one line of a pane at least."""
REVEALED_SECONDS = 30.0
CONTEXTS = (1, 3, 10, None)
"""So many lines of the configuration around a field that changes; None: all."""


class DiffScreen(Frame):
    stops = "diff.stop-waiting"
    name_in_trail = "Live diff"

    DEFAULT_CSS = """
    DiffScreen #summary { height: auto; max-height: 6; padding: 0 1; }
    DiffScreen #panes { layout: horizontal; height: 1fr; }
    DiffScreen.-narrow #panes { layout: vertical; }
    DiffScreen #changes { width: 5fr; }
    DiffScreen #fields { width: 7fr; border-left: solid $panel; }
    DiffScreen #revealed { display: none; height: auto; max-height: 9; padding: 0 1; background: $warning 10%; }
    DiffScreen #revealed.shown { display: block; }
    DiffScreen.-narrow #changes { width: 1fr; height: 8; }
    DiffScreen.-narrow #fields { width: 1fr; border-left: none; border-top: solid $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "app.switch_to('whatif')", "What if", show=False),
        Binding("P", "app.switch_to('plan')", "Plan"),
        Binding("c", "app.switch_to('spec')", "Spec"),
        Binding("w", "app.switch_to('reconcile')", "Watch"),
        Binding("n", "next(1)", "Next", show=False),
        Binding("N", "next(-1)", "Previous", show=False),
        Binding("right_curly_bracket", "next_field(1)", "Next change", key_display="}", show=False),
        Binding("left_curly_bracket", "next_field(-1)", "Previous change", key_display="{", show=False),
        Binding("vertical_line", "sides", "Side by side", key_display="|", show=False),
        Binding("u", "around", "What is around", show=False),
        Binding("plus", "more(1)", "More around", key_display="+", show=False),
        Binding("minus", "more(-1)", "Less around", key_display="-", show=False),
        Binding("space", "leave_out", "Leave out", show=False),
        Binding("E", "export", "Export", show=False),
        Binding("I", "ignore", "Leave to others ...", show=False),
        Binding("R", "reveal", "Reveal a secret ...", show=False),
        Binding("D", "drift", "Drift only"),
        Binding("s", "source", "Go to source"),
        Binding("K", "call_off", "Stop waiting", show=False),
        Binding("r", "reload", "Compare again"),
    ]

    drift_only = False
    has_sides = False
    has_context = False
    _level = 1
    _to_reveal: tuple[Change, FieldChange] | None = None
    _hiding: Timer | None = None
    _goes_on = 0

    def body(self) -> ComposeResult:
        yield ToneText(id="summary", wrap=True)
        with Container(id="panes"):
            yield ResourceTable(diff.CHANGE_COLUMNS, id="changes", empty="comparing ...")
            yield ResourceTable(diff.FIELD_COLUMNS, id="fields", header=False, empty="")
        with VerticalScroll(id="revealed", can_focus=False):
            yield ToneText(id="secret", wrap=True)
        yield TypedConfirmation("Reveal", "that is not the word: nothing was revealed")

    def on_mount(self) -> None:
        super().on_mount()
        if self.state is not None:
            self.workbench.diff_stack(self.state)

    def show_state(self) -> None:
        found = self.state.diff if self.state else None
        changes = self.query_one("#changes", ResourceTable)
        if found is None:
            changes.empty = "nothing to show" if self.state and self.state.error else "comparing ..."
            changes.refresh()
            return
        glyphs = self.workbench.glyphs
        summary = diff.summary_line(found.summary, glyphs, is_certain=found.is_certain)
        age = durations.short((self.workbench.now() - found.compared_at).total_seconds())
        summary = line(summary, Span(f"  compared {age} ago", Tone.MUTED))
        left_out = self.state.skipped if self.state else frozenset()
        header = [*clusters.few_lines(found.identities, self.app.size.width - 2), summary]
        if count := sum(each.address in left_out for each in found.changes):
            header.append(
                line(
                    Span(
                        f"the plan leaves {count} out: {self.workbench.key('diff.leave-out')} takes it back", Tone.WARN
                    )
                )
            )
        header += diff.remark_lines(found, glyphs)
        if self.drift_only:
            drift = diff.drift_line(found, glyphs)
            header.append(
                line(Span(f"drift only ({self.workbench.key('diff.drift-only')} shows everything): ", Tone.WARN), drift)
            )
        self.query_one("#summary", ToneText).show_all(header)
        changes.empty = self._nothing()
        changes.set_rows(diff.change_rows(found.changes, drift_only=self.drift_only, left_out=left_out))
        self._show_fields()

    def _nothing(self) -> str:
        if self.state and self.state.diff and not self.state.diff.is_certain:
            return "no difference in what could be compared, and not everything could"
        if self.drift_only:
            return "no drift to show: the line above says whether all of it is known"
        return "no difference: the clusters say what the configuration says"

    def _show_fields(self) -> None:
        change, found = self._change(), self.state.diff if self.state else None
        rows: tuple[Row, ...] = ()
        if change is not None and found is not None:
            now, glyphs = self.workbench.now(), self.workbench.glyphs
            width = max(NARROW, self.query_one("#fields", ResourceTable).room)
            if self.has_context and not self.drift_only:
                context = CONTEXTS[self._level]
                rows = diff.around_rows(change, found.spec, self.roots, glyphs, now, context=context, width=width)
            else:
                view = diff_sides.rows if self.has_sides else diff.detail_rows
                rows = view(change, found.spec, self.roots, glyphs, now, drift_only=self.drift_only, width=width)
        fields = self.query_one("#fields", ResourceTable)
        columns = diff_sides.columns(fields.room) if self.has_sides else diff.FIELD_COLUMNS
        if columns != fields.columns:
            fields.columns = columns
            fields.set_rows(())
        fields.set_rows(rows)
        if self._goes_on:
            fields.cursor = 0 if self._goes_on > 0 else _begin(fields, len(rows) - 1)
            self._goes_on = 0

    def _change(self) -> Change | None:
        found = self.state.diff if self.state else None
        match self.query_one("#changes", ResourceTable).current:
            case Address() as address if found:
                return next((each for each in found.changes if each.address == address), None)
        return None

    def status(self) -> Line:
        change = self._change()
        if change and change.source:
            source = f"{self.workbench.glyphs.source} {diff.source_text(change.source, *self.roots)}"
            return line(super().status(), Span(source, Tone.SOURCE))
        return super().status()

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        if self.is_revealing:
            self.hide_secret()
        if event.table.id == "changes":
            self._show_fields()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        if event.table.id == "changes":
            self.query_one("#fields", ResourceTable).focus()
        else:
            self.action_source()

    def action_next(self, by: int) -> None:
        self.query_one("#changes", ResourceTable).action_cursor(by)

    def action_next_field(self, by: int) -> None:
        """The next changed field, from the last one of a resource the first of the next."""
        fields = self.query_one("#fields", ResourceTable)
        paths = [_path(each.key) for each in fields.shown]
        at = _begin(fields, fields.cursor)
        there = next((n for n in range(fields.cursor + 1, len(paths)) if paths[n] != paths[at]), None)
        if by < 0:
            there = _begin(fields, at - 1) if at > 0 else None
        if there is not None:
            fields.cursor = there
            return
        changes = self.query_one("#changes", ResourceTable)
        if 0 <= changes.cursor + by < len(changes.shown):
            self._goes_on = by
            changes.action_cursor(by)
        else:
            self.notify("this is the last change" if by > 0 else "this is the first change")

    def action_sides(self) -> None:
        self.has_sides, self.has_context = not self.has_sides, False
        self.redraw()

    def action_around(self) -> None:
        """Shows what is configured around the fields that change, folded, or the fields alone again."""
        self._show_around(not self.has_context)

    def action_more(self, by: int) -> None:
        """Unfolds more of it, or less; it is shown then in any case."""
        if self.has_context:
            self._level = min(max(self._level + by, 0), len(CONTEXTS) - 1)
        self._show_around(True)

    def _show_around(self, is_shown: bool) -> None:
        if is_shown and self.drift_only:
            self.notify(
                f"only drift is shown: {self.workbench.key('diff.drift-only')} shows everything", severity="warning"
            )
            return
        self.has_context, self.has_sides = is_shown, False
        if is_shown:
            lines = CONTEXTS[self._level]
            more, less = (self.workbench.key(each) for each in ("diff.more-around", "diff.less-around"))
            said = f"{lines} lines around each field; {more} and {less} change that"
            self.notify("all of it" if lines is None else said)
        self.redraw()

    def action_leave_out(self) -> None:
        """Has plans leave the resource under the cursor out, or have it again."""
        change, state = self._change(), self.state
        if change is None or state is None:
            return
        if state.is_applying:
            self.notify("an apply runs: its plan stays as it is", severity="warning")
            return
        self.workbench.leave_out(state, change.address)
        self.redraw()

    def action_export(self) -> None:
        self.open_command("export ")

    def exports(self) -> tuple[str, ...]:
        return (*diff_export.FORMS, *super().exports())

    def export(self, form: str) -> None:
        """Writes the comparison into the working folder, masked as it is here."""
        if form not in diff_export.FORMS:
            if form == "yaml" or self._may_be_saved():
                super().export(form)
            return
        found = self.state.diff if self.state else None
        if found is None:
            self.notify("there is nothing to export yet: it is not compared", severity="warning")
            return
        now = self.workbench.now()
        text = diff_export.exported(found, form, self.roots, now, drift_only=self.drift_only)
        path = saving.file_name((found.stack, "drift" if self.drift_only else "diff"), form, now)

        def write() -> Path:
            saving.save(path, text.splitlines())
            return path

        self._saved(write)

    def action_ignore(self) -> None:
        if self._field() is not None:
            self.open_command("ignore ")

    def ignore(self, reason: str) -> None:
        """Opens the rule that leaves the field under the cursor to others, for a reason that stands in it."""
        change, field, state = self._change(), self._field(), self.state
        if change is None or field is None or state is None or state.diff is None:
            return
        if not reason.strip():
            self.notify("say why others may change it: ignore REASON", severity="warning")
            return
        if self.workbench.session.holds_secret(reason):
            self.notify(
                "the reason looks like a secret, and would stand in a file: say it otherwise", severity="warning"
            )
            return
        self.app.push_screen(IgnoreScreen(state, state.diff, change.address, field, reason.strip()))

    def _under_cursor(self) -> tuple[Change | None, FieldChange | None]:
        """Returns the change of the resource, and that of the field, None where the cursor is on none that changes."""
        change, key = self._change(), self.query_one("#fields", ResourceTable).current
        return change, next((each for each in change.fields if each.path == _path(key)), None) if change else None

    def _other_pane(self) -> str:
        return f"the other pane ({self.workbench.key('everywhere.next-pane')})"

    def _field(self) -> FieldChange | None:
        """The field under the cursor that a rule can leave to others; says why where there is none."""
        change, field = self._under_cursor()
        if change is None or field is None or change.action in (Action.CREATE, Action.DELETE):
            pane = self._other_pane()
            self.notify(f"put the cursor on a field that changes, in {pane}", severity="warning")
        elif not isinstance(change.address.id, KubernetesId):
            self.notify("for Terraform there is ignore_changes of lifecycle, in the source", severity="warning")
        elif field.op is Op.KEPT:
            self.notify("an apply leaves this alone as it is", severity="warning")
        else:
            return field
        return None

    # --- a secret in clear: it stands on this screen alone, in no table, until the cursor or the screen goes elsewhere

    def action_reveal(self) -> None:
        change, field = self._under_cursor()
        if change is None or field is None or not field.is_masked:
            pane = self._other_pane()
            self.notify(f"put the cursor on a masked field that changes, in {pane}", severity="warning")
            return
        self.hide_secret()
        self._to_reveal = change, field
        name = Span(f"{format_path(field.path)} of {change.address}", Tone.KEY)
        question = line("type ", Span(WORD, Tone.STRONG), " to see ", name, "; the audit trail has that you did")
        self.query_one(TypedConfirmation).ask(question, WORD)

    def on_typed_confirmation_confirmed(self, event: TypedConfirmation.Confirmed) -> None:
        if self._to_reveal is not None:
            self.run_worker(later(self._reveal, *self._to_reveal, event.phrase), group="reveal", exclusive=True)

    def on_typed_confirmation_closed(self) -> None:
        self.query_one("#fields").focus()

    async def _reveal(self, change: Change, field: FieldChange, word: str) -> None:
        try:
            found = await self.workbench.session.reveal(change, field, confirm=word)
        except (WorkbenchError, RuntimeFailure) as error:
            self.notify(f"{error}. {error.hint}", severity="error")
            return
        if self.is_current and self._to_reveal == (change, field):
            self.query_one("#secret", ToneText).show_all(revealed_lines(found))
            self.query_one("#revealed").add_class("shown")
            self._hiding = self.set_timer(REVEALED_SECONDS, self.hide_secret)

    def hide_secret(self) -> None:
        """Takes the secret from the screen, and one that is on its way."""
        self._to_reveal = None
        if self._hiding is not None:
            self._hiding.stop()  # else it would take away what is revealed, or asked about, after this
            self._hiding = None
        self.workers.cancel_group(self, "reveal")
        if self.query("#secret"):
            self.query_one("#secret", ToneText).show_all(())
            self.query_one("#revealed").remove_class("shown")

    @property
    def is_revealing(self) -> bool:
        return bool(self.query("#revealed.shown"))

    def on_screen_suspend(self) -> None:
        self.query_one(TypedConfirmation).close()
        self.hide_secret()

    def action_picture(self) -> None:
        if self._may_be_saved():
            super().action_picture()

    def _may_be_saved(self) -> bool:
        """Says so where a secret is on the screen, which no file may have."""
        if self.is_revealing:
            back = self.workbench.key("everywhere.back")
            self.notify(f"a secret is on the screen: {back} takes it away first", severity="warning")
        return not self.is_revealing

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        elif self.is_revealing:
            self.hide_secret()
        else:
            super().action_back()

    def action_drift(self) -> None:
        self.drift_only = not self.drift_only
        self.redraw()

    def action_source(self) -> None:
        """Opens the editor at the line that set the field under the cursor."""
        change, found = self._change(), self.state.diff if self.state else None
        if change is None or found is None:
            return
        self.edit_field(found.spec, change, self.query_one("#fields", ResourceTable).current)


def _path(key: Key) -> object:
    return key[0] if isinstance(key, tuple) else key


def _begin(fields: ResourceTable, at: int) -> int:
    """Returns the first row of the field that a row belongs to."""
    keys = [_path(each.key) for each in fields.shown]
    while at > 0 and keys[at - 1] == keys[at]:
        at -= 1
    return max(0, at)
