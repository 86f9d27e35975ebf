"""`wb new`"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import Command, format_option, limits_options, workdir_option

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.copying import Created
    from workbench.project import Component, Project
    from workbench.session import Session


@click.group("new")
def command() -> None:
    """Create a project, stack or component as a copy of an existing one.

    It is compiled before anything is written, and refused where two stacks would have the same objects. On a terminal
    what is not given is asked for.
    """


def _shared(function: Command) -> Command:
    for option in (
        format_option("text", "json"),
        workdir_option,
        limits_options,
        click.option("--dry-run", is_flag=True, help="show what would be written, and write nothing"),
    ):
        function = option(function)
    return function


@command.command("project")
@click.argument("name", default="")
@click.option("--like", default="", metavar="PROJECT", help="copy this project")
@click.option(
    "--folder", default="", metavar="PATH", help="create it here, below the root; by default beside the other"
)
@click.option("--stack", "stacks", multiple=True, metavar="NAME", help="copy this stack only; may be repeated")
@_shared
@click.pass_context
def project(
    ctx: click.Context,
    name: str,
    like: str,
    folder: str,
    stacks: tuple[str, ...],
    dry_run: bool,
    workdir: Path | None,
    format_: str,
) -> None:
    """Create a project as a copy of another: its base and its stacks, under the new name."""
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    name, like = _asked("name of the project", name), _asked("project to copy", like)
    other = _project(session, like)
    _run(context, session, lambda: session.new_project(other, name, folder=folder, stacks=stacks), dry_run, format_)


@command.command("stack")
@click.argument("name", default="")
@click.option("--like", default="", metavar="STACK", help="copy this stack")
@click.option("--namespace", default="", metavar="NAME", help="give it this namespace")
@_shared
@click.pass_context
def stack(
    ctx: click.Context, name: str, like: str, namespace: str, dry_run: bool, workdir: Path | None, format_: str
) -> None:
    """Create a stack as a copy of another, in the same project."""
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    name, like = _asked("name of the stack", name), _asked("stack to copy, as project/stack", like)
    other = session.select(like)
    name = name.removeprefix(f"{other.path.project}/")
    _run(context, session, lambda: session.new_stack(other, name, namespace=namespace), dry_run, format_)


@command.command("site")
@click.argument("name")
@_shared
@click.pass_context
def site(ctx: click.Context, name: str, dry_run: bool, workdir: Path | None, format_: str) -> None:
    """Write the stacks of a whole site from its declaration, sites/NAME.k.

    Given again after a change of the declaration, it writes what follows from that. A file that was edited by hand is
    named, and nothing is written.
    """
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    _run(context, session, lambda: session.new_site(name), dry_run, format_, after=f"wb plan --site {name}")


@command.command("component")
@click.argument("name", default="")
@click.option("--like", default="", metavar="PROJECT/COMPONENT", help="copy this component")
@_shared
@click.pass_context
def component(ctx: click.Context, name: str, like: str, dry_run: bool, workdir: Path | None, format_: str) -> None:
    """Create a component as a copy of another, in the same project, for all its stacks."""
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    name, like = _asked("name of the component", name), _asked("component to copy, as project/component", like)
    owner, found = _component(session, like)
    _run(context, session, lambda: session.new_component(owner, found, name), dry_run, format_)


def _asked(what: str, given: str) -> str:
    if given:
        return given
    if not sys.stdin.isatty():
        raise click.UsageError(f"say the {what}: there is no terminal to ask on")
    answer: str = click.prompt(what, err=True)
    return answer.strip()


def _project(session: Session, name: str) -> Project:
    from workbench.engine.copying import CopyRefused

    tree = session.tree()
    found = next((each for each in tree.projects if each.name == name.strip("/")), None)
    if found is None:
        known = ", ".join(str(each.name) for each in tree.projects) or "none"
        raise CopyRefused(f"there is no project {name!r}", hint=f"the repository has {known}")
    return found


def _component(session: Session, text: str) -> tuple[Project, Component]:
    from workbench.engine.copying import CopyRefused

    owner, _, name = text.strip("/").rpartition("/")
    if not owner:
        raise CopyRefused(f"{text!r} does not name a component", hint="write it as project/component, such as shop/web")
    found = _project(session, owner)
    base = found.directory / "base"
    known = {each.name: each for stack in found.stacks for each in stack.components if each.file.parent == base}
    if name not in known:
        raise CopyRefused(f"the base of {owner} has no component {name!r}", hint=f"it has {', '.join(known) or 'none'}")
    return found, known[name]


def _run(
    context: Context,
    session: Session,
    make: Callable[[], Awaitable[Created]],
    dry_run: bool,
    format_: str,
    after: str = "",
) -> None:
    async def run() -> Created:
        async with session:
            created = await make()
            if not dry_run:
                session.write_new(created)
            return created

    from workbench.present import creation

    created = anyio.run(run)
    output = context.output
    if format_ == "json":
        output.json(creation.document(created, session.root))
        return
    output.lines(creation.lines(created, session.root))
    if dry_run:
        output.talk("nothing was written")
        return
    for each in [after] if after else [f"wb diff {path}" for path in created.objects]:
        output.talk(f"{output.glyphs.arrow} {each}")
