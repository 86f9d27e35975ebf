"""A cluster in memory behind `LiveOperations`: workloads whose controller replaces what is deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

import anyio

from runtimes.base import (
    Budget,
    ClusterIdentity,
    LiveNode,
    LivePod,
    LiveWorkload,
    Moved,
    NotThere,
    PodTarget,
    Record,
    Survey,
    SurveyRequest,
    Unreachable,
    WorkloadRef,
)

NAMESPACE = "shop"


class Mood(StrEnum):
    """What a controller does about a pod that is gone."""

    AT_ONCE = "ready at once"
    LATER = "ready by the next run"
    ABSENT = "made by the next run"
    NEVER = "never ready"


@dataclass
class Killed:
    """The process is killed at a write: `in_writes` counts down, and `on_kill` is called once. Then nothing answers."""

    in_writes: int
    before_the_write: bool
    on_kill: Callable[[], object]
    is_dead: bool = False


@dataclass(eq=False)
class FakeCluster:
    place: str
    replicas: Mapping[str, int]
    pods_by_uid: dict[str, LivePod] = field(default_factory=dict)
    deleted: list[LivePod] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    records: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    mood: Mood = Mood.AT_ONCE
    killed: Killed | None = None
    due: list[str] = field(default_factory=list)
    number: int = 0
    identity: ClusterIdentity | None = None

    def __post_init__(self) -> None:
        for workload, count in self.replicas.items():
            for _ in range(count):
                self._make(workload)

    @property
    def operations(self) -> FakeCluster:
        return self

    async def close(self) -> None:
        pass

    def tick(self) -> None:
        """Time passes: what controllers owe is done."""
        due, self.due = self.due, []
        for workload in due:
            self._make(workload, is_new=True)
        for uid, pod in self.pods_by_uid.items():
            if pod.reason == "later":
                self.pods_by_uid[uid] = replace(pod, is_ready=True, reason="")

    def _make(self, workload: str, *, is_new: bool = False, is_ready: bool = True, reason: str = "") -> None:
        self.number += 1
        uid = f"{self.place}-uid-{self.number}"
        ref = WorkloadRef("Deployment", NAMESPACE, workload, f"{self.place}-{workload}")
        made = datetime(2026, 1, 1, tzinfo=UTC)
        self.pods_by_uid[uid] = LivePod(
            NAMESPACE,
            f"{workload}-{self.number}",
            uid,
            "node-1",
            is_ready,
            False,
            0,
            made,
            controller=f"rs-{workload}",
            workload=ref,
            reason=reason,
        )
        if is_new:
            self.made.add(uid)

    # --- what `LiveOperations` asks for

    def _answer(self) -> None:
        if self.killed is not None and self.killed.is_dead:
            raise Unreachable("the process was killed", target=self.place)

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        self._answer()
        return self.identity or ClusterIdentity(self.place, f"https://{self.place}:6443", uid=f"uid-of-{self.place}")

    async def survey(self, request: SurveyRequest) -> Survey:
        self._answer()
        refs = {each.workload for each in self.pods_by_uid.values() if each.workload}
        workloads = {ref: LiveWorkload(ref, self.replicas[ref.name], self._ready(ref.name), True) for ref in refs}
        return Survey(tuple(self.pods_by_uid.values()), workloads)

    def _ready(self, workload: str) -> int:
        return sum(
            each.is_ready for each in self.pods_by_uid.values() if each.workload and each.workload.name == workload
        )

    async def pods(self, namespace: str) -> tuple[LivePod, ...]:
        self._answer()
        return tuple(self.pods_by_uid.values())

    @asynccontextmanager
    async def follow_pods(self, namespace: str) -> AsyncIterator[_Feed]:
        self._answer()
        yield _Feed(self)

    async def budgets(self, namespace: str) -> Mapping[str, Budget]:
        return {}

    async def workload(self, ref: WorkloadRef) -> LiveWorkload | None:
        raise NotImplementedError

    async def evict(self, target: PodTarget) -> None:
        await self.delete_pod(target)

    async def delete_pod(self, target: PodTarget) -> None:
        self._answer()
        dies = False
        if (killed := self.killed) is not None:
            killed.in_writes -= 1
            dies = killed.in_writes < 0
            if dies and killed.before_the_write:
                killed.is_dead = True
                killed.on_kill()
                raise Unreachable("the process was killed", target=self.place, is_uncertain=True)
        pod = self.pods_by_uid.get(target.uid)
        if pod is None:
            raise NotThere("gone", target=self.place)
        del self.pods_by_uid[target.uid]
        self.deleted.append(pod)
        assert pod.workload is not None
        match self.mood:
            case Mood.AT_ONCE:
                self._make(pod.workload.name, is_new=True)
            case Mood.LATER:
                self._make(pod.workload.name, is_new=True, is_ready=False, reason="later")
            case Mood.ABSENT:
                self.due.append(pod.workload.name)
            case Mood.NEVER:
                self._make(pod.workload.name, is_new=True, is_ready=False, reason="CrashLoopBackOff")
        if dies and killed is not None:
            killed.is_dead = True
            killed.on_kill()
            raise Unreachable("the process was killed", target=self.place, is_uncertain=True)

    async def restart_rollout(self, ref: WorkloadRef, at: datetime) -> None:
        raise NotImplementedError

    async def cordon(self, node: LiveNode) -> None:
        raise NotImplementedError

    async def uncordon(self, node: LiveNode) -> None:
        raise NotImplementedError

    async def scale(self, ref: WorkloadRef, replicas: int) -> None:
        raise NotImplementedError

    async def record(self, namespace: str, name: str) -> Record | None:
        self._answer()
        found = self.records.get(name)
        return Record(dict(found[1]), str(found[0])) if found else None

    async def write_record(self, namespace: str, name: str, entries: Mapping[str, str], version: str) -> str:
        self._answer()
        now, content = self.records.get(name, (0, {}))
        if version != (str(now) if now else ""):
            raise Moved("was written since", target=self.place)
        self.records[name] = now + 1, {**content, **entries}
        return str(now + 1)


class _Feed:
    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    @property
    def silent_seconds(self) -> float:
        return 0.0

    def uids(self) -> frozenset[str]:
        return frozenset(self._cluster.pods_by_uid)

    def pods_of(self, controller: str) -> tuple[LivePod, ...]:
        return tuple(each for each in self._cluster.pods_by_uid.values() if each.controller == controller)

    async def changed(self) -> None:
        await anyio.sleep_forever()
