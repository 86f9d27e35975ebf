"""Carries a rollout out, batch by batch: planned again, applied, and watched until all of it is ready.

It goes on only where it knows that all is well, and halts at everything else: a stack that says something else than
when the rollout began, a change that was not among those shown, a guard that refuses, a step that fails, a target that
is not ready in time or of which nothing is heard. What was done stays as it is: going on, or back, is somebody's word.

Everything is recorded before it is told. Whoever goes on after a crash begins the batch again that was under way:
what of it was done is planned as no change, and is watched all the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Protocol

import anyio
from anyio.abc import ObjectReceiveStream
from anyio.streams.memory import MemoryObjectSendStream

from kcl.records import dataclass
from runtimes.base import Address, RuntimeFailure, Status
from workbench.engine.events import ApplyFinished, Event, Outcome, StepFailed
from workbench.engine.execute import Applying
from workbench.engine.partial import part_of
from workbench.engine.plan import Level, Plan
from workbench.engine.rollout.health import Health, Watching
from workbench.engine.rollout.progress import Next, Phase, Progress
from workbench.engine.rollout.schedule import (
    by_stack,
    changed_targets,
    chosen,
    last_batches,
    target_of,
    watched,
)
from workbench.engine.rollout.values import (
    Applied,
    BatchBegan,
    BatchReady,
    Finished,
    Halted,
    Interrupted,
    Record,
    Stage,
    Target,
    Waits,
)
from workbench.engine.scrubbing import scrubbed
from workbench.engine.stack_order import givers
from workbench.engine.status import ResourceStatus, StatusTree
from workbench.engine.tasks import EventStream, running
from workbench.project import WorkbenchError
from workbench.words import bounded

_AT_ONCE = 4
"""Stacks that are planned, or applied, at a time."""
_GLANCE_SECONDS = 10.0
"""So long what is there already may take to say how it is."""


@dataclass(frozen=True, slots=True)
class StackEvent:
    """What happens while a part of a batch is applied to a stack."""

    stack: str
    event: Event


@dataclass(frozen=True, slots=True)
class Picture:
    """How the targets that are waited for are, by stack."""

    at: datetime
    trees: Mapping[str, StatusTree]


@dataclass(frozen=True, slots=True)
class Holding:
    """A stage has to stay ready for so long before the rollout goes on."""

    at: datetime
    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ReadyBut:
    """Something of a batch is ready, and says what its readiness leaves out, such as that no pod was replaced."""

    at: datetime
    stack: str
    address: Address
    message: str


RolloutEvent = Record | StackEvent | Picture | Holding | ReadyBut


class Stacks(Protocol):
    """What a rollout asks of its stacks. All of it may raise `WorkbenchError` or `RuntimeFailure`."""

    async def plan(self, stack: str) -> Plan: ...

    def apply(self, plan: Plan) -> AbstractAsyncContextManager[Applying]:
        """Applies a plan that was confirmed with the rollout."""

    def watch(
        self, plan: Plan, addresses: Sequence[Address]
    ) -> AbstractAsyncContextManager[AsyncIterator[StatusTree]]: ...


class Log(Protocol):
    """The records of one rollout."""

    async def read(self) -> Progress:
        """Raises `ReleaseFailure`, also where somebody else carries the rollout out by now."""

    async def add(self, record: Record) -> None:
        """Returns when it is safe; raises as `read`."""


class RolloutRun(EventStream[RolloutEvent]):
    """A rollout that is carried out: its events. It ends with the run, whatever that came to."""

    def __init__(self, receive: ObjectReceiveStream[RolloutEvent], run: _Run) -> None:
        super().__init__(receive)
        self._run = run

    async def interrupt(self, *, at_once: bool = False) -> None:
        """Starts nothing more, and lets what was begun end. `at_once` as for an apply."""
        await self._run.interrupt(at_once=at_once)


@asynccontextmanager
async def execute(
    log: Log, stacks: Stacks, now: Callable[[], datetime], *, user: str, host: str
) -> AsyncIterator[RolloutRun]:
    """Goes on with a rollout from where its records say that it is. Leaving early interrupts it."""
    send, receive = anyio.create_memory_object_stream[RolloutEvent](float("inf"))
    run = _Run(log, stacks, now, send, user, host)
    async with receive, running(run.run):
        yield RolloutRun(receive, run)


class _Halt(Exception):
    def __init__(self, why: str, hint: str = "", target: Target | None = None) -> None:
        super().__init__(why)
        self.why, self.hint, self.target = why, hint, target


class _Stopped(Exception):
    """It was told to stop while it waited."""


class _Run:
    def __init__(
        self,
        log: Log,
        stacks: Stacks,
        now: Callable[[], datetime],
        send: MemoryObjectSendStream[RolloutEvent],
        user: str,
        host: str,
    ) -> None:
        self._log, self._stacks, self._now, self._send = log, stacks, now, send
        self._user, self._host = user, host
        self._stop = anyio.Event()
        self._at_work: set[Applying] = set()
        self._plans: dict[str, Plan] = {}
        self._is_over = False

    async def run(self) -> None:
        async with self._send, running(self._heed):
            while await self._step():
                pass
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

    async def _step(self) -> bool:
        """Does the next thing; returns whether there is another one."""
        at = await self._log.read()
        following = at.next()
        stage, batch = (following.stage.name, following.number) if following else ("", 0)
        if at.phase is not Phase.OPEN:
            return False
        try:
            if self._stop.is_set():
                raise _Stopped
            if following is None:
                return await self._finish(at)
            if following.opens:
                if not await self._opens(at, following):
                    return False
                if (at := await self._log.read()).phase is not Phase.OPEN:
                    return False  # somebody said so while the stage before it had to stay ready
            await self._batch(at, following)
        except _Stopped:
            await self._add(Interrupted(self._now(), stage, batch))
            return False
        except _Halt as halt:
            await self._add(Halted(self._now(), stage, batch, halt.target, halt.why, halt.hint))
            return False
        except (WorkbenchError, RuntimeFailure) as error:
            where = f"{error.where}: " if isinstance(error, WorkbenchError) and error.where else ""
            await self._add(Halted(self._now(), stage, batch, None, f"{where}{error.message}", error.hint))
            return False
        return True

    async def _add(self, record: Record) -> None:
        for plan in self._plans.values():
            record = scrubbed(record, plan.spec.secrets, plan.spec.rules)  # why it halts may quote what was sent
        with anyio.CancelScope(shield=True):
            await self._log.add(record)
        self._send.send_nowait(record)

    # Stages

    async def _opens(self, at: Progress, following: Next) -> bool:
        if following.stage.needs_approval and following.stage.name not in at.approved:
            await self._add(Waits(self._now(), following.stage.name))
            return False
        if following.former is not None:
            await self._stays_ready(at, following.former)
        return True

    async def _stays_ready(self, at: Progress, stage: Stage) -> None:
        if stage.ready_seconds:
            self._send.send_nowait(Holding(self._now(), stage.name, stage.ready_seconds))
            plans = await self._planned(at, by_stack(stage.targets), again=True)
            await self._ready(plans, by_stack(stage.targets), stage.timeout_seconds, stage.ready_seconds)

    async def _finish(self, at: Progress) -> bool:
        """Looks whether everything is as the rollout was to make it."""
        if stages := [each for each in at.began.stages if each.targets]:
            await self._stays_ready(at, stages[-1])
        plans = await self._planned(at, at.began.parts, again=True)
        for stack, plan in plans.items():
            if not plan.is_certain:
                raise _Halt(f"it cannot be told whether {stack} is as configured", f"wb plan {stack}")
            if not plan.is_empty and _is_whole(at, plan):
                raise _Halt(f"{stack} is not as configured, though every batch of it is ready", f"wb diff {stack}")
        await self._add(Finished(self._now()))
        return False

    # Plans

    async def _planned(self, at: Progress, stacks: Iterable[str], *, again: bool) -> Mapping[str, Plan]:
        """Returns the plan of each stack, and that it is still the rollout's."""
        limit = anyio.CapacityLimiter(_AT_ONCE)
        failed: list[Exception] = []

        async def plan(stack: str) -> None:
            async with limit:
                try:
                    self._plans[stack] = await self._stacks.plan(stack)
                except (WorkbenchError, RuntimeFailure) as error:
                    failed.append(error)

        wanted = tuple(stacks)
        # an older one still tells what there is to watch, and no more than that
        todo = [each for each in wanted if again or each not in self._plans]
        async with anyio.create_task_group() as tasks:
            for each in todo:
                tasks.start_soon(plan, each)
        if failed:
            raise failed[0]
        for each in todo:
            _check(at, self._plans[each])
        return {each: self._plans[each] for each in wanted}

    # Batches

    async def _batch(self, at: Progress, following: Next) -> None:
        stage = following.stage
        await self._add(BatchBegan(self._now(), stage.name, following.number, self._user, self._host))
        todo, notes = list(following.targets), list[str]()
        while todo:
            room = await self._room(at, stage, todo)
            group, todo = todo[:room], todo[room:]
            notes += await self._group(at, following, group, is_end=not todo)
        await self._add(BatchReady(self._now(), stage.name, following.number, bounded(notes)))

    async def _room(self, at: Progress, stage: Stage, todo: Sequence[Target]) -> int:
        """Returns how many targets may be changed at once now; halts where none may."""
        total = len(stage.targets)
        if stage.max_unavailable >= total:
            return len(todo)
        plans = await self._planned(at, by_stack(stage.targets), again=False)
        down = [each async for each in self._unavailable(plans, stage.targets, set(at.done))]
        room = _fitting(todo, frozenset(down), stage.max_unavailable)
        if not room:
            named = ", ".join(map(str, down[:3])) + (f" and {len(down) - 3} more" if len(down) > 3 else "")
            raise _Halt(
                f"{len(down)} of {total} targets are not available, and {stage.max_unavailable} may be: {named}",
                "have them become ready, then resume",
                down[0],
            )
        return room

    async def _unavailable(
        self, plans: Mapping[str, Plan], targets: Sequence[Target], done: set[Target]
    ) -> AsyncIterator[Target]:
        """Yields those that are not ready, or say nothing; what was never made is not missing yet."""
        for stack, own in by_stack(targets).items():
            plan = plans[stack]
            seen: dict[Target, list[ResourceStatus]] = {each: [] for each in own}
            addresses = watched(plan, own)
            changes = plan.by_address()
            async with self._stacks.watch(plan, addresses) as trees:
                with anyio.move_on_after(_GLANCE_SECONDS):
                    async for tree in trees:
                        for found in seen.values():
                            found.clear()
                        for each in tree.resources:
                            target = target_of(stack, changes[each.address])
                            if target in seen:
                                seen[target].append(each)
                        if not tree.silent:
                            break
            for target, found in seen.items():
                is_new = target not in done and all(each.health.status is Status.NOT_FOUND for each in found)
                if not found or not (is_new or all(each.health.status is Status.CURRENT for each in found)):
                    yield target

    async def _group(self, at: Progress, following: Next, targets: Sequence[Target], *, is_end: bool) -> list[str]:
        """Applies to these targets, waits until they are ready, and returns what that leaves out."""
        own = by_stack(targets)
        plans = await self._planned(at, own, again=True)
        for plan in plans.values():
            _refuse(at, plan)
        last = last_batches(at.began.stages)
        ends = {
            stack
            for stack in own
            if is_end and last[stack] == (following.stage.name, following.number) and _is_whole(at, plans[stack])
        }
        limit = anyio.CapacityLimiter(_AT_ONCE)
        failed: list[_Halt] = []

        async def apply(stack: str) -> None:
            async with limit:
                if self._stop.is_set() or failed:
                    return
                steps = chosen(plans[stack], own[stack], is_last=stack in ends)
                try:
                    if part := part_of(plans[stack], steps):
                        await self._apply(following, part)
                except _Halt as halt:
                    failed.append(halt)
                except (WorkbenchError, RuntimeFailure) as error:
                    failed.append(_Halt(f"{stack}: {error.message}", error.hint))

        async with anyio.create_task_group() as tasks:
            for each in own:
                tasks.start_soon(apply, each)
        if failed:
            raise failed[0]
        if self._stop.is_set():
            raise _Stopped
        said = await self._ready(plans, own, following.stage.timeout_seconds, 0.0)
        for note in said:
            self._send.send_nowait(note)
        return [f"{note.stack}: {note.address.in_words}: {note.message}" for note in said]

    async def _apply(self, following: Next, part: Plan) -> None:
        finished: ApplyFinished | None = None
        problem: StepFailed | None = None
        async with self._stacks.apply(part) as applying:
            self._at_work.add(applying)
            try:
                if self._stop.is_set():
                    await applying.interrupt()
                async for event in applying:
                    self._send.send_nowait(StackEvent(part.stack, event))
                    match event:
                        case ApplyFinished():
                            finished = event
                        case StepFailed():
                            problem = problem or event
                        case _:
                            pass
            finally:
                self._at_work.discard(applying)
        outcome = finished.outcome if finished else Outcome.INTERRUPTED
        stage, number = following.stage.name, following.number
        await self._add(Applied(self._now(), stage, number, part.stack, part.revision, outcome.value))
        if problem is not None:
            target = target_of(part.stack, part.change(problem.address))
            raise _Halt(f"{problem.address}: {problem.message}", problem.hint, target)
        if outcome is not Outcome.SUCCEEDED and not self._stop.is_set():
            raise _Halt(f"{part.stack}: the apply ended {outcome.value}", f"wb release list {part.stack}")

    # Health

    async def _ready(
        self,
        plans: Mapping[str, Plan],
        targets: Mapping[str, Sequence[Target]],
        timeout_seconds: float,
        hold_seconds: float,
    ) -> list[ReadyBut]:
        """Returns once all of these targets were ready for so long without a break, and what that leaves out.

        Halts where they are not.
        """
        health = Health(
            {stack: self._watching(plans[stack], own) for stack, own in targets.items()},
            lambda trees: self._send.send_nowait(Picture(self._now(), dict(trees))),
        )

        async def heed() -> None:
            await self._stop.wait()
            health.wake()

        async with running(*health.work(), heed):
            found = await health.settle(timeout_seconds, hold_seconds, self._stop)
        if self._stop.is_set():
            raise _Stopped
        if found is not None:
            change = plans[found.stack].by_address().get(found.address) if found.address else None
            where = target_of(found.stack, change) if change is not None else None
            raise _Halt(found.why, f"wb watch {found.stack}", where)
        return [ReadyBut(self._now(), stack, each.address, each.health.message) for stack, each in health.qualified()]

    def _watching(self, plan: Plan, targets: Sequence[Target]) -> Watching:
        return lambda: self._stacks.watch(plan, watched(plan, targets))


def _fitting(todo: Sequence[Target], down: frozenset[Target], most: int) -> int:
    """Returns how many targets may be changed at once, where each of them may be down meanwhile besides others."""
    count = len(down)
    for number, each in enumerate(todo):
        count += each not in down
        if count > most:
            return number
    return len(todo)


def _check(at: Progress, plan: Plan) -> None:
    """Halts where a stack is not what the rollout began with any more."""
    part = at.began.parts[plan.stack]
    if plan.spec.digest(at.began.salt) != part.digest:
        others = " and ".join(givers(plan.spec))
        reads = f", or reads something else of {others}," if others else ""
        raise _Halt(
            f"{plan.stack} compiles to something else{reads} than when the rollout began",
            "go back to the commit it began with, or abort it and begin again",
        )
    scheduled = {each for stage in at.began.stages for each in stage.targets}
    with_components = {(each.stack, each.cluster) for each in scheduled}
    done = set(at.done)
    for each in changed_targets(plan):
        if each in done:
            raise _Halt(f"{each} was changed after its batch was ready", f"wb drift {plan.stack}", each)
        if each not in scheduled and (each.component or (each.stack, each.cluster) not in with_components):
            if each not in at.began.left_out:
                raise _Halt(f"{each} differs now, and did not when the rollout began", f"wb diff {plan.stack}", each)


def _refuse(at: Progress, plan: Plan) -> None:
    """Halts where a plan may not be carried out, or asks for more than was confirmed."""
    failed = [each for each in plan.guards if not each.passed]
    failed = [each for each in failed if not each.is_unknown] or failed
    if failed:
        raise _Halt(f"{plan.stack} is refused: {'; '.join(f'{each.name}: {each.message}' for each in failed)}")
    if plan.confirmation.level is Level.PHRASE:
        news = [each for each in plan.confirmation.reasons if each not in at.began.parts[plan.stack].reasons]
        if news:
            raise _Halt(
                f"{plan.stack}: nobody confirmed that {'; '.join(news)}", "abort it and begin again, or apply by hand"
            )


def _is_whole(at: Progress, plan: Plan) -> bool:
    """Whether the rollout is to leave nothing of the stack undone."""
    return not any(each.stack == plan.stack for each in at.began.left_out)
