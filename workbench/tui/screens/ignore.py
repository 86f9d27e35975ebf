"""Leaving a field to others: the rule that says so, as an edit of project.yaml that is shown before it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from runtimes.base import Address, KubernetesId, format_path
from workbench.engine.changes import FieldChange, StackDiff
from workbench.engine.whatif import WhatIf
from workbench.present import errors, patches
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.frame import Frame
from workbench.tui.state import StackState
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

WORD = "write"
"""What has to be typed before a file is written."""


class IgnoreScreen(Frame):
    """`field` is the one that is left to others, of a Kubernetes object; `reason` stands in the rule."""

    name_in_trail = "Leave to others"

    DEFAULT_CSS = "IgnoreScreen #about { padding: 0 1; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("W", "write", "Write ..."),
        Binding("t", "file", "Stack or project"),
        Binding("o", "owner", "Any owner"),
    ]

    def __init__(self, state: StackState, found: StackDiff, address: Address, field: FieldChange, reason: str) -> None:
        super().__init__(state)
        self._stack_state, self._found, self._address, self._field = state, found, address, field
        self._reason = reason
        self._of_stack = False
        self._by_manager = field.actor is not None
        self._made: WhatIf | WorkbenchError = WorkbenchError("there is no edit yet")
        self._is_written = False

    def body(self) -> ComposeResult:
        with VerticalScroll(id="scroll"):
            yield ToneText(id="about", wrap=True)
        yield TypedConfirmation("Write", "that is not the word: no file was written")

    def focus_main(self) -> None:
        self.query_one("#scroll").focus()

    def on_mount(self) -> None:
        self._made = self._make()
        super().on_mount()

    def _make(self) -> WhatIf | WorkbenchError:
        actor, id_ = self._field.actor, self._address.id
        assert isinstance(id_, KubernetesId), "nothing else is left to others by a rule"
        try:
            return self.workbench.session.leave_to_others(
                self._stack_state.stack,
                id_,
                self._field.path,
                self._reason,
                manager=actor.manager if actor is not None and self._by_manager else "",
                of_stack=self._of_stack,
            )
        except WorkbenchError as error:
            return error

    def show_state(self) -> None:
        self.query_one("#about", ToneText).show_all(self._lines())

    def _lines(self) -> Iterator[Line]:
        glyphs, stack = self.workbench.glyphs, self._stack_state.stack
        yield line(Span(format_path(self._field.path), Tone.KEY), f" of {self._address} is left to others, by a rule")
        if isinstance(self._made, WorkbenchError):
            yield from errors.lines(self._made, glyphs)
            return
        whose = f"the stack {stack.name} alone" if self._of_stack else f"all stacks of {stack.path.project}"
        yield line(Span("for     ", Tone.MUTED), whose, self._changes_that("ignore.stack-or-project"))
        actor = self._field.actor
        if actor is not None:
            owner = f"it is {actor.manager}'s" if self._by_manager else "anybody may own it"
            yield line(Span("where   ", Tone.MUTED), owner, self._changes_that("ignore.any-owner"))
        yield line(Span("reason  ", Tone.MUTED), self._reason)
        yield line(
            Span("An apply then sends what is live there, or nothing; the difference goes on being told.", Tone.MUTED)
        )
        yield Line()
        yield from patches.lines(self._made, self._found.spec)
        if self._is_written:
            yield line(Span(f"{glyphs.good} written", Tone.GOOD))

    def _changes_that(self, name: str) -> Span:
        return Span(f"   {self.workbench.key(name)} changes that", Tone.MUTED)

    def action_file(self) -> None:
        """The rule goes into the file of the stack, or of its project."""
        if self._may_change():
            self._of_stack = not self._of_stack
            self._change()

    def action_owner(self) -> None:
        """The rule counts for whoever owns the field, or for its present owner alone."""
        if self._field.actor is None:
            self.notify("no owner of this field is known", severity="warning")
            return
        if self._may_change():
            self._by_manager = not self._by_manager
            self._change()

    def _may_change(self) -> bool:
        if self._is_written:
            self.notify("it is written", severity="warning")
        return not self._is_written

    def _change(self) -> None:
        self.query_one(TypedConfirmation).close()
        self._made = self._make()
        self.redraw()

    def action_write(self) -> None:
        if self._is_written:
            self.notify("it is written", severity="warning")
        elif isinstance(self._made, WorkbenchError):
            self.notify("there is nothing to write", severity="warning")
        else:
            names = self._names(self._made)
            question = line("type ", Span(WORD, Tone.STRONG), f" to write {names}; no cluster is touched")
            self.query_one(TypedConfirmation).ask(question, WORD)

    def on_typed_confirmation_confirmed(self) -> None:
        if isinstance(self._made, WorkbenchError) or self._is_written:
            return
        try:
            self.workbench.session.write_files(self._stack_state.stack, self._made)
        except WorkbenchError as error:
            self.notify(f"{error}. {error.hint}", severity="error")
            return
        self._is_written = True
        self.workbench.forget_comparisons(self._stack_state)
        names = self._names(self._made)
        self.workbench.command_log.add(self.workbench.now(), f"wrote a rule of ignore into {names}", "")
        self.notify(f"written: {names}")
        self.redraw()

    @staticmethod
    def _names(edits: WhatIf) -> str:
        return ", ".join(each.relative_to(edits.root).as_posix() for each in edits.files)

    def on_typed_confirmation_closed(self) -> None:
        self.focus_main()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
            return
        super().action_back()
        if self._is_written:
            self.workbench.diff_stack(self._stack_state)

    def copied(self) -> str:
        return "\n".join(map(str, self._lines()))
