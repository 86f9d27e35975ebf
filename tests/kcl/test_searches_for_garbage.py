"""Runs are not interrupted by searches for garbage in cycles, and what they leave of it does not pile up."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from kcl import collection
from kcl.collection import paused_for_run


class Circle:
    def __init__(self) -> None:
        self.itself = self
        self.weight = [[] for _ in range(100)]  # type: ignore[var-annotated]


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All is searched once a few thousand blocks have come to be in use, and by nobody else."""
    gc.collect()
    monkeypatch.setattr(collection, "_ROOM", 20_000)
    monkeypatch.setattr(collection, "_most_blocks", 0)
    monkeypatch.setattr(collection, "_runs", 0)
    before = gc.get_threshold()
    gc.set_threshold(1_000_000, 1_000, 1_000)
    yield
    gc.set_threshold(*before)


def test_nothing_is_searched_meanwhile() -> None:
    assert gc.isenabled()
    with paused_for_run(lambda: 0):
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("files", [0, 100])
def test_what_runs_leave_in_circles_goes_once_it_is_much(files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "max", lambda *numbers: numbers[-1], raising=False)  # however much there was before
    seen: list[weakref.ref[Circle]] = []
    kept = 0

    def count() -> int:
        return kept

    for _ in range(120):
        with paused_for_run(count):
            seen += [weakref.ref(Circle()) for _ in range(20)]
            kept += files
    assert sum(each() is not None for each in seen) < len(seen) / 2
