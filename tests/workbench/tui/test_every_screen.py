"""Every screen at 80x24 and at 120x40, over sandbox clusters: whole, in order, inert, with what it is for in sight.

What is asked of all of them: where one is stands on the first line, the most used keys on the last, the status above
it; nothing lies over anything else; what has the focus is seen; each cell of a table begins where its column does. What
is asked of one stands in `SCREENS`, and a screen that is not in there fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.geometry import Region
from textual.pilot import Pilot
from textual.scrollbar import ScrollBar
from textual.widget import Widget
from textual.widgets import Input, TextArea

from kcl.terminal import has_orders
from runtimes.sandbox.server import Sandbox
from tests.emulated_terminal import EmulatedTerminal
from tests.stories.recording import Recording
from tests.workbench.tui.test_keys import burst
from tests.workbench.tui.test_live import sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SMALL, opened, shown
from tests.workbench.tui.ways import WAYS, Keys, every_screen
from workbench.present.text import line
from workbench.tui.app import WorkbenchApp
from workbench.tui.custom import CustomCommand
from workbench.tui.frame import Frame
from workbench.tui.widgets.key_line import KeyLine
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

__all__ = ["sandbox"]

SIZES = (SMALL, LARGE)
HOSTILE = "[red]x[/] \x1b[31m\u202e漢字\u200bé"
LONG = "y" * 900_000
"""A cluster takes no object of more than 1 MiB."""
QUESTION = "a question of some length, which says what would be done, and what could not be undone"
SCREENS: dict[str, tuple[str, ...]] = {
    "BrowseScreen": ("Tree", "web", "prod (protected)", "hz, sh"),
    "SpecScreen": ("Deployment web-prod", "apiVersion", "render.k"),
    "DiffScreen": ("~2 update", "ConfigMap front @hz", "Deployment front @hz", "data.COLOUR", "base.k", "owned by"),
    "IgnoreScreen": ("is left to others", "they may", "project.yaml"),
    "PlanScreen": ("~2 update", "Deployment web-prod/front @hz", "no conflicts", "Apply ..."),
    "StepScreen": ("ConfigMap web-prod/front @hz", "data.COLOUR", "base.k"),
    "ReachScreen": ("blast radius", "not known"),
    "ReconcileScreen": ("Deployment", "front", "ready"),
    "ObjectScreen": ("Namespace web-prod @hz", "Ready"),
    "TimelineScreen": ("Deployment", "front"),
    "WhatIfScreen": ("main.k", "replicas = 3", "Deployment"),
    "ReleasesScreen": ("#1", "#2", "succeeded", "ann"),
    "ReleaseChangesScreen": ("release 1", "release 2", "front:1"),
    "ReplayScreen": ("Deployment", "steps done"),
    "FleetScreen": ("web/prod", "web/dev", "stacks:"),
    "DriftScreen": ("web/prod", "data.COLOUR", "spec.replicas", "kubectl-scale", "drifted"),
    "AdoptScreen": ("data.COLOUR", "spec.replicas", "live in hz only", "main.k", "Write ..."),
    "RolloutsScreen": ("stopped", "east", "INC-7"),
    "RolloutPlanScreen": ("web/dev", "Roll out"),
    "RecoveryScreen": ("app-recovery", "h-lost"),
    "LiveScreen": ("a-hostile", "front-", "Running", "watched"),
    "LiveObjectScreen": ("Pod web-prod/a-hostile @hz", "Set by", "metadata:", "said:", "Scheduled"),
    "RelationsScreen": ("ConfigMap/front", "volume files", "Used by"),
    "LogsScreen": ("Pod web-prod/a-hostile @hz", "listening on"),
    "LiveActsScreen": ("a-hostile", "front-", "Type delete"),
    "AnswerScreen": ("Refers to", "Used by", "in what the stack says"),
    "ForwardsScreen": ("no port is forwarded",),
    "CommandLogScreen": ("opened plan of web/prod", "wb plan web/prod"),
    "BookmarksScreen": ("here", "stack web/prod"),
    "OutputScreen": ("it is loud", "exit code 0"),
}
"""What has to be read on a screen, at both sizes."""


def test_no_screen_is_without_a_way_and_without_what_it_has_to_show() -> None:
    assert {*SCREENS} == {*WAYS} == every_screen()


@dataclass
class Seen:
    """A screen as a terminal has it: `lines` are its rows, each of as many cells as the terminal has columns."""

    app: WorkbenchApp
    size: tuple[int, int]
    terminal: EmulatedTerminal
    texts: list[str]

    @classmethod
    def of(cls, app: WorkbenchApp, size: tuple[int, int]) -> Seen:
        recorded = Recording("", *size)
        recorded.take(app, "")
        terminal = EmulatedTerminal(*size)
        terminal.write("\x1b[1;1H" + recorded.moments[0].ansi)
        return cls(app, size, terminal, recorded.texts())

    @property
    def lines(self) -> list[str]:
        return self.terminal.text().split("\n")

    def missing(self, wanted: tuple[str, ...]) -> list[str]:
        text = self.terminal.text()
        return [each for each in wanted if each not in text]

    def behind(self, x: int, y: int) -> frozenset[tuple[str, str]]:
        """The colour behind a cell."""
        return frozenset(each for each in self.terminal.cells[x, y][1] if each[0] == "bg")

    def flaws(self) -> Iterator[str]:
        screen: Any = self.app.screen
        width, height = self.size
        for text in self.texts:
            if has_orders(text) or cell_len(text) != width:
                yield f"not inert, or not of {width} cells: {text!r}"
        banner, status, keys = self.lines[0], self.lines[height - 2], self.lines[height - 1]
        if "…" in banner or not banner.strip().endswith(screen.name_in_trail):
            yield f"it does not say where one is: {banner!r}"
        if not status.strip():
            yield "it has no status"
        takes_text = isinstance(screen.focused, Input | TextArea)
        if not takes_text and ("? Keys" not in keys or "esc " not in keys):
            yield f"keys are missing: {keys!r}"
        yield from self._overlaps(screen)
        yield from self._out_of_focus(screen)
        for table in screen.query(ResourceTable):
            if table in self._regions(screen):
                yield from self._out_of_column(table)

    def _regions(self, screen: Frame) -> dict[Widget, Region]:
        """What of each widget without others in it is seen, and where."""
        visible = screen._compositor.visible_widgets
        return {
            each: region.intersection(clip)
            for each, (region, clip) in visible.items()
            if not any(child.display for child in each.children)
            and not isinstance(each, ScrollBar)
            and region.intersection(clip)
        }

    def _overlaps(self, screen: Frame) -> Iterator[str]:
        found = self._regions(screen)
        for (one, here), (other, there) in combinations(found.items(), 2):
            if here.overlaps(there) and one.is_attached and other.is_attached:
                yield f"{one} {here} lies over {other} {there}"
        for each in (screen.query_one("#banner"), screen.query_one("#status"), screen.query_one(KeyLine)):
            if found.get(each, Region()).height != 1:
                yield f"{each} is not seen on one line: {found.get(each)}"

    def _out_of_focus(self, screen: Frame) -> Iterator[str]:
        focused = screen.focused
        region = self._regions(screen).get(focused) if focused is not None else None
        if focused is None or (not focused.children and not region):
            yield f"what has the focus is not seen: {focused}"
        elif isinstance(focused, ResourceTable) and focused.shown and region is not None:
            inner = focused.content_region
            row = inner.y + focused.header_lines + focused.cursor - focused.scroll_offset.y
            if row not in range(inner.y, inner.bottom):
                yield f"the cursor of {focused} is out of sight"
            elif self.behind(inner.x, row) == self.behind(inner.x, row + 1 if row + 1 < inner.bottom else row - 1):
                yield f"the cursor of {focused} is not marked"

    def _out_of_column(self, table: ResourceTable) -> Iterator[str]:
        """Between two columns is a blank in every row: else something is wider than its column, or in another."""
        region, top = table.content_region, table.scroll_offset.y
        first = region.x + (2 if table.markable else 0)
        for y in range(table.size.height - table.header_lines):
            if top + y >= len(table.shown):
                return
            row, x = table.shown[top + y], first
            filled = table._last_filled(row)
            for index, width in enumerate(table._widths[:filled]):
                x += width
                sign = self.terminal.cells.get((x, region.y + table.header_lines + y), (" ",))[0]
                if width >= 0 and sign != " " and any(each >= 0 for each in table._widths[index + 1 : filled + 1]):
                    yield f"{table}, row {top + y}: column {index} does not end at {x}: {sign!r}"
                x += 1


SETTINGS = f'''{{
        COLOUR = "[red]x[/] 漢字\\u202e\u200bé"
        A = "a"
        B = "b"
        C = "c"
        D = "d"
        LONG = "{LONG}"
    }}'''
STAGES = "stages: [{name: east, stacks: [web/dev]}]\n"
RECOVERY = """\
import manifests

_hosts = [{hostname = "h-1", cluster = "hz", namespace = "web-prod", pod = "POD"}]
_asked = option("a")
manifests.yaml_stream([{
    kind = "Recovery"
    name = "app-recovery"
    operation = "restart"
    hosts = _hosts
    unresolved = ["h-lost"]
    limits = {maxFraction = 1.0}
}])
"""
POD = {
    "metadata": {"name": "a-hostile", "labels": {"app": "hostile"}, "annotations": {"said": HOSTILE}},
    "spec": {
        "containers": [
            {"name": "c", "image": "hostile:1", "env": [{"name": "SAID", "value": f"{HOSTILE}{LONG[:200_000]}"}]}
        ],
        "volumes": [{"name": "files", "configMap": {"name": "front"}}],
    },
}


def foreign(root: Path) -> None:
    """A project beside the others whose folders would like to be orders."""
    stack = root / "[b]漢字\u200b\u202e" / "[red]\u202ex"
    stack.mkdir(parents=True)
    (stack.parent / "project.yaml").write_text("name: other\n")
    (stack / "stack.yaml").write_text("name: '[red]x'\n")
    (stack / "main.k").write_text("a = 1\n")


async def made_ready(folder: Path, sandbox: Sandbox) -> WorkbenchApp:
    """What there is to be shown: releases, drift, a rollout and a recovery that did not begin, and what is hostile."""
    foreign(folder / "shop")
    app = workbench(folder)
    session, cluster = app.session, sandbox.clusters[0]
    session.reason = f"INC-7 {HOSTILE}"
    base = session.root / "web/base/base.k"
    now = base.read_text().replace('{COLOUR = "red"}', SETTINGS)
    stack = session.select("web/prod")
    for text in (now.replace("front:1", "front:0"), now):
        base.write_text(text)
        plan = await session.plan(stack)
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            [None async for _ in events]
    (session.root / "rollout.yaml").write_text(STAGES)
    planned = await session.plan_rollout()
    await session.begin_rollout(planned, confirm=planned.confirmation.phrase)
    cluster.create("pods", "web-prod", POD)
    cluster.patch("configmaps", "web-prod", "front", {"data": {"COLOUR": HOSTILE}}, "merge", manager=f"me{HOSTILE}")
    cluster.patch("deployments.apps", "web-prod", "front", {"spec": {"replicas": 7}}, "merge", manager="kubectl-scale")
    (session.root / "ops").mkdir()
    (session.root / "ops/AppRecovery.k").write_text(RECOVERY.replace("POD", "a-hostile"))
    return app


class Walk:
    """Goes from screen to screen, by the ways that lead there from Browse; what two have in common is gone once."""

    def __init__(self, app: Any, pilot: Pilot[Any]) -> None:
        self._app, self._pilot = app, pilot
        self._gone: list[tuple[Keys, object]] = []

    async def to(self, name: str) -> None:
        """Presses a burst of keys at a time, and waits until what a screen is for is on it."""
        app, way = self._app, WAYS[name]
        while self._gone and tuple(keys for keys, _ in self._gone) != way[: len(self._gone)]:
            self._gone.pop()
        there = [screen for _, screen in self._gone]
        while len(app.screen_stack) > 2 and app.screen not in there[-1:]:
            await app.pop_screen()
        for keys in way[len(self._gone) :]:
            burst(app, [*keys])
            await self.until(lambda: app._typed.is_idle)
            here = name if len(self._gone) == len(way) - 1 else type(app.screen).__name__
            await self.until(lambda: type(app.screen).__name__ == here and is_there(app, here))  # noqa: B023
            self._gone.append((keys, app.screen))

    async def until(self, reached: Callable[[], bool]) -> None:
        for _ in range(400):
            await self._pilot.pause(0.05)
            if reached():
                return
        raise AssertionError("\n".join(("the screen did not come to it:", *shown(self._app))))


def is_there(app: WorkbenchApp, name: str) -> bool:
    if any(each.busy for each in app.states.values()):
        return False  # what is there is of before, and goes away
    text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
    return all(each in text for each in SCREENS[name])


async def asked(app: WorkbenchApp, pilot: Pilot[Any]) -> AsyncIterator[str]:
    """Yields what is wrong while a screen asks for a phrase, where it has such a question."""
    for question in app.screen.query(TypedConfirmation):
        question.ask(line(QUESTION), "yes")
        await pilot.pause()
        found = Seen.of(app, (app.size.width, app.size.height))
        if app.focused is not question.query_one("#phrase", Input):
            yield "what asks does not get the keys"
        for each in (*found.flaws(), *found.missing(("a question", "undone", "Cancel"))):
            yield f"while it asks: {each}"
        question.close()


@pytest.mark.slow
async def test_every_screen_is_whole_at_both_sizes(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    app = await made_ready(tmp_path, sandbox)
    flaws: list[str] = []
    async with app.session, app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.custom["shout"] = CustomCommand("shout", ("echo", f"it is loud {HOSTILE}"))
        walk = Walk(app, pilot)
        for number, (name, wanted) in enumerate(SCREENS.items()):
            await walk.to(name)
            for size in (SIZES, SIZES[::-1])[number % 2]:
                if app.size != size:
                    await pilot.resize_terminal(*size)
                    await walk.until(lambda: is_there(app, name))  # noqa: B023
                found = Seen.of(app, size)
                flaws += [f"{name} at {size}: {each}" for each in (*found.flaws(), *found.missing(wanted))]
            flaws += [f"{name} at {app.size}: {each}" async for each in asked(app, pilot)]
    assert flaws == []
