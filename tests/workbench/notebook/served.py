"""`wb demo --headless` as a process: clusters, a CMDB and an alarm, found by whoever opens the sample repository."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workbench.local import LocalState, ServedPractice

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "sample-konfig"


@dataclass
class Demo:
    """`environment` is what a notebook needs besides: the folder for state, and nothing about clusters."""

    environment: dict[str, str]
    practice: ServedPractice


@contextmanager
def demo(home: Path) -> Iterator[Demo]:
    environment = {"WB_STATE_DIR": str(home / "state"), "USER": "sre", "KUBECONFIG": "", "TMPDIR": str(home)}
    with (home / "demo.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "workbench", "demo", "--headless"],
            env={**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert process.stdout is not None
            heard = next((each for each in process.stdout if each.startswith("READY")), "")
            assert heard, (home / "demo.log").read_text()
            practice = LocalState(home / "state", SAMPLE).practice()
            assert practice is not None
            yield Demo(environment, practice)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
