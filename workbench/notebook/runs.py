"""What goes on: a plan that is applied, a stack that becomes ready.

Each is a board (`boards`). `stop`, the Stop button and an interrupt of the kernel end an apply in the same way: writes
under way finish, no other starts, the release is recorded as interrupted.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from runtimes.base import Address, RuntimeFailure, Status
from workbench.engine import plan as engine
from workbench.engine.approval import approve
from workbench.engine.changes import StackDiff, Summary
from workbench.engine.errors import ConfirmationRequired
from workbench.engine.events import (
    Action,
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    StepFailed,
    StepFinished,
    StepProgress,
    StepSkipped,
)
from workbench.engine.execute import Applying
from workbench.engine.release import Phase, Release, StepState
from workbench.engine.status import StatusTree, Verdict
from workbench.notebook.boards import Live, Unfinished
from workbench.notebook.durations import seconds
from workbench.notebook.engine_thread import Job, Stopped, readable
from workbench.notebook.headless import has_widgets
from workbench.notebook.results import Shown, diff_tabs
from workbench.notebook.views import Picture, Tab
from workbench.present import clusters, documents, errors, reconcile
from workbench.present import plan as present_plan
from workbench.present.glyphs import UNICODE, status_line
from workbench.present.rows import Table
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    import pandas as pd

    from workbench.notebook.plots import Chart
    from workbench.notebook.workspace import StackHandle

_LOG_LINES = 50
_PROGRESS_SECONDS = 10.0
"""How often a step that takes its time is told of."""
_DROP = "drop"
"""What has to be typed to make Terraform drop what it has begun."""


class Plan(Shown):
    """What would be done, bound to what was live. `phrase` is what `apply` wants as `confirm`, empty for nothing.

    False only where nothing is to be done and every place said so: a plan made while a cluster was away is true, and
    one that has only to record what a release left that did not end.
    """

    name = "plan"

    def __init__(self, made: engine.Plan, stack: StackHandle) -> None:
        self.value, self._stack = made, stack
        self._run: Run | None = None
        self._now = datetime.now(UTC)

    def __bool__(self) -> bool:
        return not self.value.is_as_configured or self.value.is_unrecorded

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def phrase(self) -> str:
        return self.value.confirmation.phrase

    @property
    def is_refused(self) -> bool:
        return self.value.is_refused

    @property
    def summary(self) -> Summary:
        return self.value.summary

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.plan(self.value)

    def apply(self, *, dry_run: bool = True, confirm: str = "", reason: str = "") -> Run:
        """Applies the plan; without `dry_run=False` it only shows what would be done. `reason` is for the audit trail.

        Returns when the first step begins; `wait` for the rest. Without the right `confirm` a notebook that somebody
        looks at asks for it below the cell; elsewhere it raises `ConfirmationRequired`. A plan that was applied is not
        applied again: the same run is returned. Raises as `Session.apply` does, before anything is written.
        """
        if dry_run:
            return Run(self, self._stack, is_dry=True)
        if self._run is not None and not self._run.may_begin:
            return self._run
        # there is a handle before there is anything to handle: an interrupt may come at any moment
        self._run = self._run or Run(self, self._stack)
        self._run.reason = reason or self._stack.session.settings.reason
        self._run.begin(confirm)
        return self._run

    def _picture(self) -> Picture:
        made = self.value
        head = [present_plan.title(made, UNICODE), *clusters.lines(made.identities), *_summary(made)]
        foot = [*present_plan.guards(made, UNICODE)]
        if made.is_refused:
            foot += present_plan.refusal(made, UNICODE)
        elif made.confirmation.level is not engine.Level.NOTHING and not made.is_empty:
            foot.append(line(Span("to confirm: ", Tone.MUTED), Span(self.phrase, Tone.STRONG)))
        return Picture(tuple(head), self._tabs(), tuple(foot))

    def _tabs(self) -> tuple[Tab, ...]:
        made = self.value
        if made.is_empty:
            return ()
        found = StackDiff(
            made.spec,
            made.clusters,
            made.changes,
            made.made_at,
            made.problems,
            made.warnings,
            made.workspace,
            made.prior,
            made.gaps,
        )
        # two tables tell the steps; who wants the fields opens the others
        return Tab("Steps", _steps(made, ())), *diff_tabs(made.steps(), found, self._stack.roots, self._now)

    def _document(self) -> dict[str, Any]:
        return documents.plan(self.value, self._stack.roots[-1])


class Run(Live):
    """A plan being applied. `df` has a row a step, `events` what the clusters report once it is watched."""

    name = "run"

    def __init__(self, plan: Plan, stack: StackHandle, *, is_dry: bool = False) -> None:
        super().__init__(stack.thread)
        self.plan, self._stack, self.is_dry_run = plan, stack, is_dry
        self.reason = ""
        self._events: list[Event] = []
        self._failure: BaseException | None = None
        self._is_asking = False
        self._applying: Applying | None = None
        self._is_stopping = False
        self._asks_to_drop = False
        self._interrupting: asyncio.Task[None] | None = None
        self._told: dict[Address, float] = {}
        self._watch: Watch | None = None

    @property
    def outcome(self) -> str:
        """`dry run`, `nothing to do`, `not confirmed`, `running`, `succeeded`, `partial`, `failed`, `interrupted`."""
        if self.is_dry_run:
            return "dry run"
        if self._finished is not None:
            return self._finished.outcome.value
        if not self.plan:
            return "nothing to do"
        return "running" if self.is_running else "not confirmed"

    @property
    def may_begin(self) -> bool:
        """Nothing was written yet, and nothing is under way."""
        return not self.is_dry_run and not self._events and not self.is_running

    @property
    def _may_go_on(self) -> bool:
        return self.is_running or (self._is_asking and self.may_begin)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.run(self.plan.value, tuple(self._events), idle="planned" if self.is_dry_run else "pending")

    @property
    def events(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return self._watch.events if self._watch else frames.events(None)

    @property
    def timeline(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return self._watch.timeline if self._watch else frames.timeline(())

    def begin(self, confirm: str) -> None:
        """Starts, or asks for the confirmation where somebody can give it. See `Plan.apply`."""
        if not self.plan:
            return
        try:
            approve(self.plan.value, confirm)
        except ConfirmationRequired as error:
            if confirm or not has_widgets():
                raise readable(error) from None
            self._is_asking = True
            return
        except WorkbenchError as error:
            raise readable(error) from None
        self._begin(lambda: self._apply(confirm))
        self._until_begun(lambda: bool(self._events))

    def stop(self, *, at_once: bool = False) -> None:
        """Starts no further step and lets what was begun finish; `wait` tells when it has.

        `at_once` makes Terraform drop what it has begun, which it may lose track of. Stopping again without it asks for
        that below the cell, where somebody can answer.
        """
        self._thread.post(lambda: self._stop(at_once))

    def _stop(self, at_once: bool) -> None:
        """On the engine's thread."""
        if self._applying is None:
            super().stop()
            return
        if self._is_stopping and not at_once:
            self._asks_to_drop = self._has_terraform_at_work
        else:
            self._is_stopping, self._asks_to_drop = True, False
            self._interrupting = asyncio.get_running_loop().create_task(self._applying.interrupt(at_once=at_once))
        self._repaint()

    @property
    def _has_terraform_at_work(self) -> bool:
        place = self.plan.value.workspace
        return bool(place) and any(each.cluster == place for each in present_plan.running(self._events))

    def wait(self, timeout: str | float | None = None) -> Run:
        """Waits until every step is done. Raises `Unfinished` if one failed, if it was stopped or takes too long."""
        if self.is_dry_run or not self.plan:
            return self
        if self._is_asking and not self.is_running and not self._events:
            raise readable(ConfirmationRequired(self.plan.phrase, "nothing was typed yet", where=self._stack.name))
        self._await(None if timeout is None else seconds(timeout))
        return self.raise_if_failed()

    def raise_if_failed(self) -> Run:
        """Raises `Unfinished` for any other end than success."""
        if self.outcome in (Outcome.SUCCEEDED, "dry run", "nothing to do"):
            return self
        found = self.df
        failed = found[found["state"] == "failed"]
        first = f": {failed.iloc[0]['id']}: {failed.iloc[0]['error']}" if len(failed) else ""
        hint = "the release is recorded; put it right and plan again"
        raise readable(Unfinished(f"{self.outcome}{first}", self, where=self._stack.name, hint=hint))

    def watch(self, timeout: str | float = "10m") -> Watch:
        """Watches what was applied, once it is, until it is ready or has failed; returns at once."""
        made = self.plan.value
        self._watch = Watch(self._stack, seconds(timeout), plan=made, after=self._job)
        return self._watch

    async def _apply(self, confirm: str) -> None:
        session, made = self._stack.session, self.plan.value
        session.origin, session.reason = self._origin, self.reason
        try:
            async with session.apply(made, confirm=confirm) as events:
                self._applying = events
                async for event in events:
                    self._take(event)
        except asyncio.CancelledError:
            if not self._events:
                raise
            for event in _after_stop(made, self._events, self._release(), datetime.now(UTC)):
                self._take(event)
        except (WorkbenchError, RuntimeFailure) as error:
            self._failure = error
            raise
        finally:
            self._applying = None
            self._repaint()

    def _release(self) -> Release | None:
        """Finds what the stopped apply has recorded: the only one that knows how its last writes ended."""
        found = self._stack.session.releases(self._stack.value)
        return next((each for each in found if each.revision == self.plan.value.revision), None)

    def _take(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, StepProgress):
            if event.seconds - self._told.get(event.address, 0.0) < _PROGRESS_SECONDS:
                self._repaint()
                return
            self._told[event.address] = event.seconds
        shown = present_plan.event_line(event, UNICODE)
        if shown is not None:
            self._log.append(shown)
        self._repaint()

    def _confirmed(self, text: str) -> None:
        if self._asks_to_drop and self._applying is not None:
            if text == _DROP:
                self.stop(at_once=True)
            return
        if self.may_begin:
            self._failure = None
            self._begin(lambda: self._apply(text))

    @property
    def _finished(self) -> ApplyFinished | None:
        events = tuple(self._events)
        return next((each for each in reversed(events) if isinstance(each, ApplyFinished)), None)

    def _picture(self) -> Picture:
        made, events = self.plan.value, tuple(self._events)
        mode = Span("  DRY RUN", Tone.WARN) if self.is_dry_run else Span("")
        head = (line(Span(self._stack.name, Tone.STRONG), "  ", present_plan.title(made, UNICODE), mode),)
        foot = [*self._log[-_LOG_LINES:]] if self._finished is None else self._log[-1:]
        if isinstance(self._failure, WorkbenchError | RuntimeFailure):
            foot += errors.lines(self._failure, UNICODE)
        if self.is_dry_run:
            foot = [
                line("nothing was written; apply(dry_run=False) does it, confirmed with: ", self.plan.phrase or "-")
            ]
        elif self.outcome == "nothing to do":
            foot = [line(Span(f"{UNICODE.good} nothing to change", Tone.GOOD))]
        tabs = () if made.is_empty else (Tab("Steps", _steps(made, events)),)
        return Picture((*head, *_summary(made)), tabs, tuple(foot))

    def _traits(self) -> dict[str, Any]:
        from workbench.notebook.live import payload

        events = tuple(self._events)
        done = sum(isinstance(each, StepFinished) for each in events)
        failed = sum(isinstance(each, StepFailed | StepSkipped) for each in events)
        total = sum(map(len, self.plan.value.waves)) if events else 0
        wanted = self.plan.value.confirmation
        ask = {"phrase": wanted.phrase, "reasons": list(wanted.reasons), "button": self._button}
        return {
            "picture": payload(self._picture()),
            "progress": [done, failed, total] if total else [],
            "ask": ask if self._is_asking and self.may_begin else self._question,
            "can_stop": bool(events) and self._finished is None,
            **self._stop_traits(),
        }

    @property
    def _question(self) -> dict[str, Any]:
        if not self._asks_to_drop or self._applying is None:
            return {}
        why = "stopping at once: Terraform may lose track of what it is making; the next plan looks for it"
        return {"phrase": _DROP, "reasons": [why], "button": "Stop now"}

    @property
    def _button(self) -> str:
        count = self.plan.summary.changes
        verb = "Destroy" if self.plan.value.destroys else "Apply"
        return f"{verb} {count} change{'s' if count != 1 else ''}"

    def _document(self) -> dict[str, Any]:
        steps = self.df.astype(object).where(self.df.notna(), None).to_dict("records")
        for each in steps:
            each["started"], each["ended"] = _iso(each["started"]), _iso(each["ended"])
        return {"apiVersion": "wb/v1", "kind": "Run", "status": self.outcome, "plan": self.plan.id, "steps": steps}


class Watch(Live):
    """A stack while it becomes ready."""

    name = "status"

    def __init__(
        self, stack: StackHandle, timeout: float, plan: engine.Plan | None = None, after: Job[None] | None = None
    ) -> None:
        super().__init__(stack.thread)
        self._stack, self._timeout, self._plan, self._after = stack, timeout, plan, after
        self._tree: StatusTree | None = None
        self._points: list[tuple[datetime, StatusTree]] = []
        self._told: dict[Address, tuple[Status, str]] = {}
        self._begin(self._follow)

    @property
    def verdict(self) -> str:
        """`ready`, `progressing`, `failed`, `unknown` (a place is silent), `timed out` or `empty` (no resources)."""
        shown = self._shown()
        return shown[0].as_of(shown[1]).verdict.value if shown else Verdict.UNKNOWN.value

    @property
    def is_ready(self) -> bool:
        return self.verdict == Verdict.READY

    @property
    def why(self) -> str:
        """The one line that says why it is not ready."""
        return str(reconcile.why_line(self._tree, UNICODE, self._tree.at)) if self._tree else ""

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.status(self._tree)

    @property
    def events(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.events(self._tree)

    @property
    def timeline(self) -> pd.DataFrame:
        from workbench.notebook import frames

        return frames.timeline(tuple(self._points))

    def plot(self) -> Chart:
        """Draws how many resources were ready when. Needs matplotlib."""
        from workbench.notebook import plots

        return plots.readiness(self.timeline, self._stack.name)

    def wait(self, *, check: bool = True) -> Watch:
        """Waits until it is ready, has failed, or the time is up; `check` raises `Unfinished` unless it is ready."""
        self._await(None)
        return self.raise_if_failed() if check else self

    def raise_if_failed(self) -> Watch:
        if self.is_ready:
            return self
        raise readable(Unfinished(f"{self.verdict}: {self.why}", self, where=self._stack.name))

    async def _follow(self) -> None:
        session, plan, stack = self._stack.session, self._plan, self._stack
        if self._after is not None:
            # before the last write is done, what is there may be ready and not what was applied
            await self._after.settled()
        inputs = plan.inputs if plan else stack.inputs
        try:
            async with session.watch(
                stack.value,
                inputs,
                spec=plan.spec if plan else None,
                clusters=plan.only if plan else (),
                addresses=plan.watched if plan else None,
                until_settled=True,
                timeout_seconds=self._timeout,
            ) as trees:
                async for tree in trees:
                    self._take(tree)
        finally:
            if self._tree is not None:
                stack.remember(self._tree, is_watched=False)
            self._repaint()

    def _take(self, tree: StatusTree) -> None:
        before, self._tree = self._tree, tree
        if before is None or (before.ready, before.verdict) != (tree.ready, tree.verdict):
            self._points.append((datetime.now(UTC), tree))
        for each in tree.resources:
            now = (each.health.status, each.health.reason)
            is_news = self._told.get(each.address) != now and (before is not None or now[0] is not Status.CURRENT)
            self._told[each.address] = now
            if is_news and each.health.status is not Status.UNKNOWN:
                when = Span(f"{tree.seconds:6.1f}s ", Tone.MUTED)
                self._log.append(line(when, status_line(each.health, UNICODE), "  ", reconcile.short_id(each.address)))
        self._stack.remember(tree, is_watched=True)
        self._repaint()

    def _shown(self) -> tuple[StatusTree, datetime] | None:
        """The picture and the moment it is shown for: now while it is followed, else the last one it was true for."""
        if self._tree is None:
            return None
        return self._tree, datetime.now(UTC) if self.is_running else self._tree.at

    def _picture(self) -> Picture:
        shown = self._shown()
        if shown is None:
            return Picture((line(Span(self._stack.name, Tone.STRONG), "  waiting for the first picture"),))
        tree, now = shown[0].as_of(shown[1]), shown[1]
        # a saved notebook is read later than it is written: the time stays with what it is said of
        said = line(
            Span(f"  {'as of' if self.is_running else 'ended; last seen'} {now:%Y-%m-%d %H:%M:%S} UTC", Tone.MUTED)
        )
        head = (line(Span(self._stack.name, Tone.STRONG), "  ", reconcile.summary(tree, UNICODE, now), said),)
        blocking = tree.why.blocking if tree.why and tree.verdict is not Verdict.READY else None
        log = tuple(line(Span("  | ", Tone.MUTED), each) for each in (blocking.log_tail if blocking else ()))
        tabs = [Tab("Resources", Table(reconcile.COLUMNS, reconcile.rows(tree, UNICODE, now)))]
        if tree.why is not None and tree.why.tree is not None and tree.verdict is not Verdict.READY:
            tabs.append(Tab("Events", Table(reconcile.EVENT_COLUMNS, reconcile.event_rows(tree.why.tree, now))))
        return Picture((*head, reconcile.why_line(tree, UNICODE, now), *log), tuple(tabs))

    def _traits(self) -> dict[str, Any]:
        from workbench.notebook.live import payload

        shown = self._shown()
        tree = shown[0].as_of(shown[1]) if shown else None
        progress = [tree.ready, 0, tree.total] if tree else []
        return {
            "picture": payload(self._picture()),
            "progress": progress,
            "ask": {},
            "can_stop": self.is_running,
            **self._stop_traits(),
        }

    def _document(self) -> dict[str, Any]:
        shown = self._shown()
        return documents.status(shown[0].as_of(shown[1]) if shown else None)


def _summary(made: engine.Plan) -> tuple[Line, ...]:
    from workbench.present.diff import summary_line

    return (summary_line(made.summary, UNICODE, is_certain=made.is_certain),)


def _steps(made: engine.Plan, events: tuple[Event, ...]) -> Table:
    return Table(present_plan.STEP_COLUMNS, present_plan.step_rows(made, events))


def _iso(value: Any) -> str | None:
    return value.isoformat() if value is not None else None


def _after_stop(made: engine.Plan, events: list[Event], release: Release | None, now: datetime) -> list[Event]:
    """Returns how the steps ended that were stopped, as events, from what was recorded of them."""
    if release is None or any(isinstance(each, ApplyFinished) for each in events):
        return []
    settled = {each.address for each in events if isinstance(each, StepFinished | StepFailed | StepSkipped)}
    found: list[Event] = []
    for change in made.steps():
        if change.address not in settled:
            found.append(_end(change.address, change.action, release, now))
    every = (*events, *found)
    started = next((each.at for each in events if isinstance(each, ApplyStarted)), now)
    counts = [sum(isinstance(each, kind) for each in every) for kind in (StepFinished, StepFailed, StepSkipped)]
    outcome = _OUTCOMES.get(release.phase, Outcome.INTERRUPTED)
    found.append(ApplyFinished(now, outcome, release.revision, (now - started).total_seconds(), *counts))
    return found


_OUTCOMES = {
    Phase.SUCCEEDED: Outcome.SUCCEEDED,
    Phase.PARTIAL: Outcome.PARTIAL,
    Phase.FAILED: Outcome.FAILED,
    Phase.INTERRUPTED: Outcome.INTERRUPTED,
}


def _end(address: Address, action: Action, release: Release, now: datetime) -> Event:
    recorded = release.resources.get(address)
    is_done = recorded.state is StepState.DONE if recorded else action is Action.DELETE
    if is_done:
        return StepFinished(now, address, action, 0.0, recorded.uid if recorded else "")
    if recorded is not None and recorded.state is StepState.FAILED:
        return StepFailed(now, address, action, 0.0, "", recorded.error)
    return StepSkipped(now, address, action, None)


__all__ = ["Live", "Plan", "Run", "Stopped", "Unfinished", "Watch"]
