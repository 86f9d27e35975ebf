"""`wb import`"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import Command, WorkPath, format_option, limits_options, workdir_option
from workbench.exit_codes import ExitCode
from workbench.words import few

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.intake.values import FirstPlan, Intake
    from workbench.session import Session


@click.group("import")
def command() -> None:
    """Write KCL for existing objects, so that the first plan is empty.

    A new stack is made, in a project that is new or there. Nothing is overwritten, no secret is written to a file, and
    what is written was compiled before, to exactly the objects that were taken in.
    """


def _shared(function: Command) -> Command:
    for option in reversed(
        [
            click.option(
                "--project", required=True, metavar="NAME", help="name the project; made where it is not there"
            ),
            click.option("--stack", required=True, metavar="NAME", help="name the new stack"),
            click.option("--folder", default="", metavar="PATH", help="make a new project here, below the root"),
            click.option("--dry-run", is_flag=True, help="show what would be written, and write nothing"),
            limits_options,
            workdir_option,
            format_option("text", "json"),
        ]
    ):
        function = option(function)
    return function


def _of_files(function: Command) -> Command:
    function = click.option(
        "--namespace", default="", metavar="NAME", help="name the namespace of the stack; by default each object's own"
    )(function)
    function = click.option(
        "--cluster", default="", metavar="NAME", help="name the cluster that the stack goes to; by default by placement"
    )(function)
    function = _shared(function)
    return click.argument("files", nargs=-1, required=True, type=WorkPath(allow_dash=True), metavar="FILE...")(function)


@command.command("live")
@click.option("--cluster", required=True, metavar="NAME", help="read this cluster of clusters.yaml")
@click.option("--namespace", required=True, metavar="NAME", help="read this namespace")
@click.option("--with-namespace", is_flag=True, help="import the Namespace itself too")
@click.option("--no-plan", is_flag=True, help="do not make the first plan")
@_shared
@click.pass_context
def live(
    ctx: click.Context,
    cluster: str,
    namespace: str,
    with_namespace: bool,
    no_plan: bool,
    project: str,
    stack: str,
    folder: str,
    dry_run: bool,
    workdir: Path | None,
    format_: str,
) -> None:
    """Write a stack for the live objects of a namespace.

    Left out is what comes by itself: what an object owns, what the server puts into every namespace, tokens, records of
    tools. Taken away is what the server filled in. Outside of a repository one is made here, and NAME of --cluster is a
    context of the kubeconfig.

    Exit code: 0 the first plan changes no field, or was not made; 1 it does; 3 not known, as kinds may not be listed or
    the cluster did not answer.
    """

    async def run(session: Session) -> tuple[Intake, FirstPlan | None]:
        async with session:
            destination = session.destination(project, stack, folder=folder, cluster=cluster, namespace=namespace)
            intake = await session.import_live(destination, with_namespace=with_namespace)
            if dry_run:
                return intake, None
            session.write_import(intake)
            return intake, None if no_plan or intake.placement else await session.first_plan(intake)

    _done(ctx, run, workdir, f"{project}/{stack}", cluster, dry_run, format_)


def _from_files(name: str, what: str) -> Callable[[], None]:
    def run_files(
        ctx: click.Context,
        files: tuple[Path, ...],
        cluster: str,
        namespace: str,
        project: str,
        stack: str,
        folder: str,
        dry_run: bool,
        workdir: Path | None,
        format_: str,
    ) -> None:
        async def run(session: Session) -> tuple[Intake, FirstPlan | None]:
            from workbench.engine.intake.manifests import read

            text = sys.stdin.read() if any(each.name == "-" for each in files) else None
            async with session:
                destination = session.destination(project, stack, folder=folder, cluster=cluster, namespace=namespace)
                manifests = read([Path("-") if each.name == "-" else each for each in files], text)
                intake = await session.import_manifests(destination, manifests, f"{what} in {_named(files)}")
                if not dry_run:
                    session.write_import(intake)
                return intake, None

        _done(ctx, run, workdir, f"{project}/{stack}", cluster, dry_run, format_)

    run_files.__doc__ = _DOCUMENTED[name]
    return command.command(name)(_of_files(click.pass_context(run_files)))


_DOCUMENTED = {
    "yaml": """Write a stack that says what manifests in YAML or JSON do.

    FILE is a file, a folder of them, or `-`. Lists are taken apart.
    """,
    "helm": """Write a stack that says what a chart renders to.

    FILE is what `helm template` printed, or `-`. Charts are not rendered here: nothing of them runs. Hooks are left
    out.
    """,
    "kustomize": """Write a stack that says what an overlay renders to.

    FILE is what `kubectl kustomize` printed, or `-`. Overlays are not rendered here.
    """,
}


yaml = _from_files("yaml", "manifests")
helm = _from_files("helm", "what Helm rendered")
kustomize = _from_files("kustomize", "what Kustomize rendered")


def _named(files: tuple[Path, ...]) -> str:
    return few(["standard input" if each.name == "-" else each.name for each in files], 3)


def _done(
    ctx: click.Context,
    run: Callable[[Session], Awaitable[tuple[Intake, FirstPlan | None]]],
    workdir: Path | None,
    stack: str,
    cluster: str,
    dry_run: bool,
    format_: str,
) -> None:
    from workbench.present import intake as present

    context: Context = ctx.obj
    output = context.output
    with _repository(context, workdir, cluster, stack, keep=not dry_run) as session:
        intake, found = anyio.run(run, session)
    if format_ == "json":
        output.json(present.document(intake, found))
    else:
        output.lines(present.lines(intake, output.glyphs, is_written=not dry_run))
        if found is not None:
            output.lines(present.first_plan(found, stack, output.glyphs))
        elif dry_run:
            output.talk("nothing was written")
        else:
            output.talk(f"{output.glyphs.arrow} wb plan {stack}")
    ctx.exit(_code(intake, found))


def _code(intake: Intake, found: FirstPlan | None) -> ExitCode:
    if found is not None and found.changed:
        return ExitCode.DIFFERENT
    if intake.unlisted or (found is not None and not found.is_known):
        return ExitCode.DIFF_FAILED
    return ExitCode.OK


@contextmanager
def _repository(context: Context, workdir: Path | None, cluster: str, stack: str, *, keep: bool) -> Iterator[Session]:
    """Opens the repository; where there is none, makes one of two files, which go again if nothing is imported."""
    from workbench.engine.intake import writing
    from workbench.project import NotARepository

    made: dict[Path, str] = {}
    try:
        session = context.open(workdir=workdir)
    except NotARepository:
        base = context.base(workdir)
        if not base.is_dir():
            raise
        made = writing.new_repository(base.resolve(), cluster, stack)
        _write(made)
        session = context.open(workdir=workdir)
    try:
        yield session
    except BaseException:
        keep = False
        raise
    finally:
        for file in () if keep else made:
            file.unlink(missing_ok=True)
    if made and keep:
        _talk_of(made, context.output)


def _write(made: dict[Path, str]) -> None:
    for file, text in made.items():
        with file.open("x", encoding="utf-8") as new:
            new.write(text)


def _talk_of(made: dict[Path, str], output: Output) -> None:
    for file in made:
        output.talk(f"{file.name} is new: there was no repository here")
