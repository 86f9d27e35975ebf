"""Counts of places in a file, as lines and branches."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from kcl.api import parse
from kcl.evaluator.coverage import Reached, parts
from kcl.records import dataclass
from kcl.regular import read_regular_text


@dataclass(frozen=True, slots=True)
class Measured:
    """One file: how often each line was reached, and each decision of a line was true and false.

    A line is there if a point begins on it, and reached if one of these was.
    """

    path: str
    lines: Mapping[int, int]
    decisions: Mapping[int, tuple[tuple[int, int], ...]]

    @property
    def missed_lines(self) -> list[int]:
        return [line for line, count in self.lines.items() if not count]

    @property
    def branches(self) -> int:
        return sum(2 * len(each) for each in self.decisions.values())

    @property
    def missed_branches(self) -> list[tuple[int, bool]]:
        """Line and outcome of each that never came about, of decisions that were reached."""
        return [
            (line, outcome)
            for line, decisions in self.decisions.items()
            for counts in decisions
            if any(counts)
            for outcome in (True, False)
            if not counts[0 if outcome else 1]
        ]

    @property
    def reached_branches(self) -> int:
        return sum(bool(count) for each in self.decisions.values() for counts in each for count in counts)

    @property
    def reached_lines(self) -> int:
        return sum(bool(count) for count in self.lines.values())


class NotMeasured(Exception):
    """A file that cannot be read, or is no KCL; the text says which and why."""


def measured(path: str, reached: Reached | None) -> Measured:
    """Raises NotMeasured."""
    try:
        text = read_regular_text(path)
    except OSError as problem:
        raise NotMeasured(f"cannot read {path}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise NotMeasured(f"cannot read {path}: it is not UTF-8 at byte {problem.start}") from None
    parsed = parse(text, path)
    if parsed.diagnostics:
        raise NotMeasured(f"{path} is not valid KCL: `kcl run {path}` says where")
    starts = [0]
    for offset, character in enumerate(text):
        if character == "\n":
            starts.append(offset + 1)
    there = parts(parsed.module)
    found = reached or Reached()
    lines: dict[int, int] = {}
    for place in there.points:
        line = bisect_right(starts, place[0])
        lines[line] = max(lines.get(line, 0), found.points.get(place, 0))
    decisions: dict[int, list[tuple[int, int]]] = {}
    for place in there.decisions:
        true, false = found.decisions.get(place, (0, 0))
        decisions.setdefault(bisect_right(starts, place[0]), []).append((true, false))
    return Measured(path, dict(sorted(lines.items())), {line: tuple(each) for line, each in decisions.items()})


def percent(files: Iterable[Measured]) -> float:
    """Of lines and outcomes of decisions together, how many are reached; 100 where there are none."""
    there = reached = 0
    for each in files:
        there += len(each.lines) + each.branches
        reached += each.reached_lines + each.reached_branches
    return 100.0 * reached / there if there else 100.0


def source_files(folder: str) -> Iterator[str]:
    """The KCL files below a folder that are no tests, in order. Hidden folders are left out."""
    for here, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            if is_source(name):
                yield os.path.join(here, name)


def is_source(name: str) -> bool:
    return name.endswith(".k") and not name.endswith("_test.k") and not os.path.basename(name).startswith("_kcl_test_")
