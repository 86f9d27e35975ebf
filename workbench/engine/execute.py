"""Plan → stream of events: what was approved is what is written, or nothing.

Before the first write every live object is read again and compared with what the plan saw; each write then carries the
uid and version just read. A step starts when all steps it needs are done; one that fails stops those that need it and
no others. Whatever happens is recorded before it is told.

Cancelling lets a write that is under way finish (its outcome could not be known otherwise), starts no other, and
records the rest as skipped: the next plan continues from there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import assert_never

import anyio
from anyio.abc import ObjectReceiveStream
from anyio.streams.memory import MemoryObjectSendStream

from runtimes.base import (
    Address,
    ApplyRequest,
    DeleteRequest,
    Identity,
    KubernetesId,
    LiveResource,
    Moved,
    ReadRequest,
    Resource,
    Runtime,
    RuntimeFailure,
    Status,
)
from workbench.engine.changes import Change
from workbench.engine.errors import MovedObject, ReleaseFailure, StalePlan
from workbench.engine.events import (
    Action,
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    RecordFailed,
    StepFailed,
    StepFinished,
    StepSkipped,
    StepStarted,
)
from workbench.engine.masking import Seal
from workbench.engine.plan import Plan
from workbench.engine.release import Journal
from workbench.engine.tasks import running

AT_ONCE = 10
_WRITE_PATIENCE_SECONDS = 60.0
_GONE_PATIENCE_SECONDS = 120.0
_ESTABLISHED_PATIENCE_SECONDS = 30.0
_MOST_MOVES = 3


async def check(plan: Plan, runtimes: Mapping[str, Runtime]) -> dict[Address, Identity | None]:
    """Reads again what the plan would change and returns the identities to write with.

    Raises `StalePlan` if anything is not what it was: gone, come, made anew, or with another content. A new version
    alone is not: an object's own status gives it one. Raises `RuntimeFailure` if a cluster cannot be asked.
    """
    seal = Seal(plan.salt)
    found: dict[Address, Identity | None] = {}
    moved: list[MovedObject] = []
    failures: list[RuntimeFailure] = []
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def look(change: Change) -> None:
        async with limit:
            try:
                live = await _read(change, runtimes[change.address.cluster])
            except RuntimeFailure as error:
                failures.append(error)
                return
        if what := _difference(change, live, seal):
            moved.append(MovedObject(change.address, what))
        else:
            found[change.address] = live.identity if live else None

    async with anyio.create_task_group() as tasks:
        for change in plan.steps():
            tasks.start_soon(look, change)
    if failures:
        raise failures[0]
    if moved:
        raise StalePlan(sorted(moved, key=str), where=plan.stack)
    return found


@asynccontextmanager
async def execute(
    plan: Plan,
    runtimes: Mapping[str, Runtime],
    identities: Mapping[Address, Identity | None],
    journal: Journal,
    now: Callable[[], datetime],
) -> AsyncIterator[ObjectReceiveStream[Event]]:
    """Runs the plan; the stream ends after `ApplyFinished`. Leaving the context early interrupts the apply."""
    # Unbounded, as a slow screen must not hold up writes; a plan has few events a step.
    send, receive = anyio.create_memory_object_stream[Event](float("inf"))
    execution = _Execution(plan, runtimes, identities, journal, now, send)
    async with receive, running(execution.run):
        yield receive


async def _read(change: Change, runtime: Runtime) -> LiveResource | None:
    """A custom resource whose definition is not there yet is not there either."""
    from runtimes.base import NotThere

    try:
        return await runtime.read(ReadRequest(change.address.id))
    except NotThere:
        if change.identity is None:
            return None
        raise


def _difference(change: Change, live: LiveResource | None, seal: Seal) -> str:
    """Says what is not as the plan saw it; empty if nothing."""
    if live is None:
        # Something to be deleted that is gone already is as it should be.
        return "" if change.identity is None or change.action is Action.DELETE else "is gone"
    if change.identity is None:
        return "exists now"
    if live.identity.uid != change.identity.uid:
        return "was deleted and made again"
    if live.identity.version != change.identity.version and seal.digest(live.body) != change.state:
        return "was changed"
    return ""


class _Execution:
    def __init__(
        self,
        plan: Plan,
        runtimes: Mapping[str, Runtime],
        identities: Mapping[Address, Identity | None],
        journal: Journal,
        now: Callable[[], datetime],
        send: MemoryObjectSendStream[Event],
    ) -> None:
        self._plan, self._runtimes, self._identities = plan, runtimes, dict(identities)
        self._journal, self._now, self._send = journal, now, send
        self._seal = Seal(plan.salt)
        self._settled = {each.address: anyio.Event() for each in plan.steps()}
        self._done: set[Address] = set()
        self._failed: set[Address] = set()
        self._skipped: set[Address] = set()
        self._is_stopping = False
        self._limit = anyio.CapacityLimiter(AT_ONCE)
        self._telling = anyio.Lock()

    async def run(self) -> None:
        started = self._now()
        steps = self._plan.steps()
        async with self._send:
            self._send.send_nowait(
                ApplyStarted(
                    started, self._plan.id, self._plan.stack, self._plan.revision, tuple(each.address for each in steps)
                )
            )
            try:
                async with anyio.create_task_group() as tasks:
                    for change in steps:
                        tasks.start_soon(self._step, change)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._finish(started)

    async def _step(self, change: Change) -> None:
        address = change.address
        for need in sorted(self._plan.needs[address]):
            await self._settled[need].wait()
        stopped = next((each for each in sorted(self._plan.needs[address]) if each not in self._done), None)
        async with self._limit:
            if stopped is not None or self._is_stopping:
                self._skipped.add(address)
                await self._tell(StepSkipped(self._now(), address, change.action, stopped))
            else:
                # Once asked, a cluster may have done it; only its answer tells.
                with anyio.CancelScope(shield=True):
                    await self._perform(change)
        self._settled[address].set()

    async def _perform(self, change: Change) -> None:
        address, action, started = change.address, change.action, self._now()
        await self._tell(StepStarted(started, address, action))
        try:
            with anyio.fail_after(_patience_seconds(change)):
                live = await self._write(change)
        except RuntimeFailure as error:
            await self._fail(change, started, type(error).__name__, error.message, error.hint)
        except TimeoutError:
            await self._fail(change, started, "Unreachable", "no answer in time; it may or may not have been done", "")
        else:
            self._done.add(address)
            uid = live.identity.uid if live else ""
            await self._tell(StepFinished(self._now(), address, action, self._since(started), uid))

    async def _fail(self, change: Change, started: datetime, kind: str, message: str, hint: str) -> None:
        self._failed.add(change.address)
        seconds = self._since(started)
        await self._tell(StepFailed(self._now(), change.address, change.action, seconds, kind, message, hint))

    async def _write(self, change: Change) -> LiveResource | None:
        """Does what the change says; tries again if only the version moved and the content is as planned."""
        runtime = self._runtimes[change.address.cluster]
        expected = self._identities.get(change.address)
        for attempt in range(_MOST_MOVES):
            try:
                return await self._write_once(change, runtime, expected)
            except Moved:
                live = await runtime.read(ReadRequest(change.address.id))
                if attempt == _MOST_MOVES - 1 or _difference(change, live, self._seal):
                    raise
                expected = live.identity if live else None
        raise AssertionError("the last attempt returns or raises")

    async def _write_once(self, change: Change, runtime: Runtime, expected: Identity | None) -> LiveResource | None:
        match change.action:
            case Action.CREATE | Action.UPDATE:
                live = await runtime.apply(ApplyRequest(_resource(change), expected, self._plan.force))
                return await self._established(live, runtime)
            case Action.REPLACE:
                await runtime.delete(DeleteRequest(change.address.id, expected))
                await self._gone(change, runtime)
                return await runtime.apply(ApplyRequest(_resource(change), None, self._plan.force))
            case Action.DELETE:
                if expected is not None:
                    await runtime.delete(DeleteRequest(change.address.id, expected))
                return None
            case Action.IMPORT | Action.MOVE | Action.FORGET | Action.NONE:
                raise AssertionError(f"{change.action.value} is no step of a cluster")
            case _:
                assert_never(change.action)

    async def _gone(self, change: Change, runtime: Runtime) -> None:
        """Waits until a deleted object is no more: what replaces it cannot be made before."""
        old, pause = self._identities.get(change.address), 0.05
        with anyio.fail_after(_GONE_PATIENCE_SECONDS):
            while live := await runtime.read(ReadRequest(change.address.id)):
                if old is not None and live.identity.uid != old.uid:
                    raise Moved("somebody made it again", target=runtime.place, subject=str(change.address.id))
                await anyio.sleep(pause)
                pause = min(pause * 2, 2.0)

    async def _established(self, live: LiveResource, runtime: Runtime) -> LiveResource:
        """Waits until a definition is served: its custom resources would be refused before."""
        if not (isinstance(live.id, KubernetesId) and live.id.kind == "CustomResourceDefinition"):
            return live
        with anyio.move_on_after(_ESTABLISHED_PATIENCE_SECONDS):
            while (seen := await runtime.read(ReadRequest(live.id))) and seen.health:
                if seen.health.status is Status.CURRENT:
                    break
                await anyio.sleep(0.1)
        return live

    async def _tell(self, event: Event) -> None:
        """Records, then tells, one event at a time. A record that cannot be written stops the apply."""
        with anyio.CancelScope(shield=True):
            async with self._telling:
                await self._tell_alone(event)

    async def _tell_alone(self, event: Event) -> None:
        try:
            await anyio.to_thread.run_sync(self._journal.record, event)
        except ReleaseFailure as error:
            self._is_stopping = True
            address = getattr(event, "address", None)
            if isinstance(address, Address):
                self._send.send_nowait(RecordFailed(self._now(), address, str(error)))
        self._send.send_nowait(event)

    async def _finish(self, started: datetime) -> None:
        untold = [each for each in self._plan.steps() if not self._is_settled(each.address)]
        for change in untold:
            self._skipped.add(change.address)
            await self._tell(StepSkipped(self._now(), change.address, change.action, None))
        if self._is_stopping or untold:
            outcome = Outcome.INTERRUPTED
        elif not self._failed:
            outcome = Outcome.SUCCEEDED
        else:
            outcome = Outcome.PARTIAL if self._done else Outcome.FAILED
        await self._tell(
            ApplyFinished(
                self._now(),
                outcome,
                self._plan.revision,
                self._since(started),
                len(self._done),
                len(self._failed),
                len(self._skipped),
            )
        )

    def _is_settled(self, address: Address) -> bool:
        return address in self._done or address in self._failed or address in self._skipped

    def _since(self, started: datetime) -> float:
        return (self._now() - started).total_seconds()


def _resource(change: Change) -> Resource:
    assert change.resource is not None, "only a deletion has no resource"
    return change.resource


def _patience_seconds(change: Change) -> float:
    return _WRITE_PATIENCE_SECONDS + (_GONE_PATIENCE_SECONDS if change.action is Action.REPLACE else 0.0)
