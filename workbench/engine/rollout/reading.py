"""What a rollout does to outputs that its own stacks read of each other. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runtimes.base import FieldPath, ListKey
from workbench.engine.changes import Change, Op
from workbench.engine.events import Action
from workbench.engine.plan import Plan
from workbench.engine.reads import Giver, OutputRead
from workbench.engine.rollout.values import Stage
from workbench.engine.stack_order import givers


def untimely(stages: Sequence[Stage], plans: Mapping[str, Plan]) -> Iterator[str]:
    """Says of each stack that goes out before all of what it reads of has: it gets what is there now."""
    when = {stack: [stage for stage in stages if any(one.stack == stack for one in stage.targets)] for stack in plans}
    for stack, plan in plans.items():
        for giver in givers(plan.spec):
            own, others = when[stack], when.get(giver, [])
            if own and others and stages.index(own[0]) < stages.index(others[-1]):
                late = others[-1].name
                yield f"{stack} reads {giver} in stage {own[0].name}, and {giver} still changes in stage {late}"


def overtaken(plans: Mapping[str, Plan]) -> Iterator[str]:
    """Says of each output that one stack of a rollout changes and another one was planned with: that one would halt,
    as it would get something else than was shown."""
    for stack, each in changed_reads(plans):
        yield f"{stack} was planned with {each.output}, which this rollout changes"


def changed_reads(plans: Mapping[str, Plan]) -> Iterator[tuple[str, OutputRead]]:
    """Yields each output that a stack was planned with and that the plan of another one changes."""
    for stack, plan in plans.items():
        for each in plan.spec.reads:
            giving = plans.get(each.output.stack)
            if giving is not None and _changes(giving, each):
                yield stack, each


def _changes(giving: Plan, read: OutputRead) -> bool:
    return any(
        step.address.id == giver.id and _touches(step, giver) for step in giving.steps() for giver in read.value.givers
    )


def _touches(step: Change, giver: Giver) -> bool:
    if step.action is not Action.UPDATE:
        return True
    attribute = _names(giver.path)
    written = [_names(each.path) for each in step.fields if each.op is not Op.KEPT]
    return any(path[: len(attribute)] == attribute[: len(path)] for path in written)


def _names(path: FieldPath) -> list[str]:
    """Returns the names in a path up to the first element of a list."""
    found: list[str] = []
    for step in path:
        if isinstance(step, ListKey) or str(step).isdecimal():
            break
        found.append(str(step))
    return found
