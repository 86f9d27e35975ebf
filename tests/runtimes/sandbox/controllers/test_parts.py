"""The pure parts below the controllers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from runtimes.sandbox import stages
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.controllers.cronjob import Schedule
from runtimes.sandbox.controllers.owners import selects
from runtimes.sandbox.controllers.quantities import quantity
from runtimes.sandbox.controllers.scheduling import Refusal, explained


def pod(**metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "spec": {"nodeName": "node-1"}}


BEGIN = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)  # a Thursday


def test_a_virtual_clock_runs_what_is_due_in_order_of_time() -> None:
    clock, said = VirtualClock(BEGIN), []
    clock.call_later(2, lambda: said.append("two"))

    def plan_another() -> None:
        clock.call_later(0.5, lambda: said.append("one and a half"))

    clock.call_later(1, plan_another)
    clock.call_later(1, lambda: said.append("one"))
    clock.call_later(3, lambda: said.append("three")).cancel()
    clock.advance(1.2)
    assert said == ["one"]
    clock.advance(10)
    assert said == ["one", "one and a half", "two"]
    assert clock.now() == BEGIN + timedelta(seconds=11.2)
    assert clock.next_at is None


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", "2026-01-01T00:01"),
        ("*/15 * * * *", "2026-01-01T00:15"),
        ("0 3 * * *", "2026-01-01T03:00"),
        ("@daily", "2026-01-02T00:00"),
        ("30 2 1 feb *", "2026-02-01T02:30"),
        ("0 0 * * mon", "2026-01-05T00:00"),
        ("0 0 * * 7", "2026-01-04T00:00"),
        ("0 0 13 * fri", "2026-01-02T00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
        ("10-20/5 5 * * *", "2026-01-01T05:10"),
    ],
)
def test_a_schedule_comes_due(schedule: str, expected: str) -> None:
    due = Schedule(schedule).after(BEGIN)
    assert due is not None
    assert due.strftime("%Y-%m-%dT%H:%M") == expected


@pytest.mark.parametrize("schedule", ["", "* * * *", "61 * * * *", "* * * * nonsense", "5-1 * * * *"])
def test_a_schedule_that_is_none_is_refused(schedule: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Schedule(schedule)


@pytest.mark.parametrize(
    ("image", "behaviour"),
    [
        ("web", "run"),
        ("web:1.4", "run"),
        ("registry.example.com:5000/shop/web:2.0-crash", "crash"),
        ("localhost:5000/web", "run"),
        ("web:missing", "missing"),
        ("web:1.0@sha256:" + "0" * 64, "run"),
        ("Web:1.0", "invalid"),
        ("web:", "invalid"),
        ("we b", "invalid"),
    ],
)
def test_an_image_has_a_behaviour(image: str, behaviour: str) -> None:
    assert stages.load().of(pod(), image).name == behaviour


def test_a_fault_comes_before_an_annotation_and_that_before_the_tag() -> None:
    annotated = pod(annotations={stages.ANNOTATION: "never"})
    assert stages.load().of(annotated, "web:1-crash", "oom").name == "oom"
    assert stages.load().of(annotated, "web:1-crash").name == "never"


def test_a_jobs_container_ends_unless_its_tag_says_otherwise() -> None:
    of_job = pod(ownerReferences=[{"kind": "Job", "name": "task", "controller": True}])
    assert stages.load().of(of_job, "shop/batch:1.0").exit == stages.Exit(1.0, 0, "Completed")
    assert stages.load().of(of_job, "shop/batch:1.0-long").exit is None


def test_a_selector_holds_all_its_parts() -> None:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["a", "b"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }
    assert selects(selector, {"app": "web", "tier": "b"})
    assert not selects(selector, {"app": "web", "tier": "c"})
    assert not selects(selector, {"app": "web", "tier": "a", "old": ""})
    assert selects({}, {}) and not selects(None, {})


@pytest.mark.parametrize(("text", "number"), [("250m", "0.25"), ("1Gi", "1073741824"), ("2", "2"), ("1e3", "1000")])
def test_a_quantity_is_exact(text: str, number: str) -> None:
    assert quantity(text) == Decimal(number)


def test_the_scheduler_counts_reasons_and_what_preemption_could_do() -> None:
    refused = {
        "a": Refusal(("Insufficient cpu", "Insufficient memory"), may_change=True),
        "b": Refusal(("Insufficient cpu",)),
    }
    assert explained(refused) == (
        "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for "
        "scheduling."
    )
