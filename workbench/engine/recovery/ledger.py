"""What all runs of one incident did: the memory that keeps a pod from being restarted twice.

One incident has one ledger, whichever hosts, programs, operations or machines its runs name: limits count what is in
it. It is written twice, on the machine that runs (workbench.release.recoveries) and in the clusters (`shared`), and
read as the union of both, so that a machine that never heard of the incident still knows what was done.

The first entry about a step is written before its write is sent. A run that is killed in between leaves a step that was
started: nobody knows whether it happened, so it is not started again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import NoneType
from typing import Any, Protocol

from kcl.records import asdict, dataclass, field, replace
from runtimes.base import ClusterIdentity, WorkloadRef
from workbench.engine.plan_age import moment
from workbench.engine.recovery.values import PodKey, RecoveryReport, Step, StepResult, StepState, Verb

_SAME_ALARM = timedelta(hours=1)
_CERTAINTY = (StepState.RECOVERED, StepState.UNVERIFIED, StepState.DONE, StepState.STARTED)


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run that was confirmed. `originals` are the uids of the pods that workloads had before, by `owner_key`.

    `left` are pods (NAMESPACE/NAME) that it had to leave for later, by their hostname, of hosts with several
    pods. `clusters` says which cluster each name was. Until `open_until` it holds the incident: no other run may
    begin. None once it ended.
    """

    id: str
    by: str
    at: datetime
    phrase: str
    originals: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    open_until: datetime | None = None
    clusters: Mapping[str, ClusterIdentity] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Ledger:
    """`steps` has the last state of every step that was ever recorded, `runs` those that began, oldest first."""

    steps: tuple[StepResult, ...] = ()
    runs: tuple[RunBegan, ...] = ()

    @property
    def begun(self) -> tuple[StepResult, ...]:
        return tuple(each for each in self.steps if each.is_begun)

    @property
    def phrases(self) -> frozenset[str]:
        return frozenset(each.phrase for each in self.runs if each.phrase)

    @property
    def originals(self) -> Mapping[str, frozenset[str]]:
        """As the first run saw them that touched the workload: what came later may be a replacement."""
        found: dict[str, frozenset[str]] = {}
        for run in self.runs:
            for owner, uids in run.originals.items():
                found.setdefault(owner, uids)
        return found

    def since(self, now: datetime) -> Ledger:
        """Returns what belongs to the alarm of now, where no reason tells today's alarm from last week's."""
        recent = now - _SAME_ALARM
        return Ledger(
            tuple(each for each in self.steps if each.started is None or each.started > recent),
            tuple(each for each in self.runs if each.at > recent),
        )


class RecoveryLog(Protocol):
    async def record(self, result: StepResult) -> None:
        """Returns once the state is safe. Raises `ReleaseFailure`: then no further step is started anywhere; or
        `RuntimeFailure`: then none in that cluster."""

    async def finished(self, report: RecoveryReport) -> None:
        """The last call of a run, however it came out. Raises `ReleaseFailure`."""


def owner_key(cluster: str, workload: WorkloadRef) -> str:
    return f"{cluster}/{workload.namespace}/{workload}"


def merged(ledgers: Iterable[Ledger]) -> Ledger:
    """Returns the union. Where two know a step, one that may have been done wins over one that was not."""
    steps: dict[str, StepResult] = {}
    runs: dict[str, RunBegan] = {}
    for ledger in ledgers:
        for each in ledger.steps:
            known = steps.get(each.step.id)
            steps[each.step.id] = each if known is None else min(known, each, key=_doubt)
        for run in ledger.runs:
            before = runs.get(run.id)
            if before is not None:
                run = replace(
                    run,
                    originals={**run.originals, **before.originals},
                    clusters={**run.clusters, **before.clusters},
                )
            runs[run.id] = run
    return Ledger(tuple(steps.values()), tuple(sorted(runs.values(), key=lambda each: each.at)))


def _doubt(result: StepResult) -> int:
    if result.state in _CERTAINTY:
        return _CERTAINTY.index(result.state)
    return len(_CERTAINTY) + (not result.is_begun)


# --- as JSON, on disk and in clusters


def encode_step(result: StepResult) -> dict[str, Any]:
    plain = asdict(result)
    if (identity := result.step.identity) is not None:
        plain["step"]["identity"] = identity.to_mapping()
    return {**plain, "started": _text(result.started), "ended": _text(result.ended)}


def decode_step(content: Mapping[str, Any]) -> StepResult:
    """Raises `ValueError`, `KeyError` or `TypeError` for anything that `encode_step` did not make."""
    raw = content["step"]
    workload, identity = raw["workload"], raw.get("identity")
    for each in (content, raw, *raw["pods"], workload or {}):
        _refuse_other_types(each)
    step = Step(
        **{
            **raw,
            "verb": Verb(raw["verb"]),
            "pods": tuple(PodKey(**each) for each in raw["pods"]),
            "hostnames": tuple(map(str, raw["hostnames"])),
            "workload": WorkloadRef(**workload) if workload else None,
            "identity": ClusterIdentity.of_mapping(identity) if identity else None,
        }
    )
    times = {name: _time(content[name]) for name in ("started", "ended")}
    return StepResult(**{**content, **times, "step": step, "state": StepState(content["state"])})


_NO_TEXTS: Mapping[str, tuple[type, ...]] = {
    "step": (dict,), "pods": (list,), "hostnames": (list,), "workload": (dict, NoneType), "identity": (dict, NoneType),
    "started": (str, NoneType), "ended": (str, NoneType), "ready_seconds": (int, float, NoneType),
    "is_uncertain": (bool,), "replicas": (int, NoneType), "charge": (int,),
}  # fmt: skip


def _refuse_other_types(content: Mapping[str, Any]) -> None:
    """Raises `TypeError` where a value is of another type than `encode_step` writes there."""
    for name, value in content.items():
        if not isinstance(value, _NO_TEXTS.get(name, (str,))):
            raise TypeError(f"{name} is of another type")


def encode_run(run: RunBegan) -> dict[str, Any]:
    return {
        "id": run.id,
        "by": run.by,
        "at": run.at.isoformat(),
        "phrase": run.phrase,
        "originals": {owner: sorted(uids) for owner, uids in run.originals.items()},
        "left": {name: list(pods) for name, pods in run.left.items()},
        "open_until": _text(run.open_until),
        "clusters": {name: each.to_mapping() for name, each in run.clusters.items()},
    }


def decode_run(content: Mapping[str, Any]) -> RunBegan:
    """Raises as `decode_step`."""
    originals = {str(owner): frozenset(map(str, uids)) for owner, uids in content["originals"].items()}
    return RunBegan(
        id=str(content["id"]),
        by=str(content["by"]),
        at=moment(content["at"]),
        phrase=str(content["phrase"]),
        originals=originals,
        left={str(name): tuple(map(str, pods)) for name, pods in content["left"].items()},
        open_until=_time(content["open_until"]),
        clusters={
            str(name): ClusterIdentity.of_mapping(each) for name, each in (content.get("clusters") or {}).items()
        },
    )


def _text(time: datetime | None) -> str | None:
    return time.isoformat() if time else None


def _time(text: str | None) -> datetime | None:
    return moment(text) if text else None
