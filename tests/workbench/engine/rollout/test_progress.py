"""Where a rollout stands by its records, whoever wrote them; and records as text and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.engine.rollout.progress import Phase, Progress, progress
from workbench.engine.rollout.records import decode, encode
from workbench.engine.rollout.values import (
    Applied,
    Ask,
    Asked,
    BatchBegan,
    BatchReady,
    Began,
    Finished,
    Halted,
    Interrupted,
    Part,
    Record,
    RolledBack,
    Stage,
    Target,
    Waits,
)

NOW = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
WEB, API, DB = (Target("shop/prod", "east", each) for each in ("web", "api", "db"))
STAGES = (
    Stage("gray", ((WEB,), (API,)), 2, 0.0, False, 60.0),
    Stage("none", (), 1, 0.0, False, 60.0),
    Stage("rest", ((DB,),), 1, 30.0, True, 60.0),
)
BEGAN = Began(
    NOW,
    "r-0123abcd",
    "ops",
    "box",
    "a reason",
    STAGES,
    (),
    {each: Part(3, "d") for each in ("shop/prod", "a/prod", "b/prod")},
    b"salt",
)


def asked(what: Ask, stage: str = "") -> Asked:
    return Asked(NOW, what, "ops", "box", "", stage)


def at(*records: Record) -> Progress:
    return progress([BEGAN, *records])


def test_batches_come_in_their_order_and_empty_stages_are_passed_over() -> None:
    following = at().next()
    assert following is not None
    assert (following.stage.name, following.number, following.opens, following.former) == ("gray", 0, True, None)
    following = at(BatchReady(NOW, "gray", 0)).next()
    assert following is not None
    assert (following.number, following.opens) == (1, False)
    following = at(BatchReady(NOW, "gray", 0), BatchReady(NOW, "gray", 1)).next()
    assert following is not None and following.former is not None
    assert (following.stage.name, following.former.name) == ("rest", "gray")
    done = at(*(BatchReady(NOW, *each) for each in (("gray", 0), ("gray", 1), ("rest", 0))))
    assert done.next() is None
    assert done.done == (WEB, API, DB)
    assert done.phase is Phase.OPEN, "nobody looked yet whether all is as configured"


def test_a_pause_asked_for_while_a_batch_begins_holds() -> None:
    assert at(asked(Ask.PAUSE), BatchBegan(NOW, "gray", 0, "ops", "box")).phase is Phase.PAUSED
    assert at(asked(Ask.PAUSE), BatchReady(NOW, "gray", 0)).phase is Phase.PAUSED
    assert at(asked(Ask.PAUSE), asked(Ask.RESUME)).phase is Phase.OPEN


@pytest.mark.parametrize(
    "later", [asked(Ask.RESUME), asked(Ask.PAUSE), Finished(NOW), BatchReady(NOW, "gray", 0), Waits(NOW, "rest")]
)
def test_what_was_aborted_stays_so(later: Record) -> None:
    found = at(asked(Ask.ABORT), later)
    assert found.phase is Phase.ABORTED
    assert not found.ready


def test_what_halted_goes_on_only_when_somebody_says_so() -> None:
    halt = Halted(NOW, "gray", 0, WEB, "WHY")
    assert at(halt).phase is Phase.HALTED
    assert at(halt, BatchBegan(NOW, "gray", 0, "ops", "box")).phase is Phase.HALTED
    assert at(halt, asked(Ask.RESUME)).phase is Phase.OPEN


def test_an_approval_is_of_one_stage_and_lifts_no_pause() -> None:
    assert at(Waits(NOW, "rest"), asked(Ask.APPROVE, "rest")).phase is Phase.OPEN
    assert at(Waits(NOW, "rest"), asked(Ask.PAUSE), asked(Ask.APPROVE, "rest")).phase is Phase.PAUSED
    assert set(at(asked(Ask.APPROVE, "rest")).approved) == {"rest"}


def test_all_that_it_touched_has_to_be_back() -> None:
    made = (Applied(NOW, "gray", 0, "a/prod", 4, "succeeded"), Applied(NOW, "gray", 0, "b/prod", 2, "succeeded"))
    found = at(*made, Applied(NOW, "gray", 1, "a/prod", 5, "succeeded"), asked(Ask.ABORT))
    assert found.revisions == {"a/prod": (4, 5), "b/prod": (2,)}
    assert found.touched == ("a/prod", "b/prod"), "the last one first"
    half = at(*made, asked(Ask.ABORT), RolledBack(NOW, "a/prod", 6))
    assert (half.phase, half.touched) == (Phase.ABORTED, ("b/prod",))
    assert at(*made, asked(Ask.ABORT), RolledBack(NOW, "a/prod", 6), RolledBack(NOW, "b/prod", 3)).phase is (
        Phase.ROLLED_BACK
    )


@pytest.mark.parametrize(
    "record",
    [
        BatchBegan(NOW, "other", 0, "ops", "box"),
        BatchReady(NOW, "gray", 2),
        Applied(NOW, "none", 0, "shop/prod", 4, "succeeded"),
        Applied(NOW, "gray", 0, "c/prod", 4, "succeeded"),
        RolledBack(NOW, "c/prod", 4),
    ],
    ids=str,
)
def test_what_it_did_not_begin_with_is_not_its_record(record: Record) -> None:
    with pytest.raises(ValueError, match=r"there is no batch|did not begin"):
        at(record)


def test_a_rollout_has_one_begin() -> None:
    with pytest.raises(ValueError, match="not the begin"):
        progress([Finished(NOW)])
    with pytest.raises(ValueError, match="once"):
        at(BEGAN)


RECORDS: tuple[Record, ...] = (
    BEGAN,
    BatchBegan(NOW, "gray", 1, "ops", "box"),
    Applied(NOW, "gray", 1, "shop/prod", 7, "partial"),
    BatchReady(NOW, "gray", 1),
    BatchReady(NOW, "gray", 0, ("shop/prod: Set shop/web in hz: 0 of 2 with the present template",)),
    Halted(NOW, "gray", 1, None, "why", "hint"),
    Halted(NOW, "gray", 1, WEB, "why"),
    Interrupted(NOW, "gray", 0),
    Waits(NOW, "rest"),
    *(asked(each, "rest") for each in Ask),
    Finished(NOW),
    RolledBack(NOW, "shop/prod", 8),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda each: type(each).__name__)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    assert decode(json.loads(json.dumps(encode(record)))) == record


@given(st.sampled_from(RECORDS), st.data())
def test_a_damaged_record_is_no_record(record: Record, data: Any) -> None:
    content = json.loads(json.dumps(encode(record)))
    name = data.draw(st.sampled_from(sorted(content)))
    content[name] = data.draw(st.sampled_from([None, -1, [], {}, [[]], {"x": 1}, "\0", True, 1e400]))
    try:
        found = decode(content)
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    assert decode(json.loads(json.dumps(encode(found)))) == found
