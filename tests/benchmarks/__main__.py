"""`make bench`: prints a table and writes build/bench.json.

    python -m tests.benchmarks [--quick] [--only WORD]

Figures are medians; the ratio is the median of the ratios of the rounds, above 1 where we are faster. Nothing is
asserted: a shared machine's clock is no judge. `--quick` takes two rounds and small programs: to see that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks import compiling, output
from tests.benchmarks.measuring import Case, Group, Result, measure, measure_group

_QUICK_ROUNDS = 2


def _results(folder: Path, rounds: int | None, only: str) -> Iterator[Result]:
    for each in compiling.cases(folder):
        names = [each.name] if isinstance(each, Case) else [one.name for one in each.variants]
        if not any(only in name for name in names):
            continue
        match each:
            case Case():
                yield measure(each, rounds)
            case Group():
                yield from measure_group(each, rounds)
    for name, result in output.results(folder, rounds):
        if only in name:
            yield result()


def _shown(value: float, unit: str) -> str:
    return f"{value / 1e6:8.1f}MB" if unit == "bytes" else f"{value * 1000:8.1f}ms"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--quick", action="store_true", help="two rounds each")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name holds this")
    given = parser.parse_args()
    try:
        peer = f"kcl-lib {version('kcl-lib')}"
    except PackageNotFoundError:
        sys.stderr.write("kcl-lib is not installed: there is nothing to compare with\n")
        return 1
    write = sys.stdout.write
    python = f"{platform.python_implementation()} {platform.python_version()}"
    load = f"load {os.getloadavg()[0]:.1f}"
    write(f"{python}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, {load}, peer {peer}\n\n")
    write(f"{'work':<72} {'goal':>10} {'ours':>10} {'peer':>10} {'ratio':>8}  spread\n")
    results = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for each in _results(Path(folder), _QUICK_ROUNDS if given.quick else None, given.only):
            results.append(each)
            low, high = each.spread
            times = f"{_shown(each.ours_seconds, each.unit)} {_shown(each.peer_seconds, each.unit)}"
            write(f"{each.name:<72} {each.goal:>10} {times} {each.ratio:7.2f}x  {low:.2f}-{high:.2f} of {each.runs}\n")
            sys.stdout.flush()
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps([each.document() for each in results], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
