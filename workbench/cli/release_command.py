"""`wb release`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import find, format_option, workdir_option
from workbench.present.rows import Column, Row
from workbench.present.text import Span, Tone, line

if TYPE_CHECKING:
    from workbench.cli.main import Context

_COLUMNS = (
    Column("#", right=True),
    Column("Phase"),
    Column("By"),
    Column("Started (UTC)"),
    Column("Resources"),
    Column("Plan"),
)


@click.group("release")
def command() -> None:
    """What was released from this machine."""


@command.command("list")
@click.argument("stack", default="", metavar="[STACK]")
@workdir_option
@format_option("table", "json")
@click.pass_obj
def list_(context: Context, stack: str, workdir: Path | None, format_: str) -> None:
    """List the releases of a stack, newest first."""
    session, found = find(context, stack, workdir)
    releases = session.releases(found)
    if format_ == "json":
        context.output.json(
            {
                "apiVersion": "wb/v1",
                "kind": "Releases",
                "status": "ok",
                "releases": [
                    {
                        "stack": each.stack,
                        "revision": each.revision,
                        "phase": each.phase.value,
                        "user": each.user,
                        "host": each.host,
                        "started": f"{each.started:%Y-%m-%dT%H:%M:%SZ}",
                        "plan": each.plan,
                        "resources": [
                            {"cluster": address.cluster, "id": str(address.id), "state": resource.state.value}
                            for address, resource in each.resources.items()
                        ],
                    }
                    for each in releases
                ],
            }
        )
        return
    for each in releases:
        for warning in each.warnings:
            context.output.talk(Span(f"! {warning}", Tone.WARN))
    rows = (
        Row(
            each.revision,
            (
                line(str(each.revision)),
                line(each.phase.value),
                line(f"{each.user}@{each.host}"),
                line(f"{each.started:%Y-%m-%d %H:%M}"),
                line(str(len(each.resources))),
                line(each.plan[:7]),
            ),
        )
        for each in releases
    )
    if releases:
        context.output.table(_COLUMNS, rows)
    else:
        context.output.talk(f"{found.name} was not released from here yet")
