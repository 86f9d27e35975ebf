"""Rolling a change out over stacks, clusters and components, and back."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.session.changing import Changing
from workbench.session.watching import Watching

if TYPE_CHECKING:
    from runtimes.base import Address
    from workbench.engine.compile import CompileInputs
    from workbench.engine.execute import Applying
    from workbench.engine.plan import Plan
    from workbench.engine.rollout.execute import RolloutRun
    from workbench.engine.rollout.planned import PlannedRollout
    from workbench.engine.rollout.progress import Progress
    from workbench.engine.rollout.values import Ask, Record
    from workbench.engine.status import StatusTree
    from workbench.release.rollouts import RolloutStore, Unreadable

_ID_BYTES, _SALT_BYTES = 4, 32


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

    def begin_rollout(self, planned: PlannedRollout, *, confirm: str = "") -> str:
        """Records a rollout as it was planned, and returns its id; `rollout` carries it out.

        Raises `Refused`, `ConfirmationRequired` or `ReleaseFailure`. Nothing is written to a cluster.
        """
        from workbench.engine.rollout.planned import refuse_overlapping
        from workbench.engine.scrubbing import scrubbed

        planned.approve(confirm)
        refuse_overlapping(self.rollouts(), planned)
        reason = self.reason
        for each in planned.plans.values():
            reason = scrubbed(reason, each.spec.secrets, each.spec.rules)
        id_ = f"r-{secrets.token_hex(_ID_BYTES)}"
        actor = self._actor()
        began = planned.began(
            id_, self._now(), user=actor.user, host=actor.host, reason=reason, salt=secrets.token_bytes(_SALT_BYTES)
        )
        self._rollouts().begin(began)
        self.audit().append(
            actor,
            self._now(),
            action="rollout",
            plan=id_,
            target=", ".join(planned.plans),
            reason=reason,
            confirm=confirm,
        )
        return id_

    def rollouts(self) -> Iterable[Progress | Unreadable]:
        """Yields where each rollout of this repository stands that was begun on this machine, the newest first."""
        return self._rollouts().all()

    def rollout_progress(self, id_: str) -> Progress:
        """Raises `ReleaseFailure` where there is no such rollout, or none that can be read."""
        return self._rollouts().read(id_)

    def is_rolling_out(self, id_: str) -> bool:
        """Tells whether a process of this machine carries it out now."""
        return self._rollouts().is_running(id_)

    def ask_rollout(self, id_: str, what: Ask, *, stage: str = "") -> Progress:
        """Has a rollout pause before its next batch, go on, begin a stage, or never go on; returns where it stands.

        Raises `Refused` where that cannot be, `ReleaseFailure` where it cannot be recorded.
        """
        from workbench.engine.rollout.planned import refuse_asking
        from workbench.engine.rollout.values import Asked
        from workbench.engine.scrubbing import scrubbed
        from workbench.project.masking import read_masking

        actor, now = self._actor(), self._now()
        refuse_asking(self._rollouts().read(id_), what, stage, is_read_only=self.settings.is_read_only)
        self.audit().append(actor, now, action=f"rollout {what.value}", plan=id_, target=stage, reason=self.reason)
        reason = scrubbed(self.reason, self._secrets, read_masking(self._root))
        self._rollouts().add(id_, Asked(now, what, actor.user, actor.host, reason, stage))
        return self._rollouts().read(id_)

    @asynccontextmanager
    async def rollout(self, id_: str, inputs: CompileInputs | None = None) -> AsyncIterator[RolloutRun]:
        """Carries a rollout out from where it stands; `inputs` are those it was planned with.

        What is yielded is iterated for events and can be interrupted. It ends where the rollout is finished, halts,
        waits for an approval, or is paused: `rollout_progress` says which. Raises `Locked` while another process of
        this machine carries it out.
        """
        from workbench.engine.rollout.execute import execute

        actor = self._actor()
        with self._rollouts().running(id_):
            stacks = _Stacks(self, id_, inputs)
            async with execute(
                _Log(self._rollouts(), id_), stacks, self._now, user=actor.user, host=actor.host
            ) as events:
                yield events

    def record_rollback(self, id_: str, stack: str, revision: int) -> None:
        """Takes note that a stack has again what it had before the rollout; raises `ReleaseFailure`."""
        from workbench.engine.rollout.values import RolledBack

        self._rollouts().add(id_, RolledBack(self._now(), stack, revision))

    def _rollouts(self) -> RolloutStore:
        from workbench.release.rollouts import RolloutStore

        return RolloutStore(self._settings.state_dir, self._root)


@dataclass(frozen=True, slots=True)
class _Log:
    store: RolloutStore
    id: str

    def read(self) -> Progress:
        return self.store.read(self.id)

    def add(self, record: Record) -> None:
        self.store.add(self.id, record)


@dataclass(frozen=True, slots=True)
class _Stacks:
    """What a rollout asks of its stacks, asked of a session. What it applies was confirmed when it began."""

    session: RollingOut
    id: str
    inputs: CompileInputs | None

    async def plan(self, stack: str) -> Plan:
        return await self.session.plan(self.session.select(stack), self.inputs)

    def apply(self, plan: Plan) -> AbstractAsyncContextManager[Applying]:
        return self.session.apply(plan, confirm=plan.confirmation.phrase, rollout=self.id)

    def watch(self, plan: Plan, addresses: Sequence[Address]) -> AbstractAsyncContextManager[AsyncIterator[StatusTree]]:
        return self.session.watch(self.session.select(plan.stack), spec=plan.spec, addresses=addresses)
