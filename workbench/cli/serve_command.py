"""`wb serve`"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import WorkPath, workdir_option

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.serving.calls import Calls
    from workbench.serving.verbs import Allowed
    from workbench.session import Session


@click.command("serve")
@click.option("--web", is_flag=True, help="show the screens in a browser of this machine, for looking alone")
@click.option("--stdio", is_flag=True, help="serve over standard input and output until the input ends")
@click.option(
    "--framing",
    type=click.Choice(("lines", "headers")),
    default="lines",
    show_default=True,
    help="with --stdio: one JSON object a line, or headers as language servers have them",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="listen here on 127.0.0.1; 0: any port"
)
@click.option(
    "--token-file",
    type=WorkPath(dir_okay=False),
    default=None,
    help="read the token from this file, or write a new one into it",
)
@click.option("--allow-edits", is_flag=True, help="let clients change files of the repository")
@click.option("--allow-apply", is_flag=True, help="let clients apply plans that were made here")
@click.option("--show-secrets", is_flag=True, help="answer official methods without masking secrets")
@workdir_option
@click.pass_obj
def command(
    context: Context,
    web: bool,
    stdio: bool,
    framing: str,
    port: int,
    token_file: Path | None,
    allow_edits: bool,
    allow_apply: bool,
    show_secrets: bool,
    workdir: Path | None,
) -> None:
    """Serve programs: the verbs of the workbench and the official KCL service, as JSON-RPC 2.0.

    Over loopback it prints one line of JSON, where it listens and where the token is, and serves until ^C. Nothing is
    written unless an option allows it. With --web it serves people: the screens, to look at in a browser here.
    """
    if stdio and (port or token_file):
        raise click.UsageError("--stdio has no port and no token: its client is whoever started it")
    if web and (stdio or allow_edits or allow_apply or show_secrets):
        raise click.UsageError("--web is for looking: it goes with --port and --token-file alone")
    if framing != "lines" and not stdio:
        raise click.UsageError("--framing goes with --stdio")
    if web:
        from workbench.cli import web_serving

        anyio.run(web_serving.serve, context, workdir, port, token_file, _until_stopped)
        return
    from workbench.serving.verbs import Allowed

    allowed = Allowed(allow_edits, allow_apply, show_secrets)
    calls = _calls(context, workdir, allowed)
    if stdio:
        anyio.run(_over_stdio, calls, framing)
    else:
        anyio.run(_over_loopback, context, calls, port, token_file)


def _calls(context: Context, workdir: Path | None, allowed: Allowed) -> Calls:
    from workbench.serving.calls import Calls
    from workbench.serving.plans import Plans
    from workbench.session import Session

    first = context.open(workdir=workdir)  # it is said here that there is no repository, or that it is not trusted
    settings = first.settings

    def open_session() -> Session:
        session = Session.open(context.base(workdir), settings=settings)
        session.origin = "serve"
        return session

    return Calls(open_session, allowed, Plans(time.monotonic), context.output.talk)


async def _over_stdio(calls: Calls, framing: str) -> None:
    from workbench.serving import stdio

    # what anything prints by mistake must not get between the answers
    answers = os.dup(1)
    os.dup2(2, 1)
    async with calls:
        await _until_stopped(lambda: stdio.serve(calls, stdio.Framing(framing), 0, answers))


async def _over_loopback(context: Context, calls: Calls, port: int, file: Path | None) -> None:
    from workbench.serving import http
    from workbench.serving.tokens import token_to_serve_with

    async def serve() -> None:
        async with http.serving(calls, token, port) as bound:
            document = {"url": f"http://{http.ADDRESS}:{bound}", "tokenFile": str(token_file)}
            context.output.data(json.dumps(document))
            context.output.talk("serving until ^C")
            await anyio.sleep_forever()

    with token_to_serve_with(file, context.settings.state_dir) as (token, token_file):
        async with calls:
            await _until_stopped(serve)


async def _until_stopped(work: Callable[[], Awaitable[None]]) -> None:
    """Works until that ends, or until ^C, SIGTERM or SIGHUP."""

    async def wait() -> None:
        async for _ in signals:
            tasks.cancel_scope.cancel()

    heeded = [each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each)]
    heeded = [each for each in heeded if signal.getsignal(each) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*heeded) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await work()
            tasks.cancel_scope.cancel()
