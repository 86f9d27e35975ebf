"""What exists is found wherever it was applied from, and what can't be known is said: never "nothing to do"."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address
from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.session.shop import shop
from tests.workbench.session.test_terraform import FILES, SETTINGS, Clouds, Place
from workbench.engine.errors import Refused, ReleaseFailure
from workbench.engine.events import Action, Outcome
from workbench.engine.plan import Level
from workbench.project import UnknownStack
from workbench.session import Session
from workbench.settings import Settings

DB = Address("terraform", thing("db"))
SHARED = {
    **FILES,
    **{
        f"pay/{each}/stack.yaml": f"name: {each}\n"
        f"terraform: {{backend: {{type: s3, config: {{bucket: b, key: {each}}}}}}}\n"
        for each in ("dev", "prod", "alone")
    },
}


@pytest.fixture(params=["shared backend", "local state"])
def is_shared(request: pytest.FixtureRequest) -> bool:
    return str(request.param) == "shared backend"


@pytest.fixture
def place(tmp_path: Path, is_shared: bool) -> Place:
    return Place(shop(tmp_path / "repo", SHARED if is_shared else FILES))


def machine(place: Place, name: str, *, sees_state: bool = True) -> Session:
    """Another machine on the same clusters: no releases, and Terraform's state only where machines share it."""
    state = place.root.parent / name
    clouds: Any = place.clouds if sees_state else Clouds()
    settings = Settings(state, state, user="eve", host=name)
    return Session.open(place.root, settings=settings, connect=place.clusters, connect_workspace=clouds)


async def released(place: Place) -> None:
    async with place.open() as opened:
        done = await place.apply(opened, await opened.plan(opened.select("pay/dev")))
        assert done.outcome is Outcome.SUCCEEDED


def edit(place: Place, before: str, after: str, file: str = "pay/dev/main.k") -> None:
    text = (place.root / file).read_text()
    assert before in text
    (place.root / file).write_text(text.replace(before, after))


async def test_a_second_machine_never_says_that_nothing_is_to_be_destroyed(place: Place, is_shared: bool) -> None:
    await released(place)
    async with machine(place, "second", sees_state=is_shared) as second:
        stack = second.select("pay/dev")
        away = await second.plan_destroy(stack)
        # a shared state tells what it has; what labels alone tell is said, as it may be another repository's
        assert [each.address for each in away.steps()] == ([DB] if is_shared else [])
        assert not away.is_certain
        assert {str(each.subject) for each in away.gaps if each.exists} == {"v1:Namespace:pay", str(SETTINGS)}
        assert all("--adopt" in each.hint for each in away.gaps if each.exists)
        assert any(each.place == "terraform" and not each.exists for each in away.gaps) == (not is_shared)

        away = await second.plan_destroy(stack, adopt=True)
        assert {each.address.id for each in away.steps()} >= {SETTINGS} and away.confirmation.level is Level.PHRASE
        assert away.is_certain == is_shared
        assert (await place.apply(second, away)).outcome is Outcome.SUCCEEDED
        assert place.clusters["hz"].objects == {}
        assert (place.clouds.by_stack["pay/dev"].cloud == {}) == is_shared
        # what this release did not know of is not known to be gone either
        again = await second.plan_destroy(stack)
        assert again.is_empty and again.is_certain == is_shared
        if not is_shared:
            with pytest.raises(Refused, match="is not known"):
                async with second.apply(again):
                    raise AssertionError("nothing may be recorded")


async def test_what_left_the_configuration_is_found_by_a_second_machine(place: Place, is_shared: bool) -> None:
    await released(place)
    edit(place, "[space, settings, db]", "[space]")
    async with machine(place, "second", sees_state=is_shared) as second:
        stack = second.select("pay/dev")
        plan = await second.plan(stack)
        assert not plan.is_certain and [each.subject for each in plan.gaps] == [SETTINGS]
        assert [each.address for each in plan.steps()] == ([DB] if is_shared else [])
        assert (await second.diff(stack)).is_different
        adopting = await second.plan(stack, adopt=True)
        assert SETTINGS in {each.address.id for each in adopting.steps() if each.action is Action.DELETE}
        left = await second.plan(stack, prune=False)
        assert left.is_certain, "what is left on purpose is no gap"


async def test_what_carries_the_labels_already_and_was_released_elsewhere_is_not_changed_in_silence(
    place: Place,
) -> None:
    """It may be another repository's, whose project and stack have the same names."""
    await released(place)
    stack = "pay/dev"
    edit(place, 'name = "settings", namespace = "pay"', 'name = "settings", namespace = "pay", labels.a = "b"')
    async with machine(place, "second") as second:
        plan = await second.plan(second.select(stack))
        (said,) = (each for each in plan.warnings if "another repository" in each)
        assert said.startswith("1 object to be changed carries the labels of pay/dev already")
    async with place.open() as opened:
        known = await opened.plan(opened.select(stack))
        assert known.steps() and not any("another repository" in each for each in known.warnings)


async def test_a_second_machine_does_not_make_terraform_resources_twice_on_a_plain_yes(place: Place) -> None:
    await released(place)
    async with machine(place, "second", sees_state=False) as second:
        plan = await second.plan(second.select("pay/dev"))
        assert plan.summary.create == 1 and plan.confirmation.level is Level.PHRASE
        assert "may be there already" in " ".join(plan.confirmation.reasons)


async def test_a_stack_that_was_never_applied_is_known_to_have_nothing_where_that_can_be_known(place: Place) -> None:
    async with place.open() as opened:
        away = await opened.plan_destroy(opened.select("web/dev"))
        assert away.is_empty and away.is_certain and not away.is_refused
        plan = await opened.plan(opened.select("pay/dev"))
        assert plan.is_certain and plan.confirmation.level is Level.YES


async def test_what_was_destroyed_here_is_known_to_be_gone(place: Place) -> None:
    await released(place)
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan_destroy(stack))
        again = await opened.plan_destroy(stack)
        assert again.is_empty and again.is_certain


async def test_a_checkout_that_was_moved_is_told_where_its_records_are_and_takes_them_over(place: Place) -> None:
    await released(place)
    former = place.root
    place.root = former.rename(former.with_name("moved"))
    here, place.clouds = place.clouds, Clouds()  # its state lies in the folder of the former path
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        plan = await opened.plan(stack)
        assert plan.summary.create == 1 and plan.confirmation.level is Level.PHRASE
        reasons = " ".join(plan.confirmation.reasons)
        assert f"the checkout in {former}, which is gone, has 2 released objects" in reasons
        assert f"wb release move {former}" in reasons
        away = await opened.plan_destroy(stack)
        assert any(str(former) in each.message and each.exists for each in away.gaps)
        place.clouds = here
        assert opened.take_over(former) == ("pay/dev",)
    async with place.open() as opened:
        plan = await opened.plan(stack := opened.select("pay/dev"))
        assert plan.is_empty and plan.is_certain
        assert len((await opened.plan_destroy(stack)).steps()) == 3


async def test_records_are_taken_over_whole_or_not_at_all(place: Place) -> None:
    await released(place)
    former, state = place.root, place.root.parent / "state"
    async with place.open() as opened:
        with pytest.raises(ReleaseFailure, match="still there"):
            opened.take_over(former)
    place.root = former.rename(former.with_name("moved"))
    await released(place)
    before = sorted(state.rglob("*"))
    async with place.open() as opened:
        with pytest.raises(ReleaseFailure, match="both checkouts"):
            opened.take_over(former)
        with pytest.raises(ReleaseFailure, match="no records"):
            opened.take_over(former.with_name("nowhere"))
    assert sorted(state.rglob("*")) == before


@pytest.mark.parametrize(
    ("clusters", "said"),
    [
        ("clusters: {sh: {context: two}}\nplacements:\n  - {stacks: ['*'], clusters: [sh]}\n", "names no such cluster"),
        (
            "clusters: {hz: {context: one}, sh: {context: two}}\nplacements:\n  - {stacks: ['*'], clusters: [sh]}\n",
            "goes there no more",
        ),
    ],
)
async def test_a_cluster_that_the_stack_left_is_not_forgotten(place: Place, clusters: str, said: str) -> None:
    await released(place)
    (place.root / "clusters.yaml").write_text(clusters)
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        plan = await opened.plan(stack)
        (gap,) = plan.gaps
        assert (gap.place, gap.exists) == ("hz", True) and said in gap.message and "2 resources" in gap.message
        away = await opened.plan_destroy(stack)
        if "names no such" in said:
            assert [each.place for each in away.gaps] == ["hz"] and not away.is_certain
        else:
            assert Address("hz", SETTINGS) in {each.address for each in away.steps()} and away.is_certain
    async with machine(place, "second") as second:
        away = await second.plan_destroy(second.select("pay/dev"))
        if "names no such" not in said:
            assert any(each.place == "hz" and each.exists for each in away.gaps), "found by its labels"


async def test_a_cluster_the_stack_does_not_go_to_need_not_answer(place: Place) -> None:
    await released(place)
    del place.clusters.by_name["sh"]
    async with machine(place, "second") as second:
        away = await second.plan_destroy(second.select("pay/dev"), adopt=True)
        assert not away.is_refused and "sh" not in away.clusters
        assert any(each.startswith("sh was not queried") for each in away.warnings)
    del place.clusters.by_name["hz"]
    async with machine(place, "third") as third:
        away = await third.plan_destroy(third.select("pay/dev"))
        assert away.is_refused and not away.is_certain


async def test_a_renamed_stack_says_whose_objects_it_takes_and_that_others_may_be_left(place: Place) -> None:
    await released(place)
    (place.root / "pay/dev").rename(place.root / "pay/preview")
    edit(place, "name: dev", "name: preview", "pay/preview/stack.yaml")
    edit(place, '"*/dev"', '"*/dev", "*/preview"', "clusters.yaml")
    async with place.open() as opened:
        plan = await opened.plan(opened.select("pay/preview"))
        assert plan.confirmation.level is Level.PHRASE and not plan.is_certain
        assert any("another stack, pay/dev" in each for each in plan.confirmation.reasons)
        (gap,) = [each for each in plan.gaps if "pay/dev" in each.message]
        assert "workbench.konfig.io/stack=dev" in gap.hint
        with pytest.raises(UnknownStack) as unknown:
            opened.select("pay/dev")
        assert "release 1 of it has 3 resources" in unknown.value.hint


async def test_a_state_that_holds_something_is_asked_whatever_the_release_says(tmp_path: Path) -> None:
    place = Place(shop(tmp_path / "repo", FILES))
    edit(place, "[space, settings, db]", "[space]")
    await released(place)
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        assert (await opened.plan(stack)).workspace == ""
        (folder,) = (tmp_path / "state" / "releases").iterdir()
        local = tmp_path / "state" / "terraform" / folder.name / "pay" / "dev"
        local.mkdir(parents=True)
        place.clouds.by_stack["pay/dev"] = cloud = FakeWorkspace()
        cloud.make(thing("db"), {"name": "db"}, None)
        for content in ('{"resources": [{}]}', "", '{"resour'):
            (local / "terraform.tfstate").write_text(content)
            assert [each.address for each in (await opened.plan(stack)).steps()] == [DB]
        (local / "terraform.tfstate").rename(local / "terraform.tfstate.backup")
        assert (await opened.plan(stack)).workspace == "terraform"
