"""`wb migrate`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import compile_options, inputs, tell_findings, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone
from workbench.words import counted

if TYPE_CHECKING:
    from kcl.tools.migrate import Outcome
    from workbench.cli.context import Context
    from workbench.engine.migration import Migration
    from workbench.project import Stack
    from workbench.session import Session


@click.command("migrate")
@click.argument("what", nargs=-1, metavar="[STACK|PATH]...")
@click.option("--check", is_flag=True, help="only list what is legacy; exit code 1 if anything is")
@click.option("--write", is_flag=True, help="write the edits, once all stacks are proven unchanged")
@click.option(
    "--dialect",
    type=click.Choice(("kcl", "konfig-2023")),
    default=None,
    help="read the repository in this dialect; default: the one of kcl.mod",
)
@compile_options
@workdir_option
@click.pass_context
def command(
    ctx: click.Context,
    what: tuple[str, ...],
    check: bool,
    write: bool,
    dialect: str | None,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
) -> None:
    """Bring KCL of 2023 (the dialect konfig-2023) to today's language, and prove that no stack changes.

    Without --write it prints the edits as a diff, and whether each stack compiles to the same values with them. Without
    STACK or PATH it is the whole repository, kcl.mod included.
    """
    if check and write:
        raise click.UsageError("--check writes nothing: give it or --write")
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    given = inputs(options, settings)

    is_broken = not what and tell_findings(session.tree(), context.output)

    async def run() -> int:
        async with session:
            only = [_named(session, each, context.base(workdir)) for each in what]
            migration = await session.migration(only, given, dialect)
            if check:
                return _checked(migration, context)
            outcomes = await session.proof(migration, lambda each: _tell(each, context))
            _show(migration, outcomes, context, as_diff=not write)
            if write and migration.plan.after:
                migration.write(outcomes)
                context.output.talk(f"{counted(len(migration.plan.after), 'file')} written")
            bad = any(each.problem is not None or each.differences for each in outcomes)
            return ExitCode.REFUSED if bad else ExitCode.OK

    import anyio

    ctx.exit(anyio.run(run) or (ExitCode.ERROR if is_broken else ExitCode.OK))


def _named(session: Session, text: str, base: Path) -> Stack | Path:
    from workbench.project import UnknownStack

    try:
        return session.select(text)
    except UnknownStack:
        for folder in (base, session.root):
            if (folder / text).exists():
                return (folder / text).resolve()
        raise


def _checked(migration: Migration, context: Context) -> int:
    context.output.data(migration.report)
    context.output.talk(_count(migration))
    return ExitCode.DIFFERENT if migration.lints else ExitCode.OK


def _count(migration: Migration) -> str:
    if not migration.lints:
        return "nothing is legacy here"
    by_hand = len(migration.by_hand)
    files = len({lint.span.path for lint in migration.lints})
    hand = f", {by_hand} of them by hand" if by_hand else ""
    return f"{counted(len(migration.lints), 'legacy use')} in {counted(files, 'file')}{hand}"


def _tell(outcome: Outcome, context: Context) -> None:
    name = outcome.subject.name
    if outcome.same:
        context.output.talk(Span("= ", Tone.GOOD), name)
    elif outcome.broken_before is not None:
        context.output.talk(Span("? ", Tone.WARN), f"{name} did not compile before:")
        _quote(outcome.broken_before, context)
    elif outcome.problem is not None:
        context.output.talk(Span("! ", Tone.BAD), f"{name} would not compile:")
        _quote(outcome.problem, context)
    else:
        context.output.talk(Span("! ", Tone.BAD), f"{name} would change:")
        _quote("\n".join(outcome.differences), context)


def _quote(text: str, context: Context) -> None:
    for each in text.rstrip().splitlines():
        context.output.talk(f"    {each}")


def _show(migration: Migration, outcomes: list[Outcome], context: Context, *, as_diff: bool) -> None:
    if as_diff:
        context.output.data(migration.diff)
    context.output.talk(_count(migration))
    if outcomes:
        same = sum(each.same for each in outcomes)
        context.output.talk(f"{same} of {len(outcomes)} compilations give the same values in the dialect kcl")
    if as_diff and migration.plan.after:
        context.output.talk("nothing was written: --write does")
