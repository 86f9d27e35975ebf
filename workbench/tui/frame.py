"""What all screens share: the banner that says where you are, the prompt, the status line, the key hints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input

from runtimes.base import Address, FieldPath, KubernetesId, ResourceId
from workbench.present import clusters, durations, errors, reconcile
from workbench.present.rows import Key
from workbench.present.text import Line, Span, Tone, line
from workbench.project import StackPath, WorkbenchError
from workbench.tui import filters, panes, running, saving, served
from workbench.tui.key_names import SIGNS, WithNames
from workbench.tui.memory import Place
from workbench.tui.state import StackState
from workbench.tui.widgets.key_line import KeyLine
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.words import counted

if TYPE_CHECKING:
    from textual.command import Provider

    from workbench.engine.changes import Change
    from workbench.engine.spec import Spec
    from workbench.tui.app import WorkbenchApp


OSC52_MOST_BYTES = 74_994
_PLACES = "stack NAME, diff, plan, watch, fleet, log, or a kind such as pods"
DRAW_SECONDS = 0.1
"""What changes within so long of a first change is drawn with it."""
PAINTS_APART_SECONDS = 0.25
REST = 10.0
"""So many times longer than it took to draw is waited before drawing again."""
_AROUND_CLUSTERS = 4
"""The columns that stand before and after the clusters in the banner, its own margins with them."""
AGES_SECONDS = 5.0
"""How often ages are drawn again where nothing else changes: each is bytes over SSH."""


MATCH_KEYS: tuple[BindingType, ...] = (
    Binding("n", "match(1)", "Next match", show=False),
    Binding("N", "match(-1)", "Match before", show=False),
)
"""For the screens that have no other use for these keys."""


def pause_before(now: float, drawn_at: float, drawing_seconds: float) -> float:
    """Returns how long to wait before drawing what has just changed; `drawn_at` is when the last drawing ended.

    What is drawn is made on the same loop, and must not wait for it: thousands of rows are drawn seldom, a few often,
    and nothing more than four times a second. What changes after a quiet moment is drawn at once.
    """
    rest = max(PAINTS_APART_SECONDS, REST * drawing_seconds)
    return max(DRAW_SECONDS, drawn_at + rest - now)


def is_protected(state: StackState) -> bool:
    placement = state.stack.placement
    return placement is not None and placement.protected


class StateChanged(Message):
    """Something about a stack is new; screens that show it draw it again."""

    def __init__(self, path: StackPath) -> None:
        super().__init__()
        self.path = path


def _actions() -> type[Provider]:
    from workbench.tui.actions import Actions  # the palette is loaded when somebody opens it

    return Actions


class Frame(WithNames, Screen[None]):
    """A screen of the workbench. Subclasses compose `body` and redraw in `show_state`."""

    DEFAULT_CSS = """
    Frame #banner { dock: top; height: 1; background: $panel; padding: 0 1; }
    Frame #bottom { dock: bottom; height: auto; }
    Frame #status { height: 1; background: $panel; padding: 0 1; }
    Frame #trouble { display: none; max-height: 12; padding: 0 1; background: $error 10%; }
    Frame #trouble.shown { display: block; }
    Frame.protected #body { border-left: thick $error; }
    App.-ascii Frame.protected #body { border-left: ascii $error; }
    Frame #panes > .zoomed-away { display: none !important; }
    Frame #panes > .zoomed { width: 1fr !important; height: 1fr !important; border: none !important; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("colon", "command", "Command", key_display=":", show=False),
        Binding("question_mark", "toggle_help", "Keys", key_display="?"),
        Binding("escape", "back", "Back"),
        Binding("tab", "app.focus_next", "Next pane", show=False),
        Binding("r", "reload", "Reload", show=False),
        Binding("z", "zoom", "Zoom pane", show=False),
        Binding("greater_than_sign", "room(1)", "Larger pane", key_display=">", show=False),
        Binding("less_than_sign", "room(-1)", "Smaller pane", key_display="<", show=False),
        Binding("y", "copy", "Copy", show=False),
        Binding("S", "picture", "Save a picture", show=False),
        Binding("m", "bookmark", "Bookmark", show=False),
        Binding("apostrophe", "go", "Go to bookmark", key_display="'", show=False),
        Binding("x", "app.command_palette", "All actions", show=False),
        Binding("q", "quit", "Quit", show=False),
    ]

    COMMANDS: ClassVar = {_actions}

    # Textual declares it as an instance variable, so it can't be a ClassVar here
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-two"), (130, "-three")]  # noqa: RUF012

    writes: ClassVar[bool] = False
    """Whether clusters are written from here: beside what is protected there is a border then."""
    name_in_trail = ""
    command = ""
    """What opens this screen again after a colon; empty where nothing does, as for one object."""
    filter_text = ""
    stops = ""
    """The name of the key that stops what is awaited here; empty where nothing is that can be stopped."""
    _arriving: Place | None = None
    _is_composed = False
    _drawing: Timer | None = None

    def __init__(self, state: StackState | None = None) -> None:
        super().__init__()
        self.state = state

    @property
    def workbench(self) -> WorkbenchApp:
        return cast("WorkbenchApp", self.app)

    def compose(self) -> ComposeResult:
        yield ToneText(id="banner")
        with Container(id="body"):
            yield from self.body()
        with Container(id="bottom"):
            yield ToneText(id="trouble", wrap=True)
            yield Prompt(id="prompt")
            yield ToneText(id="status")
            yield KeyLine()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders that source lines are named from: the stack's project, then the repository."""
        project = (self.state.stack.project_directory,) if self.state else ()
        return (*project, self.workbench.konfig.root)

    def show_state(self) -> None:
        """Draws what the state holds now."""

    def on_mount(self) -> None:
        self.redraw()
        self.focus_main()
        self.set_interval(1.0, self._show_elapsed)
        self.set_interval(AGES_SECONDS, self._show_ages)
        self._is_composed = True
        if self._arriving is not None:
            self.arrive(self._arriving)

    def _show_elapsed(self) -> None:
        if self.shown_state is not None and self.shown_state.busy:
            self.query_one("#status", ToneText).show(self.status())

    def _show_ages(self) -> None:
        if self.is_current:
            self.redraw()

    def on_screen_resume(self) -> None:
        self.redraw()
        self.workbench.note_place(self)

    def place(self) -> Place | None:
        """Returns what leads back here, as it is filtered and ordered now."""
        return Place(self.command, self.filter_text, self.order) if self.command else None

    def arrive(self, place: Place) -> None:
        """Filters and orders as it was when somebody left from here."""
        self._arriving = place
        if not self._is_composed:
            return
        self.order_by(place.order)
        if place.filter:
            self._filtered = self.main_table()
            self.apply_filter(place.filter)

    @property
    def order(self) -> str:
        """How the rows are ordered, in words of the screen's own; empty where there is but one order."""
        return ""

    def subject(self) -> Address | None:
        """Returns the object under the cursor, None where there is none."""
        table = self.main_table()
        match table.current if table is not None else None:
            case Address() as address:
                return address
            case (Address() as address, *_):
                return address
            case (str() as cluster, KubernetesId() as id_):
                return Address(cluster, id_)
        return None

    def resource_id(self) -> ResourceId | None:
        """Returns the id of the object under the cursor, in whichever place; None where there is none."""
        found = self.subject()
        return found.id if found is not None else None

    def clusters_of_cursor(self) -> tuple[str, ...]:
        """Returns the clusters of the object under the cursor."""
        found = self.subject()
        return (found.cluster,) if found is not None else ()

    def field_path(self) -> FieldPath:
        """Returns the field under the cursor, empty where that is on none."""
        return ()

    def order_by(self, order: str) -> None:
        """Takes an order that `order` said before; screens that know no orders leave it."""

    def on_state_changed(self, event: StateChanged) -> None:
        if self.state is None or self.state.stack.path == event.path:
            self.redraw_soon()

    def redraw_soon(self) -> None:
        """Draws once for all that changes until then: two hundred stacks or two thousand steps change in a burst."""
        if self._drawing is None:
            pause = pause_before(time.perf_counter(), self._drawn_at, self._drawing_seconds)
            self._drawing = self.set_timer(pause, self._redraw_now)

    def _redraw_now(self) -> None:
        self._drawing = None
        if not self.is_attached or not self.query("#banner"):
            return  # it was left meanwhile, or is taken down; what a worker of it tells while it ends has nowhere to go
        began = time.perf_counter()
        self.redraw()
        self._drawn_at = time.perf_counter()
        self._drawing_seconds = self._drawn_at - began

    _drawn_at = float("-inf")
    _drawing_seconds = 0.0

    def redraw(self) -> None:
        self.query_one("#banner", ToneText).show(self.banner())
        self.query_one("#status", ToneText).show(self.status())
        self.set_class(self.writes and self.is_protected, "protected")
        trouble = self.query_one("#trouble", ToneText)
        error = self.shown_state.error if self.shown_state else None
        trouble.set_class(error is not None, "shown")
        if error is not None:
            trouble.show_all(errors.lines(error, self.workbench.glyphs))
        self.show_state()
        if self.is_current:
            self.workbench.note_place(self)

    @property
    def shown_state(self) -> StackState | None:
        """The stack that banner and status line speak of."""
        return self.state

    @property
    def is_protected(self) -> bool:
        """Whether what is shown, or where it is, is protected."""
        state = self.shown_state
        return state is not None and is_protected(state)

    def is_protected_place(self, *places: str) -> bool:
        """Whether a protected stack goes to one of these clusters."""
        every = self.workbench.states.values()
        return any(is_protected(each) and not {*places}.isdisjoint(each.stack.clusters) for each in every)

    def banner(self) -> Line:
        state = self.shown_state
        parts: list[Span | str] = []
        placement = state.stack.placement if state else None
        if placement and placement.environment:
            tone = Tone.PROTECTED if placement.protected else Tone.ENVIRONMENT
            parts += [Span(f" {placement.environment.upper()} ", tone), " "]
        parts.append(Span(state.stack.name if state else str(self.workbench.session.root.name), Tone.STRONG))
        after: list[Span | str] = []
        if state and state.inputs and state.whatif:
            after += ["  ", Span(f" WHAT-IF: {', '.join(each.name for each in state.whatif.files)} ", Tone.WARN)]
        if said := running.in_short(running.running(self.workbench, state)):
            after.append(Span(f"  {self.workbench.glyphs.busy} {said}", Tone.BUSY))
        if self.name_in_trail:
            after.append(Span(f"  › {self.name_in_trail}"))
        if placement and placement.clusters:
            room = self.app.size.width - len(line(*parts, *after)) - _AROUND_CLUSTERS
            shown = clusters.in_short(placement.clusters, self.workbench.places, room)
            parts.append(Span(f"  {shown}", Tone.MUTED))
        return line(*parts, *after)

    def status(self) -> Line:
        state, parts = self.shown_state, []
        session = self.workbench.session
        if session.settings.is_read_only or (state and session.read_only(state.stack)):
            parts.append(Span("UNTRUSTED  " if session.trust.untrusted else "READ ONLY  ", Tone.WARN))
        if state and state.busy:
            elapsed = f" {time.monotonic() - state.busy_since:.0f}s"
            stops = f", {self.workbench.key(self.stops)} stops it" if self.stops and not state.is_applying else ""
            parts.append(Span(f"{state.busy} ...{elapsed}{stops}  ", Tone.BUSY))
        if state and state.compiled:
            seconds = state.compiled.seconds
            parts.append(
                Span(f"{counted(len(state.compiled.spec), 'resource')}, compiled in {seconds:.2f} s  ", Tone.MUTED)
            )
            if state.error is not None:
                parts.append(Span("showing the last good one  ", Tone.WARN))
        if state and state.tree and not state.is_watched:
            age = durations.short((self.workbench.now() - state.tree.at).total_seconds())
            parts.append(Span(f"last watched {age} ago  ", Tone.MUTED))  # that no cluster answers is not said of it
        elif state and state.tree:
            now = self.workbench.now()
            tree = state.tree.as_of(now)
            parts.append(Span(f"{tree.ready}/{tree.total} ready  ", Tone.MUTED))
            parts += [*reconcile.heard(tree, now).spans, Span("  ")]
        return line(*(parts or [Span(self._repository(), Tone.MUTED)]))

    def _repository(self) -> str:
        konfig = self.workbench.konfig
        stacks = sum(1 for _ in konfig.stacks())
        return f"{konfig.root.name}: projects {len(konfig.projects)}, stacks {stacks}"

    # --- the prompt

    def main_table(self) -> ResourceTable | None:
        """The table that `/` filters; the focused one, else the first."""
        focused = self.focused
        if isinstance(focused, ResourceTable):
            return focused
        tables = self.query(ResourceTable)
        return tables.first() if tables else None

    def focus_main(self) -> None:
        table = self.main_table()
        if table is not None:
            table.focus()

    def action_filter(self) -> None:
        self._filtered = self.main_table()
        self.query_one(Prompt).open("/", "filter: regular expression, -f letters, -l key=value; ! inverts")

    def action_match(self, by: int) -> None:
        """Goes to the next row that the filter finds, or to the one before, past the rows that only lead to it."""
        table = self.main_table()
        if table is not None and not table.move_to_match(by):
            why = self.why_not("match") or "the filter finds nothing here"
            self.notify(why, severity="warning")

    def action_command(self) -> None:
        self.open_command()

    def action_bookmark(self) -> None:
        self.open_command("bookmark ")

    def action_go(self) -> None:
        self.open_command("go ")

    def open_command(self, value: str = "") -> None:
        """Opens the prompt for a command that may begin with a value."""
        self.workbench.learn_kinds()
        complete, before = (self.workbench.key(each) for each in ("prompt.complete", "prompt.before"))
        self.query_one(Prompt).open(
            ":",
            f"{_PLACES}; {complete} completes, {before} recalls",
            completions=self.workbench.completions,
            value=value,
            history=self.workbench.command_history,
        )

    _filtered: ResourceTable | None = None

    def apply_filter(self, text: str) -> None:
        table = self._filtered
        if table is None:
            return
        try:
            table.filter_by(filters.parse(text))
            self.filter_text = text
            self.query_one("#status", ToneText).show(self.status())
            if filters.is_by_labels(text) and table.rows and all(row.labels is None for row in table.rows):
                self.query_one("#status", ToneText).show(line(Span(filters.NO_LABELS, Tone.WARN)))
            self.workbench.note_place(self)
        except filters.BadFilter as error:
            self.query_one("#status", ToneText).show(line(Span(str(error), Tone.WARN)))

    def on_input_changed(self, event: Input.Changed) -> None:
        if isinstance(event.input, Prompt) and event.input.purpose == "/":
            self.apply_filter(event.value)

    def on_prompt_choices(self, event: Prompt.Choices) -> None:
        words = "  ".join(each.split()[-1] for each in event.texts)
        self.query_one("#status", ToneText).show(line(Span(words, Tone.MUTED)))

    def on_prompt_closed(self, event: Prompt.Closed) -> None:
        if event.purpose == "/":
            self.apply_filter("")
        self.focus_main()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if not isinstance(event.input, Prompt):
            return
        prompt = event.input
        prompt.display = False
        (self._filtered or self).focus()
        if prompt.purpose == ":":
            self.focus_main()
            self.workbench.run_command(event.value, self)

    # --- keys

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """Without the keys that the field that is typed into takes, those among them that Textual does not know."""
        found, field = super().active_bindings, self.focused
        if field is None:
            return found
        return {key: each for key, each in found.items() if not field.check_consume_key(key, SIGNS.get(key))}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leaves to who looks on in a browser what is for looking."""
        if self.workbench.is_served and not served.is_action(action, parameters):
            return False
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str:
        """Returns why an action does nothing here now, empty where nothing is known against it; screens know more."""
        name, state = action.rpartition(".")[2].partition("(")[0], self.shown_state
        match name:
            case "match":
                table = self.main_table()
                is_filtered = table is not None and table.is_filtered
                return "" if is_filtered else f"nothing is filtered: {self.workbench.key('everywhere.filter')} filters"
            case "call_off":
                return "" if state is not None and state.busy and not state.is_applying else "nothing is awaited here"
            case "open" | "switch_to" if state is None:
                return "put the cursor on a stack first"
            case "write" | "commit" | "branch" | "ask" if state is not None:
                return self.workbench.session.read_only(state.stack)
        return ""

    def why_not_typed(self, word: str) -> str:
        """Returns why a command does nothing here now, as `why_not`."""
        from workbench.tui import commands

        if word in commands.OF_A_STACK and self.shown_state is None:
            return "put the cursor on a stack first, or name one"
        if word in commands.ACTS:
            return "open or list live objects first"
        if word in commands.ASKED:
            return "" if self.resource_id() is not None else "put the cursor on an object first"
        if word in commands.EDITED:
            return "go to a What-if first"
        return "go to the Live diff first" if word in commands.OF_A_DIFF else ""

    def action_toggle_help(self) -> None:
        if self.query("HelpPanel"):
            self.app.action_hide_help_panel()
        else:
            self.app.action_show_help_panel()

    def action_back(self) -> None:
        table = self.main_table()
        if self.query("HelpPanel"):
            self.app.action_hide_help_panel()
        elif table is not None and table.is_filtered:
            table.filter_by(None)
            self.filter_text = ""
        elif len(self.app.screen_stack) > 2:
            self.app.pop_screen()

    def copied(self) -> str:
        """What `y` copies here: the rows of the focused table as text, and what is said to be wrong."""
        table = self.main_table()
        rows = table.fresh_rows() if table is not None else ()
        found = ["  " * row.depth + "  ".join(str(cell) for cell in row.cells).rstrip() for row in rows]
        error = self.shown_state.error if self.shown_state else None
        return "\n".join(
            [*found, *(str(each) for each in (errors.lines(error, self.workbench.glyphs) if error else ()))]
        )

    def action_copy(self) -> None:
        """Copies through the terminal (OSC 52), which works over SSH; most terminals take no more than 74 kB."""
        text = self.copied()
        if len(text.encode()) > OSC52_MOST_BYTES:
            self.notify("too much for the clipboard of a terminal: filter first", severity="warning")
        elif text:
            self.app.copy_to_clipboard(text)
            self.notify(f"copied {len(text.splitlines())} lines")

    def painted(self) -> Sequence[Strip]:
        """What is on the screen, line by line."""
        return self._compositor.render_strips()

    def exports(self) -> tuple[str, ...]:
        """The forms that `:export` knows here."""
        state = self.shown_state
        return ("bundle", "svg", *(("yaml",) if state is not None and state.compiled is not None else ()))

    def export(self, form: str) -> None:
        """Writes what is here into the working folder, for its user alone, secrets masked."""
        match form:
            case "svg":
                self.call_after_refresh(self.action_picture)
            case "yaml":
                self._export_spec()
            case _:
                from workbench.tui import bundle  # what it reads with is of no other use here

                # first what was typed goes from the screen
                self.call_after_refresh(self._saved, lambda: bundle.save(self.workbench, self))

    def _export_spec(self) -> None:
        from workbench.present.spec import masked_documents
        from workbench.present.yaml_data import yaml_data

        compiled = self.shown_state.compiled if self.shown_state is not None else None
        assert compiled is not None, "it is not offered before"
        path = saving.file_name((compiled.spec.stack, "spec"), "yaml", self.workbench.now())

        def write() -> Path:
            saving.save(path, yaml_data(masked_documents(compiled.spec)).splitlines())
            return path

        self._saved(write)

    def _saved(self, write: Callable[[], Path]) -> None:
        try:
            path = write()
        except (OSError, WorkbenchError) as error:
            self.notify(f"not saved: {error}", severity="error")
        else:
            self.notify(f"saved {path}")

    def action_picture(self) -> None:
        """Saves the screen as an SVG file in the working folder; secrets are masked in it as they are here."""
        path = self.app.save_screenshot(path=".")
        self.notify(f"saved {path}")

    def edit_field(self, spec: Spec, change: Change, row: Key | None) -> None:
        """Opens the editor at the line that set the field of a row of `diff.detail_rows`, else the resource."""
        match row:
            case (tuple() as path, int()):
                chain = spec.chain(change.address.id, path)
            case _:
                chain = change.source
        if chain:
            self.workbench.edit(chain[0].file, chain[0].line)
        else:
            self.notify("no source line is known for this", severity="warning")

    def action_zoom(self) -> None:
        """Gives the focused pane the whole screen, or gives the others their room back."""
        panes.zoom(self)

    def action_room(self, by: int) -> None:
        """Gives the focused pane more of the room, or less."""
        if not self.workbench.rooms.resize(self, by):
            self.notify("there is no other pane here to share the room with", severity="warning")

    def on_resize(self) -> None:
        self.call_after_refresh(self.workbench.rooms.apply, self)  # beside or below is decided by then
        if self._is_composed:
            self.query_one("#banner", ToneText).show(self.banner())  # what it says of clusters is as long as it may be

    def action_reload(self) -> None:
        if self.state is not None:
            self.workbench.reload(self.state, self)

    def action_call_off(self) -> None:
        """Stops what the status line says is awaited."""
        state = self.shown_state
        if state is not None and state.busy and not state.is_applying:
            self.workbench.call_off(state)
        else:
            self.notify("nothing is awaited here", severity="warning")

    def action_quit(self) -> None:
        self.workbench.ask_to_quit()
