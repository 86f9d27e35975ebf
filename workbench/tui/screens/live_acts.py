"""One act on the live objects that were marked: which they are, what it turns into, its phrase, and how far it came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtimes.base import KubernetesId, RuntimeFailure
from workbench.engine.live_acts import Acts, ActState, LiveRequest
from workbench.present import errors, live_acts
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui import equivalents
from workbench.tui.frame import Frame
from workbench.tui.later import later
from workbench.tui.running import ACT
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.state import StackState, Trouble
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

_GROUP = f"{ACT}several"
"""Of the app's workers: quitting asks for those that act."""


class LiveActsScreen(Frame):
    """`begun` is called once it was confirmed."""

    writes = True
    name_in_trail = "Live acts"

    DEFAULT_CSS = "LiveActsScreen #head { padding: 0 1; max-height: 8; }"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("K", "stop", "Stop")]

    def __init__(self, requests: Sequence[LiveRequest], state: StackState | None, begun: Callable[[], None]) -> None:
        super().__init__(state)
        self._requests, self._begun = tuple(requests), begun
        self._acts: Acts | None = None
        self._states: dict[int, tuple[ActState, str]] = {}
        self._trouble: Trouble | None = None
        self._is_running = self._is_stopping = self._has_run = False

    def body(self) -> ComposeResult:
        yield ToneText(id="head", wrap=True)
        yield ResourceTable(live_acts.COLUMNS, id="acts", empty="looking at each of them ...")
        yield TypedConfirmation("Do it", "this is not the phrase: nothing was done")

    def on_mount(self) -> None:
        super().on_mount()
        self._look()

    def _look(self) -> None:
        self.run_worker(later(self._prepare), group="look", exclusive=True)

    async def _prepare(self) -> None:
        """Looks at each as it is now, then asks."""
        self._acts, self._trouble = None, None

        async def prepare() -> None:
            self._acts = await self.workbench.session.prepare_acts(self._requests)

        self._trouble = await tried(prepare)
        self.redraw()
        self._ask()

    def _ask(self) -> None:
        acts = self._acts
        if acts is None or acts.refused:
            return
        said = "; ".join(acts.said())
        question = line(
            Span(f"{acts.act.value} {acts.counted}: ", Tone.BAD), f"{said}. Type ", Span(acts.phrase, Tone.STRONG)
        )
        self.query_one(TypedConfirmation).ask(question, acts.phrase, verb=acts.act.value.capitalize())

    def show_state(self) -> None:
        glyphs, acts, table = self.workbench.glyphs, self._acts, self.query_one("#acts", ResourceTable)
        above = [live_acts.summary(acts, self._states, glyphs)] if acts is not None else []
        if acts is not None:
            above += [line(Span(f"{glyphs.bad} refused: {each}. Nothing was done.", Tone.BAD)) for each in acts.refused]
        if self._trouble is not None:
            table.empty = "nothing was done"
            above += errors.lines(self._trouble, glyphs)
        self.query_one("#head", ToneText).show_all(above)
        table.set_rows(live_acts.rows(acts, self._states) if acts is not None else ())

    def on_typed_confirmation_confirmed(self, event: TypedConfirmation.Confirmed) -> None:
        if self._acts is None or self._is_running:
            return
        self._is_running = self._has_run = True
        self._begun()
        # not of this screen: what ends the screen must not leave one of them half done
        self.workbench.run_worker(later(self._act, self._acts, event.phrase), group=_GROUP)

    def on_typed_confirmation_closed(self) -> None:
        self.focus_main()

    async def _act(self, acts: Acts, phrase: str) -> None:
        try:
            await self.workbench.session.act_on_all(
                acts, confirm=phrase, report=self._report, goes_on=lambda: not self._is_stopping
            )
        except (WorkbenchError, RuntimeFailure) as error:
            self._trouble, self._has_run = error, bool(self._states)
        except Exception as error:
            # the boundary of a task, as above
            self._trouble = errors.Bug(error)
        finally:
            self._is_running = False
            for number in range(len(acts.requests)) if self._states else ():
                self._states.setdefault(number, (ActState.LEFT, ""))
            said = str(live_acts.summary(acts, self._states, self.workbench.glyphs))
            is_well = self._trouble is None and all(state is ActState.DONE for state, _ in self._states.values())
            self.workbench.notify(
                said if self._trouble is None else f"{self._trouble}", severity="information" if is_well else "error"
            )
            if self.is_attached:
                self.redraw_soon()

    def _report(self, number: int, state: ActState, said: str) -> None:
        assert self._acts is not None, "they were looked at before they were confirmed"
        if state is ActState.RUNNING and number not in self._states:
            request = self._acts.requests[number]
            equivalent = equivalents.act(request, self.workbench.places.get(request.cluster))
            self.workbench.command_log.add(self.workbench.now(), f"began to {request.phrase}", equivalent)
        self._states[number] = state, said
        if self.is_attached:
            self.redraw_soon()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        match event.key:
            case (str() as cluster, KubernetesId() as id_, *_):
                self.app.push_screen(LiveObjectScreen(cluster, id_, self.state))

    def action_stop(self) -> None:
        """The one under way is seen to its end; a second time drops it too, which may leave it half done."""
        if not self._is_running:
            self.notify("nothing runs here", severity="warning")
        elif self._is_stopping:
            self.workbench.workers.cancel_group(self.workbench, _GROUP)
            self.notify("dropped: of the one under way it is not known what became of it", severity="warning")
        else:
            self._is_stopping = True
            self.notify("stopping: the one under way ends first, the others are left", severity="warning")

    def why_not(self, action: str) -> str:
        if action == "stop":
            return "" if self._is_running else "nothing runs here"
        return super().why_not(action)

    def action_reload(self) -> None:
        """Looks at each again, and asks again, as long as nothing was done."""
        if self._has_run:
            self.notify("it was done: mark them again to do it again", severity="warning")
        else:
            self._look()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if self._is_running:
            key = self.workbench.key("live-acts.stop")
            self.notify(f"it goes on: {key} stops it after the one under way", severity="warning")
            return
        if question.is_asked:
            question.close()
            self.notify("nothing was done")
        super().action_back()

    def status(self) -> Line:
        if self._is_running:
            stops = f"{self.workbench.key('live-acts.stop')} stops it"
            return line(
                Span(
                    f"stopping ..., {stops} at once" if self._is_stopping else f"one after the other, {stops}",
                    Tone.BUSY,
                )
            )
        again = f"{self.workbench.key('everywhere.reload')} looks again" if not self._has_run else "it is over"
        return line(Span(again, Tone.MUTED))
