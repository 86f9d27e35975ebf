"""Which cluster it was that a record of an incident tells of. Pure.

A name is what a repository calls a cluster today. clusters.yaml may lead it elsewhere tomorrow, and a record in a
cluster may be a copy of another one's, out of a backup. What was done on another cluster is not done here: it follows
its cluster to the name that has now, else it is kept under a name of its own, where it counts towards the limits of the
incident and for nothing else. Where it can't be told, it is neither done again nor said to be well.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcl.records import dataclass, replace
from runtimes.base import ClusterIdentity, Sameness, compare
from workbench.engine.identities import former_name, former_of
from workbench.engine.recovery.ledger import Ledger, RunBegan
from workbench.engine.recovery.values import Step, StepResult, StepState

_UNSAID = "its record does not say on which cluster it was done"


@dataclass(frozen=True, slots=True)
class Followed:
    """A ledger whose clusters have the names of now. `warnings` name clusters that a record was mistaken for."""

    ledger: Ledger
    warnings: tuple[str, ...] = ()


def follow(ledger: Ledger, now: Mapping[str, ClusterIdentity]) -> Followed:
    """Brings what a ledger says to the clusters it says it of. Clusters that were not asked stay as they are."""
    others: dict[str, int] = {}
    steps = []
    for result in ledger.steps:
        followed = _step(result, now)
        steps.append(followed)
        if is_elsewhere(followed.step) and not is_elsewhere(result.step):
            name = f"{result.step.cluster}: a record of the incident is of another cluster, {result.step.identity}"
            others[name] = others.get(name, 0) + 1
    warnings = tuple(f"{name}: {count} of its steps count as not done here" for name, count in sorted(others.items()))
    return Followed(Ledger(tuple(steps), tuple(_run(each, now) for each in ledger.runs)), warnings)


def is_elsewhere(step: Step) -> bool:
    """Whether a step was done on a cluster that has no name now, or whose name leads to another one."""
    return step.identity is not None and bool(former_of(step.cluster, step.identity))


def is_of(run: RunBegan, cluster: str) -> bool:
    """Whether a run that was followed is at work on a cluster, as far as it says."""
    return not run.clusters or cluster in run.clusters


def renamed(result: StepResult, cluster: str) -> StepResult:
    """Returns the same of a cluster of this name."""
    step = result.step
    id_ = f"{cluster}{step.id.removeprefix(step.cluster)}"
    pods = tuple(replace(each, cluster=cluster) for each in step.pods)
    return replace(result, step=replace(step, id=id_, cluster=cluster, pods=pods))


def _step(result: StepResult, now: Mapping[str, ClusterIdentity]) -> StepResult:
    step = result.step
    if step.identity is None:
        return _doubted(result, _UNSAID) if step.cluster in now else result
    place = _place(step.cluster, step.identity, now)
    if place != step.cluster:
        return renamed(result, place)
    if place in now and compare(step.identity, now[place]) is Sameness.UNKNOWN:
        why = now[place].unknown or step.identity.unknown
        return _doubted(result, f"whether {place} is the cluster it was done on can't be told{why and ': '}{why}")
    return result


def _place(name: str, recorded: ClusterIdentity, now: Mapping[str, ClusterIdentity]) -> str:
    here = compare(recorded, now[name]) if name in now else Sameness.UNKNOWN
    if here in (Sameness.SAME, Sameness.PRESUMED):
        return name
    elsewhere = next((each for each, one in now.items() if compare(recorded, one) is Sameness.SAME), None)
    if elsewhere is not None:
        return elsewhere
    return former_name(name, recorded, now) if here is Sameness.OTHER else name


def _doubted(result: StepResult, why: str) -> StepResult:
    """What may have been done elsewhere is not said to be recovered; nor is it begun again."""
    return replace(result, state=StepState.UNVERIFIED, error=why) if result.state is StepState.RECOVERED else result


def _run(run: RunBegan, now: Mapping[str, ClusterIdentity]) -> RunBegan:
    names = {name: _place(name, recorded, now) for name, recorded in run.clusters.items()}
    if all(old == new for old, new in names.items()):
        return run
    originals = {}
    for owner, uids in run.originals.items():
        name, slash, rest = owner.partition("/")
        originals[f"{names.get(name, name)}{slash}{rest}"] = uids
    clusters = {names[name]: each for name, each in run.clusters.items()}
    return replace(run, originals=originals, clusters=clusters)


__all__ = ["Followed", "follow", "is_elsewhere", "is_of", "renamed"]
