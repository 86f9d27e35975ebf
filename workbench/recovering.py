"""One run of a recovery: alone at work on its incident; recorded here, in the clusters and in the audit trail."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

import anyio
import anyio.to_thread

from runtimes.base import ClusterIdentity
from workbench.audit import Actor, AuditTrail
from workbench.audit.runs import AuditedRecovery
from workbench.engine.recovery.approval import check_unchanged
from workbench.engine.recovery.execute import RecoveryRun, execute
from workbench.engine.recovery.intake import quiet
from workbench.engine.recovery.ledger import RunBegan
from workbench.engine.recovery.places import follow
from workbench.engine.recovery.reach import Reach
from workbench.engine.recovery.shared import SharedLog, announced
from workbench.engine.recovery.values import Hold, Recovery, RecoveryReport, StepResult, StepState
from workbench.release.recoveries import RecoveryFile, RecoveryStore


@asynccontextmanager
async def recovering(
    recovery: Recovery,
    reach: Reach,
    store: RecoveryStore,
    trail: AuditTrail,
    actor: Actor,
    now: Callable[[], datetime],
    *,
    confirm: str,
    dry_run: bool,
    identities: Mapping[str, ClusterIdentity],
) -> AsyncIterator[RecoveryRun]:
    """Runs an approved recovery. Raises `Locked`, `StalePlan` or `ReleaseFailure` before anything is written."""
    withheld = recovery.document.withheld
    reach = quiet(reach, withheld)
    async with AsyncExitStack() as stack:
        file: RecoveryFile | None = None
        shared: SharedLog | None = None
        if not dry_run:
            file = stack.enter_context(store.log(recovery.id))
            ledger = store.ledger(recovery.id)
            check_unchanged(recovery, follow(ledger, recovery.identities).ledger)
        if file is not None and not recovery.is_empty:
            run = _run(recovery, actor, now())
            file.begin(run)
            # the file is ours alone: runs that it has are over, whatever the clusters say of them
            over = [each.id for each in ledger.runs]
            shared = await stack.enter_async_context(announced(recovery, reach, run, now, over))
        audited = stack.enter_context(
            AuditedRecovery(
                trail,
                actor,
                now,
                recovery,
                file,
                confirm=withheld.text(confirm),
                is_dry_run=dry_run,
                identities=identities,
            )
        )
        problems = shared.problems if shared else ()
        log = _IncidentLog(shared, audited)
        yield await stack.enter_async_context(execute(recovery, reach, log, now, dry_run=dry_run, problems=problems))


def _run(recovery: Recovery, actor: Actor, at: datetime) -> RunBegan:
    return RunBegan(
        id=secrets.token_hex(6),
        by=f"{actor.user}@{actor.host}",
        at=at,
        phrase=recovery.phrase,
        originals=recovery.originals,
        left=_left(recovery),
        clusters=recovery.identities,
    )


def _left(recovery: Recovery) -> dict[str, tuple[str, ...]]:
    """The pods that stay behind of hosts of which other pods are recovered: those hosts are not done with this run."""
    begun = {name for step in recovery.steps for name in step.hostnames}
    found: dict[str, list[str]] = {}
    for target in recovery.held:
        if target.hold is not Hold.DONE_BEFORE:
            for name in begun.intersection(target.hostnames):
                found.setdefault(name, []).append(target.key.path)
    return {name: tuple(pods) for name, pods in found.items()}


class _IncidentLog:
    """See `workbench.engine.recovery.ledger.RecoveryLog`."""

    def __init__(self, shared: SharedLog | None, local: AuditedRecovery) -> None:
        self._shared, self._local, self._turn = shared, local, anyio.Lock()

    async def record(self, result: StepResult) -> None:
        """A step is claimed in its cluster before anything else, and settled there after everything else."""
        if self._shared is not None and result.state is StepState.STARTED:
            await self._shared.claim(result)
        async with self._turn:
            await anyio.to_thread.run_sync(self._local.record, result)
        if self._shared is not None and result.state is not StepState.STARTED:
            await self._shared.settle(result)

    async def finished(self, report: RecoveryReport) -> None:
        async with self._turn:
            await anyio.to_thread.run_sync(self._local.finished, report)


__all__ = ["recovering"]
