"""Taking drift over: the edits of the source that would say what is live, shown before a file is touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from workbench.engine.changes import StackDiff
from workbench.engine.drift import Adoption, StackDrift
from workbench.present import diff, drift, errors, patches
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.frame import Frame
from workbench.tui.later import later
from workbench.tui.state import StackState
from workbench.tui.trying import tried
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

if TYPE_CHECKING:
    from workbench.tui.state import Trouble

WORD = "write"
"""What has to be typed before files are written."""


class AdoptScreen(Frame):
    """`found` is the comparison that drift was seen in."""

    name_in_trail = "Adopt drift"

    DEFAULT_CSS = "AdoptScreen #about { padding: 0 1; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("W", "write", "Write ..."),
        Binding("i", "edit", "What if"),
        Binding("r", "reload", "Again", show=False),
    ]

    def __init__(self, state: StackState, found: StackDiff) -> None:
        super().__init__(state)
        self._stack_state, self._found = state, found
        self._adoption: Adoption | None = None
        self._after: StackDrift | None = None
        self._trouble: Trouble | None = None
        self._is_written = False

    def body(self) -> ComposeResult:
        with VerticalScroll(id="scroll"):
            yield ToneText(id="about", wrap=True)
        yield TypedConfirmation("Write", "that is not the word: no file was written")

    def focus_main(self) -> None:
        self.query_one("#scroll").focus()

    def on_mount(self) -> None:
        super().on_mount()
        self.action_reload()

    def action_reload(self) -> None:
        if not self._is_written:
            self._adoption = self._after = self._trouble = None
            self.run_worker(later(self._make), group="adopt", exclusive=True)

    async def _make(self) -> None:
        """Makes the edits, and looks at what would be left with them."""
        session, stack = self.workbench.session, self._stack_state.stack

        async def make() -> None:
            adoption = await session.adopt_drift(stack, self._found)
            (after,) = await session.drift([stack], adoption.edits.inputs)
            self._adoption, self._after = adoption, after

        self._trouble = await tried(make)
        self.redraw_soon()

    def show_state(self) -> None:
        self.query_one("#about", ToneText).show_all(self._lines())

    def _lines(self) -> Iterator[Line]:
        glyphs, adoption = self.workbench.glyphs, self._adoption
        if self._trouble is not None:
            yield from errors.lines(self._trouble, glyphs)
            return
        if adoption is None:
            yield line(Span("editing, compiling and comparing ...", Tone.BUSY))
            return
        session, stack = self.workbench.session, self._stack_state.stack
        shared = [str(each) for each in session.affected(adoption.edits.files).stacks if each != stack.path]
        yield from drift.adoption_lines(adoption, shared, glyphs)
        yield Line()
        yield from patches.lines(adoption.edits, self._found.spec)
        if not adoption.edits.files:
            yield line(Span(f"{glyphs.unknown} nothing of it can be taken over by an edit", Tone.WARN))
        elif self._after is not None:
            yield from self._afterwards(self._after)

    def _afterwards(self, after: StackDrift) -> Iterator[Line]:
        glyphs = self.workbench.glyphs
        yield Line()
        if after.diff is None:
            yield line(Span(f"{glyphs.unknown} what would be left of the drift is not known", Tone.WARN))
            yield from drift.remark_lines(after, glyphs)
            return
        yield line(Span("drift with this: ", Tone.MUTED), diff.drift_line(after.diff, glyphs))
        summary = diff.summary_line(after.diff.summary, glyphs, is_certain=after.diff.is_certain)
        yield line(Span("an apply then:   ", Tone.MUTED), summary)
        yield from diff.remark_lines(after.diff, glyphs)
        if self._is_written:
            yield line(Span(f"{glyphs.good} written", Tone.GOOD))

    def action_edit(self) -> None:
        """Takes the edits into the What-if of the stack, to be looked at and edited there."""
        if self._is_ready():
            assert self._adoption is not None, "it is ready"
            self.workbench.edit_stack(self._stack_state, self._adoption.edits)
            self.workbench.action_switch_to("whatif")

    def action_write(self) -> None:
        if self._is_ready():
            assert self._adoption is not None, "it is ready"
            names = ", ".join(str(each.relative_to(self._adoption.edits.root)) for each in self._adoption.edits.files)
            question = line("type ", Span(WORD, Tone.STRONG), f" to write {names}; no cluster is touched")
            self.query_one(TypedConfirmation).ask(question, WORD)

    def _is_ready(self) -> bool:
        if self._is_written:
            self.notify("it is written", severity="warning")
        elif self._adoption is None:
            self.notify("there are no edits yet", severity="warning")
        elif not self._adoption.edits.files:
            self.notify("there is nothing to write", severity="warning")
        else:
            return True
        return False

    def on_typed_confirmation_confirmed(self, event: TypedConfirmation.Confirmed) -> None:
        if self._adoption is None or self._is_written:
            return
        try:
            written = self.workbench.session.write_files(self._stack_state.stack, self._adoption.edits)
        except WorkbenchError as error:
            self.notify(f"{error}. {error.hint}", severity="error")
            return
        self._is_written = True
        self.workbench.forget_comparisons(self._stack_state)
        self.notify(f"written: {', '.join(each.name for each in written)}")
        self.redraw()

    def on_typed_confirmation_closed(self) -> None:
        self.focus_main()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        else:
            super().action_back()

    def copied(self) -> str:
        return "\n".join(map(str, self._lines()))
