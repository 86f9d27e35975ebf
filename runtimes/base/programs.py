"""Programs that are started and ended whole, whoever is cancelled meanwhile, and however often."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def ended(process: asyncio.subprocess.Process) -> None:
    """Kills a program that was `started` and has not ended, with what it started in its session, and waits for it."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    await undisturbed(process.wait())


async def started(
    *arguments: str, end: Callable[[asyncio.subprocess.Process], Awaitable[None]] = ended, **options: Any
) -> asyncio.subprocess.Process:
    """`asyncio.create_subprocess_exec` for a program in a session of its own, which a cancellation doesn't tear.

    A second cancellation would reach asyncio while it waits for the program that the first one made it kill, and leave
    its pipes and the program to nobody. Who is cancelled here finds it started, and ended by `end`: on a busy machine
    it may have done much before this process hears that it was started.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*arguments, start_new_session=True, **options))

    async def put_away() -> None:
        await end(await starting)

    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, asyncio.CancelledError):
            await undisturbed(put_away())
        raise


async def undisturbed(awaited: Awaitable[T]) -> T:
    """Waits for what ends soon, also where it is cancelled meanwhile, which it raises afterwards."""
    waited = asyncio.ensure_future(awaited)
    cancelled: asyncio.CancelledError | None = None
    while not waited.done():
        try:
            await asyncio.wait((waited,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return waited.result()
