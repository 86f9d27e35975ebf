"""Releases of a stack: who made each, when, why, how it ended; what differs between two; the way back to one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

import anyio.to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from workbench.engine.release import Release
from workbench.present import durations, errors, release_changes, releases
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.release.history import History
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.later import later
from workbench.tui.screens.replay import ReplayScreen
from workbench.tui.state import Goal, StackState, Verb
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

if TYPE_CHECKING:
    from workbench.engine.release_changes import ReleaseChanges
    from workbench.tui.state import Trouble

_LINES = (Column("Text", grow=True),)


class ReleasesScreen(Frame):
    name_in_trail = "Releases"

    DEFAULT_CSS = """
    ReleasesScreen #doubts { padding: 0 1; max-height: 5; }
    ReleasesScreen #releases { height: 1fr; }
    ReleasesScreen #about { height: 1fr; border-top: solid $panel; }
    App.-ascii ReleasesScreen #about { border-top: ascii $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Mark"),
        Binding("d", "compare", "Diff of two"),
        Binding("c", "configured", "To configured"),
        Binding("B", "roll_back", "Roll back ..."),
        Binding("p", "replay", "Replay"),
        Binding("w", "app.switch_to('reconcile')", "Watch", show=False),
        *MATCH_KEYS,
    ]

    def __init__(self, state: StackState) -> None:
        super().__init__(state)
        self._stack_state = state
        self._history: History | None = None
        self._releases: tuple[Release, ...] = ()
        self._recorded: tuple[int, ...] = ()
        self._read_at: datetime | None = None
        self._trouble: Trouble | None = None

    def body(self) -> ComposeResult:
        yield ToneText(id="doubts", wrap=True)
        with Container(id="panes"):
            yield ResourceTable(releases.COLUMNS, id="releases", markable=True, empty="asking where releases are ...")
            yield ResourceTable(_LINES, id="about", header=False, empty="")

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.action_reload()

    def action_reload(self) -> None:
        self.run_worker(later(self._read), group="releases", exclusive=True)

    async def _read(self) -> None:
        """Reads the history. If that fails, what was read before stays, with its age."""
        at = self.workbench.now()

        async def read() -> None:
            history = await self.workbench.session.history(self._stack_state.stack)
            self._releases = await anyio.to_thread.run_sync(history.releases)
            here = await anyio.to_thread.run_sync(history.local_revisions)
            self._recorded = tuple(dict.fromkeys((*(each.revision for each in history.former), *here)))
            self._history, self._read_at = history, at

        self._trouble = await tried(read)
        self.redraw_soon()

    def show_state(self) -> None:
        history, table = self._history, self.query_one("#releases", ResourceTable)
        glyphs, now = self.workbench.glyphs, self.workbench.now()
        self.query_one("#doubts", ToneText).show_all(self._above())
        if history is None:
            table.empty = "not known" if self._trouble is not None else table.empty
            table.refresh()
            return
        is_whole = releases.is_whole(history)
        table.empty = "it was not released yet" if is_whole else "none is known, and not all could be asked"
        table.set_rows(releases.rows(self._releases, self._recorded, glyphs, now))
        about = self.query_one("#about", ResourceTable)
        found = self._current()
        lines = releases.about_lines(found, glyphs) if found is not None else ()
        about.set_rows(Row(number, (each,)) for number, each in enumerate(lines))

    def _above(self) -> Iterator[Line]:
        glyphs = self.workbench.glyphs
        if self._trouble is not None:
            yield from errors.lines(self._trouble, glyphs)
        if self._history is not None:
            yield from releases.doubt_lines(self._history, glyphs)

    def _current(self) -> Release | None:
        key = self.query_one("#releases", ResourceTable).current
        return next((each for each in self._releases if each.revision == key), None)

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        if event.table.id == "releases":
            self.redraw()

    def on_resource_table_chosen(self) -> None:
        self.query_one("#about").focus()

    def action_mark(self) -> None:
        table = self.query_one("#releases", ResourceTable)
        if table.current is not None:
            table.toggle_mark(table.current)

    def action_compare(self) -> None:
        """Shows what differs between the two that are marked; without marks, from the one before the cursor to it."""
        table = self.query_one("#releases", ResourceTable)
        marked = sorted(each for each in table.marks if isinstance(each, int))
        current = table.current
        known = sorted(row.key for row in table.rows if isinstance(row.key, int))
        if not marked and isinstance(current, int) and known.index(current):
            marked = [known[known.index(current) - 1], current]
        elif len(marked) == 1 and isinstance(current, int) and current not in marked:
            marked = sorted((*marked, current))
        if len(marked) == 2:
            self.app.push_screen(ReleaseChangesScreen(self._stack_state, marked[0], marked[1]))
        else:
            marking = f"mark two with {self.workbench.key('releases.mark')}"
            self.notify(f"{marking}, or put the cursor on one that has another before it", severity="warning")

    def action_configured(self) -> None:
        """Shows what differs between the release under the cursor and what the configuration says now."""
        current = self.query_one("#releases", ResourceTable).current
        if isinstance(current, int):
            self.app.push_screen(ReleaseChangesScreen(self._stack_state, current, 0))

    def action_roll_back(self) -> None:
        """Opens the plan that gives the stack again what the release under the cursor had; it asks there."""
        found = self._current()
        if found is None:
            self.notify("put the cursor on a release that can be read", severity="warning")
        else:
            self.workbench.open_plan(self._stack_state, Goal(Verb.ROLLBACK, found.revision))

    def action_replay(self) -> None:
        """Plays the apply of the release under the cursor as it went."""
        found = self._current()
        if found is None:
            self.notify("put the cursor on a release that can be read", severity="warning")
            return
        line_ = f"wb release replay {found.stack} --revision {found.revision}"
        self.workbench.command_log.add(self.workbench.now(), f"replayed release {found.revision}", line_)
        self.app.push_screen(ReplayScreen(self._stack_state, found))

    def status(self) -> Line:
        if self._read_at is None:
            return super().status()
        age = durations.short((self.workbench.now() - self._read_at).total_seconds())
        tone = Tone.WARN if self._trouble is not None else Tone.MUTED
        marks = len(self.query_one("#releases", ResourceTable).marks)
        marked = f"{marks} marked  " if marks else ""
        return line(Span(f"{marked}read {age} ago  ", tone), super().status())


class ReleaseChangesScreen(Frame):
    """What differs between two releases; `after` 0 is what the configuration says now."""

    name_in_trail = "Releases › Diff"

    DEFAULT_CSS = "ReleaseChangesScreen #sum { padding: 0 1; max-height: 6; }"

    def __init__(self, state: StackState, before: int, after: int) -> None:
        super().__init__(state)
        self._stack_state, self._before, self._after = state, before, after
        self._found: ReleaseChanges | None = None
        self._trouble: Trouble | None = None

    def body(self) -> ComposeResult:
        yield ToneText(id="sum", wrap=True)
        yield ResourceTable(_LINES, id="changes", header=False, empty="reading the records ...")

    def on_mount(self) -> None:
        super().on_mount()
        self.action_reload()

    def action_reload(self) -> None:
        self.run_worker(later(self._compare), group="release changes", exclusive=True)

    async def _compare(self) -> None:
        state = self._stack_state

        async def compare() -> None:
            self._found = await self.workbench.session.release_changes(
                state.stack, self._before, self._after, state.inputs
            )

        self._trouble = await tried(compare)
        self.redraw_soon()

    def show_state(self) -> None:
        glyphs, found = self.workbench.glyphs, self._found
        above = list(errors.lines(self._trouble, glyphs)) if self._trouble is not None else []
        table = self.query_one("#changes", ResourceTable)
        if found is not None:
            above.append(release_changes.summary(found, glyphs))
            above += [line(Span(f"{glyphs.finding} {each}", Tone.WARN)) for each in found.remarks]
            table.set_rows(Row(at, (each,)) for at, each in enumerate(release_changes.lines(found, glyphs)))
        table.empty = "not known" if self._trouble is not None else "nothing differs" if found else table.empty
        table.refresh()
        self.query_one("#sum", ToneText).show_all(above)
