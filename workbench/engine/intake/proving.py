"""That files, before they are written, compile to exactly what was taken in. Pure but for `compile_`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from kcl.tools.imports import literals
from runtimes.base import Resource
from workbench.engine import secret_references
from workbench.engine.changes import Change
from workbench.engine.compiled import CompileInputs
from workbench.engine.diff import same
from workbench.engine.errors import EngineError
from workbench.engine.events import Action
from workbench.engine.intake.concealing import with_options
from workbench.engine.intake.values import FirstPlan, Found, ImportRefused, Intake, Skipped, plain
from workbench.engine.plan import Plan
from workbench.engine.spec import Spec, build

Compile = Callable[[CompileInputs], Awaitable[Spec]]


def sayable(found: Iterable[Found]) -> tuple[list[Found], list[Skipped]]:
    """Returns the objects that a program can say, and those that it can't, each with the reason."""
    taken, skipped = [], []
    for each in found:
        why = _why_not(each)
        if why:
            skipped.append(Skipped(f"{each.id.kind}/{each.id.name}", why))
        else:
            taken.append(each)
    return taken, skipped


def _why_not(found: Found) -> str:
    if not literals.can_be_written(found.body):
        return "it holds a number that KCL has no literal for, or is nested too deeply"
    try:
        secret_references.uses(build([found.body], stack="import"))
    except EngineError as error:
        return f"what it says means something else here: {error.message}"
    return ""


async def prove(intake: Intake, compile_: Compile) -> None:
    """Raises `ImportRefused` where the files do not compile to the objects, `EngineError` where they do not at all."""
    inputs = CompileInputs(options=intake.options, overlay={**intake.files, **intake.appended})
    spec = await compile_(inputs)
    wanted = {each.id: with_options(each.body, intake.options) for each in intake.objects.values()}
    made: Mapping[Any, Resource] = {each.id: each for each in spec}
    for id_, body in wanted.items():
        if id_ not in made or not same(plain(made[id_].attributes), plain(body)):
            raise _differs(id_)
    if len(made) != len(wanted):
        raise _differs(next(each for each in made if each not in wanted))


def first_plan(plan: Plan) -> FirstPlan:
    """Tells apart what only gets the labels of ownership from what changes in any field, is made or taken away."""
    steps = plan.steps()
    claimed = tuple(each for each in steps if _only_claims(each))
    kept = tuple(each for each in plan.changes if each.fields and each not in steps)
    return FirstPlan(plan, claimed, (*(each for each in steps if each not in claimed), *kept))


def _only_claims(change: Change) -> bool:
    return change.action is Action.UPDATE and not change.fields and not change.conflicts


def _differs(id_: Any) -> ImportRefused:
    return ImportRefused(
        "the KCL that was made does not evaluate to the object, so nothing is written",
        where=str(id_),
        hint="this is a bug in the workbench: report the kind and the fields of the object",
    )
