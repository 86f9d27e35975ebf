"""Rollouts: those that run and those of before, from whichever machine; where each stands, why it halted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from workbench.engine.rollout.progress import Phase
from workbench.engine.rollout.values import Ask
from workbench.present import durations, errors, reconcile, rollout, rollout_board
from workbench.present.rollout import Shown
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.release.rollout_listing import RolloutEntry, RolloutListing
from workbench.tui.frame import Frame
from workbench.tui.later import later
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

if TYPE_CHECKING:
    from workbench.tui.state import Trouble

READ_AGAIN_SECONDS = 5.0
_ABOUT = (Column("Rollout", grow=True),)


class RolloutsScreen(Frame):
    """Records lie in clusters or a bucket: they are read by a worker, again and again while the screen is in front."""

    name_in_trail = "Rollouts"

    DEFAULT_CSS = """
    RolloutsScreen #counts { padding: 0 1; max-height: 5; }
    RolloutsScreen #rollouts { height: 1fr; }
    RolloutsScreen #about { height: 2fr; border-top: solid $panel; }
    App.-ascii RolloutsScreen #about { border-top: ascii $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New ..."),
        Binding("p", "ask('pause')", "Pause ..."),
        Binding("R", "resume", "Resume ..."),
        Binding("a", "approve", "Approve ..."),
        Binding("X", "ask('abort')", "Abort ..."),
        Binding("K", "stop", "Stop", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._found: RolloutListing | None = None
        self._read_at: datetime | None = None
        self._trouble: Trouble | None = None
        self._soon = asyncio.Event()
        self._asked: tuple[str, Ask, str] | None = None

    def body(self) -> ComposeResult:
        yield ToneText(id="counts", wrap=True)
        with Container(id="panes"):
            yield ResourceTable(rollout_board.COLUMNS, id="rollouts", empty="asking where rollouts are recorded ...")
            yield ResourceTable(_ABOUT, id="about", header=False, empty="")
        yield TypedConfirmation("Yes", "that is not the phrase: nothing was asked")

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(later(self._keep_reading), group="rollouts", exclusive=True)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._soon.set()

    async def _keep_reading(self) -> None:
        while True:
            self._trouble = await tried(self._read)
            self.redraw_soon()
            while True:
                self._soon.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._soon.wait(), READ_AGAIN_SECONDS)
                if self.is_current:
                    break

    async def _read(self) -> None:
        at = self.workbench.now()
        self._found = await self.workbench.session.rollouts()
        self._read_at = at

    def look_again(self) -> None:
        self._soon.set()
        self.redraw_soon()

    def show_state(self) -> None:
        found, now, glyphs = self._found, self.workbench.now(), self.workbench.glyphs
        table = self.query_one("#rollouts", ResourceTable)
        self.query_one("#counts", ToneText).show_all(self._above())
        if found is None:
            table.empty = "not known" if self._trouble is not None else table.empty
            table.refresh()
            return
        unsure = found.silent or found.unreadable
        table.empty = (
            "none is known, and not all could be asked"
            if unsure
            else f"there is no rollout of this repository: {self.workbench.key('rollouts.new')} plans one"
        )
        labels = {each.stack.name: each.stack.labels for each in self.workbench.states.values()}
        table.set_rows(rollout_board.rows(found, now, glyphs, labels))
        about = self.query_one("#about", ResourceTable)
        about.set_rows(Row(number, (each,)) for number, each in enumerate(self._about()))

    def _above(self) -> Iterator[Line]:
        found, glyphs = self._found, self.workbench.glyphs
        if found is not None and self._read_at is not None:
            age = durations.short((self.workbench.now() - self._read_at).total_seconds())
            tone = Tone.WARN if self._trouble is not None else Tone.MUTED
            counts = rollout_board.counts_line(found, self.workbench.now(), glyphs)
            yield line(counts, Span(f"  read {age} ago", tone))
            yield from rollout_board.doubt_lines(found, glyphs)
        for error in (self._trouble, self.workbench.rolling_out.error):
            if error is not None:
                yield from errors.lines(error, glyphs)

    def _about(self) -> Iterator[Line]:
        """Where the rollout under the cursor stands, and, where it is carried out here, what it tells."""
        key, found = self.query_one("#rollouts", ResourceTable).current, self._found
        glyphs, now, here = self.workbench.glyphs, self.workbench.now(), self.workbench.rolling_out
        for broken in found.unreadable if found is not None else ():
            if broken.id == key:
                yield from errors.lines(broken.error, glyphs)
        known = self._known()
        if known is None:
            return
        if here.id == known.id:
            yield from (
                line(Span(f"{stack} ", Tone.MUTED), reconcile.summary(tree, glyphs, now))
                for stack, tree in here.trees.items()
            )
            yield from list(here.log)[::-1][:20]
            yield Line()
        yield from rollout.progress_lines(Shown(known, now), glyphs)

    def _known(self) -> RolloutEntry | None:
        key = self.query_one("#rollouts", ResourceTable).current
        return next((each for each in (self._found.known if self._found else ()) if each.id == key), None)

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        if event.table.id == "rollouts":
            self.redraw()

    def on_resource_table_chosen(self) -> None:
        self.query_one("#about").focus()

    # --- acts: each asks for a phrase that names the rollout

    def action_new(self) -> None:
        """Plans a rollout of all stages; `:rollout GLOB` one of some stacks."""
        self.workbench.run_command("rollout", self)

    def action_ask(self, what: str) -> None:
        """Asks for the phrase; whoever carries the rollout out hears of it before its next batch."""
        known = self._going_on()
        if known is not None:
            after = "what it did stays" if what == Ask.ABORT else "the batch that it is in ends first"
            self._question(known.id, Ask(what), "", after)

    def action_resume(self) -> None:
        known = self._going_on()
        if known is None:
            return
        if self.workbench.session.is_rolling_out(known):
            self.notify("somebody carries it out", severity="warning")
        elif known.progress.phase is Phase.WAITING:
            self.notify("it waits for an approval: a gives it", severity="warning")
        else:
            following = rollout_board.batch_text(Shown(known, self.workbench.now()))
            self._question(known.id, Ask.RESUME, "", f"it is carried out from here, next is {following or 'the end'}")

    def action_approve(self) -> None:
        known = self._going_on()
        following = known.progress.next() if known is not None else None
        if known is None:
            return
        if following is None or not following.stage.needs_approval or following.stage.name in known.progress.approved:
            self.notify("the stage that comes next needs no approval", severity="warning")
        else:
            after = f"{self.workbench.key('rollouts.resume')} goes on with it then"
            self._question(known.id, Ask.APPROVE, following.stage.name, after)

    def why_not(self, action: str) -> str:
        if action == "stop":
            return "" if self.workbench.rolling_out.is_running else "none is carried out here"
        if action not in ("ask('pause')", "ask('abort')", "resume", "approve"):
            return super().why_not(action)
        known = self._known()
        if known is None:
            return "put the cursor on a rollout first"
        if known.progress.has_ended:
            return f"it is {known.progress.phase.value}: it goes on no more"
        is_read_only = self.workbench.session.settings.is_read_only and action != "ask('pause')"
        return "this session is read-only" if is_read_only else ""

    def _going_on(self) -> RolloutEntry | None:
        known = self._known()
        if known is None:
            self.notify("put the cursor on a rollout first", severity="warning")
        elif known.progress.has_ended:
            self.notify(f"it is {known.progress.phase.value}: it goes on no more", severity="warning")
        else:
            return known
        return None

    def _question(self, id_: str, what: Ask, stage: str, after: str) -> None:
        phrase = " ".join(each for each in (what.value, stage, id_) if each)
        self._asked = id_, what, stage
        question = line("type ", Span(phrase, Tone.STRONG), Span(f" ({after})", Tone.WARN))
        self.query_one(TypedConfirmation).ask(question, phrase, verb=what.value.capitalize())

    def on_typed_confirmation_confirmed(self) -> None:
        if self._asked is None:
            return
        id_, what, stage = self._asked
        if what is Ask.RESUME:
            self.workbench.rolling_out.carry_out(id_)
        else:
            self.workbench.rolling_out.ask(id_, what, stage)

    def on_typed_confirmation_closed(self) -> None:
        self.query_one("#rollouts").focus()

    def action_stop(self) -> None:
        """Stops the rollout that is carried out here, in order."""
        if self.workbench.rolling_out.is_running:
            self.workbench.rolling_out.stop()
        else:
            key = self.workbench.key("rollouts.pause")
            self.notify(f"none is carried out here: {key} pauses one that runs elsewhere", severity="warning")

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        else:
            super().action_back()

    def action_reload(self) -> None:
        self.look_again()

    def status(self) -> Line:
        here = self.workbench.rolling_out
        key = self.workbench.key("rollouts.stop")
        said = f"{here.id or 'a new one'} is carried out here, {key} stops it  " if here.is_running else ""
        return line(Span(said, Tone.BUSY), super().status())
