"""What a picture may claim: nothing that no source vouches for, at the moment it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runtimes.base import (
    Address,
    Contact,
    Health,
    KubernetesId,
    Lost,
    ObjectRef,
    Observation,
    Status,
    StatusNode,
    Unreachable,
)
from workbench.engine.drift import StackDrift
from workbench.engine.fleet import StackLook, Standing
from workbench.engine.status import ResourceStatus, Source, Statuses, StatusTree, Verdict, Watched
from workbench.present import documents, fleet, reconcile
from workbench.present.fleet import Entry
from workbench.present.glyphs import UNICODE
from workbench.project import ProjectName, Stack, StackName, StackPath

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
VALID_SECONDS = 10.0
PLACES = ("hz", "sh")
IDS = tuple(KubernetesId("v1", "Service", "shop", name) for name in ("web", "api"))
ADDRESSES = tuple(Address(place, id_) for place in PLACES for id_ in IDS)


@dataclass(frozen=True)
class Said:
    """`what` is a status an id is seen in, or `answers`, `silent` or `gone` (the watch itself broke) of the place."""

    place: str
    what: str
    id_: KubernetesId | None
    is_lost: bool
    seconds: float


SAID = st.lists(
    st.one_of(
        st.builds(
            Said,
            st.sampled_from(PLACES),
            st.sampled_from([Status.CURRENT.value] * 4 + [Status.IN_PROGRESS.value, Status.FAILED.value]),
            st.sampled_from(IDS),
            st.sampled_from([False] * 5 + [True]),
            st.floats(0, 4),
        ),
        st.builds(
            Said,
            st.sampled_from(PLACES),
            st.sampled_from(["answers"] * 4 + ["silent", "gone"]),
            st.none(),
            st.just(False),
            st.floats(0, 4),
        ),
    ),
    max_size=40,
)


def played(said: Sequence[Said]) -> tuple[Watched, datetime]:
    watched, now = Watched.of(ADDRESSES), BEGIN
    for each in said:
        now += timedelta(seconds=each.seconds)
        lost = Lost(now, "Unreachable", "no answer")
        if each.what == "gone":
            watched = watched.lose(each.place, lost)
        elif each.what in ("answers", "silent"):
            is_silent = each.what == "silent"
            watched = watched.fold(each.place, Contact(now, lost if is_silent else None, VALID_SECONDS))
        else:
            assert each.id_ is not None
            ref = ObjectRef("Service", "shop", each.id_.name)
            health = Health(Status(each.what))
            seen = Observation(each.id_, health, StatusNode(ref, health), None, lost if each.is_lost else None)
            watched = watched.fold(each.place, seen)
    return watched, now


def vouched_for(said: Sequence[Said], now: datetime) -> set[Address]:
    """What is present and current, worked out the slow way from all that was said."""
    found = set()
    for address in ADDRESSES:
        at, answered, state = BEGIN, None, None
        for each in said:
            at += timedelta(seconds=each.seconds)
            if each.place != address.cluster:
                continue
            if each.what == "gone":
                answered = state = None
            elif each.what in ("answers", "silent"):
                answered = at if each.what == "answers" else None
            elif each.id_ == address.id:
                state = None if each.is_lost else each.what
        is_answering = answered is not None and abs((now - answered).total_seconds()) <= VALID_SECONDS
        if is_answering and state == Status.CURRENT:
            found.add(address)
    return found


def shown(tree: StatusTree, now: datetime) -> str:
    lines = [reconcile.summary(tree, UNICODE, now), reconcile.why_line(tree, UNICODE, now)]
    lines += [cell for row in reconcile.rows(tree, UNICODE, now) for cell in row.cells]
    return "\n".join(map(str, lines))


LATER = st.sampled_from([-3600.0, 0.0, 1.0, 9.0, 11.0, 3600.0])


@given(SAID, LATER)
def test_ready_is_claimed_of_what_a_source_vouches_for_now_and_of_nothing_else(said: list[Said], later: float) -> None:
    watched, at = played(said)
    now = at + timedelta(seconds=later)
    tree = watched.tree(at, 12.0)
    expected = vouched_for(said, now)
    present = tree.as_of(now)
    assert {each.address for each in present.resources if each.health.status is Status.CURRENT} == expected
    assert (present.verdict is Verdict.READY) == (expected == set(ADDRESSES))
    assert present.ready == len(expected)
    text = shown(tree, now)
    assert ("everything is ready" in text) == (expected == set(ADDRESSES))
    assert text.count("✓ Ready") == len(expected)
    assert "nothing to wait for" not in text


@given(SAID, LATER)
def test_a_picture_says_of_each_source_when_it_answered_or_since_when_it_does_not(
    said: list[Said], later: float
) -> None:
    watched, at = played(said)
    present = watched.tree(at, 12.0).as_of(at + timedelta(seconds=later))
    assert {each.place for each in present.sources} == set(PLACES)
    for each in present.sources:
        assert each.is_alive == (each.answered_at is not None and each.lost is None)
        assert each.is_alive or each.lost is not None or each.answered_at is None
        if not each.is_alive:
            assert each.place in shown(present, present.at)
    document = documents.status(present)
    assert document["observedAt"] and len(document["sources"]) == len(PLACES)
    alive = {each["place"] for each in document["sources"] if each["alive"]}
    assert alive | {each["cluster"] for each in document["problems"]} == set(PLACES)
    assert document["status"] != "ready" or alive == set(PLACES)


@given(SAID, LATER, LATER)
def test_growing_older_never_makes_anything_better(said: list[Said], first: float, second: float) -> None:
    watched, at = played(said)
    once = watched.tree(at, 12.0).as_of(at + timedelta(seconds=first))
    twice = once.as_of(once.at + timedelta(seconds=second))
    assert twice.ready <= once.ready
    assert len(twice.silent) >= len(once.silent)


def test_a_place_that_nobody_speaks_for_is_silent() -> None:
    resources = Watched.of(ADDRESSES).tree(BEGIN, 0.0).resources
    tree = StatusTree(resources, (), BEGIN)
    assert [each.place for each in tree.silent] == list(PLACES)
    assert tree.verdict is Verdict.PROGRESSING
    assert "has not answered yet" in str(reconcile.why_line(tree, UNICODE, BEGIN))


def seen(*healths: Health) -> StatusTree:
    statuses = Statuses(ResourceStatus(at, each) for at, each in zip(ADDRESSES, healths, strict=False))
    return StatusTree(statuses, tuple(Source(place, BEGIN, None, VALID_SECONDS) for place in PLACES), BEGIN)


def test_what_may_not_be_seen_is_not_known_and_not_unready() -> None:
    """A cluster that answers and refuses: nobody knows how its resources are."""
    ready, waits = Health(Status.CURRENT), Health(Status.IN_PROGRESS)
    hidden = Health(Status.UNKNOWN, "Forbidden", "may not be listed")
    stack = StackPath(ProjectName("shop"), StackName("prod"))

    def standing(*healths: Health) -> Standing:
        return StackLook(stack, BEGIN, StackDrift(stack, BEGIN), seen(*healths)).standing

    assert standing(ready, ready) is Standing.READY
    assert standing(ready, waits) is Standing.WAITING
    assert standing(hidden, hidden) is Standing.UNKNOWN
    assert standing(ready, hidden) is Standing.UNKNOWN
    assert standing(hidden, Health(Status.FAILED)) is Standing.FAILED


def test_of_many_silent_places_a_screen_names_all_in_as_many_lines_as_it_has() -> None:
    stack = StackPath(ProjectName("shop"), StackName("prod"))
    names = [f"c{number}" for number in range(9)]
    sources = tuple(Source(each, None, Lost(BEGIN, Unreachable.__name__, f"no route to {each}"), 0.0) for each in names)
    look = StackLook(stack, BEGIN, StackDrift(stack, BEGIN), StatusTree(Statuses(()), sources, BEGIN))
    entries = [Entry(Stack(stack, Path("prod"), Path(), None), "", look, False)]
    every = [str(each) for each in fleet.silence_lines(entries, UNICODE, BEGIN)]
    assert len(every) == len(names) and all(
        f"no route to {name}" in said for name, said in zip(names, every, strict=True)
    )
    shown = [str(each) for each in fleet.silence_lines(entries, UNICODE, BEGIN, most=3)]
    assert shown == [*every[:2], "? 7 more are silent: c2, c3, c4, c5 and 3 more"]
    few = [str(each) for each in fleet.silence_lines(entries, UNICODE, BEGIN, most=9)]
    assert few == every


def test_what_is_to_be_known_beside_ready_is_said() -> None:
    old = Health(Status.CURRENT, "OnDelete", "0 with the present template", is_qualified=True)
    assert str(reconcile.why_line(seen(Health(Status.CURRENT)), UNICODE, BEGIN)) == "✓ everything is ready"
    said = "✓ everything is ready  ! Service shop/api @hz: 0 with the present template"
    assert str(reconcile.why_line(seen(Health(Status.CURRENT), old), UNICODE, BEGIN)) == said
    assert str(reconcile.why_line(seen(old, old), UNICODE, BEGIN)).endswith("template (and 1 more)")
    listed = documents.status(seen(Health(Status.CURRENT), old))["resources"]
    assert [each["qualified"] for each in listed] == [False, True]


def test_before_the_first_picture_nothing_is_claimed() -> None:
    document = documents.status(None)
    assert (document["status"], document["observedAt"]) == ("unknown", None)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(list(Status)), st.booleans()), max_size=30))
def test_counts_of_statuses_are_those_of_all_of_them(changes: list[tuple[int, Status, bool]]) -> None:
    def status(index: int, found: Status, is_lost: bool) -> ResourceStatus:
        address = Address(f"c{index % 2}", KubernetesId("v1", "ConfigMap", "a", f"n{index}"))
        lost = Lost(datetime(2026, 1, 1, tzinfo=UTC), "Silent", "gone") if is_lost else None
        return ResourceStatus(address, Health(found, "", ""), lost=lost)

    statuses = Statuses(status(index, Status.UNKNOWN, False) for index in range(4))
    for index, found, is_lost in changes:
        statuses = statuses.replaced(index, status(index, found, is_lost))
        again = Statuses(statuses)
        for name in ("ready", "failed", "lost", "places", "waiting"):
            assert getattr(statuses, name) == getattr(again, name)
