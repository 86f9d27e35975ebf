"""Document + live state + ledger → a `Recovery`: which pods, which writes, and for everything else why not.

All limits that can be known before a run are applied here, so that the preview is what a run does; what earlier runs of
the incident did counts towards them. Nothing is written. A cluster that does not answer in time is a problem of the
recovery and holds its hosts; the others go on.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import assert_never

import anyio

from kcl.records import asdict, dataclass, field, replace
from runtimes.base import (
    ClusterIdentity,
    Forbidden,
    LiveNode,
    LiveOperations,
    LivePod,
    LiveWorkload,
    RuntimeFailure,
    Survey,
    SurveyRequest,
)
from workbench.engine.changes import Problem
from workbench.engine.masking import Seal
from workbench.engine.recovery import history, shared
from workbench.engine.recovery.document import (
    ON_NODES,
    Host,
    InventoryState,
    Limits,
    Operation,
    RecoveryDocument,
)
from workbench.engine.recovery.history import History
from workbench.engine.recovery.hosts import host_results, what_was_done
from workbench.engine.recovery.intake import Intake, quiet
from workbench.engine.recovery.ledger import Ledger, merged
from workbench.engine.recovery.patience import patience
from workbench.engine.recovery.places import follow
from workbench.engine.recovery.reach import Reach
from workbench.engine.recovery.values import (
    Hold,
    PodKey,
    Recovery,
    Step,
    StepResult,
    Target,
    Verb,
)
from workbench.project import WorkbenchError

_NOUNS = {Verb.ROLLOUT_RESTART: "rollout", Verb.CORDON: "node", Verb.UNCORDON: "node", Verb.SCALE: "workload"}
_DIGITS = 6


async def preview(
    document: RecoveryDocument,
    reach: Reach,
    *,
    now: datetime,
    ledger: Callable[[str], Ledger] = lambda _: Ledger(),
    seal: Callable[[], Seal] = Seal.random,
) -> Recovery:
    """Looks at all clusters of the document side by side. `ledger` gives what this machine knows of an incident.

    `seal` gives the key that tells hosts apart whose names have secrets in them; see `intake`.
    """
    id_ = identity(document)
    intake = Intake(document.withheld, seal)
    document = intake.document(document, id_)
    here = intake.ledger(ledger(id_))
    found = await _look(document, quiet(reach, document.withheld), id_, here)
    followed = [follow(each, found.identities) for each in (here, *map(intake.ledger, found.ledgers))]
    found.warnings.extend(dict.fromkeys(said for each in followed for said in each.warnings))
    known = merged(each.ledger for each in followed)
    if not _incident(document):
        known = known.since(now)
    return _Decision(document, found, known).recovery(id_, now)


def identity(document: RecoveryDocument) -> str:
    """Returns what makes two recoveries belong to one incident: its name, else that of the program."""
    shown, known = document.told_apart
    if shown and shown == (document.reason or document.name):
        return known
    incident = _incident(document)
    return _digest(["incident", incident] if incident else ["program", document.name])


def _incident(document: RecoveryDocument) -> str:
    """`INC-7` and ` inc-7` are one: typed twice by people in a hurry."""
    return " ".join(document.reason.split()).casefold()


def phrase(id_: str, document: RecoveryDocument, steps: Sequence[Step]) -> str:
    """Returns what is typed to run these steps: `restart 11 pods 3f9a2c`, `scale 2 workloads to 5 81bb02`.

    The last word is a digest of the incident, of every object and the hosts that lead to it, and of the limits: a
    phrase that was read off one preview confirms no other.
    """
    if not steps:
        return ""
    noun = _NOUNS.get(steps[0].verb, "pod")
    counted = f"{len(steps)} {noun}{'' if len(steps) == 1 else 's'}"
    shown = [[str(each), each.namespace, each.uid, each.replicas, sorted(each.hostnames)] for each in steps]
    digest = _digest([id_, document.operation, sorted(shown, key=str), asdict(document.limits)])[:_DIGITS]
    match document.operation:
        case Operation.RESTART | Operation.ROLLOUT_RESTART:
            return f"restart {counted} {digest}"
        case Operation.EVICT | Operation.CORDON | Operation.UNCORDON:
            return f"{document.operation.value} {counted} {digest}"
        case Operation.SCALE:
            return f"scale {counted} to {document.replicas} {digest}"
        case _:
            assert_never(document.operation)


def _pod_step(target: Target, pod: LivePod, verb: Verb) -> Step:
    key = target.key
    return Step(
        id=f"{key.cluster}/{key.namespace}/{key.name}/{pod.uid}",
        cluster=key.cluster,
        verb=verb,
        namespace=key.namespace,
        kind="Pod",
        name=key.name,
        uid=pod.uid,
        pods=(key,),
        hostnames=target.hostnames,
        workload=pod.workload,
        controller=pod.controller,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What all clusters answered."""

    surveys: dict[str, Survey] = field(default_factory=dict)
    ledgers: list[Ledger] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    identities: dict[str, ClusterIdentity] = field(default_factory=dict)


async def _look(document: RecoveryDocument, reach: Reach, id_: str, here: Ledger) -> _Found:
    """Asks all clusters that the document leads to, or, to uncordon, what `here` remembers of its hosts."""
    found = _Found()
    of_pods: dict[str, set[str]] = {}
    for host in document.hosts:
        if host.state is not InventoryState.UNKNOWN:
            of_pods.setdefault(host.cluster, set()).add(host.namespace)
    of_records = shared.namespaces(document)
    if document.operation is Operation.UNCORDON:
        names = frozenset(document.hostnames())
        for result in here.begun:
            if result.step.verb is Verb.CORDON and names.intersection(result.step.hostnames):
                of_records.setdefault(result.step.cluster, set()).add(shared.namespace_of(result.step))

    async def look(cluster: str, records: set[str]) -> None:
        try:
            with patience(document.limits):
                pods = tuple(sorted(of_pods.get(cluster, ())))
                request = SurveyRequest(pods, nodes=document.operation in ON_NODES)
                with document.withheld.failures():
                    await _look_at(cluster, await reach(cluster), request, sorted(records), id_, found)
        except (RuntimeFailure, WorkbenchError) as error:
            found.problems.append(Problem.of(cluster, error))
        except TimeoutError:
            found.problems.append(silence(cluster, document.limits))

    async with anyio.create_task_group() as tasks:
        for cluster, records in of_records.items():
            tasks.start_soon(look, cluster, records)
    found.problems.sort(key=lambda each: each.cluster)
    return found


async def _look_at(
    cluster: str,
    operations: LiveOperations,
    request: SurveyRequest,
    records: Sequence[str],
    id_: str,
    found: _Found,
) -> None:
    """Asks for the survey, the ledger and which cluster it is side by side. Raises `RuntimeFailure`: none is found.

    A run elsewhere that only one of them shows is noticed when a run of this preview begins.
    """
    failures: list[RuntimeFailure] = []
    surveys: list[Survey] = []
    ledgers: list[Ledger] = []
    identities: list[ClusterIdentity] = []

    async def identify() -> None:
        try:
            identities.append(await operations.identify())
        except RuntimeFailure as error:
            failures.append(error)

    async def survey() -> None:
        try:
            surveys.append(await operations.survey(request))
        except RuntimeFailure as error:
            failures.append(error)

    async def ledger() -> None:
        try:
            ledgers.append(await shared.read(operations, cluster, records, id_))
        except Forbidden as error:
            what = "what other machines did about it cannot be read"
            found.warnings.append(f"{cluster}: {what}: {error.message}")
        except RuntimeFailure as error:
            failures.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(survey)
        tasks.start_soon(ledger)
        tasks.start_soon(identify)
    if failures:
        raise failures[0]
    found.surveys[cluster] = surveys[0]
    found.ledgers.extend(ledgers)
    found.identities[cluster] = identities[0]


def silence(cluster: str, limits: Limits) -> Problem:
    return Problem(
        cluster,
        "Unreachable",
        f"did not answer within {limits.answer_seconds:g} s",
        "recover its hosts when it answers",
    )


@dataclass
class _Record:
    """The records of the inventory that lead to one pod."""

    key: PodKey
    hosts: list[Host] = field(default_factory=list)


class _Decision:
    """One look at one document. Targets are decided one after the other, each limit counting what came before."""

    def __init__(self, document: RecoveryDocument, found: _Found, ledger: Ledger) -> None:
        self._document, self._surveys, self._found = document, found.surveys, found
        self._ledger, self._history = ledger, History(ledger, document, found.surveys)
        self._lost = {each.cluster: each.message for each in found.problems}
        self._pods = {
            PodKey(cluster, pod.namespace, pod.name): pod
            for cluster, survey in found.surveys.items()
            for pod in survey.pods
        }
        self._nodes = {(cluster, node.name): node for cluster, survey in found.surveys.items() for node in survey.nodes}
        self._touched = self._history.touched()
        self._counted: set[str] = set()
        self._count = self._history.charged()
        self._before: dict[tuple[str, PodKey], StepResult] = {}

    def recovery(self, id_: str, now: datetime) -> Recovery:
        by_id: dict[str, Step] = {}
        targets = []
        for target, step in (*self._of_hosts(), *self._of_nodes()):
            if step is not None:
                step = replace(step, identity=self._found.identities.get(step.cluster))
                by_id[step.id] = _joined(by_id.get(step.id), step)
            targets.append(target)
        ordered, steps = tuple(sorted(targets, key=lambda each: each.key)), tuple(by_id.values())
        past = self._history
        return Recovery(
            id=id_,
            document=self._document,
            targets=ordered,
            steps=steps,
            hosts=host_results(self._document, ordered, self._before, past),
            problems=tuple(self._found.problems),
            phrase=phrase(id_, self._document, steps),
            made_at=now,
            previous=past.begun,
            phrases=self._ledger.phrases,
            originals={**history.originals(steps, self._surveys), **past.originals},
            in_flight=dict(past.in_flight),
            warnings=tuple(self._found.warnings),
            identities=self._found.identities,
        )

    def _of_hosts(self) -> Iterator[tuple[Target, Step | None]]:
        if self._document.operation is Operation.UNCORDON:
            yield from self._remembered()
            return
        records: dict[PodKey, _Record] = {}
        ambiguous = self._ambiguous()
        for host in self._document.hosts:
            if host.state in (InventoryState.OK, InventoryState.DUPLICATE):
                key = PodKey(host.cluster, host.namespace, host.pod)
                records.setdefault(key, _Record(key)).hosts.append(host)
        for record in sorted(records.values(), key=self._urgency):
            target = self._target(record, ambiguous)
            yield self._stepped(target) if target.hold is None else (target, None)

    def _remembered(self) -> Iterator[tuple[Target, Step | None]]:
        """Hosts lead to the nodes that the incident cordoned for them: after a drain, no pod of theirs is there."""
        hosts = tuple(dict.fromkeys((*(each.hostname for each in self._document.hosts), *self._document.unresolved)))
        nodes: dict[tuple[str, str, str], list[str]] = {}
        for name in hosts:
            for step in self._history.cordoned_for(name):
                nodes.setdefault((step.cluster, step.name, step.uid), []).append(name)
        for (cluster, node, uid), names in nodes.items():
            yield self._node(cluster, node, uid, tuple(names))
        for host in self._document.hosts:  # nobody knows what was done on a cluster that does not answer
            if host.cluster in self._lost and not self._history.cordoned_for(host.hostname):
                key = PodKey(host.cluster, host.namespace, host.pod)
                why = self._lost[host.cluster]
                yield Target(key, (host.hostname,), None, hold=Hold.UNREACHABLE, why=why), None

    def _of_nodes(self) -> Iterator[tuple[Target, Step | None]]:
        for each in self._document.nodes:
            yield self._node(each.cluster, each.name, each.uid, (each.hostname,))

    def _node(self, cluster: str, name: str, uid: str, hostnames: tuple[str, ...]) -> tuple[Target, Step | None]:
        target = Target(PodKey(cluster, "", name), hostnames, None)
        if cluster in self._lost:
            return replace(target, hold=Hold.UNREACHABLE, why=self._lost[cluster]), None
        node = self._nodes.get((cluster, name))
        if node is None:
            return replace(target, hold=Hold.NOT_FOUND, why="the cluster has no node of this name"), None
        if uid and uid != node.uid:
            return replace(target, hold=Hold.REPLACED, why="the node of this name is another than the one meant"), None
        return self._node_step(target, node)

    def _ambiguous(self) -> frozenset[str]:
        """Hosts the inventory has twice, at different places: nobody knows which one is meant."""
        places: dict[str, set[PodKey]] = {}
        for host in self._document.hosts:
            if host.state is InventoryState.DUPLICATE:
                places.setdefault(host.hostname, set())
        for host in self._document.hosts:
            if host.hostname in places and host.state is not InventoryState.UNKNOWN:
                places[host.hostname].add(PodKey(host.cluster, host.namespace, host.pod))
        return frozenset(name for name, keys in places.items() if len(keys) > 1)

    def _urgency(self, record: _Record) -> tuple[bool, PodKey]:
        """Pods that are not ready come first: where limits leave some out, it is those that still serve."""
        pod = self._pods.get(record.key)
        return (pod is None or pod.is_ready, record.key)

    def _target(self, record: _Record, ambiguous: frozenset[str]) -> Target:
        key = record.key
        every = tuple(dict.fromkeys(each.hostname for each in record.hosts))
        pod = self._pods.get(key)
        workload = self._workload(key.cluster, pod)
        before = {name: result for name in every if (result := self._history.of_host(name, key)) is not None}
        self._before |= {(name, key): result for name, result in before.items()}
        # a host that is done stays done, also where it now leads to the pod of one that is not
        names = tuple(name for name in every if name not in before)
        base = Target(key, names or every, pod, workload)

        def held(hold: Hold, why: str) -> Target:
            return replace(base, hold=hold, why=why)

        if not names:
            return held(Hold.DONE_BEFORE, what_was_done(before[every[0]]))
        if key.cluster in self._lost:
            return held(Hold.UNREACHABLE, self._lost[key.cluster])
        unclear = [name for name in names if name in ambiguous]
        if unclear:
            return held(Hold.AMBIGUOUS, f"the inventory has {unclear[0]} at several places")
        if pod is None:
            return held(Hold.NOT_FOUND, "there is no such pod: it was replaced, or the inventory is out of date")
        expected = {each.uid for each in record.hosts if each.uid and each.hostname in names}
        if expected and pod.uid not in expected:
            return held(Hold.REPLACED, "the pod of this name is another than the inventory knows")
        if (result := self._history.of_pod(pod)) is not None:
            self._before |= {(name, key): result for name in names}
            return held(Hold.DONE_BEFORE, what_was_done(result))
        if pod.is_terminating:
            return held(Hold.TERMINATING, "it is being deleted already")
        if (because := self._history.hold(key.cluster, pod)) is not None:
            return held(*because)
        return self._within_limits(base, pod)

    def _workload(self, cluster: str, pod: LivePod | None) -> LiveWorkload | None:
        if pod is None or pod.workload is None:
            return None
        return self._surveys[cluster].workloads.get(pod.workload)

    def _within_limits(self, target: Target, pod: LivePod) -> Target:
        if self._document.operation not in (Operation.RESTART, Operation.EVICT):
            return target
        if not pod.controller:
            return replace(target, hold=Hold.UNMANAGED, why="no controller would make it again")
        if len(pod.budgets) > 1:
            why = f"{len(pod.budgets)} budgets cover it; the API evicts no such pod"
            return replace(target, hold=Hold.BUDGET, why=why)
        for budget in pod.budgets:
            if budget.allowed <= 0 and not (budget.allows_unhealthy and not pod.is_ready):
                why = f"PodDisruptionBudget {budget.name} allows no disruption"
                return replace(target, hold=Hold.BUDGET, why=why)
        limits, owner = self._document.limits, history.owner_of_pod(target.key.cluster, pod)
        desired = target.workload.desired if target.workload else 1
        share = max(1, math.floor(limits.max_fraction * desired + 1e-9))
        if self._touched[owner] >= share:
            earlier = self._history.touched()[owner]
            why = f"{share} of {desired} replicas of {_name_of_owner(pod)} is the most one incident may touch"
            why += f"; earlier runs touched {earlier}" if earlier else ""
            return replace(target, hold=Hold.MAX_FRACTION, why=why)
        if because := self._away(target.key.cluster, owner, limits):
            return replace(target, hold=Hold.IN_FLIGHT, why=because)
        held = self._charged(target, 1)
        if held is None:
            self._touched[owner] += 1
        return held or target

    def _away(self, cluster: str, owner: str, limits: Limits) -> str:
        """What an earlier run took away is under way until something is ready in its place."""
        past = self._history
        if past.in_flight[owner] >= limits.per_owner:
            return (
                f"{past.in_flight[owner]} of its workload that an earlier run restarted have no ready replacement yet"
            )
        if past.in_flight_of_clusters[cluster] >= limits.batch:
            return f"{past.in_flight_of_clusters[cluster]} pods that an earlier run restarted are not replaced yet"
        return ""

    def _charged(self, target: Target, pods: int) -> Target | None:
        """Counts pods that a step touches; returns the target held if they are too many."""
        most = self._document.limits.max_pods
        if self._count + pods > most:
            earlier = self._history.charged()
            why = f"{most} pods is the most one incident may touch" + (f"; earlier runs: {earlier}" if earlier else "")
            return replace(target, hold=Hold.MAX_PODS, why=why)
        self._count += pods
        return None

    def _stepped(self, target: Target) -> tuple[Target, Step | None]:
        pod = target.pod
        assert pod is not None, "a target without a pod is held"
        match self._document.operation:
            case Operation.RESTART:
                step = _pod_step(target, pod, Verb.EVICT if pod.budgets else Verb.DELETE)
            case Operation.EVICT:
                step = _pod_step(target, pod, Verb.EVICT)
            case Operation.ROLLOUT_RESTART | Operation.SCALE:
                return self._workload_step(target)
            case Operation.CORDON:
                return self._node_step(target, self._nodes.get((target.key.cluster, pod.node)))
            case Operation.UNCORDON:
                raise AssertionError("hosts lead to what is uncordoned by what is remembered, not by pods")
            case _:
                assert_never(self._document.operation)
        return replace(target, step=step.id), step

    def _workload_step(self, target: Target) -> tuple[Target, Step | None]:
        key, workload = target.key, target.workload
        is_restart = self._document.operation is Operation.ROLLOUT_RESTART
        kinds = ("Deployment", "StatefulSet", *(("DaemonSet",) if is_restart else ("ReplicaSet",)))
        if workload is None or workload.ref.kind not in kinds:
            why = f"it belongs to none of {', '.join(kinds)}"
            return replace(target, hold=Hold.UNMANAGED, why=why), None
        ref = workload.ref
        verb = Verb.ROLLOUT_RESTART if is_restart else Verb.SCALE
        what = verb.value if is_restart else f"{verb} {self._document.replicas}"
        id_ = f"{key.cluster}/{ref.namespace}/{ref}/{ref.uid}/{what}"
        if is_restart and (earlier := self._history.restarted_of(key.cluster, ref)):
            why = f"this incident restarted {earlier} of its pods: a rollout would restart them again"
            return replace(target, hold=Hold.MADE_SINCE, why=why), None
        # all pods of the workload, whichever of them the hostnames lead to
        pods = workload.desired if is_restart else abs(workload.desired - (self._document.replicas or 0))
        if id_ not in self._counted:
            if held := self._charged(target, pods):
                return held, None
            self._counted.add(id_)
        step = Step(
            id=id_,
            cluster=key.cluster,
            verb=verb,
            namespace=ref.namespace,
            kind=ref.kind,
            name=ref.name,
            uid=ref.uid,
            pods=(key,),
            hostnames=target.hostnames,
            workload=ref,
            replicas=self._document.replicas,
            charge=pods,
        )
        return replace(target, step=step.id), step

    def _node_step(self, target: Target, node: LiveNode | None) -> tuple[Target, Step | None]:
        if node is None:
            return replace(target, hold=Hold.NOT_FOUND, why="its node is not known: it is not scheduled"), None
        cluster, is_uncordon = target.key.cluster, self._document.operation is Operation.UNCORDON
        if node.is_cordoned is not is_uncordon:
            hold, why = (Hold.UNCORDONED, "takes pods") if is_uncordon else (Hold.CORDONED, "takes nothing new already")
            return replace(target, hold=hold, why=f"{node.name} {why}"), None
        id_ = f"{cluster}/{node.name}/{node.uid}" + (f"/{Verb.UNCORDON}" if is_uncordon else "")
        # giving back is never too much: what an incident took is what its limits are about
        charge = 0 if is_uncordon else 1
        if charge and id_ not in self._counted:
            if held := self._charged(target, charge):
                return held, None
            self._counted.add(id_)
        verb = Verb.UNCORDON if is_uncordon else Verb.CORDON
        names = target.hostnames
        step = Step(id_, cluster, verb, "", "Node", node.name, node.uid, (target.key,), names, charge=charge)
        return replace(target, step=step.id), step


def _name_of_owner(pod: LivePod) -> str:
    return str(pod.workload or pod.controller)


def _joined(known: Step | None, more: Step) -> Step:
    if known is None:
        return more
    hostnames = tuple(dict.fromkeys((*known.hostnames, *more.hostnames)))
    return replace(known, pods=(*known.pods, *more.pods), hostnames=hostnames)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:16]


__all__ = ["identity", "phrase", "preview", "silence"]
