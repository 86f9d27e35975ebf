"""What if: edit a file of the stack over the repository, never in it, and see at once what would change live.

The edits stay with the stack: its spec, diff, plan and watch are those of the edited files until the edits are dropped
or written to the working tree, each after a word that is typed.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import anyio
import anyio.to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.timer import Timer
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from workbench.engine import branching, committing
from workbench.engine.changes import StackDiff
from workbench.engine.whatif import WhatIf
from workbench.present import diff, errors
from workbench.present.glyphs import action_sign
from workbench.present.reconcile import short_id
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError, checkout
from workbench.tui import saving
from workbench.tui.frame import Frame
from workbench.tui.key_names import WithNames
from workbench.tui.later import later
from workbench.tui.screens.reach import ReachScreen, shown_reach
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

if TYPE_CHECKING:
    # the language service is loaded when something is edited, and not before the first screen is seen
    from workbench.engine.language import Choice, Finding, Language

Word = Literal["write", "drop"]
"""What has to be typed before files are written, or edits lost."""
CHOICES = (Column("Choice", grow=True), Column("Type", most=40))
NARROW = 36
SETTLE_SECONDS = 0.3
"""So long nothing may be typed before the edit is compiled."""


class Editor(WithNames, TextArea):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave the editor"),
        Binding("ctrl+n", "complete", "Complete"),
    ]

    def on_mount(self) -> None:
        # a blinking cursor is a line sent twice a second, which SSH has better uses for
        self.cursor_blink = False

    def action_leave(self) -> None:
        self.screen.query_one("#effect").focus()

    def action_complete(self) -> None:
        if isinstance(self.screen, WhatIfScreen):
            self.screen.complete()


class WhatIfScreen(Frame):
    stops = "what-if.stop-waiting"
    writes = True
    name_in_trail = "What if"

    DEFAULT_CSS = """
    WhatIfScreen #summary { height: auto; max-height: 6; padding: 0 1; }
    WhatIfScreen #panes { layout: horizontal; height: 1fr; }
    WhatIfScreen.-narrow #panes { layout: vertical; }
    WhatIfScreen #editor { width: 1fr; height: 1fr; border: none; padding: 0; }
    WhatIfScreen #effect { width: 1fr; height: 1fr; border-left: solid $panel; }
    WhatIfScreen #choices { display: none; height: 8; border-top: solid $panel; }
    WhatIfScreen.choosing #choices { display: block; }
    WhatIfScreen #trouble.shown { max-height: 6; }
    WhatIfScreen.-narrow #trouble.shown { max-height: 4; }
    WhatIfScreen.choosing #trouble.shown { display: none; }
    WhatIfScreen.-narrow.choosing #effect { display: none; }
    WhatIfScreen.-narrow #effect { border-left: none; border-top: solid $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("f", "file(1)", "Next file"),
        Binding("F", "file(-1)", "File before", show=False),
        Binding("n", "finding", "Next finding", show=False),
        Binding("P", "app.switch_to('plan')", "Plan"),
        Binding("b", "reach", "Blast radius", show=False),
        Binding("p", "patch", "Patch to clipboard", show=False),
        Binding("E", "save", "Save as a patch", show=False),
        Binding("C", "commit", "Commit ...", show=False),
        Binding("B", "branch", "Save as a branch ...", show=False),
        Binding("X", "drop", "Drop edits ..."),
        Binding("K", "call_off", "Stop waiting", show=False),
        Binding("W", "write", "Write to files ..."),
    ]

    _timer: Timer | None = None
    _asked: tuple[Word, WhatIf | None] | None = None
    _draft = ""
    _compared_before: StackDiff | None = None
    """The comparison of the text before the last edit, which says nothing of what is edited now."""

    def __init__(self, state: object, *, at: tuple[Path, int] | None = None) -> None:
        from workbench.tui.state import StackState

        assert isinstance(state, StackState)
        super().__init__(state)
        self._stack_state = state
        self._files = self._stack_files()
        self._file = self._files[0]
        self._line = 0
        self._language: Language | None = None
        self._one_at_a_time = anyio.CapacityLimiter(1)
        self._findings: tuple[Finding, ...] = ()
        self._choices: tuple[Choice, ...] = ()
        if at is not None:
            self._file, self._line = at
            self._files = (*self._files, *(() if self._file in self._files else (self._file,)))

    def body(self) -> ComposeResult:
        yield ToneText(id="summary", wrap=True)
        with Container(id="panes"):
            yield Editor(self._text(), id="editor", show_line_numbers=True, tab_behavior="indent")
            yield ResourceTable(diff.FIELD_COLUMNS, id="effect", header=False, empty="comparing ...")
        yield ResourceTable(CHOICES, id="choices", header=False, empty="")
        yield TypedConfirmation("Yes", "that is not the word: nothing was written or dropped")

    def on_mount(self) -> None:
        self._draft = self.workbench.drafts.take_up(self._stack_state)
        if self._stack_state.edits:
            with self.prevent(TextArea.Changed):
                self.query_one(Editor).load_text(self._text())
        super().on_mount()
        if self._line:
            self.query_one(Editor).move_cursor((self._line - 1, 0), center=True)
        self.workbench.diff_stack(self._stack_state)
        if self._stack_state.edits:
            self.workbench.measure_reach(self._stack_state)

    def focus_main(self) -> None:
        self.set_focus(self.query_one(Editor))

    @property
    def whatif(self) -> WhatIf:
        return self._stack_state.whatif or self.workbench.session.whatif(self._stack_state.stack)

    def _stack_files(self) -> tuple[Path, ...]:
        stack = self._stack_state.stack
        own = (*sorted(stack.directory.glob("*.k")), *sorted((stack.project_directory / "base").glob("*.k")))
        return tuple(own) or (stack.directory / "main.k",)

    def _text(self) -> str:
        try:
            return self.whatif.text(self._file)
        except WorkbenchError:
            return ""

    def show_state(self) -> None:
        found, glyphs = self._stack_state.diff, self.workbench.glyphs
        head = [self._tabs(), line(Span("only here: no file is touched; esc leaves the editor", Tone.MUTED))]
        if self._findings:
            head.append(self._first_finding())
        if self._draft:
            head.append(line(Span(self._draft, Tone.WARN)))
        if self._stack_state.reach is not None and self._stack_state.edits:
            head.append(shown_reach(self, self._stack_state))
        effect = self.query_one("#effect", ResourceTable)
        if found is None:
            self.query_one("#summary", ToneText).show_all(head)
            effect.empty = "no comparison yet" if self._stack_state.error else "comparing ..."
            effect.refresh()
            return
        summary = diff.summary_line(found.summary, glyphs, is_certain=found.is_certain)
        is_old = found is self._compared_before
        head.append(line(Span("before this edit: ", Tone.WARN), summary) if is_old else summary)
        head += diff.remark_lines(found, glyphs)
        self.query_one("#summary", ToneText).show_all(head)
        effect.empty = (
            "comparing ..."
            if is_old
            else "no difference: what is there is what this says"
            if found.is_certain
            else "not everything could be compared"
        )
        rows: list[Row] = []
        now = self.workbench.now()
        width = max(NARROW, effect.room - 2)
        for change in found.different():
            rows.append(Row(change.address, (line(action_sign(change.action), " ", short_id(change.address)), Line())))
            for row in diff.detail_rows(change, found.spec, self.roots, glyphs, now, width=width):
                rows.append(Row((change.address, row.key), (line("  ", row.cells[0]), *row.cells[1:])))
        effect.set_rows(rows)

    def _tabs(self) -> Line:
        """The files of the stack: the one that is shown, and with a star those that are edited."""
        root, edited = self._stack_state.stack.project_directory, self.whatif.files
        spans: list[Span] = []
        for each in self._files:
            name = str(each.relative_to(root)) if each.is_relative_to(root) else each.name
            tone = Tone.SOURCE if each == self._file else Tone.MUTED
            shown = f"[{name}]" if each == self._file else name
            spans.append(Span(f"{shown}{'*' if each in edited else ''}  ", tone))
        return line(*spans)

    def on_text_area_changed(self) -> None:
        self.query_one(TypedConfirmation).close()  # what it asks about is another text now
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(SETTLE_SECONDS, self._take_edit)

    def _take_edit(self) -> None:
        text = self.query_one(Editor).text
        if text == self._text():
            return
        self._compared_before = self._stack_state.diff
        self.workbench.edit_stack(self._stack_state, self.whatif.edit(self._file, text))
        self.redraw()
        self.workbench.diff_stack(self._stack_state)
        self.workbench.measure_reach(self._stack_state)
        self.run_worker(later(self._check), group="check", exclusive=True)

    # --- the language service, on a thread: one call at a time

    def _texts(self) -> dict[Path, str]:
        """The edited files, with that of the editor as it is now."""
        return {**self.whatif.edits, self._file: self.query_one(Editor).text}

    def _service(self) -> Language:
        if self._language is None:
            from workbench.engine.language import Language

            root = self.workbench.session.root
            self._language = Language(checkout(root), self._stack_state.stack.directory)
        return self._language

    async def _check(self) -> None:
        """Looks for what is wrong with the texts, which a compilation tells only as far as it comes."""
        texts = self._texts()
        try:
            found = await anyio.to_thread.run_sync(lambda: self._service().findings(texts), limiter=self._one_at_a_time)
        except Exception as error:
            # the boundary of a task: what is wrong with the help is said, and the edit stays
            self.notify(str(errors.Bug(error)), severity="error")
            return
        if self._is_still_about(texts):
            self._findings = found
            self.redraw_soon()

    def _is_still_about(self, texts: dict[Path, str]) -> bool:
        """Whether these are the texts yet, and the screen was not left while they were looked at."""
        return self.is_current and bool(self.query("#choices")) and bool(self.query(Editor)) and texts == self._texts()

    def _first_finding(self) -> Line:
        first, glyphs = self._findings[0], self.workbench.glyphs
        sign = Span(f"{glyphs.bad if first.is_error else glyphs.finding} ", Tone.BAD if first.is_error else Tone.WARN)
        where = f"{first.file.name}:{first.line}: " if first.line else ""
        more = f"  and {len(self._findings) - 1} more" if len(self._findings) > 1 else ""
        text = self.workbench.session.masked(first.message)
        return line(sign, Span(where, Tone.SOURCE), text, Span(more, Tone.MUTED))

    def action_finding(self) -> None:
        """Goes to the next finding in the file that is shown, after the last one to the first."""
        editor = self.query_one(Editor)
        here = [(each.line - 1, each.column - 1) for each in self._findings if each.file == self._file and each.line]
        if not here:
            self.notify("nothing is known to be wrong in this file", severity="warning")
            return
        after = [each for each in sorted(here) if each > editor.cursor_location]
        editor.move_cursor(min(after or here), center=True)
        editor.focus()

    def complete(self) -> None:
        self.run_worker(later(self._complete), group="complete", exclusive=True)

    async def _complete(self) -> None:
        """Writes what alone can stand at the cursor, or offers what can."""
        editor, texts, file = self.query_one(Editor), self._texts(), self._file
        row, column = editor.cursor_location
        try:
            found = await anyio.to_thread.run_sync(
                lambda: self._service().choices(texts, file, row, column), limiter=self._one_at_a_time
            )
        except Exception as error:
            # as above
            self.notify(str(errors.Bug(error)), severity="error")
            return
        if not self._is_still_about(texts) or file != self._file or editor.cursor_location != (row, column):
            return  # what was typed meanwhile is not what was asked about
        if len(found) == 1:
            self._write_in(found[0])
        elif found:
            self._choices = found
            table = self.query_one("#choices", ResourceTable)
            table.set_rows(
                Row(number, (line(each.label), line(Span(each.detail, Tone.MUTED))))
                for number, each in enumerate(found)
            )
            self.add_class("choosing")
            table.focus()
        else:
            self.notify("nothing is known that can stand here", severity="warning")

    def _write_in(self, choice: Choice) -> None:
        editor = self.query_one(Editor)
        row, column = editor.cursor_location
        editor.replace(choice.text, (row, choice.start), (row, column), maintain_selection_offset=False)
        lines = choice.text.split("\n")
        editor.move_cursor((row + len(lines) - 1, len(lines[-1]) + (choice.start if len(lines) == 1 else 0)))
        editor.focus()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        if event.table.id == "choices":
            chosen = event.table.current
            self._hide_choices()
            if isinstance(chosen, int):
                self._write_in(self._choices[chosen])

    def _hide_choices(self) -> None:
        self.remove_class("choosing")
        self.query_one(Editor).focus()

    def action_reach(self) -> None:
        """Opens all that the edits change, in whatever stack."""
        if not self._stack_state.edits:
            self.notify("nothing is edited", severity="warning")
            return
        self.app.push_screen(ReachScreen(self._stack_state))

    def action_edit(self) -> None:
        self.query_one(Editor).focus()

    def action_file(self, by: int) -> None:
        """Shows another of the files that make up the stack; edits of the others stay."""
        self._take_edit()
        self._file = self._files[(self._files.index(self._file) + by) % len(self._files)]
        self.query_one(Editor).load_text(self._text())
        self.redraw()

    def action_patch(self) -> None:
        patch = self.whatif.patch()
        if patch:
            self.app.copy_to_clipboard(patch)
            self.notify("the patch is in the clipboard: git apply takes it")
        else:
            self.notify("nothing is edited", severity="warning")

    def action_save(self) -> None:
        """Writes the patch into the working folder, for its user alone."""
        self._take_edit()
        patch = self.whatif.patch()
        if not patch:
            self.notify("nothing is edited", severity="warning")
            return
        path = saving.file_name((self._stack_state.stack.name, "whatif"), "patch", self.workbench.now())
        try:
            saving.save(path, patch.removesuffix("\n").split("\n"))
        except OSError as error:
            self.notify(f"not saved: {error}", severity="error")
            return
        self.notify(f"saved {path}: git apply takes it")

    def find(self, wanted: str) -> None:
        """Puts the cursor of the editor on the next place of a text, after the last one on the first."""
        editor = self.query_one(Editor)
        places = _places(editor.text, wanted)
        if not places:
            self.notify(
                f"{wanted!r} is not in this file" if wanted else "say what to find: find TEXT", severity="warning"
            )
            return
        cursor = editor.cursor_location  # behind the place that was found before
        number = next((at for at, (start, _) in enumerate(places) if start >= cursor), 0)
        start, end = places[number]
        editor.selection = Selection(start, end)
        editor.scroll_cursor_visible()
        self.set_focus(editor)
        self.notify(f"{number + 1} of {len(places)}")

    def replace_all(self, said: str) -> None:
        """Replaces a text by another wherever it stands in the file that is shown, as one edit."""
        parts = said.split(said[0]) if said else []
        if len(parts) not in (3, 4) or not parts[1] or (len(parts) == 4 and parts[3]):
            self.notify("say what by what: replace /OLD/NEW/", severity="warning")
            return
        editor = self.query_one(Editor)
        old, new = parts[1], parts[2]
        if count := editor.text.count(old):
            editor.replace(editor.text.replace(old, new), (0, 0), editor.document.end)
            self.notify(f"replaced in {count} places: ctrl+z in the editor takes it back")
        else:
            self.notify(f"{old!r} is not in this file", severity="warning")

    def action_branch(self) -> None:
        self.open_command("branch ")

    def save_branch(self, said: str) -> None:
        """Commits the edits to a new branch; the files and the branch one stands on stay as they are."""
        self._take_edit()
        name, _, message = said.strip().partition(" ")
        if not self.whatif.files:
            self.notify("nothing is edited", severity="warning")
        elif not name or not message.strip() or not message.isprintable():
            self.notify("say its name and what the edit is for: branch NAME MESSAGE", severity="warning")
        elif not self._is_refused():
            self.run_worker(
                later(self._save_branch, self.whatif, name, message.strip()), group="commit", exclusive=True
            )

    async def _save_branch(self, whatif: WhatIf, name: str, message: str) -> None:
        root = self.workbench.session.root
        try:
            made = await anyio.to_thread.run_sync(branching.save_branch, root, name, whatif.edits, message)
        except WorkbenchError as error:
            self.notify(f"{error}. {error.hint}. Nothing was saved", severity="error", timeout=12)
            return
        self.workbench.command_log.add(self.workbench.now(), f"saved {self._edited()} as branch {name}", "")
        key = self.workbench.key("what-if.drop-edits")
        self.notify(f"branch {name} has it as commit {made}; the edits stay here, {key} drops them")

    def action_commit(self) -> None:
        self.open_command("commit ")

    def commit(self, message: str) -> None:
        """Writes the edits and commits exactly their files; typing the message is the confirmation."""
        self._take_edit()
        whatif = self.whatif
        if not whatif.files:
            self.notify("nothing is edited", severity="warning")
        elif not message or not message.isprintable():
            self.notify("say what the edit is for: commit MESSAGE", severity="warning")
        elif not self._is_refused():
            self.run_worker(later(self._commit, whatif, message), group="commit", exclusive=True)

    async def _commit(self, whatif: WhatIf, message: str) -> None:
        root = self.workbench.session.root
        try:
            await anyio.to_thread.run_sync(committing.refuse_commit, root, whatif.files)
            written = await anyio.to_thread.run_sync(self._write_files, whatif)
        except WorkbenchError as error:
            self.notify(f"{error}. {error.hint}. Nothing was written", severity="error", timeout=12)
            return
        self._draft = ""
        if self._stack_state.whatif is whatif:  # what was typed meanwhile stays
            self.workbench.edit_stack(self._stack_state, None)
        names = [each.relative_to(root).as_posix() for each in written]
        try:
            made = await anyio.to_thread.run_sync(committing.commit, root, written, message)
        except WorkbenchError as error:
            said = f"{', '.join(names)} written, and not committed: {error}. {error.hint}"
            self.notify(said, severity="error", timeout=12)
        else:
            shown = f"git commit --only -m {shlex.quote(message)} -- {shlex.join(names)}"
            self.workbench.command_log.add(self.workbench.now(), f"committed {', '.join(names)}", shown)
            self.notify(f"commit {made}: {', '.join(names)}")
        self.redraw()
        self.workbench.diff_stack(self._stack_state)

    def action_drop(self) -> None:
        """Asks for a word, then drops the edits."""
        self._take_edit()
        if not self._stack_state.edits:
            self.notify("nothing is edited", severity="warning")
            return
        self._ask("drop", f"to drop the edits of {self._edited()}; nothing has them then")

    def action_write(self) -> None:
        """Asks for a word, then writes the edits into the working tree."""
        self._take_edit()
        if not self.whatif.files:
            self.notify("nothing is edited", severity="warning")
            return
        if self._is_refused():
            return
        self._ask("write", f"to write {self._edited()} in the working tree; no cluster is touched")

    def _is_refused(self) -> bool:
        """Whether nothing of the stack may be written in this session, which is said."""
        why = self.workbench.session.read_only(self._stack_state.stack)
        if why:
            saving_key = self.workbench.key("what-if.save-as-a-patch")
            said = f"no file is written: {why}; {saving_key} saves the edits as a patch"
            self.notify(said, severity="warning", timeout=12)
        return bool(why)

    def _write_files(self, whatif: WhatIf) -> tuple[Path, ...]:
        return self.workbench.session.write_files(self._stack_state.stack, whatif)

    def _edited(self) -> str:
        return ", ".join(each.name for each in self.whatif.files)

    def _ask(self, word: Word, what: str) -> None:
        self._asked = word, self._stack_state.whatif
        question = line("type ", Span(word, Tone.STRONG), f" {what}")
        self.query_one(TypedConfirmation).ask(question, word, verb=word.capitalize())

    def on_typed_confirmation_confirmed(self) -> None:
        if self._asked is None:
            return
        (word, whatif), self._asked = self._asked, None
        if whatif is not self._stack_state.whatif:  # another screen or a commit took them meanwhile
            self.notify("the edits are others now: nothing was done", severity="warning")
        elif word == "drop":
            self._drop()
        else:
            self._write()

    def on_typed_confirmation_closed(self) -> None:
        if self.query_one(TypedConfirmation).has_focus_within:
            self.query_one("#effect").focus()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        elif self.has_class("choosing"):
            self._hide_choices()
        else:
            super().action_back()

    def _drop(self) -> None:
        self._draft = ""
        self._findings = ()
        self._compared_before = self._stack_state.diff
        self.workbench.edit_stack(self._stack_state, None)
        self.query_one(Editor).load_text(self._text())
        self.workbench.diff_stack(self._stack_state)

    def _write(self) -> None:
        try:
            written = self._write_files(self.whatif)
        except WorkbenchError as error:
            self.notify(f"{error}. {error.hint}", severity="error")
            return
        self._draft = ""
        self.workbench.edit_stack(self._stack_state, None)
        self.notify(f"written: {', '.join(each.name for each in written)}")
        self.redraw()


Location = tuple[int, int]


def _places(text: str, wanted: str) -> list[tuple[Location, Location]]:
    """Returns where a text stands, in lines and columns; a text of several lines is found nowhere."""
    found = []
    for number, each in enumerate(text.split("\n") if wanted else ()):
        at = each.find(wanted)
        while at >= 0:
            found.append(((number, at), (number, at + len(wanted))))
            at = each.find(wanted, at + len(wanted))
    return found
