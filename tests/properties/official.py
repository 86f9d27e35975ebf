"""The official compiler in a process of its own: it may abort, and a program may keep it busy without end."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

import pytest

_CHILD = os.path.join(os.path.dirname(__file__), "official_child.py")


class Gone(Exception):
    """The child died or did not answer in time; the next request starts another."""


@dataclass(frozen=True, slots=True)
class SyntaxAnswer:
    """What the official parser says: `(line, column, message)` for each error, columns from 0."""

    errors: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """What the official compiler makes of a program: the result as YAML, or what it complains of."""

    yaml: str | None
    complaint: str


class Child:
    """A process that answers one JSON line for each JSON line; started when needed and again after it died."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command = command
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, question: Any, seconds: float | None = None) -> Any:
        """Raises Gone."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=seconds or self._seconds)
        except queue.Empty:
            self.stop()
            raise Gone("no answer in time") from None
        except OSError:
            line = ""
        if not line:
            status = process.wait()
            self.stop()
            raise Gone(f"ended with status {status}")
        return json.loads(line)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._answers = queue.Queue()
        assert process.stdout is not None
        threading.Thread(target=_read, args=(process.stdout, self._answers), daemon=True).start()
        self._process = process
        return process

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # what was not sent any more is of no interest
            process.stdin.close()


def _read(stream: IO[str], answers: queue.Queue[str]) -> None:
    with stream:
        for line in stream:
            answers.put(line)
    answers.put("")


class Official(Child):
    """The official compiler. `ask` raises Gone where it aborts or hangs."""

    def __init__(self, seconds: float = 10) -> None:
        super().__init__([sys.executable, _CHILD], seconds)

    def __enter__(self) -> Official:
        return self

    def syntax(self, text: str) -> SyntaxAnswer:
        found = self.ask({"parse": text})
        return SyntaxAnswer(tuple((line, column, message) for line, column, message in found["errors"]))

    def formatted(self, text: str) -> str:
        """The text laid out; as it is where it has errors."""
        return str(self.ask({"format": text})["text"])

    def run(self, text: str) -> RunAnswer:
        found = self.ask({"run": text})
        return RunAnswer(found["yaml"], found["complaint"])

    def run_files(self, folder: str, arguments: dict[str, Any]) -> RunAnswer:
        """`arguments`: `files`, `options` as a list of pairs of texts, and perhaps `packages`, names with folders."""
        found = self.ask({"folder": folder, **arguments})
        return RunAnswer(found["yaml"], found["complaint"])


def official(seconds: float = 10) -> Official:
    """Skips the test where the official compiler is not installed. An answer may take some seconds."""
    if importlib.util.find_spec("kcl_lib") is None:
        pytest.skip("kcl-lib is not installed")
    return Official(seconds)
