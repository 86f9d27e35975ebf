"""A sandbox served from a thread of its own, for tests whose clients block."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from runtimes.sandbox.server import Sandbox


@contextlib.contextmanager
def served(**options: Any) -> Iterator[Sandbox]:
    """A running sandbox; the thread and its servers end with the block."""
    started = threading.Event()
    failures: list[BaseException] = []
    running: dict[str, Any] = {}

    async def run() -> None:
        running["loop"], running["stop"] = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with Sandbox(**options) as sandbox:
                running["sandbox"] = sandbox
                started.set()
                await running["stop"].wait()
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            started.set()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert started.wait(20), "the sandbox did not start within 20 seconds"
    if failures:
        raise failures[0]
    try:
        yield running["sandbox"]
    finally:
        running["loop"].call_soon_threadsafe(running["stop"].set)
        thread.join(20)
        assert not thread.is_alive(), "the sandbox did not stop within 20 seconds"
