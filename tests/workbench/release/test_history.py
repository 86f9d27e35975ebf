"""What several places say of one stack, put together: nothing newer is forgotten, and nothing unread is "none"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from runtimes.base import Address, ClusterIdentity, KubernetesId, RuntimeType, Unreachable
from tests.workbench.engine.world import STACK
from tests.workbench.release.places import AT, REPOSITORY, released
from workbench.engine.events import Action
from workbench.engine.release import Phase, Release, ReleasedResource, StepState
from workbench.present.glyphs import UNICODE
from workbench.present.releases import doubt_lines
from workbench.release.contract import Entry, NotAllowed
from workbench.release.history import Asked, History, disposable, merged, part_of
from workbench.release.packing import pack, unpack

DOWN = Unreachable("connection refused")


def at(cluster: str, name: str = "a") -> ReleasedResource:
    address = Address(cluster, KubernetesId("v1", "ConfigMap", "shop", name))
    return ReleasedResource(address, RuntimeType.KUBERNETES, Action.CREATE, StepState.DONE, f"uid-{cluster}-{name}")


def made(revision: int, *resources: ReleasedResource, phase: Phase = Phase.SUCCEEDED, **changes: object) -> Release:
    names = {each.address.cluster for each in resources}
    clusters = {name: ClusterIdentity(name, f"https://{name}", uid=f"uid-of-{name}") for name in names}
    return released(revision, phase, resources, clusters=clusters, **changes)


def entries(*kept: Release, home: str = "") -> list[Entry]:
    return unpack([each for release in kept for each in pack(release, AT, home=home, version="1")], AT)


def asked(**clusters: Iterable[Entry]) -> Asked:
    return Asked(next(iter(clusters)), {name: tuple(each) for name, each in clusters.items()})


def shared(found: Asked, local: Release | None = None, next_local: int = 1) -> History:
    return merged(found, REPOSITORY, local, next_local)


def names(history: History) -> set[str]:
    assert history.latest is not None
    return {str(each) for each in history.latest.resources}


def test_what_is_not_recorded_between_two_releases_is_known_to_be_lacking() -> None:
    history = shared(asked(hz=entries(made(1, at("hz")), made(4, at("hz")), made(5, at("hz")))))
    assert history.rollback_target(str(STACK)).revision == 4
    assert history.recorded() == (5, 4, 1)
    assert (history.unrecorded_after(4), history.unrecorded_after(1)) == ((), (2, 3))
    assert "between others, and not recorded any more: #2, #3" in [str(each) for each in doubt_lines(history, UNICODE)]


def test_no_release_is_said_where_every_cluster_answered() -> None:
    history = shared(asked(hz=[], sh=[]))
    assert (history.latest, history.next_revision, history.gaps, history.problems) == (None, 1, (), ())
    history.refuse_unknown(str(STACK))


@pytest.mark.parametrize("silent", ["hz", "sh"])
def test_it_is_not_said_where_one_was_silent(silent: str) -> None:
    history = shared(Asked("hz", {each: () for each in ("hz", "sh") if each != silent}, silent={silent: DOWN}))
    assert [each.cluster for each in history.problems] + [each.place for each in history.gaps] == [silent]


def test_of_clusters_that_the_stack_does_not_go_to_silence_is_a_warning() -> None:
    history = shared(Asked("hz", {"hz": ()}, unasked={"sh": DOWN}))
    assert not history.gaps and "sh was not queried" in history.warnings[0]


def test_nor_where_the_home_lets_nobody_look() -> None:
    denied = {"hz": NotAllowed("no", hint="ask for it")}
    history = shared(Asked("hz", {"sh": ()}, denied=denied))
    assert not history.is_shared and [each.place for each in history.gaps] == ["hz"]
    known = shared(Asked("hz", {"sh": ()}, denied=denied), made(3, at("hz")), 4)
    assert known.latest == made(3, at("hz")) and not known.gaps and "ask for it" in known.warnings[0]


def test_what_came_after_the_newest_whole_one_is_taken_from_the_parts() -> None:
    whole, later = made(5, at("hz"), at("sh", "old")), made(7, at("hz"), at("sh", "new"))
    history = shared(asked(hz=entries(whole), sh=entries(part_of(later, "sh"), home="hz")))
    assert history.latest is not None and names(history) == {str(at("hz").address), str(at("sh", "new").address)}
    assert history.next_revision == 8
    assert [(each.place, each.exists) for each in history.gaps] == [("hz", False)]


def test_parts_alone_say_what_they_are_parts_of() -> None:
    whole = made(5, at("hz"), at("sh"))
    history = shared(asked(sh=entries(part_of(whole, "sh"), home="hz")))
    assert names(history) == {str(at("sh").address)} and [each.place for each in history.gaps] == ["hz"]
    with_own = shared(asked(sh=entries(part_of(whole, "sh"), home="hz")), whole, 6)
    assert with_own.latest == whole and not with_own.gaps, "this machine knows the whole"


def test_the_steps_of_an_apply_that_was_interrupted_here_are_known() -> None:
    intent = made(2, replace(at("hz"), state=StepState.INTENDED, uid=""), phase=Phase.APPLYING)
    steps = made(2, at("hz"), phase=Phase.APPLYING)
    assert shared(asked(hz=entries(intent)), steps, 3).latest == steps
    another = replace(steps, plan="p-2")
    assert shared(asked(hz=entries(intent)), another, 3).latest == intent


def test_a_release_that_only_this_machine_has_is_said() -> None:
    late = made(4, at("hz"), started=made(1).started.replace(year=2030))
    history = shared(asked(hz=entries(made(2, at("hz")))), late, 5)
    assert history.latest == made(2, at("hz")) and history.next_revision == 5
    assert "release 4" in history.warnings[0] and "this machine only" in history.warnings[0]
    elsewhere = made(4, at("of-another-context"), started=late.started)
    assert not shared(asked(hz=entries(made(2, at("hz")))), elsewhere, 5).warnings


@pytest.mark.parametrize(
    ("phases", "gone"),
    [
        ("ssssss", [1, 2, 3]),
        ("spffff", [2, 3]),
        ("ffffff", [1, 2, 3]),
        ("sfsfff", [1, 2]),
        ("sss", []),
    ],
)
def test_beyond_the_history_all_go_but_the_last_good_one(phases: str, gone: list[int]) -> None:
    kinds = {"s": Phase.SUCCEEDED, "f": Phase.FAILED, "p": Phase.PARTIAL}
    kept = entries(*(made(number, phase=kinds[each]) for number, each in enumerate(phases, 1)))
    assert sorted(each.revision for each in disposable(kept, REPOSITORY, 3)) == gone
    assert list(disposable(kept, "another", 3)) == []
