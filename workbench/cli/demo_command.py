"""`wb demo`: the main job from end to end, on two embedded clusters.

With a terminal it opens the screen on them. Without one it does the same as plain text, step by step, and its exit
code says whether all of it went well.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone
from workbench.words import counted

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.cli.practice import Practice
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.plan import Plan
    from workbench.engine.status import StatusTree
    from workbench.project import Stack
    from workbench.session import Session

_WELCOME = "Two practice clusters run yesterday's version."
_FIRST_KEYS = {
    "browse.diff": "live diff",
    "browse.plan": "plan",
    "browse.apply": "apply",
    "browse.watch": "watch",
    "everywhere.keys": "all keys",
}


@click.command("demo")
@click.option("--plain", is_flag=True, help="print plain text, in a terminal too")
@click.option("--headless", is_flag=True, help="serve the clusters and a CMDB until stopped; show nothing")
@click.pass_context
def command(ctx: click.Context, plain: bool, headless: bool) -> None:
    """Show the main job on two embedded clusters: nothing else is needed.

    Opens the screen, or without a terminal prints each step as plain text. With --headless it serves the clusters and
    a CMDB until it is stopped: notebooks and commands in the sample repository then find them by themselves.
    """
    context: Context = ctx.obj
    if headless:
        ctx.exit(anyio.run(_headless, context))
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not plain
    ctx.exit(anyio.run(_screen if has_terminal else _plain, context))


async def _screen(context: Context) -> int:
    from workbench.cli import practice
    from workbench.cli.screen import ended, shown
    from workbench.session import Session
    from workbench.tui.app import WorkbenchApp

    context.output.talk("starting two practice clusters and yesterday's version on them ...")
    async with (
        practice.practise(context.settings, context.work_dir) as place,
        Session.open(place.root, settings=place.settings) as session,
    ):
        await practice.seed(session)
        await practice.change_by_hand(place)
        app = WorkbenchApp(session, open_at=practice.STACK, message=_WELCOME, first_keys=_FIRST_KEYS)
        code = await shown(app)
    return ended(code, app.return_code)


async def _headless(context: Context) -> int:
    from workbench.cli import headless

    output = context.output
    async with headless.served(context.settings, context.work_dir, output.talk) as practice:
        output.line(f"alarm {practice.incident}: {','.join(practice.hostnames)}")
        output.line(f"READY {practice.kubeconfig}")
        sys.stdout.flush()
        await headless.until_stopped()
    return ExitCode.OK


async def _plain(context: Context) -> int:
    from workbench.cli import practice
    from workbench.session import Session

    began = time.monotonic()
    output = context.output
    _step(output, "two practice clusters, running yesterday's version", "wb sandbox start --clusters 2")
    async with (
        practice.practise(context.settings, context.work_dir) as place,
        Session.open(place.root, settings=place.settings) as session,
    ):
        await practice.seed(session)
        output.line(f"  hangzhou and shanghai run {', '.join((practice.STACK, *practice.OTHERS))} of yesterday")
        output.line(f"  {await practice.change_by_hand(place)}")
        code = await _main_job(session, session.select(practice.STACK), output)
        if code == ExitCode.OK:
            code = await _cloud(session, place, output)
    output.line()
    output.line(f"done in {time.monotonic() - began:.0f} s")
    return code


async def _main_job(session: Session, stack: Stack, output: Output) -> int:
    from workbench.cli.diff_command import print_diff
    from workbench.engine.status import Verdict

    _step(output, "list", "wb ls")
    _list(session, output)

    _step(output, "compile", f"wb compile {stack.name} -o table")
    await _compile(session, stack, output)

    _step(output, "diff: what today's version would change, and which line says so", f"wb diff {stack.name}")
    print_diff(output, await session.diff(stack), session.root, "table")

    _step(output, "apply, taking back what was changed by hand", f"wb apply {stack.name} --force --confirm ...")
    if not await _apply(session, stack, None, output):
        return ExitCode.PARTIAL

    _step(output, "reconcile", f"wb watch {stack.name}")
    tree = await _watch(session, stack, None, output)
    if tree.verdict is not Verdict.FAILED:
        output.line(Span("the demo expected one workload to fail", Tone.BAD))
        return ExitCode.ERROR

    _step(
        output,
        "the failing workload explained",
        f"wb explain {stack.name} Deployment/web spec.template.spec.containers[name=web].image",
    )
    _explain(tree, output)
    await _where_from(session, stack, output)

    _step(output, "fixed by a what-if edit: no file is touched", "in the screen: i")
    inputs = await _fix(session, stack, output)
    if not await _apply(session, stack, inputs, output):
        return ExitCode.PARTIAL

    _step(output, "ready", f"wb watch {stack.name}")
    tree = await _watch(session, stack, inputs, output)
    return ExitCode.OK if tree.verdict is Verdict.READY else ExitCode.NOT_READY


async def _cloud(session: Session, place: Practice, output: Output) -> int:
    if place.no_cloud:
        output.line()
        output.line(f"databases from Terraform are left out: {place.no_cloud}")
        return ExitCode.OK
    from workbench.cli import demo_cloud

    return await demo_cloud.show(session, place, output, _step, _applied)


def _step(output: Output, title: str, command: str) -> None:
    output.line()
    output.line(Span(f"== {title}", Tone.STRONG))
    output.line(Span(f"   $ {command}", Tone.MUTED))


def _list(session: Session, output: Output) -> None:
    for stack in session.tree().stacks():
        names = ", ".join(each.name for each in stack.components)
        output.line(f"  {stack.name:<16} {', '.join(stack.clusters):<20} ", Span(names, Tone.MUTED))


async def _compile(session: Session, stack: Stack, output: Output) -> None:
    from workbench.present import spec

    compiled = await session.compile(stack)
    output.table(spec.RESOURCE_COLUMNS, spec.resource_rows(compiled.spec))
    read = len(compiled.dependencies)
    output.line(f"{counted(len(compiled.spec), 'resource')} from {counted(read, 'file')} in {compiled.seconds:.2f} s")


async def _apply(session: Session, stack: Stack, inputs: CompileInputs | None, output: Output) -> bool:
    return await _applied(session, await session.plan(stack, inputs, force=True), output)


async def _applied(session: Session, made: Plan, output: Output) -> bool:
    """Shows a plan and does it, as if it had been confirmed; tells whether all of it went well."""
    from workbench.cli import progress
    from workbench.engine.events import Outcome
    from workbench.present import plan

    output.lines(plan.lines(made, output.glyphs))
    if made.is_refused:
        return False
    async with session.apply(made, confirm=made.confirmation.phrase) as events:
        finished = await progress.show_events(events, output)
    return finished is not None and finished.outcome is Outcome.SUCCEEDED


async def _watch(session: Session, stack: Stack, inputs: CompileInputs | None, output: Output) -> StatusTree:
    from workbench.cli import progress
    from workbench.present import reconcile

    async with session.watch(stack, inputs, until_settled=True, timeout_seconds=45) as trees:
        tree = await progress.show_trees(trees, output)
    assert tree is not None, "a watch yields at least one picture"
    output.line("  ", reconcile.summary(tree, output.glyphs, tree.at))
    return tree


def _explain(tree: StatusTree, output: Output) -> None:
    from workbench.present import reconcile

    output.line(reconcile.why_line(tree, output.glyphs, tree.at))
    why = tree.why
    if why is None:
        return
    if why.tree is not None:
        rows = reconcile.event_rows(why.tree, datetime.now(UTC))[-5:]
        output.table(reconcile.EVENT_COLUMNS, rows)
    for text in why.blocking.log_tail if why.blocking else ():
        output.line(Span("    | ", Tone.MUTED), text)


async def _where_from(session: Session, stack: Stack, output: Output) -> None:
    from workbench.present import explain

    compiled = await session.compile(stack)
    path = "spec.template.spec.containers[name=web].image"
    for each in explain.lines(compiled.spec, "Deployment/web", path, session.root):
        output.line("  ", each)


async def _fix(session: Session, stack: Stack, output: Output) -> CompileInputs:
    """Replaces the image where its provenance says that it is written, and shows the patch."""
    from workbench.cli import practice
    from workbench.engine.field_edit import set_field
    from workbench.present import explain, paths

    compiled = await session.compile(stack)
    deployment = explain.find(compiled.spec, "Deployment/web")
    path = paths.parse("spec.template.spec.containers[name=web].image")
    edited = await set_field(
        session.whatif(stack), partial(session.compile, stack), deployment.id, path, practice.FIXED_IMAGE
    )
    for text in edited.patch().splitlines():
        tone = {"+": Tone.ADDED, "-": Tone.REMOVED}.get(text[:1], Tone.MUTED)
        output.line("  ", Span(text, tone))
    return edited.inputs
