"""`make bench`: prints a table and writes build/bench.json.

Ours and the peer's turn come one after the other, so that a machine whose speed drifts is unfair to neither. Figures
are medians; the ratio is the median of the ratios of the rounds, above 1 where we are faster. Nothing is asserted: a
shared machine's clock is no judge.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks import compiling, terraform

ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Result:
    """`spread` is the smallest and largest ratio of a round."""

    name: str
    ours_seconds: float
    peer_seconds: float
    ratio: float
    spread: tuple[float, float]
    runs: int


def measure(name: str, ours: Callable[[], object], peer: Callable[[], object], rounds: int = ROUNDS) -> Result:
    ours(), peer()  # what is only done once is not what is measured
    pairs = [(_seconds(ours), _seconds(peer)) for _ in range(rounds)]
    ratios = [theirs / mine for mine, theirs in pairs]
    return Result(
        name,
        statistics.median(mine for mine, _ in pairs),
        statistics.median(theirs for _, theirs in pairs),
        statistics.median(ratios),
        (min(ratios), max(ratios)),
        rounds,
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    try:
        peer = f"kcl-lib {version('kcl-lib')}"
    except PackageNotFoundError:
        sys.stderr.write("kcl-lib is not installed: there is nothing to compare with\n")
        return 1
    write = sys.stdout.write
    write(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, peer {peer}\n\n")
    write(f"{'work':<58} {'ours':>9} {'peer':>9} {'ratio':>7}  spread\n")
    results = []
    home = tempfile.TemporaryDirectory()
    cases = [*compiling.cases(), *filter(None, (terraform.case(Path(home.name)),))]
    for name, ours, theirs in cases:
        result = measure(name, ours, theirs)
        results.append(result)
        low, high = result.spread
        times = f"{result.ours_seconds * 1000:7.1f}ms {result.peer_seconds * 1000:7.1f}ms"
        write(f"{name:<58} {times} {result.ratio:6.2f}x  {low:.2f}-{high:.2f}\n")
        sys.stdout.flush()
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(
        json.dumps(
            [
                {
                    "name": each.name,
                    "ratio": round(each.ratio, 3),
                    "ours_seconds": each.ours_seconds,
                    "peer_seconds": each.peer_seconds,
                    "spread": [round(part, 3) for part in each.spread],
                    "runs": each.runs,
                }
                for each in results
            ],
            indent=2,
        )
        + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
