"""The fleet screen over clusters in memory: filled in the background, ordered, grouped, honest about what it saw."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from runtimes.base import Blocking, Health, ObjectRef, Status
from tests.workbench.session.shop import Clusters, shop
from tests.workbench.tui.test_screens import FRONT, LARGE, NOW, SIZES, opened, released, says, shown, until, workbench
from workbench.engine.fleet import TakenOut
from workbench.present import fleet
from workbench.present.glyphs import ASCII
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.drift import DriftScreen
from workbench.tui.screens.fleet import FleetScreen
from workbench.tui.screens.reconcile import ReconcileScreen
from workbench.tui.screens.spec import SpecScreen
from workbench.tui.widgets.resource_table import ResourceTable

BAD = Health(Status.FAILED, "CrashLoopBackOff")
POD = ObjectRef("Pod", "web-prod", "front-1", "p")


def stacks(app: WorkbenchApp) -> list[str]:
    return [row.cells[0].spans[0].text for row in app.screen.query_one("#stacks", ResourceTable).shown]


@SIZES
async def test_every_stack_is_looked_at_and_the_worst_comes_first(tmp_path: Path, size: tuple[int, int]) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=size) as pilot:
        await released(pilot)
        clusters["hz"].health[FRONT] = (BAD, Blocking(POD, "CrashLoopBackOff", "[red]it[/] ends at once\x1b[31m\u202e"))
        await pilot.press("colon", *"fleet", "enter")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen) and says(app, "✗ 1 failed"))
        assert says(app, "2 stacks: ✗ 1 failed  ∅ 1 not deployed")
        assert stacks(app)[0] == "web/prod" and stacks(app)[2] == "web/dev"
        assert says(app, "WHY Pod/front-1 @hz CrashLoopBackOff: [red]it[/] ends at once")
        assert not any("\x1b" in line or "\u202e" in line for line in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ReconcileScreen))


async def test_stacks_are_ordered_and_grouped_by_any_column(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("colon", *"fleet", "enter")
        await until(pilot, lambda: says(app, "✓ 1 ready"))
        await pilot.press("O")
        assert stacks(app)[0] == "web/prod"
        await pilot.press("b", "b")
        assert [each for each in stacks(app) if not each.startswith(("web/", "?"))] == ["Not deployed  ", "Ready  "]
        await pilot.press(*"bbbbbb")
        await pilot.press("O", "f")
        assert stacks(app) == [] and says(app, "no stack in trouble, as far as was looked")
        await pilot.press("f")
        for _ in range(8):
            await pilot.press("o")
            assert stacks(app)


async def test_a_kcl_error_and_drift_lead_to_the_screens_that_explain_them(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        main = app.konfig.root / "web/dev/main.k"
        main.write_text(main.read_text().replace("replicas = 1", "replicas = "))
        base = app.konfig.root / "web/prod/main.k"
        base.write_text(base.read_text().replace("replicas = 3", "replicas = 4"))
        await pilot.press("colon", *"fleet", "enter")
        await until(pilot, lambda: says(app, "1 with KCL errors") and says(app, "~ 2 to do"))
        assert says(app, "web/dev/main.k:4")
        table = app.screen.query_one("#stacks", ResourceTable)
        await pilot.press("j")  # from now on the cursor stays where it is put
        table.move_to(next(path for path in app.states if str(path) == "web/dev"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SpecScreen))
        await pilot.press("escape")
        await pilot.press("j")  # from now on the cursor stays where it is put
        table.move_to(next(path for path in app.states if str(path) == "web/prod"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))


async def test_a_silent_cluster_is_named_and_old_looks_say_how_old_they_are(tmp_path: Path) -> None:
    clock = [NOW]

    def now() -> datetime:
        return clock[0]

    clusters = Clusters("hz", "sh")
    state = tmp_path / "state"
    for each in clusters.by_name.values():
        each.clock = now
    settings = Settings(state, state, user="ann", host="box")
    session = Session(shop(tmp_path / "shop"), settings, connect=clusters, now=now)
    app = WorkbenchApp(session, open_at="web/prod", now=now)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("colon", *"fleet", "enter")
        await until(pilot, lambda: says(app, "✓ 1 ready"))
        await pilot.press("w")  # another screen is in front: nobody looks again
        await until(pilot, lambda: isinstance(app.screen, ReconcileScreen))
        clock[0] = NOW + timedelta(minutes=5)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        del clusters.by_name["sh"]
        await session._connections.close()
        clock[0] += timedelta(seconds=1)
        await pilot.press("r")
        await until(pilot, lambda: says(app, "sh is silent: connection refused"))
        await until(pilot, lambda: says(app, "? 1 unknown"))
        assert not says(app, "✓")
        clock[0] += timedelta(minutes=5)
        fleet = app.screen
        assert isinstance(fleet, FleetScreen)
        fleet.show_state()
        assert says(app, "? 5m ago Unknown") or says(app, "? 1 unknown"), "it may have been looked at meanwhile"


async def test_browse_shows_what_the_fleet_found(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"fleet", "enter")
        await until(pilot, lambda: says(app, "∅ 2 not deployed"))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, FleetScreen))
        await until(pilot, lambda: says(app, "+8"))


async def test_what_a_stack_left_that_is_gone_from_the_repository_is_said_on_both_boards(tmp_path: Path) -> None:
    """Nobody looks at it: as far as the rows tell all would be well."""
    app = workbench(tmp_path, Clusters("hz", "sh"))
    said = "web/prod is no stack of this repository any more"
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("colon", *"fleet", "enter")
        await until(pilot, lambda: says(app, "✓ 1 ready"))
        assert not says(app, said)
        project = app.konfig.root / "web/project.yaml"
        project.write_text(project.read_text().replace("name: web", "name: shop"))
        await pilot.press("r")
        await until(pilot, lambda: says(app, said))
        await pilot.press("escape", "colon", *"drift", "enter")
        await until(pilot, lambda: isinstance(app.screen, DriftScreen) and says(app, said))


def test_of_many_stacks_that_are_gone_a_screen_says_how_many_more_there_are() -> None:
    gone = TakenOut({f"web/{number}": "it left 1 resource" for number in range(12)}, ("hz did not say",))
    every = [str(each) for each in fleet.taken_out_lines(gone, ASCII)]
    assert len(every) == 13 and "web/11" in every[11] and "hz did not say" in every[12]
    assert [str(each) for each in fleet.taken_out_lines(gone, ASCII, most=2)] == [
        every[0],
        "! 12 more like this: `wb fleet` names all",
    ]
    assert list(fleet.taken_out_lines(TakenOut(), ASCII)) == list(fleet.taken_out_lines(None, ASCII)) == []
