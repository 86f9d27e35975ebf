"""From nothing to everything, a replacement, drift behind its back, and back to nothing, told by values."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from runtimes.base import UNKNOWN, format_path
from tests.scenarios.terraform.orders import (
    ALL_THERE,
    IN_KUBERNETES,
    IN_TERRAFORM,
    NAMESPACE,
    PASSWORD,
    STACK,
    Orders,
    apply,
    change,
    in_place,
    in_terraform,
    release,
)
from workbench.engine.changes import ChangeClass, Summary
from workbench.engine.events import Action, ApplyFinished, Outcome, StepFinished
from workbench.engine.release import Phase

pytestmark = pytest.mark.slow

DATABASE = in_terraform("database", "orders")
REPORTS = in_terraform("database", "reports")
BUCKET = in_terraform("bucket", "invoices")
PUBLIC = in_terraform("dns_record", "orders-public")
CNAME = in_terraform("dns_record", "reports-database")


def agreement(orders: Orders) -> None:
    """The two sides hold each other's values."""
    database, reports, bucket = (
        orders.one("database", "orders-dev"),
        orders.one("database", "reports-dev"),
        orders.one("bucket", "invoices-dev"),
    )
    service = orders.live("services", NAMESPACE, "orders-database")["spec"]
    assert service["externalName"] == database["address"]
    assert [each["port"] for each in service["ports"]] == [database["port"]]
    config = orders.live("configmaps", NAMESPACE, "orders-api-config")["data"]
    assert config["REPORTS_HOST"] == reports["address"]
    (container,) = orders.live("deployments.apps", NAMESPACE, "orders-api")["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert environment["DATABASE_HOST"] == database["address"]
    assert environment["INVOICES_URL"] == bucket["url"]
    secret = orders.live("secrets", NAMESPACE, "orders-api-secrets")["data"]
    connection = base64.b64decode(secret["DATABASE_URL"]).decode()
    assert connection == f"postgres://orders:{PASSWORD}@{database['address']}:5432/orders-dev"
    (ingress,) = orders.live("ingresses.networking.k8s.io", NAMESPACE, "orders-api")["status"]["loadBalancer"][
        "ingress"
    ]
    assert orders.one("dns_record", "orders")["values"] == [ingress["ip"]]
    assert orders.one("dns_record", "reports")["values"] == [reports["address"]]
    (network,) = orders.existing("network")
    assert {each["network_id"] for each in orders.existing("database").values()} == {network}


async def test_a_stack_lives_from_nothing_to_nothing(orders: Orders) -> None:
    session = orders.session()
    stack = session.select(STACK)

    plan = await session.plan(stack)
    assert plan.summary.create == plan.summary.changes == 14 and not plan.is_refused
    assert {each.address.id for each in in_place(plan.changes, "terraform")} == IN_TERRAFORM
    assert len(in_place(plan.changes, "hangzhou")) == len(IN_KUBERNETES) == 8
    needs = {str(each.id): {str(need.id) for need in plan.needs[each]} for each in plan.needs}
    assert str(DATABASE.id) in needs[f"v1:Service:{NAMESPACE}:orders-database"], "Kubernetes waits for Terraform"
    assert f"networking.k8s.io/v1:Ingress:{NAMESPACE}:orders-api" in needs[str(PUBLIC.id)], "and the other way"
    planned = change(plan, DATABASE).planned
    assert planned is not None and planned["address"] is UNKNOWN and planned["size_gb"] == 20

    events = await apply(session, plan)
    end = events[-1]
    assert isinstance(end, ApplyFinished) and (end.outcome, end.done) == (Outcome.SUCCEEDED, 14)
    order = [each.address.id for each in events if isinstance(each, StepFinished)]
    for step in plan.steps():
        for need in plan.needs[step.address]:
            assert order.index(need.id) < order.index(step.address.id)
    assert orders.counts() == ALL_THERE and not orders.absent()
    agreement(orders)

    again = await session.plan(stack)
    assert again.is_empty and not [field for each in again.changes for field in each.fields]

    await a_replacement(orders, session, stack)
    await drift(orders, session, stack)
    await the_end(orders, session, stack)


async def a_replacement(orders: Orders, session: Any, stack: Any) -> None:
    before = {name: orders.one("database", name)["address"] for name in ("orders-dev", "reports-dev")}
    orders.edit("base/base.k", '    username = "orders"\n', '    username = "orders"\n    zone = "b"\n')

    plan = await session.plan(stack)
    actions = {each.address: each.action for each in plan.changes if each.action is not Action.NONE}
    assert actions.pop(DATABASE) is Action.REPLACE
    assert {(address.cluster, action) for address, action in actions.items()} == {("hangzhou", Action.UPDATE)}
    assert {address.id.name for address in actions} == {"orders-api-secrets", "orders-database", "orders-api"}
    replaced = change(plan, DATABASE)
    (forcing,) = [each for each in replaced.fields if each.replaces]
    assert (format_path(forcing.path), forcing.before, forcing.after) == ("zone", "a", "b")
    assert forcing.class_ is ChangeClass.INTENDED
    assert forcing.source[0].relative_to(orders.root) == orders.place("base/base.k", 'zone = "b"')
    assert any("terraform" in each.lower() for each in plan.confirmation.reasons), "losing a database is to be typed"
    (host,) = [
        each for change_ in plan.changes for each in change_.fields if format_path(each.path) == "spec.externalName"
    ]
    assert (host.before, host.after) == (before["orders-dev"], UNKNOWN)

    await release(session, stack)
    assert orders.one("database", "orders-dev")["zone"] == "b"
    assert orders.one("database", "orders-dev")["address"] != before["orders-dev"]
    assert orders.one("database", "reports-dev")["address"] == before["reports-dev"], "the other one is left alone"
    assert orders.counts() == ALL_THERE
    agreement(orders)
    assert (await session.plan(stack)).is_empty


async def drift(orders: Orders, session: Any, stack: Any) -> None:
    with orders.world.change() as content:
        content.of("sandbox_bucket")["invoices-dev"]["versioning"] = False
        del content.of("sandbox_dns_record")[f"{orders.one('dns_record', 'reports')['zone']}/reports/CNAME"]

    plan = await session.plan(stack)
    assert {each.address: each.action for each in plan.changes if each.action is not Action.NONE} == {
        BUCKET: Action.UPDATE,
        CNAME: Action.CREATE,
    }
    (field,) = change(plan, BUCKET).drift
    assert (format_path(field.path), field.before, field.after) == ("versioning", False, True)
    assert field.source[0].relative_to(orders.root) == orders.place("base/base.k", "versioning = True")
    assert orders.one("bucket", "invoices-dev")["versioning"] is False, "looking at drift does not repair it"

    await release(session, stack)
    assert orders.one("bucket", "invoices-dev")["versioning"] is True
    assert orders.counts() == ALL_THERE
    agreement(orders)


async def the_end(orders: Orders, session: Any, stack: Any) -> None:
    plan = await session.plan_destroy(stack)
    assert plan.summary == Summary(delete=14)
    events = await apply(session, plan)
    end = events[-1]
    assert isinstance(end, ApplyFinished) and (end.outcome, end.done) == (Outcome.SUCCEEDED, 14)
    assert orders.counts() == {} and orders.recorded() == set()
    assert orders.absent() == IN_KUBERNETES
    assert session.releases(stack)[0].phase is Phase.SUCCEEDED
    assert (await session.plan_destroy(stack)).is_empty
    assert (await session.plan(stack)).summary.create == 14, "and it can all be made again"


@pytest.mark.soak
async def test_the_command_line_does_the_same(orders: Orders) -> None:
    planned = await orders.wb("plan", STACK, "-o", "json")
    assert planned.code == 0, planned.err
    document = json.loads(planned.out)
    assert document["summary"]["create"] == 14

    applied = await orders.wb("apply", STACK, "--yes", "--timeout", "60")
    assert applied.code == 0, applied.text
    assert orders.counts() == ALL_THERE and not orders.absent()
    agreement(orders)
    assert json.loads((await orders.wb("plan", STACK, "-o", "json")).out)["summary"]["unchanged"] == 14

    orders.edit("base/base.k", '    username = "orders"\n', '    username = "orders"\n    zone = "b"\n')
    refused = await orders.wb("apply", STACK, "--yes", "--no-watch")
    assert refused.code == 4 and "--confirm" in refused.err, "a yes is not enough to lose a database"
    assert orders.one("database", "orders-dev")["zone"] == "a"
    replaced = await orders.wb("apply", STACK, "--yes", "--confirm", STACK, "--no-watch")
    assert replaced.code == 0, replaced.text
    assert orders.one("database", "orders-dev")["zone"] == "b"
    agreement(orders)

    changed = await orders.wb("sandbox", "world", "set", "bucket", "invoices-dev", "versioning=false")
    assert changed.code == 0, changed.text
    drifted = json.loads((await orders.wb("plan", STACK, "-o", "json")).out)
    assert (drifted["summary"]["drift"], drifted["summary"]["update"]) == (1, 1)

    gone = await orders.wb("destroy", STACK, "--confirm", STACK)
    assert gone.code == 0, gone.text
    assert orders.counts() == {} and orders.recorded() == set() and orders.absent() == IN_KUBERNETES


async def test_a_rollback_brings_back_both_sides(orders: Orders) -> None:
    applied = await orders.wb("apply", STACK, "--yes", "--no-watch")
    assert applied.code == 0, applied.text
    bucket = orders.one("bucket", "invoices-dev")
    before = {kind: orders.existing(kind) for kind in ALL_THERE}
    orders.edit("base/base.k", "versioning = True", "versioning = False")
    orders.edit("base/base.k", "orders:5.2.0", "orders:5.2.1")
    moved = await orders.wb("apply", STACK, "--confirm", STACK, "--yes", "--no-watch")
    assert moved.code == 0, moved.text
    assert orders.one("bucket", "invoices-dev")["versioning"] is False
    ended = await orders.wb("rollback", STACK, "--confirm", STACK, "--yes", "--no-watch")
    assert ended.code == 0, ended.text
    assert orders.one("bucket", "invoices-dev") == bucket
    assert {kind: orders.existing(kind) for kind in ALL_THERE} == before
    agreement(orders)
    assert PASSWORD not in ended.text
    assert (await orders.wb("diff", STACK)).code == 1


async def test_a_part_of_terraform_is_applied_with_what_it_needs_and_the_rest_afterwards(orders: Orders) -> None:
    session = orders.session()
    stack = session.select(STACK)
    part = await session.plan(stack, only=["*_database/orders"])
    assert part.summary.create == 2, "a network comes along"
    events = await apply(session, part)
    assert isinstance(end := events[-1], ApplyFinished) and end.outcome is Outcome.SUCCEEDED
    assert len(orders.existing("database")) == len(orders.existing("network")) == 1
    assert sum(orders.counts().values()) == 2

    beside = await session.plan(stack, only=["runtime=kubernetes"], skip=["runtime=terraform"])
    assert beside.steps() and all(each.address.cluster == "hangzhou" for each in beside.steps())
    assert {each.because.id for each in beside.left_out if each.because} <= IN_TERRAFORM
    await apply(session, beside)
    assert sum(orders.counts().values()) == 2, "terraform was left alone"

    rest = await session.plan(stack)
    assert rest.summary.create == rest.summary.changes == 14 - 2 - len(beside.steps())
    await apply(session, rest)
    assert orders.counts() == ALL_THERE and not orders.absent()
    agreement(orders)

    resized = await session.plan(stack, skip=["kind=sandbox_bucket"], only=["runtime=terraform"])
    assert resized.is_empty and resized.is_as_configured, "nothing is to be done, so nothing is left out"

    before = orders.one("database", "reports-dev")["address"], orders.one("database", "orders-dev")["address"]
    anew = await session.plan(stack, replace=["*_database/reports"])
    assert change(anew, REPORTS).action is Action.REPLACE and change(anew, DATABASE).action is Action.NONE
    await apply(session, anew)
    after = orders.one("database", "reports-dev")["address"], orders.one("database", "orders-dev")["address"]
    assert after[0] != before[0] and after[1] == before[1] and orders.counts() == ALL_THERE
    agreement(orders)
    assert (await session.plan(stack)).is_as_configured
