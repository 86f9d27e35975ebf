"""`wb ci`"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcl import whole_file
from workbench.ci import changed_range, is_github, step_summary
from workbench.cli import loop
from workbench.cli.stacks import WorkPath, compile_options, inputs, workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.cli.context import Context
    from workbench.engine.impact import ImpactReport
    from workbench.project.policy import Policy
    from workbench.session import Session


@click.command("ci")
@click.option(
    "--git",
    "revision",
    default="",
    metavar="RANGE",
    help="compare this range; default: the pull or merge request that the CI builds, else what is not committed",
)
@click.option(
    "--summary",
    type=WorkPath(dir_okay=False),
    default=None,
    help="add the Markdown to this file; default: GITHUB_STEP_SUMMARY, else stdout",
)
@click.option(
    "--annotations",
    type=click.Choice(["github", "gitlab", "none"]),
    default=None,
    help="say where in the KCL as this CI reads it; default: github in GitHub Actions, else none",
)
@click.option(
    "--code-quality",
    type=WorkPath(dir_okay=False),
    default=None,
    help="with gitlab annotations: write them to this file; default: gl-code-quality-report.json",
)
@click.option(
    "--sarif",
    type=WorkPath(dir_okay=False),
    default=None,
    help="write what does not compile, and what policies and the linter find, to this file, for code scanning",
)
@click.option(
    "--lint",
    type=click.Choice(["lines", "files", "none"]),
    default="lines",
    show_default=True,
    help="say what kcl lint finds on lines that changed, or in files that did",
)
@click.option("--live", is_flag=True, help="ask clusters which live objects would change, and which pods restart")
@compile_options
@workdir_option
@click.pass_context
def command(
    ctx: click.Context,
    revision: str,
    summary: Path | None,
    annotations: str | None,
    code_quality: Path | None,
    sarif: Path | None,
    lint: str,
    live: bool,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
) -> None:
    """Write what a change affects for its pull request: a Markdown summary, and annotations at lines of KCL.

    Exit code: 0 written, 3 not everything that changes is known; what is known is written.
    """
    if code_quality is not None and annotations != "gitlab":
        raise click.UsageError("--code-quality goes with --annotations gitlab")
    context: Context = ctx.obj
    session: Session | None = None
    try:
        session = context.open(workdir=workdir)
        given = inputs(options, settings)

        async def run() -> ImpactReport:
            async with session:
                return await session.impact(
                    (), revision or _of_the_request(os.environ), given, live=live, policies=True, lint=lint
                )

        report = loop.outcome(run)
        file = summary or step_summary(os.environ)
        if file is not None:
            session.refuse_outside(file)
        quality = code_quality or context.base(workdir) / "gl-code-quality-report.json"
        if annotations == "gitlab":
            session.refuse_outside(quality)
        if sarif is not None:
            session.refuse_outside(sarif)
    except click.ClickException:
        raise
    except Exception as error:
        from workbench.cli.report import CommandFailed

        if sarif is not None and session is not None:
            _write_failure(error, session, sarif)
        raise CommandFailed(error, ExitCode.DIFF_FAILED) from error
    _write(context, report, file, annotations, quality)
    if sarif is not None:
        _write_sarif(report, _policies(session), sarif)
    ctx.exit(ExitCode.OK if report.is_certain and report.total else ExitCode.DIFF_FAILED)


def _write(context: Context, report: ImpactReport, file: Path | None, annotations: str | None, quality: Path) -> None:
    from workbench.present import pull_request
    from workbench.project import checkout

    output = context.output
    text = pull_request.markdown(report)
    if file is None:
        output.data(text)
    else:
        with file.open("a", encoding="utf-8", errors="replace") as written:
            written.write(text)
    found = pull_request.said_at_lines(report, checkout(report.root))
    kind = annotations or ("github" if is_github(os.environ) else "none")
    if kind == "github":
        for each in found:
            # those of stdout would stand in the Markdown
            (output.talk if file is None else output.data)(pull_request.github(each))
    elif kind == "gitlab":
        _write_json(pull_request.gitlab(found), quality)


def _write_sarif(report: ImpactReport, policies: Iterable[Policy], file: Path) -> None:
    from workbench.cli.context import installed_version
    from workbench.present import sarif
    from workbench.project import checkout

    _write_json(sarif.document(report, checkout(report.root), policies, installed_version()), file)


def _write_failure(error: Exception, session: Session, file: Path) -> None:
    """Says in the file that nothing is known; where it can't be written the failure itself is what is told."""
    from workbench.cli.context import installed_version
    from workbench.present import sarif
    from workbench.project import WorkbenchError

    with suppress(WorkbenchError, OSError):
        session.refuse_outside(file)
        _write_json(sarif.of_failure(error, installed_version()), file)


def _write_json(document: Any, file: Path) -> None:
    text = json.dumps(document, indent=2)
    whole_file.write(file, f"{text}\n".encode("utf-8", "replace"), mode=0o644)


def _policies(session: Session) -> tuple[Policy, ...]:
    """Returns the policies that explain what was found; none where they can't be read, which the report says itself."""
    from workbench.project import WorkbenchError

    try:
        return tuple(each for file in session.policy_files() for each in file.policies)
    except WorkbenchError:
        return ()


def _of_the_request(environment: Mapping[str, str]) -> str:
    """Returns the range of commits that this CI builds; raises `EngineError` where it says none."""
    found = changed_range(environment)
    if found is None:
        from workbench.engine.errors import EngineError

        raise EngineError(
            "this CI builds no pull or merge request, so it is not known what to compare with",
            hint="say it: wb ci --git HEAD~1..HEAD",
        )
    return found
