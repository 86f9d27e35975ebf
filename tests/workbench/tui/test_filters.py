"""What is typed after `/` means the same on every screen: expression, letters in order, labels, and each inverse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, opened, says, shown, until, workbench
from workbench.present.rows import Row
from workbench.present.text import line
from workbench.tui import filters
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.fleet import FleetScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable

ROWS = (
    Row("heading", (line("web"),)),
    Row("dev", (line("web/dev"),), labels=({"owner": "Ann", "tier": "gold"},)),
    Row("prod", (line("web/prod"),), labels=({"owner": "bob"},)),
    Row("both", (line("rollout"),), labels=({"owner": "ann"}, {"owner": "bob", "site": "hz"})),
    Row("bare", (line("nothing"),), labels=({},)),
)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("W.b/", "dev prod"),
        ("!web", "both bare"),
        ("-f wdv", "dev"),
        ("!-f wd", "heading both bare"),
        ("-l owner=ann", "dev both"),
        ("!-l owner=ann", "prod bare"),
        ("-l owner!=ann", "prod both bare"),
        ("-l owner", "dev prod both"),
        ("-l !owner", "bare"),
        ("-l owner=ann, tier==gold", "dev"),
        ("-l owner=ann,site=hz", ""),
        ("-l", "heading dev prod both bare"),
        ("! ", "heading dev prod both bare"),
    ],
)
def test_a_filter_finds_by_what_is_said_or_by_labels(typed: str, found: str) -> None:
    wanted = filters.parse(typed)
    assert [row.key for row in ROWS if wanted is None or wanted(row)] == found.split()


@pytest.mark.parametrize("typed", ["-l owner in (a)", "!-l =ann", "-l a=b=c", "(", "!["])
def test_what_is_no_filter_is_said(typed: str) -> None:
    with pytest.raises(filters.BadFilter):
        filters.parse(typed)


async def filtered(app: Any, pilot: Pilot[Any], text: str) -> None:
    await pilot.press("slash")
    app.screen.query_one(Prompt).value = text
    await pilot.press("enter")


async def test_labels_find_rows_on_other_screens_and_where_nothing_has_any_that_is_said(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    (tmp_path / "shop/web/dev/stack.yaml").write_text("name: dev\nlabels: {owner: ann}\n")
    app.read_tree()
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        app.run_command("fleet", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: isinstance(app.screen, FleetScreen) and says(app, "web/prod"))
        await filtered(app, pilot, "-l owner=ann")
        stacks = app.screen.query_one("#stacks", ResourceTable)
        assert {str(row.key[0] if isinstance(row.key, tuple) else row.key) for row in stacks.shown} == {"web/dev"}
        await pilot.press("escape", "escape", "c")
        await until(pilot, lambda: says(app, "Deployment"))
        await filtered(app, pilot, "-l app=front")
        assert [str(row.cells[0]) for row in app.screen.query_one("#resources", ResourceTable).shown] == ["Deployment"]
        await pilot.press("escape", "escape", "d")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and says(app, "+8 create"))
        await filtered(app, pilot, "-l app=front")
        changes = [str(row.cells[0]) for row in app.screen.query_one("#changes", ResourceTable).shown]
        assert changes == ["+ Deployment front @hz", "+ Deployment front @sh"]
        await pilot.press("escape", "escape")
        app.run_command("log", app.screen)  # type: ignore[arg-type]
        await filtered(app, pilot, "-l a=b")
        assert says(app, "-l finds nothing"), shown(app)


async def test_a_filter_that_is_wrong_says_where_and_leaves_what_was_found(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("slash", *"-l owner in")
        assert says(app, "is no label: key=value, key!=value, key or !key")


async def test_n_goes_from_match_to_match_past_rows_that_only_lead_to_one(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        table = app.screen.query_one(ResourceTable)
        before = table.cursor
        await pilot.press("n")
        assert table.cursor == before and any("nothing is filtered: /" in each.message for each in app._notifications)
        await filtered(app, pilot, "dev|prod")
        found = [number for number, row in enumerate(table.shown) if filters.parse("dev|prod")(row)]  # type: ignore[misc]
        assert 1 < len(found) < len(table.shown)
        await pilot.press("g", "g")
        seen = []
        for key in (*"n" * len(found), "n", "N", "N"):
            await pilot.press(key)
            seen.append(table.cursor)
        assert seen == [*found, found[0], found[-1], found[-2]]
        await filtered(app, pilot, "no such row")
        await pilot.press("n")
        assert any("the filter finds nothing here" in each.message for each in app._notifications)
