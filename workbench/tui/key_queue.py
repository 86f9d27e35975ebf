"""One key at a time: a key belongs to whatever has the focus once the keys before it were acted on.

Textual hands each key to the widget that has the focus when the key *arrives*, and acts on bindings later, when the key
has come back up to the app. Keys that arrive in one burst (a paste, a slow SSH line, a script) are then all aimed at
the widget of the first: of ":diff" only the colon reaches the prompt it opens, and "d" is a command. So the app hands
out the next key only when the one before has passed through every queue on its way, and the screen it may have opened
is there.

That takes as long as it takes: on a busy machine opening a screen may take seconds, and a key that went out after a
while all the same would go to the screen before. Only where nothing is being worked on, and the key is not done with
all the same, the next goes out after a second.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.message_pump import MessagePump
from textual.timer import Timer

if TYPE_CHECKING:
    from textual.app import App

Typed = events.Key | events.Paste
LOOK_SECONDS = 0.1
"""How often it is looked whether what a key waits in is still there."""
IDLE_LOOKS = 10
"""So many looks in a row that come in time say that nothing is being worked on: what a key still waits in then waits
for something outside, or for itself, and must not take the keys away."""
LONGEST_WAIT_SECONDS = 30.0
"""However busy it is."""


class KeyQueue:
    """Hands what is typed to `deliver`, in order, each when the one before is done with. All on the app's loop."""

    def __init__(self, app: App[int], deliver: Callable[[Typed], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._waiting: deque[Typed] = deque()
        self._under_way = 0
        self._sent = 0
        self._typed_at = float("-inf")
        self._sent_at = float("-inf")
        self._looked_at = float("-inf")
        self._idle_looks = 0
        self._looking: Timer | None = None
        self._here: MessagePump | None = None
        self._ahead: Sequence[MessagePump] = ()

    @property
    def is_idle(self) -> bool:
        return self._is_over or not (self._waiting or self._under_way)

    @property
    def _is_over(self) -> bool:
        return self._app._exit or not self._app.is_running

    @property
    def quiet_seconds(self) -> float:
        """For how long nobody typed."""
        return time.monotonic() - self._typed_at

    async def put(self, event: Typed) -> None:
        self._typed_at = time.monotonic()
        self._waiting.append(event)
        if not self._under_way:
            await self._send()

    async def _send(self) -> None:
        if self._is_over or not self._waiting:
            return  # what is typed after the key that quits is for the shell
        event = self._waiting.popleft()
        self._sent += 1
        self._under_way = number = self._sent
        self._sent_at = self._looked_at = time.monotonic()
        self._idle_looks = 0
        target = self._app.focused or self._app.screen
        self._looking = self._app.set_interval(LOOK_SECONDS, lambda: self._look(number))
        await self._deliver(event)
        # up to the app, which acts on the key; and again for messages that acting sent off (a prompt submitted)
        self._follow([target, self._app, target, self._app], number)

    def _follow(self, stations: Sequence[MessagePump], number: int) -> None:
        """Queues behind the key at the first station, at each of its parents up to the next one, and so on."""
        if number != self._under_way:
            return
        if not stations:
            self._settle(number)
            return
        here, *rest = stations
        above = here._parent
        ahead = [above, *rest] if above is not None and above is not self._app and here is not self._app else rest
        self._here, self._ahead = here, rest
        if not here.call_later(self._follow, ahead, number):  # it is closing, and its queue with it
            self._here = self._app
            self._app.call_later(self._follow, rest, number)

    def _settle(self, number: int) -> None:
        """A screen that was opened gets the next key once it is composed and has put the focus where it wants it."""
        self._here, self._ahead = self._app.screen, ()
        if not self._app.screen.call_later(self._app.call_later, self._done, number):
            self._done(number)

    def _look(self, number: int) -> None:
        """A widget that is taken away may take its queue with it, and with that the key that waits there."""
        if number != self._under_way:
            return
        now = time.monotonic()
        is_late = now - self._looked_at > 1.5 * LOOK_SECONDS
        self._looked_at, self._idle_looks = now, 0 if is_late else self._idle_looks + 1
        if self._idle_looks >= IDLE_LOOKS or now - self._sent_at > LONGEST_WAIT_SECONDS:
            self._done(number)
        elif self._here is not None and _is_gone(self._here):
            self._here = None
            self._app.call_later(self._follow, self._ahead, number)

    def _done(self, number: int) -> None:
        if number != self._under_way:
            return
        self._under_way, self._here = 0, None
        if self._looking is not None:
            self._looking.stop()
        if self._waiting:
            self._app.call_later(self._send)


def _is_gone(pump: MessagePump) -> bool:
    """Whether what waits in its queue will never be taken: one that did not begin yet takes it later."""
    return pump._closed or (pump._task is not None and pump._task.done())
