"""`wb` in the process of the test, with an environment, folder and streams of its own: nothing has to start.

A process of its own is for what is killed, hears signals, or has its arguments looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.workbench.cli.command import Ended, run

_TURN = threading.Lock()
"""The environment, the folder and the streams are those of the whole process."""


async def wb(*arguments: str, folder: Path, environment: Mapping[str, str]) -> Ended:
    """Returns how it ended; one at a time. `environment` is all of it."""
    return await asyncio.to_thread(_ended, arguments, folder, environment)


def _ended(arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> Ended:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with _TURN, contextlib.chdir(folder), _environment(environment), streams[0], streams[1]:
        code = run(arguments)
    return Ended(code, *(each.buffer.getvalue().decode() for each in (out, err)))


@contextlib.contextmanager
def _environment(whole: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    _set(whole)
    try:
        yield
    finally:
        _set(before)


def _set(whole: Mapping[str, str]) -> None:
    for name in os.environ.keys() - whole.keys():
        del os.environ[name]
    os.environ.update(whole)
