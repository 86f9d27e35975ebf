"""The live table: rows keep their place, folds and filters show what leads to a hit, and little is drawn."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region

from kcl.records import replace
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.widgets.resource_table import LETTERS, ResourceTable

COLUMNS = (Column("Name", grow=True), Column("Status", width=12), Column("Age", width=5, right=True))


def row(name: str, status: str = "Current", depth: int = 0, foldable: bool = False) -> Row:
    return Row(name, (line(name), Line((Span(status, Tone.GOOD),)), line("5s")), depth, foldable)


class Bench(App[None]):
    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.rows = rows
        self.seen: list[object] = []

    def compose(self) -> ComposeResult:
        yield ResourceTable(COLUMNS, markable=True)

    def on_mount(self) -> None:
        self.table.set_rows(self.rows)
        self.table.focus()

    @property
    def table(self) -> ResourceTable:
        return self.query_one(ResourceTable)

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        self.seen.append(event.key)


def screen_text(app: App[None]) -> list[str]:
    table = app.query_one(ResourceTable)
    return [table.render_line(y).text.rstrip() for y in range(table.size.height)]


async def test_rows_are_drawn_under_their_header() -> None:
    app = Bench([row("web"), row("cart", "Failed")])
    async with app.run_test(size=(50, 10)):
        lines = screen_text(app)
        assert lines[0].split() == ["Name", "Status", "Age"]
        assert lines[1].split() == ["web", "Current", "5s"]
        assert lines[2].split() == ["cart", "Failed", "5s"]
        assert lines[3] == ""


async def test_the_cursor_stays_with_its_row_when_rows_come_before_it() -> None:
    app = Bench([row("b"), row("c")])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.press("j")
        app.table.set_rows([row("a"), row("b"), row("c")])
        assert app.table.current == "c"
        app.table.set_rows([row("a"), row("b")])
        assert app.table.current == "b"
        await pilot.pause()
        assert app.seen[-1] == "b"


async def test_folding_hides_what_is_below_and_unfolding_shows_it() -> None:
    app = Bench([row("shop", foldable=True), row("web", depth=1), row("bank", foldable=True), row("api", depth=1)])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.press("left")
        assert [each.key for each in app.table.shown] == ["shop", "bank", "api"]
        await pilot.press("right")
        assert [each.key for each in app.table.shown] == ["shop", "web", "bank", "api"]


async def test_a_filter_keeps_the_parents_of_what_it_finds() -> None:
    rows = [
        row("shop", foldable=True),
        row("dev", depth=1, foldable=True),
        row("web", depth=2),
        row("prod", depth=1, foldable=True),
        row("cart", depth=2),
        row("bank", foldable=True),
        row("api", depth=1),
    ]
    app = Bench(rows)
    async with app.run_test(size=(50, 10)):
        app.table.filter_by(lambda each: "cart" in each.searched)
        assert [each.key for each in app.table.shown] == ["shop", "prod", "cart"]
        app.table.filter_by(None)
        assert len(app.table.shown) == 7


async def test_a_changed_row_is_drawn_alone() -> None:
    app = Bench([row(f"pod-{number}") for number in range(100)])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.pause()
        drawn: list[object] = []
        table = app.table
        table.refresh = lambda *regions, **_: drawn.extend(regions) or table  # type: ignore[method-assign]
        rows = list(table.rows)
        rows[3] = row("pod-3", "Failed")
        rows[90] = row("pod-90", "Failed")  # not on the screen
        table.set_rows(rows)
        assert [(region.y, region.height) for region in drawn] == [(4, 1)]  # type: ignore[attr-defined]


async def test_a_cursor_that_moves_draws_two_rows() -> None:
    app = Bench([row(f"pod-{number}") for number in range(100)])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.press("j")
        await pilot.pause()
        drawn: list[Region] = []
        table = app.table
        table.refresh = lambda *regions, **_: drawn.extend(regions or [table.size.region]) or table  # type: ignore[method-assign]
        await pilot.press("j")
        await pilot.pause()
        assert {each.y for each in drawn} == {2, 3}
        assert all(each.height == 1 for each in drawn)


async def test_text_from_a_cluster_cannot_drive_the_terminal() -> None:
    app = Bench([Row("x", (line("evil\x1b[2J\u202ename\nnext"),))])
    async with app.run_test(size=(50, 10)):
        assert screen_text(app)[1].strip() == "evil�[2J�name⏎next"


async def test_moving_to_a_folded_row_unfolds_what_hides_it() -> None:
    app = Bench([row("shop", foldable=True), row("dev", depth=1, foldable=True), row("web", depth=2)])
    async with app.run_test(size=(50, 10)):
        app.table.folded = {"shop"}
        app.table.filter_by(None)
        app.table.move_to("web")
        assert app.table.current == "web"


async def test_gg_and_G_go_to_the_ends() -> None:
    app = Bench([row(str(number)) for number in range(60)])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.press("G")
        assert app.table.current == "59"
        assert screen_text(app)[-1].split()[0] == "59"
        await pilot.press("g", "g")
        assert app.table.current == "0"


async def test_of_a_row_only_the_columns_that_changed_are_drawn() -> None:
    def aged(name: str, status: str, age: str) -> Row:
        return Row(name, (line(name), line(status), line(age)))

    app = Bench([aged("one", "Ready", "5s"), aged("two", "Ready", "7s")])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.pause()
        drawn: list[Region] = []
        table = app.table
        table.refresh = lambda *regions, **_: drawn.extend(regions) or table  # type: ignore[method-assign]
        table.set_rows([aged("one", "Ready", "10s"), aged("two", "Ready", "7s")])
        assert [(each.x, each.right, each.y) for each in drawn] == [(44, 50, 1)]
        drawn.clear()
        table.set_rows([aged("one", "Failed", "10s"), aged("two", "Ready", "7s")])
        assert [(each.x, each.right) for each in drawn] == [(31, 43)]
        drawn.clear()
        table.set_rows([aged("one", "Failed", ""), aged("two", "Ready", "7s")])
        assert [(each.x, each.right) for each in drawn] == [(0, 50)], "what stands before may reach further now"


async def test_what_time_changes_is_drawn_of_the_rows_that_are_seen() -> None:
    def aged(number: int, age: str) -> Row:
        return Row(number, (line(f"row {number}"), line("Ready"), line(age)))

    asked: list[object] = []

    def by_now(each: Row) -> Row:
        asked.append(each.key)
        return replace(each, cells=(*each.cells[:2], line("9s")))

    app = Bench([aged(number, "5s") for number in range(1000)])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.pause()
        table = app.table
        table.fresh = by_now
        drawn: list[Region] = []
        refresh, table.refresh = table.refresh, lambda *regions, **_: drawn.extend(regions) or table  # type: ignore[method-assign]
        table.refresh_fresh()
        assert [each.y for each in drawn] == [*range(1, 10)] and {each.right - each.x for each in drawn} == {6}
        table.refresh = refresh  # type: ignore[method-assign]
        assert set(asked) <= set(range(11))
        await pilot.press("G")
        await pilot.pause()
        assert screen_text(app)[9].split() == ["row", "999", "Ready", "9s"], "what comes into sight is as it is by now"
        assert len({*asked}) < 40
        assert {str(each.cells[2]) for each in table.fresh_rows()} == {"9s"}, "what is copied too"


async def test_where_only_ascii_can_be_shown_nothing_else_is_drawn() -> None:
    app = Bench([row("shop", foldable=True), row("prod", "a status that is far too long to be shown «masked»…", 1)])
    app.add_class("-ascii")
    async with app.run_test(size=(30, 10)) as pilot:
        await pilot.pause()
        app.table.toggle_mark("shop")
        assert "".join(screen_text(app)).isascii()
        assert screen_text(app)[1].startswith("* - shop")


RANKED = (
    Column("Host", rank=2),
    Column("Pod", grow=True, has_tail=True),
    Column("Node", rank=3),
    Column("Ready", width=7),
    Column("State", most=20),
)


class Narrow(Bench):
    def compose(self) -> ComposeResult:
        yield ResourceTable(RANKED)


def ranked(name: str) -> Row:
    return Row(name, (line("h-17"), line(name), line("node-a-17"), line("2/3"), line("CrashLoopBackOff")))


@pytest.mark.parametrize("width", [30, 50, 60, 70, 80, 120])
async def test_where_there_is_no_room_the_least_important_columns_go_and_the_others_stay_whole(width: int) -> None:
    names = ["checkout-web-776b6f7b87-bdggq", "checkout-web-776b6f7b87-x2b7p"]
    app = Narrow([ranked(name) for name in names])
    async with app.run_test(size=(width, 10)) as pilot:
        await pilot.pause()
        header, *rows = screen_text(app)[:3]
        assert all(title in header for title in ("Pod", "Ready", "State"))
        hidden = {RANKED[index].title for index in app.table.hidden}
        assert hidden in ({"Node", "Host"}, {"Node"}, set())
        assert not hidden & set(header.split())
        assert rows[0] != rows[1], "names that differ at their end are told apart"
        if width >= 60:
            assert all(name in row and row.endswith("CrashLoopBackOff") for name, row in zip(names, rows, strict=True))


async def test_what_an_empty_table_says_is_drawn_when_it_says_something_else() -> None:
    app = Bench([])
    async with app.run_test(size=(50, 10)):
        table = app.table
        drawn: list[Region] = []
        table.refresh = lambda *regions, **_: drawn.extend(regions or [table.size.region]) or table  # type: ignore[method-assign]
        table.empty = "asking ..."
        table.set_rows([])
        assert drawn == [table.size.region] and screen_text(app)[1].strip() == "asking ..."
        table.empty = "asking ..."
        table.set_rows([row("web")])
        drawn.clear()
        table.empty = "nothing here"
        assert drawn == [], "nobody sees it"


async def test_a_letter_leads_to_its_row_and_any_other_key_only_takes_the_letters_away() -> None:
    app = Bench([row(f"row-{number}") for number in range(30)])
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.press("semicolon")
        assert [each[:1] for each in screen_text(app)[1:]] == [*LETTERS[:9]]
        assert screen_text(app)[1].endswith("5s"), "the rest of the row is seen"
        await pilot.press(LETTERS[4])
        assert app.table.current == "row-4" and not screen_text(app)[1].startswith(LETTERS[0])
        await pilot.press("G", "semicolon", LETTERS[0])
        assert app.table.current == "row-21", "of the rows that are seen"
        for key in (LETTERS[20], "down", "escape", "1"):
            await pilot.press("semicolon", key)
            assert app.table.current == "row-21" and not screen_text(app)[1].startswith(LETTERS[0])
        await pilot.press("k")
        assert app.table.current == "row-20"
