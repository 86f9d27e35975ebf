"""The screens of one page of `wb serve --web`: what that server starts, with its driver as the terminal.

Nothing is asked and nothing written: the session is read-only, and the app leaves out what is not for looking.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from workbench.cli.context import Context
from workbench.cli.output import Output
from workbench.cli.screen import ended, shown

PARENT_SECONDS = 1.0
"""How often is looked whether the server is still there."""


def main(arguments: list[str]) -> int:
    """`arguments` are the server's process, the folder, the kubeconfig or nothing, and words for what else was said."""
    parent, folder, kubeconfig, *words = arguments
    context = Context(
        Path(folder),
        kubeconfig or None,
        Output(stdout=sys.stderr),  # what anything prints must not get between what the screens draw
        is_untrusted={"untrusted": True, "trusted": False}.get(words[0] if words else ""),
        is_ascii="ascii" in words,
    )
    session = context.open()
    session.origin = "web"

    async def run() -> int:
        from workbench.tui.app import WorkbenchApp

        async with session:
            app = WorkbenchApp(session, is_served=True)
            app.call_later(lambda: app.set_interval(PARENT_SECONDS, lambda: _leave_without(int(parent))))
            return ended(await shown(app), app.return_code)

    return anyio.run(run)


def _leave_without(parent: int) -> None:
    if os.getppid() != parent:
        os._exit(0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
