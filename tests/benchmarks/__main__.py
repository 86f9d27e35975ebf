"""`make bench`: prints a table and writes build/bench.json.

    python -m tests.benchmarks [--quick] [--only WORD]
    python -m tests.benchmarks --table          # what build/bench.json holds, for docs/performance.md

Figures are medians; the ratio is the median of the ratios of the rounds. A goal is "met" or "not met" by that; nothing
fails, since the clock of a shared machine is no judge. `--quick` takes two rounds: to see that it runs.
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
from typing import Any

from runtimes.sandbox.provider.mirror import ProviderMissing
from tests.benchmarks import compiling, memory, output, provenance, terraform
from tests.benchmarks.measuring import ROUNDS, Result, measure

_QUICK_ROUNDS = 2
_TARGET = Path("build/bench.json")


def _results(folder: Path, rounds: int | None, only: str) -> Iterator[Result]:
    repositories = list(compiling.repositories(folder))
    for planned in (*(each for one in repositories for each in compiling.rows(one, folder)), *compiling.made_up()):
        yield from measure(planned, only, rounds)
    for planned in terraform.rows(folder / "terraform"):
        try:
            yield from measure(planned, only, rounds)
        except ProviderMissing as missing:
            sys.stderr.write(f"{missing}: its row is left out\n")
    for name, measured in (*output.rows(folder, rounds or ROUNDS), *provenance.rows(repositories, rounds)):
        if only in name:
            yield measured()
    if not memory.is_told():
        sys.stderr.write("peak memory is only told on Linux: its rows are left out\n")
        return
    for repository in repositories:
        if only in memory.title(repository):
            yield memory.peak_memory(repository, rounds or ROUNDS)


def _machine(peer: str) -> dict[str, Any]:
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "peer": peer,
    }


def _shown(value: float, unit: str) -> str:
    return f"{value / 1e6:.1f} MB" if unit == "bytes" else f"{value * 1000:.1f} ms"


def _line(found: dict[str, Any]) -> str:
    """A row of the table that is printed, of what build/bench.json holds of it."""
    ours, peer = _shown(found["ours_seconds"], found["unit"]), _shown(found["peer_seconds"], found["unit"])
    low, high = found["spread"]
    row = f"{found['name']:<76} {found['goal'] or '':<14} {ours:>11} {peer:>11} {found['ratio']:>7.2f}"
    return f"{row}  {low:>6.2f} - {high:<6.2f} {found['runs']:>4}  {found['verdict']:<7} {found['note']}".rstrip()


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The same as Markdown."""
    yield "| work | goal | ours | peer | ratio | spread | |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for each in rows:
        ours, peer = _shown(each["ours_seconds"], each["unit"]), _shown(each["peer_seconds"], each["unit"])
        low, high = each["spread"]
        goal, spread = each["goal"] or "", f"{low:.2f} to {high:.2f}"
        said = " ".join(filter(None, (each["verdict"], each["note"])))
        yield f"| {each['name']} | {goal} | {ours} | {peer} | {each['ratio']:.2f} | {spread} | {said} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--quick", action="store_true", help="two rounds each")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name holds this")
    parser.add_argument("--table", action="store_true", help="measure nothing, print build/bench.json as Markdown")
    given = parser.parse_args()
    write = sys.stdout.write
    if given.table:
        if not _TARGET.is_file():
            sys.stderr.write(f"{_TARGET} is not there: run make bench first\n")
            return 1
        write("\n".join(_table(json.loads(_TARGET.read_text()))) + "\n")
        return 0
    try:
        peer = f"kcl-lib {version('kcl-lib')}"
    except PackageNotFoundError:
        sys.stderr.write("kcl-lib is not installed: there is nothing to compare with\n")
        return 1
    machine = _machine(peer)
    write(", ".join(f"{name} {value}" for name, value in machine.items()) + "\n\n")
    write(f"{'work':<76} {'goal':<14} {'ours':>11} {'peer':>11} {'ratio':>7}  {'spread':^15} {'runs':>4}\n")
    documents = []
    _TARGET.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for each in _results(Path(folder), _QUICK_ROUNDS if given.quick else None, given.only):
            documents.append({**each.document(), "machine": machine})
            _TARGET.write_text(json.dumps(documents, indent=2) + "\n")  # also what was measured before an interrupt
            write(_line(documents[-1]) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
