"""An apply that runs: told step by step, interrupted when asked, and looked at when it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from kcl.records import dataclass
from runtimes.base import (
    Finding,
    LiveResource,
    PlannedAction,
    Report,
    ResourceFailed,
    ResourceFinished,
    ResourceId,
    ResourceProgress,
    ResourceStarted,
    RuntimeFailure,
    Unreachable,
    WorkspacePlan,
)
from runtimes.terraform import diagnostics, values
from runtimes.terraform.configuration import Configuration
from runtimes.terraform.events import ApplyHook, Diagnosed, Event, Follower, Phase, Provisioned
from runtimes.terraform.process import Running

_POLL_SECONDS = 0.05
_PROGRESS_SECONDS = 2.0
# How long terraform may be silent after it was told to stop at once, before it is ended without its consent: it then
# loses what it was doing from its state.
_SILENCE_SECONDS = 60.0

_CUT_OFF = re.compile(r"operation cancell?ed|execution halted|interrupted", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Left:
    """What the state has once terraform has ended. `is_written`: it is another than the one that was planned over."""

    live: Mapping[ResourceId, LiveResource]
    is_written: bool = True


Ended = Callable[[tuple[Event, ...]], Awaitable[Left]]
"""What is to be done once terraform has ended: settle the record, and return what the new state knows."""


class Reporter:
    """Makes reports of events. Pure but for the clock that is handed in, in seconds."""

    def __init__(self, plan: WorkspacePlan, configuration: Configuration, place: str) -> None:
        self._configuration, self._place = configuration, place
        self._actions: Final = {each.id: each.action for each in plan.resources}
        self._begun: dict[ResourceId, float] = {}
        self._parts: dict[ResourceId, list[str]] = {}
        self._open: set[ResourceId] = set()
        self._ended: set[ResourceId] = set()
        self._errored: set[ResourceId] = set()
        self._told_at: dict[ResourceId, float] = {}
        self.findings: list[Finding] = []

    def reports(self, event: Event, now: float) -> list[Report]:
        match event:
            case ApplyHook(address=address) | Provisioned(address=address):
                id_ = self._configuration.id_at(address)
                return self._of(id_, event, now) if id_ is not None and id_ in self._actions else []
            case Diagnosed():
                found = diagnostics.finding(event.content, self._configuration)
                if found is not None and found not in self.findings:
                    self.findings.append(found)
        return []

    def progress(self, now: float) -> list[Report]:
        """Says of everything under way that it is, where nothing was said of it lately."""
        due = [id_ for id_ in self._under_way() if now - self._told_at[id_] >= _PROGRESS_SECONDS]
        return [self._progress(id_, now) for id_ in due]

    def ending(self, code: int, now: float, *, was_interrupted: bool = False) -> list[Report]:
        """Says what became of everything that was begun, once terraform has ended."""
        how = "was stopped" if was_interrupted else f"ended with code {code}"
        how = how if code >= 0 else f"was ended by signal {-code}"
        reports: list[Report] = []
        for id_ in self._under_way():
            reports.append(ResourceFailed(id_, now - self._begun[id_], self._why(id_, code, how)))
        named = {each.id for each in self.findings if each.is_error and each.id is not None}
        for id_ in self._actions:
            if id_ in named and id_ not in self._begun:
                reports += [ResourceStarted(id_), ResourceFailed(id_, 0.0, self._why(id_, code, how))]
        if code == 0:
            quiet = (id_ for id_, action in self._actions.items() if action is not PlannedAction.NONE)
            # taking over, moving and forgetting change the state alone, and terraform tells of none of them
            for id_ in quiet:
                if id_ not in self._begun:
                    self._ended.add(id_)
                    reports += [ResourceStarted(id_), ResourceFinished(id_, 0.0)]
        return reports

    def unrecorded(self, left: Left, code: int, now: float) -> list[Report]:
        """Says of what was done that the state does not have it: where terraform could not write that, or where what
        should keep it did not."""
        loose = [each for each in self._loose() if not _CUT_OFF.search(each.message)] if code else []
        wrong = [id_ for id_ in self._actions if id_ in self._ended and self._is_unrecorded(id_, left, bool(loose))]
        why = diagnostics.failure(loose, place=self._place, doing="apply").message if loose else ""
        error = RuntimeFailure(
            "it was done, and the state does not say so" + (f": {why}" if why else ""),
            target=self._place,
            hint="put right what keeps the state, and plan again: what was done is looked for then",
        )
        return [ResourceFailed(id_, now - self._begun.get(id_, now), error) for id_ in wrong]

    def _is_unrecorded(self, id_: ResourceId, left: Left, has_failed: bool) -> bool:
        match self._actions[id_]:
            case PlannedAction.CREATE | PlannedAction.IMPORT | PlannedAction.MOVE:
                return id_ not in left.live
            case PlannedAction.DELETE | PlannedAction.FORGET:
                return id_ in left.live
            case _:
                return has_failed and not left.is_written

    def failure(self, code: int) -> RuntimeFailure | None:
        """Returns why nothing could be applied, where it is not the fault of a resource."""
        if code == 0 or self._begun:
            return None
        loose = self._loose()
        return diagnostics.failure(loose, place=self._place, doing="apply") if loose else None

    @property
    def has_begun(self) -> bool:
        return bool(self._begun)

    def _of(self, id_: ResourceId, event: ApplyHook | Provisioned, now: float) -> list[Report]:
        match event:
            case ApplyHook(phase=Phase.STARTED):
                self._open.add(id_)
                if id_ in self._begun:
                    return []
                self._begun[id_] = self._told_at[id_] = now
                return [ResourceStarted(id_)]
            case ApplyHook(phase=Phase.COMPLETED) if id_ in self._begun:
                self._open.discard(id_)
                self._parts.setdefault(id_, []).append(event.action)
                if len(self._parts[id_]) < (2 if self._actions[id_] is PlannedAction.REPLACE else 1):
                    return [self._progress(id_, now, "the old one is gone" if event.action == "delete" else "")]
                self._ended.add(id_)
                return [ResourceFinished(id_, now - self._begun[id_], self._uid(id_, event))]
            case ApplyHook(phase=Phase.ERRORED) if id_ in self._begun:
                self._errored.add(id_)
                return [self._progress(id_, now, "it failed; terraform reports why when it is done with the others")]
            case Provisioned() if id_ in self._begun:
                return [self._progress(id_, now, self._configuration.scrubbed(event.output))]
            case _:
                return []

    def _uid(self, id_: ResourceId, event: ApplyHook) -> str:
        is_secret = ("id",) in self._configuration.sensitive.get(id_, ())
        uid = event.id_value
        return "" if is_secret or values.holds_secret(uid, self._configuration.secrets) else uid

    def _progress(self, id_: ResourceId, now: float, message: str = "") -> ResourceProgress:
        self._told_at[id_] = now
        return ResourceProgress(id_, now - self._begun[id_], message)

    def _loose(self) -> list[Finding]:
        return [each for each in self.findings if each.is_error and each.id is None]

    def _under_way(self) -> list[ResourceId]:
        return [id_ for id_ in self._begun if id_ not in self._ended]

    def _why(self, id_: ResourceId, code: int, how: str) -> RuntimeFailure:
        said = [each for each in self.findings if each.is_error and each.id == id_]
        if said:
            return diagnostics.failure(said, place=self._place, id_=id_, doing="apply")
        loose = [each for each in self._loose() if not _CUT_OFF.search(each.message)]
        if id_ in self._errored and loose:
            return diagnostics.failure(loose, place=self._place, id_=id_, doing="apply")
        if code >= 0 and id_ in self._parts and id_ not in self._open:
            return self._half_replaced(id_, how)
        return Unreachable(
            f"terraform {how} while it was at this resource: what became of it is not known",
            target=self._place,
            subject=str(id_),
            hint="plan again: what can be found out is looked for then",
            is_uncertain=True,
        )

    def _half_replaced(self, id_: ResourceId, how: str) -> RuntimeFailure:
        """Of a replacement, whose first part ended and whose second was not begun, everything is known."""
        if self._parts[id_] == ["delete"]:
            what, next_ = "the old one is deleted, and the new one was not begun", "apply again: that creates it"
        else:
            what, next_ = "the new one is there, and the old one was not deleted yet", "apply again: that deletes it"
        others = [each for each in self.findings if each.is_error and each.id not in (None, id_)]
        why = f"after {others[0].id} failed" if others else f"before terraform {how}"
        return RuntimeFailure(f"{what}, {why}", target=self._place, subject=str(id_), hint=next_)


class ApplyRun:
    """See `runtimes.base.WorkspaceRun`. Events are followed whether or not anybody iterates."""

    def __init__(
        self, running: Running, follower: Follower, reporter: Reporter, ended: Ended, clock: Callable[[], float]
    ) -> None:
        self._running, self._follower, self._reporter = running, follower, reporter
        self._when_ended, self._clock = ended, clock
        self._reports: asyncio.Queue[Report | None] = asyncio.Queue()
        self._told: list[Event] = []
        self._life = asyncio.Event()
        self._interrupts = 0
        self._silent_since = clock()
        self._task = asyncio.create_task(self._follow())

    async def life(self) -> None:
        """Waits until it has begun with a resource, or has ended; raises `RuntimeFailure` where it ended in vain."""
        waiting = asyncio.create_task(self._life.wait())
        try:
            await asyncio.wait((waiting, self._task), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._task.done():
            self._task.result()

    def __aiter__(self) -> AsyncIterator[Report]:
        return self._each()

    async def interrupt(self, *, at_once: bool = False) -> None:
        """Once is enough to end it in order; `at_once` sends a second, after which terraform drops everything."""
        wanted = 2 if at_once else 1
        while self._interrupts < wanted and self._running.code is None:
            if self._interrupts:
                # two signals that come together are one
                await asyncio.sleep(0.2)
            self._interrupts += 1
            self._silent_since = self._clock()
            self._running.interrupt()

    async def outcome(self) -> Mapping[ResourceId, LiveResource]:
        return await asyncio.shield(self._task)

    async def end(self) -> None:
        """Interrupts it if it runs, and waits, even through a cancellation; what it ended with is told elsewhere."""
        if not self._task.done():
            await self.interrupt()
        cancelled = None
        while not self._task.done():
            try:
                await asyncio.wait((self._task,))
            except asyncio.CancelledError as error:
                if cancelled is not None:
                    # asked twice: terraform goes on alone, and its record says so to whoever comes next
                    self._task.cancel()
                    await asyncio.gather(self._task, return_exceptions=True)
                    raise
                cancelled = error
        if cancelled is not None:
            raise cancelled
        if not self._task.cancelled():
            self._task.exception()  # was raised to whoever waited for the outcome, or nobody did

    async def _each(self) -> AsyncIterator[Report]:
        while (report := await self._reports.get()) is not None:
            yield report
        self._reports.put_nowait(None)  # whoever iterates again finds the end
        await self.outcome()

    async def _follow(self) -> Mapping[ResourceId, LiveResource]:
        try:
            while self._running.code is None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_SECONDS):
                        await self._running.wait()
                self._read()
                self._lose_patience()
            code = self._running.code
            for report in self._reporter.ending(code, self._clock(), was_interrupted=self._interrupts > 0):
                self._reports.put_nowait(report)
            left = await self._when_ended(tuple(self._told))
            for report in self._reporter.unrecorded(left, code, self._clock()):
                self._reports.put_nowait(report)
            if (failure := self._reporter.failure(code)) is not None and not self._interrupts:
                raise failure
            return left.live
        finally:
            self._reports.put_nowait(None)

    def _read(self) -> None:
        before, now = self._follower.offset, self._clock()
        for event in self._follower.read():
            self._told.append(event)
            for report in self._reporter.reports(event, now):
                self._reports.put_nowait(report)
        if self._follower.offset != before:
            self._silent_since = now
        for report in self._reporter.progress(now):
            self._reports.put_nowait(report)
        if self._reporter.has_begun:
            self._life.set()

    def _lose_patience(self) -> None:
        if self._interrupts > 1 and self._clock() - self._silent_since > _SILENCE_SECONDS:
            self._running.kill()


def monotonic() -> float:
    return time.monotonic()
