"""What goes on, as a board: work on the engine's thread, a widget while it runs, the final picture once it has ended.

The work takes in what happens there, and repaints its widget at most four times a second, so a cell that waits and one
that does not look the same. What it leaves in the notebook are `outputs`.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.engine.errors import EngineError
from workbench.notebook import outputs
from workbench.notebook.engine_thread import EngineThread, Job, readable
from workbench.notebook.headless import cell_id, has_widgets, say
from workbench.notebook.results import Shown
from workbench.notebook.views import html, text
from workbench.present.text import Line

if TYPE_CHECKING:
    from workbench.notebook.live import LiveView

_REPAINT_SECONDS = 0.25
_REST = 10.0
"""So many times longer than it took to paint is waited before painting again."""
_POLL_SECONDS = 0.25
_BEGIN_SECONDS = 0.02
_SNAPSHOT_SECONDS = 15.0
_END_SECONDS = 130.0
_WIDGET = "application/vnd.jupyter.widget-view+json"


class Unfinished(EngineError):
    """It did not end as it should: failed, was stopped, or took too long. `partial` is what there is of it."""

    def __init__(self, message: str, partial: Live, *, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.partial = partial


class Live(Shown):
    """Something that goes on. `_log` grows on the engine's thread; a cell that waits prints what is new in it."""

    def __init__(self, thread: EngineThread) -> None:
        self._thread = thread
        self._job: Job[None] | None = None
        self._log: list[Line] = []
        self._said = 0
        self._is_painting = False
        self._pause_seconds = _REPAINT_SECONDS
        self._has_view = False
        self._is_awaited = self._is_asked_to_stop = False
        self._outputs: list[tuple[outputs.Output, outputs.Output]] = []
        # now: what is confirmed in a widget later runs in no cell
        cell = cell_id()
        self._origin = f"notebook:{cell}" if cell else "notebook"

    @property
    def log(self) -> tuple[str, ...]:
        """What happened so far, a line each."""
        return tuple(map(str, self._log))

    @property
    def is_running(self) -> bool:
        return self._job is not None and self._job.is_running

    def stop(self) -> None:
        """Asks it to end early; `wait` tells when it has."""
        if self._job is not None:
            self._job.stop()

    # What stands in the notebook

    def widget(self) -> LiveView:
        from workbench.notebook.live import LiveView, listen

        view = LiveView(**self._traits())
        listen(view, self._confirmed, self._stop_pressed)
        self._has_view = True
        return view

    @cached_property
    def _view(self) -> LiveView:
        return self.widget()

    def _ipython_display_(self) -> None:
        board, beside = outputs.Output(), outputs.Output()
        if not has_widgets() or not self._may_go_on:
            board.show(self._repr_mimebundle_())
        else:
            view = {"version_major": 2, "version_minor": 0, "model_id": self._view.model_id}
            board.show({"text/plain": repr(self), _WIDGET: view})
            beside.show(self._snapshot())
        if self._may_go_on:
            self._outputs.append((board, beside))

    @property
    def _may_go_on(self) -> bool:
        """Whether it runs, or may still begin: what is shown of it now is not the end."""
        return self.is_running

    def _snapshot(self) -> outputs.Bundle:
        picture = self._picture()
        return outputs.snapshot(html(picture), text(picture), datetime.now(UTC))

    async def _keep_snapshots(self) -> None:
        while True:
            if has_widgets():
                for _, beside in self._outputs:
                    beside.show(self._snapshot())
            await asyncio.sleep(_SNAPSHOT_SECONDS)

    def _show_final(self) -> None:
        for board, beside in self._outputs:
            board.show(self._repr_mimebundle_())
            if has_widgets():
                beside.show(outputs.ended(datetime.now(UTC)))
        if not self._may_go_on:
            self._outputs.clear()

    @abstractmethod
    def _traits(self) -> dict[str, Any]: ...

    def _stop_traits(self) -> dict[str, Any]:
        return {"is_awaited": self._is_awaited, "is_stopping": self._is_asked_to_stop and self.is_running}

    def _confirmed(self, text: str) -> None:
        """Takes what was typed into the box; called on whichever thread Jupyter uses."""

    def _stop_pressed(self) -> None:
        self._is_asked_to_stop = True
        self.stop()
        self._thread.post(self._repaint)

    # The work

    def _begin(self, work: Callable[[], Awaitable[None]]) -> Job[None]:
        async def shown() -> None:
            snapshots = asyncio.create_task(self._keep_snapshots())
            try:
                await work()
            finally:
                snapshots.cancel()

        self._job = self._thread.start(shown)
        self._job.when_ended(self._show_final)
        return self._job

    def _until_begun(self, has_begun: Callable[[], bool]) -> None:
        """Waits for the first thing that happens, or for the end; an interrupt ends the work, as one later does."""
        job = self._job
        assert job is not None, "only what was handed over can begin"
        with self._awaiting(job):
            while job.is_running and not has_begun():
                job.wait(_BEGIN_SECONDS)
        if job.error is not None and not has_begun():
            raise readable(job.error)

    def _await(self, timeout: float | None) -> None:
        """Waits for the job, printing as it goes. An interrupt ends the job before it goes on its way."""
        job = self._job
        if job is None:
            return
        waited = 0.0
        with self._awaiting(job):
            while not job.wait(_POLL_SECONDS):
                waited += _POLL_SECONDS
                self._print()
                if timeout is not None and waited >= timeout:
                    break
        self._print()
        if not job.is_running and job.error is not None:
            raise readable(job.error)

    def _awaiting(self, job: Job[None]) -> _Awaiting:
        return _Awaiting(self, job)

    def _print(self) -> None:
        fresh = self._log[self._said :]
        self._said += len(fresh)
        if not (self._has_view and has_widgets()):
            for each in fresh:
                say(str(each))

    def _repaint(self) -> None:
        """Called on the engine's thread whenever something changed; coalesces."""
        if self._has_view and not self._is_painting:
            self._is_painting = True
            asyncio.get_running_loop().call_later(self._pause_seconds, self._paint)

    def _paint(self) -> None:
        self._is_painting = False
        began = time.perf_counter()
        with self._view.hold_sync():
            for name, value in self._traits().items():
                setattr(self._view, name, value)
        # it is the engine's thread: painting thousands of rows must not hold up what they tell of
        self._pause_seconds = max(_REPAINT_SECONDS, _REST * (time.perf_counter() - began))


class _Awaiting:
    """A cell that blocks on a job. The board says so: its Stop button is then not heard, and interrupts the cell."""

    def __init__(self, board: Live, job: Job[None]) -> None:
        self._board, self._job = board, job

    def __enter__(self) -> None:
        self._say(True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if kind is KeyboardInterrupt:
                self._board._stop_pressed()
                self._job.wait(_END_SECONDS)
                self._board._print()
        finally:
            self._say(False)

    def _say(self, is_awaited: bool) -> None:
        self._board._is_awaited = is_awaited
        self._board._thread.post(self._board._repaint)


__all__ = ["Live", "Unfinished"]
