"""`wb update`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from workbench.cli.stacks import format_option, limits_options, workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.session import Session
    from workbench.session.updating import StackUpdate


@click.group("update")
def command() -> None:
    """Update the repository to newer versions of what it names."""


@command.command("images")
@click.argument("stacks", nargs=-1, required=True, metavar="STACK...")
@click.option(
    "--registry", "registries", multiple=True, metavar="HOST", help="ask this registry, as no other is; may be repeated"
)
@click.option("-y", "--yes", is_flag=True, help="write without asking")
@click.option("--dry-run", is_flag=True, help="show what would be written, and write nothing")
@click.option("--commit", "commits", is_flag=True, help="make a commit for each stack, of exactly the files edited")
@limits_options
@workdir_option
@format_option("text", "json")
@click.pass_context
def images(
    ctx: click.Context,
    stacks: tuple[str, ...],
    registries: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    commits: bool,
    workdir: Path | None,
    format_: str,
) -> None:
    """Update the images of stacks to the newest that the policies of images.yaml allow.

    STACK is a glob over project/stack, or names one. The line that names an image is edited, in the stack's own files
    where that line decides stacks under another policy.

    Exit code: 0 every image with a policy is the newest now; 3 of one it is not known, as its registry was not to be
    asked or does not say; 1 no edit brings one there; 4 not confirmed, or not to be written.
    """
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    chosen = session.choose(*stacks)
    documents: list[Any] = []
    found: list[StackUpdate] = []
    for stack in chosen:
        update = anyio.run(_update, session, str(stack.path), registries)
        found.append(update)
        documents.append(_show(update, context.output, format_))
        if not update.edits.files or dry_run:
            continue
        session.refuse_writing(stack)
        if commits:
            from workbench.engine.committing import refuse_commit

            refuse_commit(session.root, update.edits.files)
        if not _is_confirmed(yes, context.output):
            ctx.exit(ExitCode.REFUSED)
        anyio.run(_write, session, update)
        for file in update.edits.files:
            context.output.talk(f"{context.output.glyphs.good} {file.relative_to(session.root).as_posix()} is written")
        if commits:
            from workbench.engine.committing import commit

            made = commit(session.root, update.edits.files, _message(update))
            context.output.talk(f"{context.output.glyphs.good} commit {made}")
    if format_ == "json":
        context.output.json({"apiVersion": "wb/v1", "kind": "ImageUpdates", "stacks": documents})
    if dry_run:
        context.output.talk("nothing was written")
    ctx.exit(_code(found))


async def _update(session: Session, stack: str, registries: tuple[str, ...]) -> StackUpdate:
    async with session:
        return await session.update_images(session.select(stack), registries)


async def _write(session: Session, update: StackUpdate) -> None:
    async with session:
        await session.write_edits(update.stack, update.edits, update.done)


def _show(update: StackUpdate, output: Output, format_: str) -> Any:
    from workbench.present import images as present
    from workbench.present import setting

    if format_ == "json":
        patch = setting.patch(update.edits, update.done, update.report) if update.report is not None else ""
        return present.document(update.stack.name, update.images, patch)
    output.lines(present.lines(update.stack.name, update.images))
    if update.report is not None:
        output.lines(present.patch(update.edits, update.done, update.report))
    return None


def _is_confirmed(yes: bool, output: Output) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        output.talk("not confirmed: give --yes. Nothing of this stack was written.")
        return False
    return click.confirm("write this?", default=False, err=True)


def _message(update: StackUpdate) -> str:
    told = ", ".join(f"{each.used.image} → {each.after}" for each in update.images if each.standing == "updated")
    return f"{update.stack.name}: {told}"


def _code(found: list[StackUpdate]) -> ExitCode:
    standings = {str(each.standing) for update in found for each in update.images}
    if "kept" in standings:
        return ExitCode.ERROR
    return ExitCode.DIFF_FAILED if "unknown" in standings else ExitCode.OK
