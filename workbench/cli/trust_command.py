"""`wb trust`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import WorkPath, compile_options, format_option, inputs, workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.cli.trust_listing import Unknown
    from workbench.engine.spec import Spec
    from workbench.local import Trusted
    from workbench.session import Session
    from workbench.trust import Standing, Want

_SHORTEST = 8
revoke_option = click.option("--revoke", is_flag=True, help="revoke the trust")


@click.group("trust")
def command() -> None:
    """Decide what a repository may use on this machine."""


@command.command("list")
@click.argument("stacks", nargs=-1, metavar="[STACK]...")
@workdir_option
@format_option("table", "json")
@click.pass_context
def list_(ctx: click.Context, stacks: tuple[str, ...], workdir: Path | None, format_: str) -> None:
    """List what the repository requests, whether it is trusted and by whom, and trust that is no longer needed.

    Compiles the stacks, or those named, to find their Terraform providers. Starts nothing else, and asks nobody.
    """
    from workbench.cli.trust_listing import Unknown
    from workbench.trust import Standing

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    found = anyio.run(_wanted, session, stacks)
    standings = [each for each in found if isinstance(each, Standing)]
    unknown = [each for each in found if isinstance(each, Unknown)]
    named = {each.want.digest for each in standings}
    former = [] if stacks or unknown else [each for each in session.trust.all_trusted() if each.digest not in named]
    if format_ == "json":
        context.output.json(_document(session, standings, unknown, former))
    else:
        _table(context.output, session, standings, former)
    for each in unknown:
        context.output.talk(f"not known: {each.what}: {each.why}")
    ctx.exit(ExitCode.ERROR if unknown else ExitCode.OK)


async def _wanted(session: Session, names: Sequence[str]) -> list[Standing | Unknown]:
    from workbench.cli.trust_listing import wanted

    async with session:
        stacks = [session.select(each) for each in names] if names else list(session.tree().stacks())
        return [each async for each in wanted(session, stacks)]


def _document(
    session: Session, standings: Sequence[Standing], unknown: Sequence[Unknown], former: Sequence[Trusted]
) -> dict[str, object]:
    wants = [
        {
            "kind": str(each.want.kind),
            "name": each.want.name,
            "digest": each.want.digest,
            "where": each.want.where,
            "trusted": each.is_trusted,
            "by": each.by or None,
            "since": each.since or None,
            "command": None if each.is_trusted else each.want.command,
        }
        for each in standings
    ]
    return {
        "untrusted": session.trust.untrusted or None,
        "wants": wants,
        "unknown": [{"what": each.what, "why": each.why} for each in unknown],
        "unused": [
            {"kind": each.kind, "name": each.name, "digest": each.digest, "since": each.since} for each in former
        ],
    }


def _table(output: Output, session: Session, standings: Sequence[Standing], former: Sequence[Trusted]) -> None:
    from workbench.present.rows import Column, Row
    from workbench.present.text import line

    if session.trust.untrusted:
        output.talk(f"this repository is untrusted, as {session.trust.untrusted}: nothing of this is used")
    rows = [
        Row(
            each.want.digest,
            tuple(
                line(cell)
                for cell in (
                    str(each.want.kind),
                    each.want.name,
                    _said(each.by, each.since) or "no",
                    each.want.digest[:12],
                    each.want.where if each.is_trusted else f"{each.want.where}: {each.want.command}",
                )
            ),
        )
        for each in standings
    ]
    rows += [
        Row(
            each.digest,
            tuple(
                line(cell)
                for cell in (each.kind, each.name, _said("you", each.since), each.digest[:12], "not wanted any more")
            ),
        )
        for each in former
    ]
    if not rows:
        output.talk("this repository wants nothing that needs trust")
        return
    columns = (Column("KIND"), Column("NAME"), Column("TRUSTED"), Column("DIGEST"), Column("WHERE"))
    output.table(columns, rows)


def _said(by: str, since: str) -> str:
    return f"{by} since {since[:10]}" if by and since else by


@command.command("repository")
@workdir_option
@revoke_option
@click.pass_context
def repository(ctx: click.Context, workdir: Path | None, revoke: bool) -> None:
    """Trust this checkout as your own, though it belongs to another user or is a pull request.

    Of a pull request one commit is trusted: the next one has to be trusted again. Plugins, providers and backends are
    still asked for one by one.
    """
    from workbench.project import ProjectError

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    want = session.trust.repository()
    if want is None and session.trust.untrusted:
        raise ProjectError(
            session.trust.refusal("trust in the checkout changes nothing"), where=str(session.root), hint="wb --trusted"
        )
    if want is None:
        context.output.talk("this checkout is taken for your own by rule, which needs no trust")
        ctx.exit(ExitCode.OK)
    _settle(context.output, session, [want], revoke=revoke)
    ctx.exit(ExitCode.OK)


@command.command("backend")
@click.argument("stack")
@workdir_option
@revoke_option
@click.pass_context
def backend(ctx: click.Context, stack: str, workdir: Path | None, revoke: bool) -> None:
    """Let Terraform keep the state of STACK in the backend that it names now. Read its settings first.

    A change of any setting has to be trusted again.
    """
    from workbench.project import ProjectError

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    found = session.select(stack)
    if found.terraform.backend is None:
        raise ProjectError(
            "names no Terraform backend, so there is nothing to trust",
            where=str(found.path),
            hint="its state is a file on this machine",
        )
    want = session.backend_want(found)
    if want is None:
        context.output.talk("its Terraform backend is a file of the stack's own, which needs no trust")
        ctx.exit(ExitCode.OK)
    _settle(context.output, session, [want], revoke=revoke)
    ctx.exit(ExitCode.OK)


@command.command("provider")
@click.argument("stack")
@click.argument("source", default="", metavar="[SOURCE]")
@compile_options
@workdir_option
@revoke_option
@click.pass_context
def provider(
    ctx: click.Context,
    stack: str,
    source: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    revoke: bool,
) -> None:
    """Let Terraform fetch and run the providers that STACK names now, with these settings, or SOURCE alone.

    A change of source, version, settings or of the checksums in the repository has to be trusted again.
    """
    from runtimes.base import ProviderUse
    from workbench.cli.trust_listing import providers_of
    from workbench.project import ProjectError
    from workbench.trust import providers

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    found = session.select(stack)

    async def standings() -> list[Standing]:
        async with session:
            return await providers_of(session, found, inputs(options, settings))

    every = anyio.run(standings)
    chosen = [each for each in every if source in ("", each.want.about)]
    if source and not chosen:
        if source.count("/") != 2:
            hint = "for example registry.terraform.io/acme/cloud"
            raise ProjectError(f"{source!r} is no provider: host/namespace/name", where=stack, hint=hint)
        # only the state names it, in the version that its lock file has
        chosen = [session.trust.standing(providers.code(ProviderUse(source)))]
    open_ = [each.want for each in chosen if revoke or not each.is_trusted]
    if not open_:
        context.output.talk(f"{found.path} names no Terraform provider that is not trusted already")
        ctx.exit(ExitCode.OK)
    _settle(context.output, session, open_, revoke=revoke)
    ctx.exit(ExitCode.OK)


@command.command("secrets")
@click.argument("stack")
@compile_options
@workdir_option
@revoke_option
@click.pass_context
def secrets(
    ctx: click.Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    revoke: bool,
) -> None:
    """Let the secrets of Vault that STACK refers to now be read with your login, for the fields that it names.

    Each of them is shown, with the field that gets it. Another reference, or another field, has to be trusted again.
    """
    from workbench.engine.secret_references import uses

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    found = session.select(stack)

    async def compiled() -> Spec:
        async with session:
            return (await session.compile(found, inputs(options, settings))).spec

    every = uses(anyio.run(compiled))
    want = session.secrets_want(found, every)
    if want is None:
        context.output.talk(f"{found.path} refers to no secret of Vault; others need no trust")
        ctx.exit(ExitCode.OK)
    for use in every:
        for reference in use.references:
            context.output.talk(f"{reference} to {use.field} ({use.where})")
    _settle(context.output, session, [want], revoke=revoke)
    ctx.exit(ExitCode.OK)


@command.command("plugin")
@click.argument("name")
@workdir_option
@revoke_option
@click.pass_context
def plugin(ctx: click.Context, name: str, workdir: Path | None, revoke: bool) -> None:
    """Let the code of plugin NAME, with its settings, run on this machine when KCL calls it. Read both first.

    A change of the code, or of a setting in plugins.yaml, has to be trusted again.
    """
    settle_plugin(ctx, name, workdir, revoke=revoke)


def settle_plugin(ctx: click.Context, name: str, workdir: Path | None, *, revoke: bool) -> None:
    """Trusts a plugin, or trusts it no longer, and ends the command."""
    from workbench.engine.plugins import needs_trust
    from workbench.project import ProjectError
    from workbench.project.plugins import PLUGINS_FILE, read_allowed_plugins
    from workbench.trust import plugins

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    if revoke:
        former = [each for each in session.trust.all_trusted() if each.kind == "plugin" and each.name == name]
        for each in former:
            session.local.revoke(each.kind, each.digest)
        context.output.talk(f"the plugin {name} is not trusted any more" if former else f"{name} was not trusted")
        ctx.exit(ExitCode.OK)
    found = read_allowed_plugins(session.root).get(name)
    if found is None:
        raise ProjectError(f"lists no plugin {name!r}", where=str(session.root / PLUGINS_FILE), hint="wb plugins list")
    if not needs_trust(found):
        context.output.talk(f"plugin {name} is an installed package, which needs no trust")
        ctx.exit(ExitCode.OK)
    _settle(context.output, session, [plugins.want(found)], revoke=False)
    ctx.exit(ExitCode.OK)


@command.command("kubeconfig")
@click.argument("file", type=WorkPath(exists=True, dir_okay=False))
@workdir_option
@revoke_option
@click.pass_context
def kubeconfig(ctx: click.Context, file: Path, workdir: Path | None, revoke: bool) -> None:
    """Let FILE, a kubeconfig of the repository, name programs and files for credentials, as it is now."""
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    want = session.trust.kubeconfig(file)
    if want is None:
        context.output.talk(f"{file} is no file of the repository, so it needs no trust")
        ctx.exit(ExitCode.OK)
    _settle(context.output, session, [want], revoke=revoke)
    ctx.exit(ExitCode.OK)


@command.command("revoke")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@workdir_option
@click.option("--all", "everything", is_flag=True, help="revoke all that is trusted in this repository")
@click.pass_context
def revoke(ctx: click.Context, names: tuple[str, ...], workdir: Path | None, everything: bool) -> None:
    """Revoke trust: by NAME, kind or digest (its first 8 characters or more), as `wb trust list` shows them."""
    from workbench.project import ProjectError

    if bool(names) == everything:
        raise click.UsageError("say what to revoke, or --all for everything")
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    trusted = session.trust.all_trusted()
    for name in names:
        if not any(_is_named(each, name) for each in trusted):
            raise ProjectError(f"nothing is trusted here as {name!r}", where=str(session.root), hint="wb trust list")
    chosen = [each for each in trusted if everything or any(_is_named(each, name) for name in names)]
    for each in chosen:
        session.local.revoke(each.kind, each.digest)
        context.output.talk(f"the {each.kind} {each.name} is not trusted any more")
    if not chosen:
        context.output.talk("nothing was trusted here")
    ctx.exit(ExitCode.OK)


def _is_named(trusted: Trusted, name: str) -> bool:
    is_digest = len(name) >= _SHORTEST and trusted.digest.startswith(name)
    return is_digest or name in (trusted.name, trusted.kind) or (bool(trusted.about) and name == trusted.about)


def _settle(output: Output, session: Session, wants: Sequence[Want], *, revoke: bool) -> None:
    for want in wants:
        if revoke:
            session.trust.revoke(want.kind, want.digest)
            output.talk(f"the {want.kind} {want.name} is not trusted any more")
        else:
            session.trust.trust(want)
            where = f": {want.where}" if want.where else ""
            output.talk(
                f"the {want.kind} {want.name} is trusted from now on, as it is now (sha256 {want.digest[:12]}){where}"
            )
