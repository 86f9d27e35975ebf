"""What ^C does to an apply, a run over stacks or a rollout: it ends in order, and at once where ^C comes again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio

from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.output import Output

Seen = TypeVar("Seen")

_FIRST = (
    "stopping: clusters have some seconds to answer, Terraform ends what it has begun; "
    "^C again drops that, which may lose track of it"
)
_AGAIN = "stopping at once: wb plan finds out what became of what was dropped"


class Interruptible(Protocol):
    async def interrupt(self, *, at_once: bool = False) -> None: ...


async def to_its_end(run: Interruptible, shown: Awaitable[Seen], output: Output) -> tuple[Seen, bool]:
    """Awaits what shows a run, and tells whether ^C stopped it."""
    # who does not listen to ^C (a job in the background) shall not begin to
    if threading.current_thread() is not threading.main_thread() or not callable(signal.getsignal(signal.SIGINT)):
        return await shown, False
    times = 0

    async def heed() -> None:
        nonlocal times
        async for _ in signals:
            times += 1
            output.talk(Span(_FIRST if times == 1 else _AGAIN, Tone.WARN))
            await run.interrupt(at_once=times > 1)

    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heed)
            seen = await shown
            tasks.cancel_scope.cancel()
    return seen, times > 0
