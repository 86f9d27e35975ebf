"""The axis of time of a stack: what every object was from when on, what nobody heard, and what was not held."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runtimes.base import Address, Health, KubernetesId, Lost, ObjectRef, Status, StatusNode
from workbench.engine import timeline
from workbench.engine.status import ResourceStatus, Source, StatusTree
from workbench.engine.timeline import NOT_WATCHED, Timeline
from workbench.present import timeline as shown
from workbench.present.axis import Axis
from workbench.present.glyphs import ASCII

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEB = Address("hz", KubernetesId("apps/v1", "Deployment", "shop", "web"))
BUSY, GOOD = Health(Status.IN_PROGRESS, "", "0 of 1"), Health(Status.CURRENT)
BAD = Health(Status.FAILED, "ImagePullBackOff", "no image")


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def picture(seconds: float, health: Health, *pods: tuple[str, Health], lost: Lost | None = None) -> StatusTree:
    children = tuple(StatusNode(ObjectRef("Pod", "shop", name, name), each) for name, each in pods)
    tree = StatusNode(ObjectRef("Deployment", "shop", "web", "w"), health, children=children)
    of = ResourceStatus(WEB, health, tree)
    source = Source("hz", at(seconds), valid_seconds=60, lost=lost)
    return StatusTree((of.losing(lost) if lost is not None else of,), (source,), at(seconds))


def changes(found: Timeline) -> dict[str, list[tuple[float, str]]]:
    return {
        track.name: [
            ((each.at - T0).total_seconds(), each.health.reason or each.health.status.value if each.health else "gone")
            for each in track.moments
        ]
        for track in found.tracks()
    }


def test_only_changes_are_noted_and_what_is_replaced_is_gone() -> None:
    found = Timeline()
    for each in (
        picture(0, BUSY, ("a", BUSY)),
        picture(1, BUSY, ("a", BUSY)),
        picture(2, BAD, ("a", BAD)),
        picture(5, BUSY, ("b", BUSY)),
        picture(8, GOOD, ("b", GOOD)),
    ):
        found.add(each)
    assert changes(found) == {
        "": [(0, "InProgress"), (2, "ImagePullBackOff"), (5, "InProgress"), (8, "Current")],
        "a": [(0, "InProgress"), (2, "ImagePullBackOff"), (5, "gone")],
        "b": [(5, "InProgress"), (8, "Current")],
    }
    assert [track.depth for track in found.tracks()] == [0, 1, 1]


def test_what_is_not_heard_of_or_not_watched_is_not_what_it_was() -> None:
    found = Timeline()
    found.add(picture(0, GOOD, ("a", GOOD)))
    found.add(picture(3, GOOD, ("a", GOOD), lost=Lost(at(1), "Silent", "no answer")))
    found.add(picture(6, GOOD, ("a", GOOD)))
    found.lose(at(9))
    for moments in changes(found).values():
        assert moments == [(0, "Current"), (3, "Silent"), (6, "Current"), (9, NOT_WATCHED.reason)]
    found.add(picture(20, GOOD, ("a", GOOD)))
    assert changes(found)["a"][-1] == (20, "Current")
    found.add(StatusTree((), (), at(30)))
    assert changes(found)["a"][-1] == (30, "gone"), "the stack has it no more"


def test_what_is_held_is_bounded_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_CHANGES", 3)
    monkeypatch.setattr(timeline, "MOST_OBJECTS", 2)
    found = Timeline()
    for second in range(6):
        found.add(picture(second, BUSY if second % 2 else GOOD, *((name, GOOD) for name in "abc")))
    (web, *pods) = found.tracks()
    assert (len(web.moments), web.left_out) == (3, 3) and [each.name for each in pods] == ["a", "b"]
    assert found.left_out == 6
    assert "3 changes before are not held" in str(shown.change_rows(web, at(9), ASCII)[-1].cells[1])


def test_a_strip_shows_the_worst_of_each_cell_and_nothing_that_nobody_knows() -> None:
    found = Timeline()
    found.add(picture(0, BUSY, ("a", BUSY)))
    found.add(picture(4, BAD, ("a", BAD)))
    found.add(picture(4.5, GOOD, ("a", GOOD)))
    found.add(picture(6, GOOD))
    web, pod = found.tracks()
    over = Axis.growing(T0, at(6), 20)
    assert over.cell_seconds == 1
    assert str(shown.strip(web, over, at(8), at(8), ASCII)) == "~~~~x===" + " " * 12
    assert str(shown.strip(pod, over, at(8), at(8), ASCII)) == "~~~~x=" + " " * 14
    later = str(shown.strip(web, over, at(8), at(12), ASCII))
    assert later == "~~~~x===?????" + " " * 7, "no picture came: it is not known"
    assert [row.key for row in shown.rows(found, over, at(8), ASCII, faults_only=True)] == [(WEB, ""), (WEB, "a")]


def test_an_axis_keeps_its_scale_while_there_is_room_and_never_runs_over() -> None:
    scales = [Axis.growing(T0, at(seconds), 60).cell_seconds for seconds in (0, 59, 60, 119, 120, 10_000, 1_000_000)]
    assert scales[:5] == [1, 1, 2, 2, 5] and scales == sorted(scales)
    for seconds in (0, 1, 59, 60, 7_777, 1_000_000):
        over = Axis.growing(T0, at(seconds), 60)
        assert 0 <= over.cell(at(seconds)) < 60 and over.cell(at(-5)) == 0
    assert Axis.of(T0, T0, 10).cell(T0) == 9


def test_the_lines_of_a_file_are_in_the_order_of_time() -> None:
    found = Timeline()
    found.add(picture(0, BUSY, ("a", BUSY)))
    found.add(picture(2, BAD, ("a", BAD)))
    said = list(shown.lines(found))
    assert said == sorted(said) and said[-1].startswith(
        "2026-01-01T12:00:02Z  Pod a  Failed ImagePullBackOff: no image"
    )
