"""A whole site from one declaration: written, planned and applied as one, halted, gone on with, changed, taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import KubernetesId, Rejected
from tests.workbench.session.site_company import APPLICATIONS, company, declare
from tests.workbench.session.test_many_stacks import run
from tests.workbench.session.test_terraform import Place
from workbench.engine.compiled import CompileFailed
from workbench.engine.copying import CopyRefused
from workbench.engine.errors import ConfirmationRequired
from workbench.engine.sites.declaration import InvalidSite
from workbench.project import OutsideRepository

FEW = ("app00", "app01")


def own(name: str) -> KubernetesId:
    return KubernetesId("v1", "ConfigMap", f"{name}-wuhan-prod", "own")


async def written(place: Place) -> tuple[str, ...]:
    async with place.open() as opened:
        opened.write_new(await opened.new_site("wuhan"))
    async with place.open() as opened:
        return (await opened.site_stacks("wuhan")).stacks


async def test_a_site_of_twelve_applications_comes_in_one_plan_and_goes_in_one(tmp_path: Path) -> None:
    place = company(tmp_path)
    declare(place)
    stacks = await written(place)
    assert stacks == tuple(f"{each}/wuhan-prod" for each in ("platform", *APPLICATIONS))
    cloud = await place.clouds(place.open().select("app03/wuhan-prod"))
    cloud.fail["db"] = Rejected("quota exceeded", target="terraform")
    async with place.open() as opened:
        fleet = await opened.plan_stacks(*stacks)
        assert fleet.stages == (stacks[:1], stacks[1:]) and fleet.radius.clusters == ("sh", "terraform")
        assert not fleet.is_refused
        halted = await run(opened, fleet)
        assert [each.stack for each in halted.halted] == ["app03/wuhan-prod"]
        assert "app11/wuhan-prod" in halted.left, "nothing begins after a failure"
        cloud.fail.clear()
        again = await opened.plan_stacks(*stacks)
        ended = await run(opened, again)
        assert ended.is_whole and len(ended.ready) == 13 and ended.steps < again.radius.resources + halted.steps
        assert (await opened.plan_stacks(*stacks)).is_as_configured
    cluster = place.clusters["sh"]
    for each in APPLICATIONS:
        body = cluster.body(own(each))
        assert body["data"] == {"replicas": "5", "host": "db-1.cloud", "read": "5"}, "what it is made after holds here"
        quota = cluster.body(KubernetesId("v1", "ResourceQuota", f"{each}-wuhan-prod", "quota"))
        assert quota["spec"] == {"hard": {"cpu": "2"}}
    assert place.clusters["hz"].objects == {}, "no other site was touched"
    async with place.open() as opened:
        refused = await opened.plan_destroy_stacks(*stacks)
        assert refused.is_refused, "a protected site is not taken away"
    declare(place, protected="False")
    assert await written(place) == stacks
    async with place.open() as opened:
        names = (await opened.site_stacks("wuhan", to_destroy=True)).stacks
        assert set(names) == set(stacks)
        destroying = await opened.plan_destroy_stacks(*names)
        assert destroying.stages[-1] == stacks[:1], "those that read others go first"
        assert destroying.confirmation.phrase == "destroy 51 resources of 13 stacks"
        with pytest.raises(ConfirmationRequired):
            async with opened.apply_stacks(destroying, confirm="yes"):
                raise AssertionError("nothing may go")
        assert (await run(opened, destroying)).is_whole
    assert cluster.objects == {} and cloud.cloud == {}


async def test_values_come_from_the_declaration_and_files_follow_it(tmp_path: Path) -> None:
    place = company(tmp_path, FEW)
    declare(place, FEW)
    await written(place)
    more = 'app00.components.web = {replicas = 7}\napp01.after = ["app00"]\n'
    declare(place, FEW, more)
    async with place.open() as opened:
        with pytest.raises(InvalidSite) as stale:
            await opened.site_stacks("wuhan")
        assert "says otherwise than the declaration, and 1 file more" in stale.value.message
        created = await opened.new_site("wuhan")
        changed = {each.relative_to(place.root).as_posix() for each in created.copy.changed}
        assert changed == {"app00/wuhan-prod/site.k", "app01/wuhan-prod/stack.yaml"} and not created.copy.files
    await written(place)
    declare(place, FEW, more.replace("7", "8"))
    async with place.open() as opened:
        spec = (await opened.compile(opened.select("app00/wuhan-prod"))).spec
        body = next(each.attributes for each in spec if each.id.name == "own")
        assert body["data"]["replicas"] == "8", "a value needs no file to be written again"
        sites = spec.chain(next(each.id for each in spec if each.id.name == "own"), ("data", "replicas"))
        assert any(each.file == place.root / "sites/wuhan.k" for each in sites)
        assert opened.select("app01/wuhan-prod").after == ("app00/wuhan-prod",)


async def test_what_was_edited_by_hand_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    place = company(tmp_path, FEW)
    declare(place, FEW)
    await written(place)
    file = place.root / "app00/wuhan-prod/stack.yaml"
    file.write_text(file.read_text() + "outputs: {}\n")
    (place.root / "app01/wuhan-prod/main.k").write_text("import models.app\n\nweb: app.App {replicas = 1}\n")
    async with place.open() as opened:
        with pytest.raises(CopyRefused) as refused:
            await opened.new_site("wuhan")
        assert refused.value.message == "was edited since it was written" and refused.value.where == str(file)
    file.unlink()
    await written(place)
    assert "replicas = 1" in (place.root / "app01/wuhan-prod/main.k").read_text(), "this one is people's"


async def test_what_is_not_declared_any_more_is_said_and_goes_with_the_site(tmp_path: Path) -> None:
    place = company(tmp_path, FEW)
    declare(place, FEW)
    await written(place)
    declare(place, FEW[:1])
    async with place.open() as opened:
        found = await opened.site_stacks("wuhan")
        assert "app01/wuhan-prod" not in found.stacks and "app01/wuhan-prod was written for the site" in found.notes[0]
        assert "app01/wuhan-prod" in (await opened.site_stacks("wuhan", to_destroy=True)).stacks
    declare(place, ("app00", "app01", "platform2"))
    (place.root / "sites/wuhan.k").write_text("site = ")
    async with place.open() as opened:
        found = await opened.site_stacks("wuhan", to_destroy=True)
        assert len(found.stacks) == 3 and "whether the site wuhan has more stacks is not known" in found.notes[0]
        with pytest.raises(CompileFailed):
            await opened.site_stacks("wuhan")


async def test_a_stack_of_each_tenant_where_dimensions_say_who_that_is(tmp_path: Path) -> None:
    place = company(tmp_path, FEW)
    root = place.root
    for name, value in (("site", "hz"), ("tenant", "acorn"), ("tenant", "birch")):
        (root / f"dimensions/{name}").mkdir(parents=True, exist_ok=True)
        (root / f"dimensions/{name}/{value}.k").write_text(f'"""What holds for {value}."""\n')
    axes = "".join(f"  - {{name: {each}, folder: dimensions/{each}}}\n" for each in ("site", "tenant"))
    (root / "dimensions.yaml").write_text(f"dimensions:\n{axes}")
    settings = root / "app00/prod/kcl.yaml"
    baselines = "".join(f"    - ${{KCL_MOD}}/dimensions/{each}.k\n" for each in ("site/hz", "tenant/acorn"))
    settings.write_text(settings.read_text().replace("  file:\n", f"  file:\n{baselines}"))
    stack = root / "app00/prod/stack.yaml"
    stack.write_text(stack.read_text() + "dimensions: {site: hz, tenant: acorn}\n")
    tenants = {"tenants": '["acorn", "birch"]', "coordinates": '{site = "wuhan"}'}
    declare(place, FEW[:1], "app00.perTenant = True\n", **tenants)
    with pytest.raises(CopyRefused, match="would read replicas of platform/wuhan-acorn-prod, which is no stack"):
        await written(place)
    declare(place, FEW[:1], "app00.perTenant = True\nplatform.perTenant = True\n", **tenants)
    stacks = await written(place)
    assert stacks == tuple(f"{each}/wuhan-{who}-prod" for each in ("platform", "app00") for who in ("acorn", "birch"))
    async with place.open() as opened:
        birch = opened.select("app00/wuhan-birch-prod")
        assert birch.coordinates == {"site": "wuhan", "tenant": "birch"} and birch.findings == ()
        assert (root / "dimensions/site/wuhan.k").read_text() == '"""What holds for site wuhan."""\n'
        fleet = await opened.plan_stacks(*stacks)
        assert {each.stack: each.why for each in fleet.unplanned} == {}


@pytest.mark.parametrize(
    ("fields", "more", "said"),
    [
        ({"name": '"other"'}, "", "its name is 'other'"),
        ({"clusters": '["nowhere"]'}, "", "there is no cluster 'nowhere'"),
        ({"clusters": "[]"}, "", "says no clusters"),
        ({}, "web = {}\n", "web does not say what it is made after"),
        ({}, 'web.like = "app0/prod"\n', "web is made after 'app0/prod', which is no stack"),
        ({}, 'web.like = "app00/prod"\n', "app00 and web would both be app00/wuhan-prod"),
        ({}, "app00.components.wbe = {replicas = 1}\n", "app00/prod has no component 'wbe'"),
        ({}, 'app00.components.web = {"a b" = 1}\n', "'a b' is no name of KCL"),
        ({}, 'app00.after = ["app09"]\n', "app00 comes after 'app09'"),
        ({}, "app00.perTenant = True\n", "a stack for each tenant, and the site has none"),
        ({"tenants": '["../../x"]'}, "app00.perTenant = True\n", "a tenant can't be called '../../x'"),
        ({"coordinates": "1"}, "", "site: coordinates needs to be a mapping"),
        ({"protected": "1"}, "", "protected is True or False"),
    ],
)
async def test_a_declaration_that_no_site_can_be_made_of(
    tmp_path: Path, fields: dict[str, str], more: str, said: str
) -> None:
    place = company(tmp_path, FEW)
    declare(place, FEW, more, **fields)
    async with place.open() as opened:
        with pytest.raises((InvalidSite, CompileFailed)) as raised:
            await opened.new_site("wuhan")
    assert said in raised.value.message and raised.value.where.startswith(str(place.root / "sites/wuhan.k"))


async def test_nobody_lives_off_another_site_and_nothing_is_found_out_of_place(tmp_path: Path) -> None:
    place = company(tmp_path, FEW)
    declare(place, FEW)
    base = place.root / "app00/base/base.k"
    base.write_text(base.read_text().replace('option("stack")', '"prod"'))
    async with place.open() as opened:
        with pytest.raises(CopyRefused) as raised:
            await opened.new_site("wuhan")
        assert (
            "app00/wuhan-prod would read replicas of platform/prod, not of platform/wuhan-prod" in raised.value.message
        )
        for name in ("../wuhan", "Wuhan", "", "wu-han"):
            with pytest.raises(InvalidSite):
                await opened.new_site(name)
    outside = tmp_path / "outside.k"
    outside.write_text("site = {}\n")
    (place.root / "sites/far.k").symlink_to(outside)
    async with place.open() as opened:
        with pytest.raises(OutsideRepository):
            await opened.new_site("far")


async def test_a_stack_without_a_list_of_its_files_gets_one_at_the_site(tmp_path: Path) -> None:
    place = company(tmp_path, ())
    (place.root / "plain/prod").mkdir(parents=True)
    (place.root / "plain/project.yaml").write_text("name: plain\n")
    (place.root / "plain/prod/stack.yaml").write_text("name: prod\nnamespace: {by: stack}\n")
    body = '{apiVersion = "v1", kind = "ConfigMap", metadata.name = "own", data.stack = option("stack")}'
    (place.root / "plain/prod/main.k").write_text(f"import manifests\n\nmanifests.yaml_stream([{body}])\n")
    declare(place, (), 'plain.like = "plain/prod"\n')
    assert await written(place) == ("platform/wuhan-prod", "plain/wuhan-prod")
    settings = (place.root / "plain/wuhan-prod/kcl.yaml").read_text()
    assert "  - ../prod/main.k\n  - site.k\n  - main.k\n" in settings
    async with place.open() as opened:
        (resource,) = (await opened.compile(opened.select("plain/wuhan-prod"))).spec
        assert resource.attributes["data"] == {"stack": "wuhan-prod"}
    (place.root / "plain/prod/kcl.mod").write_text('[package]\nname = "plain"\n[profile]\nentries = ["main.k"]\n')
    async with place.open() as opened:
        with pytest.raises(InvalidSite, match=r"plain/prod has a kcl.mod of its own"):
            await opened.new_site("wuhan")
