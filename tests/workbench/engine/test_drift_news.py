"""What another look at drift says that the ones before did not: what can't be told is neither gone nor new."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from runtimes.base import Address, KubernetesId
from workbench.engine.changes import Change, ChangeClass, FieldChange, Gap, Op, StackDiff
from workbench.engine.drift import Known, StackDrift, news, remembered
from workbench.engine.events import Action
from workbench.engine.spec import Spec
from workbench.project import StackPath

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_STACK = StackPath.parse("web/prod")
_FRONT = KubernetesId("apps/v1", "Deployment", "web", "front")


def look(*live: int, stack: StackPath = _STACK, unsure: bool = False) -> StackDrift:
    """A look that found the replicas of one resource so, in clusters 0, 1, ..."""
    changes = tuple(_change(f"c{index}", value) for index, value in enumerate(live) if value)
    gaps = (Gap("c9", "it does not answer"),) if unsure else ()
    return StackDrift(stack, _AT, StackDiff(Spec(str(stack), ()), (), changes, _AT, release=1, gaps=gaps))


def _change(cluster: str, value: int) -> Change:
    field = FieldChange(("spec", "replicas"), Op.CHANGE, ChangeClass.DRIFT, before=value, after=3)
    identity: Any = object()
    return Change(Address(cluster, _FRONT), Action.UPDATE, identity, fields=(field,))


def failed() -> StackDrift:
    return StackDrift(_STACK, _AT, failure=ValueError("no"))


def told(*looks: StackDrift) -> list[tuple[list[Any], ...]]:
    """What each look after the first one said: appeared, changed, gone, doubtful, certain."""
    known: Known = remembered((), looks[:1])
    said: list[tuple[list[Any], ...]] = []
    for before, after in pairwise(looks):
        found = news(known, [before], [after])
        assert bool(found) == any((found.appeared, found.changed, found.gone, found.doubtful, found.certain))
        said.append(
            (
                [each.field.before for each in found.appeared if each.field],
                [each.field.before for _, each in found.changed if each.field],
                [each.field.before for each in found.gone if each.field],
                [each.stack for each in found.doubtful],
                [each.stack for each in found.certain],
            )
        )
        known = remembered(known.values(), [after])
    return said


def test_what_appears_changes_and_goes_is_said_once() -> None:
    assert told(look(), look(9), look(9), look(7), look(7, 5), look(0, 5), look()) == [
        ([9], [], [], [], []),
        ([], [], [], [], []),
        ([], [7], [], [], []),
        ([5], [], [], [], []),
        ([], [], [7], [], []),
        ([], [], [5], [], []),
    ]


def test_what_an_unsure_look_does_not_show_is_neither_gone_nor_new_later() -> None:
    assert told(look(9), look(unsure=True), failed(), look(unsure=True), look(9)) == [
        ([], [], [], [_STACK], []),
        ([], [], [], [], []),
        ([], [], [], [], []),
        ([], [], [], [], [_STACK]),
    ]


def test_what_went_while_nobody_could_tell_is_gone_once_somebody_can() -> None:
    assert told(look(9), failed(), look()) == [([], [], [], [_STACK], []), ([], [], [9], [], [_STACK])]


def test_what_an_unsure_look_does_show_counts() -> None:
    assert told(look(9), look(7, unsure=True), look(7)) == [([], [7], [], [_STACK], []), ([], [], [], [], [_STACK])]


def test_a_look_without_a_release_or_a_comparison_is_no_certain_one() -> None:
    assert look().is_certain and not look(unsure=True).is_certain and not failed().is_certain
    new = Change(Address("c0", _FRONT), Action.CREATE)
    diff = StackDiff(Spec(str(_STACK), ()), (), (new,), _AT, release=0)
    assert not StackDrift(_STACK, _AT, diff).is_certain
    assert StackDrift(_STACK, _AT, StackDiff(Spec(str(_STACK), ()), (), (new,), _AT, release=2)).is_certain
