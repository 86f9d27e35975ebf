"""A whole site whose application has databases: they are there before what uses them, and gone with the site."""

from __future__ import annotations

import pytest

from tests.scenarios.terraform.orders import Orders
from workbench.engine.fleet_plan.execute import RunEnded
from workbench.engine.fleet_plan.values import FleetPlan
from workbench.session import Session

pytestmark = [pytest.mark.slow, pytest.mark.soak]

STACK = "orders/wuhan-test"
SPACE = "orders-wuhan-test"
SHANGHAI = 1
SITE = """\
import models.platform

site: platform.Site {
    name = "wuhan"
    environment = "test"
    clusters = ["shanghai"]
    protected = False
    applications.orders = platform.Application {
        like = "orders/dev"
        quota = platform.Quota {cpu = "20", memory = "40Gi"}
    }
}
"""


async def run(opened: Session, fleet: FleetPlan) -> RunEnded:
    assert not fleet.is_refused, [*fleet.unplanned, *(each.guards for each in fleet.refused)]
    async with opened.apply_stacks(fleet, confirm=fleet.confirmation.phrase, timeout_seconds=120) as events:
        last = [each async for each in events][-1]
    assert isinstance(last, RunEnded)
    return last


async def test_databases_come_before_what_uses_them_and_go_with_the_site(orders: Orders) -> None:
    (orders.root / "sites").mkdir()
    (orders.root / "sites/wuhan.k").write_text(SITE)
    session = orders.session()
    session.write_new(await session.new_site("wuhan"))
    stacks = (await session.site_stacks("wuhan")).stacks
    assert stacks == (STACK,)
    assert (await run(session, await session.plan_stacks(*stacks))).is_whole
    database = orders.one("database", SPACE)
    here = orders.sandbox.clusters[SHANGHAI]
    assert here.get("services", SPACE, "orders-database")["spec"]["externalName"] == database["address"]
    assert here.get("resourcequotas", SPACE, "quota")["spec"]["hard"]["requests.memory"] == "40Gi"
    gone = await session.plan_destroy_stacks(*(await session.site_stacks("wuhan", to_destroy=True)).stacks)
    assert (await run(session, gone)).is_whole
    assert not orders.existing("database") and SPACE not in {
        each["metadata"]["name"] for each in here.list("namespaces").items
    }
