"""References inside longer texts: interpolated in both places, honest about what is not known, masked with what is."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import UNKNOWN, KubernetesId, Rejected, value_at
from tests.workbench.engine.test_terraform import DB, SETTINGS, change, end, live, of, world
from tests.workbench.engine.world import World, config_map, deployment, namespace, resource, secret, spec_of
from workbench.engine.errors import SpecInvalid
from workbench.engine.events import Action, Outcome
from workbench.engine.masking import Masked
from workbench.engine.plan import Plan
from workbench.present.diff import detail_text
from workbench.present.glyphs import UNICODE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
URL = f"postgres://host-{DB}.address:{DB}.port/db?x={DB}.name"
WEB = "$kusion_path.v1:Service:shop:web"


def shown(plan: Plan, name: str) -> str:
    return "\n".join(str(each) for each in detail_text(change(plan, name), plan.spec, (Path("/repo"),), UNICODE, NOW))


async def test_a_reference_inside_a_text_never_reaches_a_cluster() -> None:
    there = world()
    bodies = (
        namespace(),
        config_map("settings", {"url": URL, "twice": f"{DB}.name,{DB}.name", "doc": "write $$kusion_path.ID.ATTR"}),
        deployment("web", args=[f"--db={DB}.address"], env=[{"name": "URL", "value": URL}]),
        resource("db"),
    )
    plan = await there.plan(*bodies)
    data = value_at(change(plan, "settings").after, ("data",))
    assert data == {
        "url": "postgres://host-(known after apply):(known after apply)/db?x=db",
        "twice": "db,db",
        "doc": "write $kusion_path.ID.ATTR",
    }
    assert "host-(known after apply):" in shown(plan, "settings")
    url = next(each for each in change(plan, "settings").fields if each.path == ("data", "url"))
    assert url.is_unknown
    assert end(await there.apply(plan)).outcome is Outcome.SUCCEEDED
    assert live(there, SETTINGS, "data") == {
        "url": "postgres://host-db-1.cloud:5001/db?x=db",
        "twice": "db,db",
        "doc": "write $kusion_path.ID.ATTR",
    }
    web = KubernetesId("apps/v1", "Deployment", "shop", "web")
    (container,) = live(there, web, "spec", "template", "spec", "containers")
    assert container["args"] == ["--db=db-1.cloud"]
    assert container["env"][0]["value"] == "postgres://host-db-1.cloud:5001/db?x=db"
    assert (await there.plan(*bodies)).is_empty
    assert there.prior is not None
    assert not any("$kusion_path" in repr(each) for each in _bodies(there))


def _bodies(there: World) -> list[Any]:
    return [value_at(there.hz.body(SETTINGS), ("data", "url"))]


async def test_the_dry_run_gets_the_text_around_the_placeholder() -> None:
    there = world()
    asked: list[Any] = []
    plan_one = there.hz.plan

    async def listening(request: Any) -> Any:
        asked.append(request.resource.attributes)
        return await plan_one(request)

    there.hz.plan = listening  # type: ignore[method-assign]
    await there.plan(namespace(), config_map("settings", {"url": URL}), resource("db"))
    sent = next(each for each in asked if each["kind"] == "ConfigMap")
    assert sent["data"]["url"] == "postgres://host-known-after-apply:known-after-apply/db?x=db"


async def test_a_change_of_what_is_inside_is_a_change_of_the_text() -> None:
    there = world()
    bodies = [namespace(), config_map("settings", {"url": URL}), resource("db", zone="a")]
    await there.release(*bodies)
    plan = await there.plan(*bodies[:2], resource("db", zone="b"))
    (url,) = (each for each in change(plan, "settings").fields if each.path == ("data", "url"))
    assert (url.before, str(url.after)) == (
        "postgres://host-db-1.cloud:5001/db?x=db",
        "postgres://host-(known after apply):(known after apply)/db?x=db",
    )
    await there.apply(plan)
    assert live(there, SETTINGS, "data", "url") == "postgres://host-db-2.cloud:5002/db?x=db"


async def test_a_secret_inside_a_text_masks_all_of_it_wherever_it_ends() -> None:
    there = world()
    text = f"postgres://ann:{DB}.password@{DB}.address/db"
    joined = f"{DB}.password-and-more/{DB}.name"
    bodies = (
        namespace(),
        resource("db", password="canary-77"),
        resource("copy", note=text),
        config_map("settings", {"plain": text, "joined": joined}),
        {**secret("login", {}), "data": {}, "stringData": {"url": text}},
    )
    plan = await there.plan(*bodies)
    login = KubernetesId("v1", "Secret", "shop", "login")
    assert value_at(change(plan, "login").after, ("data", "url")) is UNKNOWN
    for name in ("settings", "login"):
        assert "ann:" not in shown(plan, name)
    events = await there.apply(plan)
    assert end(events).outcome is Outcome.SUCCEEDED
    assert live(there, SETTINGS, "data", "plain") == "postgres://ann:canary-77@db-1.cloud/db"
    assert live(there, SETTINGS, "data", "joined") == "canary-77-and-more/db"
    assert base64.b64decode(live(there, login, "data", "url")) == b"postgres://ann:canary-77@db-1.cloud/db"
    after = await there.plan(*bodies)
    assert after.is_empty
    for key in ("plain", "joined"):
        assert isinstance(value_at(change(after, "settings").after, ("data", key)), Masked)
    assert there.prior is not None
    for said in (
        repr(plan),
        repr(after),
        repr(events),
        repr([dict(each.attributes) for each in there.prior.resources.values()]),
    ):
        assert "canary-77" not in said
    assert "canary-77" not in shown(after, "settings") + shown(after, "copy")


async def test_texts_of_terraform_hold_what_clusters_have_and_what_terraform_gets() -> None:
    there = world()
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    there.hz.status[KubernetesId("v1", "Service", "shop", "web")] = {"ip": "10.2.2.2"}
    record = resource("record", target=f"{WEB}.metadata.name at {WEB}.status.ip via {DB}.address; $$kusion_path.x")
    plan = await there.plan(namespace(), web, resource("db"), record)
    assert value_at(change(plan, "record").after, ("target",)) == (
        "web at (known after apply) via (known after apply); $kusion_path.x"
    )
    assert end(await there.apply(plan)).outcome is Outcome.SUCCEEDED
    found = next(body for id_, body in of(there).cloud.items() if id_.name == "record")
    assert found["target"] == "web at 10.2.2.2 via db-1.cloud; $kusion_path.x"
    assert (await there.plan(namespace(), web, resource("db"), record)).is_empty


async def test_a_live_value_that_looks_like_a_reference_is_text() -> None:
    there = world()
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    there.hz.status[KubernetesId("v1", "Service", "shop", "web")] = {"ip": f"{DB}.password"}
    record = resource("record", target=f"{WEB}.status.ip", other=f"at {WEB}.status.ip")
    plan = await there.plan(namespace(), web, resource("db", password="canary-77"), record)
    assert end(await there.apply(plan)).outcome is Outcome.SUCCEEDED
    found = next(body for id_, body in of(there).cloud.items() if id_.name == "record")
    assert (found["target"], found["other"]) == (f"{DB}.password", f"at {DB}.password")


async def test_what_cannot_stand_in_a_text_is_a_problem_that_names_it() -> None:
    there = world()
    await there.release(namespace(), resource("db", tags=["a", "b"]))
    plan = await there.plan(
        namespace(), resource("db", tags=["a", "b"]), config_map("settings", {"x": f"tags: {DB}.tags"})
    )
    assert plan.is_refused
    assert "data.x" in plan.problems[0].message and "a list" in plan.problems[0].message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"x {DB}x.address y", "names no resource of this stack"),
        (f"x {DB} y", "but no attribute of it"),
        ("x$kusion_path.", "names no resource"),
    ],
)
def test_a_reference_inside_a_text_that_leads_nowhere_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SpecInvalid, match=said) as refused:
        spec_of(config_map("settings", {"host": text}), resource("db"))
    assert "data.host of v1:ConfigMap:shop:settings" in str(refused.value)
    assert refused.value.where == "/repo/main.k:3"


async def test_a_text_refused_with_placeholders_is_a_warning() -> None:
    there = world()
    there.hz.fail["plan", str(SETTINGS)] = Rejected("not a URL")
    plan = await there.plan(namespace(), config_map("settings", {"url": URL}), resource("db"))
    assert not plan.is_refused and change(plan, "settings").action is Action.CREATE
    assert "not a URL" in change(plan, "settings").warnings[0]


async def test_what_is_waited_for_inside_a_text_is_said_once_and_without_the_text_behind_it() -> None:
    there = world()
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    text = f"http://{WEB}.status.ip/x {WEB}.status.ip-y {WEB}.status.port"
    plan = await there.plan(namespace(), web, config_map("settings", {"url": text}))
    (said,) = plan.notes
    name = "v1:Service:shop:web.status"
    assert f"180 s for {name}.ip and {name}.port, as far as they have no value yet" in said
