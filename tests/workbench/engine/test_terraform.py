"""Terraform beside Kubernetes: one plan, one graph, references across, failure that stops its dependents only."""

from __future__ import annotations

import base64
from typing import Any

import anyio
import pytest

from runtimes.base import UNKNOWN, Address, Finding, KubernetesId, Rejected, Unreachable, value_at
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.engine.world import World, config_map, names, namespace, resource, secret, spec_of
from workbench.engine import execute as executing
from workbench.engine.approval import approve
from workbench.engine.changes import Change, ChangeClass, Op
from workbench.engine.errors import DependencyCycle, Refused, SpecInvalid, StalePlan
from workbench.engine.events import (
    Action,
    ApplyFinished,
    Event,
    Outcome,
    StepFailed,
    StepFinished,
    StepProgress,
    StepSkipped,
)
from workbench.engine.execute import check, execute
from workbench.engine.masking import Masked
from workbench.engine.places.workspace_steps import runs
from workbench.engine.plan import Level, Plan
from workbench.engine.release import StepState

DB = "$kusion_path.acme:cloud:thing:db"
SETTINGS = KubernetesId("v1", "ConfigMap", "shop", "settings")


def world(*clusters: str) -> World:
    made = World({name: FakeCluster(name) for name in clusters or ("hz",)})
    made.workspace = FakeWorkspace()
    return made


def of(world: World) -> FakeWorkspace:
    assert isinstance(world.workspace, FakeWorkspace)
    return world.workspace


def change(plan: Plan, name: str, cluster: str | None = None) -> Change:
    return next(
        each
        for each in plan.changes
        if each.address.id.name == name and (cluster is None or each.address.cluster == cluster)
    )


def live(world: World, id_: KubernetesId, *path: str) -> Any:
    return value_at(world.hz.body(id_), path)


def end(events: list[Event]) -> ApplyFinished:
    last = events[-1]
    assert isinstance(last, ApplyFinished)
    return last


# References in the Spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{DB}x.address", "names no resource of this stack"),
        (DB, "but no attribute of it"),
        ("$kusion_path.", "names no resource"),
    ],
)
def test_a_reference_that_leads_nowhere_is_told_with_its_field_and_line(text: str, said: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        spec_of(resource("db"), config_map("settings", {"host": text}))
    assert said in caught.value.message
    assert caught.value.message.startswith("data.host of v1:ConfigMap:shop:settings")
    assert caught.value.where == "/repo/main.k:3"


def test_a_circle_of_references_names_the_fields() -> None:
    one = config_map("one", {"a": "$kusion_path.v1:ConfigMap:shop:two.data.b"})
    two = config_map("two", {"b": "$kusion_path.v1:ConfigMap:shop:one.data.a"})
    with pytest.raises(DependencyCycle) as caught:
        spec_of(one, two)
    assert set(caught.value.because) == {"data.a", "data.b"}
    assert "(data.a)" in caught.value.message


# Planning


async def test_a_value_that_was_not_known_and_comes_out_as_it_was_leaves_nothing_to_write() -> None:
    there = world()
    bodies = (namespace(), config_map("settings", {"host": f"{DB}.address"}))
    await there.release(*bodies, resource("db", zone="a"))
    plan = await there.plan(*bodies, resource("db", zone="b"))
    assert change(plan, "settings").action is Action.UPDATE
    of(there)._count = 0  # so that the new one has the address of the old one
    events = await there.apply(plan)
    assert end(events).outcome is Outcome.SUCCEEDED, events
    assert live(there, SETTINGS, "data", "host") == "db-1.cloud"


async def test_a_value_that_is_not_known_yet_is_shown_as_such_and_used_once_it_is() -> None:
    there = world()
    bodies = (namespace(), config_map("settings", {"host": f"{DB}.address", "port": f"{DB}.port"}), resource("db"))
    plan = await there.plan(*bodies)
    host = next(each for each in change(plan, "settings").fields if each.path == ("data", "host"))
    assert (host.after, host.is_unknown, host.op) == (UNKNOWN, True, Op.ADD)
    assert host.source[0].line == 3
    assert change(plan, "db").address == Address("terraform", thing("db"))
    assert change(plan, "db").planned == {"name": "db", "id": UNKNOWN, "address": UNKNOWN, "port": UNKNOWN}
    assert plan.places == ("hz", "terraform")
    events = await there.apply(plan)
    assert end(events).outcome is Outcome.SUCCEEDED
    order = names(events)
    assert order.index("StepFinished db") < order.index("StepStarted settings")
    assert live(there, SETTINGS, "data") == {"host": "db-1.cloud", "port": "5001"}
    assert (await there.plan(*bodies)).is_empty


async def test_a_dry_run_gets_a_placeholder_of_the_right_type() -> None:
    there = world()
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"type": "ExternalName", "externalName": f"{DB}.address", "healthCheckNodePort": f"{DB}.port"},
    }
    asked: list[Any] = []
    plan_one = there.hz.plan

    async def listening(request: Any) -> Any:
        asked.append(request.resource.attributes)
        return await plan_one(request)

    there.hz.plan = listening  # type: ignore[method-assign]
    plan = await there.plan(namespace(), service, resource("db"))
    sent = next(each for each in asked if each["kind"] == "Service")
    assert sent["spec"]["externalName"] == "known-after-apply"
    assert sent["spec"]["healthCheckNodePort"] == 1
    assert value_at(change(plan, "web").after, ("spec", "healthCheckNodePort")) is UNKNOWN


async def test_a_dry_run_refused_with_placeholders_is_a_warning() -> None:
    there = world()
    there.hz.fail["plan", str(SETTINGS)] = Rejected("not a host name")
    plan = await there.plan(namespace(), config_map("settings", {"host": f"{DB}.address"}), resource("db"))
    assert not plan.is_refused
    assert change(plan, "settings").action is Action.CREATE
    assert "not a host name" in change(plan, "settings").warnings[0]
    known = await there.plan(namespace(), config_map("settings", {"host": "fixed"}), resource("db"))
    assert known.is_refused


async def test_a_change_that_replaces_makes_what_depends_on_it_unknown_and_asks_for_the_phrase() -> None:
    there = world()
    bodies = [namespace(), config_map("settings", {"host": f"{DB}.address"}), resource("db", zone="a")]
    await there.release(*bodies)
    plan = await there.plan(*bodies[:2], resource("db", zone="b"))
    replaced = change(plan, "db")
    assert (replaced.action, replaced.because) == (Action.REPLACE, "zone cannot be changed in place")
    zone = next(each for each in replaced.fields if each.path == ("zone",))
    assert (zone.before, zone.after, zone.replaces, zone.class_) == ("a", "b", True, ChangeClass.INTENDED)
    host = next(each for each in change(plan, "settings").fields if each.path == ("data", "host"))
    assert (host.before, host.after, host.class_) == ("db-1.cloud", UNKNOWN, ChangeClass.INTENDED)
    assert plan.confirmation.level is Level.PHRASE
    await there.apply(plan)
    assert live(there, SETTINGS, "data", "host") == "db-2.cloud"


async def test_an_unknown_key_of_a_list_element_is_a_change_of_that_element() -> None:
    there = world()
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"ports": [{"name": "main", "port": f"{DB}.port"}]},
    }
    await there.release(namespace(), service, resource("db", zone="a"))
    plan = await there.plan(namespace(), service, resource("db", zone="b"))
    fields = {str(each.path[-2]) + "." + str(each.path[-1]): each for each in change(plan, "web").fields}
    port = fields["port=5001,protocol=TCP.port"]
    assert (port.before, port.after, port.class_, port.op) == (5001, UNKNOWN, ChangeClass.INTENDED, Op.CHANGE)
    assert len(fields) == 1


async def test_objects_of_a_cluster_refer_to_each_other_too() -> None:
    there = world()
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    text = "$kusion_path.v1:Service:shop:web"
    bodies = (namespace(), config_map("settings", {"ip": f"{text}.status.ip", "type": f"{text}.spec.type"}), web)
    plan = await there.plan(*bodies)
    after = change(plan, "settings").after
    # the dry run tells the default; the status is known when the object is there
    assert value_at(after, ("data",)) == {"ip": UNKNOWN, "type": "ClusterIP"}
    there.hz.status[KubernetesId("v1", "Service", "shop", "web")] = {"ip": "10.2.2.2"}
    await there.apply(plan)
    assert live(there, SETTINGS, "data") == {"ip": "10.2.2.2", "type": "ClusterIP"}
    assert (await there.plan(*bodies)).is_empty


async def test_drift_is_told_from_what_the_configuration_wants() -> None:
    there = world()
    await there.release(resource("db", size=1, tags="x"))
    of(there).cloud[thing("db")]["size"] = 7
    plan = await there.plan(resource("db", size=1, tags="y"))
    size, tags = (next(f for f in change(plan, "db").fields if f.path == (name,)) for name in ("size", "tags"))
    assert (size.class_, size.before, size.after) == (ChangeClass.DRIFT, 7, 1)
    assert (tags.class_, tags.before, tags.after) == (ChangeClass.INTENDED, "x", "y")


async def test_what_was_deleted_outside_is_made_again_and_said() -> None:
    there = world()
    await there.release(resource("db"))
    del of(there).cloud[thing("db")]
    plan = await there.plan(resource("db"))
    assert (change(plan, "db").action, change(plan, "db").because) == (
        Action.CREATE,
        "somebody deleted it since the last apply",
    )


async def test_a_workspace_that_cannot_be_asked_is_one_problem_and_the_rest_is_shown() -> None:
    there = world()
    there.workspace = Unreachable("no terraform here", hint="install it")
    plan = await there.plan(namespace(), config_map("settings", {"host": f"{DB}.address"}), resource("db"))
    assert [(each.cluster, each.message, each.hint) for each in plan.problems] == [
        ("terraform", "no terraform here", "install it")
    ]
    assert value_at(change(plan, "settings").after, ("data", "host")) is UNKNOWN
    assert [each.name for each in plan.guards if not each.passed] == ["terraform plans"]
    with pytest.raises(Refused):
        approve(plan, plan.confirmation.phrase)


async def test_a_finding_names_the_line_of_its_attribute() -> None:
    there = world()
    of(there).findings = [Finding(True, "must be from 10 to 100", "", thing("db"), ("size",))]
    plan = await there.plan(resource("db", size=1))
    problem = plan.problems[0]
    assert problem.address == Address("terraform", thing("db"))
    assert problem.message == "size: must be from 10 to 100 (/repo/main.k:3)"
    assert problem.source[0].line == 3


async def test_an_attribute_that_is_not_there_is_a_problem_of_who_refers_to_it() -> None:
    there = world()
    plan = await there.plan(namespace(), config_map("settings", {"host": f"{DB}.adress"}), resource("db"))
    assert [each.address for each in plan.problems] == [Address("hz", SETTINGS)]
    assert "adress has no value" in plan.problems[0].message


async def test_a_secret_that_flows_by_reference_is_masked_wherever_it_ends() -> None:
    there = world()
    bodies = (
        namespace(),
        resource("db", password="canary-77"),
        config_map("settings", {"plain": f"{DB}.password"}),
        {**secret("login", {}), "data": {}, "stringData": {"password": f"{DB}.password"}},
    )
    plan = await there.plan(*bodies)
    events = await there.apply(plan)
    assert end(events).outcome is Outcome.SUCCEEDED
    assert live(there, SETTINGS, "data", "plain") == "canary-77"
    login = KubernetesId("v1", "Secret", "shop", "login")
    assert base64.b64decode(live(there, login, "data", "password")) == b"canary-77"
    after = await there.plan(*bodies)
    assert after.is_empty
    assert isinstance(value_at(change(after, "settings").after, ("data", "plain")), Masked)
    assert there.prior is not None
    for said in (repr(plan), repr(events), repr([dict(each.attributes) for each in there.prior.resources.values()])):
        assert "canary-77" not in said


async def test_a_terraform_value_cannot_differ_between_clusters() -> None:
    there = world("hz", "sh")
    load_balancer = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    web = KubernetesId("v1", "Service", "shop", "web")
    record = resource("record", target="$kusion_path.v1:Service:shop:web.status.ip")
    await there.release(namespace(), load_balancer)
    for number, each in enumerate(there.clusters.values()):
        assert isinstance(each, FakeCluster)
        each.status[web] = {"ip": f"10.0.0.{number}"}
    plan = await there.plan(namespace(), load_balancer, record)
    assert "not the same on all clusters (hz, sh)" in plan.problems[0].message
    assert plan.is_refused


# Order


async def test_deletions_go_the_other_way_over_places_too() -> None:
    there = world()
    await there.release(namespace(), config_map("settings", {"host": f"{DB}.address"}), resource("db"))
    plan = await there.plan(namespace())
    events = await there.apply(plan)
    order = names(events)
    assert order.index("StepFinished settings") < order.index("StepStarted db")
    assert of(there).state == {} and of(there).cloud == {}


async def test_terraform_runs_as_often_as_the_places_alternate_and_no_more() -> None:
    there = world()
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "labels": {}}}
    web["metadata"]["labels"] = {"db": f"{DB}.id"}  # type: ignore[index]
    record = resource("record", target="$kusion_path.v1:Service:shop:web.status.ip")
    bodies = (
        namespace(),
        web,
        resource("db"),
        resource("bucket"),
        record,
        resource("alias", of="$kusion_path.acme:cloud:thing:record.id"),
    )
    plan = await there.plan(*bodies)
    assert [[each.address.id.name for each in run] for run in runs(plan, "terraform")] == [
        ["db", "bucket"],
        ["record", "alias"],
    ]
    there.hz.status[KubernetesId("v1", "Service", "shop", "web")] = {"ip": "10.9.9.9"}
    events = await there.apply(plan)
    assert end(events).outcome is Outcome.SUCCEEDED
    assert of(there).cloud[thing("record")]["target"] == "10.9.9.9"
    asked = [only for verb, only in of(there).requests if verb == "apply"]
    assert asked == [frozenset({"db", "bucket"}), frozenset({"record", "alias"})]
    assert (await there.plan(*bodies)).is_empty


async def test_a_value_that_appears_late_is_waited_for_and_one_that_never_does_names_its_field(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executing, "VALUE_PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(executing, "_VALUE_PAUSE_SECONDS", 0.05)
    there = world()
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    record = resource("record", target="$kusion_path.v1:Service:shop:web.status.ip")
    alias = resource("alias", of="$kusion_path.acme:cloud:thing:record.id")
    events = await there.release(namespace(), web, record, alias, resource("free"))
    failed = next(each for each in events if isinstance(each, StepFailed))
    assert failed.address.id == thing("record")
    assert failed.message.startswith("target: v1:Service:shop:web.status.ip has no value yet")
    assert any(isinstance(each, StepProgress) and "waits for" in each.message for each in events)
    skipped = next(each for each in events if isinstance(each, StepSkipped))
    assert (skipped.address.id, skipped.because) == (thing("alias"), Address("terraform", thing("record")))
    assert thing("free") in of(there).state

    there.hz.status[KubernetesId("v1", "Service", "shop", "web")] = {"ip": "10.1.1.1"}
    events = await there.release(namespace(), web, record, alias, resource("free"))
    assert end(events).outcome is Outcome.SUCCEEDED


async def test_what_a_value_is_waited_for_by_is_said_before_and_holds_up_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executing, "VALUE_PATIENCE_SECONDS", 20.0)
    monkeypatch.setattr(executing, "_VALUE_PAUSE_SECONDS", 0.01)
    there = world()
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    bodies = (
        namespace(),
        web,
        resource("record", target="$kusion_path.v1:Service:shop:web.status.ip"),
        resource("alias", of="$kusion_path.acme:cloud:thing:record.id"),
        resource("free"),
        config_map("of-free", {"host": "$kusion_path.acme:cloud:thing:free.address"}),
    )
    plan = await there.plan(*bodies)
    (said,) = plan.notes
    assert said.startswith("thing record @terraform: waits up to 180 s for v1:Service:shop:web.status.ip")

    async def appear() -> None:
        """The address comes only once everything else is there: who waits for it first waits in vain."""
        while KubernetesId("v1", "ConfigMap", "shop", "of-free") not in there.hz.objects:  # noqa: ASYNC110 - no event
            await anyio.sleep(0.01)
        there.hz.status[KubernetesId("v1", "Service", "shop", "web")] = {"ip": "10.1.1.1"}

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(appear)
        events = await there.apply(plan)
        tasks.cancel_scope.cancel()
    assert end(events).outcome is Outcome.SUCCEEDED
    order = names(events)
    assert order.index("StepFinished of-free") < order.index("StepFinished record") < order.index("StepFinished alias")


# What goes wrong


async def test_a_failed_resource_stops_its_dependents_in_both_places_and_nothing_else() -> None:
    there = world()
    of(there).fail["db"] = Rejected("quota is used up", hint="ask for more")
    bodies = (
        namespace(),
        resource("db"),
        resource("reader", of=f"{DB}.id"),
        resource("free"),
        config_map("settings", {"host": f"{DB}.address"}),
        config_map("plain", {"a": "b"}),
    )
    events = await there.release(*bodies)
    failed = next(each for each in events if isinstance(each, StepFailed))
    assert (failed.address.id, failed.kind, failed.message, failed.hint) == (
        thing("db"),
        "Rejected",
        "quota is used up",
        "ask for more",
    )
    skipped = {each.address.id.name: each.because for each in events if isinstance(each, StepSkipped)}
    db = Address("terraform", thing("db"))
    assert skipped == {"reader": db, "settings": db}
    done = {each.address.id.name for each in events if isinstance(each, StepFinished)}
    assert done == {"shop", "free", "plain"}
    assert end(events).outcome is Outcome.PARTIAL
    assert there.prior is not None
    assert there.prior.resources[db].state is StepState.FAILED
    # the next apply does the rest
    del of(there).fail["db"]
    assert end(await there.release(*bodies)).outcome is Outcome.SUCCEEDED
    assert (await there.plan(*bodies)).is_empty


async def test_a_world_that_moved_is_noticed_before_the_first_write() -> None:
    there = world()
    await there.release(namespace(), resource("db", size=1))
    plan = await there.plan(namespace(), resource("db", size=2), config_map("settings", {"host": f"{DB}.address"}))
    of(there).cloud[thing("db")]["size"] = 9
    with pytest.raises(StalePlan) as caught:
        await there.apply(plan)
    assert [each.address for each in caught.value.moved] == [Address("terraform", thing("db"))]
    assert SETTINGS not in there.hz.objects


async def test_what_moved_since_the_check_fails_as_moved_and_the_rest_is_done() -> None:
    there = world()
    await there.release(namespace(), resource("db", size=1), resource("other", size=1))
    bodies = (
        namespace(),
        resource("db", size=2),
        resource("other", size=2),
        config_map("settings", {"host": f"{DB}.size"}),
    )
    plan = await there.plan(*bodies)
    workspace = of(there)
    looks = 0

    def meddle() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:  # after the check, before the run
            workspace.cloud[thing("db")]["zone"] = "elsewhere"

    workspace.before_plan = meddle
    events = await there.apply(plan)
    failed = next(each for each in events if isinstance(each, StepFailed))
    assert (failed.address.id, failed.kind) == (thing("db"), "Moved")
    assert "replace, not update" in failed.message
    assert {each.address.id.name for each in events if isinstance(each, StepSkipped)} == {"settings"}
    assert workspace.cloud[thing("other")]["size"] == 2
    assert workspace.cloud[thing("db")]["size"] == 1


async def test_stopping_interrupts_terraform_once_and_lets_what_was_begun_finish() -> None:
    there = world()
    workspace = of(there)
    workspace.gate = anyio.Event()
    plan = await there.plan(namespace(), resource("db"), resource("other"), config_map("settings", {"h": f"{DB}.id"}))
    journal = there.begin(plan)
    checked = await check(plan, there.places())
    seen: list[Event] = []
    async with execute(plan, checked, journal, there.now) as applying:
        async for event in applying:
            seen.append(event)
            if names([event]) == ["StepStarted db"]:
                await applying.interrupt()
    assert workspace.interrupts == [False]
    assert thing("db") in workspace.state and thing("other") not in workspace.state
    assert end(seen).outcome is Outcome.INTERRUPTED
    assert journal.release.resources[Address("terraform", thing("db"))].state is StepState.DONE


async def test_leaving_early_interrupts_and_waits_for_terraform() -> None:
    there = world()
    workspace = of(there)
    workspace.gate = anyio.Event()
    plan = await there.plan(resource("db"), resource("other"))
    journal = there.begin(plan)
    checked = await check(plan, there.places())
    async with execute(plan, checked, journal, there.now) as applying:
        async for event in applying:
            if names([event]) == ["StepStarted db"]:
                break
    assert workspace.interrupts == [False]
    assert list(workspace.state) == [thing("db")]
    assert journal.release.phase.value == "interrupted"


# Everything away


async def test_destroying_takes_away_what_both_places_have_and_asks_for_the_phrase() -> None:
    there = world()
    bodies = (namespace(), config_map("settings", {"host": f"{DB}.address"}), resource("db"))
    await there.release(*bodies)
    plan = await there.plan(destroys=True)
    assert plan.confirmation.level is Level.PHRASE
    assert {each.action for each in plan.steps()} == {Action.DELETE}
    await there.apply(plan)
    assert there.hz.objects == {} and of(there).cloud == {}
    assert there.prior is not None and there.prior.resources == {}
    assert (await there.plan(*bodies)).summary.create == 3


async def test_a_protected_stack_is_not_destroyed() -> None:
    there = world()
    await there.release(resource("db"))
    there.protected = True
    plan = await there.plan(destroys=True)
    assert [each.name for each in plan.guards if not each.passed] == ["stack not protected"]


async def test_the_plans_id_covers_what_terraform_would_do() -> None:
    there = world()
    await there.release(resource("db", size=1))
    first = await there.plan(resource("db", size=2))
    assert (await there.plan(resource("db", size=2))).id == first.id
    of(there).cloud[thing("db")]["size"] = 3
    assert (await there.plan(resource("db", size=2))).id != first.id
