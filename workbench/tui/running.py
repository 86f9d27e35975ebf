"""What runs in the background and writes: said on every screen, whichever stack that is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.state import StackState

ACT = "act on "
"""What the groups of workers begin with that act on live objects."""


def running(app: WorkbenchApp, shown: StackState | None = None) -> Iterator[str]:
    """Yields a few words for each; the apply of the stack that is shown is said by its own screen."""
    for state in app.states.values():
        if state.is_applying and state is not shown:
            yield f"{state.goal.verb} {state.stack.name}"
    if app.recovering.is_running:
        yield "recovery"
    if app.rolling_out.is_running:
        yield f"rollout {app.rolling_out.id}".strip()
    acting = sum(each.group.startswith(ACT) and not each.is_finished for each in app.workers)
    if acting:
        yield "act on live objects"


def in_short(found: Iterator[str]) -> str:
    """Returns `apply web/dev`, or how many there are; empty where nothing runs."""
    every = [*found]
    return every[0] if len(every) == 1 else f"{len(every)} run: {every[0]} ..." if every else ""
