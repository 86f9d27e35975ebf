"""A recovery → stream of events, within its limits.

Every cluster has a lane of its own, so that a slow one holds up nobody else: at most `batch` pods of it are in flight,
from the write until the replacement is ready, and at most `per_owner` of one workload. A write is sent once. One whose
answer was lost is looked after: if the pod is gone it counts as done, else as failed, and it is not sent again.

A cluster that stops answering is lost: nothing more is started there. It does not count towards `stop_after`, as it
says nothing about the operation; replacements that do not become ready, and writes that are refused, do. A budget that
does not allow an eviction is waited for by looking at it, then the eviction is sent once; refused, it is blocked, which
counts as no failure.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import assert_never

import anyio
from anyio.abc import ObjectReceiveStream
from anyio.streams.memory import MemoryObjectSendStream

from kcl.records import dataclass, replace
from runtimes.base import (
    Blocked,
    Budget,
    LiveNode,
    LiveOperations,
    NotThere,
    PodTarget,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
    WorkloadRef,
)
from workbench.engine.changes import Problem
from workbench.engine.errors import EngineError
from workbench.engine.recovery.board import Board
from workbench.engine.recovery.events import (
    ClusterLost,
    RecoveryEvent,
    RecoveryFinished,
    RecoveryStarted,
    RecoveryStepBlocked,
    RecoveryStepDone,
    RecoveryStepFailed,
    RecoveryStepSkipped,
    RecoveryStepStarted,
    RecoveryStepUnverified,
    RecoveryStepVerified,
    RecoveryStopping,
)
from workbench.engine.recovery.history import owner_of
from workbench.engine.recovery.ledger import RecoveryLog
from workbench.engine.recovery.patience import clock, patience
from workbench.engine.recovery.preview import silence
from workbench.engine.recovery.reach import Reach
from workbench.engine.recovery.report import make_report
from workbench.engine.recovery.values import Recovery, Step, StepResult, StepState, Verb
from workbench.engine.tasks import EventStream, running
from workbench.project import WorkbenchError

_PAUSE_SECONDS = 0.5
_SETTLE_PAUSE_SECONDS = 0.5


class RecoveryRun(EventStream[RecoveryEvent]):
    """A run: its events, `RecoveryFinished` last. `stop` may be called from any task of the same event loop."""

    def __init__(self, receive: ObjectReceiveStream[RecoveryEvent], stop: Callable[[str], None]) -> None:
        super().__init__(receive)
        self._stop = stop

    def stop(self, because: str = "it was asked to stop") -> None:
        """Starts nothing more; what is under way is seen to its end."""
        self._stop(because)


@asynccontextmanager
async def execute(
    recovery: Recovery,
    reach: Reach,
    log: RecoveryLog,
    now: Callable[[], datetime],
    *,
    dry_run: bool,
    problems: Sequence[Problem] = (),
) -> AsyncIterator[RecoveryRun]:
    """Runs it; the stream ends after `RecoveryFinished`. Left early, writes under way end and no other starts.

    `problems` are those of the caller, for the report.
    """
    send, receive = anyio.create_memory_object_stream[RecoveryEvent](float("inf"))
    execution = _Execution(recovery, reach, log, now, send, problems, dry_run=dry_run)
    async with receive, running(execution.run):
        yield RecoveryRun(receive, execution.stop)


@dataclass(eq=False)
class _Lane:
    """One cluster of a run. `lost` says why nothing more is started there."""

    cluster: str
    operations: LiveOperations
    batch: anyio.CapacityLimiter
    boards: dict[str, Board]
    owners: dict[WorkloadRef, anyio.CapacityLimiter]
    turns: dict[tuple[str, str], anyio.Lock]
    """One a budget: who looked at it evicts before the next one looks, or both would take its last disruption."""
    lost: str = ""


class _Execution:
    def __init__(
        self,
        recovery: Recovery,
        reach: Reach,
        log: RecoveryLog,
        now: Callable[[], datetime],
        send: MemoryObjectSendStream[RecoveryEvent],
        problems: Sequence[Problem],
        *,
        dry_run: bool,
    ) -> None:
        self._recovery, self._reach, self._log, self._now, self._send = recovery, reach, log, now, send
        self._limits, self._is_dry_run = recovery.limits, dry_run
        self._results: dict[str, StepResult] = {each.id: StepResult(each, StepState.WAITING) for each in recovery.steps}
        self._pods = {each.step: each.pod for each in recovery.targets if each.step and each.pod}
        self._problems: list[Problem] = [*recovery.problems, *problems]
        self._failures = 0
        self._stopping = ""
        self._started = now()
        self._give_up_at = clock() + self._limits.deadline_seconds

    def stop(self, because: str) -> None:
        if not self._stopping:
            because = self._recovery.document.withheld.text(because)
            self._stopping = because
            self._tell(RecoveryStopping(self._now(), because))

    async def run(self) -> None:
        recovery = self._recovery
        self._started = self._now()
        async with self._send:
            self._tell(RecoveryStarted(self._started, recovery.id, recovery.name, self._is_dry_run, recovery.steps))
            try:
                if not self._is_dry_run:
                    lanes: dict[str, list[Step]] = {}
                    for step in recovery.steps:
                        lanes.setdefault(step.cluster, []).append(step)
                    async with anyio.create_task_group() as tasks:
                        for cluster, steps in lanes.items():
                            tasks.start_soon(self._lane, cluster, steps)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._finish()

    async def _finish(self) -> None:
        if not self._is_dry_run:
            for result in list(self._results.values()):
                if result.state is StepState.WAITING:
                    self._skip(result.step, self._stopping or "the run was interrupted")
                elif result.state in (StepState.STARTED, StepState.DONE):
                    await self._unverified(result, "the run was interrupted before its replacement was ready")
        report = make_report(
            self._recovery,
            tuple(self._results[each.id] for each in self._recovery.steps),
            tuple(self._problems),
            started=self._started,
            ended=self._now(),
            is_dry_run=self._is_dry_run,
            is_stopped=bool(self._stopping),
        )
        try:
            await self._log.finished(report)
        finally:
            self._tell(RecoveryFinished(report.ended, report))

    # --- one cluster

    async def _lane(self, cluster: str, steps: list[Step]) -> None:
        namespaces = sorted({each.namespace for each in steps if each.verb in (Verb.DELETE, Verb.EVICT)})
        async with AsyncExitStack() as feeds:
            try:
                with patience(self._limits):
                    operations = await self._reach(cluster)
                    # known before the first write, so that what is there already is nobody's replacement
                    boards = {
                        each: Board(await feeds.enter_async_context(operations.follow_pods(each)))
                        for each in namespaces
                    }
            except (RuntimeFailure, WorkbenchError) as error:
                problem = Problem.of(cluster, error)
            except TimeoutError:
                problem = silence(cluster, self._limits)
            else:
                away = sum(
                    number for owner, number in self._recovery.in_flight.items() if owner.startswith(f"{cluster}/")
                )
                batch = anyio.CapacityLimiter(max(1, self._limits.batch - away))
                lane = _Lane(cluster, operations, batch, boards, {}, {})
                async with anyio.create_task_group() as tasks:
                    for step in steps:
                        tasks.start_soon(self._step, lane, step)
                return
        self._problem(problem)
        for step in steps:
            self._skip(step, f"its cluster is lost: {problem.message}")

    async def _step(self, lane: _Lane, step: Step) -> None:
        owner = step.workload or WorkloadRef(step.kind, step.namespace, step.name, step.uid)
        # what an earlier run took away, and nothing is ready in its place of, is under way as well
        free = max(1, self._limits.per_owner - self._recovery.in_flight.get(owner_of(step), 0))
        limiter = lane.owners.setdefault(owner, anyio.CapacityLimiter(free))
        async with limiter, lane.batch:
            if because := self._why_not(lane):
                self._skip(step, because)
                return
            await self._perform(lane, step)

    def _why_not(self, lane: _Lane) -> str:
        if self._stopping:
            return self._stopping
        if lane.lost:
            return lane.lost
        if clock() > self._give_up_at:
            return f"the time was up ({self._limits.deadline_seconds:g} s)"
        return ""

    async def _perform(self, lane: _Lane, step: Step) -> None:
        begun = time.monotonic()
        budget = self._covering(step)
        if budget is None:
            is_done = await self._asked(lane, step, begun, None)
        else:
            async with lane.turns.setdefault((budget.namespace, budget.name), anyio.Lock()):
                is_done = await self._asked(lane, step, begun, budget)
        if is_done:
            await self._verify(lane, step, time.monotonic())

    def _covering(self, step: Step) -> Budget | None:
        """The budget that an eviction has to respect. Targets with several are held."""
        if step.verb is not Verb.EVICT:
            return None
        return next(iter(self._pods[step.id].budgets), None)

    async def _asked(self, lane: _Lane, step: Step, begun: float, budget: Budget | None) -> bool:
        """Waits until the write may be sent, and sends it; returns whether it was done."""
        try:
            if budget and (blocking := await self._allowed(lane, step, budget, begun + self._limits.timeout_seconds)):
                await self._blocked(step, begun, blocking)
                return False
        except (RuntimeFailure, TimeoutError) as error:
            self._lose(lane, error)
            self._skip(step, lane.lost)
            return False
        if because := self._why_not(lane):  # while it was waited
            self._skip(step, because)
            return False
        result = StepResult(step, StepState.STARTED, started=self._now())
        try:
            is_recorded = await self._record(result)
        except (RuntimeFailure, TimeoutError) as error:
            self._lose(lane, error)
            self._skip(step, lane.lost)
            return False
        if not is_recorded:
            self._skip(step, self._stopping)
            return False
        self._tell(RecoveryStepStarted(self._now(), step))
        # Once asked, a cluster may have done it; only its answer tells.
        is_done = False
        with anyio.CancelScope(shield=True):
            is_done = await self._written(lane, step, begun, result)
        return is_done  # noqa: RET504 - the scope may swallow, says its type

    async def _written(self, lane: _Lane, step: Step, begun: float, result: StepResult) -> bool:
        """Sends the write; returns whether it was done. Anything else is recorded and told here."""
        try:
            with anyio.fail_after(self._limits.answer_seconds):
                await self._write(lane, step)
        except Blocked as error:
            await self._blocked(step, begun, error.message)
            return False
        except TimeoutError:
            lost: RuntimeFailure = Unreachable(
                f"no answer within {self._limits.answer_seconds:g} s", target=lane.cluster, is_uncertain=True
            )
        except NotThere as error:
            await self._failed(step, begun, error, is_uncertain=False)
            return False
        except RuntimeFailure as error:
            lost = error
        else:
            await self._done(result, begun)
            return True
        # a class of its own stands for an answer; the plain one for a server that broke on the way
        is_uncertain = lost.is_uncertain if isinstance(lost, Unreachable) else type(lost) is RuntimeFailure
        if is_uncertain and step.verb in (Verb.DELETE, Verb.EVICT):
            try:
                if await self._is_gone(lane, step):
                    await self._done(result, begun)
                    return True
            except (RuntimeFailure, TimeoutError):
                pass  # it stays uncertain
        await self._failed(step, begun, lost, is_uncertain=is_uncertain)
        if isinstance(lost, Unreachable | Unauthenticated):
            self._lose(lane, lost)
        return False

    async def _is_gone(self, lane: _Lane, step: Step) -> bool:
        """Whether the pod is no more, or on its way: for a write whose answer was lost."""
        with patience(self._limits):
            pods = await lane.operations.pods(step.namespace)
        return all(each.uid != step.uid or each.is_terminating for each in pods)

    async def _write(self, lane: _Lane, step: Step) -> None:
        operations = lane.operations
        match step.verb:
            case Verb.DELETE:
                await operations.delete_pod(PodTarget(step.namespace, step.name, step.uid))
            case Verb.EVICT:
                await operations.evict(PodTarget(step.namespace, step.name, step.uid))
            case Verb.ROLLOUT_RESTART:
                await operations.restart_rollout(_workload(step), self._now())
            case Verb.SCALE:
                assert step.replicas is not None, "a step that scales says to how many"
                await operations.scale(_workload(step), step.replicas)
            case Verb.CORDON:
                await operations.cordon(LiveNode(step.name, step.uid, is_ready=True, is_cordoned=False))
            case Verb.UNCORDON:
                await operations.uncordon(LiveNode(step.name, step.uid, is_ready=True, is_cordoned=True))
            case _:
                assert_never(step.verb)

    async def _allowed(self, lane: _Lane, step: Step, covering: Budget, give_up_at: float) -> str:
        """Waits until a budget allows a disruption; returns what blocks it when the time is up."""
        while True:
            with patience(self._limits):
                budget = (await lane.operations.budgets(covering.namespace)).get(covering.name)
            if budget is None or budget.allowed > 0 or (budget.allows_unhealthy and self._is_unready(step)):
                return ""
            if time.monotonic() >= give_up_at or clock() >= self._give_up_at:
                return f"PodDisruptionBudget {covering.name} allowed no disruption in time"
            if self._why_not(lane):
                return ""
            await anyio.sleep(_PAUSE_SECONDS)

    def _is_unready(self, step: Step) -> bool:
        return not self._pods[step.id].is_ready

    async def _verify(self, lane: _Lane, step: Step, done_at: float) -> None:
        result = self._results[step.id]
        match step.verb:
            case Verb.DELETE | Verb.EVICT:
                found = await lane.boards[step.namespace].replacement(step, self._limits.timeout_seconds)
                if found.pod is None:
                    await self._unverified(result, found.message)
                else:
                    await self._verified(result, time.monotonic() - done_at, found.pod.name, found.pod.uid)
            case Verb.ROLLOUT_RESTART | Verb.SCALE:
                if message := await self._settled(lane, step):
                    await self._unverified(result, message)
                else:
                    await self._verified(result, time.monotonic() - done_at, "")
            case Verb.CORDON | Verb.UNCORDON:
                await self._verified(result, time.monotonic() - done_at, "")
            case _:
                assert_never(step.verb)

    async def _settled(self, lane: _Lane, step: Step) -> str:
        """Waits until the workload has done what was asked; returns what it looks like when the time is up."""
        give_up_at = time.monotonic() + self._limits.timeout_seconds
        said = ""
        while time.monotonic() < give_up_at:
            try:
                with anyio.fail_after(self._limits.answer_seconds):
                    live = await lane.operations.workload(_workload(step))
                if live is None:
                    return "it is gone"
                if live.is_settled:
                    return ""
                said = f"{live.ready} of {live.desired} replicas are ready"
            except RuntimeFailure as error:
                said = f"its cluster cannot be queried: {error.message}"
            except TimeoutError:
                said = "its cluster does not answer"
            await anyio.sleep(_SETTLE_PAUSE_SECONDS)
        return f"{said} (after {self._limits.timeout_seconds:g} s)"

    # --- states, each recorded before it is told

    async def _done(self, result: StepResult, begun: float) -> None:
        await self._record(replace(result, state=StepState.DONE))
        self._tell(RecoveryStepDone(self._now(), result.step, time.monotonic() - begun))

    async def _verified(self, result: StepResult, seconds: float, new_pod: str, new_uid: str = "") -> None:
        await self._record(
            replace(
                result,
                state=StepState.RECOVERED,
                ended=self._now(),
                new_pod=new_pod,
                new_uid=new_uid,
                ready_seconds=round(seconds, 3),
            )
        )
        self._tell(RecoveryStepVerified(self._now(), result.step, seconds, new_pod))

    async def _unverified(self, result: StepResult, message: str) -> None:
        with anyio.CancelScope(shield=True):
            ended = self._now()
            await self._record(replace(result, state=StepState.UNVERIFIED, ended=ended, error=message))
        seconds = (ended - (result.started or ended)).total_seconds()
        self._tell(RecoveryStepUnverified(ended, result.step, seconds, message))
        self._count_failure()

    async def _blocked(self, step: Step, begun: float, message: str) -> None:
        ended = self._now()
        await self._record(
            StepResult(step, StepState.BLOCKED, started=self._results[step.id].started, ended=ended, error=message)
        )
        self._tell(RecoveryStepBlocked(ended, step, time.monotonic() - begun, message))

    async def _failed(self, step: Step, begun: float, error: RuntimeFailure, *, is_uncertain: bool) -> None:
        started, ended = self._results[step.id].started, self._now()
        await self._record(
            StepResult(
                step,
                StepState.FAILED,
                started=started,
                ended=ended,
                error=error.message,
                hint=error.hint,
                is_uncertain=is_uncertain,
            )
        )
        seconds, kind = time.monotonic() - begun, type(error).__name__
        self._tell(RecoveryStepFailed(ended, step, seconds, kind, error.message, error.hint, is_uncertain))
        if not isinstance(error, Unreachable | Unauthenticated):
            self._count_failure()

    def _skip(self, step: Step, because: str) -> None:
        self._results[step.id] = StepResult(step, StepState.NOT_TRIED, error=because)
        self._tell(RecoveryStepSkipped(self._now(), step, because))

    def _count_failure(self) -> None:
        self._failures += 1
        if self._failures >= self._limits.stop_after:
            some = "1 failure" if self._failures == 1 else f"{self._failures} failures"
            self.stop(f"stopped after {some}")

    def _lose(self, lane: _Lane, error: RuntimeFailure | TimeoutError) -> None:
        if lane.lost:
            return
        match error:
            case RuntimeFailure():
                problem = Problem.of(lane.cluster, error)
            case _:
                problem = silence(lane.cluster, self._limits)
        lane.lost = f"its cluster is lost: {problem.message}"
        self._problem(problem)

    def _problem(self, problem: Problem) -> None:
        self._problems.append(problem)
        self._tell(ClusterLost(self._now(), problem))

    async def _record(self, result: StepResult) -> bool:
        """Records a state; returns False, and stops the run, if that cannot be done.

        Raises `RuntimeFailure` or `TimeoutError` where a step that is about to begin cannot be claimed in its cluster.
        """
        self._results[result.step.id] = result
        try:
            with anyio.CancelScope(shield=True):
                await self._log.record(result)
        except EngineError as error:
            self.stop(f"its record cannot be written: {error}")
            return False
        return True

    def _tell(self, event: RecoveryEvent) -> None:
        try:
            self._send.send_nowait(event)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # nobody listens any more; the record has it


def _workload(step: Step) -> WorkloadRef:
    return WorkloadRef(step.kind, step.namespace, step.name, step.uid)


__all__ = ["RecoveryRun", "execute"]
