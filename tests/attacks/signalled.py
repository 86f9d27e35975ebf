"""Commands whose program is stuck where nothing in Python can look up, and a signal that should end them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.attacks.conftest import Hostile

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ends_when_signalled(words: Sequence[str], number: signal.Signals, hostile: Hostile) -> None:
    """Starts a module in a repository, waits until something below it computes without end, and ends it by a signal.

    Nothing is left of it, and it says nothing of its inside.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", *words],
        cwd=hostile.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "WB_STATE_DIR": str(hostile.outside.parent / "state"), "KCL_RUN_CACHE": "off"},
    )  # fmt: skip
    below = _stuck_below(process.pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (-number, 130), err
    assert "Traceback" not in err
    _wait_until(lambda: not any(map(_runs, below)))


def _stuck_below(pid: int) -> list[int]:
    """Returns the processes below one, once one of them computes and does nothing else."""
    psutil = pytest.importorskip("psutil")
    found: list[Any] = []

    def is_stuck() -> bool:
        found[:] = psutil.Process(pid).children(recursive=True)
        return any(each.cpu_times().user > 0.7 for each in found)

    _wait_until(is_stuck)
    return [each.pid for each in found]


def _runs(pid: int) -> bool:
    psutil = pytest.importorskip("psutil")
    return bool(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)


def _wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it never came to be so")
