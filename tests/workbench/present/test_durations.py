"""Ages as people read them, also where two clocks differ."""

from __future__ import annotations

import pytest

from workbench.present import durations


@pytest.mark.parametrize(
    ("seconds", "short", "coarse"),
    [(0, "0s", "0s"), (192, "3m12s", "3m"), (-59, "0s", "0s"), (-61, "?", "?"), (-7200, "?", "?")],
)
def test_what_lies_ahead_is_not_from_just_now(seconds: float, short: str, coarse: str) -> None:
    assert (durations.short(seconds), durations.coarse(seconds)) == (short, coarse)
