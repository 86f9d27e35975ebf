"""What is not time against the official compiler: lines of YAML a second, peak memory."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from kcl import api
from tests.benchmarks import compiling, programs
from tests.benchmarks.measuring import Result, seconds

_LINES_A_SECOND = 2_000_000
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
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def results(folder: Path, rounds: int | None) -> Iterator[tuple[str, Callable[[], Result]]]:
    yield "YAML output, lines a second", lambda: _yaml(rounds or 7)
    if not Path("/proc/self/status").exists():
        sys.stderr.write("peak memory is only told on Linux: its rows are left out\n")
        return
    for name, root in (("konfig-2023", folder / "konfig"), ("sample-konfig", folder / "sample")):
        if root.is_dir():
            settings = compiling.SETTINGS if name == "konfig-2023" else ("kcl.yaml",)
            stacks = sorted(each.parent for each in root.rglob("kcl.yaml"))
            stacks = [each for each in stacks if "gateway" not in each.parts]
            repository = compiling.Repository(root, tuple(stacks), settings)
            title = f"peak memory, all {len(stacks)} stacks of {name}"
            yield title, partial(_memory, title, repository, rounds or 7)


def _yaml(rounds: int) -> Result:
    documents = programs.documents(10_000)
    text = api.yaml_text(documents)
    lines = text.count("\n") + 1
    assert yaml.load(text, Loader=_LOADER) == documents
    times = [seconds(lambda: api.yaml_text(documents)) for _ in range(rounds)]
    goal = lines / _LINES_A_SECOND
    ratios = [goal / each for each in times]
    name = f"YAML output, {lines / statistics.median(times) / 1e6:.2f} million lines a second"
    return Result(
        name, "2 million", statistics.median(ratios), statistics.median(times), goal, (min(ratios), max(ratios)), rounds
    )


def _memory(title: str, repository: compiling.Repository, rounds: int) -> Result:
    """The ratio is ours by the peer's: smaller is better, at most 1.5."""
    ours = json.dumps([repository.settings, [str(each) for each in repository.stacks]])
    peers = json.dumps([repository.arguments(each) for each in repository.stacks])
    pairs = [(_peak(_OURS, ours), _peak(_PEERS, peers)) for _ in range(rounds)]
    ratios = [mine / theirs for mine, theirs in pairs]
    return Result(
        title,
        "at most 1.5",
        statistics.median(ratios),
        statistics.median(mine for mine, _ in pairs),
        statistics.median(theirs for _, theirs in pairs),
        (min(ratios), max(ratios)),
        rounds,
        "bytes",
    )


def _peak(script: str, told: Any) -> int:
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", script + _PEAK], input=told, capture_output=True, check=True, env=environment, text=True
    )
    return int(ended.stdout.split()[-1])
