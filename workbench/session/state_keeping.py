"""The state of a stack's Terraform resources: looked at, moved to another backend, unlocked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.project import TERRAFORM_PLACE, Stack
from workbench.session.changing import Changing

if TYPE_CHECKING:
    from runtimes.base import ResourceId, StateKeeper, StateMove, StateRecord, WorkspacePlanRequest
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.plan import Plan
    from workbench.engine.spec import Spec
    from workbench.engine.state_listing import StateListing, StateResource


class StateKeeping(Changing):
    """Terraform's state. What terraform itself refuses is refused."""

    async def state(self, stack: Stack, inputs: CompileInputs | None = None) -> StateListing:
        """Reads the state, secrets masked. The configuration need not compile.

        Raises `RuntimeFailure`, also where the state has lost what it had, and `Misconfigured` where what is configured
        may not be contacted or run.
        """
        keeper, request, spec, problem = await self._keeper(stack, inputs)
        record = await keeper.record(request)
        return self._kept(stack, record, spec, problem, *await self._released_there(stack))

    async def plan_forget(
        self,
        stack: Stack,
        resources: Iterable[str],
        inputs: CompileInputs | None = None,
        *,
        still_declared: bool = False,
    ) -> tuple[Plan, tuple[StateResource, ...]]:
        """Returns the plan that takes resources out of the state and leaves them where they are, and what these are.

        `resources` are ids, `TYPE/NAME` or terraform's addresses. `apply` carries it out, after it has left a copy of
        the state (`state_before_forgetting`). The plan is of nothing else, and can't be saved.

        Raises `NotInState`, and `Refused` for what the configuration still declares, or where that is not known, as
        the next plan would create it once more: unless `still_declared` says that this is known.
        """
        from workbench.engine.errors import Refused

        self._refuse_read_only(stack)
        state = await self.state(stack, inputs)
        chosen = {each.id: each for each in map(state.find, resources)}
        declared = [each for each in chosen.values() if each.is_configured is not False]
        if declared and not still_declared:
            why = state.problem or "the configuration declares it, so the next plan would create it once more"
            said = [f"{each.id}: {why}" for each in declared]
            hint = "take it out of the KCL first; --still-declared forgets it all the same"
            raise Refused(said, where=stack.name, hint=hint)
        plan = await self._planning().plan(
            stack,
            inputs,
            (TERRAFORM_PLACE,),
            prune=True,
            force=False,
            forgets=frozenset(chosen),
        )
        return plan, tuple(chosen.values())

    def state_before_forgetting(self, stack: Stack) -> Path | None:
        """Returns the newest copy of a state as it was before something of it was forgotten, None if there is none."""
        found = self._store().workspace_folder(stack.path).glob("terraform.tfstate.before-forgetting-*")
        return max(found, key=lambda each: each.stat().st_mtime_ns, default=None)

    async def move_state(self, stack: Stack, inputs: CompileInputs | None = None) -> tuple[StateListing, StateMove]:
        """Moves the state to the backend that the stack names now. Raises `Refused` in a read-only session."""
        self._refuse_read_only(stack)
        keeper, request, spec, problem = await self._keeper(stack, inputs)
        moved = await keeper.move_state(request)
        self._told(stack, "move state", moved.record.where)
        return self._kept(stack, moved.record, spec, problem, *await self._released_there(stack)), moved

    async def unlock_state(self, stack: Stack, lock: str, inputs: CompileInputs | None = None) -> None:
        """Takes a lock of the backend away whose holder is gone; `lock` is the id that terraform names."""
        self._refuse_read_only(stack)
        keeper, request, *_ = await self._keeper(stack, inputs)
        await keeper.unlock_state(request, lock)
        self._told(stack, "unlock state", f"lock {lock}")

    async def _keeper(
        self, stack: Stack, inputs: CompileInputs | None
    ) -> tuple[StateKeeper, WorkspacePlanRequest, Spec | None, str]:
        from runtimes.base import Misconfigured, StateKeeper, WorkspacePlanRequest
        from workbench.engine.errors import EngineError
        from workbench.engine.placement import place
        from workbench.engine.workspace import Recorded, desired

        spec: Spec | None = None
        problem = ""
        try:
            spec = place((await self.compile(stack, inputs)).spec, stack.path, None)
            self._secrets |= spec.secrets
        except EngineError as error:
            problem = f"the configuration does not compile: {error.message}"
        opened = await self._workspace().of(stack)
        if not isinstance(opened, StateKeeper):
            raise Misconfigured("has no state that can be looked at", target=TERRAFORM_PLACE)
        if spec is None:
            return opened, WorkspacePlanRequest(()), None, problem
        return opened, (await desired(spec, {})).request(spec, Recorded()), spec, problem

    async def _released_there(self, stack: Stack) -> tuple[Collection[ResourceId], str]:
        """Returns what the last release made in the workspace, and why that is not known, empty where it is."""
        from runtimes.base import RuntimeFailure
        from workbench.engine.errors import ReleaseFailure
        from workbench.engine.release import in_workspace

        try:
            history = await self.history(stack)
        except (ReleaseFailure, RuntimeFailure) as error:
            return (), str(error)
        unread = [*(each.message for each in history.problems), *(each.message for each in history.gaps)]
        return tuple(in_workspace(history.latest)), unread[0] if unread else ""

    def _kept(
        self,
        stack: Stack,
        record: StateRecord,
        spec: Spec | None,
        problem: str,
        released: Collection[ResourceId],
        unread: str,
    ) -> StateListing:
        from kcl.records import replace
        from runtimes.base import Resource, RuntimeType
        from workbench.engine.masking import Seal
        from workbench.engine.spec import Spec
        from workbench.engine.state_listing import read
        from workbench.project.masking import read_masking

        name = str(stack.path)
        rules = read_masking(self._root)
        known = Spec(name, (), rules=rules) if spec is None else spec
        resources = tuple(Resource(each.live.id, RuntimeType.TERRAFORM, each.live.body) for each in record.entries)
        sensitive = self._workspace().recorded_sensitive(stack, replace(known, resources=resources))
        seal = Seal.random().knowing(self._secrets | known.secrets, rules)
        return read(record, name, spec, problem, seal, sensitive, released, unread)

    def _refuse_read_only(self, stack: Stack) -> None:
        from workbench.engine.errors import Refused

        if why := self.read_only(stack):
            raise Refused([why], where=stack.name)

    def _told(self, stack: Stack, action: str, detail: str) -> None:
        self.audit().append(
            self._actor(), self._now(), action=action, plan="", target=stack.name, cluster=TERRAFORM_PLACE,
            result="done", detail=detail, reason=self.reason,
        )  # fmt: skip
