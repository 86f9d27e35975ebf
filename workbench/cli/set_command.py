"""`wb set`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import compile_options, find, format_option, inputs, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.impact import ImpactReport
    from workbench.engine.setting import FieldSet
    from workbench.engine.whatif import WhatIf
    from workbench.project import Stack


@click.command("set")
@click.argument("stack")
@click.argument("resource")
@click.argument("assignments", nargs=-1, required=True, metavar="PATH=VALUE|PATH-...")
@click.option(
    "--where",
    type=click.Choice(("auto", "source", "here")),
    default="auto",
    show_default=True,
    help="edit the line that decides the field, or override it in this stack's files",
)
@click.option("-y", "--yes", is_flag=True, help="write without asking")
@click.option("--dry-run", is_flag=True, help="show what would be written and what it does, and write nothing")
@click.option("--commit", "commits", is_flag=True, help="commit exactly the files that are edited")
@click.option("-m", "--message", default="", metavar="TEXT", help="with --commit: the message")
@compile_options
@workdir_option
@format_option("text", "json", "yaml")
@click.pass_context
def command(
    ctx: click.Context,
    stack: str,
    resource: str,
    assignments: tuple[str, ...],
    where: str,
    yes: bool,
    dry_run: bool,
    commits: bool,
    message: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Set fields of a resource at the KCL lines that decide them, and prove that they have the values.

    RESOURCE is an id or Kind/name; PATH is written as in spec.template.spec.containers[name=web].image. It shows the
    edit, and what it changes in this stack and in all others that use the file. A value that is computed is refused.
    A field that is not there is added, PATH- takes one away; either only where nothing else is lost.

    Exit code: 0 done, 1 no edit does it, 4 not confirmed, not to be written, or another stack would break.
    """
    if message and not commits:
        raise click.UsageError("--message is for --commit")
    values = _parsed(assignments)
    context: Context = ctx.obj
    session, found = find(context, stack, workdir)
    given = inputs(options, settings)

    async def prepare() -> tuple[WhatIf, tuple[FieldSet, ...], ImpactReport]:
        from workbench.engine.setting import Where

        async with session:
            edits, done = await session.set_fields(found, resource, values, given, where=Where(where))
            return edits, done, await session.effect(edits)

    import anyio

    edits, done, report = anyio.run(prepare)
    if commits and edits.files:
        from workbench.engine.committing import refuse_commit

        refuse_commit(session.root, edits.files)
    output = context.output
    _show(edits, done, report, found, output, format_)
    if not edits.files:
        output.talk(f"{output.glyphs.good} {found.name} has these values already: nothing to write")
        return
    if broken := report.broken:
        said = f"with this edit {', '.join(broken)} would no longer compile: see above. Nothing was written."
        output.talk(Span(f"{output.glyphs.bad} {said}", Tone.BAD))
        output.talk(f"{output.glyphs.arrow} --where here overrides the value for {found.name} alone")
        ctx.exit(ExitCode.REFUSED)
    if dry_run:
        output.talk("nothing was written")
        return
    session.refuse_writing(found)
    if not _is_confirmed(yes, output):
        ctx.exit(ExitCode.REFUSED)

    async def write() -> None:
        async with session:
            await session.write_edits(found, edits, done)

    anyio.run(write)
    for file in edits.files:
        output.talk(f"{output.glyphs.good} {file.relative_to(session.root).as_posix()} is written")
    if commits:
        from workbench.engine.committing import commit

        made = commit(session.root, edits.files, message or _message(found, resource, done))
        output.talk(f"{output.glyphs.good} commit {made}")


def _parsed(assignments: tuple[str, ...]) -> dict[str, str | None]:
    """Returns values by paths, None for PATH-.

    The first `=` outside of brackets and quotes parts a path from its value: paths have `[name=web]`.
    """
    values: dict[str, str | None] = {}
    for each in assignments:
        at = _equals(each)
        is_removal = at < 0 and each.endswith("-")
        path = each[:-1].strip() if is_removal else each[:at].strip()
        if not path or (at < 1 and not is_removal):
            raise click.UsageError(f"{each!r} is not PATH=VALUE, as in spec.replicas=3, nor PATH-")
        if path in values:
            raise click.UsageError(f"{path} is given twice")
        values[path] = None if is_removal else each[at + 1 :]
    return values


def _equals(text: str) -> int:
    depth, is_quoted = 0, False
    for position, character in enumerate(text):
        if character == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        elif character == "=" and depth == 0:
            return position
    return -1


def _show(
    edits: WhatIf, done: tuple[FieldSet, ...], report: ImpactReport, stack: Stack, output: Output, format_: str
) -> None:
    from datetime import UTC, datetime

    from workbench.present import impact, setting

    if format_ == "text":
        output.lines(setting.lines(edits, done, report, stack.name))
        if edits.files:
            output.lines(impact.lines(report, output.glyphs, datetime.now(UTC), live_hint=False))
        return
    document = setting.document(edits, done, report, stack.name)
    (output.json if format_ == "json" else output.yaml)(document)


def _is_confirmed(yes: bool, output: Output) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        output.talk(Span("not confirmed: give --yes. Nothing was written.", Tone.BAD))
        return False
    if click.confirm("write this?", default=False, err=True):
        return True
    output.talk(Span("nothing was written", Tone.WARN))
    return False


def _message(stack: Stack, resource: str, done: tuple[FieldSet, ...]) -> str:
    from runtimes.base import format_path

    fields = ", ".join(format_path(each.path) for each in done)
    return f"{stack.name}: set {fields} of {resource}"
