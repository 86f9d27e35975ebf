"""The plans of many stacks, made side by side, and what there is to say of those that can't be planned."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

import anyio

from kcl.records import replace
from runtimes.base import Address, KubernetesId, RuntimeFailure
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.events import Action
from workbench.engine.fleet_plan.values import Deferred, FleetPlan, Unplanned
from workbench.engine.outputs import OutputsUnavailable, uses
from workbench.engine.plan import Plan
from workbench.engine.pruning import without_version
from workbench.engine.secret_options import withheld
from workbench.engine.spec import Spec
from workbench.engine.stack_order import StackCycle, givers, readings_of, refuse_cycle, refuse_order_cycle
from workbench.project import Stack, WorkbenchError
from workbench.words import few

T = TypeVar("T")

_NAMED = 3
AT_ONCE = 4
"""Stacks that are planned, or applied, at a time."""

Compiling = Callable[[Stack], Awaitable[CompiledStack]]


class Stacks(Protocol):
    """What is asked of stacks to plan them."""

    async def plan(self, stack: Stack) -> Plan:
        """Raises `WorkbenchError` or `RuntimeFailure`."""

    async def compile(self, stack: Stack) -> CompiledStack: ...

    def is_declared(self, spec: Spec) -> bool:
        """Tells whether every output that a Spec reads is one that its stack declares."""

    async def is_unfinished(self, stack: str) -> bool:
        """Tells whether the last release of a stack did not end well, so that nobody knows what it gives."""


async def make(
    chosen: Sequence[Stack],
    stacks: Stacks,
    inputs: CompileInputs,
    made_at: datetime,
    salt: bytes,
    *,
    skip: Collection[str] = (),
    backwards: bool = False,
) -> FleetPlan:
    """Plans each stack but those skipped. What can't be planned is in the result, and refuses it.

    A stack that reads an output which has no value yet is deferred, if a stack of the same plan is to give it. The
    plans of one that goes `backwards` do not follow the configuration.
    """
    names = {each.name: each for each in chosen}
    skipped = tuple(each for each in names if each in skip)
    todo = [each for name, each in names.items() if name not in skip]
    waiting: dict[str, tuple[Spec, tuple[str, ...]]] = {}

    async def one(name: str) -> Plan | Unplanned:
        stack = names[name]
        try:
            return await stacks.plan(stack)
        except OutputsUnavailable as error:
            try:
                spec = (await stacks.compile(stack)).spec
            except WorkbenchError as other:
                return _unplanned(name, other)
            if stacks.is_declared(spec):
                waiting[name] = spec, error.stacks
            return _unplanned(name, error)
        except (WorkbenchError, RuntimeFailure) as error:
            return _unplanned(name, error)

    made = await side_by_side([each.name for each in todo], one)
    contested = {} if backwards else _contested({name: each for name, each in made.items() if isinstance(each, Plan)})
    made |= contested
    plans = {name: found for name, found in made.items() if isinstance(found, Plan)}
    waiting = {name: waiting[name] for name in names if name in waiting}  # asked side by side, they end in any order
    lacking = {each for _, stacks_ in waiting.values() for each in stacks_ if each in plans}
    giving = {each for each in lacking if not plans[each].is_empty or await stacks.is_unfinished(each)}
    deferred = _deferred(waiting, giving, names, inputs, salt)
    unplanned = [each for each in made.values() if isinstance(each, Unplanned) and each.stack not in deferred]
    fleet = FleetPlan(plans, inputs, made_at, salt, deferred, tuple(unplanned), skipped)
    ordering = _backwards if backwards else _with_order
    return _with_declared_order(await ordering(fleet, names, stacks.compile), names)


async def side_by_side(names: Sequence[str], work: Callable[[str], Awaitable[T]]) -> dict[str, T]:
    """Returns what comes of each, in the order of the names; some at a time. Raises the first error of one."""
    found: dict[str, T] = {}
    failed: list[WorkbenchError | RuntimeFailure] = []
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def one(name: str) -> None:
        async with limit:
            try:
                found[name] = await work(name)
            except (WorkbenchError, RuntimeFailure) as error:
                failed.append(error)

    async with anyio.create_task_group() as tasks:
        for each in names:
            tasks.start_soon(one, each)
    if failed:
        raise failed[0]
    return {each: found[each] for each in names}


async def _backwards(fleet: FleetPlan, stacks: Mapping[str, Stack], compile_: Compiling) -> FleetPlan:
    """Returns a plan that goes back, in the order of what the configuration reads now: a record does not say it."""
    reads: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    for name in fleet.plans:
        try:
            own = readings_of((await compile_(stacks[name])).spec)
        except WorkbenchError as error:
            notes.append(f"what {name} reads of other stacks is not known, so that it is taken first: {error.message}")
        else:
            reads[name] = tuple(each for each in own if each in fleet.plans)
    return replace(fleet, reads={each: found for each, found in reads.items() if found}, notes=tuple(notes))


async def _with_order(fleet: FleetPlan, stacks: Mapping[str, Stack], compile_: Compiling) -> FleetPlan:
    """Returns a plan with what its stacks read of each other."""
    reads = {
        stack: tuple(each for each in givers(plan.spec) if each in fleet.stacks) for stack, plan in fleet.plans.items()
    }
    reads |= {
        stack: tuple(dict.fromkeys(_giver(each) for each in deferred.outputs if _giver(each) in fleet.stacks))
        for stack, deferred in fleet.deferred.items()
    }
    configurations = {}
    for stack, plan in fleet.plans.items():
        if reads[stack]:
            configurations[stack] = (await compile_(stacks[stack])).spec.digest(plan.salt)
    return replace(fleet, reads={each: found for each, found in reads.items() if found}, configurations=configurations)


def _with_declared_order(fleet: FleetPlan, stacks: Mapping[str, Stack]) -> FleetPlan:
    """Returns a plan with what its stacks say that they come after. Raises `OrderCycle`."""
    after = {name: tuple(each for each in stacks[name].after if each in fleet.stacks) for name in fleet.stacks}
    ordered = replace(fleet, after={name: each for name, each in after.items() if each})
    refuse_order_cycle(ordered.needs, ordered.after, {name: str(each.directory) for name, each in stacks.items()})
    return ordered


def _contested(plans: Mapping[str, Plan]) -> dict[str, Unplanned]:
    """Returns the stacks that would delete what another stack of the plan has, as where one stack is split into two.

    Side by side one of both fails, or the object is gone that was just taken over. Once the other stack has it, its
    labels say so, and this one leaves it alone. What Terraform has is in the state of one stack.
    """
    having: dict[tuple[str, tuple[str, ...]], str] = {}
    for name, plan in plans.items():
        for each in plan.changes:
            if each.action not in (Action.DELETE, Action.FORGET) and isinstance(each.address.id, KubernetesId):
                having[_key(each.address)] = name
    found: dict[str, Unplanned] = {}
    for name, plan in plans.items():
        lost = [each for each in plan.changes if each.action is Action.DELETE and _key(each.address) in having]
        if lost:
            others = few(list(dict.fromkeys(having[_key(each.address)] for each in lost)), _NAMED)
            what = few([f"{each.address.id}@{each.address.cluster}" for each in lost], _NAMED)
            said = f"it would delete {what}, which {others} of this plan has"
            found[name] = Unplanned(
                name, said, hint=f"apply {others} first: {name} leaves alone what another stack took over"
            )
    return found


def _key(address: Address) -> tuple[str, tuple[str, ...]]:
    """The version that an object is configured in is no other object."""
    return address.cluster, without_version(address.id)


def _giver(output: str) -> str:
    return output.rpartition("/")[0]


def _deferred(
    waiting: Mapping[str, tuple[Spec, tuple[str, ...]]],
    giving: Collection[str],
    stacks: Mapping[str, Stack],
    inputs: CompileInputs,
    salt: bytes,
) -> dict[str, Deferred]:
    """Returns those that lack only outputs which the plan itself brings about; a circle is left to whoever names it."""
    readings = {stack: readings_of(spec) for stack, (spec, _) in waiting.items()}
    try:
        refuse_cycle(readings)
    except StackCycle:
        return {}
    found: dict[str, Deferred] = {}
    is_news = True
    while is_news:  # a stack that waits for one that is deferred is deferred too
        is_news = False
        for stack, (spec, lacking) in waiting.items():
            if stack not in found and all(each in found or each in giving for each in lacking):
                found[stack] = deferred_of(stacks[stack], spec, inputs, salt)
                is_news = True
    return found


def deferred_of(stack: Stack, spec: Spec, inputs: CompileInputs, salt: bytes) -> Deferred:
    """Returns a stack that can't be planned yet; `salt` is that of its digest."""
    outputs = dict.fromkeys(f"{each.output.stack}/{each.output.name}" for each in uses(spec))
    return Deferred(
        stack.name,
        tuple(outputs),
        spec.digest(salt),
        len(spec.resources),
        tuple(stack.clusters),
        protected=stack.placement is not None and stack.placement.protected,
        withheld=frozenset(withheld(spec, inputs.options)),
    )


def _unplanned(stack: str, error: WorkbenchError | RuntimeFailure) -> Unplanned:
    where = error.where if isinstance(error, WorkbenchError) else ""
    return Unplanned(stack, error.message, where, error.hint)
