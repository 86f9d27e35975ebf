"""A terminal in a container, in place of the screens: what is typed goes there as it is, and what comes is shown so.

The event loop goes on meanwhile, so that an apply, watches and forwarded ports do; only nothing is painted.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from runtimes.base import RuntimeFailure
from runtimes.base.terminals import Ended, ExecRequest, RemoteTerminal
from workbench.present.text import line
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp

SIZE_SECONDS = 0.5
LEAVE = b"\x1d"
"""Ctrl-], as telnet has it: twice in a row leaves, whatever runs there."""
_RESET = b"\x1b[!p\x1b[?1049l\x1b[0m\r\n"
"""A program that was torn off may have left the terminal in another state."""


async def open_terminal(app: WorkbenchApp, cluster: str, request: ExecRequest, *, waits: bool) -> None:
    """Connects, and only then takes the screens away. `waits`: what it wrote stays until enter is pressed."""
    in_fd, out_fd = 0, 1
    if not (os.isatty(in_fd) and os.isatty(out_fd)):
        app.notify("this needs a terminal, and there is none", severity="warning")
        return
    try:
        async with app.session.execute_live(cluster, request) as remote:
            with app.batch_update(), app.suspend():
                await _in_raw_mode(remote, in_fd, out_fd, f"{request.pod.name}@{cluster}", waits=waits)
    except (WorkbenchError, RuntimeFailure) as error:
        app.notify(f"{error}. {error.hint}", severity="error", timeout=20)
    except SuspendNotSupported:
        app.notify("this terminal can't be handed over", severity="error")


async def _in_raw_mode(remote: RemoteTerminal, in_fd: int, out_fd: int, where: str, *, waits: bool) -> None:
    import termios
    import tty

    before = termios.tcgetattr(in_fd)
    _write(out_fd, f"{line(where)}: ctrl-] twice leaves\r\n".encode())
    tty.setraw(in_fd)
    try:
        said = "the connection was lost"
        try:
            said = await attach(remote, in_fd, out_fd, lambda: tuple(os.get_terminal_size(out_fd)))
        finally:
            _write(out_fd, _RESET + f"{line(said)}\r\n".encode())
        if waits or (remote.ended is not None and remote.ended.exit_code != 0):
            _write(out_fd, b"enter goes back\r\n")
            await _next_key(in_fd)
    finally:
        termios.tcsetattr(in_fd, termios.TCSADRAIN, before)


async def attach(remote: RemoteTerminal, in_fd: int, out_fd: int, size: Callable[[], tuple[int, ...]]) -> str:
    """Carries bytes both ways until the program ends or its user leaves; returns in words how it ended.

    Raises `RuntimeFailure` where the connection is lost.
    """
    loop, typed = asyncio.get_running_loop(), asyncio.Queue[bytes]()
    loop.add_reader(in_fd, lambda: typed.put_nowait(_read(in_fd)))

    async def show() -> None:
        while written := await remote.read():
            await asyncio.to_thread(_write, out_fd, written)

    async def send() -> None:
        is_leaving = False
        while content := await typed.get():
            if LEAVE * 2 in content or (is_leaving and content.startswith(LEAVE)):
                return
            is_leaving = content.endswith(LEAVE)
            await remote.write(content)

    async def resize() -> None:
        known = size()
        while True:
            await asyncio.sleep(SIZE_SECONDS)
            if (now := size()) != known:
                known = now
                await remote.resize(now[0], now[1])

    tasks = [asyncio.create_task(each()) for each in (show, send, resize)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        loop.remove_reader(in_fd)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return _ending(remote.ended)


def _ending(ended: Ended | None) -> str:
    if ended is None:
        return "left: what runs there may go on"
    if ended.exit_code is not None:
        return f"ended with exit code {ended.exit_code}"
    return f"could not be run, or nobody knows how it ended: {ended.message}"


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""  # the terminal is gone


def _write(fd: int, content: bytes) -> None:
    while content:
        content = content[os.write(fd, content) :]


async def _next_key(in_fd: int) -> None:
    loop, pressed = asyncio.get_running_loop(), asyncio.Event()

    def take() -> None:
        if set(_read(in_fd) or b"\r") & set(b"\r\n\x03\x1b"):
            pressed.set()

    loop.add_reader(in_fd, take)
    try:
        await pressed.wait()
    finally:
        loop.remove_reader(in_fd)


def terminal_size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ is not None else 1)
    except (OSError, ValueError):
        return 80, 24
    return size.columns, size.lines
