"""Rollouts as lines, rows and documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kcl.records import dataclass
from workbench.engine.plan import Level
from workbench.engine.rollout.execute import Holding, Picture, ReadyBut, RolloutEvent, StackEvent
from workbench.engine.rollout.planned import PlannedRollout
from workbench.engine.rollout.progress import Phase, Progress
from workbench.engine.rollout.values import (
    Applied,
    Ask,
    Asked,
    BatchBegan,
    BatchReady,
    Began,
    Finished,
    Halted,
    Interrupted,
    RolledBack,
    Stage,
    Target,
    Waits,
)
from workbench.present import durations, plan
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.release.rollout_listing import RolloutEntry

COLUMNS = (
    Column("Rollout"),
    Column("State"),
    Column("Ready", right=True),
    Column("By"),
    Column("Began (UTC)"),
    Column("Carried out by"),
    Column("Note", grow=True),
)
_TONES: Mapping[Phase, Tone] = {
    Phase.OPEN: Tone.BUSY,
    Phase.PAUSED: Tone.WARN,
    Phase.WAITING: Tone.WARN,
    Phase.HALTED: Tone.BAD,
    Phase.ABORTED: Tone.BAD,
    Phase.FINISHED: Tone.GOOD,
    Phase.ROLLED_BACK: Tone.WARN,
}


def planned_lines(planned: PlannedRollout, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what goes out in which order, what is in no stage, and what has to be confirmed."""
    for stack, each in planned.plans.items():
        if each.is_refused or not each.is_certain:
            yield line(Span(f"{stack}:", Tone.STRONG))
            yield from (line("  ", said) for said in plan.guards(each, glyphs, compact=True))
            if each.is_refused:
                yield line(Span(f"  {glyphs.arrow} wb plan {stack} says what to do about it", Tone.MUTED))
    for number, stage in enumerate(planned.schedule.stages, 1):
        yield stage_line(stage, number)
        for at, batch in enumerate(stage.batches, 1):
            yield line(Span(f"    {at:>3} ", Tone.MUTED), batch_text(batch))
        if not stage.batches:
            unknown = Span(f"{glyphs.unknown} what changes in it is not known", Tone.WARN)
            yield line("        ", Span("nothing changes in it", Tone.MUTED) if planned.is_certain else unknown)
    if planned.schedule.left_out:
        said = f"{_counted(planned.schedule.left_out)} that would change: in no stage, so left as it is"
        yield line(Span(f"{glyphs.finding} {said}: {batch_text(planned.schedule.left_out)}", Tone.WARN))
    for said in (*planned.overtaken, *planned.doubts):
        yield line(Span(f"{glyphs.finding} {said}", Tone.WARN))
    if planned.outside:
        yield line(Span(f"{glyphs.finding} in no stage, so left out: {', '.join(planned.outside)}", Tone.WARN))
    for text in planned.confirmation.reasons if planned.confirmation.level is Level.PHRASE else ():
        yield line(Span(f"{glyphs.finding} {text}", Tone.WARN))
    if not planned.is_empty and not planned.refused:
        yield line(Span("to confirm: ", Tone.MUTED), Span(planned.confirmation.phrase, Tone.STRONG))


def stage_line(stage: Stage, number: int) -> Line:
    """`1 gray  12 targets  3 batches  at most 2 unavailable  ready for 10m before the next  needs an approval`"""
    parts: list[Span | str] = [Span(f"{number} {stage.name}", Tone.STRONG), f"  {_counted(stage.targets)}"]
    if stage.targets and stage.max_unavailable < len(stage.targets):
        parts.append(f"  at most {stage.max_unavailable} unavailable")
    if stage.ready_seconds:
        parts.append(f"  ready for {durations.short(stage.ready_seconds)} before it goes on")
    if stage.needs_approval:
        parts.append(Span("  needs an approval", Tone.WARN))
    return line(*parts)


def batch_text(targets: Iterable[Target]) -> str:
    """`shop/prod: web, api in east; web in west`"""
    stacks: dict[str, dict[str, list[str]]] = {}
    for each in targets:
        stacks.setdefault(each.stack, {}).setdefault(each.cluster, []).append(each.component or "(no component)")
    return "  ".join(
        f"{stack}: " + "; ".join(f"{', '.join(names)} in {cluster}" for cluster, names in clusters.items())
        for stack, clusters in stacks.items()
    )


def ready_but_line(event: ReadyBut, glyphs: Glyphs) -> Line:
    said = Span(f"{event.address.in_words}: {event.message}", Tone.WARN)
    return line(Span(f"  {event.stack}  ", Tone.MUTED), Span(f"{glyphs.finding} ", Tone.WARN), said)


def event_lines(event: RolloutEvent, stages: Iterable[Stage], glyphs: Glyphs) -> Iterator[Line]:
    """Yields an event for a log; nothing for those that only move a picture."""
    named = {each.name: each for each in stages}
    match event:
        case StackEvent(stack=stack, event=inner):
            shown = plan.event_line(inner, glyphs)
            if shown is not None:
                yield line(Span(f"  {stack}  ", Tone.MUTED), shown)
        case BatchBegan(stage=stage, batch=batch):
            of = named[stage].batches
            yield line(Span(f"{stage}: batch {batch + 1} of {len(of)}", Tone.STRONG), f"  {batch_text(of[batch])}")
        case BatchReady(stage=stage, batch=batch, notes=notes):
            said = f"{glyphs.good} {stage}: batch {batch + 1} of {len(named[stage].batches)} is ready"
            but = Span(f"  {glyphs.finding} with notes" if notes else "", Tone.WARN)
            yield line(Span(said, Tone.GOOD), but)
        case Halted(stage=stage, batch=batch, target=target, why=why, hint=hint):
            where = f" ({target})" if target is not None else ""
            yield line(Span(f"{glyphs.bad} halted in {stage or 'the end'}, batch {batch + 1}{where}", Tone.BAD))
            yield line(Span("WHY ", Tone.STRONG), Span(why, Tone.BAD))
            if hint:
                yield line(Span(f"{glyphs.arrow} {hint}", Tone.MUTED))
        case ReadyBut():
            yield ready_but_line(event, glyphs)
        case Holding(stage=stage, seconds=seconds):
            yield line(Span(f"{stage} has to stay ready for {durations.short(seconds)}", Tone.MUTED))
        case Waits(stage=stage):
            yield line(Span(f"{glyphs.finding} stage {stage} waits for an approval", Tone.WARN))
        case Interrupted():
            yield line(Span("stopped: what was begun has ended", Tone.WARN))
        case Finished():
            yield line(Span(f"{glyphs.good} the rollout is finished, and everything is as configured", Tone.GOOD))
        case Asked(what=what, user=user, stage=stage, reason=reason):
            about = f" stage {stage}" if stage else ""
            yield line(Span(f"{_ASKED[what]}{about} by {user}{f': {reason}' if reason else ''}", Tone.MUTED))
        case RolledBack(stack=stack, revision=revision):
            yield line(f"{stack} is rolled back: release #{revision}")
        case Began() | Applied() | Picture():
            return


_ASKED: Mapping[Ask, str] = {
    Ask.PAUSE: "paused",
    Ask.RESUME: "resumed",
    Ask.APPROVE: "approved",
    Ask.ABORT: "aborted",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A rollout as it is shown at a moment."""

    known: RolloutEntry
    now: datetime

    @property
    def at(self) -> Progress:
        return self.known.progress

    @property
    def is_running(self) -> bool:
        runner = self.known.runner
        return runner is not None and runner.is_heard(self.now)

    @property
    def heard(self) -> str:
        """Says who carries it out, and when that was heard last; empty where nobody does."""
        runner = self.known.runner
        if runner is None:
            return ""
        silent = runner.silent_seconds(self.now)
        if runner.is_gone:
            return f"{runner.who}: that process is gone"
        if silent is None:
            return f"{runner.who}: when it was last heard is not known"
        if silent < -runner.lifetime_seconds:
            return f"{runner.who}: its clock is {durations.short(-silent)} ahead of this one's"
        return f"{runner.who}, last heard {durations.short(silent)} ago"


def headline(shown: Shown) -> Line:
    """`r-1a2b3c4d  halted  13 of 36 targets ready`"""
    at = shown.at
    return line(
        Span(at.began.id, Tone.STRONG),
        "  ",
        phase_span(at, is_running=shown.is_running),
        f"  {len(at.done)} of {at.total} targets ready",
        Span(f"  {at.began.reason}" if at.began.reason else "", Tone.MUTED),
    )


def progress_lines(shown: Shown, glyphs: Glyphs) -> Iterator[Line]:
    """Yields where a rollout stands, stage by stage, and what to do next."""
    at = shown.at
    yield headline(shown)
    if shown.heard:
        yield line(Span("carried out by " if shown.is_running else "was carried out by ", Tone.MUTED), shown.heard)
    if shown.known.damage:
        yield line(Span(f"{glyphs.finding} {damage_text(shown.known.damage)}", Tone.BAD))
    where = shown.known.place or "this machine, for no other one to see"
    yield line(Span(f"begun by {at.began.user}@{at.began.host} at {at.began.at:%Y-%m-%d %H:%M:%S} UTC", Tone.MUTED))
    yield line(Span(f"recorded in {where}", Tone.MUTED))
    for number, stage in enumerate(at.began.stages, 1):
        yield stage_line(stage, number)
        for index, batch in enumerate(stage.batches):
            key = (stage.name, index)
            if key in at.ready:
                sign = Span(f"{glyphs.good} ", Tone.GOOD)
            elif key == at.running:
                bad = at.phase is Phase.HALTED
                sign = Span(f"{glyphs.bad} " if bad else f"{glyphs.busy} ", Tone.BAD if bad else Tone.BUSY)
            else:
                sign = Span("  ")
            yield line("    ", sign, Span(f"{index + 1:>3} ", Tone.MUTED), batch_text(batch))
            notes = at.notes.get(key, ()) if key in at.ready else ()
            yield from (line("          ", Span(f"{glyphs.finding} {each}", Tone.WARN)) for each in notes)
        if stage.name in at.approved:
            yield line(Span(f"        approved by {at.approved[stage.name].user}", Tone.MUTED))
    if at.began.left_out:
        yield line(Span(f"{glyphs.finding} in no stage: {batch_text(at.began.left_out)}", Tone.WARN))
    for stack, revisions in at.revisions.items():
        made = ", ".join(f"#{each}" for each in revisions)
        back = Span("  rolled back" if stack in at.returned else "", Tone.WARN)
        yield line(Span(f"  {stack}: ", Tone.MUTED), f"releases {made}, before it #{at.began.parts[stack].prior}", back)
    if at.halted is not None and at.phase is Phase.HALTED:
        yield from event_lines(at.halted, at.began.stages, glyphs)
    for text in next_steps(shown):
        yield line(Span(f"{glyphs.arrow} {text}", Tone.MUTED))


def damage_text(damage: str) -> str:
    return f"its record {damage}: this is by the copy beside it. Look at wb release list; what goes on writes it again"


def next_steps(shown: Shown) -> Iterator[str]:
    """Yields the commands that make sense now."""
    at, is_running = shown.at, shown.is_running
    id_ = at.began.id
    following = at.next()
    match at.phase:
        case Phase.OPEN if is_running:
            yield f"wb rollout pause {id_}"
        case Phase.OPEN | Phase.PAUSED | Phase.HALTED:
            yield f"wb rollout resume {id_}"
        case Phase.WAITING:
            yield f"wb rollout approve {following.stage.name if following else ''} {id_}"
        case _:
            pass
    if at.phase in (Phase.PAUSED, Phase.HALTED, Phase.WAITING):
        yield f"wb rollout abort {id_}"
    if at.touched and at.phase in (Phase.HALTED, Phase.PAUSED, Phase.ABORTED, Phase.WAITING):
        yield f"wb rollout rollback {id_}"


def row(shown: Shown) -> Row:
    at = shown.at
    cells = (
        line(at.began.id),
        line(phase_span(at, is_running=shown.is_running)),
        line(f"{len(at.done)}/{at.total}"),
        line(f"{at.began.user}@{at.began.host}"),
        line(f"{at.began.at:%Y-%m-%d %H:%M:%S}"),
        line(shown.heard),
        line(at.halted.why if at.halted is not None and at.phase is Phase.HALTED else noted(at)),
    )
    return Row(at.began.id, cells)


def noted(at: Progress) -> str:
    """Returns why it is made, after that there is more to say of what is ready: `ready with notes: INC-7`."""
    notes = "ready with notes" if any(at.notes.values()) else ""
    return ": ".join(each for each in (notes, at.began.reason) if each)


def document(shown: Shown) -> Mapping[str, Any]:
    at, runner = shown.at, shown.known.runner
    silent = runner.silent_seconds(shown.now) if runner is not None else None
    halted = at.halted if at.phase is Phase.HALTED else None
    return {
        "id": at.began.id,
        "state": at.phase.value,
        "running": shown.is_running,
        "recordedIn": shown.known.place or None,
        "damage": shown.known.damage or None,
        "runner": runner
        and {
            "who": runner.who,
            "lastHeard": _time(runner.heard.astimezone(UTC)) if runner.heard is not None else None,
            "secondsAgo": round(silent, 1) if silent is not None else None,
            "gone": runner.is_gone,
        },
        "ready": len(at.done),
        "targets": at.total,
        "user": at.began.user,
        "host": at.began.host,
        "began": _time(at.began.at),
        "reason": at.began.reason,
        "stages": [
            {
                "name": stage.name,
                "approvedBy": at.approved[stage.name].user if stage.name in at.approved else None,
                "batches": [
                    {
                        "state": _batch_state(at, stage.name, number),
                        "notes": [*at.notes.get((stage.name, number), ())],
                        "targets": [
                            {"stack": each.stack, "cluster": each.cluster, "component": each.component or None}
                            for each in batch
                        ],
                    }
                    for number, batch in enumerate(stage.batches)
                ],
            }
            for stage in at.began.stages
        ],
        "releases": {
            stack: {"before": at.began.parts[stack].prior, "made": [*made], "rolledBack": stack in at.returned}
            for stack, made in at.revisions.items()
        },
        "halted": halted
        and {
            "at": _time(halted.at),
            "stage": halted.stage,
            "batch": halted.batch + 1,
            "target": str(halted.target) if halted.target else None,
            "why": halted.why,
            "hint": halted.hint,
        },
    }


def planned_document(planned: PlannedRollout) -> Mapping[str, Any]:
    return {
        "refused": {
            plan.stack: [f"{each.name}: {each.message}" for each in plan.guards if not each.passed]
            for plan in planned.refused
        },
        "stages": [
            {
                "name": stage.name,
                "batches": [[[each.stack, each.cluster, each.component] for each in batch] for batch in stage.batches],
                "maxUnavailable": stage.max_unavailable,
            }
            for stage in planned.schedule.stages
        ],
        "leftOut": [[each.stack, each.cluster, each.component] for each in planned.schedule.left_out],
        "outside": [*planned.outside],
        "overtaken": [*planned.overtaken],
        "doubts": [*planned.doubts],
        "confirm": planned.confirmation.phrase,
    }


def _batch_state(at: Progress, stage: str, number: int) -> str:
    if (stage, number) in at.ready:
        return "ready"
    if (stage, number) == at.running:
        return "halted" if at.phase is Phase.HALTED else "begun"
    return "open"


def phase_span(at: Progress, *, is_running: bool) -> Span:
    if at.phase is Phase.OPEN:
        # a process that died leaves it open, and says so to nobody
        return Span("running", Tone.BUSY) if is_running else Span("stopped", Tone.WARN)
    return Span(at.phase.value, _TONES[at.phase])


def _counted(targets: Iterable[Target]) -> str:
    every = tuple(targets)
    clusters = Counter(each.cluster for each in every)
    where = f" in {', '.join(clusters)}" if clusters else ""
    return f"{len(every)} target{'' if len(every) == 1 else 's'}{where}"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
