"""The work on one stack that takes time: compiling, comparing, planning, applying, watching.

Each is a worker of the app, which begins and ends it; what it finds becomes the state of the stack, and is told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio.to_thread

from workbench.engine.events import ApplyFinished, Event
from workbench.engine.place_kinds import kind_of
from workbench.engine.plan import Plan
from workbench.tui.reach import reach_of
from workbench.tui.state import Goal, StackState, Verb
from workbench.tui.trying import tried

if TYPE_CHECKING:
    from workbench.engine.compiled import CompiledStack
    from workbench.tui.app import WorkbenchApp

APPLYING = ("applying", "destroying")
"""What a stack is busy with while a plan that destroys nothing, or all, is carried out."""
AT_ONCE = 4
"""So many of the marked stacks are compiled or compared at a time."""


class StackWork:
    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def in_turn(self, state: StackState, do: Callable[[StackState], Awaitable[None]]) -> None:
        """Works on a few of many stacks at a time; a stack that is opened by itself does not wait for them."""
        state.busy, state.busy_since = "waiting", time.monotonic()
        try:
            async with self._turns:
                await do(state)
        finally:
            state.busy = ""

    async def _trying(self, state: StackState, busy: str, do: Callable[[], Awaitable[None]]) -> None:
        """Runs one piece of work; a failure becomes the state's error, and what was there before stays."""
        state.busy, state.busy_since = busy, time.monotonic()
        self._app.tell(state)
        try:
            state.error = await tried(do) or state.error
        finally:
            state.busy = ""
            self._app.tell(state)

    async def _compiled(self, state: StackState) -> CompiledStack:
        """Compiles, with the provenance that screens read while they draw, when nothing may fail any more."""
        compiled = await self._app.session.compile(state.stack, state.inputs)
        await anyio.to_thread.run_sync(compiled.spec.await_provenance)
        return compiled

    async def compile(self, state: StackState) -> None:
        async def do() -> None:
            state.compiled = await self._compiled(state)
            state.error = None

        await self._trying(state, "compiling", do)

    async def diff(self, state: StackState) -> None:
        async def do() -> None:
            state.compiled = compiled = await self._compiled(state)
            state.error = None
            kinds = {kind_of(each.id) for each in compiled.spec}
            places = [*state.stack.clusters, *sorted(each.only_name for each in kinds if each.only_name)]
            state.busy = f"comparing with {', '.join(places)}"
            self._app.tell(state)
            state.diff = await self._app.session.diff(state.stack, compiled=compiled)

        await self._trying(state, "compiling", do)

    async def plan(self, state: StackState) -> None:
        async def do() -> None:
            state.plan = None
            state.events = ()
            if state.goal.verb is Verb.DESTROY:
                state.plan = await self._app.session.plan_destroy(state.stack, state.inputs)
            else:
                state.plan = await self._plan_without_skipped(state)
            state.error = None

        await self._trying(state, "planning", do)
        if state.goal.verb is Verb.APPLY:  # the other plans are not of what is edited
            self._app.measure_reach(state)

    async def measure_reach(self, state: StackState) -> None:
        assert state.reach is not None, "who asks for it has begun it"
        async for reach in reach_of(self._app.session, state.whatif, state.reach):
            state.reach = reach
            self._app.tell(state)

    @staticmethod
    def left_out(state: StackState) -> list[str]:
        """Returns the selectors of what the next plan of a stack is made without."""
        if not state.skipped:
            return []
        from workbench.engine.choice import Selector

        return [Selector.of(each).text for each in sorted(state.skipped)]

    async def _plan_without_skipped(self, state: StackState) -> Plan:
        from workbench.engine.choice import BadChoice

        def plan() -> Awaitable[Plan]:
            skip = self.left_out(state)
            stack, given = state.stack, state.inputs
            match state.goal:
                case Goal(Verb.REVERT):
                    return self._app.session.plan_revert(stack, given, skip=skip)
                case Goal(Verb.ROLLBACK, revision):
                    return self._app.session.plan_rollback(stack, revision, given, force=state.is_forced, skip=skip)
                case _:
                    return self._app.session.plan(stack, given, force=state.is_forced, skip=skip)

        try:
            return await plan()
        except BadChoice:
            if not state.skipped:
                raise
            state.skipped = frozenset()
            said = "what was left out is not in the stack any more: nothing is left out now"
            self._app.notify(said, severity="warning")
            return await plan()

    async def apply(self, state: StackState) -> None:
        plan = state.plan
        if plan is None:
            return

        async def do() -> None:
            state.error = None
            events: list[Event] = []
            async with self._app.session.apply(plan, confirm=plan.confirmation.phrase) as stream:
                state.applying = stream
                async for event in stream:
                    events.append(event)
                    state.events = tuple(events)
                    self._app.tell(state)
            self._app.forget_release(state.stack)
            if events and isinstance(events[-1], ApplyFinished):
                self._app.forget_comparisons(state)
            if state.is_watched:
                self._app.watch_stack(state)  # what there is to watch may be another now

        try:
            await self._trying(state, APPLYING[plan.destroys], do)
        finally:
            state.is_applying, state.applying = False, None
            self._app.tell(state)

    async def watch(self, state: StackState) -> None:
        async def do() -> None:
            state.error = None
            state.watchers += 1
            try:
                async with self._app.session.watch(state.stack, state.inputs) as trees:
                    async for tree in trees:
                        state.tree = tree
                        state.timeline.add(tree)
                        self._app.tell(state)
            finally:
                state.watchers -= 1
                if not state.is_watched:
                    state.timeline.lose(self._app.now())

        await self._trying(state, "", do)
