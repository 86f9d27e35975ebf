"""What a recorded apply looks like at a moment of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runtimes.base import Address, KubernetesId
from workbench.engine.events import (
    Action,
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    StepFailed,
    StepFinished,
    StepSkipped,
    StepStarted,
)
from workbench.present.glyphs import ASCII, UNICODE
from workbench.present.replay import rows, strip, summary

BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
A, B, C = (Address("hz", KubernetesId("v1", "ConfigMap", "web", name)) for name in "abc")


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


APPLY: tuple[Event, ...] = (
    ApplyStarted(BEGIN, "p-1", "web/prod", 2, (A, B, C)),
    StepStarted(at(0), A, Action.CREATE),
    StepFinished(at(2), A, Action.CREATE, 2.0),
    StepStarted(at(2), B, Action.UPDATE),
    StepFailed(at(8), B, Action.UPDATE, 6.0, "Rejected", "denied"),
    StepSkipped(at(8), C, Action.UPDATE, B),
)
END = ApplyFinished(at(10), Outcome.PARTIAL, 2, 10.0, 1, 1, 1)


def states(seconds: float) -> list[str]:
    return ["  ".join(str(cell) for cell in each.cells) for each in rows(APPLY, at(seconds), ASCII)]


def test_each_step_is_as_it_was_then() -> None:
    assert states(0) == [
        "+ ConfigMap web/a @hz  running  0.0s  0.0s",
        "~ ConfigMap web/b @hz  waiting    ",
        "~ ConfigMap web/c @hz  waiting    ",
    ]
    assert states(3)[:2] == ["+ ConfigMap web/a @hz  done  0.0s  2.0s", "~ ConfigMap web/b @hz  running  2.0s  1.0s"]
    assert states(9) == [
        "+ ConfigMap web/a @hz  done  0.0s  2.0s",
        "~ ConfigMap web/b @hz  failed  2.0s  6.0s",
        "x denied",
        "~ ConfigMap web/c @hz  skipped    ",
    ]


@pytest.mark.parametrize(
    ("seconds", "axis"),
    [(0, "|-#-----x-"), (5, "==#==|--x-"), (9, "==#=====x|"), (10, "==#=====x|")],
)
def test_the_axis_says_where_one_is_and_where_steps_ended(seconds: float, axis: str) -> None:
    assert str(strip((*APPLY, END), at(seconds), 10, ASCII)) == axis


def test_an_axis_is_there_however_short_the_apply_was() -> None:
    assert str(strip(APPLY[:1], BEGIN, 3, UNICODE)) == "━━┃"
    assert str(strip((), BEGIN, 3, UNICODE)) == "" == str(strip(APPLY, BEGIN, 0, UNICODE))


def test_an_end_is_claimed_only_where_one_is_recorded() -> None:
    assert str(summary((*APPLY, END), at(2))) == "after 2.0s of 10.0s: 1 of 3 steps done"
    assert str(summary((*APPLY, END), at(10))).endswith("1 of 3 steps done, 1 failed, 1 skipped  partial")
    assert "did not come to its end" in str(summary(APPLY, at(8)))
    assert "did not come" not in str(summary(APPLY, at(7)))
