"""A stack in clusters and in Terraform of which one part is planned, as the other cannot be asked or shall not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address, Misconfigured, Overloaded, RuntimeFailure
from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.session.shop import shop
from tests.workbench.session.test_terraform import FILES, SETTINGS, Place
from workbench.engine.errors import Refused
from workbench.engine.events import Action, Outcome
from workbench.project import UnknownCluster

LOCKED = Overloaded("the state is locked", target="terraform", hint="wait")
DB = Address("terraform", thing("db"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(shop(tmp_path / "repo", FILES))


def edit(place: Place, before: str, after: str) -> None:
    file = place.root / "pay/dev/main.k"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def workspace(place: Place) -> FakeWorkspace:
    return place.clouds.by_stack["pay/dev"]


async def test_clusters_are_changed_though_terraform_cannot_be_asked(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan(stack))
        edit(place, "data = {host", 'data = {colour = "red", host')
        workspace(place).broken, asked = LOCKED, len(workspace(place).requests)
        assert (await opened.plan(stack)).is_refused
        asked = len(workspace(place).requests)
        plan = await opened.plan(stack, clusters=["hz"])
        assert not plan.is_refused and plan.is_certain
        assert any("terraform was not started" in each for each in plan.notes)
        assert any("those its last apply recorded" in each for each in plan.notes)
        assert (plan.places, [each.address.id for each in plan.steps()]) == (("hz",), [SETTINGS])
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        assert len(workspace(place).requests) == asked, "terraform was not started"
        assert place.clusters["hz"].body(SETTINGS)["data"] == {"colour": "red", "host": "db-1.cloud"}
        # the release goes on knowing what was not looked at
        assert DB in opened.releases(stack)[0].resources
        workspace(place).broken = None
        assert (await opened.plan(stack)).is_empty
        away = await opened.plan_destroy(stack)
        order = [each.address.id for each in away.steps()]
        assert order.index(SETTINGS) < order.index(thing("db")), "who reads it goes first, as ever"


@pytest.mark.parametrize("unreadable", [None, LOCKED])
async def test_what_needs_a_value_of_terraform_that_nobody_recorded_is_withheld_and_said(
    place: Place, unreadable: RuntimeFailure | None
) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        if unreadable is not None:
            await place.apply(opened, await opened.plan(stack))
            workspace(place).unreadable = unreadable
        plan = await opened.plan(stack, clusters=["hz"])
        assert not plan.is_refused and not plan.is_certain
        (gap,) = plan.gaps
        assert gap.subject == SETTINGS and "which this needs" in gap.message and not gap.exists
        assert SETTINGS not in {each.address.id for each in plan.changes}
        assert not any(each.action is Action.DELETE for each in plan.steps()), "withheld is not gone"
        found = await opened.diff(stack, clusters=["hz"])
        assert not found.is_certain
        if unreadable is not None:
            edit(place, 'metadata.name = "pay"}', 'metadata = {name = "pay", labels.a = "b"}}')
            await place.apply(opened, await opened.plan(stack, clusters=["hz"]))
            assert Address("hz", SETTINGS) in opened.releases(stack)[0].resources, "withheld is not forgotten"


async def test_nothing_is_deleted_while_something_is_withheld(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan(stack))
        edit(place, "[space, settings, db]", "[settings, db]")
        assert (await opened.plan(stack, clusters=["hz"])).summary.delete == 1
        workspace(place).unreadable = LOCKED
        plan = await opened.plan(stack, clusters=["hz"])
        assert plan.summary.delete == 0 and any("nothing is deleted" in each for each in plan.notes)


async def test_terraform_is_changed_though_no_cluster_can_be_asked(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan(stack))
    place.clusters.by_name.clear()
    (place.root / "pay/base/base.k").write_text(FILES["pay/base/base.k"].replace("default=1", "default=2"))
    async with place.open() as opened:
        assert (await opened.plan(stack)).is_refused
        plan = await opened.plan(stack, clusters=["terraform"])
        assert (plan.places, [each.address for each in plan.steps()]) == (("terraform",), [DB])
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        assert workspace(place).cloud[thing("db")]["size"] == 2
        assert Address("hz", SETTINGS) in opened.releases(stack)[0].resources


async def test_terraform_is_not_changed_where_its_releases_are_in_a_cluster_that_is_away(place: Place) -> None:
    place.clusters.by_name.clear()
    async with place.open(repository="git.example.org/pay") as opened:
        plan = await opened.plan(opened.select("pay/dev"), clusters=["terraform"])
        assert [each.name for each in plan.guards if not each.passed] == ["releases known"]
        with pytest.raises(Refused, match="can't be read"):
            await place.apply(opened, plan)


async def test_what_terraform_needs_of_a_cluster_is_read_or_withheld(place: Place) -> None:
    edit(place, "manifests.yaml", 'rec = db | {id = "acme:cloud:thing:rec", attributes = {name = "rec", ip = '
         '"$kusion_path.v1:ConfigMap:pay:settings.status.ip"}}\nmanifests.yaml')  # fmt: skip
    edit(place, "[space, settings, db]", "[space, settings, db, rec]")
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        plan = await opened.plan(stack, clusters=["terraform"])
        (gap,) = plan.gaps
        assert gap.subject == thing("rec") and "settings.status.ip" in gap.message
        assert [each.address for each in plan.steps()] == [DB]
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        place.clusters["hz"].put(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "pay"}}
        )
        place.clusters["hz"].status[SETTINGS] = {"ip": "10.0.0.9"}
        plan = await opened.plan(stack, clusters=["terraform"])
        assert (plan.gaps, [each.address.id for each in plan.steps()]) == ((), [thing("rec")])
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        assert workspace(place).cloud[thing("rec")]["ip"] == "10.0.0.9"


async def test_a_saved_plan_of_a_part_is_made_again_of_that_part(place: Place, tmp_path: Path) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan(stack))
        edit(place, "data = {host", 'data = {colour = "red", host')
        opened.save_plan(await opened.plan(stack, clusters=["hz"]), tmp_path / "part")
        opened.save_plan(await opened.plan(stack), tmp_path / "whole")
        workspace(place).broken = LOCKED
        assert (await opened.load_plan(tmp_path / "part")).places == ("hz",)
        with pytest.raises(Refused, match="not everything could be asked: terraform: the state is locked"):
            await opened.load_plan(tmp_path / "whole")


async def test_a_secret_that_terraform_recorded_stays_one(place: Place) -> None:
    edit(place, "thing:db.address", "thing:db.password")
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        edit(place, "manifests.yaml_stream([space, settings, db])", "manifests.yaml_stream([db])")
        await place.apply(opened, await opened.plan(stack))
        edit(place, "manifests.yaml_stream([db])", "manifests.yaml_stream([space, settings, db])")
        plan = await opened.plan(stack, clusters=["hz"])
        (change,) = [each for each in plan.changes if each.address.id == SETTINGS]
        assert change.resource is not None and change.resource.attributes["data"] == {"host": "canary-9d"}
        from workbench.present import diff, documents
        from workbench.present.glyphs import UNICODE

        now = opened._now()
        shown = [str(each) for each in diff.detail_text(change, plan.spec, (place.root,), UNICODE, now)]
        assert "canary" not in "".join(shown) + str(documents.plan(plan, place.root)) + repr(plan)
        await place.apply(opened, plan)
    record = "".join(each.read_text() for each in place.root.parent.joinpath("state").rglob("*.json*"))
    assert "canary-9d" not in record


async def test_a_place_the_stack_has_not_is_named_with_those_it_has(place: Place) -> None:
    async with place.open() as opened:
        with pytest.raises(UnknownCluster, match="nothing in Terraform"):
            await opened.plan(opened.select("web/dev"), clusters=["terraform"])
        with pytest.raises(UnknownCluster, match="does not go to 'sh'"):
            await opened.plan(opened.select("pay/dev"), clusters=["sh"])


async def test_a_workspace_that_cannot_even_be_opened_withholds_only_what_needs_it(place: Place) -> None:
    async def nowhere(stack: Any) -> Any:
        raise Misconfigured("no terraform on PATH", target="terraform")

    place.clouds = nowhere  # type: ignore[assignment]
    async with place.open() as opened:
        plan = await opened.plan(opened.select("pay/dev"), clusters=["hz"])
    assert [each.address.id.name for each in plan.steps()] == ["pay"] and len(plan.gaps) == 1
