"""How long `wb config get` takes over a company's cube: at first, and when it is asked again.

    python -m tests.benchmarks.cube [FOLDER] [APPLICATIONS SITES TENANTS ENVIRONMENTS]

200 applications by 3 sites, 4 tenants and 3 environments make 7,200 stacks, whose first evaluation takes minutes. Each
question is a process of its own, timed from its start to its end, with the processor's time beside it: on a machine
with other work that one counts. A folder that is there already is asked as it is.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.dimensioned import Size, write_company

WHOLE = Size(200, 3, 4, 3)
ROUNDS = 5
_SETTLED_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of the clock, seconds of processors, and how many rows were answered."""

    seconds: float
    processor_seconds: float
    rows: int


def ask(root: Path, home: Path, *arguments: str) -> Taken:
    """Runs `wb config get`; raises `CalledProcessError` where it fails."""
    environment = {**os.environ, "WB_CACHE_DIR": str(home / "cache"), "WB_STATE_DIR": str(home / "state")}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "workbench", "-w", str(root), "config", "get", *arguments]
    ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(seconds, used, len(ended.stdout.splitlines()) - 1)


def measured(root: Path, home: Path, rounds: int = ROUNDS) -> list[tuple[str, list[Taken]]]:
    """Asks at first, then the same and other questions again."""
    first = ask(root, home, "web.replicas")
    time.sleep(_SETTLED_SECONDS)  # what was written just now is looked at once more
    ask(root, home, "web.replicas")
    again = {
        "the same, all stacks": ("web.replicas",),
        "another value, all stacks": ("web.labels.tenant",),
        "one point": ("web.replicas", "--where", "env=prod,site=hangzhou"),
    }
    every = [(name, [ask(root, home, *each) for _ in range(rounds)]) for name, each in again.items()]
    return [("first", [first]), *every]


def main(arguments: list[str]) -> None:
    size = Size(*map(int, arguments[1:])) if len(arguments) > 1 else WHOLE
    with tempfile.TemporaryDirectory() as home:
        root = Path(arguments[0]).resolve() if arguments else Path(home) / "company"
        if not root.is_dir():
            write_company(root, size)
            time.sleep(_SETTLED_SECONDS)
        told = [f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"]
        for name, every in measured(root, Path(home)):
            clock = median(each.seconds for each in every)
            processor = median(each.processor_seconds for each in every)
            told.append(f"{name}: {clock:.2f} s, {processor:.2f} s of processors, {every[0].rows} rows")
        sys.stdout.write("\n".join(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
