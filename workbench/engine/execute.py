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
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
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
    NotThere,
    PlainPath,
    ReadRequest,
    Reference,
    Rejected,
    Resource,
    ResourceId,
    ResourcePlan,
    Runtime,
    RuntimeFailure,
    Status,
    TerraformId,
    Unknown,
    Workspace,
    format_path,
)
from workbench.engine import values
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
    StepProgress,
    StepSkipped,
    StepStarted,
)
from workbench.engine.graph import found_references
from workbench.engine.masking import Seal
from workbench.engine.plan import VALUE_PATIENCE_SECONDS, Plan
from workbench.engine.release import Journal
from workbench.engine.scrubbing import scrubbed
from workbench.engine.tasks import running
from workbench.engine.values import Filled, NoSuchValue, Value
from workbench.engine.workspace import Known, agreed, disagreement, wanted
from workbench.engine.workspace_steps import WorkspaceSteps, reads_workspace
from workbench.project import TERRAFORM_PLACE

AT_ONCE = 10
_WRITE_PATIENCE_SECONDS = 60.0
_GONE_PATIENCE_SECONDS = 120.0
_ESTABLISHED_PATIENCE_SECONDS = 30.0
_MOST_MOVES = 3
_VALUE_PAUSE_SECONDS = 0.5
_PROGRESS_SECONDS = 5.0


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
            if change.address.cluster != TERRAFORM_PLACE:
                tasks.start_soon(look, change)
    if failures:
        raise failures[0]
    if moved:
        raise StalePlan(sorted(moved, key=str), where=plan.stack)
    return found


async def check_workspace(
    plan: Plan, workspace: Workspace, runtimes: Mapping[str, Runtime]
) -> dict[ResourceId, LiveResource]:
    """Plans the workspace again, where the plan has to do with it, and returns what is there by id.

    Raises `StalePlan` if it comes out differently than was approved, `RuntimeFailure` if it cannot be planned.
    """
    if not reads_workspace(plan):
        return {}
    asked = await wanted(plan.spec, runtimes)
    only = None if plan.prune else frozenset(each.id for each in asked.resources)
    known = Known(plan.released, plan.accept_lost)
    fresh = await workspace.survey(asked.request(plan.spec, known, only))
    seal = Seal(plan.salt)
    approved = {each.address.id: each for each in plan.changes if each.address.cluster == TERRAFORM_PLACE}
    moved = [
        MovedObject(Address(TERRAFORM_PLACE, each.id), what)
        for each in fresh.resources
        if (what := _workspace_difference(approved.get(each.id), each, seal))
    ]
    moved += [
        MovedObject(Address(TERRAFORM_PLACE, each.id) if each.id else None, f"cannot be planned now: {each.message}")
        for each in fresh.findings
        if each.is_error
    ]
    planned = {each.id for each in fresh.resources}
    moved += [
        MovedObject(each.address, "is not planned any more")
        for each in approved.values()
        if each.address.id not in planned and each.action not in (Action.NONE, Action.DELETE, Action.FORGET)
    ]
    if moved:
        raise StalePlan(sorted(moved, key=str), where=plan.stack)
    return {each.id: each.prediction.live for each in fresh.resources if each.prediction.live is not None}


def _workspace_difference(approved: Change | None, fresh: ResourcePlan, seal: Seal) -> str:
    if what := disagreement(approved, fresh):
        return what
    if approved is None or approved.action is Action.NONE:
        return ""
    live = fresh.prediction.live
    return "was changed" if (seal.digest(live.body) if live else "") != approved.state else ""


class Applying:
    """An apply that runs: its events, `ApplyFinished` last."""

    def __init__(self, receive: ObjectReceiveStream[Event], execution: _Execution) -> None:
        self._receive, self._execution = receive, execution

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        try:
            return await self._receive.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise StopAsyncIteration from None

    async def interrupt(self, *, at_once: bool = False) -> None:
        """Starts no further step and lets what was begun finish; the events go on to their end.

        `at_once` makes Terraform drop what it has begun, which then is in no state: only after a confirmation.
        """
        await self._execution.interrupt(at_once=at_once)


@asynccontextmanager
async def execute(
    plan: Plan,
    runtimes: Mapping[str, Runtime],
    identities: Mapping[Address, Identity | None],
    journal: Journal,
    now: Callable[[], datetime],
    *,
    workspace: Workspace | None = None,
    known: Mapping[ResourceId, LiveResource] = MappingProxyType({}),
) -> AsyncIterator[Applying]:
    """Runs the plan; the stream ends after `ApplyFinished`. Leaving the context early interrupts the apply.

    `workspace` is needed where the plan has one; `known` is what `check_workspace` found in it.
    """
    # Unbounded, as a slow screen must not hold up writes; a plan has few events a step.
    send, receive = anyio.create_memory_object_stream[Event](float("inf"))
    execution = _Execution(plan, runtimes, identities, journal, now, send, workspace, known)
    async with receive, running(execution.run):
        yield Applying(receive, execution)


async def _read(change: Change, runtime: Runtime) -> LiveResource | None:
    """A custom resource whose definition is not there yet is not there either."""
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
        workspace: Workspace | None,
        known: Mapping[ResourceId, LiveResource],
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
        self._begun: dict[Address, datetime] = {}
        self._ids = values.ids(plan.spec)
        self._is_over = False
        self._workspace = WorkspaceSteps(plan, workspace, runtimes, known, self) if workspace is not None else None

    async def run(self) -> None:
        started = self._now()
        steps = self._plan.steps()
        in_clusters = [each for each in steps if self._workspace is None or each.address.cluster != TERRAFORM_PLACE]
        async with self._send:
            self._send.send_nowait(
                ApplyStarted(
                    started, self._plan.id, self._plan.stack, self._plan.revision, tuple(each.address for each in steps)
                )
            )
            try:
                async with running(self._heed):
                    async with anyio.create_task_group() as tasks:
                        for change in in_clusters:
                            tasks.start_soon(self._step, change)
                        if self._workspace is not None:
                            tasks.start_soon(self._workspace.run)
                    self._is_over = True
            finally:
                with anyio.CancelScope(shield=True):
                    await self._finish(started)

    # Stopping

    def is_stopping(self) -> bool:
        return self._is_stopping

    async def interrupt(self, *, at_once: bool = False) -> None:
        self._is_stopping = True
        if self._workspace is not None:
            await self._workspace.interrupt(at_once=at_once)

    async def _heed(self) -> None:
        """Turns being cancelled into an interrupt: what a workspace has begun is waited for, not abandoned."""
        try:
            await anyio.sleep_forever()
        finally:
            if not self._is_over:
                with anyio.CancelScope(shield=True):
                    await self.interrupt()

    # Telling, for the steps of clusters and those of the workspace alike

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
        seconds = self._since(self._begun[change.address])
        await self._tell(StepProgress(self._now(), change.address, change.action, seconds, message))

    async def finish(self, change: Change, uid: str) -> None:
        self._done.add(change.address)
        seconds = self._since(self._begun[change.address])
        await self._tell(StepFinished(self._now(), change.address, change.action, seconds, uid))

    async def fail(self, change: Change, error: RuntimeFailure) -> None:
        await self._fail(change, type(error).__name__, error.message, error.hint)

    async def skip(self, change: Change, because: Address | None) -> None:
        self._skipped.add(change.address)
        if self._is_stopping and because not in self._failed:
            because = None
        await self._tell(StepSkipped(self._now(), change.address, change.action, because))

    async def _step(self, change: Change) -> None:
        address = change.address
        for need in sorted(self._plan.needs[address]):
            await self.settled(need)
        stopped = next((each for each in sorted(self._plan.needs[address]) if each not in self._done), None)
        if stopped is not None or self.is_stopping():
            await self.skip(change, stopped)
        elif (resource := await self._ready(change)) is not None or address not in self._failed:
            async with self._limit:
                if self.is_stopping():
                    await self.skip(change, None)
                else:
                    # Once asked, a cluster may have done it; only its answer tells.
                    with anyio.CancelScope(shield=True):
                        await self._perform(change, resource)
        self.settle(address)

    async def _ready(self, change: Change) -> Resource | None:
        """Returns what is to be written, None for a deletion, or where it failed, which was told then."""
        if change.resource is None or change.resolved is None:
            return change.resource
        try:
            filled = await self.resolve(change)
            assert filled is not None, "it waits"
            return filled.resource
        except RuntimeFailure as error:
            await self.begin(change)
            await self.fail(change, error)
            return None

    async def resolve(self, change: Change, *, waits: bool = True) -> Filled | None:
        """See `Telling`."""
        resource = _resource(change)
        found: dict[Reference, Value] = {}
        for path, reference in found_references(resource.attributes, self._ids):
            if reference not in found:
                value = await self._value(change, path, reference, waits)
                if value is None:
                    return None
                found[reference] = value
        try:
            # a workspace reads what it gets for references to its own resources
            again = change.address.cluster == TERRAFORM_PLACE
            return values.fill(resource, self._ids, found.__getitem__, again=again)
        except NoSuchValue as error:
            raise _unresolved(change, (), str(error)) from None

    async def _value(self, change: Change, path: PlainPath, reference: Reference, waits: bool) -> Value | None:
        if not isinstance(reference.id, TerraformId):
            return await self._appearing(change, path, reference, waits)
        if change.address.cluster == TERRAFORM_PLACE:
            return Value(reference)  # the workspace knows it when it needs it
        live = self._workspace.known.get(reference.id) if self._workspace is not None else None
        try:
            if live is None:
                raise NoSuchValue(f"{reference.id} is not there")
            return values.of_live(live, reference, self._plan.spec.rules)
        except NoSuchValue as error:
            raise _unresolved(change, path, str(error)) from None

    async def _appearing(self, change: Change, path: PlainPath, reference: Reference, waits: bool) -> Value | None:
        """Waits for a field of a Kubernetes object: in the same cluster, or in all for a resource of the workspace.

        Returns None for one that is not there yet, if it does not wait.
        """
        own = change.address.cluster
        clusters = list(self._runtimes) if own == TERRAFORM_PLACE else [own]
        started, told = anyio.current_time(), -math.inf
        while True:
            live = {each: await self._runtimes[each].read(ReadRequest(reference.id)) for each in clusters}
            try:
                value = agreed(reference, live, self._plan.spec.rules)
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

    async def _perform(self, change: Change, resource: Resource | None) -> None:
        await self.begin(change)
        try:
            with anyio.fail_after(_patience_seconds(change)):
                live = await self._write(change, resource)
        except RuntimeFailure as error:
            await self.fail(change, error)
        except TimeoutError:
            await self._fail(change, "Unreachable", "no answer in time; it may or may not have been done", "")
        else:
            await self.finish(change, live.identity.uid if live else "")

    async def _fail(self, change: Change, kind: str, message: str, hint: str) -> None:
        self._failed.add(change.address)
        seconds = self._since(self._begun[change.address])
        await self._tell(StepFailed(self._now(), change.address, change.action, seconds, kind, message, hint))

    async def _write(self, change: Change, resource: Resource | None) -> LiveResource | None:
        """Does what the change says; tries again if only the version moved and the content is as planned."""
        runtime = self._runtimes[change.address.cluster]
        expected = self._identities.get(change.address)
        for attempt in range(_MOST_MOVES):
            try:
                return await self._write_once(change, resource, runtime, expected)
            except Moved:
                live = await runtime.read(ReadRequest(change.address.id))
                if attempt == _MOST_MOVES - 1 or _difference(change, live, self._seal):
                    raise
                expected = live.identity if live else None
        raise AssertionError("the last attempt returns or raises")

    async def _write_once(
        self, change: Change, resource: Resource | None, runtime: Runtime, expected: Identity | None
    ) -> LiveResource | None:
        match change.action:
            case Action.CREATE | Action.UPDATE:
                live = await runtime.apply(ApplyRequest(_known(resource), expected, self._plan.force))
                return await self._established(live, runtime)
            case Action.REPLACE:
                await runtime.delete(DeleteRequest(change.address.id, expected))
                await self._gone(change, runtime)
                return await runtime.apply(ApplyRequest(_known(resource), None, self._plan.force))
            case Action.DELETE:
                if expected is not None:
                    await runtime.delete(DeleteRequest(change.address.id, expected))
                    if self._plan.destroys:
                        await self._gone_at_last(change, runtime)
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

    async def _gone_at_last(self, change: Change, runtime: Runtime) -> None:
        """Where everything goes, what is said to be gone is gone: the next plan may make it again at once."""
        try:
            await self._gone(change, runtime)
        except TimeoutError:
            raise Rejected(
                f"it is still being deleted after {_GONE_PATIENCE_SECONDS:.0f} s",
                target=runtime.place,
                subject=str(change.address.id),
                hint="look at its finalizers: who set them has to take them off",
            ) from None

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
    return _known(change.resource)


def _known(resource: Resource | None) -> Resource:
    assert resource is not None, "only a deletion has no resource"
    return resource


def _unresolved(change: Change, path: PlainPath, why: str) -> NotThere:
    return NotThere(
        f"{format_path(path)}: {why}",
        target=change.address.cluster,
        subject=str(change.address.id),
        hint="apply again once it is there, or refer to another attribute",
    )


def _patience_seconds(change: Change) -> float:
    waits = change.action in (Action.REPLACE, Action.DELETE)
    return _WRITE_PATIENCE_SECONDS + (_GONE_PATIENCE_SECONDS if waits else 0.0)
