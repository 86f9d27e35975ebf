"""Edits of a What-if that outlive the session: stored while one types, and taken up again where one edits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio.to_thread

from workbench.local import LocalStateFailure
from workbench.present.durations import short
from workbench.project import WorkbenchError
from workbench.tui import saving
from workbench.tui.later import later
from workbench.tui.memory import lay_over, patch_of
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
        self._taken: set[str] = set()
        """Stacks whose stored edits are those of this session; what is stored of others is not written over."""

    def keep(self, state: StackState) -> None:
        self._waiting[str(state.stack.path)] = state
        self._app.run_worker(later(self._store), group="drafts")

    async def _store(self) -> None:
        async with self._storing:
            while self._waiting:
                name, state = self._waiting.popitem()
                if self._is_of_before(name):
                    self._say(f"edits of {name} that were not taken up are stored: what is edited now is not")
                    continue
                self._taken.add(name)
                try:
                    await anyio.to_thread.run_sync(self._app.memory.keep_draft, name, state.whatif, self._app.now())
                except LocalStateFailure as error:
                    self._say(f"{error}. The edits last as long as this session")

    def flush(self) -> None:
        """Stores what still waits, when there is no loop any more to wait on."""
        while self._waiting:
            name, state = self._waiting.popitem()
            if self._is_of_before(name):
                continue
            try:
                self._app.memory.keep_draft(name, state.whatif, self._app.now())
            except LocalStateFailure:
                return

    def _is_of_before(self, name: str) -> bool:
        return name not in self._taken and name in self._app.memory.drafts()[0]

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._app.notify(problem, severity="warning", timeout=12)

    def take_up(self, state: StackState) -> str:
        """Lays the stored edits of a stack over its files; returns what to say of them, empty where there are none."""
        name = str(state.stack.path)
        draft = self._app.memory.drafts()[0].get(name)
        if draft is None or name in self._taken:
            self._taken.add(name)
            return ""
        since = f"{short((self._app.now() - draft.at).total_seconds())} ago"
        drops = f"{self._app.key('what-if.drop-edits')} drops"
        if state.edits:
            return f"edits of {since} are stored and not taken up, as there are others: {drops} these; {_ways(name)}"
        try:
            edits, changed = lay_over(draft, self._app.session.whatif(state.stack))
        except WorkbenchError as error:
            return f"edits of {since} are stored and can't be laid over: {error}; {_ways(name)}"
        self._taken.add(name)
        self._app.restore_edits(state, edits)
        if not changed:
            return f"edits of {since}, taken up again: {drops} them"
        writing = self._app.key("what-if.write-to-files")
        lacking = f"{', '.join(changed)} changed on disk since and that is not in them"
        return f"edits of {since}; {lacking}: {writing} is refused"

    def run(self, said: str) -> None:
        """`save STACK` writes stored edits into the working folder as a patch, `drop STACK` forgets them.

        The stack need not be there any more. Edits that were taken up are those of its What-if.
        """
        verb, _, name = said.partition(" ")
        stored, problem = self._app.memory.drafts()
        if problem:
            self._app.notify(f"{problem}: move it away", severity="warning")
        elif verb not in ("save", "drop"):
            self._app.notify("say what to do with stored edits: draft save STACK, draft drop STACK", severity="warning")
        elif name in self._taken and name in stored:
            keys = [self._app.key(f"what-if.{each}") for each in ("save-as-a-patch", "drop-edits")]
            said = f"the edits of {name} are on its What if: {keys[0]} saves, {keys[1]} drops them"
            self._app.notify(said, severity="warning")
        elif name not in stored:
            others = f": there are edits of {', '.join(sorted(stored))}" if stored else ""
            self._app.notify(f"no edits of {name or 'no stack'} are stored{others}", severity="warning")
        elif verb == "save":
            self._save(name, patch_of(stored[name], self._app.session.root))
        else:
            self._forget(name)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._app.memory.drafts()[0]))

    def _save(self, name: str, patch: str) -> None:
        path = saving.file_name((name, "whatif"), "patch", self._app.now())
        try:
            saving.save(path, patch.removesuffix("\n").split("\n"))
        except OSError as error:
            self._app.notify(f"not saved: {error}", severity="error")
        else:
            said = f"saved {path}: git apply takes it; the edits stay stored, :draft drop {name} forgets them"
            self._app.notify(said)

    def _forget(self, name: str) -> None:
        try:
            self._app.memory.keep_draft(name, None, self._app.now())
        except LocalStateFailure as error:
            self._app.notify(f"not dropped: {error}", severity="error")
        else:
            self._app.notify(f"the stored edits of {name} are dropped")


def _ways(name: str) -> str:
    """What can be done with stored edits that were not taken up."""
    return f":draft save {name} makes a patch of them, :draft drop {name} forgets them"
