"""Taking turns: ours, then the peer's, round after round, so that a machine whose speed drifts is unfair to neither."""

from __future__ import annotations

import gc
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kcl.api import in_deep_thread

Work = Callable[[], object]
ROUNDS = 7
"""Of what takes long; what takes a moment gets more."""


@dataclass(frozen=True, slots=True)
class Faster:
    """The peer's time by ours is at least `times`."""

    times: float

    def __str__(self) -> str:
        return "not slower" if self.times == 1 else f"{self.times:g}x faster"

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.times


@dataclass(frozen=True, slots=True)
class AtMost:
    """Ours by the peer's is at most `ratio`."""

    ratio: float

    def __str__(self) -> str:
        return f"at most {self.ratio:g}x"

    def is_met(self, ratio: float) -> bool:
        return ratio <= self.ratio


@dataclass(frozen=True, slots=True)
class ExtraAtMost:
    """What ours takes more than the other is at most `share` of the other; the ratio is that share."""

    share: float

    def __str__(self) -> str:
        return f"at most {self.share:.0%}"

    def is_met(self, ratio: float) -> bool:
        return ratio <= self.share


@dataclass(frozen=True, slots=True)
class LinesASecond:
    """The ratio is lines a second by `lines`."""

    lines: float

    def __str__(self) -> str:
        return f"{self.lines / 1e6:g}M lines/s"

    def is_met(self, ratio: float) -> bool:
        return ratio >= 1


Goal = Faster | AtMost | ExtraAtMost | LinesASecond


@dataclass(frozen=True, slots=True)
class Variant:
    """`goal` is None for a row that is only there to explain the others."""

    goal: Goal | None
    ours: Work


@dataclass(frozen=True, slots=True)
class Group:
    """Several ways of ours to do what the peer does one way: it is run once a round for all of them."""

    variants: tuple[Variant, ...]
    peer: Work
    rounds: int = ROUNDS
    close: Work = lambda: None
    """Ends what was started for it."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The names of the rows that `make`, once it is called, prepares and measures, one for each variant in turn."""

    names: tuple[str, ...]
    make: Callable[[], Group]


@dataclass(frozen=True, slots=True)
class Result:
    """`ratio` is the median of the ratios of the rounds, `spread` its extremes; what it is of what, the goal says.

    `unit` is "s", but for memory, where `ours_seconds` and `peer_seconds` are bytes. `note` is for who reads the table.
    """

    name: str
    goal: Goal | None
    ratio: float
    ours_seconds: float
    peer_seconds: float
    spread: tuple[float, float]
    runs: int
    unit: str = "s"
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return "met" if self.goal.is_met(self.ratio) else "not met"

    def document(self) -> dict[str, Any]:
        goal = None if self.goal is None else str(self.goal)
        return {**asdict(self), "goal": goal, "verdict": self.verdict}


def measure(planned: Planned, only: str = "", rounds: int | None = None) -> list[Result]:
    """Measures those rows whose name holds `only`; prepares nothing when there are none.

    All of it, the peer included, in the thread with the deep stack, as in processes that evaluate for a session.
    """
    if not any(only in name for name in planned.names):
        return []
    return in_deep_thread(lambda: _measure(planned, only, rounds))


def _measure(planned: Planned, only: str, rounds: int | None) -> list[Result]:
    group = planned.make()
    chosen = [pair for pair in zip(planned.names, group.variants, strict=True) if only in pair[0]]
    try:
        pairs = _measured(group, [each for _, each in chosen], min(group.rounds, rounds or group.rounds))
    finally:
        group.close()
    return [
        result(name, each.goal, found, [_ratio(each.goal, *pair) for pair in found])
        for (name, each), found in zip(chosen, pairs, strict=True)
    ]


def _measured(group: Group, chosen: Sequence[Variant], rounds: int) -> list[list[tuple[float, float]]]:
    """Returns what ours and the peer's took in each round, by variant."""
    for each in chosen:
        each.ours()  # what is only done once is not what is measured
    group.peer()
    pairs: list[list[tuple[float, float]]] = [[] for _ in chosen]
    order = deque(range(len(chosen)))
    for _ in range(rounds):
        mine = {number: seconds(chosen[number].ours) for number in order}
        theirs = seconds(group.peer)
        for number, one in mine.items():
            pairs[number].append((one, theirs))
        order.rotate(-1)  # who comes after the peer finds caches of the processor that are the peer's
    return pairs


def _ratio(goal: Goal | None, mine: float, theirs: float) -> float:
    return mine / theirs if isinstance(goal, AtMost) else theirs / mine


def result(
    name: str,
    goal: Goal | None,
    pairs: Sequence[tuple[float, float]],
    ratios: Sequence[float],
    unit: str = "s",
    note: str = "",
) -> Result:
    """Of what the rounds gave: `pairs` of ours and the peer's, and what became of each pair."""
    ours = statistics.median(mine for mine, _ in pairs)
    theirs = statistics.median(other for _, other in pairs)
    return Result(
        name, goal, statistics.median(ratios), ours, theirs, (min(ratios), max(ratios)), len(pairs), unit, note
    )


def seconds(work: Work) -> float:
    gc.collect()  # nobody pays for what another left behind
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
