"""What the ledger of an incident means for the pods and hosts of now. Pure.

A host is done once, whatever pod the inventory says it is today; a pod is restarted once, whichever host leads to it;
and what took the place of a pod that the incident restarted is not restarted by it. Where a replacement was never
identified, because its run was killed or the pod never became ready, every pod that its workload did not have before
the incident may be the one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kcl.records import replace
from runtimes.base import LivePod, Survey, WorkloadRef
from workbench.engine.recovery.document import Operation, RecoveryDocument
from workbench.engine.recovery.ledger import Ledger, owner_key
from workbench.engine.recovery.places import is_elsewhere
from workbench.engine.recovery.values import Hold, PodKey, Step, StepResult, StepState, Verb

_RESTART = "restart"
_RESTARTING = frozenset({Verb.DELETE, Verb.EVICT, Verb.ROLLOUT_RESTART})


class History:
    """The ledger against one look at the clusters."""

    def __init__(self, ledger: Ledger, document: RecoveryDocument, surveys: Mapping[str, Survey]) -> None:
        self._effect = _effect_of(document)
        self.is_uncordon = document.operation is Operation.UNCORDON
        self.originals = ledger.originals
        self.begun = tuple(_as_seen(each, surveys) for each in _with_replacements(ledger, surveys))
        self._left = {(name, pod) for run in ledger.runs for name, pods in run.left.items() for pod in pods}
        here = [each for each in self.begun if not is_elsewhere(each.step)]
        self._cordons = [each.step for each in here if each.step.verb is Verb.CORDON]
        same = [each for each in here if _effect(each.step) == self._effect and not _is_undone(each.step, surveys)]
        self._by_host: dict[str, list[StepResult]] = {}
        for each in same:
            for name in each.step.hostnames:
                self._by_host.setdefault(name, []).append(each)
        self._by_uid = {each.step.uid: each for each in same}
        restarts = [each for each in self.begun if _effect(each.step) == _RESTART]
        self._restarted_pods = [each for each in restarts if each.step.kind == "Pod"]
        self._rolled = {
            owner_key(each.step.cluster, each.step.workload)
            for each in restarts
            if each.step.workload and each.step.verb is Verb.ROLLOUT_RESTART
        }
        self._replacements = {each.new_uid: each for each in self._restarted_pods if each.new_uid}
        live = _uids(surveys)
        away = [each for each in self._restarted_pods if not each.new_uid and each.step.uid not in live]
        self.in_flight = Counter(owner_of(each.step) for each in away)
        self.in_flight_of_clusters = Counter(each.step.cluster for each in away)

    def charged(self) -> int:
        """How many pods the incident touched."""
        return sum(each.step.charge for each in self.begun)

    def touched(self) -> Counter[str]:
        """How many pods of each workload the incident restarted, by `owner_key`."""
        return Counter(owner_of(each.step) for each in self._restarted_pods)

    def of_host(self, hostname: str, key: PodKey | None = None) -> StepResult | None:
        """Returns what was done about a host before, the worst where there are several; None if nothing was.

        A host of several pods is not done with those of them, `key`, that its run had to leave for later.
        """
        results = self._by_host.get(hostname, [])
        if key is not None and (hostname, f"{key.namespace}/{key.name}") in self._left:
            results = [each for each in results if key in each.step.pods]
        return min(results, key=lambda each: each.state is StepState.RECOVERED, default=None)

    def cordoned_for(self, hostname: str) -> tuple[Step, ...]:
        """Returns the steps by which the incident cordoned nodes for a host, whatever runs where today."""
        return tuple(each for each in self._cordons if hostname in each.hostnames)

    def of_pod(self, pod: LivePod) -> StepResult | None:
        return self._by_uid.get(pod.uid)

    def hold(self, cluster: str, pod: LivePod) -> tuple[Hold, str] | None:
        """Returns why the incident must not restart a pod that no earlier step names."""
        if self._effect != _RESTART:
            return None
        if (result := self._replacements.get(pod.uid)) is not None:
            return Hold.MADE_SINCE, f"it took the place of {result.step.name}, which this incident restarted"
        owner = _owner(cluster, pod.namespace, pod.workload, pod.controller)
        if owner in self._rolled:
            return Hold.MADE_SINCE, f"this incident restarted all of {pod.workload}"
        if self.in_flight[owner] and pod.uid not in self.originals.get(owner, frozenset()):
            return Hold.MADE_SINCE, "it came after this incident restarted pods of its workload: it may replace one"
        return None

    def restarted_of(self, cluster: str, workload: WorkloadRef) -> int:
        """How many pods of a workload the incident restarted one by one."""
        return self.touched()[owner_key(cluster, workload)]


def owner_of(step: Step) -> str:
    return _owner(step.cluster, step.namespace, step.workload, step.controller)


def owner_of_pod(cluster: str, pod: LivePod) -> str:
    return _owner(cluster, pod.namespace, pod.workload, pod.controller)


def originals(steps: Iterable[Step], surveys: Mapping[str, Survey]) -> dict[str, frozenset[str]]:
    """Returns the uids of all pods that the workloads of these steps have now."""
    wanted = {owner_of(each) for each in steps if each.workload or each.controller}
    found: dict[str, set[str]] = {owner: set() for owner in wanted}
    for cluster, survey in surveys.items():
        for pod in survey.pods:
            if (owner := owner_of_pod(cluster, pod)) in found:
                found[owner].add(pod.uid)
    return {owner: frozenset(uids) for owner, uids in found.items()}


def _owner(cluster: str, namespace: str, workload: WorkloadRef | None, controller: str) -> str:
    return owner_key(cluster, workload or WorkloadRef("", namespace, controller))


def _effect(step: Step) -> str:
    """Restarting by whatever verb is one effect: a pod that was evicted is not restarted by a rollout as well."""
    if step.verb in _RESTARTING:
        return _RESTART
    return f"{step.verb} {step.replicas}" if step.verb is Verb.SCALE else step.verb.value


def _effect_of(document: RecoveryDocument) -> str:
    match document.operation:
        case Operation.SCALE:
            return f"{Verb.SCALE} {document.replicas}"
        case Operation.CORDON:
            return Verb.CORDON.value
        case Operation.UNCORDON:
            return Verb.UNCORDON.value
        case Operation.RESTART | Operation.EVICT | Operation.ROLLOUT_RESTART:
            return _RESTART


def _is_undone(step: Step, surveys: Mapping[str, Survey]) -> bool:
    """Whether a node that was cordoned takes pods again: that can be seen, and counts for more than a record."""
    if step.verb is not Verb.CORDON or step.cluster not in surveys:
        return False
    return any(each.uid == step.uid and not each.is_cordoned for each in surveys[step.cluster].nodes)


def _as_seen(result: StepResult, surveys: Mapping[str, Survey]) -> StepResult:
    """What was recovered is not said to be where it is seen not to be any more, nor where its cluster is not seen."""
    if result.state is not StepState.RECOVERED or is_elsewhere(result.step):
        return result
    survey = surveys.get(result.step.cluster)
    why = f"{result.step.cluster} is not seen now" if survey is None else _why_not_any_more(result, survey)
    return replace(result, state=StepState.UNVERIFIED, error=why) if why else result


def _why_not_any_more(result: StepResult, survey: Survey) -> str:
    step = result.step
    if step.kind == "Pod":
        pod = next((each for each in survey.pods if each.uid == result.new_uid), None)
        if pod is not None and not pod.is_terminating:
            reason = f": {pod.reason}" if pod.reason else ""
            return "" if pod.is_ready else f"{pod.name} took its place and is not ready now{reason}"
    live = survey.workloads.get(step.workload) if step.workload else None
    if live is None:
        return ""
    if step.verb is Verb.SCALE and live.desired != step.replicas:
        return f"{live.ref.kind}/{live.ref.name} wants {live.desired} replicas now"
    if not live.is_settled or live.ready < live.desired:
        return f"{live.ref.kind}/{live.ref.name} has {live.ready} of {live.desired} replicas ready now"
    return ""


def _uids(surveys: Mapping[str, Survey]) -> frozenset[str]:
    return frozenset(pod.uid for survey in surveys.values() for pod in survey.pods)


def _with_replacements(ledger: Ledger, surveys: Mapping[str, Survey]) -> tuple[StepResult, ...]:
    """Returns what was begun, with replacements that became ready after their run had ended or was killed."""
    taken = {each.new_uid for each in ledger.begun if each.new_uid}
    before, live = ledger.originals, _uids(surveys)
    new: dict[str, list[LivePod]] = {}
    for cluster, survey in surveys.items():
        for pod in survey.pods:
            owner = owner_of_pod(cluster, pod)
            is_new = owner in before and pod.uid not in before[owner] and pod.uid not in taken
            if is_new and pod.is_ready and not pod.is_terminating:
                new.setdefault(owner, []).append(pod)
    return tuple(_replaced(each, new.get(owner_of(each.step), []), live) for each in ledger.begun)


def _replaced(result: StepResult, new: list[LivePod], live: frozenset[str]) -> StepResult:
    """Takes one of the new pods where the step's own has gone and nothing was seen in its place."""
    if result.step.kind != "Pod" or result.new_uid or result.step.uid in live or not new:
        return result
    pod = _first(new, result.step.name)
    new.remove(pod)
    return replace(
        result, state=StepState.RECOVERED, new_pod=pod.name, new_uid=pod.uid, error="", hint="", is_uncertain=False
    )


def _first(pods: Sequence[LivePod], name: str) -> LivePod:
    """A set's pods keep their names; of others it is the oldest."""
    return min(pods, key=lambda each: (each.name != name, str(each.created or ""), each.name))
