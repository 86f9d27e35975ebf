"""`wb release`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import WorkPath, find, format_option, reason_option, workdir_option
from workbench.present.rows import Column, Row
from workbench.present.text import Span, Tone, line
from workbench.project import WorkbenchError

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

_RESOURCE_COLUMNS = (Column("Action"), Column("State"), Column("Resource"), Column("Cluster"))


@click.group("release")
def command() -> None:
    """List and show the releases made on this machine."""


@command.command("list")
@click.argument("stack", default="", metavar="[STACK]")
@workdir_option
@format_option("table", "json")
@click.pass_obj
def list_(context: Context, stack: str, workdir: Path | None, format_: str) -> None:
    """List the releases of a stack, newest first."""
    from workbench.present import clusters

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
                        "identities": clusters.document(each.clusters),
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


@command.command("show")
@click.argument("stack", default="", metavar="[STACK]")
@click.option(
    "--revision", type=click.IntRange(min=1), default=None, metavar="N", help="show this revision; default: the latest"
)
@workdir_option
@click.pass_obj
def show(context: Context, stack: str, revision: int | None, workdir: Path | None) -> None:
    """Show one release: what became of every resource in it."""
    from workbench.present import clusters

    session, found = find(context, stack, workdir)
    releases = session.releases(found)
    chosen = next((each for each in releases if revision in (None, each.revision)), None)
    if chosen is None:
        known = ", ".join(f"#{each.revision}" for each in releases) or "none"
        raise WorkbenchError(f"there is no release #{revision or 1}", where=found.name, hint=f"recorded here: {known}")
    when, who = f"{chosen.started:%Y-%m-%d %H:%M} UTC", f"{chosen.user}@{chosen.host}"
    title = Span(f"release #{chosen.revision} ", Tone.STRONG)
    context.output.line(title, f"{chosen.phase.value} by {who}, {when}, plan {chosen.plan[:7]}")
    for each in clusters.lines(chosen.clusters):
        context.output.line(each)
    rows = (
        Row(address, (line(each.action.value), line(each.state.value), line(str(address.id)), line(address.cluster)))
        for address, each in chosen.resources.items()
    )
    context.output.table(_RESOURCE_COLUMNS, rows)
    for address, resource in chosen.resources.items():
        if resource.error:
            context.output.line(Span(f"{address}: ", Tone.MUTED), Span(resource.error, Tone.BAD))


@command.command("move")
@click.argument("former", type=WorkPath(), metavar="FORMER_FOLDER")
@workdir_option
@click.pass_obj
def move(context: Context, former: Path, workdir: Path | None) -> None:
    """Take over the releases and Terraform states of a checkout that was moved here."""
    stacks = context.open(workdir=workdir).take_over(former.absolute())
    context.output.line(Span(f"taken over from {former}: ", Tone.GOOD), ", ".join(stacks))


@command.command("forget")
@click.argument("stack", default="", metavar="[STACK]")
@click.option("--cluster", required=True, metavar="CLUSTER", help="name the cluster that is gone, as plans name it")
@workdir_option
@reason_option
@click.pass_obj
def forget(context: Context, stack: str, cluster: str, workdir: Path | None, reason: str) -> None:
    """Forget what a stack has in a cluster that is gone for good; deletes nothing anywhere."""
    session, found = find(context, stack, workdir)
    session.reason = reason or session.reason
    gone = session.forget(found, cluster)
    context.output.line(Span(f"forgotten in {cluster}: ", Tone.GOOD), ", ".join(gone))
