"""The process that holds a plugin's code, as its program sees it: started bare, listened to, and ended with all of it.

What it gets is said here and nowhere else: a few variables of ours that every program needs, those of its own, and a
pipe that closes when this process ends, however it ends (`guard.py` waits for that).
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Final

from kcl.bounded.search_path import search_path
from kcl.patterns import pattern
from kcl.plugins.code import ForkedCode, PluginCode
from kcl.plugins.forking import Forked

LARGEST_ANSWER_BYTES: Final = 32 * 1024 * 1024
LARGEST_LOG_BYTES: Final = 64 * 1024
_PASSED_ON: Final = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "VIRTUAL_ENV"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"}
)
"""What a program needs to run, to find the network and to speak a language. Credentials are in none of these."""
_PATIENCE_SECONDS: Final = 5.0
_SHORTEST_SECRET: Final = 4
_CONTROL: Final = pattern(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class PluginProcess:
    """One started process. Raises `OSError` where it can't be started."""

    def __init__(self, plugin: PluginCode) -> None:
        self._plugin = plugin
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        alive, self._lifeline = os.pipe()
        try:
            self._process = _started(plugin, alive)
        except OSError:
            os.close(self._lifeline)
            raise
        finally:
            os.close(alive)
        self._log = bytearray()
        self._lost = 0
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._overhear)]
        for each in self._threads:
            each.start()

    def send(self, line: bytes) -> None:
        """Raises `BrokenPipeError` where it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def stop(self) -> str:
        """Ends the process and everything it started, and returns what it printed. Never raises."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        os.close(self._lifeline)
        self._wait_for_guard()
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for each in self._threads:
            each.join(_PATIENCE_SECONDS)
        return self._said()

    def _wait_for_guard(self) -> None:
        """Waits until the guard has ended the others, for a while. `Popen.wait` with a time would look now and then."""
        try:
            ended = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # not Linux, or it is gone
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE_SECONDS)
            return
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.poll(_PATIENCE_SECONDS * 1000)
        os.close(ended)

    def _said(self) -> str:
        """What it printed as lines of a log, each with its name; without control characters and secrets."""
        text = self._log.decode(errors="replace")
        for secret in sorted(self._plugin.secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "(secret)")
        lines = [f"plugin {self._plugin.name}: {_CONTROL.sub('', line)}\n" for line in text.splitlines()]
        if self._lost:
            lines.append(f"plugin {self._plugin.name}: ({self._lost} more bytes were printed)\n")
        return "".join(lines)

    def _listen(self) -> None:
        """Hands on what the process answers, line by line, then None. A thread: reading cannot be given a time."""
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while line := stream.readline(LARGEST_ANSWER_BYTES):
                self.lines.put(line)
                if not line.endswith(b"\n"):
                    break
        self.lines.put(None)

    def _overhear(self) -> None:
        """Keeps the beginning of what it prints, and reads on: it may not wait for a full pipe."""
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                room = LARGEST_LOG_BYTES - len(self._log)
                self._log += chunk[:room]
                self._lost += max(0, len(chunk) - room)


def _started(plugin: PluginCode, alive: int) -> subprocess.Popen[bytes] | Forked:
    surroundings = environment(os.environ, plugin.environment)
    if isinstance(plugin.code, ForkedCode):
        return Forked(plugin, plugin.code.plugin, alive, surroundings)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "kcl.plugins.worker", str(alive), str(plugin.memory_bytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings,
        pass_fds=(alive,),
        start_new_session=True,  # a ^C here is not meant for it
    )


def environment(inherited: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Returns all of a plugin's environment."""
    passed = {name: each for name, each in inherited.items() if name in _PASSED_ON or name.startswith("LC_")}
    paths = os.pathsep.join(dict.fromkeys(search_path()))
    return {**passed, **own, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
