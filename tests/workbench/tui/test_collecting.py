"""Cycles are looked for while nobody types, and the collector is as it was afterwards."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from workbench.tui.collecting import FEW, MOST_YOUNG, collect_while_quiet, look


@contextmanager
def collected() -> Iterator[list[int]]:
    """The generations that are looked through."""
    found: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            found.append(info["generation"])

    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(MOST_YOUNG, *before[1:])
    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("new", "quiet", "is_due", "generations"),
    [
        (FEW * 2, 0.0, False, []),
        (FEW * 2, 0.4, True, []),
        (FEW * 2, 0.5, False, [1]),
        (0, 60.0, False, []),
        (0, 5.0, True, []),
        (0, 10.0, True, [2]),
    ],
)
def test_what_is_new_is_looked_through_while_nobody_types(
    new: int, quiet: float, is_due: bool, generations: list[int]
) -> None:
    with collected() as found:
        held: list[list[int]] = [[] for _ in range(new)]
        assert look(quiet, is_due=is_due) == (2 in generations)
    assert found == generations and len(held) == new


async def test_the_collector_is_as_it_was_afterwards() -> None:
    class Somebody:
        quiet_seconds = 0.0

    before = gc.get_threshold()
    task = asyncio.create_task(collect_while_quiet(Somebody()))
    await asyncio.sleep(0)
    assert gc.get_threshold() == (MOST_YOUNG, *before[1:])
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert gc.get_threshold() == before
