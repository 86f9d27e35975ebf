"""One live object: as YAML with who set each field, or described in a page; its events; acts on it, typed and
confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from runtimes.base import Address, FieldPath, KubernetesId, PodTarget, RuntimeFailure
from workbench.engine.live import LiveObject
from workbench.engine.live_acts import BadAct, LiveAct, LiveRequest, acts_of, consequence
from workbench.present import describe, durations, errors, live, reconcile
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui import equivalents
from workbench.tui.attaching import PodAtHand
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.later import later
from workbench.tui.live_source import Open, open_line
from workbench.tui.running import ACT
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.screens.relations import RelationsScreen
from workbench.tui.screens.whatif import WhatIfScreen
from workbench.tui.state import StackState
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

READ_AGAIN_SECONDS = 5.0
_SCROLLBAR = 3


def replicas_problem(act: LiveAct, rest: str) -> str | None:
    """Returns what is wrong with what was typed after an act: only scaling takes something, and that is a number."""
    if act is LiveAct.SCALE:
        is_number = rest.isascii() and rest.isdigit() and len(rest) < 6
        return None if is_number else "say how many replicas: scale 3"
    return f":{act.value} takes nothing after it: it is about what is on the screen" if rest else None


class LiveObjectScreen(Frame):
    writes = True
    name_in_trail = "Live object"

    DEFAULT_CSS = """
    LiveObjectScreen #title { padding: 0 1; max-height: 4; }
    LiveObjectScreen #panes { layout: vertical; height: 1fr; }
    LiveObjectScreen #yaml { height: 2fr; }
    LiveObjectScreen #page { display: none; }
    LiveObjectScreen.described #page { display: block; }
    LiveObjectScreen.described #yaml, LiveObjectScreen.described #side { display: none; }
    LiveObjectScreen #side { height: 1fr; border-top: solid $panel; }
    LiveObjectScreen #what { height: 1; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "describe", "Describe"),
        Binding("l", "logs", "Logs"),
        Binding("v", "events", "Events"),
        Binding("u", "relations", "Related"),
        Binding("s", "source", "Source"),
        Binding("i", "whatif", "What if"),
        Binding("K", "stop", "Stop the act", show=False),
        *MATCH_KEYS,
    ]

    def __init__(
        self, cluster: str, id_: KubernetesId, state: StackState | None = None, *, is_described: bool = False
    ) -> None:
        super().__init__(state)
        self._is_described = is_described
        self._cluster, self._object = cluster, id_
        self._found: LiveObject | None = None
        self._is_gone = False
        self._trouble: WorkbenchError | RuntimeFailure | None = None
        self._soon = asyncio.Event()

    def body(self) -> ComposeResult:
        yield ToneText(id="title", wrap=True)
        yield TypedConfirmation("Do it", "this is not the phrase: nothing was done")
        with Container(id="panes"):
            yield ResourceTable(live.YAML_COLUMNS, id="yaml", empty=f"asking {self._cluster} ...")
            yield ResourceTable(describe.COLUMNS, id="page", header=False, empty=f"asking {self._cluster} ...")
            with Container(id="side"):
                yield ToneText(line(Span("events", Tone.MUTED)), id="what")
                yield ResourceTable(reconcile.EVENT_COLUMNS, id="events", empty="no events")

    def on_mount(self) -> None:
        self.set_class(self._is_described, "described")
        self._log()
        super().on_mount()
        self.run_worker(later(self._keep_reading), group="live object", exclusive=True)

    def _log(self) -> None:
        place, name = self.workbench.places.get(self._cluster), f"{self._object.kind} {self._object.name}"
        did, said = ("described", equivalents.describe) if self._is_described else ("opened", equivalents.show)
        self.workbench.command_log.add(self.workbench.now(), f"{did} {name}", said(self._object, place))

    def main_table(self) -> ResourceTable | None:
        focused = super().main_table()
        if focused is not None and focused.id == "events":
            return focused
        return self.query_one("#page" if self._is_described else "#yaml", ResourceTable)

    async def _keep_reading(self) -> None:
        """Reads again and again while the screen is in front; what was read stays, with its age."""
        while True:
            self._trouble = await tried(self._read)
            self.redraw_soon()
            await self._pause()

    async def _pause(self) -> None:
        while True:
            self._soon.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), READ_AGAIN_SECONDS)
            if self.is_current:
                return

    async def _read(self) -> None:
        session = self.workbench.session
        found = await session.read_live(self._cluster, self._object)
        self._is_gone = found is None
        self._found = found or self._found

    def show_state(self) -> None:
        now, glyphs, found = self.workbench.now(), self.workbench.glyphs, self._found
        title = [self._title()]
        if self._trouble is not None:
            title += errors.lines(self._trouble, glyphs)
        self.query_one("#title", ToneText).show_all(title)
        yaml, page = self.query_one("#yaml", ResourceTable), self.query_one("#page", ResourceTable)
        if found is None:
            said = "it is not there" if self._is_gone else "nothing is known of it" if self._trouble else yaml.empty
            for each in (yaml, page):
                each.empty = said
                each.refresh()
            return
        if self._is_described:
            page.set_rows(describe.rows(found, now + found.ahead, page.room - _SCROLLBAR))
            return
        yaml.set_rows(live.yaml_rows(found, now + found.ahead))
        events = self.query_one("#events", ResourceTable)
        refused = found.events_failure
        events.empty = f"events can't be read: {refused.message}" if refused is not None else "no events"
        events.set_rows(live.event_rows(found, now + found.ahead))

    def _title(self) -> Line:
        found, now = self._found, self.workbench.now()
        where = f"{self._object.namespace}/" if self._object.namespace else ""
        name = line(
            Span(f"{self._object.kind} ", Tone.MUTED),
            f"{where}{self._object.name}",
            Span(f" @{self._cluster}", Tone.MUTED),
        )
        if found is None:
            return name
        age = durations.short((now - found.read_at).total_seconds())
        gone = Span("  it is not there any more, this is how it was", Tone.WARN) if self._is_gone else Span("")
        return line(name, Span(f"  read {age} ago", Tone.WARN if self._trouble else Tone.MUTED), gone)

    def field_path(self) -> FieldPath:
        match self.query_one("#yaml", ResourceTable).current:
            case (tuple() as path, int()) if not self._is_described:
                return path
        return ()

    @property
    def is_protected(self) -> bool:
        return super().is_protected or self.is_protected_place(self._cluster)

    def subject(self) -> Address:
        return Address(self._cluster, self._object)

    def ask_to(self, act: LiveAct, rest: str) -> None:
        """Asks for the phrase of an act on the object that is shown; `rest` is how many replicas there are to be."""
        if self._found is None or self._is_gone:
            self.notify("it is not known to be there", severity="warning")
            return
        if (problem := replicas_problem(act, rest)) is not None:
            self.notify(problem, severity="warning")
            return
        try:
            request = LiveRequest(act, self._cluster, self._object, self._found.uid, int(rest or 0))
        except BadAct as error:
            self.notify(f"{error}. {error.hint}", severity="warning")
            return
        self.run_worker(later(self._ask, request), group="ask", exclusive=True)

    async def _ask(self, request: LiveRequest) -> None:
        try:
            owner = await self.workbench.session.live_owner(request)
            request = await self.workbench.session.prepare_live(request)
        except (WorkbenchError, RuntimeFailure) as error:
            self.notify(str(error), severity="error")
            return
        back, whatif = (self.workbench.key(each) for each in ("everywhere.back", "live-object.what-if"))
        editing = f" Its KCL line can be changed instead: {back}, then {whatif}, edits it in a What-if."
        instead = editing if owner else ""
        question = line(
            Span(f"{request.act.value}: ", Tone.BAD),
            f"{consequence(request, owner)}.{instead} Type ",
            Span(request.phrase, Tone.STRONG),
        )
        self._request = request
        self.query_one(TypedConfirmation).ask(question, request.phrase, verb=request.act.value.capitalize())

    _request: LiveRequest | None = None

    def on_typed_confirmation_confirmed(self, event: TypedConfirmation.Confirmed) -> None:
        if self._request is not None:
            # not of this screen: leaving it must not leave half a drain behind
            self.workbench.run_worker(later(self._act, self._request, event.phrase), group=self._acting)

    def on_typed_confirmation_closed(self) -> None:
        self._request = None
        self.focus_main()

    async def _act(self, request: LiveRequest, phrase: str) -> None:
        said = equivalents.act(request, self.workbench.places.get(self._cluster))
        self.workbench.command_log.add(self.workbench.now(), f"began to {request.phrase}", said)
        self._progress = "is on its way"
        try:
            await self.workbench.session.act_live(request, confirm=phrase, report=self._report)
        except (WorkbenchError, RuntimeFailure) as error:
            self.app.notify(f"{error}. {error.hint}", severity="error", timeout=20)
        else:
            self.app.notify(f"the cluster took it: {request.phrase}. What becomes of it is shown here")
        finally:
            self._progress = ""
            if self.is_attached:
                self._ask_again()

    def _report(self, said: str) -> None:
        self._progress = said
        if self.is_attached:
            self.redraw_soon()

    _progress = ""
    """What an act that takes long has come to, empty while there is none."""

    @property
    def _acting(self) -> str:
        return f"{ACT}{self._cluster} {self._object}"

    @property
    def _is_acting(self) -> bool:
        """Whether an act on the object is under way, from whichever screen it was begun."""
        return any(each.group == self._acting and not each.is_finished for each in self.workbench.workers)

    def action_stop(self) -> None:
        """Ends a drain: what was evicted is evicted, and the node stays cordoned."""
        if self._is_acting:
            self.workbench.workers.cancel_group(self.workbench, self._acting)
            self.notify("stopped: what was done is done, a node stays cordoned", severity="warning")

    def why_not(self, action: str) -> str:
        if action == "stop":
            return "" if self._is_acting else "no act is under way"
        return super().why_not(action)

    def why_not_typed(self, word: str) -> str:
        if word in tuple(LiveAct):
            return "" if LiveAct(word) in acts_of(self._object) else f"a {self._object.kind} has nothing to {word}"
        return super().why_not_typed(word)

    def action_logs(self) -> None:
        self.app.push_screen(LogsScreen(self._cluster, self._object, self.state))

    def action_describe(self) -> None:
        """The page that describes it, or its YAML again."""
        self._is_described = not self._is_described
        self.set_class(self._is_described, "described")
        self._log()
        self.redraw()
        self.focus_main()

    def on_resize(self) -> None:
        self.redraw_soon()

    def pod_at_hand(self) -> PodAtHand | None:
        """The pod that is shown, with its containers in the order that kubectl chooses from."""
        found, id_ = self._found, self._object
        if found is None or self._is_gone or id_.kind != "Pod" or id_.group:
            return None
        return PodAtHand(self._cluster, PodTarget(id_.namespace, id_.name, found.uid), found.containers)

    def action_source(self) -> None:
        """Opens the editor at the KCL line of the field under the cursor, where a stack has the object."""
        self._at_line(lambda _, file, line: self.workbench.edit(file, line))

    def action_whatif(self) -> None:
        """Edits that line in a What-if instead of the live object."""
        self._at_line(self._edit_at)

    def _edit_at(self, state: StackState, file: Path, number: int) -> None:
        """The file may be one that several stacks share."""
        try:
            (state.whatif or self.workbench.session.whatif(state.stack)).text(file)
        except WorkbenchError as error:
            self.notify(f"{error}. {error.hint}", severity="warning")
            return
        self.app.push_screen(WhatIfScreen(state, at=(file, number)))

    def _at_line(self, do: Open) -> None:
        if self._found is None:
            self.notify("nothing is known of it yet", severity="warning")
            return
        metadata = self._found.body.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
        match self.query_one("#yaml", ResourceTable).current:
            case (tuple() as path, int()) if not self._is_described:
                field = path
            case _:
                field = ()
        open_line(self, labels if isinstance(labels, Mapping) else {}, self._object, field, do)

    def action_relations(self) -> None:
        self.app.push_screen(RelationsScreen(self._cluster, self._object, self.state))

    def action_events(self) -> None:
        if self._is_described:
            self.action_describe()
        self.query_one("#events", ResourceTable).focus()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        elif self._is_acting:
            key = self.workbench.key("live-object.stop-the-act")
            self.notify(f"it goes on: {key} stops it", severity="warning")
        else:
            super().action_back()

    def action_reload(self) -> None:
        self._ask_again()

    def _ask_again(self) -> None:
        self._soon.set()
        self.redraw()

    def status(self) -> Line:
        if self._is_acting:
            key = self.workbench.key("live-object.stop-the-act")
            return line(Span(f"{self._progress or 'an act is under way'}  {key} stops it", Tone.BUSY))
        acts = [f":{each.value}{' N' if each is LiveAct.SCALE else ''}" for each in acts_of(self._object)]
        if self.pod_at_hand() is not None:
            acts += [":shell", ":exec", ":forward PORT"]
        return line(Span(f"{self._object.api_version}  to type: {', '.join(acts)}", Tone.MUTED))
