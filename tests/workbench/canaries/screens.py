"""Pictures of the screens: what they say, and what a saved picture of each has in it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from rich.segment import Segment
from textual.color import Color
from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.base import in_words
from tests.workbench.canaries.repository import LOOK, OPTION, URL
from tests.workbench.tui.test_screens import opened, says, shown, state, until
from workbench.present.diff_export import FORMS, exported
from workbench.tui import bundle
from workbench.tui.app import WorkbenchApp
from workbench.tui.custom import CustomCommand
from workbench.tui.frame import Frame
from workbench.tui.screens.adopt import AdoptScreen
from workbench.tui.screens.answer import AnswerScreen
from workbench.tui.screens.bookmarks import BookmarksScreen
from workbench.tui.screens.command_log import CommandLogScreen
from workbench.tui.screens.drift import DriftScreen
from workbench.tui.screens.fleet import FleetScreen
from workbench.tui.screens.forwards import ForwardsScreen
from workbench.tui.screens.ignore import IgnoreScreen
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_acts import LiveActsScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.screens.output import OutputScreen
from workbench.tui.screens.reach import ReachScreen
from workbench.tui.screens.relations import RelationsScreen
from workbench.tui.screens.releases import ReleaseChangesScreen, ReleasesScreen
from workbench.tui.screens.replay import ReplayScreen
from workbench.tui.screens.rollout_plan import RolloutPlanScreen
from workbench.tui.screens.rollouts import RolloutsScreen
from workbench.tui.screens.timeline import TimelineScreen
from workbench.tui.tones import OnlyAscii
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable


class Unreadable(OnlyAscii):
    """Notes what becomes a question mark, where nothing outside of ASCII may be painted."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: set[str] = set()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        shown = super().apply(segments, background)
        self.texts |= {
            before.text
            for before, after in zip(segments, shown, strict=True)
            if after.text.count("?") > before.text.count("?")
        }
        return shown


@dataclass
class Pictures:
    """`seen` is what was shown, by a name; `screens` are the classes of the screens that were looked at, `painted` the
    signs that a terminal got."""

    app: WorkbenchApp
    pilot: Pilot[Any]
    seen: dict[str, str] = field(default_factory=dict)
    screens: set[str] = field(default_factory=set)
    painted: set[str] = field(default_factory=set)

    def take(self, name: str) -> None:
        self.screens.add(type(self.app.screen).__name__)
        for strip in self.app.screen._compositor.render_strips():
            self.painted |= set(strip.text)
        self.seen[name] = "\n".join(shown(self.app)) + self.app.export_screenshot().replace("&#160;", " ")

    async def of_each_row(self, name: str, rows: int) -> None:
        for number in range(rows):
            self.take(f"{name} {number}")
            await self.pilot.press("j")

    async def of_a_stack(self, rows: int) -> None:
        """The stack in the browser, its Spec, its diff, its plan and each step of that, which stays open."""
        await opened(self.pilot)
        self.take("browse")
        await self.pilot.press("c")
        await until(self.pilot, lambda: says(self.app, "Secret"))
        await self.of_each_row("spec", rows)
        await self.of_what_is_asked()
        await self.pilot.press("escape", "d")
        await until(self.pilot, lambda: says(self.app, "create"))
        await self.of_each_row("diff", rows)
        await self.pilot.press("vertical_line")
        await self.of_each_row("diff beside each other", rows)
        found = state(self.app).diff
        assert found is not None
        for form in FORMS:
            self.seen[f"diff as {form}"] = exported(found, form, (self.app.konfig.root,), self.app.now())
        await self.pilot.press("P")
        await until(self.pilot, lambda: state(self.app).plan is not None and not state(self.app).busy)
        self.take("plan")
        await self.of_each_step(3)

    async def of_what_is_asked(self) -> None:
        """On Spec: the lines behind objects, secrets among them, and what names them."""
        compiled, table = state(self.app).compiled, self.app.screen.query_one("#resources", ResourceTable)
        assert compiled is not None
        for id_ in [each.id for each in compiled.spec if in_words(each.id).startswith(("Secret", "ConfigMap"))][:3]:
            table.move_to(id_)
            for name in ("explain", "related"):
                await (self._typed("explain") if name == "explain" else self.pilot.press("u"))
                await until(
                    self.pilot, lambda: isinstance(self.app.screen, AnswerScreen) and not says(self.app, "asking ...")
                )
                self.take(f"{name} {id_}")
                await self.pilot.press("escape")

    async def of_a_recovery(self, options: Mapping[str, str], rows: int) -> None:
        """What would be done, the question, the run and its end."""
        app = self.app
        given = " ".join(f"{name}={value}" for name, value in options.items())
        await self._typed(f"recover {given}")
        await until(self.pilot, lambda: app.recovering.job is not None and app.recovering.job.found is not None)
        await self.pilot.pause(0.3)
        await self.of_each_row("recovery", rows)
        await self.pilot.press("a")
        self.take("recovery asked")
        assert app.recovering.job is not None and app.recovering.job.found is not None
        app.screen.query_one("#phrase", Input).value = app.recovering.job.found.phrase
        await self.pilot.press("enter")
        await until(
            self.pilot, lambda: bool(app.recovering.job and (app.recovering.job.log or app.recovering.job.report))
        )
        self.take("recovering")
        await until(self.pilot, lambda: bool(app.recovering.job and app.recovering.job.report))
        await self.pilot.pause(0.3)
        await self.of_each_row("recovered", rows)
        await self.pilot.press("escape")

    async def of_rollouts(self) -> None:
        """A rollout that halts, as it is carried out and as it is recorded."""
        app = self.app
        await opened(self.pilot)
        (app.konfig.root / "rollout.yaml").write_text("stages: [{name: all, stacks: [vault/dev], timeout: 1s}]\n")
        session = app.session
        await self._typed("rollout")
        await until(self.pilot, lambda: isinstance(app.screen, RolloutPlanScreen) and says(app, "asks for the phrase"))
        self.take("rollout plan")
        await self.pilot.press("escape")
        planned = await session.plan_rollout()
        id_ = await session.begin_rollout(planned, confirm=planned.confirmation.phrase)
        await self._typed("rollouts")
        await until(self.pilot, lambda: isinstance(app.screen, RolloutsScreen) and says(app, id_))
        await self.pilot.press("R")
        app.screen.query_one("#phrase", Input).value = f"resume {id_}"
        await self.pilot.press("enter")
        await until(self.pilot, lambda: bool(app.rolling_out.log) and not app.rolling_out.is_running)
        await until(self.pilot, lambda: says(app, "halted"))
        self.take("rollouts")
        assert "denied" in self.seen["rollouts"], "what the cluster says quotes canaries"
        await self.pilot.press("escape")

    async def of_a_timeline(self) -> None:
        """What became of each object while it was watched."""
        await self.pilot.press("T")
        await until(self.pilot, lambda: isinstance(self.app.screen, TimelineScreen) and says(self.app, "Deployment"))
        await self.of_each_row("timeline", 6)
        await self.pilot.press("escape")

    def of_a_bundle(self) -> None:
        """All that stands behind the screen, as it is saved for others."""
        path = bundle.save(self.app, cast("Frame", self.app.screen))
        with zipfile.ZipFile(path) as made:
            for name in made.namelist():
                self.seen[f"bundle {name}"] = made.read(name).decode()

    async def of_releases(self) -> None:
        """The releases of the stack, one that failed among them, and what differs between two."""
        app = self.app
        await self._typed("releases vault/dev")
        await until(self.pilot, lambda: isinstance(app.screen, ReleasesScreen) and says(app, "partial"))
        await self.of_each_row("releases", 2)
        await self.pilot.press("k", "d")
        await until(self.pilot, lambda: isinstance(app.screen, ReleaseChangesScreen) and says(app, "release 1"))
        self.take("release changes")
        await self.pilot.press("escape")
        table = app.screen.query_one("#releases", ResourceTable)
        table.move_to(next(row.key for row in table.rows if "partial" in str(row.cells[1])))
        await self.pilot.press("p", "f")
        await until(self.pilot, lambda: isinstance(app.screen, ReplayScreen) and says(app, "failed"))
        self.take("replay")
        await self.pilot.press("escape", "escape")

    async def of_reach(self, file: str, old: str, new: str) -> None:
        """What an edit of a file reaches, as a line and as a whole."""
        found = state(self.app)
        edits = self.app.session.whatif(found.stack)
        path = self.app.konfig.root / file
        assert old in edits.text(path)
        self.app.edit_stack(found, edits.edit(path, edits.text(path).replace(old, new)))
        await self._typed("plan")
        await until(self.pilot, lambda: bool(found.reach and found.reach.report and not found.reach.is_asking))
        self.take("plan with its reach")
        await self.pilot.press("b")
        await until(
            self.pilot, lambda: isinstance(self.app.screen, ReachScreen) and says(self.app, "vault/dev changed")
        )
        self.take("reach")
        assert "masked#" in self.seen["reach"]
        self.app.edit_stack(found, None)
        await self.pilot.press("escape", "escape")

    async def of_drift(self) -> None:
        """The drift board, and the edits that take over what can be."""
        await self._typed("drift")
        await until(self.pilot, lambda: isinstance(self.app.screen, DriftScreen) and says(self.app, "4 drift"))
        await self.of_each_row("drift board", 6)
        await self.pilot.press("A")
        await until(self.pilot, lambda: isinstance(self.app.screen, AdoptScreen) and says(self.app, "an apply then"))
        assert says(self.app, "web:2"), "the lines around it have canaries"
        self.take("adopt")
        await self.pilot.press("escape")
        await self._typed("diff vault/dev")
        await until(self.pilot, lambda: says(self.app, "1 restart") and not state(self.app).busy)
        await self.pilot.press("u", "plus", "plus")
        await self.of_each_row("diff with what is around", 6)
        await self._typed(f"ignore {LOOK}")
        while not isinstance(self.app.screen, IgnoreScreen):
            await self.pilot.press("right_curly_bracket")
            await self._typed("ignore they may")
        self.take("ignore")
        await self.pilot.press("escape", "escape", "escape")

    async def of_what_runs(self) -> None:
        """The fleet, the live objects of a kind, and one of them."""
        await self._typed("fleet")
        await until(self.pilot, lambda: isinstance(self.app.screen, FleetScreen) and says(self.app, "cannot log in"))
        await self.of_each_row("fleet", 2)
        await self._typed("configmaps")
        await until(self.pilot, lambda: isinstance(self.app.screen, LiveScreen) and says(self.app, "opens with"))
        self.take("live")
        await self.pilot.press("asterisk")
        await self._typed("delete")
        await until(self.pilot, lambda: isinstance(self.app.screen, LiveActsScreen) and says(self.app, "waiting"))
        self.take("live acts")
        await self.pilot.press("escape")
        await self.pilot.press("asterisk", "n")
        self.take("live, wide")
        await self.pilot.press("enter")
        await until(self.pilot, lambda: isinstance(self.app.screen, LiveObjectScreen) and says(self.app, "Refused"))
        await self.of_each_row("live object", 20)
        await self.pilot.press("d")
        await until(self.pilot, lambda: says(self.app, "Events:"))
        await self.of_each_row("described", 20)
        await self.pilot.press("u")
        await until(self.pilot, lambda: isinstance(self.app.screen, RelationsScreen) and says(self.app, "volume "))
        self.take("related")
        await self.pilot.press("escape")
        await self.pilot.press("l")
        await until(self.pilot, lambda: isinstance(self.app.screen, LogsScreen) and says(self.app, "wrote "))
        self.take("logs")
        await self._typed("forwards")
        await until(self.pilot, lambda: isinstance(self.app.screen, ForwardsScreen) and says(self.app, "no port is"))
        self.take("forwards")
        await self._typed("log")
        await until(self.pilot, lambda: isinstance(self.app.screen, CommandLogScreen) and says(self.app, "kubectl"))
        self.take("command log")
        await self._typed("bookmark here")
        await self._typed("bookmarks")
        await until(self.pilot, lambda: isinstance(self.app.screen, BookmarksScreen) and says(self.app, "here"))
        self.take("bookmarks")
        text = " ".join((OPTION, URL, LOOK))
        self.app.custom["shout"] = CustomCommand("shout", ("echo", text))
        await self._typed("shout")
        await until(self.pilot, lambda: isinstance(self.app.screen, OutputScreen) and says(self.app, "exit code 0"))
        self.take("output")

    async def _typed(self, command: str) -> None:
        await self.pilot.press("colon")
        self.app.screen.query_one(Prompt).value = command
        await self.pilot.press("enter")

    async def of_each_step(self, rows: int) -> None:
        plan = self.app.screen
        for number in range(rows):
            await self.pilot.press("enter")
            await self.pilot.pause()
            self.take(f"step {number}")
            if self.app.screen is not plan:
                await self.pilot.press("escape")
                await until(self.pilot, lambda: self.app.screen is plan)
            await self.pilot.press("j")
        assert "StepScreen" in self.screens
