"""Taking turns: ours, then the peer's, round after round, so that a machine whose speed drifts is unfair to neither."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Case:
    """`goal` is how many times faster than the peer we want to be."""

    name: str
    goal: float
    ours: Work
    peer: Work
    rounds: int = 7


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    goal: float
    ours: Work


@dataclass(frozen=True, slots=True)
class Group:
    """Several ways of ours to do what the peer does one way: it is run once a round for all of them."""

    variants: tuple[Variant, ...]
    peer: Work
    rounds: int = 7


@dataclass(frozen=True, slots=True)
class Result:
    """`ratio` is the median of the ratios of the rounds, above 1 where we are faster; `spread` its extremes.

    `unit` is seconds, but for memory, where both sides are bytes and the ratio is ours by the peer's.
    """

    name: str
    goal: str
    ratio: float
    ours_seconds: float
    peer_seconds: float
    spread: tuple[float, float]
    runs: int
    unit: str = "s"

    def document(self) -> dict[str, Any]:
        return asdict(self)


def measure(case: Case, rounds: int | None = None) -> Result:
    case.ours(), case.peer()  # what is only done once is not what is measured
    count = min(case.rounds, rounds or case.rounds)
    return compared(case.name, case.goal, [(seconds(case.ours), seconds(case.peer)) for _ in range(count)])


def measure_group(group: Group, rounds: int | None = None) -> list[Result]:
    for each in group.variants:
        each.ours()
    group.peer()
    pairs: list[list[tuple[float, float]]] = [[] for _ in group.variants]
    for _ in range(min(group.rounds, rounds or group.rounds)):
        mine = [seconds(each.ours) for each in group.variants]
        theirs = seconds(group.peer)
        for kept, one in zip(pairs, mine, strict=True):
            kept.append((one, theirs))
    return [compared(each.name, each.goal, found) for each, found in zip(group.variants, pairs, strict=True)]


def compared(name: str, goal: float, pairs: list[tuple[float, float]]) -> Result:
    ratios = [theirs / mine for mine, theirs in pairs]
    return Result(
        name,
        "not slower" if goal == 1 else f"{goal:g}x",
        statistics.median(ratios),
        statistics.median(mine for mine, _ in pairs),
        statistics.median(theirs for _, theirs in pairs),
        (min(ratios), max(ratios)),
        len(pairs),
    )


def seconds(work: Work) -> float:
    gc.collect()  # nobody pays for what another left behind
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
