"""`wb trust`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.main import Context


@click.group("trust")
def command() -> None:
    """What the repository may use on this machine because you say so."""


@command.command("backend")
@click.argument("stack")
@workdir_option
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
@click.pass_context
def backend(ctx: click.Context, stack: str, workdir: Path | None, revoke: bool) -> None:
    """Let Terraform keep the state of STACK in the backend that it names now. Read its settings first.

    A change of any setting has to be trusted again.
    """
    from workbench import backend_trust
    from workbench.project import ProjectError

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    found = session.select(stack)
    named = found.terraform.backend
    if named is None:
        raise ProjectError(
            "names no Terraform backend, so there is nothing to trust",
            where=str(found.path),
            hint="its state is a file on this machine",
        )
    name, digest = backend_trust.named(named), session.backend_digest(found)
    if revoke:
        session.local.distrust_backend(digest)
        context.output.talk(f"the Terraform backend {name} is not trusted any more")
    elif not session.needs_trust(found):
        context.output.talk(f"the Terraform backend {name} is a file of the stack's own, which needs no trust")
    else:
        session.local.trust_backend(digest, name)
        context.output.talk(
            f"the Terraform backend {name} may be used from now on, with these settings (sha256 {digest[:12]}): "
            f"{backend_trust.where(found.terraform)}"
        )
    ctx.exit(ExitCode.OK)
