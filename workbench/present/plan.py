"""A plan for reading: what, in which order, behind which guards, and what has to be confirmed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from kcl.records import fields
from runtimes.base import Address, format_path
from workbench.engine.changes import Change
from workbench.engine.choice import LeftOut
from workbench.engine.diff import is_of_people
from workbench.engine.events import (
    Action,
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    RecordFailed,
    StepFailed,
    StepFinished,
    StepProgress,
    StepSkipped,
    StepStarted,
)
from workbench.engine.plan import Guard, Level, Plan
from workbench.engine.policy.judging import GUARD as POLICIES
from workbench.present import clusters, reconcile
from workbench.present.diff import basis_lines, gap_lines, problem_lines, summary_line
from workbench.present.glyphs import Glyphs, action_sign
from workbench.present.rows import Column, Row, labels_of
from workbench.present.text import Line, Span, Tone, line
from workbench.words import counted, few

STEP_COLUMNS = (
    Column("#", width=3, right=True),
    Column("Step", grow=True, has_tail=True),
    Column("State", most=12),
    Column("Took", width=6, right=True),
)
SHORT_ID = 7


def title(plan: Plan, glyphs: Glyphs) -> Line:
    return line(
        Span("plan ", Tone.MUTED),
        Span(plan.id[:SHORT_ID], Tone.STRONG),
        Span(f"  release #{plan.prior} {glyphs.arrow} #{plan.revision}  ", Tone.MUTED),
        Span(", ".join(plan.places), Tone.ENVIRONMENT),
        Span(f"  rolls back to release #{plan.rolls_back_to}" if plan.rolls_back_to else "", Tone.STRONG),
    )


def lines(plan: Plan, glyphs: Glyphs) -> Iterator[Line]:
    """Yields the plan without its fields: summary, order, guards, problems, what to confirm."""
    yield title(plan, glyphs)
    yield from clusters.lines(plan.identities)
    yield summary(plan, glyphs)
    yield from basis_lines(plan.changes)
    changes = plan.by_address()
    for number, wave in enumerate(plan.waves, 1):
        for address in wave:
            yield line(Span(f"{number:>3} ", Tone.MUTED), step(changes[address]))
    yield from left_out(plan, glyphs)
    yield from guards(plan, glyphs)
    if not plan.is_empty and not plan.is_refused and plan.confirmation.level is not Level.NOTHING:
        yield line(Span("to confirm: ", Tone.MUTED), Span(plan.confirmation.phrase, Tone.STRONG))


def summary(plan: Plan, glyphs: Glyphs) -> Line:
    """Returns the counts. That nothing is to change is said of what was chosen, where not all was."""
    counts = summary_line(plan.summary, glyphs, is_certain=plan.is_certain and not plan.left_out)
    if not plan.left_out:
        return counts
    if plan.is_empty and plan.is_certain:
        counts = line(Span("nothing to change in what was chosen  ", Tone.MUTED))
    return line(counts, Span(f"  {len(plan.left_out)} left out", Tone.WARN))


def left_out(plan: Plan, glyphs: Glyphs) -> Iterator[Line]:
    """Yields a line for each resource that was not chosen though something is to be done about it."""
    for each in plan.left_out:
        yield line(Span(f"{glyphs.going} left out: {each.what} ", Tone.WARN), _left_out(each))


def _left_out(each: LeftOut) -> Line:
    what = reconcile.short_id(each.address)
    if each.because is None:
        return what
    return line(what, Span("  needs ", Tone.MUTED), reconcile.short_id(each.because), Span(", skipped", Tone.MUTED))


def guards(plan: Plan, glyphs: Glyphs, *, compact: bool = False, with_findings: bool = True) -> Iterator[Line]:
    """Yields the guards, and what is behind those that refuse. `compact` says in one line at the end what passed.

    Without `with_findings` what policies found is only counted: it is listed elsewhere.
    """
    findings = {str(each) for each in plan.policy.findings} if plan.policy is not None else set()
    listed = findings if not with_findings else set()
    for guard in plan.guards:
        if compact and guard.passed:
            continue
        sign = _sign(guard, glyphs)
        is_no = not guard.passed and not guard.is_unknown
        message = _refusal(plan, guard) if is_no else guard.message
        if listed and guard.name == POLICIES and not guard.passed:
            message = "no, as listed"
        yield line(sign, guard.name, Span(f": {message}" if message else "", Tone.MUTED))
    yield from problem_lines(plan.problems, glyphs)
    yield from gap_lines(plan.gaps, glyphs)
    if not plan.force:
        yield from _conflicts(plan, glyphs)
    for text in (each for each in (*plan.warnings, *plan.notes, *plan.confirmation.reasons) if each not in listed):
        yield line(Span(f"{glyphs.finding} {text}", Tone.WARN))
    passed = ", ".join(each.name for each in plan.guards if each.passed)
    if compact and passed:
        yield line(Span(f"{glyphs.good} ", Tone.GOOD), passed)


def _sign(guard: Guard, glyphs: Glyphs) -> Span:
    if guard.is_unknown:
        return Span(f"{glyphs.unknown} ", Tone.WARN)
    return Span(f"{glyphs.good} ", Tone.GOOD) if guard.passed else Span(f"{glyphs.bad} ", Tone.BAD)


def _refusal(plan: Plan, guard: Guard) -> str:
    """Returns whom a guard says no for, where why it does has lines of its own below, with what to do about it."""
    places = dict.fromkeys(each.cluster for each in plan.problems if each.message in guard.message)
    others = ", ".join(each for each in places if each not in guard.name)
    if others:
        return f"no ({others})"
    is_below = places or any(str(each.address) in guard.message for each in plan.changes if each.conflicts)
    return "no" if is_below else guard.message


def _conflicts(plan: Plan, glyphs: Glyphs) -> Iterator[Line]:
    for change in plan.changes:
        for each in change.conflicts:
            what = f": {format_path(each.path)} belongs to {each.manager}"
            since = f" since {each.when}" if each.when else ""
            yield line(Span(f"{glyphs.bad} ", Tone.BAD), reconcile.short_id(change.address), what, since)


def refusal(plan: Plan, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what a refused plan means and what to do, to stand after the plan itself."""
    failed = [each.name for each in plan.guards if not each.passed and not each.is_unknown]
    yield line(Span(f"{glyphs.bad} refused by: {', '.join(failed)}. Nothing was applied.", Tone.BAD))
    if hint := _way_round(plan):
        yield line(Span(f"{glyphs.arrow} {hint}", Tone.MUTED))
    if not plan.force and any(each.conflicts for each in plan.changes):
        hint = "put the live values into the configuration, or take the fields over with --force"
        yield line(Span(f"{glyphs.arrow} {hint}", Tone.MUTED))
        owners = dict.fromkeys(found.manager for each in plan.changes for found in each.conflicts)
        if programs := [each for each in owners if not is_of_people(each)]:
            said = f"what {few(programs, 3)} sets again by itself is left to it by `ignore` in project.yaml"
            yield line(Span(f"{glyphs.arrow} {said}", Tone.MUTED))


def _way_round(plan: Plan) -> str:
    """What can be planned though a place does not answer: the others, by name."""
    if plan.destroys or not plan.clusters or not plan.workspace:
        return ""
    away = {each.cluster for each in plan.problems}
    if away == {plan.workspace}:
        names = " ".join(f"--cluster {each}" for each in plan.clusters)
        return f"{names} plans without Terraform, with the values its last apply recorded"
    if away and plan.workspace not in away:
        return f"--cluster {plan.workspace} plans Terraform alone"
    return ""


def step_labels(plan: Plan) -> Mapping[Address, Line]:
    """Returns what is done in each step: it stays the same while the plan is applied, and is worth keeping."""
    return {each.address: step(each) for each in plan.steps()}


def step_rows(plan: Plan, events: tuple[Event, ...], labels: Mapping[Address, Line] | None = None) -> tuple[Row, ...]:
    """Returns a row a step, keyed by address, with how far the events say it came. `labels` are its `step_labels`."""
    states: dict[object, tuple[Span, str]] = {}
    for event in events:
        match event:
            case StepStarted(address=address):
                states[address] = Span("running", Tone.BUSY), ""
            case StepProgress(address=address, seconds=seconds):
                states[address] = Span("running", Tone.BUSY), f"{seconds:.0f}s"
            case StepFinished(address=address, seconds=seconds):
                states[address] = Span("done", Tone.GOOD), f"{seconds:.1f}s"
            case StepFailed(address=address, seconds=seconds):
                states[address] = Span("failed", Tone.BAD), f"{seconds:.1f}s"
            case StepSkipped(address=address):
                states[address] = Span("skipped", Tone.MUTED), ""
            case _:
                pass
    found = []
    labels = step_labels(plan) if labels is None else labels
    owned = {each.address: labels_of(each.after or each.before) for each in plan.steps()}
    for number, wave in enumerate(plan.waves, 1):
        for address in wave:
            state, took = states.get(address, (Span("waiting" if events else "", Tone.MUTED), ""))
            shown = (line(str(number)), labels[address], line(state), line(Span(took, Tone.MUTED)))
            found.append(Row(address, shown, labels=owned[address]))
    for each in plan.left_out:
        label = line(Span(f"{each.what} ", Tone.MUTED), _left_out(each))
        found.append(Row(each.address, (line(""), label, line(Span("left out", Tone.WARN)), line(""))))
    return tuple(found)


_TOLD = {Action.REPLACE, Action.IMPORT, Action.MOVE, Action.FORGET}
"""What no sign tells by itself."""


def step(change: Change) -> Line:
    """`± sandbox_database orders @terraform  replace: engine cannot be changed in place`"""
    what = line(action_sign(change.action), " ", reconcile.short_id(change.address))
    if change.action in _TOLD:
        because = f": {change.because}" if change.because else ""
        return line(what, Span(f"  {change.action.value}{because}", Tone.WARN))
    if change.action is Action.CREATE and change.because:
        return line(what, Span(f"  {change.because}", Tone.WARN))
    return what


def running(events: Iterable[Event]) -> tuple[Address, ...]:
    """Returns the steps that were begun and have not ended, in the order they began."""
    begun: dict[Address, None] = {}
    for event in events:
        match event:
            case StepStarted(address=address):
                begun[address] = None
            case StepFinished(address=address) | StepFailed(address=address) | StepSkipped(address=address):
                begun.pop(address, None)
            case _:
                pass
    return tuple(begun)


def going_on(events: tuple[Event, ...], glyphs: Glyphs) -> Iterator[Line]:
    """Yields a line for each step that takes its time: how long already, and what it waits for."""
    latest = {each.address: each for each in events if isinstance(each, StepProgress)}
    for address in running(events):
        if address in latest and (shown := event_line(latest[address], glyphs)) is not None:
            yield shown


def event_line(event: Event, glyphs: Glyphs) -> Line | None:
    """Returns an event as one line for a log; None for those that only move a progress display."""
    match event:
        case ApplyStarted(revision=revision, steps=steps):
            return line(Span(f"release #{revision}: {counted(len(steps), 'step')}", Tone.STRONG))
        case StepFinished(address=address, action=action, seconds=seconds):
            took = Span(f"  {seconds:.1f}s", Tone.MUTED)
            return line(Span(f"{glyphs.good} ", Tone.GOOD), action.value, " ", reconcile.short_id(address), took)
        case StepFailed(address=address, action=action, message=message, hint=hint):
            after = f" {glyphs.arrow} {hint}" if hint else ""
            what = (action.value, " ", reconcile.short_id(address))
            return line(Span(f"{glyphs.bad} ", Tone.BAD), *what, ": ", message, Span(after, Tone.MUTED))
        case StepSkipped(address=address, action=action, because=because):
            reason = f"needs {because}, which was not done" if because else "the apply was stopped"
            return line(Span(f"{glyphs.going} {action.value} ", Tone.MUTED), reconcile.short_id(address), ": ", reason)
        case RecordFailed(message=message):
            return line(Span(f"{glyphs.bad} the release record could not be written: ", Tone.BAD), message)
        case ApplyFinished(outcome=outcome, revision=revision, done=done, failed=failed, skipped=skipped):
            tone = Tone.GOOD if outcome is Outcome.SUCCEEDED else Tone.BAD
            counts = f"{done} done, {failed} failed, {skipped} skipped"
            return line(Span(f"release #{revision} {outcome.value}", tone), Span(f": {counts}", Tone.MUTED))
        case StepProgress(address=address, action=action, seconds=seconds, message=message):
            said = Span(f": {message}" if message else "", Tone.MUTED)
            took = Span(f"  {seconds:.0f}s", Tone.MUTED)
            return line(Span(f"{glyphs.busy} {action.value} ", Tone.BUSY), reconcile.short_id(address), said, took)
        case StepStarted():
            return None


def event_document(event: Event) -> Mapping[str, Any]:
    """Returns an event as plain data: what happened, when, and all that it says."""
    found: dict[str, Any] = {"event": type(event).__name__}
    for each in fields(event):
        value = getattr(event, each.name)
        match value:
            case datetime():
                found[each.name] = value.isoformat()
            case Address():
                found[each.name] = {"cluster": value.cluster, "id": str(value.id)}
            case tuple():
                found[each.name] = [str(one) for one in value]
            case _:
                found[each.name] = value
    return found
