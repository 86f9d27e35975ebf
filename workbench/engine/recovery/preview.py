"""Document + live state → a `Recovery`: which pods, which writes, and for everything else why not.

All limits that can be known before a run are applied here, so that the preview is what a run does. Nothing is written.
A cluster that does not answer in time is a problem of the recovery and holds its hosts; the others go on.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

import anyio

from runtimes.base import (
    LiveNode,
    LiveOperations,
    LivePod,
    LiveWorkload,
    RuntimeFailure,
    Survey,
    SurveyRequest,
    WorkloadRef,
)
from workbench.engine.recovery.document import Host, InventoryState, Limits, Operation, RecoveryDocument
from workbench.engine.recovery.values import (
    ClusterProblem,
    Hold,
    HostResult,
    HostState,
    PodKey,
    Recovery,
    Step,
    StepResult,
    StepState,
    Target,
    Verb,
)
from workbench.project import WorkbenchError

Reach = Callable[[str], Awaitable[LiveOperations]]
"""Gives the operations of a cluster by its name; raises `RuntimeFailure` or `WorkbenchError`."""

_DONE = frozenset({StepState.STARTED, StepState.DONE, StepState.RECOVERED, StepState.UNVERIFIED})
_SAME_ALARM = timedelta(hours=1)
_NOUNS = {Verb.ROLLOUT_RESTART: "rollout", Verb.CORDON: "node", Verb.SCALE: "workload"}


async def preview(
    document: RecoveryDocument,
    reach: Reach,
    *,
    now: datetime,
    previous: Callable[[str], Sequence[StepResult]] = lambda _: (),
) -> Recovery:
    """Looks at all clusters of the document side by side. `previous` tells what a recovery of an id did before."""
    id_ = identity(document)
    surveys, problems = await _surveys(document, reach)
    done = {
        each.step.id: each
        for each in previous(id_)
        if (each.state in _DONE or each.is_uncertain) and (document.reason or _is_recent(each, now))
    }
    return _Decision(document, surveys, problems).recovery(id_, now, done)


def identity(document: RecoveryDocument) -> str:
    """Returns what makes two recoveries the same one: what is meant, whatever is live."""
    meant = [document.name, document.operation, document.reason, document.replicas, sorted(document.hostnames())]
    return _digest(meant)


def phrase(operation: Operation, steps: Sequence[Step], replicas: int | None = None) -> str:
    """Returns what is typed to run these steps: `restart 11 pods`, `cordon 1 node`, `scale 2 workloads to 5`."""
    if not steps:
        return ""
    noun = _NOUNS.get(steps[0].verb, "pod")
    counted = f"{len(steps)} {noun}{'' if len(steps) == 1 else 's'}"
    match operation:
        case Operation.RESTART | Operation.ROLLOUT_RESTART:
            return f"restart {counted}"
        case Operation.EVICT | Operation.CORDON:
            return f"{operation.value} {counted}"
        case Operation.SCALE:
            return f"scale {counted} to {replicas}"
        case _:
            assert_never(operation)


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


async def _surveys(document: RecoveryDocument, reach: Reach) -> tuple[dict[str, Survey], tuple[ClusterProblem, ...]]:
    wanted: dict[str, set[str]] = {}
    for host in document.hosts:
        if host.state is not InventoryState.UNKNOWN:
            wanted.setdefault(host.cluster, set()).add(host.namespace)
    found: dict[str, Survey] = {}
    problems: list[ClusterProblem] = []

    async def look(cluster: str, namespaces: set[str]) -> None:
        try:
            with anyio.fail_after(document.limits.answer_seconds):
                operations = await reach(cluster)
                request = SurveyRequest(tuple(sorted(namespaces)), nodes=document.operation is Operation.CORDON)
                found[cluster] = await operations.survey(request)
        except (RuntimeFailure, WorkbenchError) as error:
            problems.append(ClusterProblem(cluster, type(error).__name__, error.message, error.hint))
        except TimeoutError:
            problems.append(silence(cluster, document.limits))

    async with anyio.create_task_group() as tasks:
        for cluster, namespaces in wanted.items():
            tasks.start_soon(look, cluster, namespaces)
    return found, tuple(sorted(problems, key=lambda each: each.cluster))


def silence(cluster: str, limits: Limits) -> ClusterProblem:
    return ClusterProblem(
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

    def __init__(
        self, document: RecoveryDocument, surveys: Mapping[str, Survey], problems: tuple[ClusterProblem, ...]
    ) -> None:
        self._document, self._surveys, self._problems = document, surveys, problems
        self._lost = {each.cluster for each in problems}
        self._pods = {
            PodKey(cluster, pod.namespace, pod.name): pod for cluster, survey in surveys.items() for pod in survey.pods
        }
        self._nodes = {(cluster, node.name): node for cluster, survey in surveys.items() for node in survey.nodes}
        self._touched: dict[tuple[str, WorkloadRef], int] = {}
        self._counted: set[str] = set()
        self._count = 0

    def recovery(self, id_: str, now: datetime, done: Mapping[str, StepResult]) -> Recovery:
        records: dict[PodKey, _Record] = {}
        ambiguous = self._ambiguous()
        recovered = {name: result for result in done.values() for name in result.step.hostnames}
        for host in self._document.hosts:
            if host.state in (InventoryState.OK, InventoryState.DUPLICATE):
                key = PodKey(host.cluster, host.namespace, host.pod)
                records.setdefault(key, _Record(key)).hosts.append(host)
        steps: dict[str, Step] = {}
        targets = []
        for record in sorted(records.values(), key=self._urgency):
            target = self._target(record, ambiguous, done, recovered)
            if target.hold is None:
                target, step = self._stepped(target)
                if step is not None:
                    steps[step.id] = _joined(steps.get(step.id), step)
            targets.append(target)
        ordered = tuple(sorted(targets, key=lambda each: each.key))
        return Recovery(
            id=id_,
            state=_digest([[str(each.key), each.pod.uid if each.pod else "", each.hold or ""] for each in ordered]),
            document=self._document,
            targets=ordered,
            steps=tuple(steps.values()),
            hosts=self._hosts(ordered, recovered),
            problems=self._problems,
            phrase=phrase(self._document.operation, tuple(steps.values()), self._document.replicas),
            made_at=now,
            previous=tuple(done.values()),
        )

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

    def _target(
        self,
        record: _Record,
        ambiguous: frozenset[str],
        done: Mapping[str, StepResult],
        recovered: Mapping[str, StepResult],
    ) -> Target:
        key = record.key
        names = tuple(dict.fromkeys(each.hostname for each in record.hosts))
        pod = self._pods.get(key)
        workload = self._workload(key.cluster, pod)
        base = Target(key, names, pod, workload)

        def held(hold: Hold, why: str) -> Target:
            return replace(base, hold=hold, why=why)

        before = [recovered[name] for name in names if name in recovered]
        if before:
            new = f", {before[0].new_pod} took its place" if before[0].new_pod else ""
            if before[0].state is not StepState.RECOVERED:
                new = f", but was not seen to work ({before[0].error or before[0].state.value})"
            why = f"{before[0].step.verb} was done before by this recovery{new}; another reason does it again"
            return held(Hold.DONE_BEFORE, why)
        if key.cluster in self._lost:
            return held(Hold.UNREACHABLE, next(each.message for each in self._problems if each.cluster == key.cluster))
        unclear = [name for name in names if name in ambiguous]
        if unclear:
            return held(Hold.AMBIGUOUS, f"the inventory has {unclear[0]} at several places")
        if pod is None:
            return held(Hold.NOT_FOUND, "there is no such pod: it was replaced, or the inventory is out of date")
        expected = {each.uid for each in record.hosts if each.uid}
        if expected and pod.uid not in expected:
            return held(Hold.REPLACED, "the pod of this name is another than the inventory knows")
        if pod.is_terminating:
            return held(Hold.TERMINATING, "it is being deleted already")
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
        owner = (target.key.cluster, pod.workload or WorkloadRef("", pod.namespace, pod.controller))
        desired = target.workload.desired if target.workload else 1
        share = max(1, math.floor(self._document.limits.max_fraction * desired + 1e-9))
        if self._touched.get(owner, 0) >= share:
            why = f"{share} of {desired} replicas of {owner[1]} is the most one recovery may touch"
            return replace(target, hold=Hold.MAX_FRACTION, why=why)
        held = self._charged(target, 1)
        if held is None:
            self._touched[owner] = self._touched.get(owner, 0) + 1
        return held or target

    def _charged(self, target: Target, pods: int) -> Target | None:
        """Counts pods that a step touches; returns the target held if they are too many."""
        most = self._document.limits.max_pods
        if self._count + pods > most:
            return replace(target, hold=Hold.MAX_PODS, why=f"{most} pods is the most one recovery may touch")
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
        id_ = f"{key.cluster}/{ref.namespace}/{ref}/{ref.uid}"
        verb = Verb.ROLLOUT_RESTART if is_restart else Verb.SCALE
        if id_ not in self._counted:
            # all pods of the workload, whichever of them the hostnames lead to
            pods = workload.desired if is_restart else abs(workload.desired - (self._document.replicas or 0))
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
        )
        return replace(target, step=step.id), step

    def _node_step(self, target: Target, node: LiveNode | None) -> tuple[Target, Step | None]:
        if node is None:
            return replace(target, hold=Hold.NOT_FOUND, why="its node is not known: it is not scheduled"), None
        if node.is_cordoned:
            return replace(target, hold=Hold.CORDONED, why=f"{node.name} takes nothing new already"), None
        cluster = target.key.cluster
        id_ = f"{cluster}/{node.name}/{node.uid}"
        if held := self._charged(target, 1):
            return held, None
        step = Step(id_, cluster, Verb.CORDON, "", "Node", node.name, node.uid, (target.key,), target.hostnames)
        return replace(target, step=step.id), step

    def _hosts(self, targets: tuple[Target, ...], recovered: Mapping[str, StepResult]) -> tuple[HostResult, ...]:
        by_name: dict[str, list[Target]] = {}
        for target in targets:
            for name in target.hostnames:
                by_name.setdefault(name, []).append(target)
        states: dict[str, set[InventoryState]] = {}
        for host in self._document.hosts:
            states.setdefault(host.hostname, set()).add(host.state)
        found = []
        for name in self._document.hostnames():
            mine = by_name.get(name, [])
            keys = tuple(each.key for each in mine)
            if mine and any(each.hold is None for each in mine):
                rest = [each.why for each in mine if each.hold is not None]
                found.append(HostResult(name, HostState.TO_DO, "; ".join(rest), keys))
            elif mine and all(each.hold is Hold.DONE_BEFORE for each in mine):
                found.append(HostResult(name, HostState.DONE_BEFORE, mine[0].why, keys))
            elif mine and all(each.hold in (Hold.NOT_FOUND, Hold.REPLACED) for each in mine):
                found.append(HostResult(name, HostState.STALE, mine[0].why, keys))
            elif mine:
                why = "; ".join(dict.fromkeys(each.why for each in mine))
                found.append(HostResult(name, HostState.HELD, why, keys))
            elif InventoryState.STALE in states.get(name, ()):
                found.append(HostResult(name, HostState.STALE, "the inventory's record of it is out of date"))
            elif name in recovered:
                found.append(HostResult(name, HostState.DONE_BEFORE, "done before by this recovery"))
            else:
                found.append(HostResult(name, HostState.UNKNOWN, "the inventory does not know it"))
        return tuple(found)


def _is_recent(result: StepResult, now: datetime) -> bool:
    """Without a reason nothing tells today's alarm from last week's, but the time."""
    return result.started is None or now - result.started < _SAME_ALARM


def _joined(known: Step | None, more: Step) -> Step:
    if known is None:
        return more
    hostnames = tuple(dict.fromkeys((*known.hostnames, *more.hostnames)))
    return replace(known, pods=(*known.pods, *more.pods), hostnames=hostnames)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:16]


__all__ = ["Reach", "identity", "phrase", "preview", "silence"]
