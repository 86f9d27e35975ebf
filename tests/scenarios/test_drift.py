"""Somebody changes live objects by hand: each change is named with who and when, and repaired only when told to."""

from __future__ import annotations

import pytest

from runtimes.base import format_path
from tests.scenarios.conftest import HANGZHOU, SHANGHAI, Practice, apply, release
from workbench.engine.changes import ChangeClass, Op
from workbench.engine.errors import UnresolvedConflict

SPACE = "gateway-prod"


async def test_hand_made_changes_are_named_and_repaired_when_forced(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/prod")
    await release(session, stack)
    practice.change(SHANGHAI, "deployments.apps", SPACE, "webhooks", {"spec": {"replicas": 9}})
    practice.change(HANGZHOU, "configmaps", SPACE, "gateway-api-config", {"data": {"DEBUG": "1", "NETWORK": "test"}})
    practice.edit("payments/gateway/base/base.k", "gateway:3.2.5", "gateway:3.3.0")

    diff = await session.diff(stack)
    shown = {
        (each.address.cluster, format_path(f.path)): (
            f.op,
            f.class_,
            f.actor.manager if f.actor else "",
            f.source[0].relative_to(practice.root) if f.source else "",
        )
        for each in diff.changes
        for f in each.fields
    }
    image = "spec.template.spec.containers[name=gateway-api].image"
    intended = (Op.CHANGE, ChangeClass.INTENDED, "", practice.place("payments/gateway/base/base.k", "gateway:3.3.0"))
    assert shown == {
        ("hangzhou", image): intended,
        ("shanghai", image): intended,
        ("hangzhou", "data.DEBUG"): (Op.KEPT, ChangeClass.DRIFT, "kubectl-edit", ""),
        ("hangzhou", "data.NETWORK"): (
            Op.CHANGE,
            ChangeClass.DRIFT,
            "kubectl-edit",
            practice.place("payments/gateway/prod/main.k", "config.NETWORK"),
        ),
        ("shanghai", "spec.replicas"): (
            Op.CHANGE,
            ChangeClass.DRIFT,
            "kubectl-edit",
            practice.place("payments/gateway/prod/main.k", "replicas = 2"),
        ),
    }
    assert all(f.actor.when for each in diff.changes for f in each.drift if f.actor)
    assert [each.address.id.name for each in diff.changes if each.restarts] == ["gateway-api"] * 2

    with pytest.raises(UnresolvedConflict, match="kubectl-edit"):
        await apply(session, await session.plan(stack))
    assert practice.live(SHANGHAI, "deployments.apps", SPACE, "webhooks")["spec"]["replicas"] == 9
    await release(session, stack, force=True)
    assert practice.live(SHANGHAI, "deployments.apps", SPACE, "webhooks")["spec"]["replicas"] == 2
    data = practice.live(HANGZHOU, "configmaps", SPACE, "gateway-api-config")["data"]
    assert (data["NETWORK"], data["DEBUG"]) == ("live", "1"), "what only the live object has is left alone"
    assert (await session.plan(stack)).is_empty


async def test_a_changed_secret_shows_without_its_value(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/prod")
    await release(session, stack)
    canary = "Y2FuYXJ5LTdmM2E="
    practice.change(HANGZHOU, "secrets", SPACE, "gateway-api-secrets", {"data": {"NETWORK_TOKEN": canary}})
    diff = await session.diff(stack)
    (change,) = list(diff.different())
    (field,) = change.fields
    assert field.is_masked and field.before != field.after
    assert canary not in repr(diff) and "canary" not in repr(change)


async def test_a_deleted_object_is_made_again(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/prod")
    await release(session, stack)
    practice.sandbox.clusters[HANGZHOU].delete("serviceaccounts", SPACE, "webhooks")
    plan = await session.plan(stack)
    assert [(each.action, each.because) for each in plan.steps()] == [
        ("create", "somebody deleted it since the last release")
    ]
    await apply(session, plan)
    assert (await session.plan(stack)).is_empty
