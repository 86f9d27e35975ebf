"""Stacks with Terraform resources in notebooks: which runtime each row is of, destroying, stopping in two steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("pandas", reason="the notebook face is not installed: pip install 'konfig-workbench[notebook]'")
pytest.importorskip("anywidget", reason="the notebook face is not installed: pip install 'konfig-workbench[notebook]'")

from tests.workbench.engine.fake_workspace import FakeWorkspace
from tests.workbench.session.shop import Clusters, shop
from tests.workbench.session.test_terraform import FILES, Clouds
from workbench.engine.errors import ConfirmationRequired, ReleaseFailure
from workbench.notebook import Workspace
from workbench.notebook.engine_thread import EngineThread
from workbench.notebook.workspace import StackHandle
from workbench.session import Session
from workbench.settings import Settings


class Bench:
    def __init__(self, folder: Path) -> None:
        self.clusters, self.clouds = Clusters("hz", "sh"), Clouds()
        settings = Settings(folder / "state", folder / "state", user="ann", host="box")
        session = Session.open(
            shop(folder / "repo", FILES), settings=settings, connect=self.clusters, connect_workspace=self.clouds
        )
        self.workspace = Workspace(session, EngineThread())

    @property
    def stack(self) -> StackHandle:
        return self.workspace["pay/dev"]

    @property
    def cloud(self) -> FakeWorkspace:
        return self.clouds.by_stack.setdefault("pay/dev", FakeWorkspace())

    def apply(self) -> None:
        plan = self.stack.plan()
        plan.apply(dry_run=False, confirm=plan.phrase).wait(60)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path)
    with found.workspace:
        yield found


def until(reached: Callable[[], bool]) -> None:
    """Fails after twenty seconds."""
    for _ in range(1000):
        if reached():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come to it")


def test_every_table_tells_the_runtime_of_a_row(bench: Bench) -> None:
    both = {"Kubernetes": "hz", "Terraform": "terraform"}
    plan = bench.stack.plan()
    run = plan.apply(dry_run=False, confirm=plan.phrase).wait(60)
    watch = run.watch(timeout="20s").wait()
    for found in (bench.stack.compile().df, plan.df, run.df, watch.df):
        assert dict(zip(found["runtime"], found["cluster"], strict=True)) == both
    base = bench.workspace.root / "pay/base/base.k"
    base.write_text(base.read_text().replace('name = "db",', 'name = "db", zone = "b",'))
    changed = bench.stack.diff()
    zone = changed.df[changed.df["path"] == "zone"].iloc[0]
    assert (zone["runtime"], zone["cluster"], zone["after"]) == ("Terraform", "terraform", "b")
    assert "hz, terraform" in repr(changed) and "(known after apply)" in repr(changed)


def test_a_stack_is_destroyed_with_its_phrase_only(bench: Bench) -> None:
    bench.apply()
    shown = bench.workspace.destroy("pay/dev")
    assert shown.outcome == "dry run" and len(shown.df) == 3 and bench.cloud.cloud
    with pytest.raises(ConfirmationRequired):
        bench.stack.destroy(dry_run=False, confirm="yes")
    assert bench.cloud.cloud
    gone = bench.stack.plan_destroy()
    assert gone.value.destroys
    run = bench.stack.destroy(dry_run=False, confirm=gone.phrase).wait(60)
    assert run.outcome == "succeeded" and set(run.df["op"]) == {"-"}
    assert bench.cloud.cloud == {} and bench.clusters["hz"].objects == {}
    assert bench.stack.destroy(dry_run=False).outcome == "nothing to do"


def test_the_second_stop_asks_before_terraform_drops_anything(bench: Bench) -> None:
    cloud = bench.cloud
    cloud.gate, cloud.is_patient = anyio.Event(), True
    plan = bench.stack.plan()
    run = plan.apply(dry_run=False, confirm=plan.phrase)
    until(lambda: "running" in set(run.df[run.df["runtime"] == "Terraform"]["state"]))
    run.stop()
    until(lambda: cloud.interrupts == [False])
    assert asked(run) == ""
    run.stop()
    until(lambda: asked(run) == "drop")
    assert cloud.interrupts == [False]
    run._confirmed("yes")
    run._confirmed("drop")
    until(lambda: not run.is_running)
    assert cloud.interrupts == [False, True] and run.outcome == "interrupted" and asked(run) == ""


def asked(run: Any) -> str:
    """Returns the phrase that the widget asks for."""
    return str(run._traits()["ask"].get("phrase", ""))


def test_a_stack_goes_back_to_what_a_release_had(bench: Bench) -> None:
    bench.apply()
    before = {name: dict(each) for name, each in bench.cloud.cloud.items()}
    with pytest.raises(ReleaseFailure, match="no release before 1"):
        bench.stack.plan_rollback()
    base = bench.workspace.root / "pay/base/base.k"
    base.write_text(base.read_text().replace('name = "db",', 'name = "db", zone = "b",'))
    bench.apply()
    assert {name: dict(each) for name, each in bench.cloud.cloud.items()} != before
    back = bench.stack.plan_rollback()
    assert back.value.rolls_back_to == 1 and "rolls back to release #1" in repr(back)
    assert back.apply(dry_run=False, confirm=back.phrase).wait(60).outcome == "succeeded"
    zones = [each.get("zone") for each in bench.cloud.cloud.values()]
    assert zones == [each.get("zone") for each in before.values()]
    assert [each.rolled_back_to for each in bench.stack.releases()] == [1, 0, 0]
    assert bench.stack.diff(), "the configuration says what it said"
