"""One plan over many stacks: its order, what is known only on the way, what refuses it, its file, going on and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runtimes.base import Health, KubernetesId, Status, Unreachable
from tests.workbench.session.shop import shop
from tests.workbench.session.test_stack_order import stacks
from tests.workbench.session.test_terraform import Place
from workbench.engine.errors import ConfirmationRequired, Refused, ReleaseFailure, StalePlan
from workbench.engine.fleet import TakenOut
from workbench.engine.fleet_plan.execute import Cause, RunEnded, StackReady
from workbench.engine.fleet_plan.values import BlastRadius, FleetPlan
from workbench.engine.plan import Level
from workbench.engine.plan_file import PlanFileInvalid
from workbench.engine.release import Phase, StepState
from workbench.engine.rollout.execute import ReadyBut
from workbench.engine.stack_order import OrderCycle
from workbench.present import fleet_plan as presented
from workbench.present.glyphs import UNICODE
from workbench.release import encoding
from workbench.session import Session


def own(name: str) -> KubernetesId:
    return KubernetesId("v1", "ConfigMap", name, "own")


def made(tmp_path: Path, **reads: str) -> Place:
    return Place(shop(tmp_path / "repo", stacks(**reads)))


def edit(place: Place, name: str, old: str, new: str) -> None:
    main = place.root / name / "prod/main.k"
    assert old in main.read_text()
    main.write_text(main.read_text().replace(old, new))


def read_in(place: Place, name: str, cluster: str = "hz") -> str:
    return str(place.clusters[cluster].body(own(name))["data"]["read"])


async def run(opened: Session, fleet: FleetPlan) -> RunEnded:
    async with opened.apply_stacks(fleet, confirm=fleet.confirmation.phrase, timeout_seconds=20) as events:
        last = [each async for each in events][-1]
    assert isinstance(last, RunEnded)
    return last


def names(ended: Sequence[object]) -> list[str]:
    return [str(getattr(each, "stack", each)) for each in ended]


async def test_stacks_that_are_new_together_are_planned_once_what_they_read_is_known(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="c", c="", d="")
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        assert fleet.stages == (("c/prod", "d/prod"), ("b/prod",), ("a/prod",))
        assert sorted(fleet.plans) == ["c/prod", "d/prod"] and sorted(fleet.deferred) == ["a/prod", "b/prod"]
        assert fleet.radius == BlastRadius(4, ("hz", "sh"), 8, 0, 0, open=2)
        assert fleet.confirmation.level is Level.PHRASE
        assert fleet.confirmation.phrase == "apply 8 resources of 4 stacks"
        with pytest.raises(ConfirmationRequired):
            async with opened.apply_stacks(fleet, confirm="yes"):
                raise AssertionError("nothing may be applied")
        assert place.clusters["hz"].objects == {}
        ended = await run(opened, fleet)
        assert ended.is_whole and ended.steps == 16
        assert {each.stack: each.steps for each in ended.ready} == dict.fromkeys(fleet.stacks, 4)
        assert (read_in(place, "a"), read_in(place, "b", "sh")) == ("1", "1")
        assert {opened.releases(opened.select(each))[0].rollout for each in fleet.stacks} == {fleet.run}
        again = await opened.plan_stacks("?/prod")
        assert again.is_as_configured and again.confirmation.level is Level.NOTHING
        assert again.stages == fleet.stages


async def test_what_one_stack_gives_up_and_another_has_is_not_deleted_beside_it(tmp_path: Path) -> None:
    """A stack is split in two: the new one takes over first, and then the old one has nothing to say about it."""
    place = made(tmp_path, c="", d="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        main = place.root / "c/prod/main.k"
        lines = main.read_text().splitlines(keepends=True)
        moved = "".join(lines[5:9])
        main.write_text("".join(lines[:5] + lines[9:]))
        edit(place, "d", "])", f"{moved}])")
        (refused,) = (await opened.plan_stacks("?/prod")).unplanned
        assert refused.stack == "c/prod" and "v1:ConfigMap:c:own@hz" in refused.why and "d/prod" in refused.why
        assert refused.hint == "apply d/prod first: c/prod leaves alone what another stack took over"
        ended = await run(opened, await opened.plan_stacks("?/prod", skip_stacks=["c/prod"]))
        assert names(ended.ready) == ["d/prod"]
        left = await opened.plan(opened.select("c/prod"))
        assert left.is_empty and left.is_certain, left.gaps
        assert any("its labels say that d/prod has it now" in each for each in left.notes)
        assert own("c") in place.clusters["hz"].objects


async def test_what_a_stack_left_that_is_gone_from_the_repository_is_said_until_another_has_it(tmp_path: Path) -> None:
    """A look at all stacks is a look at those that are there, and ends well however much nobody looks after."""
    place = made(tmp_path, c="", d="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        assert await opened.taken_out() == TakenOut()
    project = place.root / "c/project.yaml"
    project.write_text(project.read_text().replace("name: c", "name: e"))
    async with place.open() as opened:
        (said,) = (await opened.taken_out()).said
        assert said.startswith("c/prod is no stack of this repository any more, and its release 1 left 4 resources")
        await run(opened, await opened.plan_stacks("e/prod"))
        assert await opened.taken_out() == TakenOut()


async def test_what_an_output_changes_follows_within_what_was_approved(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="c", c="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        edit(place, "c", 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        assert fleet.late == {"b/prod": ("output version of c/prod",), "a/prod": ("output version of b/prod",)}
        assert [fleet.plans[each].is_empty for each in ("c/prod", "b/prod", "a/prod")] == [False, True, True]
        assert fleet.radius.stacks == 3 and fleet.radius.open == 2
        shown = "\n".join(str(each) for each in presented.lines(fleet, UNICODE))
        assert "output version of c/prod: known after apply; planned again then" in shown
        ended = await run(opened, fleet)
        assert ended.is_whole
        assert {each.stack: each.steps for each in ended.ready} == {"c/prod": 2, "b/prod": 2, "a/prod": 0}
        assert (read_in(place, "b"), read_in(place, "a")) == ("2", "1")


async def test_a_stack_that_comes_out_otherwise_on_the_way_halts_the_run(tmp_path: Path) -> None:
    place = made(tmp_path, b="c", c="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        edit(place, "c", 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        edit(place, "b", 'labels.app = "b"', 'labels.app = "other"')
        ended = await run(opened, fleet)
        assert names(ended.ready) == ["c/prod"]
        (halted,) = ended.halted
        assert (halted.stack, halted.cause) == ("b/prod", Cause.STALE)
        assert "the configuration compiles to something else now" in halted.why
        assert read_in(place, "b") == "1"
        await run(opened, await opened.plan_stacks("?/prod"))
        assert read_in(place, "b") == "2"


async def test_a_stack_without_a_plan_refuses_the_whole_unless_it_is_skipped(tmp_path: Path) -> None:
    place = made(tmp_path, a="", b="", c="b")
    place.root.joinpath("b/prod/main.k").write_text("broken {")
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        assert fleet.is_refused and not fleet.is_certain
        # what reads the broken one has no value to wait for
        assert sorted(names(fleet.unplanned)) == ["b/prod", "c/prod"]
        with pytest.raises(Refused, match="b/prod: "):
            async with opened.apply_stacks(fleet, confirm=fleet.confirmation.phrase):
                raise AssertionError("nothing may be applied")
        with pytest.raises(Exception, match="a refused plan is not saved"):
            opened.save_fleet_plan(fleet, tmp_path / "plan.json")
        assert place.clusters["hz"].objects == {}
        fleet = await opened.plan_stacks("?/prod", skip_stacks=["b/prod", "c/prod"])
        assert fleet.skipped == ("b/prod", "c/prod") and not fleet.is_refused
        assert names((await run(opened, fleet)).ready) == ["a/prod"]
        done = await opened.plan_stacks("?/prod", skip_stacks=["b/prod", "c/prod"])
        assert done.is_empty and not done.is_as_configured


async def test_stacks_that_read_each_other_in_a_circle_have_no_order(tmp_path: Path) -> None:
    async with made(tmp_path, a="b", b="a").open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        assert sorted(names(fleet.unplanned)) == ["a/prod", "b/prod"]
        assert all("in a circle" in each.why for each in fleet.unplanned)


async def test_an_output_that_nobody_declares_is_not_waited_for(tmp_path: Path) -> None:
    place = made(tmp_path, a="c", c="")
    edit(place, "a", '"version"]', '"no_such"]')
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        assert names(fleet.unplanned) == ["a/prod"] and not fleet.deferred


async def test_a_saved_plan_is_made_again_and_held_to_what_was_approved(tmp_path: Path) -> None:
    place = made(tmp_path, a="c", c="", d="")
    file = tmp_path / "plan.json"
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        opened.save_fleet_plan(fleet, file)
        assert file.stat().st_mode & 0o077 == 0
        loaded = await opened.load_fleet_plan(file)
        assert (loaded.run, loaded.stages, loaded.confirmation) == (fleet.run, fleet.stages, fleet.confirmation)
        assert loaded.id == fleet.id
        assert (await run(opened, loaded)).is_whole
        # the same file again: everything was done by its run
        again = await opened.load_fleet_plan(file)
        assert all(each.is_empty for each in again.plans.values()) and sorted(again.plans) == sorted(fleet.stacks)
        assert (await run(opened, again)).steps == 0


async def test_a_saved_plan_over_many_stacks_is_good_for_as_long_as_it_says(tmp_path: Path) -> None:
    place = made(tmp_path, a="", b="")
    file = tmp_path / "plan.json"
    async with place.open(plan_age=timedelta(hours=1)) as opened:
        opened.save_fleet_plan(await opened.plan_stacks("?/prod"), file)
        await opened.load_fleet_plan(file)
    content = json.loads(file.read_text())
    assert datetime.fromisoformat(content["expires"]) - datetime.fromisoformat(content["made"]) == timedelta(hours=1)
    async with place.open(now=lambda: datetime.now(UTC) + timedelta(minutes=61)) as opened:
        with pytest.raises(StalePlan, match="the plan was good until"):
            await opened.load_fleet_plan(file)
    file.write_text(json.dumps({**content, "expires": ""}))
    async with place.open() as opened:
        with pytest.raises(PlanFileInvalid, match="was changed or cut"):
            await opened.load_fleet_plan(file)


async def test_a_saved_plan_that_is_out_of_date_names_each_stack(tmp_path: Path) -> None:
    place = made(tmp_path, a="", b="")
    file = tmp_path / "plan.json"
    async with place.open() as opened:
        opened.save_fleet_plan(await opened.plan_stacks("?/prod"), file)
        edit(place, "b", 'version = "1"', 'version = "2"')
        with pytest.raises(StalePlan, match="b/prod: the configuration compiles to something else now") as raised:
            await opened.load_fleet_plan(file)
        assert "a/prod" not in str(raised.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"rollsBack": false', '"rollsBack": true'),
        lambda text: json.dumps({**json.loads(text), "skipped": ["a/prod"]}),
        lambda text: json.dumps({**json.loads(text), "plans": []}),
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "{}",
    ],
)
async def test_a_damaged_file_is_no_plan(tmp_path: Path, damage: object) -> None:
    place = made(tmp_path, a="")
    file = tmp_path / "plan.json"
    async with place.open() as opened:
        opened.save_fleet_plan(await opened.plan_stacks("?/prod"), file)
        assert callable(damage)
        file.write_text(damage(file.read_text()))
        with pytest.raises(PlanFileInvalid):
            await opened.load_fleet_plan(file)


async def test_a_plan_of_one_stack_is_not_one_of_many(tmp_path: Path) -> None:
    place = made(tmp_path, a="")
    async with place.open() as opened:
        opened.save_plan(await opened.plan(opened.select("a/prod")), tmp_path / "one.json")
        opened.save_fleet_plan(await opened.plan_stacks("?/prod"), tmp_path / "many.json")
        with pytest.raises(PlanFileInvalid, match="has format"):
            await opened.load_fleet_plan(tmp_path / "one.json")
        with pytest.raises(PlanFileInvalid, match="has format"):
            await opened.load_plan(tmp_path / "many.json")


async def test_a_run_halts_at_a_step_that_fails_and_goes_on_from_its_file(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="", c="", d="b")
    file = tmp_path / "plan.json"
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        for name in "abcd":
            edit(place, name, 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        opened.save_fleet_plan(fleet, file)
        place.clusters["sh"].fail["apply", str(own("b"))] = Unreachable("connection reset", target="sh")
        ended = await run(opened, fleet)
        (halted,) = ended.halted
        assert (halted.stack, halted.cause, halted.steps) == ("b/prod", Cause.FAILED, 1)
        assert "connection reset" in halted.why
        # what goes beside it ends, what reads it does not begin
        assert names(ended.ready) == ["c/prod"]
        waits = "reads b/prod, which is not ready"
        assert ended.left == {"a/prod": waits, "d/prod": waits}
        assert read_in(place, "a") == "1"
        place.clusters["sh"].fail.clear()
        rest = await opened.load_fleet_plan(file)
        assert {stack: len(plan.steps()) for stack, plan in rest.plans.items()} == {"b/prod": 1, "c/prod": 0}
        # what reads it can't be planned before, and is held to what was confirmed
        assert sorted(rest.deferred) == ["a/prod", "d/prod"] and rest.confirmation.level is Level.YES
        edit(place, "d", 'labels.app = "d"', 'labels.app = "other"')
        ended = await run(opened, rest)
        assert sorted(names(ended.ready)) == ["a/prod", "b/prod", "c/prod"] and ended.steps == 3
        assert [(each.stack, each.cause) for each in ended.halted] == [("d/prod", Cause.STALE)]
        assert "the configuration compiles to something else now" in ended.halted[0].why
        edit(place, "d", 'labels.app = "other"', 'labels.app = "d"')
        ended = await run(opened, await opened.load_fleet_plan(file))
        assert ended.is_whole and ended.steps == 2
        assert {place.clusters["sh"].body(own(each))["data"]["version"] for each in "abcd"} == {"2"}
        history = {each: opened.releases(opened.select(f"{each}/prod")) for each in "abcd"}
        assert {each: len(found) for each, found in history.items()} == {"a": 2, "b": 3, "c": 2, "d": 2}
        back = await opened.plan_rollback_stacks(fleet.run)
        assert {stack: plan.rolls_back_to for stack, plan in back.plans.items()} == dict.fromkeys(fleet.stacks, 1)


@pytest.mark.parametrize("is_saved", [True, False], ids=["from its file", "planned again"])
async def test_a_run_killed_between_a_write_and_its_record_goes_on(tmp_path: Path, is_saved: bool) -> None:
    place = made(tmp_path, a="b", b="")
    file = tmp_path / "plan.json"
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        opened.save_fleet_plan(fleet, file)
        b = await opened.load_fleet_plan(file)
        only_b = replace(fleet, plans={"b/prod": b.plans["b/prod"]}, deferred={}, reads={}, resumes=fleet.run)
        assert (await run(opened, only_b)).is_whole
    # the record as it is where nobody came to write what became of the last step
    (record,) = (tmp_path / "state").rglob("b/prod/1.json")
    written = json.loads(record.read_text())
    release = encoding.decode(record.read_bytes())
    address = next(each for each in release.resources if each.id == own("b"))
    resources = {**release.resources, address: replace(release.resources[address], state=StepState.INTENDED)}
    record.write_bytes(encoding.encode(replace(release, phase=Phase.APPLYING, finished=None, resources=resources)))
    assert json.loads(record.read_text()) != written
    async with place.open() as opened:
        again = await (opened.load_fleet_plan(file) if is_saved else opened.plan_stacks("?/prod"))
        assert again.plans["b/prod"].is_empty and list(again.deferred) == ["a/prod"]
        assert (await run(opened, again)).is_whole
        assert read_in(place, "a") == "1"
        found = [(each.revision, each.phase) for each in opened.releases(opened.select("b/prod"))]
        assert found == [(2, Phase.SUCCEEDED), (1, Phase.APPLYING)]


async def test_what_somebody_changed_in_a_stack_left_half_done_is_not_what_was_approved(tmp_path: Path) -> None:
    place = made(tmp_path, b="")
    file = tmp_path / "plan.json"
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        edit(place, "b", 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        opened.save_fleet_plan(fleet, file)
        place.clusters["sh"].fail["apply", str(own("b"))] = Unreachable("connection reset", target="sh")
        await run(opened, fleet)
        place.clusters["sh"].fail.clear()
        place.clusters["sh"].edit(own("b"), ("data", "other"), "by hand")
        with pytest.raises(StalePlan, match=r"b/prod: .*is to be changed otherwise than was approved"):
            await opened.load_fleet_plan(file)


async def test_a_stack_that_is_not_ready_halts_with_why_and_a_stack_as_planned_is_waited_for_too(
    tmp_path: Path,
) -> None:
    place = made(tmp_path, a="b", b="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        edit(place, "a", 'labels.app = "a"', 'labels.app = "other"')
        place.clusters["hz"].become(own("b"), Status.FAILED, reason="Broken")
        fleet = await opened.plan_stacks("?/prod")
        assert fleet.plans["b/prod"].is_empty and not fleet.plans["a/prod"].is_empty
        ended = await run(opened, fleet)
        assert [(each.stack, each.cause) for each in ended.halted] == [("b/prod", Cause.NOT_READY)]
        assert "v1:ConfigMap:b:own@hz: Broken" in ended.halted[0].why
        assert ended.left == {"a/prod": "reads b/prod, which is not ready"}


async def test_a_stack_that_is_ready_says_what_that_leaves_out(tmp_path: Path) -> None:
    """Nothing of it may run what was applied, where pods are replaced when somebody deletes them."""
    place = made(tmp_path, a="", b="")
    old = Health(Status.CURRENT, "OnDelete", "1 of 1 ready, 0 with the present template", is_qualified=True)
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        place.clusters["hz"].health[own("b")] = (old, None)
        async with opened.apply_stacks(fleet, confirm=fleet.confirmation.phrase, timeout_seconds=20) as events:
            found = [each async for each in events]
    (said,) = [each for each in found if isinstance(each, ReadyBut)]
    (after,) = [each for each in found if isinstance(each, StackReady) and each.stack == "b/prod"]
    assert found.index(said) < found.index(after)
    (text,) = map(str, presented.event_lines(said, UNICODE))
    assert text == f"  b/prod  ! ConfigMap b/own @hz: {old.message}"


async def test_a_cluster_that_does_not_answer_refuses_and_is_named(tmp_path: Path) -> None:
    place = made(tmp_path, a="", b="")
    del place.clusters.by_name["sh"]
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        assert fleet.is_refused and sorted(names(fleet.refused)) == ["a/prod", "b/prod"]
        shown = "\n".join(str(each) for each in presented.lines(fleet, UNICODE))
        assert "sh" in shown and "connection refused" in shown and "to confirm" not in shown


async def test_a_rollback_of_many_goes_on_where_it_halted(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        for name in "ab":
            edit(place, name, 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        assert (await run(opened, fleet)).is_whole
        place.clusters["sh"].fail["apply", str(own("b"))] = Unreachable("connection reset", target="sh")
        ended = await run(opened, await opened.plan_rollback_stacks(fleet.run))
        assert names(ended.ready) == ["a/prod"] and names(ended.halted) == ["b/prod"]
        place.clusters["sh"].fail.clear()
        rest = await opened.plan_rollback_stacks(fleet.run)
        assert list(rest.plans) == ["b/prod"]
        assert (await run(opened, rest)).is_whole
        versions = [place.clusters[each].body(own(name))["data"]["version"] for each in ("hz", "sh") for name in "ab"]
        assert versions == ["1"] * 4


async def test_a_run_that_is_stopped_ends_what_was_begun(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="")
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        async with opened.apply_stacks(fleet, confirm=fleet.confirmation.phrase, timeout_seconds=20) as events:
            last = None
            async for event in events:
                last = event
                if isinstance(event, StackReady):
                    await events.interrupt()
        assert isinstance(last, RunEnded)
        assert names(last.ready) == ["b/prod"] and last.left == {"a/prod": "the run was stopped"}
        assert (await run(opened, await opened.plan_stacks("?/prod"))).is_whole


async def test_a_run_is_taken_back_as_a_whole_and_only_what_it_did(tmp_path: Path) -> None:
    place = made(tmp_path, a="c", c="", d="", e="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        for name in ("a", "c", "d"):
            edit(place, name, 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        assert (await run(opened, fleet)).is_whole
        assert read_in(place, "a") == "2"
        back = await opened.plan_rollback_stacks(fleet.run)
        assert sorted(back.plans) == ["a/prod", "c/prod", "d/prod"]
        assert back.stages == (("a/prod",), ("c/prod", "d/prod"))
        assert (await run(opened, back)).is_whole
        assert read_in(place, "a") == "1"
        assert {place.clusters["sh"].body(own(each))["data"]["version"] for each in "acde"} == {"1"}
        with pytest.raises(Exception, match="no stack has a release of the run"):
            await opened.plan_rollback_stacks(fleet.run)


async def test_a_stack_that_was_released_since_refuses_to_be_taken_back(tmp_path: Path) -> None:
    place = made(tmp_path, a="", c="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        for name in ("a", "c"):
            edit(place, name, 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        await run(opened, fleet)
        edit(place, "a", 'version = "2"', 'version = "3"')
        await place.apply(opened, await opened.plan(opened.select("a/prod")))
        back = await opened.plan_rollback_stacks(fleet.run)
        assert [(each.stack, each.why) for each in back.unplanned] == [("a/prod", "release 3 was made since")]
        back = await opened.plan_rollback_stacks(fleet.run, skip_stacks=["a/prod"])
        assert (await run(opened, back)).is_whole
        assert [place.clusters["hz"].body(own(each))["data"]["version"] for each in "ac"] == ["3", "1"]


async def test_what_was_new_with_a_run_goes_with_it(tmp_path: Path) -> None:
    place = made(tmp_path, a="", b="a", c="")
    async with place.open() as opened:
        await place.apply(opened, await opened.plan(opened.select("c/prod")))
        edit(place, "c", 'version = "1"', 'version = "2"')
        fleet = await opened.plan_stacks("?/prod")
        await run(opened, fleet)
        back = await opened.plan_rollback_stacks(fleet.run)
        assert back.stages == (("b/prod",), ("a/prod", "c/prod"))
        assert back.notes == tuple(f"{each}/prod had no release before {fleet.run}: all that it has is taken away"
                                   for each in "ab")  # fmt: skip
        assert back.confirmation.level is Level.PHRASE
        assert "a/prod: everything the stack has is deleted (4 resources)" in back.confirmation.reasons
        place.clusters["hz"].fail["delete", str(own("b"))] = Unreachable("gone", target="hz")
        halted = await run(opened, back)
        assert [each.stack for each in halted.halted] == ["b/prod"] and own("a") in place.clusters["hz"].objects
        place.clusters["hz"].fail.clear()
        saved = tmp_path / "back.plan"
        opened.save_fleet_plan(await opened.plan_rollback_stacks(fleet.run), saved)
        ended = await run(opened, await opened.load_fleet_plan(saved))
        assert ended.is_whole and [each.stack for each in ended.ready if each.is_gone] == ["b/prod", "a/prod"]
        assert sorted(map(str, place.clusters["hz"].objects)) == ["v1:ConfigMap:c:own", "v1:Namespace:c"]
        assert place.clusters["hz"].body(own("c"))["data"]["version"] == "1"
        with pytest.raises(ReleaseFailure, match=r"no stack has a release of the run .* to take back"):
            await opened.plan_rollback_stacks(fleet.run)


async def test_what_a_new_stack_took_over_does_not_go_with_a_run(tmp_path: Path) -> None:
    place = made(tmp_path, a="")
    place.clusters["hz"].put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        await run(opened, fleet)
        back = await opened.plan_rollback_stacks(fleet.run)
        assert back.is_refused and "it took over what was there before, v1:Namespace:a@hz" in back.unplanned[0].why


async def test_many_stacks_are_taken_away_those_that_read_others_first(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="c", c="", d="")
    async with place.open() as opened:
        await run(opened, await opened.plan_stacks("?/prod"))
        gone = await opened.plan_destroy_stacks("?/prod", skip_stacks=["d/prod"])
        assert gone.stages == (("a/prod",), ("b/prod",), ("c/prod",)) and gone.skipped == ("d/prod",)
        assert gone.confirmation.phrase == "destroy 12 resources of 3 stacks" and gone.radius.deletions == 12
        with pytest.raises(ConfirmationRequired):
            async with opened.apply_stacks(gone, confirm="yes"):
                raise AssertionError("nothing may be destroyed")
        file = tmp_path / "gone.json"
        opened.save_fleet_plan(gone, file)
        ended = await run(opened, await opened.load_fleet_plan(file))
        assert [(each.stack, each.is_gone) for each in ended.ready] == [(f"{each}/prod", True) for each in "abc"]
        assert sorted(map(str, place.clusters["hz"].objects)) == ["v1:ConfigMap:d:own", "v1:Namespace:d"]
        entry = next(each for each in opened.audit().entries() if each.action == "destroy many")
        assert (entry.plan, entry.target) == (gone.run, "a/prod, b/prod, c/prod")
        # and there again as they were
        back = await opened.plan_rollback_stacks(gone.run)
        assert (await run(opened, back)).is_whole
        assert (await opened.plan_stacks("?/prod")).is_as_configured


async def test_what_nobody_in_the_plan_gives_is_not_waited_for(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="c", c="", d="")
    edit(
        place,
        "a",
        "version = version",
        """version = version
        more = '$workbench.output["d/prod", "version"]'""",
    )
    async with place.open() as opened:
        fleet = await opened.plan_stacks("[abc]/prod")
        assert names(fleet.unplanned) == ["a/prod"] and sorted(fleet.deferred) == ["b/prod"]
        assert not (await opened.plan_stacks("?/prod")).unplanned


async def test_stacks_are_chosen_by_their_folders_too(tmp_path: Path) -> None:
    files = {
        f"{domain}/{each}": text
        for domain, name in (("payments", "a"), ("ledger", "b"))
        for each, text in stacks(**{name: ""}).items()
        if each != "clusters.yaml"
    }
    place = Place(shop(tmp_path / "repo", {**files, "clusters.yaml": stacks(x="")["clusters.yaml"]}))
    async with place.open() as opened:
        assert [each.name for each in opened.choose("payments/*/prod")] == ["a/prod"]
        assert [each.name for each in opened.choose("[lp]*/*/prod")] == ["b/prod", "a/prod"]
        assert list((await opened.plan_stacks("payments/*/prod")).plans) == ["a/prod"]


def after(place: Place, name: str, *others: str) -> None:
    said = ", ".join(f"{each}/prod" for each in others)
    (place.root / name / "prod/stack.yaml").write_text(f"name: prod\nafter: [{said}]\n")


async def test_a_stack_comes_after_those_that_it_says_and_goes_before_them(tmp_path: Path) -> None:
    place = made(tmp_path, a="", b="", c="b")
    after(place, "b", "a")
    place.clusters["hz"].become(own("a"), Status.FAILED, reason="broken")
    async with place.open() as opened:
        fleet = await opened.plan_stacks("?/prod")
        assert fleet.stages == (("a/prod",), ("b/prod",), ("c/prod",))
        text = "\n".join(str(each) for each in presented.lines(fleet, UNICODE))
        assert "after a/prod" in text
        ended = await run(opened, fleet)
        assert ended.left == {"b/prod": "comes after a/prod, which is not ready", "c/prod": ended.left["c/prod"]}
        place.clusters["hz"].become(own("a"), Status.CURRENT)
        saved = tmp_path / "many.plan"
        opened.save_fleet_plan(await opened.plan_stacks("?/prod"), saved)
        again = await opened.load_fleet_plan(saved)
        assert again.stages == fleet.stages and (await run(opened, again)).is_whole
        assert (await opened.plan_destroy_stacks("?/prod")).stages == tuple(reversed(fleet.stages))


async def test_an_order_that_nobody_can_keep_is_an_error(tmp_path: Path) -> None:
    place = made(tmp_path, a="b", b="", c="")
    after(place, "b", "a")
    async with place.open() as opened:
        with pytest.raises(OrderCycle) as raised:
            await opened.plan_stacks("?/prod")
        assert "a/prod reads b/prod, b/prod is after a/prod" in raised.value.message
        assert raised.value.where.endswith("b/prod/stack.yaml")
    for said, wrong in (("[d/prod]", "'d/prod', which is no stack"), ("[b/prod]", "itself"), ("a/prod", "a list")):
        (place.root / "b/prod/stack.yaml").write_text(f"name: prod\nafter: {said}\n")
        async with place.open() as opened:
            stack = opened.select("b/prod")
            assert wrong in stack.doubts[0].message and stack.doubts[0].where.endswith("stack.yaml:2:1")
            fleet = await opened.plan_stacks("b/prod", "c/prod")
            assert fleet.is_refused
