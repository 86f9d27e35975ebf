"""Looking at every stack: what is live of it, what an apply would change, what drifted, what was last released."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from kcl.records import dataclass, field
from workbench.project import Stack, StackPath, WorkbenchError
from workbench.session.drifting import Drifting
from workbench.session.watching import Watching

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from collections.abc import Awaitable

    from runtimes.base import Address
    from workbench.engine.compiled import CompiledStack, CompileInputs
    from workbench.engine.drift import StackDrift
    from workbench.engine.fleet import StackLook
    from workbench.engine.release import Release
    from workbench.engine.spec import Spec
    from workbench.engine.status import StatusTree
    from workbench.release.history import History

Found = TypeVar("Found")

LANES = 4
"""So many stacks are looked at at a time."""
_PATIENCE_SECONDS = 5.0
_REST_SECONDS = 0.5
"""How often is looked whether something has become due."""


def _nobody(_: StackLook) -> None:
    pass


@dataclass
class Watchlist:
    """What a round goes by, which others may change meanwhile: `stacks` to look at, and `since` when.

    `looks` is filled in while it goes on; `running` are the stacks that are being looked at.
    """

    stacks: Sequence[Stack]
    since: Callable[[], datetime]
    looks: dict[StackPath, StackLook] = field(default_factory=dict)
    running: set[StackPath] = field(default_factory=set)


class Looking(Drifting, Watching):
    """Looks at stacks. Writes nothing. One stack's trouble, or ours with it, is in its look."""

    async def look(self, stack: Stack, inputs: CompileInputs | None = None) -> StackLook:
        """Looks at one stack once; what could not be found out is in the look. Raises nothing of its own."""
        import anyio

        from workbench.engine.drift import StackDrift
        from workbench.engine.fleet import StackLook

        at = self._now()
        compiled = await _tried(self.compile(stack, inputs))
        drift: list[StackDrift] = []
        known: list[History | Exception] = []
        seen: list[StatusTree | Exception] = []

        async def compare(compiled: CompiledStack) -> None:
            found = await _tried(self.diff(stack, inputs, compiled=compiled))
            if isinstance(found, Exception):
                drift.append(StackDrift(stack.path, at, failure=found))
            else:
                drift.append(StackDrift(stack.path, at, found))

        async def remember() -> None:
            known.append(await _tried(self.history(stack)))

        async def observe(compiled: CompiledStack) -> None:
            seen.append(await _tried(self._seen(stack, compiled)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(remember)
            if not isinstance(compiled, Exception):
                tasks.start_soon(compare, compiled)
                tasks.start_soon(observe, compiled)
        history = known[0]
        release = None if isinstance(history, Exception) else history.latest
        is_of_release = isinstance(compiled, Exception) and release is not None
        if isinstance(compiled, Exception):
            drift.append(StackDrift(stack.path, at, failure=compiled))
            seen.append(compiled if release is None else await _tried(self._seen_of_release(stack, release)))
        tree = seen[0]
        return StackLook(
            stack.path,
            at,
            drift[0],
            None if isinstance(tree, Exception) else tree,
            tree if isinstance(tree, Exception) else None,
            is_of_release,
            release,
            _doubt(history),
        )

    async def _seen(self, stack: Stack, compiled: CompiledStack) -> StatusTree:
        return await self._picture(stack, await self._resolved_if_possible(stack, compiled.spec), None)

    async def _seen_of_release(self, stack: Stack, release: Release) -> StatusTree:
        """What is live of what the last release had: a configuration that is wrong took nothing away."""
        from workbench.engine.spec import Spec
        from workbench.project.masking import read_masking

        nothing = Spec(stack.name, (), rules=read_masking(self._root))
        return await self._picture(stack, nothing, tuple(release.resources))

    async def _picture(self, stack: Stack, spec: Spec, addresses: Sequence[Address] | None) -> StatusTree:
        watch = self.watch(stack, spec=spec, addresses=addresses, timeout_seconds=_PATIENCE_SECONDS)
        async with watch as trees:
            async for tree in trees:
                return tree
        raise AssertionError("a watch begins with a picture")

    async def look_at(
        self,
        watchlist: Watchlist,
        inputs: CompileInputs | None = None,
        *,
        on_look: Callable[[StackLook], None] = _nobody,
        keeps_on: bool = False,
    ) -> None:
        """Looks at a few stacks at a time, the oldest look first, until none is older than `watchlist.since` says.

        `keeps_on` goes on for ever. Where a place is silent, all but one lane leave the stacks that go there alone:
        waiting for it must not keep anybody from the others.
        """
        import anyio

        from workbench.engine.fleet import next_due, silences

        async def lane(is_patient: bool) -> None:
            while True:
                silent = silences(watchlist.looks.values()) if not is_patient else ()
                avoided = {each.place for each in silent}
                stack = next_due(watchlist.stacks, watchlist.looks, watchlist.since(), watchlist.running, avoided)
                if stack is None:
                    if not keeps_on:
                        return
                    await anyio.sleep(_REST_SECONDS)
                    continue
                watchlist.running.add(stack.path)
                try:
                    look = await self.look(stack, inputs)
                finally:
                    watchlist.running.discard(stack.path)
                watchlist.looks[stack.path] = look
                on_look(look)

        async with anyio.create_task_group() as tasks:
            for number in range(LANES):
                tasks.start_soon(lane, number == 0)


async def _tried(work: Awaitable[Found]) -> Found | Exception:
    """Returns what comes of it, or why nothing does. This is the boundary of a task: a bug in one look is a look that
    says so, and must not take all the others away."""
    from runtimes.base import RuntimeFailure
    from workbench.present.errors import Bug

    try:
        return await work
    except (WorkbenchError, RuntimeFailure) as error:
        return error
    except Exception as error:
        return Bug(error)


def _doubt(history: History | Exception) -> str:
    """Why the last release may not be the last one."""
    if isinstance(history, Exception):
        return str(history)
    if history.problems:
        return history.problems[0].message
    return str(history.gaps[0]) if history.gaps else ""
