"""The recovery that is run from these screens: one at a time, going on while other screens are in front."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from workbench.engine.compiled import CompileInputs
from workbench.engine.recovery.events import RecoveryFinished
from workbench.present.recovery import event_line, follow
from workbench.tui.later import later
from workbench.tui.screens.recovery import RecoveryScreen, parse
from workbench.tui.state import RecoveryJob
from workbench.tui.trying import tried

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


class Recovering:
    """`job` is the recovery that runs, or was looked at last; None where none was asked for yet."""

    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self.job: RecoveryJob | None = None

    @property
    def is_running(self) -> bool:
        return self.job is not None and self.job.is_running

    def open(self, text: str) -> None:
        """Opens what was asked for; the one that runs, or was looked at last, where nothing is said."""
        if self.job is None or (text and not self.job.is_running):
            try:
                self.job = parse(text)
            except ValueError as error:
                self._app.notify(str(error), severity="warning")
                return
        elif text:
            self._app.notify("a recovery runs: this is it", severity="warning")
        self._app.push_screen(RecoveryScreen(self.job))

    def look_at(self, job: RecoveryJob) -> None:
        """Looks at once, or as soon as the end of a run is recorded."""
        if job.is_running:
            job.looks_again = True
            return
        self._app.run_worker(later(self._looking_at, job), group="recovery", exclusive=True)

    def run(self, job: RecoveryJob, phrase: str) -> None:
        self._app.run_worker(later(self._running, job, phrase), group="recovery", exclusive=True)

    def stop(self, job: RecoveryJob) -> None:
        if job.run is not None:
            job.run.stop("it was stopped by hand")
            self._app.notify(
                "stopping: what is under way is seen to its end, nothing new is started", severity="warning"
            )

    async def _looking_at(self, job: RecoveryJob) -> None:
        async def do() -> None:
            inputs = CompileInputs(options=job.options)
            job.found, job.report = await self._app.session.recovery(job.file, inputs), None
            job.states, job.log = {}, []

        await self._trying(job, "looking", do)

    async def _running(self, job: RecoveryJob, phrase: str) -> None:
        found = job.found
        assert found is not None, "only what was looked at can be run"

        async def do() -> None:
            async with self._app.session.recover(found, confirm=phrase, dry_run=False) as run:
                job.run = run
                async for event in run:
                    follow(job.states, event)
                    if shown := event_line(event, self._app.glyphs):
                        job.log.append(shown)
                    if isinstance(event, RecoveryFinished):
                        job.report = event.report

        await self._trying(job, "recovering", do)
        if job.looks_again:
            job.looks_again = False
            self._app.call_later(self.look_at, job)

    async def _trying(self, job: RecoveryJob, busy: str, do: Callable[[], Awaitable[None]]) -> None:
        """Runs one piece of work; a failure becomes the job's error."""
        job.busy, job.busy_since, job.error = busy, time.monotonic(), None
        self._redraw()
        try:
            job.error = await tried(do) or job.error
        finally:
            job.busy, job.run = "", None
            self._redraw()

    def _redraw(self) -> None:
        for screen in self._app.screen_stack:
            if isinstance(screen, RecoveryScreen) and screen.is_mounted:
                screen.redraw()
