"""What the configuration no longer has goes away; what is somebody else's stays."""

from __future__ import annotations

from tests.scenarios.conftest import HANGZHOU, Practice, apply, release
from workbench.engine.events import ApplyFinished
from workbench.engine.plan import Level


async def test_a_component_that_is_removed_is_deleted_with_its_phrase(practice: Practice) -> None:
    session = practice.session()
    stack = session.select("gateway/dev")
    await release(session, stack)
    cluster = practice.sandbox.clusters[HANGZHOU]
    cluster.create(
        "configmaps",
        "gateway-dev",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "namespace": "gateway-dev"}},
        manager="kubectl-create",
    )
    base = practice.root / "payments/gateway/base/base.k"
    base.write_text(base.read_text().split("# Tells merchants")[0])
    main = practice.root / "payments/gateway/dev/main.k"
    main.write_text(main.read_text().split("webhooks:")[0])

    plan = await session.plan(stack)
    gone = [each.address.id for each in plan.steps()]
    assert {each.kind for each in gone} >= {"Deployment", "ServiceAccount"}  # type: ignore[union-attr]
    assert all("webhooks" in str(each) for each in gone)
    assert plan.confirmation.level is Level.PHRASE, "more than a fifth of what there is"
    end = (await apply(session, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome == "succeeded"
    assert cluster.find("deployments.apps", "gateway-dev", "webhooks") is None
    assert cluster.find("configmaps", "gateway-dev", "own") is not None
    assert cluster.find("deployments.apps", "gateway-dev", "gateway-api") is not None
    assert (await session.plan(stack)).is_empty
