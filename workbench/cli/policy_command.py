"""`wb policy`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop
from workbench.cli.stacks import (
    NO_STACKS,
    answers_by_code,
    compile_options,
    format_option,
    inputs,
    tell_findings,
    workdir_option,
)
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.policy.findings import Judgement
    from workbench.project.policy import PolicyFile, Waiver
    from workbench.session import Session


@click.command("policy")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--rules", is_flag=True, help="list the rules that policies may name, and what they take")
@compile_options
@workdir_option
@format_option("table", "json", "yaml", "sarif")
@click.pass_context
@answers_by_code
def command(
    ctx: click.Context,
    globs: tuple[str, ...],
    rules: bool,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Check stacks against the policies of the repository, without contacting a cluster.

    GLOB is over project/stack, such as '*/prod'; nothing means all stacks. Policies about plans are checked by wb plan.

    Exit code: 0 nothing is against a policy, 1 something is, 3 it is not known of some stack.
    """
    context: Context = ctx.obj
    output = context.output
    if rules:
        if format_ == "sarif":
            raise click.UsageError("-o sarif is for what is found, and --rules finds nothing")
        _print_rules(output, format_)
        return
    session = context.open(workdir=workdir)
    given = inputs(options, settings)
    is_broken = tell_findings(session.tree(), output)
    stacks = session.choose(*globs) if globs else tuple(session.tree().stacks())
    if not stacks:
        raise click.UsageError(NO_STACKS)
    files = session.policy_files()

    async def judge() -> tuple[Judgement, ...]:
        async with session:
            return await session.judge(stacks, given)

    judged = loop.outcome(judge)
    if format_ == "sarif":
        _print_sarif(output, judged, session, files)
    else:
        _print(output, judged, session.root, format_)
    _remark(output, judged, [each for file in files for each in file.waivers], is_whole=not globs)
    if not any(file.policies for file in files):
        output.talk("no policies here: policy.yaml at the root of the repository, or WB_POLICY, has them")
    if any(each.refuses for each in judged):
        ctx.exit(ExitCode.DIFFERENT)
    ctx.exit(ExitCode.DIFF_FAILED if is_broken or not all(each.is_certain for each in judged) else ExitCode.OK)


def _print(output: Output, judged: tuple[Judgement, ...], root: Path, format_: str) -> None:
    from workbench.present import policy

    if format_ == "json":
        output.json(policy.judgements(judged, root))
        return
    if format_ == "yaml":
        output.yaml(policy.judgements(judged, root))
        return
    for each in judged:
        output.lines(policy.judgement_lines(each, root, output.glyphs))
    output.line(policy.summary_line(judged, output.glyphs))


def _print_sarif(
    output: Output, judged: tuple[Judgement, ...], session: Session, files: tuple[PolicyFile, ...]
) -> None:
    from workbench.cli.context import installed_version
    from workbench.present import sarif
    from workbench.project import checkout

    policies = [each for file in files for each in file.policies]
    top = checkout(session.root)
    findings = session.tree().all_findings()
    output.json(sarif.of_judgements(judged, findings, session.root, top, policies, installed_version()))


def _remark(output: Output, judged: tuple[Judgement, ...], waivers: list[Waiver], *, is_whole: bool) -> None:
    """Says which policies were not asked, and which waivers nobody needs: of a part of the stacks that says nothing."""
    from workbench.present import policy

    if (deferred := policy.deferred_line(judged)) is not None:
        output.talk(deferred)
    about_plans = {name for each in judged if each.report is not None for name in each.report.deferred}
    if not is_whole or not all(each.is_certain for each in judged):
        return
    used = {waiver for each in judged if each.report is not None for waiver in each.report.used}
    for each in waivers:
        if each not in used and not _is_for_any(each, about_plans):
            output.talk(policy.waiver_line(each, output.glyphs))


def _is_for_any(waiver: Waiver, policies: set[str]) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(each, waiver.policy) for each in policies)


def _print_rules(output: Output, format_: str) -> None:
    from workbench.engine.policy.registry import all_rules
    from workbench.present import policy

    found = all_rules()
    if format_ == "json":
        output.json(policy.rules(found))
    elif format_ == "yaml":
        output.yaml(policy.rules(found))
    else:
        output.lines(policy.rule_lines(found))
