"""Peak memory: of a process that compiles all stacks, ours and the official compiler's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.compiling import Repository
from tests.benchmarks.measuring import AtMost, Result, result

_ROOT = Path(__file__).parents[2]
_OURS = """
import json, sys
from kcl import api
settings, stacks = json.loads(sys.stdin.read())
cache = api.ParseCache()
for each in stacks:
    api.run(work_dir=each, settings=settings, cache=cache).yaml()
"""
_PEERS = """
import json, os, sys
from tests.benchmarks.peer import run
out, sys.stdout = sys.stdout, open(os.devnull, "w")
for each in json.loads(sys.stdin.read()):
    run(each)
"""
_PEAK = """
with open("/proc/self/status") as status:
    peak = next(line for line in status if line.startswith("VmHWM"))
print(int(peak.split()[1]) * 1024, file=sys.__stdout__)
"""


def is_told() -> bool:
    """Whether this system tells the peak of a process in a way that is known here."""
    return Path("/proc/self/status").exists()


def title(repository: Repository) -> str:
    return f"peak memory, all {len(repository.stacks)} stacks, one process ({repository.name})"


def peak_memory(repository: Repository, rounds: int) -> Result:
    ours = json.dumps([repository.settings, [str(each) for each in repository.stacks]])
    peers = json.dumps([repository.arguments(each) for each in repository.stacks])
    pairs = [(_peak(_OURS, ours), _peak(_PEERS, peers)) for _ in range(rounds)]
    return result(title(repository), AtMost(1.5), pairs, [mine / theirs for mine, theirs in pairs], "bytes")


def _peak(script: str, told: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", script + _PEAK], input=told, capture_output=True, check=True, env=environment, text=True
    )
    return int(ended.stdout.split()[-1])
