"""Clusters that are down, tokens that are refused, users that may not: named, and nothing is written."""

from __future__ import annotations

import json

import pytest

from tests.scenarios.conftest import Practice, release
from workbench.engine.errors import Refused
from workbench.project import WorkbenchError
from workbench.settings import Settings


def broken(practice: Practice, **server: str) -> Settings:
    """Settings with a kubeconfig whose second cluster is somewhere else, or whose token is another."""
    config = practice.sandbox.kubeconfig()
    if "url" in server:
        config["clusters"][1]["cluster"]["server"] = server["url"]  # type: ignore[index]
    if "token" in server:
        config["users"][0]["user"]["token"] = server["token"]  # type: ignore[index]
    path = practice.home / "broken.kubeconfig"
    path.write_text(json.dumps(config))
    state = practice.home / "state"
    return Settings(state, state, kubeconfig=str(path), user="admin", host="box")


async def problems(practice: Practice, settings: Settings) -> list[tuple[str, str]]:
    from workbench.session import Session

    async with Session.open(practice.root, settings=settings) as session:
        plan = await session.plan(session.select("gateway/prod"))
        with pytest.raises(Refused) as refused:
            async with session.apply(plan, confirm="gateway/prod"):
                pass
        assert isinstance(refused.value, WorkbenchError) and refused.value.hint
        assert all(each.hint for each in plan.problems)
        return [(each.cluster, each.kind) for each in plan.problems]


async def test_a_cluster_that_is_down(practice: Practice) -> None:
    settings = broken(practice, url="https://127.0.0.1:1")
    assert await problems(practice, settings) == [("shanghai", "Unreachable")]


async def test_a_token_that_is_refused(practice: Practice) -> None:
    settings = broken(practice, token="canary-token")
    found = await problems(practice, settings)
    assert found == [("hangzhou", "Unauthenticated"), ("shanghai", "Unauthenticated")]


async def test_a_user_who_may_not(practice: Practice) -> None:
    await release(practice.session(), practice.session().select("gateway/prod"))
    practice.edit("payments/gateway/base/base.k", "gateway:3.2.5", "gateway:3.3.0")
    viewer = practice.session(user="viewer")
    plan = await viewer.plan(viewer.select("gateway/prod"))
    assert {each.kind for each in plan.problems} == {"Forbidden"}
    assert plan.is_refused
