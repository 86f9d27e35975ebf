"""The way back from the last release of a stack: the plan that returns to the one before, which asks for its phrase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from runtimes.base import RuntimeFailure
from workbench.project import WorkbenchError
from workbench.tui.later import later
from workbench.tui.state import Goal, StackState, Verb

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


def begin(app: WorkbenchApp, state: StackState) -> None:
    """Looks for the release before the last one, whoever made these, and opens the plan."""
    app.run_worker(later(_undo, app, state), group=f"undo {state.stack.name}", exclusive=True)


async def _undo(app: WorkbenchApp, state: StackState) -> None:
    try:
        history = await app.session.history(state.stack)
        found = await anyio.to_thread.run_sync(history.releases)
    except (WorkbenchError, RuntimeFailure) as error:
        app.notify(str(error), severity="error")
        return
    revisions = sorted((each.revision for each in found), reverse=True)
    if history.latest is None or history.latest.revision < 2:
        said = f"no release before the last one of {state.stack.name} is known, so there is no way back"
        app.notify(said, severity="warning")
        return
    wanted = history.latest.revision - 1
    if wanted in revisions:
        app.open_plan(state, Goal(Verb.ROLLBACK, wanted))
    else:
        app.notify(f"release #{wanted} can't be read: choose another one among the releases", severity="warning")
