"""`wb cache`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import format_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from kcl.api import Store
    from workbench.cli.context import Context


@click.group("cache")
def command() -> None:
    """Inspect and clear the cache of the KCL compiler: what has not changed is not computed again."""


@command.command("info")
@format_option("table", "json")
@click.pass_context
def info(ctx: click.Context, format_: str) -> None:
    """Show where the cache is, its size, and its limit.

    Exit code: 0.
    """
    context: Context = ctx.obj
    output = context.output
    store = _store()
    entries, size = store.usage() if store is not None else (0, 0)
    if format_ == "json":
        folder = None if store is None else store.folder
        most = None if store is None else store.most_bytes
        output.json(
            {
                "apiVersion": "wb/v1",
                "kind": "Cache",
                "status": {"folder": folder, "entries": entries, "bytes": size, "mostBytes": most},
            }
        )
    elif store is None:
        output.talk("nothing is cached: KCL_RUN_CACHE says off, or there is no home")
    else:
        output.line(Span(f"{entries} entries, {_shown(size)} of at most {_shown(store.most_bytes)}", Tone.PLAIN))
        output.line(Span(f"  in {store.folder}", Tone.MUTED))
    ctx.exit(ExitCode.OK)


@command.command("clear")
@click.pass_context
def clear(ctx: click.Context) -> None:
    """Clear the cache. The next runs compute what they need, and cache it again.

    Exit code: 0.
    """
    context: Context = ctx.obj
    store = _store()
    entries, size = store.clear() if store is not None else (0, 0)
    context.output.talk(f"removed {entries} entries, {_shown(size)}")
    ctx.exit(ExitCode.OK)


def _store() -> Store | None:
    from kcl.api import Store, folder_for

    folder = folder_for(os.environ)
    return None if folder is None else Store(folder)


def _shown(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
