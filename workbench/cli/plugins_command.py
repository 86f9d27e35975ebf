"""`wb plugins`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.main import Context
    from workbench.project.plugins import AllowedPlugin
    from workbench.session import Session


@click.group("plugins")
def command() -> None:
    """Python functions that the KCL of the repository may call."""


@command.command("list")
@workdir_option
@click.pass_context
def list_(ctx: click.Context, workdir: Path | None) -> None:
    """The plugins that plugins.yaml lists, where their code is, and whether it is trusted on this machine."""
    from workbench.present.rows import Column, Row
    from workbench.present.text import line
    from workbench.project.plugins import read_allowed_plugins

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    found = read_allowed_plugins(session.root)
    if not found:
        context.output.talk("this repository has no plugins: there is no plugins.yaml at its root")
        ctx.exit(ExitCode.OK)
    rows = []
    for name, each in found.items():
        cells = (name, _place(each, session), _trust(each, session), f"{each.timeout_seconds:g} s")
        rows.append(Row(name, tuple(line(cell) for cell in cells)))
    context.output.table((Column("PLUGIN"), Column("CODE"), Column("TRUSTED"), Column("TIMEOUT")), rows)
    ctx.exit(ExitCode.OK)


@command.command("trust")
@click.argument("name")
@workdir_option
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
@click.pass_context
def trust(ctx: click.Context, name: str, workdir: Path | None, revoke: bool) -> None:
    """Let the code of plugin NAME, as it is now, run on this machine when KCL calls it. Read it first.

    A change of the code has to be trusted anew.
    """
    from workbench.engine.plugins import digest, read_code
    from workbench.project import ProjectError
    from workbench.project.plugins import PLUGINS_FILE, read_allowed_plugins

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    found = read_allowed_plugins(session.root).get(name)
    if revoke:
        session.local.distrust_plugin(name)
        context.output.talk(f"{name} is not trusted any more")
        ctx.exit(ExitCode.OK)
    if found is None:
        raise ProjectError(f"lists no plugin {name!r}", where=str(session.root / PLUGINS_FILE), hint="wb plugins list")
    if found.package:
        raise ProjectError(f"plugin {name} is an installed package, which needs no trust", where=str(session.root))
    code = digest(read_code(found))
    session.local.trust_plugin(name, code)
    context.output.talk(f"{found.file} may run from now on, as it is now (sha256 {code[:12]})")
    ctx.exit(ExitCode.OK)


def _place(plugin: AllowedPlugin, session: Session) -> str:
    return f"package {plugin.package}" if plugin.package else str(plugin.file.relative_to(session.root))


def _trust(plugin: AllowedPlugin, session: Session) -> str:
    from workbench.engine.plugins import digest, read_code
    from workbench.project import WorkbenchError

    if plugin.package:
        return "installed"
    try:
        code = digest(read_code(plugin))
    except WorkbenchError as error:
        return error.message
    return "yes" if session.trusts_plugin(plugin.name, code) else "no"
