"""A plan over many stacks for reading: grouped by stack, in order, with its blast radius; and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.engine.fleet_plan.execute import (
    Cause,
    FleetEvent,
    RunEnded,
    StackHalted,
    StackReady,
    StageBegan,
)
from workbench.engine.fleet_plan.values import FleetPlan
from workbench.engine.plan import Level, Plan
from workbench.engine.rollout.execute import Picture, ReadyBut, StackEvent
from workbench.present import documents, plan
from workbench.present.glyphs import Glyphs
from workbench.present.rollout import ready_but_line
from workbench.present.text import Line, Span, Tone, line
from workbench.words import counted

_SHORT_ID = 7


def lines(fleet: FleetPlan, glyphs: Glyphs) -> Iterator[Line]:
    """Yields each stage with its stacks and their steps, what can't be planned, and what is to be confirmed."""
    stages = fleet.stages
    kind = fleet.verb if fleet.goes_back else "plan"
    title = f"  {len(fleet.stacks)} stack{'s' if len(fleet.stacks) != 1 else ''} in {counted(len(stages), 'stage')}"
    yield line(Span(f"{kind} ", Tone.MUTED), Span(fleet.id[:_SHORT_ID], Tone.STRONG), Span(title, Tone.MUTED))
    if fleet.reverts:
        yield line(Span(f"takes back {', '.join(fleet.reverts)}", Tone.STRONG))
    late = fleet.late
    for number, stage in enumerate(stages, 1):
        quiet = [each for each in stage if each in fleet.plans and _is_quiet(fleet.plans[each]) and each not in late]
        yield line(Span(f"stage {number}", Tone.STRONG), Span(f"  {len(stage)}", Tone.MUTED))
        for stack in (each for each in stage if each not in quiet):
            yield from _stack_lines(fleet, stack, glyphs)
        if quiet:
            said = f"nothing to change: {', '.join(quiet)}"
            yield line(Span(f"  {glyphs.good} ", Tone.GOOD), Span(said, Tone.MUTED))
    yield from _doubts(fleet, glyphs)
    yield from _to_confirm(fleet, glyphs)


def _is_quiet(made: Plan) -> bool:
    return made.is_as_configured and not made.is_refused


def _stack_lines(fleet: FleetPlan, stack: str, glyphs: Glyphs) -> Iterator[Line]:
    needs = fleet.needs_of(stack)
    after = Span(f"  after {', '.join(needs)}" if needs else "", Tone.MUTED)
    if (deferred := fleet.deferred.get(stack)) is not None:
        yield line(
            Span(f"  {stack}", Tone.STRONG),
            Span(f"  {counted(deferred.resources, 'resource')} configured", Tone.MUTED),
            after,
        )
        bound = "held to what was confirmed" if deferred.former else "it may create and update, and no more"
        said = f"planned once {', '.join(deferred.outputs)} is known; {bound}"
        yield line(Span(f"    {glyphs.unknown} {said}", Tone.WARN))
        return
    made = fleet.plans[stack]
    yield line(
        Span(f"  {stack}", Tone.STRONG),
        Span(f"  release #{made.prior} {glyphs.arrow} #{made.revision}  ", Tone.MUTED),
        plan.summary(made, glyphs),
        after,
    )
    changes = made.by_address()
    for number, wave in enumerate(made.waves, 1):
        for address in wave:
            yield line(Span(f"  {number:>5} ", Tone.MUTED), plan.step(changes[address]))
    for each in fleet.late.get(stack, ()):
        yield line(Span(f"    {glyphs.unknown} {each}: known after apply; planned again then", Tone.WARN))
    if made.is_refused or not made.is_certain:
        yield from (line("    ", said) for said in plan.guards(made, glyphs, compact=True))
        if made.is_refused:
            yield line(Span(f"    {glyphs.arrow} wb plan {stack} says what to do about it", Tone.MUTED))


def _doubts(fleet: FleetPlan, glyphs: Glyphs) -> Iterator[Line]:
    for each in fleet.unplanned:
        where = f"{each.where}: " if each.where and each.where != each.stack else ""
        yield line(Span(f"{glyphs.bad} {each.stack}: ", Tone.BAD), f"{where}{each.why}")
        if each.hint:
            yield line(Span(f"    {glyphs.arrow} {each.hint}", Tone.MUTED))
    if fleet.skipped:
        yield line(Span(f"{glyphs.going} skipped, so left as they are: {', '.join(fleet.skipped)}", Tone.WARN))
    for note in fleet.notes:
        yield line(Span(f"{glyphs.finding} {note}", Tone.WARN))


def _to_confirm(fleet: FleetPlan, glyphs: Glyphs) -> Iterator[Line]:
    wanted = fleet.confirmation
    if wanted.level is Level.NOTHING:
        if fleet.is_as_configured:
            yield line(Span(f"{glyphs.good} nothing to change in any of {len(fleet.plans)} stacks", Tone.GOOD))
        return
    if wanted.level is Level.PHRASE:
        yield from (line(Span(f"{glyphs.finding} {each}", Tone.WARN)) for each in wanted.reasons[1:])
    yield line(Span("blast radius: ", Tone.MUTED), Span(str(fleet.radius), Tone.STRONG))
    if not fleet.is_refused:
        yield line(Span("to confirm: ", Tone.MUTED), Span(wanted.phrase, Tone.STRONG))


def refusal(fleet: FleetPlan, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what a refused plan means and what to do, to stand after the plan itself."""
    names = [*(each.stack for each in fleet.unplanned), *(each.stack for each in fleet.refused)]
    yield line(Span(f"{glyphs.bad} refused by {', '.join(names)}. Nothing was applied.", Tone.BAD))
    skip = " ".join(f"--skip-stack {each}" for each in names)
    yield line(Span(f"{glyphs.arrow} put it right, or leave out what is named: {skip}", Tone.MUTED))


def event_lines(event: FleetEvent, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what to say of an event; pictures are shown by who follows them."""
    match event:
        case StageBegan(number=number, stacks=stacks):
            yield line(Span(f"stage {number}", Tone.STRONG), Span(f"  {', '.join(stacks)}", Tone.MUTED))
        case StackEvent(stack=stack, event=inner):
            if (said := plan.event_line(inner, glyphs)) is not None:
                yield line(Span(f"  {stack}  ", Tone.MUTED), said)
        case ReadyBut():
            yield ready_but_line(event, glyphs)
        case StackReady(stack=stack, steps=steps, is_gone=is_gone):
            now = "there is nothing of it" if is_gone else "everything is ready"
            done = f"{steps} done, {now}" if steps else f"nothing to do, {now}"
            yield line(Span(f"{glyphs.good} {stack}: ", Tone.GOOD), done)
        case StackHalted(stack=stack, cause=cause, why=why, hint=hint):
            label = "WHY " if cause is Cause.NOT_READY else ""
            yield line(Span(f"{glyphs.bad} {stack} {cause.value}: ", Tone.BAD), Span(label, Tone.STRONG), why)
            if hint:
                yield line(Span(f"    {glyphs.arrow} {hint}", Tone.MUTED))
        case RunEnded(ready=ready, halted=halted, left=left):
            for stack, why in left.items():
                yield line(Span(f"{glyphs.going} {stack} left: ", Tone.WARN), why)
            counts = f"{len(ready)} ready, {len(halted)} halted, {len(left)} left"
            yield line(Span(counts, Tone.GOOD if event.is_whole else Tone.BAD))
        case Picture():
            return


def document(fleet: FleetPlan, root: Path) -> dict[str, Any]:
    wanted, radius = fleet.confirmation, fleet.radius
    return {
        "apiVersion": "wb/v1",
        "kind": "FleetPlan",
        "status": _status(fleet),
        "id": fleet.id,
        "run": fleet.run,
        "madeAt": fleet.made_at.isoformat(),
        "rollsBack": fleet.rolls_back,
        "destroys": fleet.destroys,
        "reverts": list(fleet.reverts),
        "stages": [list(each) for each in fleet.stages],
        "reads": {stack: list(each) for stack, each in fleet.reads.items()},
        "after": {stack: list(each) for stack, each in fleet.after.items()},
        "knownAfterApply": {stack: list(each) for stack, each in fleet.late.items()},
        "plans": [documents.plan(each, root) for each in fleet.plans.values()],
        "deferred": [
            {
                "stack": each.stack,
                "outputs": list(each.outputs),
                "resources": each.resources,
                "clusters": list(each.clusters),
            }
            for each in fleet.deferred.values()
        ],
        "unplanned": [
            {"stack": each.stack, "why": each.why, "where": each.where, "hint": each.hint} for each in fleet.unplanned
        ],
        "skipped": list(fleet.skipped),
        "notes": list(fleet.notes),
        "blastRadius": {
            "stacks": radius.stacks,
            "places": list(radius.clusters),
            "resources": radius.resources,
            "restarts": radius.restarts,
            "deletions": radius.deletions,
            "notKnownYet": radius.open,
        },
        "confirmation": {"level": wanted.level.value, "phrase": wanted.phrase, "reasons": list(wanted.reasons)},
    }


def _status(fleet: FleetPlan) -> str:
    """As of a plan: `empty` claims that nothing is to be done, so it takes that everything could be found out."""
    if fleet.is_refused:
        return "refused"
    if not fleet.is_empty:
        return "ready"
    return "empty" if fleet.is_as_configured else "partial" if fleet.is_certain else "unknown"
