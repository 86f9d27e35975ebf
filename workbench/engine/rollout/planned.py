"""A rollout before it begins: its schedule, the plans behind it, what speaks against it, what has to be confirmed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

import anyio

from kcl.records import dataclass
from runtimes.base import RuntimeFailure
from workbench.engine.errors import ConfirmationRequired, Refused
from workbench.engine.plan import Confirmation, Level, Plan
from workbench.engine.rollout.progress import Phase, Progress
from workbench.engine.rollout.reading import overtaken, untimely
from workbench.engine.rollout.schedule import Schedule, make_schedule
from workbench.engine.rollout.values import Ask, Began, Part
from workbench.engine.stack_order import givers
from workbench.project import WorkbenchError
from workbench.project.rollout import StageRule

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class PlannedRollout:
    """`plans` has every stack of the stages, those without a change too; `outside` are stacks asked for in no stage."""

    schedule: Schedule
    plans: Mapping[str, Plan]
    outside: tuple[str, ...] = ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is not in the order that the stages say."""
        return tuple(untimely(self.schedule.stages, self.plans))

    @property
    def overtaken(self) -> tuple[str, ...]:
        """Which outputs its stacks read of each other it changes itself."""
        return tuple(overtaken(self.plans))

    @property
    def is_empty(self) -> bool:
        return not self.schedule.targets

    @property
    def is_certain(self) -> bool:
        return all(each.is_certain for each in self.plans.values())

    @property
    def refused(self) -> tuple[Plan, ...]:
        return tuple(each for each in self.plans.values() if each.is_refused)

    @property
    def confirmation(self) -> Confirmation:
        """One for all of it: the phrase names how much changes, where any of its plans needs one."""
        if self.is_empty:
            return Confirmation(Level.NOTHING)
        reasons = tuple(f"{stack}: {reason}" for stack, plan in self.plans.items() for reason in _reasons(plan))
        count = len(self.schedule.targets)
        said = f"{count} target{'s' if count != 1 else ''}"
        if reasons:
            return Confirmation(Level.PHRASE, f"roll out to {said}", reasons)
        return Confirmation(Level.YES, "yes", (said,))

    def approve(self, confirm: str) -> None:
        """Raises `Refused` or `ConfirmationRequired`."""
        if refused := self.refused:
            raise Refused(
                [
                    f"{plan.stack}: {guard.name}: no ({guard.message})"
                    for plan in refused
                    for guard in plan.guards
                    if not guard.passed
                ],
                hint="put it right and plan again",
            )
        if said := self.overtaken:
            given = {name for each in self.plans.values() for name in givers(each.spec)}
            first = ", ".join(each for each in self.plans if each in given)
            raise Refused(said, hint=f"roll out first, by itself: {first}")
        if self.is_empty:
            raise Refused(["nothing changes in any stage: there is nothing to roll out"])
        wanted = self.confirmation
        if confirm.strip() != wanted.phrase:
            raise ConfirmationRequired(wanted.phrase, "; ".join(wanted.reasons))

    def began(self, id_: str, at: datetime, *, user: str, host: str, reason: str, salt: bytes) -> Began:
        """Returns the record it begins with: of stacks that have a target. Where they are claimed is said later."""
        concerned = {each.stack for each in self.schedule.targets}
        parts = {
            stack: Part(plan.prior, plan.spec.digest(salt), _reasons(plan))
            for stack, plan in self.plans.items()
            if stack in concerned
        }
        left_out = tuple(each for each in self.schedule.left_out if each.stack in concerned)
        return Began(at, id_, user, host, reason, self.schedule.stages, left_out, parts, salt)


async def plan_rollout(
    rules: Sequence[StageRule], stacks: Sequence[str], plan: Callable[[str], Awaitable[Plan]]
) -> PlannedRollout:
    """Plans each of the stacks; raises the first error that one of them has."""
    plans: dict[str, Plan] = {}
    failed: list[Exception] = []
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def one(stack: str) -> None:
        async with limit:
            try:
                plans[stack] = await plan(stack)
            except (WorkbenchError, RuntimeFailure) as error:
                failed.append(error)

    async with anyio.create_task_group() as tasks:
        for each in stacks:
            tasks.start_soon(one, each)
    if failed:
        raise failed[0]
    ordered = {each: plans[each] for each in stacks}
    return PlannedRollout(make_schedule(rules, ordered), ordered)


def refuse_asking(at: Progress, what: Ask, stage: str, *, is_read_only: bool) -> None:
    """Raises `Refused` where asking that of a rollout makes no sense, or may not be."""
    if at.has_ended:
        raise Refused([f"rollout {at.began.id} is {at.phase.value}: it goes on no more"], hint="wb rollout start")
    if is_read_only and what is not Ask.PAUSE:
        raise Refused(["this session is read-only (WB_READONLY, or an untrusted repository)"])
    if what is Ask.APPROVE:
        names = [each.name for each in at.began.stages if each.needs_approval]
        if stage not in names:
            known = ", ".join(names) or "none does"
            raise Refused([f"no stage {stage!r} needs an approval; those that do: {known}"])
        if stage in at.approved:
            raise Refused([f"stage {stage} is approved already, by {at.approved[stage].user}"])
    if what is Ask.RESUME and at.phase is Phase.WAITING:
        following = at.next()
        name = following.stage.name if following else ""
        raise Refused([f"stage {name} waits for an approval"], hint=f"wb rollout approve {name} {at.began.id}")


def _reasons(plan: Plan) -> tuple[str, ...]:
    return plan.confirmation.reasons if plan.confirmation.level is Level.PHRASE else ()
