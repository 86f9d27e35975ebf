"""Acts on single live objects: what has to be typed, what is refused, which object it is, what the audit trail has."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import KubernetesId, Moved, Rejected, Unreachable
from tests.workbench.session.shop import FILES, Clusters, session, shop
from workbench.engine.draining import Losses
from workbench.engine.errors import ConfirmationRequired, Refused
from workbench.engine.live_acts import Acts, ActState, BadAct, LiveAct, LiveRequest, consequence
from workbench.engine.placement import PROJECT, STACK
from workbench.project import ProjectName, StackName, StackPath

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "front", "namespace": "web-prod"}}
PROD = StackPath(ProjectName("web"), StackName("prod"))
READ_ONLY = {"clusters.yaml": FILES["clusters.yaml"].replace("protected: true", "protected: true, read_only: true")}


def owned(labels: dict[str, str]) -> dict[str, object]:
    return {**MAP, "metadata": {"name": "front", "namespace": "web-prod", "labels": labels}}


def request(clusters: Clusters, id_: KubernetesId, act: LiveAct = LiveAct.DELETE) -> LiveRequest:
    return LiveRequest(act, "hz", id_, clusters["hz"].objects[id_].uid)


async def test_only_the_phrase_does_it_and_the_trail_has_it_before_and_after(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    id_ = clusters["hz"].put(MAP)
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        wanted = request(clusters, id_)
        assert wanted.phrase == "delete web-prod/front@hz"
        for phrase in ("", "yes", "delete web-prod/front"):
            with pytest.raises(ConfirmationRequired):
                await opened.act_live(wanted, confirm=phrase)
        assert id_ in clusters["hz"].objects and opened.audit().entries() == ()
        await opened.act_live(wanted, confirm=wanted.phrase)
        assert id_ not in clusters["hz"].objects
        entries = [(each.action, each.result, each.cluster) for each in opened.audit().entries()]
        assert entries == [("live delete", "done", "hz"), ("live delete", "started", "hz")]


async def test_another_object_of_the_name_is_left_alone(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    wanted = request(clusters, clusters["hz"].put(MAP))
    id_ = clusters["hz"].put(MAP)
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        with pytest.raises(Moved, match="made again"):
            await opened.act_live(wanted, confirm=wanted.phrase)
    assert id_ in clusters["hz"].objects


async def test_what_may_be_of_a_read_only_stack_is_not_touched(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    async with session(shop(tmp_path / "shop", READ_ONLY), clusters) as opened:
        for labels in ({PROJECT: "web", STACK: "prod"}, {}):
            wanted = request(clusters, clusters["hz"].put(owned(labels)))
            with pytest.raises(Refused, match="read-only"):
                await opened.act_live(wanted, confirm=wanted.phrase)
        wanted = request(clusters, clusters["hz"].put(owned({PROJECT: "web", STACK: "dev"})))
        await opened.act_live(wanted, confirm=wanted.phrase)
        wanted = request(clusters, clusters["hz"].put(owned({})))
        opened.allow_writes(opened.select("web/prod"))
        await opened.act_live(wanted, confirm=wanted.phrase)


async def test_a_read_only_session_does_nothing(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    wanted = request(clusters, clusters["hz"].put(MAP))
    async with session(shop(tmp_path / "shop"), clusters, is_read_only=True) as opened:
        with pytest.raises(Refused, match="read-only"):
            await opened.act_live(wanted, confirm=wanted.phrase)
    assert clusters["hz"].calls == []


async def test_where_the_answer_is_lost_the_trail_says_that_nobody_knows(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    wanted = request(clusters, clusters["hz"].put(MAP))
    clusters["hz"].fail["delete"] = Unreachable("reset", is_uncertain=True)
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        with pytest.raises(Unreachable):
            await opened.act_live(wanted, confirm=wanted.phrase)
        assert [each.result for each in opened.audit().entries()] == ["unknown", "started"]


def test_what_cannot_be_asked_of_an_object_is_said() -> None:
    pod, deployment = KubernetesId("v1", "Pod", "a", "b"), KubernetesId("apps/v1", "Deployment", "a", "b")
    for act, id_, uid, replicas in (
        (LiveAct.RESTART, pod, "1", 0),
        (LiveAct.SCALE, pod, "1", 2),
        (LiveAct.SCALE, deployment, "1", 10_001),
        (LiveAct.SCALE, KubernetesId("acme.io/v1", "Deployment", "a", "b"), "1", 2),
        (LiveAct.DELETE, pod, "", 0),
    ):
        with pytest.raises(BadAct):
            LiveRequest(act, "hz", id_, uid, replicas)
    wanted = LiveRequest(LiveAct.SCALE, "hz", deployment, "1", 3)
    assert wanted.phrase == "scale a/b@hz to 3"
    assert "drift" in consequence(wanted, PROD) and "no stack here is known" in consequence(wanted, None)


def several(clusters: Clusters, *names: str, labels: dict[str, str] | None = None) -> list[LiveRequest]:
    found = []
    for name in names:
        metadata = {"name": name, "namespace": "web-prod", "labels": labels or {}}
        found.append(request(clusters, clusters["hz"].put({**MAP, "metadata": metadata})))
    return found


async def test_several_are_acted_on_by_one_phrase_that_counts_for_these_alone(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    wanted = several(clusters, "a", "b", "c")
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        acts = await opened.prepare_acts(wanted)
        others = await opened.prepare_acts(several(clusters, "a", "b", "c"))
        assert acts.phrase.startswith("delete 3 ConfigMaps@hz ") and acts.phrase != others.phrase
        wanted = several(clusters, "a", "b", "c")
        acts = await opened.prepare_acts(wanted)
        for phrase in ("", "yes", "delete 3 ConfigMaps@hz", others.phrase):
            with pytest.raises(ConfirmationRequired):
                await opened.act_on_all(acts, confirm=phrase)
        assert len(clusters["hz"].objects) == 3 and opened.audit().entries() == ()
        told: list[tuple[int, ActState]] = []
        await opened.act_on_all(acts, confirm=acts.phrase, report=lambda number, state, _: told.append((number, state)))
        assert told == [(number, state) for number in range(3) for state in (ActState.RUNNING, ActState.DONE)]
        assert not clusters["hz"].objects
        trail = [(each.target.rpartition(":")[2], each.result) for each in reversed(opened.audit().entries())]
        assert [result for _, result in trail] == ["started", "done"] * 3


async def test_of_several_one_that_fails_does_not_keep_it_from_the_others(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        wanted = several(clusters, "a", "b", "c")
        acts = await opened.prepare_acts(wanted)
        clusters["hz"].fail[("delete", str(wanted[1].id))] = Rejected("no")
        told: dict[int, ActState] = {}
        await opened.act_on_all(acts, confirm=acts.phrase, report=lambda number, state, _: told.update({number: state}))
        assert told == {0: ActState.DONE, 1: ActState.FAILED, 2: ActState.DONE}
        assert [id_.name for id_ in clusters["hz"].objects if isinstance(id_, KubernetesId)] == ["b"]


async def test_of_several_nothing_is_sent_on_to_a_cluster_that_does_not_answer_or_after_a_stop(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    async with session(shop(tmp_path / "shop"), clusters) as opened:
        acts = await opened.prepare_acts(several(clusters, "a", "b", "c"))
        clusters["hz"].fail["delete"] = Unreachable("reset", is_uncertain=True)
        told: dict[int, ActState] = {}
        await opened.act_on_all(acts, confirm=acts.phrase, report=lambda number, state, _: told.update({number: state}))
        assert told == {0: ActState.UNKNOWN, 1: ActState.LEFT, 2: ActState.LEFT}
        clusters["hz"].fail.clear()
        acts = await opened.prepare_acts(several(clusters, "a", "b", "c"))
        told.clear()
        await opened.act_on_all(
            acts,
            confirm=acts.phrase,
            report=lambda number, state, _: told.update({number: state}),
            goes_on=lambda: not told,
        )
        assert told == {0: ActState.DONE, 1: ActState.LEFT, 2: ActState.LEFT}


async def test_of_several_one_that_is_read_only_or_another_by_now_keeps_it_from_all(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    async with session(shop(tmp_path / "shop", READ_ONLY), clusters) as opened:
        wanted = [
            *several(clusters, "a", labels={PROJECT: "web", STACK: "dev"}),
            *several(clusters, "b", labels={PROJECT: "web", STACK: "prod"}),
        ]
        acts = await opened.prepare_acts(wanted)
        with pytest.raises(Refused, match="read-only"):
            await opened.act_on_all(acts, confirm=acts.phrase)
        opened.allow_writes(opened.select("web/prod"))
        several(clusters, "b")
        with pytest.raises(Moved, match="made again"):
            await opened.act_on_all(acts, confirm=acts.phrase)
        assert len(clusters["hz"].objects) == 2 and opened.audit().entries() == ()


def test_several_are_one_act_on_different_objects_and_not_on_too_many() -> None:
    one, other = (LiveRequest(LiveAct.DELETE, "hz", KubernetesId("v1", "Pod", "a", name), name) for name in "ab")
    evicting = LiveRequest(LiveAct.EVICT, "hz", other.id, "b", losses=Losses(frozenset("b")))
    many = tuple(
        LiveRequest(LiveAct.DELETE, "hz", KubernetesId("v1", "Pod", "a", str(number)), "u") for number in range(501)
    )
    assert len(Acts(many[1:], (None,) * 500).requests) == 500
    for wrong in ((), (one, one), (one, evicting), many):
        with pytest.raises(BadAct):
            Acts(wrong, (None,) * len(wrong))
    acts = Acts((one, other), (PROD, None))
    assert list(acts.said()) == [f"1 of them: {consequence(one, PROD)}", f"1 of them: {consequence(other, None)}"]
    assert "losing 1 bare pod" in Acts((evicting,), (None,)).phrase
