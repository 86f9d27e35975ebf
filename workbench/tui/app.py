"""The terminal face: wiring between a session and the screens.

Everything that takes time runs as a worker of this app, changes the state of one stack, and tells the screens by a
message; screens draw state and never wait. Results that come after a newer request for the same thing are dropped:
each kind of work on a stack is one exclusive group of workers.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from textual import events, work
from textual.app import App, SuspendNotSupported, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen

from kcl.terminal import harmless
from runtimes.base import Address, ClusterIdentity, ObjectRef, RuntimeFailure
from workbench.present import errors, glyphs
from workbench.project import BrokenFile, KonfigTree, Stack, StackPath, UnknownStack, WorkbenchError
from workbench.tui import attaching, command_line, custom_running, equivalents, key_names, places, served
from workbench.tui.custom import CustomCommand
from workbench.tui.drafts import Drafts
from workbench.tui.frame import Frame, StateChanged
from workbench.tui.key_names import WithNames
from workbench.tui.key_queue import KeyQueue
from workbench.tui.last_lines import last_lines
from workbench.tui.later import later
from workbench.tui.memory import Memory, Place
from workbench.tui.painting import PaintingDriver
from workbench.tui.panes import Rooms
from workbench.tui.recovering import Recovering
from workbench.tui.rolling_out import RollingOut
from workbench.tui.running import ACT
from workbench.tui.screens.browse import BrowseScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.plan import PlanScreen
from workbench.tui.screens.reconcile import ReconcileScreen
from workbench.tui.screens.releases import ReleasesScreen
from workbench.tui.screens.spec import SpecScreen
from workbench.tui.screens.whatif import WhatIfScreen
from workbench.tui.stack_work import APPLYING, StackWork
from workbench.tui.state import Goal, Reach, StackState, Verb
from workbench.tui.themes import SIXTEEN, SIXTEEN_CLASS, THEMES, fitting
from workbench.tui.tones import ASCII_CLASS, OnlyAscii, WithoutOrders
from workbench.tui.user_files import KEYMAP_FILE, is_there

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.notifications import SeverityLevel

    from workbench.engine.drift import StackDrift
    from workbench.engine.fleet import StackLook, TakenOut
    from workbench.engine.release import Release
    from workbench.engine.whatif import WhatIf
    from workbench.session import Session

_SCREENS: dict[str, type[Frame]] = {
    "spec": SpecScreen,
    "diff": DiffScreen,
    "plan": PlanScreen,
    "destroy": PlanScreen,
    "reconcile": ReconcileScreen,
    "whatif": WhatIfScreen,
    "releases": ReleasesScreen,
}
KINDS_SECONDS = 60.0


class WorkbenchApp(WithNames, App[int]):
    """Returns the exit code. `open_at` is a stack to put the cursor on. `message` is said at first, with `first_keys`:
    what they do, by their names. `restores`: begins where the last one ended."""

    TITLE = "Konfig Workbench"
    ENABLE_COMMAND_PALETTE = True
    CSS = """
    Screen { background: $surface; }
    #body { height: 1fr; }
    HelpPanel { width: 40%; }
    App.-ascii #fields, App.-ascii #side, App.-ascii #yaml, App.-ascii #overview, App.-ascii #effect {
        border-left: ascii $panel;
    }
    App.-ascii .-narrow #fields, App.-ascii .-narrow #side, App.-ascii .-two #side, App.-ascii .-narrow #yaml,
    App.-ascii .-narrow #effect {
        border-left: none; border-top: ascii $panel;
    }
    App.-sixteen ResourceTable > .resource-table--cursor { background: #0000aa; }
    App.-sixteen ResourceTable > .resource-table--cursor-unfocused { background: #0000aa; }
    App.-ascii Toast { border-left: ascii $warning; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "ask_to_quit", "Quit from anywhere", show=False, priority=True)
    ]

    def __init__(
        self,
        session: Session,
        *,
        open_at: str = "",
        message: str = "",
        first_keys: Mapping[str, str] = MappingProxyType({}),
        restores: bool = False,
        is_served: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__()
        self._filters.append(WithoutOrders())
        if session.settings.is_ascii:
            self._filters.append(OnlyAscii())
        self.now = now
        self.is_served = is_served
        """Whether others look at it in a browser: nothing then is left but looking (`served`)."""
        self.session = session
        self.konfig: KonfigTree = session.tree()
        self.places: Mapping[str, ClusterIdentity | RuntimeFailure] = session.clusters()
        self.states: dict[StackPath, StackState] = {}
        self.recovering = Recovering(self)
        self.rolling_out = RollingOut(self)
        self._open_at, self._message, self._first_keys, self._restores = open_at, message, first_keys, restores
        self.memory = Memory(session.local)
        self.drafts = Drafts(self)
        self.last_place: Place | None = None
        self.custom: dict[str, CustomCommand] = {}
        self.keymap_of_user: dict[str, str] = {}
        self.color_system: str | None = None
        """What the terminal can show as rich calls it; None where that does not matter, as there is none."""
        self._releases: dict[StackPath, Release | None] = {}
        self._quit_asked_at = float("-inf")
        self.work = StackWork(self)
        self._typed = KeyQueue(self, super().on_event)
        self.command_log = equivalents.CommandLog()
        self.forwards = attaching.Forwards()
        self.rooms = Rooms()
        self.command_history: list[str] = []
        """What was typed after a colon, the oldest first; in memory alone, as it may hold a secret."""
        self.kind_names: tuple[str, ...] = ()
        self._kinds_at = float("-inf")
        self._take_states()

    @property
    def quiet_seconds(self) -> float:
        """For how long nobody typed."""
        return self._typed.quiet_seconds

    @property
    def is_ascii(self) -> bool:
        return self.session.settings.is_ascii

    def key(self, name: str) -> str:
        """Returns what sentences call the key that does something, by its name in a keymap file: `plan.stop`."""
        return key_names.in_words(name, self.keymap_of_user)

    @property
    def glyphs(self) -> glyphs.Glyphs:
        return glyphs.ASCII if self.is_ascii else glyphs.UNICODE

    def get_driver_class(self) -> type[Driver]:
        """Has what is painted go to a terminal in as few bytes as do it."""
        found = super().get_driver_class()
        # screens in a browser have another
        return PaintingDriver if found is LinuxDriver else found

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self._take_theme()
        self.set_class(self.theme == SIXTEEN, SIXTEEN_CLASS)
        self.animation_level = "none"
        self.set_class(self.is_ascii, ASCII_CLASS)
        self._take_keymap()
        self.custom = {} if self.is_served else custom_running.load(self, (*command_line.WORDS, "q"))
        screen = BrowseScreen()
        self.push_screen(screen)
        if self._open_at:
            self.call_after_refresh(self.move_to, screen, self._open_at)
        if self._restores:
            self.call_after_refresh(places.restore, self, screen)
        if self._message:
            keys = ", ".join(f"{self.key(name)}: {does}" for name, does in self._first_keys.items())
            self.notify(" ".join(each for each in (self._message, keys) if each), timeout=8)

    def _take_theme(self) -> None:
        """Takes the theme that is wanted, else what fits the terminal; without colour there is but one."""
        settings = self.session.settings
        self.theme = fitting(has_color=settings.has_color, color_system=self.color_system)
        if not settings.theme or not settings.has_color:
            return
        if settings.theme in self.available_themes:
            self.theme = settings.theme
        else:
            there = ", ".join(each.name for each in THEMES)
            self.notify(
                f"WB_THEME={settings.theme}: there is no such theme, but {there}", severity="warning", timeout=12
            )

    def _take_keymap(self) -> None:
        """Takes the keys that the user wants; a file that is wrong is named, and all keys are the default ones."""
        folder = self.session.settings.config_dir
        if folder is None or not is_there(folder / KEYMAP_FILE):
            return
        from workbench.tui import keymap  # it knows every screen

        try:
            self.keymap_of_user = keymap.read(folder)
        except BrokenFile as error:
            self.notify(f"{error} ({error.hint}). All keys are the default ones.", severity="error", timeout=30)
        self.set_keymap(self.keymap_of_user)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Resize) and isinstance(self._driver, PaintingDriver):
            self._driver.forget()
        if isinstance(event, events.Key | events.Paste) and not self.screen_stack:
            return  # it comes back up from a screen that was taken down with all others: this is the end
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._typed.put(event)
        else:
            await super().on_event(event)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Shows a toast as plain text, whoever asks: what it says may come from a cluster or a file."""
        text = "\n".join(harmless(each) for each in message.splitlines())
        super().notify(text, title=harmless(title), severity=severity, timeout=timeout, markup=False)

    def note_place(self, screen: Frame) -> None:
        """Notes where one is: this is what is left when the terminal is gone."""
        self.last_place = screen.place() or self.last_place

    def leave(self) -> None:
        """Stores what the next session begins with; the screens are gone by then."""
        self.drafts.flush()
        if self._restores:
            places.leave(self)

    def move_to(self, screen: BrowseScreen, name: str) -> None:
        try:
            stack = self.session.select(name)
        except UnknownStack as error:
            self.notify(f"{error}. {error.hint}", severity="warning")
        else:
            from workbench.tui.widgets.resource_table import ResourceTable

            screen.query_one("#tree", ResourceTable).move_to(stack.path)

    def _fatal_error(self) -> None:
        """Textual would print a traceback with the values of local variables: there may be secrets among them."""
        self.bell()
        error = self._exception
        self.panic(str(errors.Bug(error)) if error else "the workbench ended by an unknown error")

    # --- the repository

    def read_tree(self) -> None:
        """Reads the repository again; what can't be read leaves what was read before, and says so."""
        try:
            self.konfig = self.session.tree()
            self.places = self.session.clusters()
            for each in self.session.clusters_led_elsewhere():
                self.notify(f"{each}: start it again to go there", severity="warning")
        except (WorkbenchError, OSError) as error:
            self.notify(f"the repository can't be read, this is how it was: {error}", severity="error")
            return
        self._releases.clear()
        self._take_states()

    def _take_states(self) -> None:
        for stack in self.konfig.stacks():
            state = self.states.setdefault(stack.path, StackState(stack))
            state.stack = stack

    def latest_release(self, stack: Stack) -> Release | None:
        if stack.path not in self._releases:
            try:
                found = self.session.releases(stack)
            except WorkbenchError as error:
                self.notify(str(error), severity="warning")
                found = ()
            self._releases[stack.path] = found[0] if found else None
        return self._releases[stack.path]

    def forget_release(self, stack: Stack) -> None:
        """What was the latest release of a stack is not any more."""
        self._releases.pop(stack.path, None)

    # --- going places

    def learn_kinds(self) -> None:
        """Asks the clusters in the background what they serve, for completion; what they do not say is not offered."""
        if time.monotonic() - self._kinds_at > KINDS_SECONDS:
            self._kinds_at = time.monotonic()
            self.run_worker(later(self._learn_kinds), group="kinds", exclusive=True)

    async def _learn_kinds(self) -> None:
        names = [each.name for each in self.konfig.clusters.clusters]
        self.kind_names = await self.session.kind_names(names) or self.kind_names

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.is_served and (action in served.NOT_OF_THE_APP or not served.is_place(action, parameters)):
            return False
        return super().check_action(action, parameters)

    def open_stack(self, state: StackState, name: str) -> None:
        if self.is_served and name not in served.SCREENS:
            self.notify(served.REFUSAL, severity="warning")
            return
        self.push_screen(self._made(state, name))

    def _made(self, state: StackState, name: str) -> Frame:
        stack = state.stack.name
        # edits that exist only here are in no line
        line = "" if state.whatif is not None else equivalents.of_stack(name, stack, self.work.left_out(state))
        self.command_log.add(self.now(), f"opened {name} of {stack}", line)
        if name in ("plan", "destroy") and not state.is_applying:
            state.goal = Goal(Verb.DESTROY if name == "destroy" else Verb.APPLY)
        made = _SCREENS[name](state)
        made.command = f"{'plan' if name == 'destroy' else name} {state.stack.path}"
        return made

    def open_plan(self, state: StackState, goal: Goal) -> None:
        """Opens the plan of a stack for something else than what its configuration says."""
        if state.is_applying:
            self.notify(f"an apply of {state.stack.name} runs: this is it", severity="warning")
        elif state.edits:
            self.notify(f"{state.edits} is edited in a What-if: write or drop that first", severity="warning")
            return
        else:
            state.goal, state.skipped, state.is_forced = goal, frozenset(), False
        self.push_screen(PlanScreen(state))

    def undo(self, state: StackState) -> None:
        """Opens the plan that returns to the last good release before the current one."""
        self.open_plan(state, Goal(Verb.ROLLBACK))

    def action_undo(self) -> None:
        if isinstance(self.screen, Frame) and self.screen.shown_state is not None:
            self.undo(self.screen.shown_state)

    def action_switch_to(self, name: str) -> None:
        """From one screen of a stack to another of the same stack."""
        current = self.screen
        if self.is_served and name not in served.SCREENS:
            self.notify(served.REFUSAL, severity="warning")
        elif isinstance(current, Frame) and current.shown_state is not None:
            self.switch_screen(self._made(current.shown_state, name))

    def run_command(self, text: str, screen: Frame, *, is_typed: bool = True) -> None:
        """What was typed after `:`, or leads back to a place."""
        command_line.run(self, text, screen, is_typed=is_typed)

    def completions(self, text: str) -> tuple[str, ...]:
        """Returns the texts that what was typed after `:` may become: commands, then stacks."""
        return command_line.completions(self, text)

    def action_custom(self, name: str) -> None:
        """What the key of a command of the user's own does."""
        if isinstance(self.screen, Frame):
            custom_running.run(self, name, "", self.screen)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        if isinstance(screen, Frame) and screen.shown_state is not None:
            state = screen.shown_state
            # without the stack's name: the palette reads titles as markup, and a folder may be named anything
            for name, title in (("spec", "Spec"), ("diff", "Live diff"), ("plan", "Plan"), ("reconcile", "Watch")):
                yield SystemCommand(title, "of this stack", lambda n=name: self.open_stack(state, n))

    def ask_to_quit(self, is_sure: bool = False) -> None:
        """Quits at the second `q` within two seconds; an apply that runs has to be stopped first."""
        running = [state.stack.name for state in self.states.values() if state.is_applying]
        if running:
            self.notify(f"an apply of {running[0]} runs: {self.key('plan.stop')} stops it", severity="warning")
            return
        if self.recovering.is_running:
            self.notify(f"a recovery runs: {self.key('recovery.stop')} on its screen stops it", severity="warning")
            return
        if self.rolling_out.is_running:
            self.notify(
                f"a rollout is carried out here: {self.key('rollouts.stop')} on its screen stops it", severity="warning"
            )
            return
        if any(each.group.startswith(ACT) and not each.is_finished for each in self.workers):
            self.notify(
                f"an act on a live object is under way: {self.key('live-object.stop-the-act')} on its screen stops it",
                severity="warning",
            )
            return
        now = time.monotonic()
        if is_sure or now - self._quit_asked_at < 2:
            self.exit(0)
        else:
            self._quit_asked_at = now
            self.notify(f"{self.key('everywhere.quit')} again quits", timeout=2)

    def action_ask_to_quit(self) -> None:
        self.ask_to_quit()

    async def action_quit(self) -> None:
        """What the palette's own Quit does: it must not end an apply that runs either."""
        self.ask_to_quit(is_sure=True)

    def edit(self, file: Path, line: int) -> None:
        """Opens the user's editor at a line; the screen comes back when it ends."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self.notify(f"{file}:{line}  (set EDITOR to open it from here)", timeout=10)
            return
        try:
            with self.suspend():
                subprocess.run([*shlex.split(editor), f"+{line}", str(file)], check=False)
        except (OSError, ValueError, SuspendNotSupported) as error:
            self.notify(f"EDITOR={editor} can't be run: {error}", severity="error")
        self.read_tree()
        if isinstance(self.screen, Frame):
            self.screen.redraw()

    # --- work

    def take_look(self, look: StackLook) -> None:
        """Takes what a look at all stacks found of one; the stack may be gone since."""
        if state := self.states.get(look.stack):
            state.look = look

    def take_drift(self, look: StackDrift) -> None:
        """As `take_look`, of a look for drift alone."""
        if state := self.states.get(look.stack):
            state.drift = look

    async def taken_out(self) -> TakenOut:
        """Returns what stacks left that are gone from the repository. Whatever keeps it from being known is said."""
        from workbench.engine.fleet import TakenOut

        try:
            return await self.session.taken_out(self.konfig)
        except Exception as error:
            known = error if isinstance(error, RuntimeFailure | WorkbenchError) else errors.Bug(error)
            said = f"whether stacks that are gone from the repository left something is not known: {known}"
            return TakenOut(unknown=(said,))

    def forget_comparisons(self, state: StackState) -> None:
        """What was compared is of files or objects that are others now."""
        state.diff = state.look = state.drift = None

    def reload(self, state: StackState, screen: Frame) -> None:
        match screen:
            case SpecScreen():
                self.compile_stack(state)
            case DiffScreen():
                self.diff_stack(state)
            case PlanScreen() if not state.is_applying:
                self.plan_stack(state)
            case ReconcileScreen():
                self.watch_stack(state)
            case WhatIfScreen():
                self.diff_stack(state)

    def compile_stack(self, state: StackState) -> None:
        self.run_worker(later(self.work.compile, state), group=f"compile {state.stack.name}", exclusive=True)

    def diff_stack(self, state: StackState) -> None:
        self.run_worker(later(self.work.diff, state), group=f"diff {state.stack.name}", exclusive=True)

    def compile_marked(self, states: Iterable[StackState]) -> None:
        for each in states:
            self.run_worker(
                later(self.work.in_turn, each, self.work.compile), group=f"compile {each.stack.name}", exclusive=True
            )

    def diff_marked(self, states: Iterable[StackState]) -> None:
        for each in states:
            self.run_worker(
                later(self.work.in_turn, each, self.work.diff), group=f"diff {each.stack.name}", exclusive=True
            )

    def plan_stack(self, state: StackState) -> None:
        self.run_worker(later(self.work.plan, state), group=f"plan {state.stack.name}", exclusive=True)

    def call_off(self, state: StackState) -> None:
        """Stops what is awaited of a stack; what was known before stays, and that nothing newer came is said."""
        if state.is_applying or not state.busy:
            return
        what = state.busy
        for each in ("compile", "diff", "plan", "reach"):
            self.workers.cancel_group(self, f"{each} {state.stack.name}")
        state.busy = ""
        hint = f"{self.key('everywhere.reload')} asks again"
        state.error = WorkbenchError(f"stopped while {what}: nothing new is known", hint=hint)
        self.tell(state)

    def measure_reach(self, state: StackState) -> None:
        """Finds out in the background how far the edits at hand reach; what was known of older ones is dropped."""
        state.reach = Reach.of(state.whatif)
        self.run_worker(later(self.work.measure_reach, state), group=f"reach {state.stack.name}", exclusive=True)

    def toggle_destroying(self, state: StackState) -> None:
        """Plans to take everything away, or what the configuration says again."""
        state.goal = Goal(Verb.APPLY if state.goal.verb is Verb.DESTROY else Verb.DESTROY)
        self.plan_stack(state)

    def toggle_forced(self, state: StackState) -> None:
        """Plans to take over what other managers own, or to leave it to them again."""
        state.is_forced = not state.is_forced
        self.plan_stack(state)

    def toggle_skipped(self, state: StackState, address: Address) -> None:
        """Plans without a resource, or with it again."""
        self.leave_out(state, address)
        self.plan_stack(state)

    def leave_out(self, state: StackState, address: Address) -> None:
        """Has the next plan leave a resource out, or have it again."""
        state.skipped ^= {address}

    def edit_stack(self, state: StackState, whatif: WhatIf | None) -> None:
        """Takes edits that exist only here; None drops them."""
        self.restore_edits(state, whatif)
        self.drafts.keep(state)

    def restore_edits(self, state: StackState, whatif: WhatIf | None) -> None:
        """Takes edits that are stored already, as of when they were made."""
        state.whatif, state.reach = whatif, None

    def apply_plan(self, state: StackState) -> None:
        what, line = equivalents.of_apply(state.stack.name, state.goal)
        is_plain = state.whatif is None and not state.is_forced and not state.skipped
        self.command_log.add(self.now(), what, line if is_plain else "")
        state.is_applying, state.is_stopping, state.applying = True, False, None
        self.run_worker(later(self.work.apply, state), group=f"apply {state.stack.name}", exclusive=True)

    def stop_apply(self, state: StackState, *, at_once: bool = False) -> None:
        """Ends an apply in order. `at_once` makes Terraform drop what it has begun: only after a confirmation."""
        if state.applying is None:
            # nothing was written yet
            self.workers.cancel_group(self, f"apply {state.stack.name}")
            state.is_applying = state.busy in APPLYING  # one that did not begin will not say that it ended
            self.tell(state)
            return
        state.is_stopping = True
        said = (
            "Terraform drops what it has begun" if at_once else "what is on its way is finished, nothing new is started"
        )
        self.notify(f"stopping: {said}", severity="warning")
        self.run_worker(later(state.applying.interrupt, at_once=at_once), group=f"stop {state.stack.name}")

    def watch_stack(self, state: StackState) -> None:
        self.run_worker(later(self.work.watch, state), group=f"watch {state.stack.name}", exclusive=True)

    def follow_stack(self, state: StackState) -> None:
        """Sees to it that the stack is watched; a watch that goes on is left alone."""
        group = f"watch {state.stack.name}"
        if not any(each.group == group and not each.is_finished for each in self.workers):
            self.watch_stack(state)

    def leave_stack(self, state: StackState, leaving: ReconcileScreen) -> None:
        """Ends the watch, unless another screen shows it, be it one that lies below others."""
        others = (each for each in self.screen_stack if isinstance(each, ReconcileScreen) and each is not leaving)
        if not any(each.state is state for each in others):
            self.workers.cancel_group(self, f"watch {state.stack.name}")

    def tell(self, state: StackState) -> None:
        """Lets the screen that is seen draw what changed; one that comes back draws everything anyway."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Frame):
                screen.post_message(StateChanged(state.stack.path))
                return

    def tell_of_rollouts(self, *, is_recorded: bool) -> None:
        """`is_recorded`: something is in the records that was not there before, so they are worth reading again."""
        from workbench.tui.screens.rollouts import RolloutsScreen

        if is_recorded:
            self._releases.clear()
        for screen in self.screen_stack:
            if isinstance(screen, RolloutsScreen) and screen.is_mounted:
                screen.look_again() if is_recorded else screen.redraw_soon()

    @work(exclusive=True, group="logs")
    async def fetch_logs(self, cluster: str, pods: Sequence[ObjectRef], screen: ReconcileScreen) -> None:
        screen.show_logs(await last_lines(self.session, cluster, pods))
