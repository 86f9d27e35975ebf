"""The ledger of an incident in the clusters it is about, for machines that never heard of it.

Every namespace that a recovery names has one record for the incident: the runs that began, and the steps of pods of
this namespace. A run announces itself in all of them before its first write; who finds another one open does not begin.
Each write is bound to the version that was read, so that of two that begin at once at least one sees the other.

An announcement holds for two minutes and is renewed while its run goes on: of a run that was killed, no more than that
is waited for. Times are of the machines that run: their clocks need to agree within a minute.

Where a cluster does not let us keep a record (`Forbidden`), the run goes on with the ledger of its own machine, and the
report says so. Names of clusters are those of one repository: a record is read under the name that the reader has for
the cluster it came from. What it tells of another cluster, as where a backup of that one was brought back here, counts
as not done (`places`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta

import anyio

from kcl.records import dataclass, field, replace
from runtimes.base import ClusterIdentity, Forbidden, LiveOperations, Moved, NotThere, Record, RuntimeFailure
from runtimes.base.documents import load_json
from workbench.engine.changes import Problem
from workbench.engine.errors import EngineError, Locked, MovedObject, OtherCluster, StalePlan
from workbench.engine.identities import refuse_others
from workbench.engine.recovery.document import InventoryState, RecoveryDocument
from workbench.engine.recovery.ledger import (
    Ledger,
    RunBegan,
    decode_run,
    decode_step,
    encode_run,
    encode_step,
    merged,
)
from workbench.engine.recovery.patience import patience
from workbench.engine.recovery.places import follow, is_of, renamed
from workbench.engine.recovery.reach import Reach
from workbench.engine.recovery.values import Recovery, Step, StepResult, StepState
from workbench.engine.tasks import running
from workbench.project import WorkbenchError

_OPEN = timedelta(minutes=2)
_CLOCKS = timedelta(minutes=1)
"""By how much the clocks of machines may differ."""
_RENEWAL_SECONDS = 40.0
_ATTEMPTS = 6
_RUN, _STEP = "run-", "step-"
OF_NODES = "default"
"""Where what is done to nodes themselves is recorded, as Kubernetes has it with their events."""


class BrokenRecord(RuntimeFailure):
    """The cluster's record of the incident is not one that this program wrote: nobody knows what was done there."""


def record_name(incident: str) -> str:
    return f"workbench-recovery-{incident}"


def namespaces(document: RecoveryDocument) -> dict[str, set[str]]:
    """Returns the namespaces that a document leads to, by cluster: where its records are."""
    found: dict[str, set[str]] = {}
    for host in document.hosts:
        if host.state is not InventoryState.UNKNOWN:
            found.setdefault(host.cluster, set()).add(host.namespace)
    for node in document.nodes:
        found.setdefault(node.cluster, set()).add(OF_NODES)
    return found


async def read(operations: LiveOperations, cluster: str, wanted: Iterable[str], incident: str) -> Ledger:
    """Reads what the cluster's records say. Raises `RuntimeFailure`, `BrokenRecord` among them."""
    found: list[Ledger] = []
    failures: list[RuntimeFailure] = []

    async def look(namespace: str) -> None:
        try:
            if (record := await operations.record(namespace, record_name(incident))) is not None:
                found.append(_decode(record, cluster, namespace, incident))
        except RuntimeFailure as error:
            failures.append(error)

    async with anyio.create_task_group() as tasks:
        for namespace in wanted:
            tasks.start_soon(look, namespace)
    if failures:
        raise failures[0]
    return merged(found)


@dataclass(eq=False)
class _Place:
    """The record of one namespace of one cluster.

    One write is under way at a time; what has to be written meanwhile goes together with the next, so that a cluster
    that answers slowly is asked once for all of it. `written` is what it wrote: where that is taken away while the
    run goes on, it is put back with the next write.
    """

    cluster: str
    namespace: str
    operations: LiveOperations
    incident: str
    check: Callable[[Ledger, str], None]
    answer_seconds: float
    version: str = ""
    is_announced: bool = False
    written: dict[str, str] = field(default_factory=dict)
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    waiting: _Batch = field(default_factory=lambda: _Batch())

    async def write(self, entries: Mapping[str, str]) -> None:
        """Raises `Locked` or `StalePlan` where another run wrote to it; `RuntimeFailure`, `TimeoutError`."""
        batch = self.waiting
        batch.entries |= entries
        async with self.lock:
            if not batch.is_done:
                self.waiting = _Batch()
                batch.is_done = True
                try:
                    await self._write(batch.entries)
                except (RuntimeFailure, EngineError, TimeoutError) as error:
                    batch.error = error
                else:
                    self.is_announced = True
        if batch.error is not None:
            raise batch.error

    async def _write(self, entries: Mapping[str, str]) -> None:
        for _ in range(_ATTEMPTS):
            try:
                with anyio.fail_after(self.answer_seconds):
                    name = record_name(self.incident)
                    self.version = await self.operations.write_record(self.namespace, name, entries, self.version)
            except (Moved, NotThere) as error:
                if isinstance(error, NotThere) and not self.version:
                    raise  # there is no such namespace
                with anyio.fail_after(self.answer_seconds):
                    entries = {**await self.look(), **entries}
            else:
                self.written |= entries
                return
        raise Moved("others write its record of the incident all the time", target=self.cluster)

    async def look(self) -> Mapping[str, str]:
        """Returns what of `written` is not there any more. Raises as `check` does, and `RuntimeFailure`."""
        record = await self.operations.record(self.namespace, record_name(self.incident))
        self.version = record.version if record else ""
        if record is not None and not (self.written and _is_emptied(record)):
            self.check(_decode(record, self.cluster, self.namespace, self.incident), self.cluster)
        there = record.entries if record else {}
        return {name: text for name, text in self.written.items() if name not in there}


@dataclass(eq=False)
class _Batch:
    """Entries that are written together, and how that went."""

    entries: dict[str, str] = field(default_factory=dict)
    is_done: bool = False
    error: Exception | None = None


class SharedLog:
    """The records of one run. `problems` are clusters where none could be opened or written."""

    def __init__(self, recovery: Recovery, run: RunBegan, now: Callable[[], datetime], over: Collection[str]) -> None:
        self._recovery, self._run, self._now, self._over = recovery, run, now, {run.id, *over}
        self._places: dict[tuple[str, str], _Place] = {}
        self._mine: set[str] = {each.step.id for each in recovery.previous}
        self._lost: dict[str, RuntimeFailure] = {}
        self.problems: list[Problem] = []

    async def open(self, reach: Reach) -> None:
        """Announces the run everywhere. Raises `Locked`, `StalePlan` or `OtherCluster`."""
        refusals: list[EngineError] = []

        async def announce(cluster: str, names: Collection[str]) -> None:
            try:
                with patience(self._recovery.limits):
                    operations = await reach(cluster)
                    self._refuse_other(cluster, await operations.identify(again=True))
                    async with anyio.create_task_group() as tasks:
                        for each in names:
                            tasks.start_soon(self._announce, operations, cluster, each, refusals)
            except OtherCluster as error:
                refusals.append(error)
            except (RuntimeFailure, WorkbenchError) as error:
                self._lose(cluster, error.message, error.hint)
            except TimeoutError:
                self._lose(cluster, f"did not answer within {self._recovery.limits.answer_seconds:g} s", "")

        lost = {each.cluster for each in self._recovery.problems}
        async with running(), anyio.create_task_group() as tasks:
            for cluster, names in _places(self._recovery).items():
                if cluster not in lost:
                    tasks.start_soon(announce, cluster, names)
        if refusals:
            raise refusals[0]

    def _refuse_other(self, cluster: str, found: ClusterIdentity) -> None:
        previewed = {name: each for name, each in self._recovery.identities.items() if name == cluster}
        refuse_others(self._recovery.name, previewed, {cluster: found}, is_bound=False)

    async def _announce(
        self, operations: LiveOperations, cluster: str, namespace: str, refusals: list[EngineError]
    ) -> None:
        patience = self._recovery.limits.answer_seconds
        place = _Place(cluster, namespace, operations, self._recovery.id, self._check, patience)
        self._places[cluster, namespace] = place
        try:
            await place.look()
            await place.write(self._announcement(place))
        except (Locked, StalePlan) as error:
            refusals.append(error)
        except Forbidden as error:
            del self._places[cluster, namespace]
            self.problems.append(_unshared(cluster, error))
        except NotThere:
            del self._places[cluster, namespace]
        except RuntimeFailure as error:
            self._lose(cluster, error.message, error.hint)

    def _lose(self, cluster: str, message: str, hint: str) -> None:
        """Nothing is started where the record could not be read: another run may be at work there."""
        said = self._recovery.document.withheld.text(f"its record of the incident: {message}")
        self._lost[cluster] = RuntimeFailure(said, target=cluster, hint=hint)

    async def renew(self) -> None:
        while True:
            await anyio.sleep(_RENEWAL_SECONDS)
            for place in list(self._places.values()):
                try:
                    await place.write(self._announcement(place))
                except (RuntimeFailure, EngineError, TimeoutError):
                    continue  # the next step there finds out

    async def close(self) -> None:
        """Takes the announcement back; where that fails, it ends by itself."""

        async def end(place: _Place) -> None:
            with suppress(RuntimeFailure, EngineError, TimeoutError):
                await place.write(self._announcement(place, is_open=False))

        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for place in self._places.values():
                    if place.is_announced and place.cluster not in self._lost:
                        tasks.start_soon(end, place)

    async def claim(self, result: StepResult) -> None:
        """Writes that a step is about to begin. Raises `RuntimeFailure`, `Locked` or `StalePlan`: then it must not."""
        if (lost := self._lost.get(result.step.cluster)) is not None:
            raise lost
        self._mine.add(result.step.id)
        await self._write(result)

    async def settle(self, result: StepResult) -> None:
        """Writes how a step goes on. Where that fails it stays begun, which keeps it from being begun again."""
        if result.step.cluster in self._lost or result.state is StepState.DONE:
            return
        try:
            await self._write(result)
        except (RuntimeFailure, EngineError, TimeoutError):
            return

    async def _write(self, result: StepResult) -> None:
        place = self._places.get((result.step.cluster, namespace_of(result.step)))
        if place is None:
            return
        key = f"{_STEP}{_digest(result.step.id.removeprefix(place.cluster))}"
        await place.write({key: _json(encode_step(result))})

    def _announcement(self, place: _Place, *, is_open: bool = True) -> dict[str, str]:
        here = f"{place.cluster}/{place.namespace}/"
        own = {
            owner.removeprefix(f"{place.cluster}/"): uids
            for owner, uids in self._run.originals.items()
            if owner.startswith(here)
        }
        until = self._now() + _OPEN if is_open else None
        identity = self._run.clusters.get(place.cluster)
        run = replace(self._run, originals=own, open_until=until, clusters={"": identity} if identity else {})
        return {f"{_RUN}{self._run.id}": _json(encode_run(run))}

    def _check(self, record: Ledger, cluster: str) -> None:
        """Raises `Locked` where another run is open, and `StalePlan` where one did what the preview does not know."""
        found = follow(record, self._recovery.identities).ledger
        for run in found.runs:
            is_over = run.id in self._over or not is_of(run, cluster)
            if not is_over and run.open_until is not None and run.open_until > self._now():
                raise self._locked(run, cluster)
        relevant = found if self._recovery.is_named else found.since(self._recovery.made_at)
        if foreign := [each for each in relevant.begun if each.step.id not in self._mine]:
            moved = [MovedObject(None, f"{each.step}: was done since, by another run") for each in foreign]
            raise StalePlan(moved, where=self._recovery.name)

    def _locked(self, run: RunBegan, cluster: str) -> Locked:
        by = self._recovery.document.withheld.text(run.by)
        owner = f"a run of this incident by {by} since {run.at:%H:%M:%S}Z"
        hint = f"wait for it; of a run that was killed, for {_OPEN.total_seconds() / 60:.0f} minutes"
        until = run.open_until
        if until is not None and until - self._now() > _OPEN + _CLOCKS:
            owner += f", which holds it until {until:%Y-%m-%d %H:%M:%S}Z by its clock"
            entry = f"entry {_RUN}{run.id} out of the ConfigMaps {record_name(self._recovery.id)} in {cluster}"
            hint = (
                "the clock of that machine is ahead, or this one's is behind: set them right; "
                f"where that run is over for sure, take its {entry}"
            )
        return Locked(owner, where=self._recovery.name, hint=hint)


@asynccontextmanager
async def announced(
    recovery: Recovery, reach: Reach, run: RunBegan, now: Callable[[], datetime], over: Collection[str] = ()
) -> AsyncIterator[SharedLog]:
    """Holds the incident in all clusters of a recovery. Raises `Locked` or `StalePlan` before anything is begun.

    `over` are runs that have ended for sure, such as killed ones of this machine, whose announcement may still stand.
    """
    log = SharedLog(recovery, run, now, over)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(log.close)
        await log.open(reach)
        await stack.enter_async_context(running(log.renew))
        yield log


def _places(recovery: Recovery) -> dict[str, set[str]]:
    """Where a run is announced: where its document leads to, and where its steps are recorded."""
    found = namespaces(recovery.document)
    for step in recovery.steps:
        found.setdefault(step.cluster, set()).add(namespace_of(step))
    return found


def namespace_of(step: Step) -> str:
    """A node is of no namespace: its step is recorded with the pods that led to it, else where nodes have theirs."""
    return step.namespace or max((each.namespace for each in step.pods), default="") or OF_NODES


def _unshared(cluster: str, error: Forbidden) -> Problem:
    return Problem(
        cluster,
        "Unshared",
        "keeps no record of this incident: another machine will not know what was done",
        error.hint or "allow get, create and patch of configmaps",
    )


def _is_emptied(record: Record) -> bool:
    """Whether a record lacks what every run writes first, and takes back never."""
    return not any(name.startswith(_RUN) for name in record.entries)


def _decode(record: Record, cluster: str, namespace: str, incident: str) -> Ledger:
    if _is_emptied(record):
        name = record_name(incident)
        raise BrokenRecord(
            f"its record of the incident, ConfigMap {namespace}/{name}, names no run: what was done is not known",
            target=cluster,
            hint=f"look at the pods; if nothing was done: kubectl -n {namespace} delete configmap {name}",
        )
    steps: list[StepResult] = []
    runs: list[RunBegan] = []
    for name, text in record.entries.items():
        try:
            if name.startswith(_STEP):
                steps.append(renamed(decode_step(load_json(text)), cluster))
            elif name.startswith(_RUN):
                runs.append(_run_here(decode_run(load_json(text)), cluster))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BrokenRecord(
                f"{name} of its record of the incident cannot be read",
                target=cluster,
                hint="look at the pods, then mend or delete it: "
                f"kubectl -n {namespace} edit configmap {record_name(incident)}",
            ) from None
    return Ledger(tuple(steps), tuple(runs))


def _run_here(run: RunBegan, cluster: str) -> RunBegan:
    """A record is of one cluster, which is written without a name."""
    originals = {f"{cluster}/{owner}": uids for owner, uids in run.originals.items()}
    return replace(run, originals=originals, clusters=dict(zip([cluster], run.clusters.values(), strict=False)))


def _json(content: Mapping[str, object]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
