"""Carries a plan over many stacks out, stage by stage: each stack applied, and watched until all of it is ready.

Stacks of one stage go side by side. At the first that fails, or is not ready in time, the run halts: what was begun
ends, nothing else is begun, and what is left is named with the reason. A stack that has nothing to do is watched too:
those that read it may begin only when it is ready, also in a run that goes on with one that was killed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import anyio
from anyio.abc import ObjectReceiveStream
from anyio.streams.memory import MemoryObjectSendStream

from kcl.records import dataclass
from runtimes.base import RuntimeFailure
from workbench.engine.errors import Locked, StalePlan
from workbench.engine.events import ApplyFinished, Outcome, StepFailed
from workbench.engine.execute import Applying
from workbench.engine.fleet_plan.approved import hold, hold_deferred
from workbench.engine.fleet_plan.making import AT_ONCE
from workbench.engine.fleet_plan.values import Approved, Deferred, FleetPlan
from workbench.engine.plan import Plan
from workbench.engine.rollout.execute import Picture, ReadyBut, StackEvent
from workbench.engine.rollout.health import Health
from workbench.engine.scrubbing import scrubbed
from workbench.engine.status import StatusTree
from workbench.engine.tasks import EventStream, running
from workbench.project import WorkbenchError
from workbench.project.discovery import one_look


class Cause(StrEnum):
    """Why a stack halted the run. `STALE` and `REFUSED` wrote nothing to it, `FAILED` may have."""

    FAILED = "failed"
    NOT_READY = "not ready"
    STALE = "stale"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class StageBegan:
    number: int
    stacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StackReady:
    """`steps` were done to it now; it is ready as a whole, or `is_gone`. `revision` is its release, 0 for none."""

    stack: str
    steps: int
    revision: int
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class StackHalted:
    """`why` and `hint` are sentences without secrets. `steps` were done to it nevertheless."""

    stack: str
    cause: Cause
    why: str
    hint: str = ""
    steps: int = 0


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The last event. Each stack of the plan is in one of the three: `left` were not begun, each with the reason."""

    ready: tuple[StackReady, ...]
    halted: tuple[StackHalted, ...]
    left: Mapping[str, str]

    @property
    def is_whole(self) -> bool:
        return not self.halted and not self.left

    @property
    def steps(self) -> int:
        return sum(each.steps for each in self.ready) + sum(each.steps for each in self.halted)


FleetEvent = StageBegan | StackEvent | Picture | ReadyBut | StackReady | StackHalted | RunEnded


class Stacks(Protocol):
    """What a run asks of its stacks. All of it may raise `WorkbenchError` or `RuntimeFailure`."""

    async def plan(self, stack: str, approved: Plan | Deferred) -> tuple[Plan, str]:
        """Plans again, for the clusters and with the salt of what was approved, and returns a digest of the compiled
        Spec as well: under the salt of the run for a stack that had no plan."""

    async def is_unfinished(self, stack: str) -> bool:
        """Tells whether the last release of a stack did not end well."""

    def apply(self, plan: Plan) -> AbstractAsyncContextManager[Applying]: ...

    def watch(self, plan: Plan) -> AbstractAsyncContextManager[AsyncIterator[StatusTree]]: ...


class FleetRun(EventStream[FleetEvent]):
    """A run under way: its events, `RunEnded` last."""

    def __init__(self, receive: ObjectReceiveStream[FleetEvent], run: _Run) -> None:
        super().__init__(receive)
        self._run = run

    async def interrupt(self, *, at_once: bool = False) -> None:
        """Begins nothing more, and lets what was begun end. `at_once` as for an apply."""
        await self._run.interrupt(at_once=at_once)


@asynccontextmanager
async def execute(
    fleet: FleetPlan, stacks: Stacks, now: Callable[[], datetime], *, timeout_seconds: float
) -> AsyncIterator[FleetRun]:
    """Carries an approved plan out. Each stack has `timeout_seconds` to become ready. Leaving early interrupts it."""
    send, receive = anyio.create_memory_object_stream[FleetEvent](float("inf"))
    run = _Run(fleet, stacks, now, send, timeout_seconds)
    async with receive, running(run.run):
        yield FleetRun(receive, run)


class _Halt(Exception):
    def __init__(self, cause: Cause, why: str, hint: str, steps: int = 0) -> None:
        super().__init__(why)
        self.cause, self.why, self.hint, self.steps = cause, why, hint, steps


class _Run:
    def __init__(
        self,
        fleet: FleetPlan,
        stacks: Stacks,
        now: Callable[[], datetime],
        send: MemoryObjectSendStream[FleetEvent],
        timeout_seconds: float,
    ) -> None:
        self._fleet, self._stacks, self._now, self._send = fleet, stacks, now, send
        self._timeout_seconds = timeout_seconds
        self._late = fleet.late
        self._stop = anyio.Event()
        self._at_work: set[Applying] = set()
        self._ready: dict[str, StackReady] = {}
        self._halted: dict[str, StackHalted] = {}
        self._begun: set[str] = set()
        self._done: dict[str, int] = {}
        """How many steps were done, of stacks that may have been written to."""
        self._is_over = False

    async def run(self) -> None:
        async with self._send, running(self._heed):
            for number, stage in enumerate(self._fleet.stages, 1):
                if self._is_stopping:
                    break
                self._send.send_nowait(StageBegan(number, stage))
                await self._stage(stage)
            self._send.send_nowait(RunEnded(tuple(self._ready.values()), tuple(self._halted.values()), self._left()))
            self._is_over = True

    async def _heed(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if not self._is_over:
                with anyio.CancelScope(shield=True):
                    await self.interrupt()

    async def interrupt(self, *, at_once: bool = False) -> None:
        self._stop.set()
        for each in tuple(self._at_work):
            await each.interrupt(at_once=at_once)

    @property
    def _is_stopping(self) -> bool:
        return self._stop.is_set() or bool(self._halted)

    def _left(self) -> dict[str, str]:
        """Returns why each stack was not begun, or not to its end: what it reads halted, or the run did."""
        found: dict[str, str] = {}
        halted = next(iter(self._halted), "")
        for stack in (each for stage in self._fleet.stages for each in stage):
            if stack in self._ready or stack in self._halted:
                continue
            if stack in self._begun:
                found[stack] = "the run was stopped before it was ready"
                continue
            needs = self._fleet.needs_of(stack)
            if not self._fleet.goes_back and (first := [each for each in needs if each not in self._ready]):
                verb = "reads" if first[0] in self._fleet.reads.get(stack, ()) else "comes after"
                found[stack] = f"{verb} {first[0]}, which is not ready"
            else:
                found[stack] = f"{halted} halted the run" if halted else "the run was stopped"
        return found

    async def _stage(self, stacks: Sequence[str]) -> None:
        limit = anyio.CapacityLimiter(AT_ONCE)

        async def one(stack: str) -> None:
            async with limit:
                if not self._is_stopping:
                    self._begun.add(stack)
                    with one_look():
                        await self._stack(stack)

        async with anyio.create_task_group() as tasks:
            for each in stacks:
                tasks.start_soon(one, each)

    async def _stack(self, stack: str) -> None:
        plan = self._fleet.plans.get(stack)
        try:
            plan = await self._current(stack)
            # one that was killed may have left nothing to do, and no word of it: a release says so then
            is_open = not plan.is_empty or (plan.is_certain and await self._stacks.is_unfinished(stack))
            steps = await self._applied(plan) if is_open else 0
            if not await self._settled(plan, steps):
                return
        except _Halt as halt:
            event = StackHalted(stack, halt.cause, halt.why, halt.hint, halt.steps)
        except (WorkbenchError, RuntimeFailure) as error:
            cause = Cause.STALE if isinstance(error, StalePlan | Locked) else Cause.REFUSED
            if stack in self._done:  # what is raised before anything is written speaks for itself
                cause = Cause.FAILED
            event = StackHalted(stack, cause, error.message, error.hint, self._done.get(stack, 0))
        else:
            ready = StackReady(stack, steps, plan.revision if steps else plan.prior, _leaves_nothing(plan))
            self._ready[stack] = ready
            self._send.send_nowait(ready)
            return
        if plan is not None:  # why it halts may quote what was sent
            event = scrubbed(event, plan.spec.secrets, plan.spec.rules)
        self._halted[stack] = event
        self._send.send_nowait(event)

    async def _current(self, stack: str) -> Plan:
        """Returns the plan to be applied: what was approved, made again where it reads what may have changed."""
        if (deferred := self._fleet.deferred.get(stack)) is not None:
            plan, configuration = await self._stacks.plan(stack, deferred)
            if deferred.former is not None:
                hold(deferred.former, plan, configuration, deferred.late)
            else:
                hold_deferred(deferred, plan, configuration)
            return plan
        approved = self._fleet.plans[stack]
        late = self._late.get(stack, ())
        if not late:
            return approved
        plan, configuration = await self._stacks.plan(stack, approved)
        hold(Approved.of(approved, self._fleet.configurations[stack]), plan, configuration, late)
        return plan

    async def _applied(self, plan: Plan) -> int:
        """Returns how many steps were done; halts where not all of them were."""
        ended: ApplyFinished | None = None
        failed = ""
        async with self._stacks.apply(plan) as applying:
            self._at_work.add(applying)
            self._done[plan.stack] = 0
            try:
                if self._stop.is_set():  # it was told so while this one was opened
                    await applying.interrupt()
                async for event in applying:
                    self._send.send_nowait(StackEvent(plan.stack, event))
                    if isinstance(event, StepFailed):
                        failed = failed or f"{event.action.value} {event.address}: {event.message}"
                    if isinstance(event, ApplyFinished):
                        ended = event
                        self._done[plan.stack] = event.done
            finally:
                self._at_work.discard(applying)
        if ended is None or ended.outcome is not Outcome.SUCCEEDED:
            what = ended.outcome.value if ended else "not recorded"
            hint = f"put it right, and go on: what was done is not done again (wb plan {plan.stack})"
            raise _Halt(Cause.FAILED, failed or f"the apply was {what}", hint, ended.done if ended else 0)
        return ended.done

    async def _settled(self, plan: Plan, steps: int) -> bool:
        """Returns once all of the stack is ready, False where the run was stopped before; halts where it is not."""
        if not plan.is_certain:
            raise _Halt(Cause.FAILED, "not all of it could be planned", f"wb plan {plan.stack} says what", steps)
        if _leaves_nothing(plan):
            return True  # all that was there is deleted, and that was what was asked for

        def tell(trees: Mapping[str, StatusTree]) -> None:
            if trees:
                self._send.send_nowait(Picture(self._now(), dict(trees)))

        health = Health({plan.stack: lambda: self._stacks.watch(plan)}, tell)

        async def wake() -> None:
            await self._stop.wait()
            health.wake()

        async with running(*health.work(), wake):
            why = await health.settle(self._timeout_seconds, 0.0, self._stop)
        if why is not None:
            raise _Halt(Cause.NOT_READY, why.why, f"wb watch {plan.stack}", steps)
        for stack, each in health.qualified():
            self._send.send_nowait(ReadyBut(self._now(), stack, each.address, each.health.message))
        return not self._stop.is_set()


def _leaves_nothing(plan: Plan) -> bool:
    return not any(each.resource is not None for each in plan.changes)
