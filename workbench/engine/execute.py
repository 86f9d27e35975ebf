"""Plan → stream of events: what was approved is what is written, or nothing.

Before the first write every live object is read again and compared with what the plan saw; each write then carries the
uid and version just read. A step starts when all steps it needs are done; one that fails stops those that need it and
no others. Whatever happens is recorded before it is told.

Terraform steps run in a few runs of their workspace (workspace_steps.py), in the same order and the same stream. What a
resource refers to is read right before it is written: by then what it needs is done. A value that appears later, such
as the address of a load balancer, is waited for, with a bound.

Cancelling lets a write that is under way finish (its outcome could not be known otherwise), starts no other, and
records the rest as skipped: the next plan continues from there.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import anyio
from anyio.abc import ObjectReceiveStream
from anyio.streams.memory import MemoryObjectSendStream

from kcl.records import replace
from runtimes.base import (
    Address,
    NotThere,
    PlainPath,
    Reference,
    RuntimeFailure,
    Unknown,
    format_path,
)
from workbench.engine import values
from workbench.engine.changes import Change
from workbench.engine.errors import MovedObject, ReleaseFailure, StalePlan
from workbench.engine.events import (
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    RecordFailed,
    StepFailed,
    StepFinished,
    StepProgress,
    StepSkipped,
    StepStarted,
)
from workbench.engine.graph import found_references
from workbench.engine.places.place import Checked, Place, known
from workbench.engine.plan import VALUE_PATIENCE_SECONDS, Plan
from workbench.engine.release import Journal
from workbench.engine.scrubbing import scrubbed
from workbench.engine.tasks import EventStream, running
from workbench.engine.values import Filled, NoSuchValue, Value
from workbench.engine.workspace import agreed

_VALUE_PAUSE_SECONDS = 0.5
_PROGRESS_SECONDS = 5.0


async def check(plan: Plan, places: Iterable[Place]) -> tuple[Checked, ...]:
    """Looks again, in every place, at what the plan would change.

    Raises `StalePlan` if anything is not what it was: gone, come, recreated, or with another content, and
    `RuntimeFailure` if a place cannot be asked.
    """
    found: dict[str, Checked] = {}
    moved: list[MovedObject] = []
    failures: list[RuntimeFailure] = []

    async def look(place: Place) -> None:
        try:
            found[place.name] = await place.check(plan)
        except StalePlan as stale:
            moved.extend(stale.moved)
        except RuntimeFailure as failure:
            failures.append(failure)

    places = tuple(places)
    async with anyio.create_task_group() as tasks:
        for each in places:
            tasks.start_soon(look, each)
    if failures:
        raise failures[0]
    if moved:
        raise StalePlan(sorted(moved, key=str), where=plan.stack)
    return tuple(found[each.name] for each in places)


class Applying(EventStream[Event]):
    """An apply that runs: its events, `ApplyFinished` last."""

    def __init__(self, receive: ObjectReceiveStream[Event], execution: _Execution) -> None:
        super().__init__(receive)
        self._execution = execution

    async def interrupt(self, *, at_once: bool = False) -> None:
        """Starts no further step; the events go on to their end.

        What a cluster was sent has some seconds to be answered, what Terraform has begun ends. `at_once` waits for
        neither: what Terraform drops is then in no state, so only after a confirmation.
        """
        await self._execution.interrupt(at_once=at_once)


@asynccontextmanager
async def execute(
    plan: Plan, checked: Iterable[Checked], journal: Journal, now: Callable[[], datetime]
) -> AsyncIterator[Applying]:
    """Runs the plan in the places that were checked for it; the stream ends after `ApplyFinished`.

    Leaving the context early interrupts the apply.
    """
    # Unbounded, as a slow screen must not hold up writes; a plan has few events a step.
    send, receive = anyio.create_memory_object_stream[Event](float("inf"))
    execution = _Execution(plan, checked, journal, now, send)
    async with receive, running(execution.run):
        yield Applying(receive, execution)


class _Execution:
    def __init__(
        self,
        plan: Plan,
        checked: Iterable[Checked],
        journal: Journal,
        now: Callable[[], datetime],
        send: MemoryObjectSendStream[Event],
    ) -> None:
        self._plan, self._journal, self._now, self._send = plan, journal, now, send
        self._settled = {each.address: anyio.Event() for each in plan.steps()}
        self._done: set[Address] = set()
        self._failed: set[Address] = set()
        self._skipped: set[Address] = set()
        self._is_stopping = False
        self._telling = anyio.Lock()
        self._begun: dict[Address, datetime] = {}
        self._ids = values.ids(plan.spec)
        self._is_over = False
        self._checked = {each.place.name: each for each in checked}
        self._steps = {name: each.steps(self) for name, each in self._checked.items()}

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
                async with running(self._heed):
                    async with anyio.create_task_group() as tasks:
                        for each in self._steps.values():
                            tasks.start_soon(each.run)
                    self._is_over = True
            finally:
                with anyio.CancelScope(shield=True):
                    await self._finish(started)

    # Stopping

    def is_stopping(self) -> bool:
        return self._is_stopping

    async def interrupt(self, *, at_once: bool = False) -> None:
        self._is_stopping = True
        for each in self._steps.values():
            await each.interrupt(at_once=at_once)

    async def _heed(self) -> None:
        """Turns being cancelled into an interrupt: what a workspace has begun is waited for, not abandoned."""
        try:
            await anyio.sleep_forever()
        finally:
            if not self._is_over:
                with anyio.CancelScope(shield=True):
                    await self.interrupt()

    # What the steps of all places tell and ask: `Apply`

    async def settled(self, address: Address) -> None:
        await self._settled[address].wait()

    def settle(self, address: Address) -> None:
        self._settled[address].set()

    def is_done(self, address: Address) -> bool:
        return address in self._done

    async def begin(self, change: Change) -> None:
        if change.address not in self._begun:
            started = self._begun[change.address] = self._now()
            await self._tell(StepStarted(started, change.address, change.action))

    async def progress(self, change: Change, message: str) -> None:
        at = self._now()
        await self._tell(StepProgress(at, change.address, change.action, self._took(change, at), message))

    async def finish(self, change: Change, uid: str) -> None:
        self._done.add(change.address)
        at = self._now()
        await self._tell(StepFinished(at, change.address, change.action, self._took(change, at), uid))

    async def fail(self, change: Change, error: RuntimeFailure) -> None:
        await self._fail(change, type(error).__name__, error.message, error.hint)

    async def skip(self, change: Change, because: Address | None) -> None:
        self._skipped.add(change.address)
        if self._is_stopping and because not in self._failed:
            because = None
        await self._tell(StepSkipped(self._now(), change.address, change.action, because))

    async def resolve(self, change: Change, *, waits: bool = True) -> Filled | None:
        """See `Apply`."""
        resource, place = known(change.resource), change.address.cluster
        found: dict[Reference, Value] = {}
        for path, reference in found_references(resource, self._ids):
            if reference not in found:
                value = await self._value(change, path, reference, waits)
                if value is None:
                    return None
                found[reference] = value
        try:
            again = self._steps[place].fills_own_references
            return values.fill(resource, self._ids, found.__getitem__, again=again)
        except NoSuchValue as error:
            raise _unresolved(change, (), str(error)) from None

    async def _value(self, change: Change, path: PlainPath, reference: Reference, waits: bool) -> Value | None:
        """Returns what the place of the change has, else what all places have that hold such a resource."""
        own = change.address.cluster
        holders = [name for name, each in self._checked.items() if each.place.kind.holds(reference.id)]
        if own not in holders:
            return await self._appearing(change, path, reference, holders, waits)
        if self._steps[own].fills_own_references:
            return Value(reference)  # it knows the value when it needs it
        return await self._appearing(change, path, reference, [own], waits)

    async def _appearing(
        self, change: Change, path: PlainPath, reference: Reference, holders: Sequence[str], waits: bool
    ) -> Value | None:
        """Waits for a value that all of some places agree on. Returns None where it is not there yet, if it does not
        wait."""
        started, told = anyio.current_time(), -math.inf
        while True:
            try:
                if not holders:
                    raise NoSuchValue(f"{reference.id} is not there")
                value = agreed(reference, {each: await self._steps[each].value(reference) for each in holders})
            except NoSuchValue as error:
                raise _unresolved(change, path, str(error)) from None
            if not isinstance(value.value, Unknown):
                return value
            if not waits:
                return None
            now = anyio.current_time()
            if self._is_stopping or now - started > VALUE_PATIENCE_SECONDS:
                why = "the apply was stopped" if self._is_stopping else f"waited {VALUE_PATIENCE_SECONDS:.0f} s"
                raise _unresolved(change, path, f"{reference} has no value yet ({why})")
            await self.begin(change)
            if now - told > _PROGRESS_SECONDS:
                told = now
                await self.progress(change, f"waits for {reference}")
            await anyio.sleep(_VALUE_PAUSE_SECONDS)

    async def _fail(self, change: Change, kind: str, message: str, hint: str) -> None:
        self._failed.add(change.address)
        self._done.discard(change.address)  # a workspace may find only at its end that what was done is not recorded
        at = self._now()
        await self._tell(StepFailed(at, change.address, change.action, self._took(change, at), kind, message, hint))

    async def _tell(self, event: Event) -> None:
        """Records, then tells, one event at a time. A record that cannot be written stops the apply."""
        with anyio.CancelScope(shield=True):
            async with self._telling:
                await self._tell_alone(event)

    async def _tell_alone(self, event: Event) -> None:
        event = scrubbed(event, self._plan.spec.secrets, self._plan.spec.rules)  # an answer may quote what it was sent
        try:
            await anyio.to_thread.run_sync(self._journal.record, event)
        except ReleaseFailure as error:
            self._is_stopping = True
            address = getattr(event, "address", None)
            self._send.send_nowait(RecordFailed(self._now(), address, str(error)))
            if isinstance(event, ApplyFinished) and event.outcome is Outcome.SUCCEEDED:
                event = replace(event, outcome=Outcome.UNRECORDED)  # success is what the record says, too
        self._send.send_nowait(event)

    async def _finish(self, started: datetime) -> None:
        untold = [each for each in self._plan.steps() if not self._is_settled(each.address)]
        for change in untold:
            self._skipped.add(change.address)
            await self._tell(StepSkipped(self._now(), change.address, change.action, None))
        if self._is_stopping or untold:
            outcome = Outcome.INTERRUPTED
        elif not self._failed and not self._skipped:
            outcome = Outcome.SUCCEEDED
        elif not self._failed:
            outcome = Outcome.INTERRUPTED
        else:
            outcome = Outcome.PARTIAL if self._done else Outcome.FAILED
        at = self._now()
        await self._tell(
            ApplyFinished(
                at,
                outcome,
                self._plan.revision,
                (at - started).total_seconds(),
                len(self._done),
                len(self._failed),
                len(self._skipped),
            )
        )

    def _is_settled(self, address: Address) -> bool:
        return address in self._done or address in self._failed or address in self._skipped

    def _took(self, change: Change, at: datetime) -> float:
        return (at - self._begun[change.address]).total_seconds()


def _unresolved(change: Change, path: PlainPath, why: str) -> NotThere:
    return NotThere(
        f"{format_path(path)}: {why}",
        target=change.address.cluster,
        subject=str(change.address.id),
        hint="apply again once it is there, or refer to another attribute",
    )
