"""How long a saved plan is good, by its file and by the machine that applies it, and what other clocks do to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from workbench.engine import plan_age
from workbench.engine.errors import StalePlan
from workbench.exit_codes import ExitCode, exit_code
from workbench.settings import BadSetting, Settings

MADE = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("expires", "limit", "age", "until"),
    [
        (24, 24, 23.99, None),
        (24, 24, 24, "2026-03-02 12:00"),
        (1, 24, 2, "2026-03-01 13:00"),  # who made it said so
        (24, 1, 2, "2026-03-01 13:00"),  # who applies it says so
        (None, 24, 25, "2026-03-02 12:00"),  # saved before files said it
        (24, None, 25, "2026-03-02 12:00"),
        (None, None, 9999, None),
        (24, 24, -0.05, None),  # clocks differ by minutes
    ],
)
def test_the_earlier_of_two_limits_holds(
    expires: float | None, limit: float | None, age: float, until: str | None
) -> None:
    ends = None if expires is None else MADE + expires * HOUR
    own = None if limit is None else limit * HOUR

    def look() -> None:
        plan_age.refuse_old(MADE, ends, now=MADE + age * HOUR, limit=own, where="release.plan")

    if until is None:
        look()
        return
    with pytest.raises(StalePlan) as old:
        look()
    assert old.value.message.startswith(f"the plan was good until {until}")
    assert "it was made at 2026-03-01 12:00" in old.value.message
    assert exit_code(old.value) is ExitCode.STALE


def test_a_plan_of_the_future_has_no_age_that_could_be_known() -> None:
    for limit in (24 * HOUR, None):
        with pytest.raises(plan_age.ExpiredPlan, match="how old the plan is can't be known") as refused:
            plan_age.refuse_old(MADE, MADE + 24 * HOUR, now=MADE - HOUR, limit=limit, where="release.plan")
        assert "one of two clocks is wrong" in refused.value.hint


def test_moments_of_other_time_zones_are_the_same_moments() -> None:
    made = plan_age.moment("2026-03-01T13:00:00+01:00")
    plan_age.refuse_old(made, None, now=MADE + 23 * HOUR, limit=24 * HOUR, where="f")
    with pytest.raises(ValueError, match="time zone"):
        plan_age.moment("2026-03-01T13:00:00")


@pytest.mark.parametrize(
    ("text", "limit"),
    [("", 24 * HOUR), ("0", None), ("30m", HOUR / 2), ("7d", 168 * HOUR), ("24h", 24 * HOUR)],
)
def test_the_limit_is_a_setting(text: str, limit: timedelta | None) -> None:
    assert Settings.load({"WB_PLAN_AGE": text}).plan_age == limit


@pytest.mark.parametrize("text", ["soon", "-1h", "1.5h", "0h", "9999999d", "1 h"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="WB_PLAN_AGE needs to be like 30m, 24h, 7d or 0"):
        Settings.load({"WB_PLAN_AGE": text})
