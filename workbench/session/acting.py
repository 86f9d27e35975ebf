"""Acting on live objects, one or several: restart, scale, delete, evict, drain.

Each is confirmed, guarded and audited as a plan is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, assert_never

from kcl.records import replace
from workbench.project import WorkbenchError
from workbench.session.opened import Opened

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import KubernetesId, LiveOperations, LiveResource, NodeOperations
    from workbench.engine.draining import Drain
    from workbench.engine.live_acts import Acts, ActState, LiveRequest
    from workbench.project import KonfigTree, StackPath

BLOCKED_AGAIN_SECONDS, DRAIN_SECONDS = 5.0, 600.0
"""How often a pod is asked to go that its budget holds back, and for how long."""


class Acting(Opened):
    async def live_owner(self, request: LiveRequest) -> StackPath | None:
        """Returns the stack that has the object, as its labels say now. Raises `RuntimeFailure`, `Moved` among them."""
        with self._masking_failures():
            return self._owner(await self._same(request.cluster, request.id, request.uid), self.tree())

    async def prepare_live(self, request: LiveRequest) -> LiveRequest:
        """Returns it with what it does and destroys as things are now, which its phrase names. Changes nothing."""
        with self._masking_failures():
            return await self._prepared(request, await self._same(request.cluster, request.id, request.uid))

    async def _prepared(self, request: LiveRequest, live: LiveResource) -> LiveRequest:
        from workbench.engine.draining import Losses
        from workbench.engine.live_acts import LiveAct

        match request.act:
            case LiveAct.DRAIN:
                found = await self._drain_of(request, await self._nodes(request.cluster))
                return replace(request, losses=found.losses, said=tuple(found.said()))
            case LiveAct.EVICT:
                return replace(request, losses=Losses.of_body(request.uid, live.observed))
            case _:
                return request

    async def act_live(
        self, request: LiveRequest, *, confirm: str = "", report: Callable[[str], None] = lambda _: None
    ) -> None:
        """Does it, to the object that was looked at and no other; `report` is given what a drain has come to.

        Raises `Refused` (read-only), `ConfirmationRequired` (anything but the exact phrase), `Moved` (it is another
        object by now), each before anything is written, or the `RuntimeFailure` that the cluster answers with.
        """
        with self._masking_failures():
            await self._act(request, confirm, report, self.tree())

    async def prepare_acts(self, requests: Sequence[LiveRequest]) -> Acts:
        """Returns an act on several objects, with what it does and destroys as things are now. Changes nothing.

        Raises `BadAct`, or the `RuntimeFailure` of the first one that can't be looked at, `Moved` among them.
        """
        with self._masking_failures():
            return await self._looked_at(requests, self.tree())

    async def _looked_at(self, requests: Sequence[LiveRequest], tree: KonfigTree) -> Acts:
        from workbench.engine.live_acts import Acts

        found: list[tuple[LiveRequest, StackPath | None]] = []
        for each in requests:
            live = await self._same(each.cluster, each.id, each.uid)
            found.append((await self._prepared(each, live), self._owner(live, tree)))
        against = (self._why_not(each.cluster, owner, tree) for each, owner in found)
        refused = tuple(dict.fromkeys(why for why in against if why))
        return Acts(tuple(each for each, _ in found), tuple(owner for _, owner in found), refused)

    async def act_on_all(
        self,
        acts: Acts,
        *,
        confirm: str = "",
        report: Callable[[int, ActState, str], None] = lambda _number, _state, _said: None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Does it to one object after the other; `report` is given where each is, by its number, and why it failed.

        That one fails does not keep it from the others, but for those of a cluster that does not answer; what comes
        after `goes_on` says no is left. Raises `Refused`
        where one of them may not be changed, `ConfirmationRequired` for anything but the exact phrase of these objects
        as they are, `Moved` where one is another by now, or the failure of looking: each before anything is written.
        """
        from runtimes.base import RuntimeFailure, Unreachable
        from workbench.engine.errors import ConfirmationRequired, Refused
        from workbench.engine.live_acts import ActState

        tree = self.tree()  # once: of two hundred stacks it takes longer than an act
        with self._masking_failures():
            fresh = await self._looked_at(acts.requests, tree)
            if fresh.refused:
                raise Refused(fresh.refused, where=", ".join(fresh.clusters))
            if confirm != fresh.phrase:
                raise ConfirmationRequired(fresh.phrase, f"it will {fresh.act.value} {fresh.counted}")
        silent: set[str] = set()
        for number, each in enumerate(fresh.requests):
            if not goes_on() or each.cluster in silent:
                report(number, ActState.LEFT, "its cluster does not answer" if each.cluster in silent else "")
                continue
            report(number, ActState.RUNNING, "")
            try:
                with self._masking_failures():
                    await self._act(each, each.phrase, partial(report, number, ActState.RUNNING), tree)
            except (WorkbenchError, RuntimeFailure) as error:
                is_uncertain = isinstance(error, Unreachable) and error.is_uncertain
                silent |= {each.cluster} if isinstance(error, Unreachable) else set()
                said = error.message if isinstance(error, RuntimeFailure) else str(error)
                report(number, ActState.UNKNOWN if is_uncertain else ActState.FAILED, said)
            except BaseException:
                report(number, ActState.UNKNOWN, "it was interrupted")
                raise
            else:
                report(number, ActState.DONE, "")

    async def _act(self, request: LiveRequest, confirm: str, report: Callable[[str], None], tree: KonfigTree) -> None:
        from runtimes.base import RuntimeFailure, Unreachable
        from workbench.engine.errors import ConfirmationRequired, Refused

        live = await self._same(request.cluster, request.id, request.uid)
        if why := self._why_not(request.cluster, self._owner(live, tree), tree):
            raise Refused([why], where=request.cluster)
        request = await self._prepared(request, live)
        if confirm != request.phrase:
            raise ConfirmationRequired(request.phrase, f"it will {request.act.value} a live object")
        self._note(request, "started")
        try:
            await self._do(request, live, report)
        except RuntimeFailure as failure:
            is_uncertain = isinstance(failure, Unreachable) and failure.is_uncertain
            self._note(request, "unknown" if is_uncertain else "failed", type(failure).__name__)
            raise
        except BaseException:
            self._note(request, "unknown", "it was interrupted")
            raise
        self._note(request, "done")

    async def _do(self, request: LiveRequest, live: LiveResource, report: Callable[[str], None]) -> None:
        from runtimes.base import DeleteRequest, LiveNode, PodTarget, WorkloadRef
        from workbench.engine.live_acts import LiveAct

        id_, cluster = request.id, request.cluster
        ref, node = (
            WorkloadRef(id_.kind, id_.namespace, id_.name, request.uid),
            LiveNode(id_.name, request.uid, True, False),
        )
        match request.act:
            case LiveAct.DELETE:
                await (await self._connections.runtime(cluster)).delete(DeleteRequest(id_, live.identity))
            case LiveAct.SCALE:
                await (await self._connections.operations(cluster)).scale(ref, request.replicas)
            case LiveAct.RESTART:
                await (await self._connections.operations(cluster)).restart_rollout(ref, self._now())
            case LiveAct.EVICT:
                target = PodTarget(id_.namespace, id_.name, request.uid)
                await (await self._connections.operations(cluster)).evict(target)
            case LiveAct.CORDON:
                await (await self._nodes(cluster)).cordon(node)
            case LiveAct.UNCORDON:
                await (await self._nodes(cluster)).uncordon(node)
            case LiveAct.DRAIN:
                await (await self._nodes(cluster)).cordon(node)
                await self._drain(request, report)
            case _:
                assert_never(request.act)

    async def _drain(self, request: LiveRequest, report: Callable[[str], None]) -> None:
        """Evicts what is on the node until nothing is left that can go; what a budget holds back is asked again."""
        import anyio

        from runtimes.base import Blocked, Moved, NotThere

        nodes, operations = await self._nodes(request.cluster), await self._connections.operations(request.cluster)
        until, count = time.monotonic() + DRAIN_SECONDS, 0
        while True:
            found = await self._drain_of(request, nodes)
            if found.losses.uids - request.losses.uids:
                raise Moved(
                    f"{count} pods were evicted; one came since that would be lost for good, and was not asked about",
                    target=request.cluster, subject=str(request.id), hint="drain it again: the node stays cordoned",
                )  # fmt: skip
            held: list[str] = []
            for each in found.evicted:
                try:
                    await operations.evict(each.target)
                except (NotThere, Moved):
                    continue
                except Blocked:
                    held.append(f"{each.target.namespace}/{each.target.name}")
                    continue
                count += 1
                self._note(request, "evicted", pod=f"{each.target.namespace}/{each.target.name}")
                report(f"{count} evicted, {len(found.evicted)} were there")
            if not held:
                return
            waiting = f"{count} evicted, {len(held)} held back by disruption budgets: {', '.join(held[:3])}"
            report(waiting)
            if time.monotonic() >= until:
                hint = "the node stays cordoned; drain it again, or look at the budgets"
                raise Blocked(waiting, target=request.cluster, subject=str(request.id), hint=hint)
            await anyio.sleep(BLOCKED_AGAIN_SECONDS)

    async def _drain_of(self, request: LiveRequest, nodes: NodeOperations) -> Drain:
        from workbench.engine.draining import drain
        from workbench.engine.scrubbing import masked_failure
        from workbench.project.masking import read_masking

        found = await nodes.pods_on(request.id.name)
        rules = read_masking(self._root)
        return drain(replace(found, budgets_failure=masked_failure(found.budgets_failure, self._secrets, rules)))

    async def _nodes(self, cluster: str) -> NodeOperations:
        from runtimes.base import Misconfigured, NodeOperations

        operations: LiveOperations | NodeOperations = await self._connections.operations(cluster)
        if not isinstance(operations, NodeOperations):
            raise Misconfigured("has no operations on nodes", target=cluster)
        return operations

    async def _same(self, cluster: str, id_: KubernetesId, uid: str) -> LiveResource:
        from runtimes.base import Moved, ReadRequest

        live = await (await self._connections.runtime(cluster)).read(ReadRequest(id_))
        if live is None or live.identity.uid != uid:
            gone = "it is not there any more" if live is None else "it was deleted and made again"
            raise Moved(f"{gone}, since it was looked at", target=cluster, subject=str(id_))
        return live

    @staticmethod
    def _owner(live: LiveResource, tree: KonfigTree) -> StackPath | None:
        from workbench.engine.live import owners

        metadata = live.observed.get("metadata") or {}
        return owners(each.path for each in tree.stacks())(metadata.get("labels") or {})

    def _why_not(self, cluster: str, owner: StackPath | None, tree: KonfigTree) -> str:
        """What no label ties to a stack may be of any that goes there, a pod of a read-only one for example."""
        if self.settings.is_read_only:
            return "this session is read-only (WB_READONLY, or an untrusted repository)"
        there = (each for each in tree.stacks() if each.path == owner or (owner is None and cluster in each.clusters))
        return next((why for each in there if (why := self.read_only(each))), "")

    def _note(self, request: LiveRequest, result: str, detail: str = "", *, pod: str = "") -> None:
        self.audit().append(
            self._actor(), self._now(), action=f"live {request.act.value}", plan="", target=pod or str(request.id),
            cluster=request.cluster, result=result, detail=detail or request.phrase, reason=self.reason,
        )  # fmt: skip
