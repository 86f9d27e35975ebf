"""Where secrets are taken out of a recovery: in all that comes in.

That is its document, what clusters say (reasons, failures) and what records say that were kept before. The preview,
events, reports, records and the audit trail are made of these, so that none of them has to know of secrets.

What names an object of a cluster stays: it has to be found by it, and everybody reads names. A host with a login in its
name (`https://user:password@host`) stays the same host: its mask is keyed, and tells it from others.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Final

from kcl.records import dataclass, replace
from kcl.secrecy.rules import MASK
from runtimes.base import (
    Budget,
    ClusterIdentity,
    LiveNode,
    LiveOperations,
    LivePod,
    LiveWorkload,
    PodFeed,
    PodTarget,
    Record,
    Survey,
    SurveyRequest,
    WorkloadRef,
)
from workbench.engine.masking import Seal
from workbench.engine.recovery.document import Host, NodeRecord, RecoveryDocument
from workbench.engine.recovery.ledger import Ledger, RunBegan
from workbench.engine.recovery.reach import Reach
from workbench.engine.recovery.values import StepResult
from workbench.engine.recovery.withheld import Withheld

_NAME: Final = re.compile(r"[A-Za-z0-9]([-.A-Za-z0-9]{0,251}[A-Za-z0-9])?")
"""What an object of a cluster may be called, and uids. Anything else is no name of one."""
_MASK_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Intake:
    """`seal` gives the key of masks that tell hosts apart; it is asked only where a host has a secret in its name."""

    withheld: Withheld
    seal: Callable[[], Seal]

    def document(self, found: RecoveryDocument, identity: str) -> RecoveryDocument:
        """Returns the document without secrets. It stays that of the same incident."""
        name, reason = self.withheld.text(found.name), self.withheld.text(found.reason)
        is_same = (name, reason) == (found.name, found.reason)
        return replace(
            found,
            name=name,
            reason=reason,
            hosts=tuple(map(self._host, found.hosts)),
            unresolved=self._hostnames(found.unresolved),
            nodes=tuple(map(self._node, found.nodes)),
            told_apart=found.told_apart if is_same else (reason or name, identity),
        )

    def ledger(self, found: Ledger) -> Ledger:
        """Returns what was recorded, by older versions or by others, without secrets."""
        return Ledger(tuple(map(self._result, found.steps)), tuple(map(self._run, found.runs)))

    def _host(self, host: Host) -> Host:
        return replace(
            host,
            hostname=self._hostname(host.hostname),
            cluster=self._name(host.cluster),
            namespace=self._name(host.namespace),
            pod=self._name(host.pod),
            uid=self._name(host.uid),
            node=self._name(host.node),
        )

    def _node(self, node: NodeRecord) -> NodeRecord:
        return replace(node, cluster=self._name(node.cluster), name=self._name(node.name), uid=self._name(node.uid))

    def _name(self, name: str) -> str:
        return name if _NAME.fullmatch(name) else self.withheld.text(name)

    def _hostname(self, hostname: str) -> str:
        shown = self.withheld.text(hostname)
        if shown == hostname:
            return hostname
        return shown.replace(MASK, self.seal().mask(hostname).shortened_to(_MASK_CHARACTERS))

    def _hostnames(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self._hostname, names))

    def _result(self, result: StepResult) -> StepResult:
        error, hint = self.withheld.text(result.error), self.withheld.text(result.hint)
        names = self._hostnames(result.step.hostnames)
        if (error, hint, names) == (result.error, result.hint, result.step.hostnames):
            return result
        return replace(result, error=error, hint=hint, step=replace(result.step, hostnames=names))

    def _run(self, run: RunBegan) -> RunBegan:
        left = {self._hostname(name): pods for name, pods in run.left.items()}
        return replace(run, by=self.withheld.text(run.by), left=left)


def quiet(reach: Reach, withheld: Withheld) -> Reach:
    """Returns a way to the same clusters of which nothing has a secret in what it says."""

    async def reached(cluster: str) -> LiveOperations:
        with withheld.failures():
            return _QuietOperations(await reach(cluster), withheld)

    return reached


class _QuietOperations:
    """See `LiveOperations`. Records pass as they are: they are data, of which the reader takes secrets out."""

    def __init__(self, operations: LiveOperations, withheld: Withheld) -> None:
        self._operations, self._withheld = operations, withheld

    @property
    def place(self) -> str:
        return self._operations.place

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        with self._withheld.failures():
            return await self._operations.identify(again=again)

    async def survey(self, request: SurveyRequest) -> Survey:
        with self._withheld.failures():
            found = await self._operations.survey(request)
        return replace(found, pods=_without_secrets(found.pods, self._withheld))

    async def pods(self, namespace: str) -> tuple[LivePod, ...]:
        with self._withheld.failures():
            return _without_secrets(await self._operations.pods(namespace), self._withheld)

    def follow_pods(self, namespace: str) -> AbstractAsyncContextManager[PodFeed]:
        return self._followed(namespace)

    @asynccontextmanager
    async def _followed(self, namespace: str) -> AsyncIterator[PodFeed]:
        with self._withheld.failures():
            async with self._operations.follow_pods(namespace) as feed:
                yield _QuietFeed(feed, self._withheld)

    async def budgets(self, namespace: str) -> Mapping[str, Budget]:
        with self._withheld.failures():
            return await self._operations.budgets(namespace)

    async def workload(self, ref: WorkloadRef) -> LiveWorkload | None:
        with self._withheld.failures():
            return await self._operations.workload(ref)

    async def evict(self, target: PodTarget) -> None:
        with self._withheld.failures():
            await self._operations.evict(target)

    async def delete_pod(self, target: PodTarget) -> None:
        with self._withheld.failures():
            await self._operations.delete_pod(target)

    async def restart_rollout(self, ref: WorkloadRef, at: datetime) -> None:
        with self._withheld.failures():
            await self._operations.restart_rollout(ref, at)

    async def cordon(self, node: LiveNode) -> None:
        with self._withheld.failures():
            await self._operations.cordon(node)

    async def uncordon(self, node: LiveNode) -> None:
        with self._withheld.failures():
            await self._operations.uncordon(node)

    async def scale(self, ref: WorkloadRef, replicas: int) -> None:
        with self._withheld.failures():
            await self._operations.scale(ref, replicas)

    async def record(self, namespace: str, name: str) -> Record | None:
        with self._withheld.failures():
            return await self._operations.record(namespace, name)

    async def write_record(self, namespace: str, name: str, entries: Mapping[str, str], version: str) -> str:
        with self._withheld.failures():
            return await self._operations.write_record(namespace, name, entries, version)


class _QuietFeed:
    """See `PodFeed`."""

    def __init__(self, feed: PodFeed, withheld: Withheld) -> None:
        self._feed, self._withheld = feed, withheld

    @property
    def silent_seconds(self) -> float:
        return self._feed.silent_seconds

    def uids(self) -> frozenset[str]:
        return self._feed.uids()

    def pods_of(self, controller: str) -> tuple[LivePod, ...]:
        return _without_secrets(self._feed.pods_of(controller), self._withheld)

    async def changed(self) -> None:
        await self._feed.changed()


def _without_secrets(pods: Iterable[LivePod], withheld: Withheld) -> tuple[LivePod, ...]:
    return tuple(replace(each, reason=withheld.text(each.reason)) if each.reason else each for each in pods)
