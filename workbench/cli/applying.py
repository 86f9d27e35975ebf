"""What `wb apply`, `wb rollback` and `wb destroy` share: asking, doing with ^C heeded, saying what is left."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from workbench.cli import loop
from workbench.exit_codes import ExitCode
from workbench.present.text import Line, Span, Tone

if TYPE_CHECKING:
    from workbench.cli.output import Output
    from workbench.engine.events import ApplyFinished
    from workbench.engine.plan import Confirmation, Plan
    from workbench.session import Session


def apply_made(
    session: Session,
    made: Plan,
    output: Output,
    *,
    yes: bool = False,
    confirm: str = "",
    dry_run: bool = False,
    watch: bool = True,
    timeout: float | None = None,
) -> ExitCode:
    """Shows a plan, asks, applies it, and watches what becomes of it."""
    from workbench.present import plan as present

    output.lines(present.lines(made, output.glyphs))
    if made.is_refused:
        for each in present.refusal(made, output.glyphs):
            output.talk(each)
        return ExitCode.REFUSED
    if dry_run:
        return ExitCode.OK
    phrase = confirmation(made, yes, confirm, output, nothing_done="Nothing was applied.")
    if phrase is None:
        return ExitCode.REFUSED
    if has_to_be_carried_out(made, output):
        code = carry_out(session, made, phrase, output)
        if code is not ExitCode.OK:
            return code
    # what could not be planned was not applied, however well the rest went
    applied = ExitCode.OK if made.is_certain else ExitCode.PARTIAL
    if not watch:
        return applied

    # Watching is a run of its own: while applying, ^C means something else.
    async def settle() -> ExitCode:
        from workbench.cli import progress
        from workbench.engine.status import Verdict
        from workbench.present import reconcile

        async with session:
            target = session.select(made.stack)
            seconds = timeout or session.settings.timeout_seconds
            async with session.watch(
                target,
                made.inputs,
                spec=made.spec,
                clusters=made.only,
                addresses=made.watched,
                until_settled=True,
                timeout_seconds=seconds,
            ) as trees:
                last = await progress.show_trees(trees, output)
            if last is not None and last.verdict is Verdict.EMPTY:
                said = Line((Span("nothing to watch: of what was chosen nothing is left", Tone.WARN),))
                output.line(said if len(made.spec) else reconcile.why_line(last, output.glyphs, last.at))
                return ExitCode.OK  # all that was there is deleted, and that was what was asked for
            return progress.show_end(last, output) if last is not None else ExitCode.NOT_READY

    try:
        code = loop.outcome(settle)
    except KeyboardInterrupt:
        say_what_is_left(session, made, output)
        raise
    return code if code is not ExitCode.OK else applied


def has_to_be_carried_out(made: Plan, output: Output) -> bool:
    """Whether it has steps, or its last release was cut off and a new one is to say what it left; says the latter."""
    if made.is_unrecorded:
        said = f"release #{made.prior} did not end; what it left is as configured, and is recorded"
        output.talk(Span(said, Tone.WARN))
    return made.is_unrecorded or not made.is_empty


def confirmation(made: Plan, yes: bool, confirm: str, output: Output, *, nothing_done: str) -> str | None:
    """Returns what to hand to apply, None where it was not confirmed. Without a terminal nothing is asked."""
    verb = "roll back" if made.rolls_back_to else made.verb
    return phrase_for(made.confirmation, yes, confirm, output, verb=verb, nothing_done=nothing_done)


def phrase_for(
    wanted: Confirmation, yes: bool, confirm: str, output: Output, *, verb: str, nothing_done: str
) -> str | None:
    """As `confirmation`, for whatever else is confirmed so."""
    from workbench.engine.plan import Level

    if wanted.level is Level.NOTHING:
        return ""
    if confirm:
        if confirm == wanted.phrase or (wanted.level is Level.YES and yes):
            return wanted.phrase
        output.talk(Span(f"{confirm!r} is not the phrase: it is {wanted.phrase!r}. {nothing_done}", Tone.BAD))
        return None
    if wanted.level is Level.YES and yes:
        return wanted.phrase
    if not sys.stdin.isatty():
        how = "--yes" if wanted.level is Level.YES else f"--confirm {wanted.phrase!r}"
        output.talk(Span(f"not confirmed: give {how}. {nothing_done}", Tone.BAD))
        return None
    answer = str(click.prompt(f"type {wanted.phrase!r} to {verb}", default="", show_default=False, err=True))
    if answer == wanted.phrase:
        return wanted.phrase
    output.talk(Span(f"not confirmed. {nothing_done}", Tone.WARN))
    return None


def carry_out(session: Session, made: Plan, phrase: str, output: Output) -> ExitCode:
    """Applies a confirmed plan and shows it. Raises `KeyboardInterrupt` where it was stopped, after telling.

    A plan without steps, carried out for its record, leaves that to whoever holds the stack.
    """
    from workbench.cli import progress
    from workbench.cli.stopping import to_its_end
    from workbench.engine.errors import Locked
    from workbench.engine.events import Outcome

    was_stopped = False

    async def run() -> ApplyFinished | None:
        nonlocal was_stopped
        async with session, session.apply(made, confirm=phrase) as applying:
            finished, was_stopped = await to_its_end(applying, progress.show_events(applying, output), output)
            return finished

    try:
        finished = loop.outcome(run)
    except KeyboardInterrupt:
        say_what_is_left(session, made, output)
        raise
    except Locked as held:
        if not made.is_empty:
            raise
        output.talk(Span(f"not recorded: {held.message}; nothing is left to do", Tone.WARN))
        return ExitCode.OK
    if was_stopped:
        say_what_is_left(session, made, output)
        raise KeyboardInterrupt
    if finished is not None and finished.outcome is Outcome.UNRECORDED:
        said = f"every step was done, but the record of it could not be written: make room, then wb plan {made.stack}"
        output.talk(Span(said, Tone.BAD))
        return ExitCode.PARTIAL
    if finished is None or finished.outcome is not Outcome.SUCCEEDED:
        again = f"{'roll back' if made.rolls_back_to else made.verb} again"
        output.talk(Span(f"what failed is named above; put it right and {again}", Tone.WARN))
        return ExitCode.PARTIAL if finished and finished.done else ExitCode.ERROR
    return ExitCode.OK


def say_what_is_left(session: Session, made: Plan, output: Output) -> None:
    """After ^C: whether the release was begun, and how to go on."""
    from workbench.engine.release import Phase

    latest = next(iter(session.releases(session.select(made.stack))), None)
    verb = made.verb
    if latest is None or latest.revision != made.revision:
        said = "nothing was applied"
    elif latest.phase is Phase.SUCCEEDED:
        said = f"release #{latest.revision} is applied; wb watch {made.stack} shows what becomes of it"
    else:
        said = f"release #{latest.revision} ends half-way, what was done is recorded; wb {verb} {made.stack} goes on"
    output.talk(Span(said, Tone.WARN))
