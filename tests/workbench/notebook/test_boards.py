"""Boards: what an interrupt leaves behind, and what stands in a notebook once the kernel is gone."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from workbench.notebook import Workspace
from workbench.notebook.engine_thread import EngineThread

WIDGET = "application/vnd.jupyter.widget-view+json"


class Cells:
    """Outputs as a notebook keeps them: in order, each with what was published last under its id."""

    def __init__(self) -> None:
        self.outputs: dict[str, Mapping[str, Any]] = {}

    def publish(self, data: Mapping[str, Any], metadata: object = None, **given: Any) -> None:
        name = given["transient"]["display_id"]
        assert given["update"] == (name in self.outputs), (
            "what is updated has to be there, and what is there is updated"
        )
        self.outputs[name] = dict(data)

    @property
    def widgets(self) -> int:
        return sum(WIDGET in each for each in self.outputs.values())

    @property
    def text(self) -> str:
        return "\n".join(str(each["text/plain"]) for each in self.outputs.values())


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    """Stands for the messages to Jupyter: they need a kernel."""
    found = Cells()
    monkeypatch.setattr("IPython.display.publish_display_data", found.publish)
    monkeypatch.setenv("WB_WIDGETS", "on")
    yield found


def ended(board: Any) -> None:
    began = time.monotonic()
    while board.is_running:
        assert time.monotonic() - began < 60
        time.sleep(0.01)
    board._thread.call(_nothing)  # what follows the end is done on the engine's thread


async def _nothing() -> None:
    pass


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1])
def test_an_interrupt_at_any_moment_leaves_nothing_running_without_a_handle(
    workspace: Workspace, seconds: float
) -> None:
    """From the moment of the call to the end of waiting: what runs can be reached, and an interrupt has ended it."""
    stack = workspace["gateway/pre"]
    plan = stack.plan(force=True)
    releases = len(stack.releases())
    timer = threading.Timer(seconds, _thread.interrupt_main)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        run = plan.apply(dry_run=False, confirm=plan.phrase)
        run.wait()
        while True:  # it was over before the interrupt came
            time.sleep(0.01)
    if plan._run is None:
        time.sleep(0.5)
        assert len(stack.releases()) == releases, "what nobody has a handle of has not begun"
    else:
        ended(plan._run)
    phases = {str(each.phase) for each in stack.releases()}
    assert "running" not in phases and "applying" not in phases
    rest = stack.plan(force=True)
    assert rest.apply(dry_run=False, confirm=rest.phrase).wait().outcome in ("succeeded", "nothing to do")
    destroyed = stack.plan_destroy()
    destroyed.apply(dry_run=False, confirm=destroyed.phrase).wait()


def test_an_interrupt_while_it_begins_ends_the_work() -> None:
    """The work hangs before its first event, as with a cluster that does not answer."""
    import asyncio

    from workbench.notebook.boards import Live
    from workbench.notebook.views import Picture

    class Hanging(Live):
        name = "hanging"
        df = None  # type: ignore[assignment]

        def _picture(self) -> Picture:
            return Picture()

        def _document(self) -> dict[str, Any]:
            return {}

        def _traits(self) -> dict[str, Any]:
            return {}

    board = Hanging(EngineThread())
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        board._begin(lambda: asyncio.sleep(3600))
        board._until_begun(lambda: False)
    assert not board.is_running
    board._thread.close()


def test_what_runs_is_a_widget_with_a_snapshot_and_what_ended_is_neither(workspace: Workspace, cells: Cells) -> None:
    watch = workspace["catalog/pre"].watch(timeout="10m")
    watch._ipython_display_()
    assert cells.widgets == 1
    assert "snapshot of 20" in cells.text, "a kernel that dies now leaves this behind"
    watch.stop()
    ended(watch)
    assert cells.widgets == 0, "a saved notebook would say that the model was not found"
    assert "as of 20" in cells.text
    final = next(each for each in cells.outputs.values() if "application/vnd.wb.status+json" in each)
    assert final["text/plain"] == repr(watch)
    shown = dict(cells.outputs)
    watch._ipython_display_()
    assert cells.widgets == 0 and len(cells.outputs) == len(shown) + 1, "what is over is shown as it is"


def test_an_apply_that_was_shown_before_it_ran_is_shown_as_it_ended(workspace: Workspace, cells: Cells) -> None:
    plan = workspace["catalog/dev"].plan()
    run = plan.apply(dry_run=False)  # nobody typed the phrase yet: it asks in the widget
    run._ipython_display_()
    assert cells.widgets == 1 and run.outcome == "not confirmed"
    run._confirmed(plan.phrase)
    run.wait()
    ended(run)
    assert run.outcome == "succeeded"
    assert cells.widgets == 0
    assert "release #1 succeeded" in cells.text
    assert "pending" not in cells.text


def test_without_anybody_there_the_output_is_updated_too(
    workspace: Workspace, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WB_WIDGETS", "off")
    watch = workspace["catalog/pre"].watch(timeout="10m")
    watch._ipython_display_()
    (before,) = cells.outputs.values()
    watch.stop()
    ended(watch)
    (after,) = cells.outputs.values()
    assert cells.widgets == 0 and "application/vnd.wb.status+json" in before
    assert after["text/plain"] == repr(watch)
