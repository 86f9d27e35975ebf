"""Practice clusters end with whoever started them, even where that one was killed and could say nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STARTER = """
import os, subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, "-m", "workbench", "sandbox", "start", "--kubeconfig", sys.argv[1], "--parent", str(os.getpid())],
    stdout=subprocess.PIPE, start_new_session=True,
)
print(child.pid, child.stdout.readline().decode().split()[0], flush=True)
time.sleep(60)
"""
PATIENCE_SECONDS = 20.0


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_killed_starter_leaves_no_clusters_behind(tmp_path: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path / "kubeconfig")], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    with starter.stdout:
        pid, word = starter.stdout.readline().split()
    assert word == "READY"
    assert is_running(int(pid))
    starter.kill()
    starter.wait()
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while is_running(int(pid)) and time.monotonic() < give_up_at:
        time.sleep(0.1)
    still_there = is_running(int(pid))
    if still_there:
        os.kill(int(pid), signal.SIGKILL)
    assert not still_there
