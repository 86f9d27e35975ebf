"""How a process that evaluates is started, apart from `evaluator`: a command has it started before it imports that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kcl.bounded.search_path import search_path

_expected: list[subprocess.Popen[bytes]] = []


def expect() -> None:
    """Starts the process that is wanted next: it makes itself ready while this one does."""
    if not _expected:
        _expected.append(_start())


def started() -> subprocess.Popen[bytes]:
    """Returns the one that was expected, else a new one."""
    return _expected.pop() if _expected else _start()


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "workbench.engine.evaluator_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(os.sep).absolute(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(search_path()))},
        start_new_session=True,  # a ^C is meant for whoever asked: it ends this process
    )
