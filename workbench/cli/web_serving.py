"""`wb serve --web`: the server, and what it starts for each page that is opened."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

if TYPE_CHECKING:
    from workbench.cli.context import Context

_IN_A_PATH = re.compile(r"[A-Za-z0-9_-]+")
UntilStopped = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


async def serve(
    context: Context, workdir: Path | None, port: int, file: Path | None, until_stopped: UntilStopped
) -> None:
    """Serves until `until_stopped` ends it; raises `UsageError` where what it takes is not installed."""
    try:
        from workbench.serving import web
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "textual_serve":
            raise
        raise click.UsageError(
            "the screens in a browser need textual-serve, which is not installed: pip install 'konfig-workbench[web]'"
        ) from None
    from workbench.serving.http import ADDRESS
    from workbench.serving.tokens import BadToken, token_to_serve_with

    session = context.open(workdir=workdir)  # it is said here that there is no repository, or that it is not trusted
    command = page_command(context, workdir)

    async def work() -> None:
        async with web.serving(command, {"WB_READONLY": "1"}, token, port) as bound:
            url = f"http://{ADDRESS}:{bound}/"
            context.output.data(json.dumps({"url": url, "tokenFile": str(token_file)}))
            if sys.stderr.isatty():  # a log keeps what it gets
                context.output.talk(f"open {url}{token}/")
            else:
                context.output.talk("open the url with the token behind it")
            context.output.talk("serving until ^C, for looking alone")
            await anyio.sleep_forever()

    with token_to_serve_with(file, session.settings.state_dir) as (token, token_file):
        if not _IN_A_PATH.fullmatch(token):
            hint = "remove it, and a new one is written"
            message = "its token can't stand in the path of a URL: letters, digits, - and _"
            raise BadToken(message, where=str(token_file), hint=hint)
        await until_stopped(work)


def page_command(context: Context, workdir: Path | None) -> list[str]:
    """Returns the program that draws one page."""
    trust = {True: "untrusted", False: "trusted", None: "by-rule"}[context.is_untrusted]
    words = [trust, *(["ascii"] if context.is_ascii else [])]
    folder = str(context.base(workdir))
    program = [sys.executable, "-P", "-m", "workbench.cli.web_page"]
    return [*program, str(os.getpid()), folder, context.kubeconfig or "", *words]
