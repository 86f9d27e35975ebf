"""Whether the plan of a stack, made again in the course of a run, is what was approved. Pure.

Raises `StalePlan`, which names each thing that is otherwise, or `Refused` for what nobody confirmed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kcl.records import replace
from runtimes.base import KubernetesId
from workbench.engine.changes import Change
from workbench.engine.errors import MovedObject, Refused, StalePlan
from workbench.engine.events import Action
from workbench.engine.fleet_plan.values import Approved, Deferred, reasons_of
from workbench.engine.plan import Plan
from workbench.engine.plan_file import states_of

_HARMLESS = frozenset({Action.NONE, Action.CREATE, Action.UPDATE})


def hold(approved: Approved, plan: Plan, configuration: str, late: Collection[str]) -> None:
    """Holds a stack that reads outputs to what was approved: but for the fields that read those that are `late`, which
    may update what they are in, all is the same."""
    if plan.id == approved.saved.id and plan.prior == approved.saved.prior:
        return
    moved: list[MovedObject] = []
    if configuration != approved.configuration:
        moved.append(MovedObject(None, "the configuration compiles to something else now"))
    if plan.prior != approved.saved.prior:
        moved.append(MovedObject(None, f"release {plan.prior} is the last one now, it was {approved.saved.prior}"))
    moved += _moved(approved.saved.objects, plan, _readers(plan, late))
    _refuse(plan, approved.reasons)
    if moved:
        raise StalePlan(moved, where=plan.stack)


def hold_rest(approved: Approved, plan: Plan, configuration: str, late: Collection[str]) -> None:
    """Holds a stack that the run had begun to what is left of it: each step is one that was approved, of an object that
    is as it was then, and the configuration is the same. Outputs that are `late` are as for `hold`."""
    moved: list[MovedObject] = []
    is_same = configuration == approved.configuration if late else plan.spec.digest(plan.salt) == approved.saved.spec
    if not is_same:
        moved.append(MovedObject(None, "the configuration, or what it reads, is something else now"))
    now, readers = states_of(plan), _readers(plan, late)
    for each in plan.steps():
        then, found = approved.saved.objects.get(str(each.address)), now[str(each.address)]
        if then != found and not _follows(each, then, found, readers):
            moved.append(MovedObject(each.address, "is to be changed otherwise than was approved"))
    _refuse(plan, approved.reasons)
    if moved:
        raise StalePlan(moved, where=plan.stack)


def hold_deferred(deferred: Deferred, plan: Plan, configuration: str) -> None:
    """Holds a stack that could not be planned before to its configuration, creating and updating alone."""
    if configuration != deferred.configuration:
        moved = MovedObject(None, "the configuration compiles to something else now")
        raise StalePlan([moved], where=plan.stack)
    more = [f"{each.action.value} {each.address}" for each in plan.steps() if each.action not in _HARMLESS]
    if more:
        raise Refused(
            [f"nobody confirmed that {', '.join(more)}"], where=plan.stack, hint=f"wb plan {plan.stack} shows it"
        )
    _refuse(plan, deferred.reasons)


def _readers(plan: Plan, late: Collection[str]) -> frozenset[str]:
    """Returns the ids of the resources that read these outputs, as they are before they are placed."""
    late_reads = [each for each in plan.spec.reads if str(each.output) in late]
    return frozenset(field.rpartition(" of ")[2] for each in late_reads for field in each.fields)


def _refuse(plan: Plan, confirmed: Collection[str]) -> None:
    if plan.is_refused:
        failed = [each for each in plan.guards if not each.passed]
        failed = [each for each in failed if not each.is_unknown] or failed
        raise Refused([f"{each.name}: no ({each.message})" for each in failed], where=plan.stack)
    if news := [each for each in reasons_of(plan) if each not in confirmed]:
        raise Refused(
            [f"nobody confirmed that {'; '.join(news)}"], where=plan.stack, hint=f"wb plan {plan.stack} shows it"
        )


def _moved(before: Mapping[str, list[str]], plan: Plan, readers: Collection[str]) -> Iterator[MovedObject]:
    now = states_of(plan)
    changes = {str(each.address): each for each in plan.changes}
    for name in sorted(now.keys() | before.keys()):
        then, found, change = before.get(name), now.get(name), changes.get(name)
        if then == found or (change is not None and _follows(change, then, found, readers)):
            continue
        yield MovedObject(change.address if change else None, "changed" if change else f"{name} changed")


def _follows(change: Change, then: list[str] | None, found: list[str] | None, readers: Collection[str]) -> bool:
    """Whether a change is otherwise only by what it reads: the object is the same, and updated at most."""
    id_ = change.address.id
    # a placement may have given the namespace, after the outputs were read
    bare = replace(id_, namespace="") if isinstance(id_, KubernetesId) else id_
    if then is None or found is None or not {str(id_), str(bare)} & set(readers):
        return False
    (action, *same), (action_now, *same_now) = then[:3], found[:3]
    return same == same_now and (action_now == action or {action, action_now} <= {Action.NONE, Action.UPDATE})
