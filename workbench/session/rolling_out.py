"""Rolling a change out over stacks, clusters and components, and back."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import dataclass, replace
from workbench.project import Stack, WorkbenchError
from workbench.session.changing import Changing
from workbench.session.watching import Watching

if TYPE_CHECKING:
    from runtimes.base import Address
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.execute import Applying
    from workbench.engine.plan import Plan
    from workbench.engine.rollout.execute import RolloutRun
    from workbench.engine.rollout.planned import PlannedRollout
    from workbench.engine.rollout.progress import Progress
    from workbench.engine.rollout.values import Ask
    from workbench.engine.status import StatusTree
    from workbench.release.contract import HeldLock
    from workbench.release.rollout_listing import RolloutEntry, RolloutListing
    from workbench.release.shared import ReleasePlaces

_ID_BYTES, _SALT_BYTES = 4, 32
_STACKS_AT_ONCE = 4


class RollingOut(Changing, Watching):
    """See `workbench.engine.rollout`."""

    async def plan_rollout(
        self, *globs: str, file: str | Path | None = None, inputs: CompileInputs | None = None
    ) -> PlannedRollout:
        """Plans the stacks that the stages of `rollout.yaml` name, and says what goes out in which order.

        `globs` choose among those stacks: one that is named and in no stage is `Refused`, one that a glob only covers
        is said. `file` names another file of stages. Writes nothing. Raises as `plan` does,
        and `BrokenFile` for the stages.
        """
        from workbench.engine.errors import Refused
        from workbench.engine.rollout.planned import plan_rollout
        from workbench.project.rollout import ROLLOUT_FILE, read_rollout, refuse_unmatched

        rules = read_rollout(self._root, self._file(Path(file)) if file is not None else None)
        tree = self.tree()
        refuse_unmatched(rules, (str(each.path) for each in tree.stacks()))
        wanted = [str(each.path) for each in (self.choose(*globs) if globs else tree.stacks())]
        every = [each for each in wanted if any(rule.concerns(each) for rule in rules)]
        outside = tuple(each for each in wanted if globs and each not in every)
        if missed := [each for each in outside if each in globs or not every]:
            hint = f"take it into a stage of {ROLLOUT_FILE}, or apply it by itself"
            raise Refused([f"{each} is in no stage" for each in missed], hint=hint)

        async def plan(stack: str) -> Plan:
            return await self.plan(self.select(stack), inputs)

        return replace(await plan_rollout(rules, every, plan), outside=outside)

    async def begin_rollout(self, planned: PlannedRollout, *, confirm: str = "", reason: str = "") -> str:
        """Records a rollout as it was planned, and returns its id; `rollout` carries it out.

        `reason` is recorded instead of the session's.

        Raises `Refused`, also where another rollout of one of the stacks has not ended, on whatever machine, or nobody
        can tell; `ConfirmationRequired`, `ReleaseFailure` or `RuntimeFailure`. No stack is changed.
        """
        from workbench.engine.errors import ReleaseFailure
        from workbench.engine.scrubbing import scrubbed

        planned.approve(confirm)
        reason = reason or self.reason
        for each in planned.plans.values():
            reason = scrubbed(reason, each.spec.secrets, each.spec.rules)
        id_ = f"r-{secrets.token_hex(_ID_BYTES)}"
        actor = self._actor()
        began = planned.began(
            id_, self._now(), user=actor.user, host=actor.host, reason=reason, salt=secrets.token_bytes(_SALT_BYTES)
        )
        rollouts = self._rollouts()
        homes = await rollouts.homes(self._goes_of(planned.plans[each]) for each in began.parts)
        await rollouts.begin(replace(began, homes=homes))
        target = ", ".join(planned.plans)
        try:
            self.audit().append(
                actor, self._now(), action="rollout", plan=id_, target=target, reason=reason, confirm=confirm
            )
        except ReleaseFailure as error:
            error.hint = f"{error.hint}; it is begun: wb rollout resume {id_} goes on, wb rollout abort {id_} ends it"
            raise
        return id_

    async def rollouts(self) -> RolloutListing:
        """Returns all rollouts of this repository that are known, and which places did not say what they have."""
        return await self._rollouts().all()

    async def find_rollout(self, id_: str) -> RolloutEntry:
        """Returns a rollout, where it is kept and who carries it out.

        Raises `ReleaseFailure` where there is none, or none that can be read, or where nobody can tell. Of one whose
        record is gone, it says which releases it made.
        """
        from workbench.release.rollout_listing import NoSuchRollout

        try:
            return await self._rollouts().find(id_)
        except NoSuchRollout as error:
            await self._refuse_vanished(id_)
            raise error

    async def _refuse_vanished(self, id_: str) -> None:
        """Raises `ReleaseFailure` where releases say that a rollout ran of which there is no record any more."""
        import anyio

        from workbench.engine.errors import ReleaseFailure
        from workbench.words import few

        made: list[str] = []
        limiter = anyio.CapacityLimiter(_STACKS_AT_ONCE)

        async def look(stack: Stack) -> None:
            async with limiter:
                try:
                    releases = (await self.history(stack)).releases()
                except (WorkbenchError, RuntimeFailure):
                    return  # what can't be read says nothing of it
            made.extend(
                f"{stack.path} #{each.revision} ({each.phase.value}, {each.started:%Y-%m-%d %H:%M} UTC)"
                for each in releases
                if each.rollout == id_
            )

        from runtimes.base import RuntimeFailure

        async with anyio.create_task_group() as tasks:
            for stack in self.tree().stacks():
                tasks.start_soon(look, stack)
        if made:
            raise ReleaseFailure(
                f"the record of rollout {id_} is gone; it made {few(sorted(made), 5)}",
                hint="where it stood is not known, nor whether it had more to do: wb release list STACK says what was "
                "applied, wb rollback STACK goes back",
            )

    async def rollout_progress(self, id_: str) -> Progress:
        """Raises as `find_rollout`."""
        return (await self.find_rollout(id_)).progress

    def is_rolling_out(self, known: RolloutEntry) -> bool:
        """Tells whether somebody carries it out now, as far as that is heard."""
        return known.runner is not None and known.runner.is_heard(self._now())

    async def ask_rollout(self, id_: str, what: Ask, *, stage: str = "") -> Progress:
        """Has a rollout pause before its next batch, go on, begin a stage, or never go on; returns where it stands.

        Whoever carries it out hears of it before its next batch. Raises `Refused` where that cannot be,
        `ReleaseFailure` or `RuntimeFailure` where it cannot be recorded.
        """
        from workbench.engine.rollout.planned import refuse_asking
        from workbench.engine.rollout.values import Asked
        from workbench.engine.scrubbing import scrubbed
        from workbench.project.masking import read_masking

        actor, now, rollouts = self._actor(), self._now(), self._rollouts()
        at = (await rollouts.find(id_)).progress
        refuse_asking(at, what, stage, is_read_only=self.settings.is_read_only)
        self.audit().append(actor, now, action=f"rollout {what.value}", plan=id_, target=stage, reason=self.reason)
        reason = scrubbed(self.reason, self._secrets, read_masking(self._root))
        return await rollouts.add(id_, Asked(now, what, actor.user, actor.host, reason, stage))

    async def unlock_rollout(self, id_: str, holder: str = "") -> str:
        """Takes a rollout from whoever carried it out and is gone; returns who that was, empty for nobody.

        With an empty `holder` it only looks. Raises `Refused` in a read-only session, `Locked` where somebody else
        carries it out, and as `find_rollout`.
        """
        from workbench.engine.errors import Refused

        if holder and self.settings.is_read_only:
            raise Refused(["this session is read-only (WB_READONLY, or an untrusted repository)"])
        held = await self._rollouts().unlock(id_, holder)
        if holder and held:
            self.audit().append(
                self._actor(), self._now(), action="unlock", plan=id_, target=id_, cluster="", result="done",
                detail=f"taken from {holder}", reason=self.reason,
            )  # fmt: skip
        return held

    @asynccontextmanager
    async def rollout(
        self, id_: str, inputs: CompileInputs | None = None, *, reason: str = ""
    ) -> AsyncIterator[RolloutRun]:
        """Carries a rollout out from where it stands; `inputs` are those it was planned with. Its releases have the
        `reason`, or the session's where that is empty.

        What is yielded is iterated for events and can be interrupted. It ends where the rollout is finished, halts,
        waits for an approval, or is paused: `rollout_progress` says which. Raises `Locked` while somebody else carries
        it out, on whatever machine, and `Refused` where another rollout has one of its stacks by now.
        """
        from workbench.engine.rollout.execute import execute

        actor, rollouts = self._actor(), self._rollouts()
        async with rollouts.running(id_) as log:
            stacks = _Stacks(self, id_, inputs, log.lock, reason)
            async with execute(log, stacks, self._now, user=actor.user, host=actor.host) as events:
                yield events
            await rollouts.close(log)

    async def record_rollback(self, id_: str, stack: str, revision: int) -> None:
        """Takes note that a stack has again what it had before the rollout; raises `ReleaseFailure`."""
        from workbench.engine.rollout.values import RolledBack

        await self._rollouts().add(id_, RolledBack(self._now(), stack, revision))

    def _goes_of(self, plan: Plan) -> ReleasePlaces:
        from workbench.destinations import release_places

        ids = [*(each.id for each in plan.spec), *(each.address.id for each in plan.changes)]
        return release_places(self._root, self.select(plan.stack), ids, self._store())


@dataclass(frozen=True, slots=True)
class _Stacks:
    """What a rollout asks of its stacks, asked of a session. What it applies was confirmed when it began."""

    session: RollingOut
    id: str
    inputs: CompileInputs | None
    lock: HeldLock
    """That of the rollout: whoever lost it applies nothing more."""
    reason: str = ""

    async def plan(self, stack: str) -> Plan:
        return await self.session.plan(self.session.select(stack), self.inputs)

    def apply(self, plan: Plan) -> AbstractAsyncContextManager[Applying]:
        return self.session.apply(
            plan,
            confirm=plan.confirmation.phrase,
            rollout=self.id,
            held={self.id: self.lock},
            reason=self.reason,
        )

    def watch(self, plan: Plan, addresses: Sequence[Address]) -> AbstractAsyncContextManager[AsyncIterator[StatusTree]]:
        return self.session.watch(self.session.select(plan.stack), spec=plan.spec, addresses=addresses)
