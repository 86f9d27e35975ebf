"""Plans → a schedule: which targets change, and in which batch of which stage. Pure.

Targets of a stage go cluster by cluster, in the order of the stages' globs: what is wrong shows itself in one cluster
before it is in the next. A stack that reads outputs of another one comes after it. What belongs to no component comes
along with the components that need it, and else with the last batch that its stack is in; only where nothing else
changes in its cluster it is a target of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from kcl.records import dataclass
from runtimes.base import Address
from workbench.engine.changes import Change
from workbench.engine.events import Action
from workbench.engine.place_kinds import CLUSTER
from workbench.engine.placement import component
from workbench.engine.plan import Plan
from workbench.engine.rollout.values import Stage, Target
from workbench.engine.stack_order import givers, ranks
from workbench.project.rollout import StageRule

_AWAY = frozenset({Action.DELETE, Action.FORGET})


@dataclass(frozen=True, slots=True)
class Schedule:
    """`left_out` are targets that change, and are in no stage."""

    stages: tuple[Stage, ...]
    left_out: tuple[Target, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(each for stage in self.stages for each in stage.targets)


def make_schedule(rules: Sequence[StageRule], plans: Mapping[str, Plan]) -> Schedule:
    """Returns the order in which what the plans would change goes out; `plans` by stack, in the order of stacks."""
    open_ = {each: None for plan in plans.values() for each in changed_targets(plan)}
    rank = ranks(plans, {stack: givers(plan.spec) for stack, plan in plans.items()})
    stages: list[Stage] = []
    for rule in rules:
        own = [each for each in open_ if rule.concerns(each.stack) and rule.has(each.cluster, each.component)]
        for each in own:
            del open_[each]
        stages.append(_stage(rule, _spread(own, rank)))
    return Schedule(tuple(stages), tuple(open_))


def changed_targets(plan: Plan) -> Iterator[Target]:
    """Yields the targets that a plan changes, in the order of their first step."""
    seen: set[Target] = set()
    for each in plan.steps():
        if (target := target_of(plan.stack, each)) is not None and target.component and target not in seen:
            seen.add(target)
            yield target
    # what belongs to no component, where no component changes that it would come along with
    with_components = {each.cluster for each in seen}
    for each in plan.steps():
        if each.address.cluster not in with_components and not _goes(each):
            with_components.add(each.address.cluster)
            yield Target(plan.stack, each.address.cluster, "")


def target_of(stack: str, change: Change) -> Target | None:
    """Returns the target that a resource is of; None for what goes away, which is done last."""
    if _goes(change):
        return None
    return Target(stack, change.address.cluster, component_of(change))


def _goes(change: Change) -> bool:
    return change.action in _AWAY


def component_of(change: Change) -> str:
    if not CLUSTER.holds(change.address.id) or change.resource is None:
        return ""
    return component(change.resource.attributes)


def chosen(plan: Plan, targets: Iterable[Target], *, is_last: bool) -> frozenset[Address]:
    """Returns the steps of a plan that a batch takes: those of its targets, and what these need.

    `is_last`: the stack is in no later batch, so that everything goes that is left of it. What Terraform does is done
    as a whole, with the first batch of its stack.
    """
    if is_last:
        return frozenset(each.address for each in plan.steps())
    wanted = frozenset(targets)
    todo = [each.address for each in plan.steps() if target_of(plan.stack, each) in wanted]
    if todo:
        todo += [each.address for each in plan.steps() if each.address.cluster == plan.workspace and not _goes(each)]
    found: set[Address] = set()
    while todo:
        each = todo.pop()
        if each not in found:
            found.add(each)
            todo += plan.needs[each]
    return frozenset(found)


def watched(plan: Plan, targets: Iterable[Target]) -> tuple[Address, ...]:
    """Returns everything of these targets, changed or not: all of it has to be ready."""
    wanted = frozenset(targets)
    return tuple(each.address for each in plan.changes if target_of(plan.stack, each) in wanted)


def _spread(targets: Iterable[Target], rank: Mapping[str, int]) -> list[Target]:
    """A stack comes after those whose outputs it reads, in all clusters."""
    clusters: dict[tuple[int, str], list[Target]] = {}
    for each in targets:
        clusters.setdefault((rank[each.stack], each.cluster), []).append(each)
    ordered = sorted(clusters.items(), key=lambda item: item[0][0])
    return [each for _, own in ordered for each in own]


def _stage(rule: StageRule, targets: Sequence[Target]) -> Stage:
    ends = [0, *(each.of(len(targets)) for each in rule.batches)]
    batches = tuple(tuple(targets[begin:end]) for begin, end in pairwise(_growing(ends)) if begin < end)
    return Stage(
        rule.name,
        batches,
        max(1, rule.max_unavailable.of(len(targets))),
        rule.ready_seconds,
        rule.needs_approval,
        rule.timeout_seconds,
    )


def _growing(ends: Iterable[int]) -> Iterator[int]:
    """Batches said in numbers and in percent may overtake each other where there are few targets."""
    most = 0
    for each in ends:
        most = max(most, each)
        yield most


def last_batches(stages: Sequence[Stage]) -> Mapping[str, tuple[str, int]]:
    """Returns for each stack the stage and batch that it is in last."""
    return {
        target.stack: (stage.name, number)
        for stage in stages
        for number, batch in enumerate(stage.batches)
        for target in batch
    }


def by_stack(targets: Iterable[Target]) -> Mapping[str, tuple[Target, ...]]:
    found: dict[str, list[Target]] = {}
    for each in targets:
        found.setdefault(each.stack, []).append(each)
    return {stack: tuple(own) for stack, own in found.items()}


def counted(targets: Iterable[Target]) -> str:
    """Says how many targets there are, and over how many clusters."""
    every = tuple(targets)
    clusters = Counter(each.cluster for each in every)
    return f"{len(every)} target{'s' if len(every) != 1 else ''} in {', '.join(clusters) or 'no cluster'}"
