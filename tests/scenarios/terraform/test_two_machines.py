"""A stack in a cluster and in Terraform with a state that machines share, and a machine that recorded nothing of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtimes.base import TerraformId
from tests.scenarios.terraform.orders import (
    ALL_THERE,
    IN_KUBERNETES,
    IN_TERRAFORM,
    NAMESPACE,
    STACK,
    Orders,
    apply,
    release,
)
from workbench.engine.events import ApplyFinished, Outcome

pytestmark = pytest.mark.slow


async def test_one_half_is_changed_without_the_other_and_both_are_found_from_elsewhere(orders: Orders) -> None:
    file = orders.root / "storefront/orders/dev/stack.yaml"
    backend = f"{{type: local, config: {{path: {orders.home / 'shared.tfstate'}}}}}"
    file.write_text(f"{file.read_text().rstrip()}\nterraform: {{backend: {backend}}}\n")
    first = orders.session(trusts_backends=True)
    stack = first.select(STACK)
    await release(first, stack)

    orders.edit("base/base.k", "orders:5.2.0", "orders:5.2.1")
    without = orders.session(terraform=str(orders.home / "no-such-binary"), trusts_backends=True)
    assert (await without.plan(stack)).is_refused
    part = await without.plan(stack, clusters=["hangzhou"])
    assert part.is_certain and [each.address.id.name for each in part.steps()] == ["orders-api"]
    end = (await apply(without, part))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED
    (container,) = orders.live("deployments.apps", NAMESPACE, "orders-api")["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith("orders:5.2.1") and orders.counts() == ALL_THERE

    elsewhere = replace(orders, home=orders.home / "second", world_path=orders.world.path)
    second = elsewhere.session(trusts_backends=True)
    found = await second.plan_destroy(stack)
    assert {each.address.id for each in found.steps()} == IN_TERRAFORM
    assert len([each for each in found.gaps if each.exists]) == len(IN_KUBERNETES) and not found.is_certain
    assert any(f"left in clusters ({len(IN_KUBERNETES)})" in each for each in found.confirmation.reasons)
    away = await second.plan_destroy(stack, adopt=True)
    kinds = [isinstance(each.address.id, TerraformId) for each in away.steps()]
    assert kinds == sorted(kinds), "what may read something of Terraform goes before it"
    await apply(second, away)
    assert orders.counts() == {} and orders.absent() == IN_KUBERNETES
