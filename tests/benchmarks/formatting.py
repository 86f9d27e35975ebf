"""`python -m tests.benchmarks.formatting`: lines a second of `kcl fmt` and of the official formatter, in one process.

Over every file of the corpora that has no errors: as it is, where most files change, and laid out already. Rounds of
both alternate; figures are of the median round, by the time that the processor took. `--alone` leaves the official one
out.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from kcl.tools.fmt import Malformed, formatted
from tests.properties.readings import CORPORA, programs, sample, text_of

_ROUNDS = 5
_GOAL = 100_000
"""Lines a second."""


def main() -> None:
    pairs = list(_pairs())
    for name, texts in (
        ("as they are", [text for text, _ in pairs]),
        ("of these, what changes", [text for text, made in pairs if text != made]),
        ("laid out already", [made for _, made in pairs]),
    ):
        _compare(name, texts)


def _pairs() -> list[tuple[str, str]]:
    """Texts, and what they are laid out."""
    found = []
    for path in [*(path for name in CORPORA for path in programs(name)), *sample()]:
        text = text_of(path)
        try:
            found.append((text, formatted(text)))
        except Malformed:
            continue
    return found


def _compare(name: str, texts: Sequence[str]) -> None:
    lines = sum(text.count("\n") for text in texts)
    ways = [formatted, *_official()]
    rounds = [[lines / _seconds(way, texts) for way in ways] for _ in range(_ROUNDS)]
    ours, *theirs = (statistics.median(figures) for figures in zip(*rounds, strict=True))
    goal = "met" if ours >= _GOAL else "not met"
    said = f"{name}: {len(texts)} files, {lines:,} lines: {ours:,.0f} lines/s (goal {_GOAL:,}: {goal})"
    for figure in theirs:
        said += f"; official {figure:,.0f} lines/s, ratio {statistics.median(a / b for a, b in rounds):.1f}"
    sys.stdout.write(f"{said}\n")


def _official() -> list[Callable[[str], object]]:
    if "--alone" in sys.argv or importlib.util.find_spec("kcl_lib") is None:
        return []
    import kcl_lib.api as peer

    service = peer.API()
    return [lambda text: service.format_code(peer.FormatCodeArgs(source=text))]


def _seconds(way: Callable[[str], object], texts: Sequence[str]) -> float:
    began = time.process_time()
    for text in texts:
        try:
            way(text)
        except Exception:  # the official one aborts on relative imports; what that takes counts all the same
            continue
    return time.process_time() - began


if __name__ == "__main__":
    main()
