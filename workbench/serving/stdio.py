"""The server over standard input and output, for a program that starts it: no token is needed, as both are its own.

Requests are one JSON object a line, or framed by headers as the protocol of language servers has it. Lines are the
usual: any program can write one, and a broken request ends with its line. When the input ends what was taken is
answered, but for watches; when nobody reads the answers any more, everything is stopped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.from_thread import BlockingPortal
from anyio.streams.memory import MemoryObjectSendStream

from workbench.serving.calls import MOST_BYTES, Calls, Client, encoded, too_large
from workbench.serving.errors import INVALID_REQUEST, CallFailed

_CHUNK: Final = 1 << 16
_LONGEST_HEADER: Final = 4096
_MOST_WAITING: Final = 32


class Framing(StrEnum):
    LINES = "lines"
    HEADERS = "headers"


class BadFrame(Exception):
    """A request that cannot be told from the next; `is_end` where none can be told any more."""

    def __init__(self, problem: CallFailed, *, is_end: bool = False) -> None:
        super().__init__(problem.message)
        self.problem, self.is_end = problem, is_end


async def serve(calls: Calls, framing: Framing, requests: int, answers: int) -> None:
    """Answers what comes from one file descriptor to the other, until the first ends or nobody reads the second."""
    order = anyio.Lock()
    client = Client()

    async def write(text: bytes) -> None:
        framed = text + b"\n" if framing is Framing.LINES else b"Content-Length: %d\r\n\r\n" % len(text) + text
        async with order:
            try:
                await anyio.to_thread.run_sync(_write_all, answers, framed, abandon_on_cancel=True)
            except OSError:  # nobody reads any more
                await calls.stop(client)

    async def tell(note: dict[str, Any]) -> None:
        await write(encoded(note))

    async def answer(raw: bytes) -> None:
        reply = await calls.answer(raw, client)
        if reply is not None:
            await write(reply)

    client.tell = tell
    async with _chunks(requests) as chunks, anyio.create_task_group() as tasks:
        frames = _lines(chunks) if framing is Framing.LINES else _framed(chunks)
        async for frame in frames:
            if isinstance(frame, BadFrame):
                await write(encoded({"jsonrpc": "2.0", "id": None, "error": frame.problem.document()}))
                if frame.is_end:
                    break
            else:
                tasks.start_soon(answer, frame)
        await calls.end_watches(client)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


@asynccontextmanager
async def _chunks(descriptor: int) -> AsyncIterator[AsyncIterator[bytes]]:
    """What can be read, until its end. A thread reads, which nobody waits for: some files cannot be waited for else."""
    async with BlockingPortal() as portal:
        send, receive = anyio.create_memory_object_stream[bytes](_MOST_WAITING)
        async with send, receive:
            threading.Thread(target=_read, args=(descriptor, send.clone(), portal), daemon=True).start()
            send.close()
            yield receive


def _read(descriptor: int, send: MemoryObjectSendStream[bytes], portal: BlockingPortal) -> None:
    try:
        while chunk := os.read(descriptor, _CHUNK):
            portal.call(send.send, chunk)
    except (OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return
    finally:
        with suppress(RuntimeError):  # the server has ended
            portal.call(send.aclose)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes | BadFrame]:
    waiting = bytearray()
    is_skipping = False
    async for chunk in chunks:
        waiting += chunk
        while (end := waiting.find(b"\n")) >= 0:
            line, waiting = bytes(waiting[:end]), waiting[end + 1 :]
            if not is_skipping and line.strip():
                yield line
            is_skipping = False
        if len(waiting) > MOST_BYTES:
            if not is_skipping:
                yield BadFrame(too_large())
            is_skipping = True
            waiting.clear()
    if waiting.strip() and not is_skipping:
        yield bytes(waiting)


async def _framed(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes | BadFrame]:
    waiting = bytearray()
    length: int | None = None
    async for chunk in chunks:
        waiting += chunk
        while True:
            if length is None:
                head = waiting.find(b"\r\n\r\n")
                if head > _LONGEST_HEADER or (head < 0 and len(waiting) > _LONGEST_HEADER):
                    yield _no_frame("a header is longer than any of this protocol")
                    return
                if head < 0:
                    break
                length = _length(bytes(waiting[:head]))
                del waiting[: head + 4]
                if length is None or length > MOST_BYTES:
                    said = too_large().message if length else "there is no Content-Length in the header"
                    yield _no_frame(said)
                    return
            if len(waiting) < length:
                break
            yield bytes(waiting[:length])
            del waiting[:length]
            length = None
    if waiting:
        yield _no_frame("the input ended within a request")


def _length(head: bytes) -> int | None:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit() and len(value) < 20:
            return int(value)
    return None


def _no_frame(said: str) -> BadFrame:
    return BadFrame(CallFailed(INVALID_REQUEST, said), is_end=True)
