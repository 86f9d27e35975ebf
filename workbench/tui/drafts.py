"""Edits of a What-if that outlive the session: stored while one types, and taken up again where one edits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio.to_thread

from workbench.local import LocalStateFailure
from workbench.present.durations import short
from workbench.project import WorkbenchError
from workbench.tui.memory import lay_over
from workbench.tui.state import StackState

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


class Drafts:
    """Stores what is edited, one stack after the other, off the loop; of several edits of a stack the newest."""

    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self._waiting: dict[str, StackState] = {}
        self._storing = asyncio.Lock()
        self._problem = ""

    def keep(self, state: StackState) -> None:
        self._waiting[str(state.stack.path)] = state
        self._app.run_worker(self._store(), group="drafts")

    async def _store(self) -> None:
        async with self._storing:
            while self._waiting:
                name, state = self._waiting.popitem()
                try:
                    await anyio.to_thread.run_sync(self._app.memory.keep_draft, name, state.whatif, self._app.now())
                except LocalStateFailure as error:
                    self._say(f"{error}. The edits last as long as this session")

    def flush(self) -> None:
        """Stores what still waits, when there is no loop any more to wait on."""
        while self._waiting:
            name, state = self._waiting.popitem()
            try:
                self._app.memory.keep_draft(name, state.whatif, self._app.now())
            except LocalStateFailure:
                return

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._app.notify(problem, severity="warning", timeout=12)

    def take_up(self, state: StackState) -> str:
        """Lays the stored edits of a stack over its files; returns what to say of them, empty where there are none."""
        draft = self._app.memory.drafts()[0].get(str(state.stack.path))
        if draft is None or state.edits:
            return ""
        since = f"{short((self._app.now() - draft.at).total_seconds())} ago"
        try:
            edits, changed = lay_over(draft, self._app.session.whatif(state.stack))
        except WorkbenchError as error:
            return f"edits of {since} are stored and can't be laid over: {error}"
        state.whatif, state.reach = edits, None
        if not changed:
            return f"edits of {since}, taken up again: X drops them"
        return f"edits of {since}; {', '.join(changed)} changed on disk since and that is not in them: W is refused"
