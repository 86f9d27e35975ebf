"""Waiting for what takes the place of a pod."""

from __future__ import annotations

import time
from collections.abc import Iterable

import anyio

from kcl.records import dataclass, field
from runtimes.base import LivePod, PodFeed
from workbench.engine.recovery.values import Step

_SETTLE_SECONDS = 0.1
"""Changes come in bursts: so long is waited for more of them."""
_LONGEST_WAIT_SECONDS = 2.0
"""Without any change, time is looked at again after so long."""
_FAILING_SECONDS = 20.0
"""A replacement that waits because of an error for so long is not waited for any more."""
_SILENT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Replaced:
    """`pod` is ready. Where it is None, `message` says what is there instead."""

    pod: LivePod | None
    message: str = ""


@dataclass(eq=False)
class Board:
    """The pods of one namespace of one cluster. `known` are uids that are nobody's replacement: those that were there
    before the first write, and those that somebody claimed."""

    feed: PodFeed
    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.known |= self.feed.uids()

    async def replacement(self, step: Step, timeout_seconds: float) -> Replaced:
        """Waits until another pod of the same controller, claimed by nobody else, is ready."""
        give_up_at = time.monotonic() + timeout_seconds
        said, failing_since = "no other pod of its controller appeared", 0.0
        while True:
            found = _candidates(self.feed.pods_of(step.controller), step, self.known)
            if ready := next((each for each in found if each.is_ready), None):
                self.known.add(ready.uid)
                return Replaced(ready)
            now = time.monotonic()
            if found:
                said = f"{found[0].name} is not ready: {found[0].reason or 'it starts'}"
            is_failing = bool(found) and all(each.is_failing for each in found)
            failing_since = (failing_since or now) if is_failing else 0.0
            if failing_since and now - failing_since >= _FAILING_SECONDS:
                return Replaced(None, said)
            if now >= give_up_at:
                silent = self.feed.silent_seconds
                lost = f"; nothing was heard of its cluster for {silent:.0f} s" if silent > _SILENT_SECONDS else ""
                return Replaced(None, f"{said} (after {timeout_seconds:g} s{lost})")
            with anyio.move_on_after(min(_LONGEST_WAIT_SECONDS, give_up_at - now)):
                await self.feed.changed()
                await anyio.sleep(_SETTLE_SECONDS)


def _candidates(pods: Iterable[LivePod], step: Step, known: set[str]) -> list[LivePod]:
    found = [each for each in pods if each.uid != step.uid and each.uid not in known and not each.is_terminating]
    # a set's pods keep their names; others take whichever came first
    return sorted(found, key=lambda each: (each.name != step.name, str(each.created or ""), each.name))
