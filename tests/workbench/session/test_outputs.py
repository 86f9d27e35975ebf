"""What one stack gives and another reads: from releases, live objects and states, bound to the plan, or said to be
unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import KubernetesId, Unreachable
from tests.workbench.session.shop import shop
from tests.workbench.session.test_terraform import Place
from workbench.engine.errors import StalePlan
from workbench.engine.events import Outcome
from workbench.engine.masking import Seal
from workbench.engine.outputs import NoOutput, OutputsUnavailable, StackOutputs
from workbench.engine.reads import OutputValue
from workbench.present import documents
from workbench.present import outputs as presented

GIVER = """\
import manifests

manifests.yaml_stream([
    {apiVersion = "v1", kind = "Namespace", metadata.name = "base"}
    {apiVersion = "v1", kind = "Service", metadata = {name = "gate"}, spec.type = "LoadBalancer"}
    {apiVersion = "v1", kind = "Secret", metadata = {name = "keys"}, stringData = {pin = "canary-5e"}}
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "plain"}, data = {zone = "eu", key = "canary-5e"}}
    {
        id = "acme:cloud:thing:db"
        type = "Terraform"
        attributes = {name = "db", password = "canary-9d"}
        extensions.provider = "registry.example/acme/cloud/1.0"
    }
])
"""
OUTPUTS = """\
name: prod
outputs:
  url: >-
    $workbench.format["postgres://%s:%d", "$kusion_path.acme:cloud:thing:db.address",
    "$kusion_path.acme:cloud:thing:db.port"]
  password: $kusion_path.acme:cloud:thing:db.password
  zone: $kusion_path.v1:ConfigMap:plain.data.zone
  shadow: $kusion_path.v1:ConfigMap:plain.data.key
  ip: $kusion_path.v1:Service:gate.status.ip
  gone: $kusion_path.v1:Service:nobody.status.ip
  whole: $kusion_path.v1:ConfigMap:plain.data
"""
READER = """\
import manifests

manifests.yaml_stream([
    {apiVersion = "v1", kind = "Namespace", metadata.name = "app"}
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "own", namespace = "app"}, data = {
        url = '$workbench.output["base/prod", "url"]/orders'
        zone = '$workbench.output["base/prod","zone"]'
    }}
])
"""
CLUSTERS = """\
clusters: {hz: {context: one}, sh: {context: two}}
placements:
  - {stacks: ["base/*"], clusters: [hz, sh], namespace: {by: stack, name: "base"}}
  - {stacks: ["*"], clusters: [hz]}
"""
FILES = {
    "clusters.yaml": CLUSTERS,
    "base/project.yaml": "name: base\n",
    "base/prod/stack.yaml": OUTPUTS,
    "base/prod/main.k": GIVER,
    "app/project.yaml": "name: app\n",
    "app/dev/stack.yaml": "name: dev\n",
    "app/dev/main.k": READER,
}
OWN = KubernetesId("v1", "ConfigMap", "app", "own")
PLAIN = KubernetesId("v1", "ConfigMap", "base", "plain")
GATE = KubernetesId("v1", "Service", "base", "gate")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(shop(tmp_path / "repo", FILES))


async def released(place: Place) -> None:
    async with place.open() as opened:
        assert (await place.apply(opened, await opened.plan(opened.select("base/prod")))).outcome is Outcome.SUCCEEDED


def reading(place: Place, *fields: str) -> None:
    place.root.joinpath("app/dev/main.k").write_text(
        READER.replace('zone = \'$workbench.output["base/prod","zone"]\'', "\n        ".join(fields))
    )


async def given(place: Place) -> StackOutputs:
    async with place.open() as opened:
        return await opened.outputs(opened.select("base/prod"))


async def unavailable(place: Place) -> OutputsUnavailable:
    async with place.open() as opened:
        with pytest.raises(OutputsUnavailable) as raised:
            await opened.plan(opened.select("app/dev"))
    return raised.value


async def test_what_a_stack_gives_is_read_from_what_is_there(place: Place) -> None:
    await released(place)
    for name in ("hz", "sh"):
        place.clusters[name].status[GATE] = {"ip": "10.0.0.1"}
    found = await given(place)
    values = {name: each.value for name, each in found.outputs.items() if isinstance(each, OutputValue)}
    assert values == {
        "url": "postgres://db-1.cloud:5001", "password": "canary-9d", "zone": "eu", "shadow": "canary-5e",
        "ip": "10.0.0.1", "whole": {"zone": "eu", "key": "canary-5e"},
    }  # fmt: skip
    secret = {name for name, each in found.outputs.items() if isinstance(each, OutputValue) and each.is_secret}
    assert secret == {"password", "shadow", "whole"}
    gone = found.outputs["gone"]
    assert isinstance(gone, NoOutput) and "stack.yaml:10:3: " in gone.why
    assert "v1:Service:nobody.status.ip names no resource that release 1 has" in gone.why
    assert not found.is_known
    ip = found.outputs["ip"]
    assert isinstance(ip, OutputValue)
    assert [str(each) for each in ip.givers] == ["status.ip of v1:Service:base:gate@hz,sh"]
    shown = json.dumps(presented.document(found, Seal.random())) + repr(found)
    assert "canary" not in shown and "10.0.0.1" in shown


async def test_a_stack_reads_it_when_planned_and_says_where_it_is_from(place: Place) -> None:
    await released(place)
    async with place.open() as opened:
        stack = opened.select("app/dev")
        assert '$workbench.output["base/prod", "url"]' in str((await opened.compile(stack)).spec.documents())
        plan = await opened.plan(stack)
        url, zone, order = plan.notes
        assert order == "comes after base/prod"
        assert url.startswith(
            "output url of base/prod is postgres://db-1.cloud:5001, from address of acme:cloud:thing:db@"
        )
        assert "(release 1, read at " in url and url.endswith("for data.url of v1:ConfigMap:app:own")
        assert "from data.zone of v1:ConfigMap:base:plain@hz,sh" in zone
        (first, _) = documents.plan(plan, place.root)["reads"]
        assert (first["stack"], first["name"], first["value"], first["release"], first["fields"]) == (
            "base/prod", "url", "postgres://db-1.cloud:5001", 1, ["data.url of v1:ConfigMap:app:own"],
        )  # fmt: skip
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        assert place.clusters["hz"].body(OWN)["data"] == {"url": "postgres://db-1.cloud:5001/orders", "zone": "eu"}
        assert (await opened.plan(stack)).is_empty
        assert not (await opened.diff(stack)).is_different


async def test_another_value_makes_a_plan_stale(place: Place, tmp_path: Path) -> None:
    await released(place)
    async with place.open() as opened:
        stack = opened.select("app/dev")
        plan = await opened.plan(stack)
        opened.save_plan(plan, tmp_path / "saved")
        for name in ("hz", "sh"):
            place.clusters[name].edit(PLAIN, ("data", "zone"), "us")
        with pytest.raises(StalePlan, match="output zone of base/prod has another value now"):
            await place.apply(opened, plan)
        with pytest.raises(StalePlan, match="or what it reads of base/prod, is something else now"):
            await opened.load_plan(tmp_path / "saved")
        place.clusters["sh"].edit(PLAIN, ("data", "zone"), "eu")
        with pytest.raises(StalePlan, match=r"output zone of base/prod can't be had any more: .* not the same on all"):
            await place.apply(opened, plan)
    assert OWN not in place.clusters["hz"].objects


async def test_a_secret_there_is_one_here(place: Place) -> None:
    await released(place)
    reading(
        place,
        'pass = \'$workbench.output["base/prod","password"]\'',
        'auth = \'$workbench.base64encode["x:$workbench.output[\\\\"base/prod\\\\",\\\\"shadow\\\\"]"]\'',
    )
    async with place.open() as opened:
        plan = await opened.plan(opened.select("app/dev"))
        shown = json.dumps(documents.plan(plan, place.root)) + "".join(plan.notes) + repr(plan)
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
    assert place.clusters["hz"].body(OWN)["data"]["pass"] == "canary-9d"
    assert place.clusters["hz"].body(OWN)["data"]["auth"] == "eDpjYW5hcnktNWU="
    record = "".join(each.read_text() for each in place.root.parent.joinpath("state").rglob("*.json"))
    for secret in ("canary-", "eDpjYW5hcnktNWU"):
        assert secret not in shown and secret not in record


async def test_what_was_never_released_is_no_empty_text(place: Place) -> None:
    error = await unavailable(place)
    assert error.reasons == (
        "output url of base/prod for data.url of v1:ConfigMap:app:own: base/prod has no release",
        "output zone of base/prod for data.zone of v1:ConfigMap:app:own: base/prod has no release",
    )
    assert error.hint == "apply it first: wb apply base/prod"
    assert error.where.endswith("app/dev/main.k:6")
    async with place.open() as opened:
        assert (await opened.plan_destroy(opened.select("app/dev"))).is_empty


@pytest.mark.parametrize(
    ("field", "why", "hint"),
    [
        ("x = '$workbench.output[\"base/prod\",\"nosuch\"]'", "base/prod declares no such output", "it gives url, "),
        ("x = '$workbench.output[\"base/prodd\",\"url\"]'", "repository has no such stack", "did you mean base/prod"),
        ("x = '$workbench.output[\"base/prod\",\"gone\"]'", "names no resource that release 1 has", "apply base/prod"),
        ("x = '$workbench.output[\"base/prod\",\"ip\"]'", "has no value yet in hz, sh", "wb watch base/prod"),
    ],
)  # fmt: skip
async def test_what_is_not_given_is_said_with_the_line(place: Place, field: str, why: str, hint: str) -> None:
    await released(place)
    reading(place, field)
    error = await unavailable(place)
    assert why in error.message and "data.x of v1:ConfigMap:app:own" in error.message
    assert hint in error.hint
    assert error.where.endswith("app/dev/main.k:7")


async def test_what_is_gone_or_foreign_or_silent_or_failed_is_not_taken(place: Place) -> None:
    await released(place)
    sh = place.clusters["sh"]
    kept = sh.objects[PLAIN]
    del sh.objects[PLAIN]
    assert "v1:ConfigMap:base:plain@sh is not there any more, and release 1 left it there" in str(
        await unavailable(place)
    )
    sh.objects[PLAIN] = replace(kept, uid="another")
    assert "v1:ConfigMap:base:plain@sh is another one than release 1 left there" in str(await unavailable(place))
    sh.objects[PLAIN] = kept
    sh.fail["read", str(PLAIN)] = Unreachable("timed out", target="sh")
    assert "v1:ConfigMap:base:plain@sh can't be read: timed out" in str(await unavailable(place))
    sh.fail.clear()
    place.clouds.by_stack["base/prod"].state.clear()
    assert "acme:cloud:thing:db@terraform is not there any more" in str(await unavailable(place))


async def test_a_step_that_failed_or_another_cluster_gives_nothing(place: Place) -> None:
    place.clusters["sh"].fail["apply", str(PLAIN)] = Unreachable("timed out", target="sh")
    async with place.open() as opened:
        await place.apply(opened, await opened.plan(opened.select("base/prod")))
    assert "release 1 failed on v1:ConfigMap:base:plain@sh" in str(await unavailable(place))
    place.clusters["sh"].fail.clear()
    await released(place)
    place.clusters["sh"].identity = replace(place.clusters["sh"].identity, uid="another")
    assert "in sh@uid-of-s, and no name leads to that cluster now" in str(await unavailable(place))


async def test_a_state_of_another_machine_is_not_known_here(place: Place) -> None:
    await released(place)
    async with place.open() as opened:
        opened._settings = replace(opened._settings, host="laptop")
        with pytest.raises(OutputsUnavailable, match="made on box, whose Terraform state is not on this machine"):
            await opened.plan(opened.select("app/dev"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("outputs: [a]", "outputs needs to be a mapping"),
        ("outputs: {1: x}", "outputs has the name 1"),
        ("outputs: {a: [x]}", "outputs.a needs to be text"),
        ("outputs: {url: 'x $workbench.'}", "none follows"),
        ('outputs: {url: \'$workbench.output["app/dev", "x"]\'}', "made of what another stack gives"),
    ],
)
async def test_a_broken_declaration_is_said_with_its_line(place: Place, said: str, why: str) -> None:
    await released(place)
    place.root.joinpath("base/prod/stack.yaml").write_text(f"name: prod\n{said}\n")
    error = await unavailable(place)
    assert why in error.message and "stack.yaml:2:" in error.message
    async with place.open() as opened:
        assert (await opened.plan(opened.select("base/prod"))).is_empty


async def test_a_project_declares_for_all_its_stacks(place: Place) -> None:
    await released(place)
    place.root.joinpath("base/project.yaml").write_text("name: base\noutputs: {zone: fixed, other: 'a $$workbench.'}\n")
    found = await given(place)
    texts: dict[str, Any] = {name: each.value for name, each in found.outputs.items() if isinstance(each, OutputValue)}
    assert (texts["zone"], texts["other"]) == ("eu", "a $workbench.")


async def test_what_a_stack_declares_and_has_not_is_said_when_it_is_planned(place: Place) -> None:
    async with place.open() as opened:
        plan = await opened.plan(opened.select("base/prod"))
    (note,) = plan.notes
    assert "stack.yaml:10:3: output gone can't be given to others: $kusion_path.v1:Service:nobody.status.ip" in note


async def test_what_nobody_declares_is_found_without_asking_anybody(place: Place) -> None:
    reading(place, 'x = \'$workbench.output["base/prod","nosuch"]\'', 'y = \'$workbench.output["no/where","x"]\'')
    async with place.open() as opened:
        spec = (await opened.compile(opened.select("app/dev"))).spec
        found = [(use.output.name, why.why) for use, why in opened.not_declared(spec)]
        assert found == [
            ("nosuch", "base/prod declares no such output"),
            ("x", "this repository has no such stack"),
        ]
        resource = spec.get(OWN)
        assert resource is not None
        (url,) = opened.output_origins(spec, resource, ("data", "url"))
        assert url == f"output url of base/prod is declared at {place.root}/base/prod/stack.yaml:3:3"
        assert len(opened.output_origins(spec, resource, ())) == 3
        place.root.joinpath("base/prod/stack.yaml").write_text("outputs: [")
        assert [use.output.stack for use, _ in opened.not_declared(spec)] == ["no/where"]


async def test_what_a_value_looks_like_is_text(place: Place) -> None:
    await released(place)
    for name in ("hz", "sh"):
        place.clusters[name].edit(PLAIN, ("data", "zone"), '$workbench.output["x", "y"] $kusion_path.z ref://env/X')
    async with place.open() as opened:
        await place.apply(opened, await opened.plan(opened.select("app/dev")))
    assert place.clusters["hz"].body(OWN)["data"]["zone"] == '$workbench.output["x", "y"] $kusion_path.z ref://env/X'


async def test_a_number_becomes_text_where_only_texts_are_known(place: Place) -> None:
    await released(place)
    stack = place.root / "base/prod/stack.yaml"
    stack.write_text(stack.read_text() + "  port: $kusion_path.acme:cloud:thing:db.port\n")
    reading(place, 'port = \'$workbench.output["base/prod","port"]\'')
    async with place.open() as opened:
        await place.apply(opened, await opened.plan(opened.select("app/dev")))
    assert place.clusters["hz"].body(OWN)["data"]["port"] == "5001"


async def test_a_cluster_that_got_another_name_is_followed(place: Place) -> None:
    await released(place)
    place.clusters.by_name["north"] = place.clusters.by_name.pop("sh")
    text = place.root.joinpath("clusters.yaml").read_text()
    place.root.joinpath("clusters.yaml").write_text(text.replace("sh:", "north:").replace("[hz, sh]", "[hz, north]"))
    zone = (await given(place)).outputs["zone"]
    assert isinstance(zone, OutputValue) and zone.givers[0].places == ("hz", "north")


async def test_the_settings_of_a_provider_read_outputs_too(place: Place) -> None:
    await released(place)
    place.root.joinpath("app/dev/main.k").write_text("""\
import manifests

manifests.yaml_stream([{
    id = "acme:cloud:thing:mine"
    type = "Terraform"
    attributes.name = "mine"
    extensions = {
        provider = "registry.example/acme/cloud/1.0"
        providerMeta = {
            zone = '$workbench.output["base/prod", "zone"]'
            token = '$workbench.output["base/prod", "shadow"]'
        }
    }
}])
""")
    async with place.open() as opened:
        plan = await opened.plan(opened.select("app/dev"))
        (mine,) = plan.spec.resources
        assert mine.extensions["providerMeta"] == {"zone": "eu", "token": "canary-5e"}
        assert "for extensions.providerMeta.zone of acme:cloud:thing:mine" in plan.notes[0]
        assert "canary" not in "".join(plan.notes) + json.dumps(documents.plan(plan, place.root))
