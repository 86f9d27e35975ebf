"""`wb fleet`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from kcl.records import replace
from workbench.cli.stacks import (
    NO_STACKS,
    answers_by_code,
    compile_options,
    format_option,
    inputs,
    tell_findings,
    tell_taken_out,
    workdir_option,
)
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.fleet import TakenOut
    from workbench.present.fleet import Entry
    from workbench.present.rows import Row
    from workbench.project import Stack
    from workbench.session import Session

_ORDERS = ("stack", "health", "sync", "drift", "release", "owner", "env", "seen")


@click.command("fleet")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--sort", "order", type=click.Choice(_ORDERS), default="health", show_default=True, help="order by this")
@click.option("--reverse", is_flag=True, help="order the other way round")
@click.option("--group", type=click.Choice(_ORDERS[:-1]), default=None, help="merge equal cells of a column")
@click.option("--trouble", is_flag=True, help="show only stacks in trouble")
@compile_options
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_context
@answers_by_code
def command(
    ctx: click.Context,
    globs: tuple[str, ...],
    order: str,
    reverse: bool,
    group: str | None,
    trouble: bool,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Show what is wrong right now: health, sync, drift and last release of many stacks, and why.

    GLOB is over project/stack, such as '*/prod'; nothing means all stacks.

    Exit code: 0 all is well, 1 some stack is not, or not deployed, 3 it is not known of some stack.
    """
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    is_broken = tell_findings(session.tree(), context.output)
    stacks = session.choose(*globs) if globs else tuple(session.tree().stacks())
    if not stacks:
        raise click.UsageError(NO_STACKS)
    is_whole = not globs and not is_broken
    entries, gone = anyio.run(_look, session, stacks, inputs(options, settings), context.output, is_whole)
    _print(context.output, entries, gone, format_, order, reverse, group or "", trouble)
    tell_taken_out(gone, context.output)
    looks = [each.look for each in entries]
    if is_broken or any(look is None or not look.is_certain for look in looks):
        ctx.exit(ExitCode.DIFF_FAILED)
    ctx.exit(ExitCode.OK if all(look is not None and look.is_well for look in looks) else ExitCode.DIFFERENT)


async def _look(
    session: Session, stacks: Sequence[Stack], given: CompileInputs, output: Output, is_whole: bool
) -> tuple[tuple[Entry, ...], TakenOut | None]:
    """Returns what is known of the stacks, and, of a whole repository, what is said of those that it has no more."""
    from workbench.cli.progress import while_asking
    from workbench.present.fleet import Entry
    from workbench.project.owners import owners
    from workbench.session import Watchlist

    began = datetime.now(UTC)
    watchlist = Watchlist(stacks, lambda: began)
    async with session, while_asking(session, output):
        await session.look_at(watchlist, given)
        gone = await session.taken_out() if is_whole else None
    known = owners(session.tree())
    return tuple(Entry(each, known.get(each.path, ""), watchlist.looks.get(each.path)) for each in stacks), gone


def _print(
    output: Output,
    entries: Sequence[Entry],
    gone: TakenOut | None,
    format_: str,
    order: str,
    reverse: bool,
    group: str,
    trouble: bool,
) -> None:
    from workbench.present import fleet
    from workbench.present.text import line

    now, glyphs = datetime.now(UTC), output.glyphs
    if format_ != "table":
        document = fleet.document(entries, now, gone)
        (output.json if format_ == "json" else output.yaml)(document)
        return
    rows = fleet.rows(entries, glyphs, now, order=order, is_reversed=reverse, group=group, only_trouble=trouble)
    part: list[Row] = []
    for row in rows:
        if fleet.is_group(row):
            _print_part(output, part)
            output.line(row.cells[0])
            part = []
        elif fleet.reason_of(row) is None:
            part.append(replace(row, depth=0))
    _print_part(output, part)
    output.lines(line(f"{found[0]}: ", found[1]) for row in rows if (found := fleet.reason_of(row)) is not None)
    output.lines(fleet.silence_lines(entries, glyphs, now))
    output.line(fleet.counts_line(entries, glyphs, now))


def _print_part(output: Output, rows: Sequence[Row]) -> None:
    from workbench.present.fleet import COLUMNS

    if rows:
        output.table(COLUMNS, rows)
        output.line()
