"""Opening the terminal face, or saying why it can't be."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.main import Context


def open_screen(context: Context, *, open_at: str = "", message: str = "") -> int:
    """Runs the terminal face until it ends; without a terminal it says what to use instead (exit code 64)."""
    session = context.open()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        stacks = sum(1 for _ in session.tree().stacks())
        context.output.talk(f"{session.root}: {stacks} stacks")
        context.output.talk(Span("the screen needs a terminal; here use wb ls, diff, plan, apply or watch", Tone.WARN))
        return ExitCode.USAGE
    import anyio

    from workbench.tui.app import WorkbenchApp

    async def run() -> int:
        async with session:
            app = WorkbenchApp(session, open_at=open_at, message=message)
            return await app.run_async() or 0

    session.origin = "tui"
    return anyio.run(run)
