"""A plugin's process made by forking this one: for functions that exist here and in no file.

It gets its own standard streams, the environment of a plugin, and no other file that is open here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import IO, Final, NoReturn

from kcl.plugins.code import PluginCode
from kcl.plugins.contract import Plugin

_POLL_SECONDS: Final = 0.01


class Forked:
    """The part of `subprocess.Popen` that is needed. Raises `OSError` where no process can be made."""

    def __init__(self, plugin: PluginCode, offered: Plugin, alive: int, environment: Mapping[str, str]) -> None:
        if not hasattr(os, "fork"):
            raise OSError(0, "this system cannot fork a process")
        pipes = [os.pipe() for _ in range(3)]
        (requests, sent), (answered, answers), (printed, log) = pipes
        for each in (sys.stdout, sys.stderr):
            each.flush()  # what waits there would be written twice
        try:
            self.pid = os.fork()
        except OSError:
            for pair in pipes:
                os.close(pair[0])
                os.close(pair[1])
            raise
        if self.pid == 0:
            _be_plugin(plugin, offered, (requests, answers, log), alive, environment)
        for each in (requests, answers, log):
            os.close(each)
        self.stdin: IO[bytes] | None = os.fdopen(sent, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(answered, "rb")
        self.stderr: IO[bytes] | None = os.fdopen(printed, "rb")

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end; raises `subprocess.TimeoutExpired`."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                pid, status = os.waitpid(self.pid, 0 if end is None else os.WNOHANG)
            except ChildProcessError:  # somebody else has collected it
                return 0
            if pid:
                return os.waitstatus_to_exitcode(status)
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("a plugin", timeout or 0)
            time.sleep(_POLL_SECONDS)


def _be_plugin(
    plugin: PluginCode, offered: Plugin, streams: tuple[int, int, int], alive: int, environment: Mapping[str, str]
) -> NoReturn:
    try:
        from kcl.plugins.guard import guarded
        from kcl.plugins.worker import answer_requests

        os.setsid()  # a ^C in the program is not meant for it
        for number, each in enumerate(streams):
            os.dup2(each, number)
        kept = os.dup2(alive, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(environment)
        guarded(lambda: answer_requests(offered), kept, plugin.memory_bytes)
    finally:
        os._exit(1)
