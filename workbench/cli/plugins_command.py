"""`wb plugins`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.project.plugins import AllowedPlugin
    from workbench.session import Session


@click.group("plugins")
def command() -> None:
    """List and trust the Python functions that the KCL of the repository may call."""


@command.command("list")
@workdir_option
@click.pass_context
def list_(ctx: click.Context, workdir: Path | None) -> None:
    """List the plugins of plugins.yaml, where their code is, and whether it is trusted on this machine."""
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
@click.option("--revoke", is_flag=True, help="revoke the trust")
@click.pass_context
def trust(ctx: click.Context, name: str, workdir: Path | None, revoke: bool) -> None:
    """Let the code of plugin NAME, with its settings, run on this machine when KCL calls it. Read both first.

    The same as `wb trust plugin NAME`.
    """
    from workbench.cli.trust_command import settle_plugin

    settle_plugin(ctx, name, workdir, revoke=revoke)


def _place(plugin: AllowedPlugin, session: Session) -> str:
    return f"package {plugin.package}" if plugin.package else str(plugin.file.relative_to(session.root))


def _trust(plugin: AllowedPlugin, session: Session) -> str:
    from workbench.engine.plugins import needs_trust
    from workbench.project import WorkbenchError
    from workbench.trust import plugins

    if not needs_trust(plugin):
        return "installed"
    try:
        return "yes" if session.trust.allows(plugins.want(plugin)) else "no"
    except WorkbenchError as error:
        return error.message
