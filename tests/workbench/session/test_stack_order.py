"""The order that stacks get from what they read of each other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runtimes.base import KubernetesId
from tests.workbench.session.shop import shop
from tests.workbench.session.test_terraform import Place
from workbench.engine.errors import Refused, ReleaseFailure
from workbench.engine.rollout.progress import Phase
from workbench.engine.stack_order import StackCycle
from workbench.present import rollout as presented
from workbench.present.glyphs import UNICODE

CLUSTERS = """\
clusters: {hz: {context: one}, sh: {context: two}}
placements:
  - {stacks: ["*"], clusters: [hz, sh]}
"""
MAIN = """\
import manifests

version = "1"
manifests.yaml_stream([
    {apiVersion = "v1", kind = "Namespace", metadata.name = "NAME"}
    {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "own", namespace = "NAME", labels.app = "NAME"}, data = {
        version = version
        read = 'READ'
    }}
])
"""
GIVES = "outputs: {version: '$kusion_path.v1:ConfigMap:NAME:own.data.version'}\n"


def stacks(**reads: str) -> dict[str, str]:
    """A stack for each name, which reads what is said of the others."""
    found = {"clusters.yaml": CLUSTERS}
    for name, read in reads.items():
        text = f'$workbench.output["{read}/prod", "version"]' if read else "nothing"
        found[f"{name}/project.yaml"] = f"name: {name}\n{GIVES.replace('NAME', name)}"
        found[f"{name}/prod/stack.yaml"] = "name: prod\n"
        found[f"{name}/prod/main.k"] = MAIN.replace("NAME", name).replace("READ", text)
    return found


async def apply(place: Place, stack: str) -> None:
    async with place.open() as opened:
        await place.apply(opened, await opened.plan(opened.select(stack)))


async def test_a_circle_of_stacks_is_an_error_with_every_line(tmp_path: Path) -> None:
    place = Place(shop(tmp_path / "repo", stacks(a="b", b="c", c="a")))
    async with place.open() as opened:
        for name in ("a", "b", "c"):
            with pytest.raises(StackCycle) as raised:
                await opened.plan(opened.select(f"{name}/prod"))
            for one, other in (("a", "b"), ("b", "c"), ("c", "a")):
                root = place.root
                assert f"{one}/prod reads version of {other}/prod ({root}/{one}/prod/main.k:8)" in str(raised.value)
            assert raised.value.where.endswith(f"{name}/prod/main.k:8")


async def test_a_stack_that_reads_itself_is_a_circle(tmp_path: Path) -> None:
    place = Place(shop(tmp_path / "repo", stacks(a="a")))
    async with place.open() as opened:
        with pytest.raises(StackCycle, match="a/prod reads version of a/prod"):
            await opened.diff(opened.select("a/prod"))


async def test_a_plan_says_what_comes_before(tmp_path: Path) -> None:
    place = Place(shop(tmp_path / "repo", stacks(a="b", b="c", c="")))
    await apply(place, "c/prod")
    await apply(place, "b/prod")
    async with place.open() as opened:
        plan = await opened.plan(opened.select("a/prod"))
        assert plan.notes[-1] == "comes after c/prod, b/prod"
        place.root.joinpath("b/prod/main.k").write_text("broken")
        plan = await opened.plan(opened.select("a/prod"))
        assert plan.notes[-1].startswith("whether b/prod reads this stack in turn is not known: ")
        assert not plan.is_refused


async def test_a_rollout_does_what_is_read_first(tmp_path: Path) -> None:
    files = stacks(a="z", z="")
    files["rollout.yaml"] = "stages: [{name: all, stacks: ['a/*', 'z/*'], batches: [1, 2, 3, 100%]}]\n"
    place = Place(shop(tmp_path / "repo", files))
    await apply(place, "z/prod")
    for name in ("a", "z"):
        main = place.root / name / "prod/main.k"
        main.write_text(main.read_text().replace('"own", namespace', '"own", annotations.x = "y", namespace'))
    async with place.open() as opened:
        planned = await opened.plan_rollout()
        assert [(each.stack, each.cluster) for each in planned.schedule.targets] == [
            ("z/prod", "hz"), ("z/prod", "sh"), ("a/prod", "hz"), ("a/prod", "sh"),
        ]  # fmt: skip
        assert planned.doubts == ()
        id_ = await opened.begin_rollout(planned, confirm=planned.confirmation.phrase)
        async with opened.rollout(id_) as events:
            _ = [each async for each in events]
        assert (await opened.rollout_progress(id_)).phase is Phase.FINISHED
        shutil.rmtree(tmp_path / "state/rollouts")
        with pytest.raises(ReleaseFailure, match=f"the record of rollout {id_} is gone; it made a/prod #1 ") as raised:
            await opened.find_rollout(id_)
        assert "z/prod #2 (succeeded, " in str(raised.value) and "wb release list STACK" in raised.value.hint
        with pytest.raises(ReleaseFailure, match="there is no rollout r-00000000"):
            await opened.find_rollout("r-00000000")


async def test_a_rollout_that_changes_what_it_was_planned_with_is_refused(tmp_path: Path) -> None:
    files = stacks(a="z", z="")
    files["rollout.yaml"] = "stages: [{name: all, stacks: ['a/*', 'z/*'], batches: [50%, 100%]}]\n"
    place = Place(shop(tmp_path / "repo", files))
    await apply(place, "z/prod")
    main = place.root / "z/prod/main.k"
    main.write_text(main.read_text().replace('version = "1"', 'version = "2"'))
    async with place.open() as opened:
        planned = await opened.plan_rollout()
        assert planned.overtaken == ("a/prod was planned with output version of z/prod, which this rollout changes",)
        with pytest.raises(Refused, match="which this rollout changes") as refused:
            await opened.begin_rollout(planned, confirm=planned.confirmation.phrase)
        assert refused.value.hint == "roll out first, by itself: z/prod"


async def test_a_rollout_halts_where_what_is_read_changed_on_the_way(tmp_path: Path) -> None:
    files = stacks(a="z", z="")
    files["rollout.yaml"] = "stages: [{name: all, stacks: ['a/*']}]\n"
    place = Place(shop(tmp_path / "repo", files))
    await apply(place, "z/prod")
    async with place.open() as opened:
        planned = await opened.plan_rollout()
        id_ = await opened.begin_rollout(planned, confirm=planned.confirmation.phrase)
        for name in ("hz", "sh"):
            place.clusters[name].edit(KubernetesId("v1", "ConfigMap", "z", "own"), ("data", "version"), "2")
        async with opened.rollout(id_) as events:
            _ = [each async for each in events]
        at = await opened.rollout_progress(id_)
    assert at.phase is Phase.HALTED
    assert "a/prod compiles to something else, or reads something else of z/prod, than when" in str(at)


async def test_a_stage_before_what_it_reads_is_a_doubt(tmp_path: Path) -> None:
    files = stacks(a="z", z="")
    files["rollout.yaml"] = "stages: [{name: one, stacks: ['a/*']}, {name: two, stacks: ['z/*']}]\n"
    place = Place(shop(tmp_path / "repo", files))
    await apply(place, "z/prod")
    main = place.root / "z/prod/main.k"
    main.write_text(main.read_text().replace('"own", namespace', '"own", annotations.x = "y", namespace'))
    async with place.open() as opened:
        planned = await opened.plan_rollout()
    (doubt,) = planned.doubts
    assert doubt == "a/prod reads z/prod in stage one, and z/prod still changes in stage two"
    assert doubt in "\n".join(str(each) for each in presented.planned_lines(planned, UNICODE))
