"""Waiting for what takes the place of a pod: one look at a namespace at a time, shared by all who wait there."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import anyio

from runtimes.base import LiveOperations, LivePod, RuntimeFailure
from workbench.engine.recovery.values import Step

_SHORTEST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 5.0
_FAILING_SECONDS = 20.0
"""A replacement that waits because of an error for so long is not waited for any more."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """`pod` is ready. Where it is None, `message` says what is there instead."""

    pod: LivePod | None
    message: str = ""


class NotThereYet(Exception):
    """Nothing became ready in time; the message says what is there instead."""


@dataclass(eq=False)
class Board:
    """The pods of one namespace of one cluster. `known` are uids that are nobody's replacement."""

    operations: LiveOperations
    namespace: str
    answer_seconds: float
    known: set[str] = field(default_factory=set)
    _pods: tuple[LivePod, ...] = ()
    _looked_at: float = 0.0
    _took: float = 0.0
    _is_primed: bool = False
    _looking: anyio.Lock = field(default_factory=anyio.Lock)

    async def prime(self) -> None:
        """Looks once before the first write, so that what is there already is no replacement."""
        async with self._looking:
            if not self._is_primed:
                await self._fetch()
                self.known |= {each.uid for each in self._pods}
                self._is_primed = True

    async def fresh(self, after: float) -> tuple[LivePod, ...]:
        """Returns what was there later than the moment `after` (of the monotonic clock)."""
        async with self._looking:
            if self._looked_at <= after:
                pause = min(max(_SHORTEST_PAUSE_SECONDS, 2 * self._took), _LONGEST_PAUSE_SECONDS)
                await anyio.sleep(max(0.0, self._looked_at + pause - time.monotonic()))
                await self._fetch()
            return self._pods

    async def _fetch(self) -> None:
        started = time.monotonic()
        with anyio.fail_after(self.answer_seconds):
            self._pods = await self.operations.pods(self.namespace)
        self._looked_at, self._took = started, time.monotonic() - started

    async def replacement(self, step: Step, timeout_seconds: float) -> Replaced:
        """Waits until another pod of the same controller, claimed by nobody else, is ready."""
        give_up_at = time.monotonic() + timeout_seconds
        said, failing_since = "no other pod of its controller appeared", 0.0
        seen = time.monotonic()
        while time.monotonic() < give_up_at:
            try:
                with anyio.move_on_after(max(0.01, give_up_at - time.monotonic())):
                    pods = await self.fresh(seen)
                    seen = time.monotonic()
                    found = _candidates(pods, step, self.known)
                    if ready := next((each for each in found if each.is_ready), None):
                        self.known.add(ready.uid)
                        return Replaced(ready)
                    if found:
                        said = f"{found[0].name} is not ready: {found[0].reason or 'it starts'}"
                    failing = [each for each in found if each.is_failing]
                    failing_since = (failing_since or seen) if failing and len(failing) == len(found) else 0.0
                    if failing_since and seen - failing_since >= _FAILING_SECONDS:
                        return Replaced(None, said)
            except (RuntimeFailure, TimeoutError) as error:
                said = (
                    f"its cluster cannot be asked: {error.message if isinstance(error, RuntimeFailure) else 'silence'}"
                )
                await anyio.sleep(_SHORTEST_PAUSE_SECONDS)
        return Replaced(None, f"{said} (after {timeout_seconds:g} s)")

    async def is_gone(self, step: Step) -> bool:
        """Whether the pod is no more, or on its way: for a write whose answer was lost."""
        pods = await self.fresh(time.monotonic())
        return all(each.uid != step.uid or each.is_terminating for each in pods)


def _candidates(pods: Iterable[LivePod], step: Step, known: set[str]) -> list[LivePod]:
    found = [
        each
        for each in pods
        if each.controller == step.controller
        and each.uid != step.uid
        and each.uid not in known
        and not each.is_terminating
    ]
    # a set's pods keep their names; others take whichever came first
    return sorted(found, key=lambda each: (each.name != step.name, str(each.created or ""), each.name))
