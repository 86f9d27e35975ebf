"""Acts on single live objects: what has to be typed, what is refused, which object it is, what the audit trail has."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import KubernetesId, Moved, Unreachable
from tests.workbench.session.shop import FILES, Clusters, session, shop
from workbench.engine.errors import ConfirmationRequired, Refused
from workbench.engine.live_acts import BadAct, LiveAct, LiveRequest, consequence
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
