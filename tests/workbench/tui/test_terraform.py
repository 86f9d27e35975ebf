"""Stacks with Terraform resources on the screens: one list over both runtimes, stopping in two steps, destroying."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.session.shop import Clusters, shop
from tests.workbench.session.test_terraform import FILES, Clouds
from tests.workbench.tui.test_screens import LARGE, SIZES, SMALL, confirm, opened, says, shown, state, until
from workbench.engine.events import StepStarted
from workbench.engine.plan import Level
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)


class Bench:
    def __init__(self, folder: Path, **settings: Any) -> None:
        self.root, self.clusters, self.clouds = shop(folder / "repo", FILES), Clusters("hz", "sh"), Clouds()
        made = Settings(folder / "state", folder / "state", user="ann", host="box", **settings)
        session = Session(
            self.root, made, connect=self.clusters, connect_workspace=self.clouds, now=lambda: datetime.now(UTC)
        )
        self.app = WorkbenchApp(session, open_at="pay/dev", now=lambda: NOW)

    @property
    def workspace(self) -> FakeWorkspace:
        return self.clouds.by_stack.setdefault("pay/dev", FakeWorkspace())

    async def apply(self, pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(self.app).plan is not None and not state(self.app).busy)
        await confirm(pilot)
        await until(pilot, lambda: bool(state(self.app).events) and not state(self.app).is_applying)
        await pilot.press("escape")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@SIZES
async def test_a_new_resource_is_shown_with_what_only_applying_decides(bench: Bench, size: tuple[int, int]) -> None:
    async with bench.app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(bench.app, "+3 create"))
        assert says(bench.app, "+ thing db @terraform")
        await pilot.press("j")
        await until(pilot, lambda: says(bench.app, "address: (known after apply)"))
        lines = shown(bench.app)
        assert next(each for each in lines if "+ name: db" in each).endswith("base/base.k:4")
        assert next(each for each in lines if "address:" in each).rstrip().endswith("(known after apply)")
        assert "canary" not in "\n".join(lines)
        await pilot.press("j")
        await until(pilot, lambda: says(bench.app, "host: (known after apply) from thing db"))


async def test_what_forces_a_replacement_stands_beside_the_step_and_the_field(bench: Bench) -> None:
    async with bench.app.run_test(size=LARGE) as pilot:
        await bench.apply(pilot)
        base = bench.root / "pay/base/base.k"
        base.write_text(base.read_text().replace('name = "db",', 'name = "db", zone = "b",'))
        await pilot.press("P")
        await until(pilot, lambda: says(bench.app, "± thing db @terraform  replace: zone cannot be changed in place"))
        await pilot.press("d")
        await until(pilot, lambda: says(bench.app, "REPLACE"))
        await until(pilot, lambda: says(bench.app, "cannot be changed in place"))


async def test_everything_is_taken_away_after_its_phrase(bench: Bench) -> None:
    async with bench.app.run_test(size=SMALL) as pilot:
        await bench.apply(pilot)
        assert bench.workspace.cloud and bench.clusters["hz"].objects
        await pilot.press("X")
        await until(pilot, lambda: state(bench.app).plan is not None and not state(bench.app).busy)
        plan = state(bench.app).plan
        assert plan is not None and plan.destroys and plan.confirmation.level is Level.PHRASE
        assert says(bench.app, "Destroy")
        await pilot.press("a")
        assert str(bench.app.screen.query_one("#confirmed", Button).label) == "Destroy"
        await pilot.press(*"yes", "enter")
        assert bench.workspace.cloud, "another text destroys nothing"
        bench.app.screen.query_one("#phrase", Input).value = plan.confirmation.phrase
        await pilot.press("enter")
        await until(pilot, lambda: bool(state(bench.app).events) and not state(bench.app).is_applying)
        assert bench.workspace.cloud == {} and bench.clusters["hz"].objects == {}


async def test_the_same_key_goes_back_to_the_plan_of_the_configuration(bench: Bench) -> None:
    async with bench.app.run_test(size=SMALL) as pilot:
        await bench.apply(pilot)
        await pilot.press("P")
        await until(pilot, lambda: says(bench.app, "the clusters and Terraform say"))
        await pilot.press("X")
        await until(pilot, lambda: (plan := state(bench.app).plan) is not None and plan.destroys)
        await pilot.press("X")
        await until(pilot, lambda: (plan := state(bench.app).plan) is not None and not plan.destroys)


async def test_stopping_lets_terraform_end_and_a_second_time_asks_first(bench: Bench) -> None:
    bench.workspace.gate, bench.workspace.is_patient = anyio.Event(), True
    async with bench.app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(bench.app).plan is not None and not state(bench.app).busy)
        await confirm(pilot)
        begun = lambda: any(  # noqa: E731
            isinstance(each, StepStarted) and each.address.id == thing("db") for each in state(bench.app).events
        )
        await until(pilot, begun)
        await pilot.press("K")
        await until(pilot, lambda: bench.workspace.interrupts == [False])
        await pilot.press("K")
        assert bench.workspace.interrupts == [False], "it is asked before anything is dropped"
        await pilot.press(*"yes", "enter")
        assert bench.workspace.interrupts == [False]
        bench.app.screen.query_one("#phrase", Input).value = "drop"
        await pilot.press("enter")
        await until(pilot, lambda: bench.workspace.interrupts == [False, True])
        await until(pilot, lambda: not state(bench.app).is_applying)
        await until(pilot, lambda: says(bench.app, "interrupted"))
