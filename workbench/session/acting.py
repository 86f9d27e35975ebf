"""Acting on single live objects: restart, scale, delete. Each is confirmed, guarded and audited as a plan is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.session.opened import Opened

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import LiveResource
    from workbench.engine.live_acts import LiveRequest
    from workbench.project import StackPath


class Acting(Opened):
    async def live_owner(self, request: LiveRequest) -> StackPath | None:
        """Returns the stack that has the object, as its labels say now. Raises `RuntimeFailure`, `Moved` among them."""
        with self._masking_failures():
            return self._owner(await self._same(request))

    async def act_live(self, request: LiveRequest, *, confirm: str = "") -> None:
        """Does it, to the object that was looked at and no other.

        Raises `Refused` (read-only), `ConfirmationRequired` (anything but the exact phrase), `Moved` (it is another
        object by now), each before anything is written, or the `RuntimeFailure` that the cluster answers with.
        """
        with self._masking_failures():
            await self._act(request, confirm)

    async def _act(self, request: LiveRequest, confirm: str) -> None:
        from runtimes.base import DeleteRequest, RuntimeFailure, Unreachable, WorkloadRef
        from workbench.engine.errors import ConfirmationRequired, Refused
        from workbench.engine.live_acts import LiveAct

        live = await self._same(request)
        if why := self._why_not(request, self._owner(live)):
            raise Refused([why], where=request.cluster)
        if confirm != request.phrase:
            raise ConfirmationRequired(request.phrase, f"it will {request.act.value} a live object")
        id_ = request.id
        self._note(request, "started")
        try:
            if request.act is LiveAct.DELETE:
                runtime = await self._connections.runtime(request.cluster)
                await runtime.delete(DeleteRequest(id_, live.identity))
            else:
                operations = await self._connections.operations(request.cluster)
                ref = WorkloadRef(id_.kind, id_.namespace, id_.name, request.uid)
                if request.act is LiveAct.SCALE:
                    await operations.scale(ref, request.replicas)
                else:
                    await operations.restart_rollout(ref, self._now())
        except RuntimeFailure as failure:
            is_uncertain = isinstance(failure, Unreachable) and failure.is_uncertain
            self._note(request, "unknown" if is_uncertain else "failed", type(failure).__name__)
            raise
        except BaseException:
            self._note(request, "unknown", "it was interrupted")
            raise
        self._note(request, "done")

    async def _same(self, request: LiveRequest) -> LiveResource:
        from runtimes.base import Moved, ReadRequest

        live = await (await self._connections.runtime(request.cluster)).read(ReadRequest(request.id))
        if live is None or live.identity.uid != request.uid:
            gone = "it is not there any more" if live is None else "it was deleted and made again"
            raise Moved(f"{gone}, since it was looked at", target=request.cluster, subject=str(request.id))
        return live

    def _owner(self, live: LiveResource) -> StackPath | None:
        from workbench.engine.live import owners

        metadata = live.observed.get("metadata") or {}
        return owners(each.path for each in self.tree().stacks())(metadata.get("labels") or {})

    def _why_not(self, request: LiveRequest, owner: StackPath | None) -> str:
        """What no label ties to a stack may be of any that goes there, a pod of a read-only one for example."""
        if self.settings.is_read_only:
            return "this session is read-only (WB_READONLY, or an untrusted repository)"
        there = (
            each
            for each in self.tree().stacks()
            if each.path == owner or (owner is None and request.cluster in each.clusters)
        )
        return next((why for each in there if (why := self.read_only(each))), "")

    def _note(self, request: LiveRequest, result: str, detail: str = "") -> None:
        self.audit().append(
            self._actor(), self._now(), action=f"live {request.act.value}", plan="", target=str(request.id),
            cluster=request.cluster, result=result, detail=detail or request.phrase, reason=self.reason,
        )  # fmt: skip
