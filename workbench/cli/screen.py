"""Opening the terminal face, or saying why it can't be."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.cli.first_frame import first_frame
from workbench.exit_codes import ExitCode
from workbench.present import glyphs
from workbench.present.text import Span, Tone
from workbench.words import counted

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.tui.app import WorkbenchApp

_TERMINAL_SECONDS: Final = 1.0
_SWITCH_SECONDS: Final = 0.001
"""So soon a thread that has much to do, such as ten thousand rows to make, gives way to the others. A key
passes three threads, one that reads, the loop and one that writes, and each may wait for this."""


def open_screen(context: Context, *, open_at: str = "", message: str = "") -> int:
    """Runs the terminal face until it ends; without a terminal it says what to use instead (exit code 64).

    A face that a signal ended was not left by anybody: 130, as for any other command that was interrupted.
    """
    session = context.open()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        stacks = sum(1 for _ in session.tree().stacks())
        context.output.talk(f"{session.root}: {counted(stacks, 'stack')}")
        context.output.talk(Span("the screen needs a terminal; here use wb ls, diff, plan, apply or watch", Tone.WARN))
        return ExitCode.USAGE
    session.origin = "tui"
    with first_frame(session.tree(), glyphs.ASCII if session.settings.is_ascii else glyphs.UNICODE) as frame:
        import anyio

        from workbench.tui.app import WorkbenchApp

        async def run() -> int:
            if not os.isatty(sys.stdin.fileno()):
                return ExitCode.INTERRUPTED  # it is gone since
            async with session:
                app = WorkbenchApp(session, open_at=open_at, message=message, restores=not open_at)
                frame.is_taken = True
                return ended(await shown(app), app.return_code)

        code = anyio.run(run)
    _give_up_a_terminal_that_is_gone()
    return code


def _give_up_a_terminal_that_is_gone() -> None:
    """What it did not take would be written once more when Python ends, fail, and take the place of the exit code."""
    if not os.isatty(sys.stdin.fileno()):
        sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - to the end


async def shown(app: WorkbenchApp) -> int | None:
    """Runs it.

    What was imported until then stays to the end: the collector of cycles, which everything waits for, need not look at
    it again each time that a large table came.
    """
    import asyncio

    gc.freeze()
    sys.setswitchinterval(_SWITCH_SECONDS)
    app.color_system = app.console.color_system
    from workbench.tui.collecting import collect_while_quiet

    beside = [asyncio.create_task(each) for each in (_end_with_terminal(app), collect_while_quiet(app))]
    try:
        return await app.run_async(mouse=app.session.settings.has_mouse)
    finally:
        for each in beside:
            each.cancel()
        app.leave()


async def _end_with_terminal(app: WorkbenchApp) -> None:
    """Ends it when its terminal is gone and no signal told so, as under `make`, which waits and hands nothing on: what
    reads keys would go on reading that there are none, on half a processor.
    """
    import anyio

    if not os.isatty(sys.stdin.fileno()):
        return
    while os.isatty(sys.stdin.fileno()):  # noqa: ASYNC110 - nothing tells of it
        await anyio.sleep(_TERMINAL_SECONDS)
    app.exit()


def ended(result: int | None, return_code: int | None) -> int:
    """Returns the exit code: what the face was left with, its failure, or that it was interrupted."""
    if result is not None:
        return result
    return return_code or ExitCode.INTERRUPTED
