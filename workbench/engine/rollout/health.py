"""Waits for targets of several stacks to be ready, and says of which one it is not: a silence is never taken for good.

Why is said in one sentence: the deepest object that blocks, with what decides and the last line of its log.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio

from kcl.records import dataclass
from runtimes.base import Address, Status
from workbench.engine.status import ResourceStatus, StatusTree, Verdict

_LINGER_SECONDS = 1.5
"""So long a failure has to stand: what explains it (events, a log) often comes after it."""

Watching = Callable[[], AbstractAsyncContextManager[AsyncIterator[StatusTree]]]


@dataclass(frozen=True, slots=True)
class NotReady:
    """`address` is what is to be looked at first, None where nothing is heard of anything."""

    stack: str
    address: Address | None
    why: str


class Health:
    """The targets of some stacks while they are watched."""

    def __init__(self, watching: Mapping[str, Watching], tell: Callable[[Mapping[str, StatusTree]], None]) -> None:
        self._watching, self._tell = watching, tell
        self._trees: dict[str, StatusTree] = {}
        self._changed = anyio.Event()

    def work(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """What has to run meanwhile."""

        def look(stack: str, watching: Watching) -> Callable[[], Coroutine[Any, Any, None]]:
            async def run() -> None:
                async with watching() as trees:
                    async for tree in trees:
                        self._trees[stack] = tree
                        self.wake()

            return run

        return [look(stack, each) for stack, each in self._watching.items()]

    def wake(self) -> None:
        self._changed.set()

    async def settle(self, timeout_seconds: float, hold_seconds: float, stop: anyio.Event) -> NotReady | None:
        """Returns None once all were ready for `hold_seconds` without a break, or when it is told to stop."""
        deadline = anyio.current_time() + timeout_seconds + hold_seconds
        failed_since = ready_since = math.inf
        while not stop.is_set():
            now = anyio.current_time()
            self._changed = anyio.Event()
            self._tell(self._trees)
            failed_since = min(failed_since, now) if self._is(Verdict.FAILED) else math.inf
            ready_since = min(ready_since, now) if self._are_ready() else math.inf
            if now - ready_since >= hold_seconds:
                return None
            if now - failed_since >= _LINGER_SECONDS:
                return self._why(f"failed within {timeout_seconds:.0f} s")
            if now >= deadline:
                return self._why(f"not ready after {timeout_seconds:.0f} s")
            moments = (deadline, failed_since + _LINGER_SECONDS, ready_since + hold_seconds)
            with anyio.CancelScope(deadline=min(moments)):
                await self._changed.wait()
        return None

    def qualified(self) -> Iterator[tuple[str, ResourceStatus]]:
        """Yields what is ready and says what that leaves out, with its stack."""
        for stack, tree in self._trees.items():
            for each in tree.qualified:
                yield stack, each

    def _is(self, verdict: Verdict) -> bool:
        return any(each.verdict is verdict for each in self._trees.values())

    def _are_ready(self) -> bool:
        return all(stack in self._trees and self._trees[stack].verdict is Verdict.READY for stack in self._watching)

    def _why(self, what: str) -> NotReady:
        # what has failed comes before what takes its time, and that before what nobody speaks of
        open_ = [each for each in self._trees.items() if each[1].verdict is not Verdict.READY]
        for stack, tree in sorted(open_, key=lambda each: each[1].verdict is not Verdict.FAILED):
            return _explained(stack, tree, what)
        for stack in self._watching:
            if stack not in self._trees:
                return NotReady(stack, None, f"{what}: nothing was heard of it")
        return NotReady(next(iter(self._watching)), None, f"{what}: it did not stay ready")


def _explained(stack: str, tree: StatusTree, what: str) -> NotReady:
    why = tree.why
    if tree.silent and not (why is not None and why.blocking is not None and why.health.status is Status.FAILED):
        source = tree.silent[0]
        said = source.lost.message if source.lost is not None else "it has not answered"
        return NotReady(stack, why.address if why else None, f"{what}: {source.place}: {said}")
    if why is None:
        return NotReady(stack, None, f"{what}: there is nothing that could be ready")
    return NotReady(stack, why.address, f"{what}: {sentence(why)}")


def sentence(status: ResourceStatus) -> str:
    """Says why one resource is not ready."""
    health, blocking = status.health, status.blocking
    if blocking is None:
        return f"{status.address}: {health.message or health.reason or health.status.value}"
    parts = [f"{blocking.ref} in {status.address.cluster}: {blocking.reason or blocking.message}"]
    parts += [each for each in (blocking.evidence,) if each and each not in parts[0]]
    parts += [f"log: {each}" for each in blocking.log_tail[-1:]]
    return "; ".join(parts)
