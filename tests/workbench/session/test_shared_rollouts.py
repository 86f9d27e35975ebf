"""A rollout that every machine sees: one carries it out, the others are told, and may ask, refuse and go on with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bucket_server import BucketServer
from tests.workbench.session.machines import NAMESPACE, Machines, apply, machines
from workbench.bucket_url import BucketUrl
from workbench.engine.errors import Locked, Refused, ReleaseFailure
from workbench.engine.events import StepFinished
from workbench.engine.rollout.progress import Phase, Progress
from workbench.engine.rollout.values import Ask, BatchBegan, BatchReady
from workbench.present import rollout as present
from workbench.present.glyphs import ASCII
from workbench.release import rollouts
from workbench.release.former_rollouts import FormerRollouts
from workbench.release.store import repository_name
from workbench.session import Session

STAGES = """\
stages:
  - {name: pre, stacks: ["web/dev"]}
  - {name: east, stacks: ["web/prod"], clusters: [hz]}
  - {name: rest, stacks: ["web/prod"], approval: true}
"""
DEV = "stages: [{name: all, stacks: ['web/dev']}]\n"
PROD = "stages: [{name: all, stacks: ['web/prod']}]\n"


class Fleet(Machines):
    """Machines whose checkouts have stages. `bucket` keeps their releases, where there is one."""

    bucket: BucketUrl | None = None

    def session(self, name: str, *, stages: str = STAGES, **settings: Any) -> Session:
        (self.root(name) / "rollout.yaml").write_text(stages)
        return super().session(name, releases_bucket=self.bucket, **settings)

    def cut_off(self, name: str, cluster: int, **settings: Any) -> Session:
        """A machine that one of the clusters does not answer."""
        config = self.sandbox.kubeconfig()
        config["clusters"][cluster]["cluster"]["server"] = "https://127.0.0.1:1"  # type: ignore[index]
        (self.home / f"{name}.broken").write_text(json.dumps(config))
        (self.root(name) / "rollout.yaml").write_text(STAGES)
        return self.at(name, self.home / f"{name}.broken", releases_bucket=self.bucket, **settings)


@pytest.fixture(params=["clusters", "bucket"])
async def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Fleet]:
    async with machines(tmp_path) as found:
        fleet = Fleet(found.sandbox, found.home, found.opened)
        if request.param == "bucket":
            server: BucketServer = request.getfixturevalue("bucket_server")
            fleet.bucket = server.bucket()
        yield fleet


ONE_PLACE = pytest.mark.parametrize(
    "fleet", ["clusters", pytest.param("bucket", marks=pytest.mark.soak)], indirect=True
)
"""For what does not depend on the place: that both keep records alike is held by `tests/workbench/release`."""


@pytest.fixture
async def clusters(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with machines(tmp_path) as found:
        yield Fleet(found.sandbox, found.home, found.opened)


async def begun(session: Session) -> str:
    planned = await session.plan_rollout()
    return await session.begin_rollout(planned, confirm=planned.confirmation.phrase)


async def carried_out(session: Session, id_: str) -> Progress:
    async with session.rollout(id_) as run:
        async for _ in run:
            pass
    return await session.rollout_progress(id_)


async def test_every_machine_sees_it_and_who_carries_it_out(fleet: Fleet) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    assert (await ben.rollouts()).known == ()
    id_ = await begun(ann)
    (seen,) = (await ben.rollouts()).known
    assert (seen.id, seen.runner, seen.progress.began.user) == (id_, None, "ann")
    assert seen.place == (str(fleet.bucket) if fleet.bucket else "hz")
    async with ann.rollout(id_) as run:
        async for _ in run:
            break
        seen = await ben.find_rollout(id_)
        assert seen.runner is not None and seen.runner.who.startswith("ann@host-of-ann pid")
        assert ben.is_rolling_out(seen)
        with pytest.raises(Locked, match="ann@host-of-ann pid"):
            async with ben.rollout(id_):
                pass
    assert (await ben.find_rollout(id_)).runner is None


async def test_another_machine_pauses_approves_and_ends_it(fleet: Fleet) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    id_ = await begun(ann)
    async with ann.rollout(id_) as run:
        async for event in run:
            if isinstance(event, BatchBegan):
                await ben.ask_rollout(id_, Ask.PAUSE)
    at = await ben.rollout_progress(id_)
    assert (at.phase, at.ready) == (Phase.PAUSED, frozenset({("pre", 0)}))
    await ben.ask_rollout(id_, Ask.RESUME)
    assert (await carried_out(ben, id_)).phase is Phase.WAITING
    await ann.ask_rollout(id_, Ask.APPROVE, stage="rest")
    at = await carried_out(ben, id_)
    assert at.phase is Phase.FINISHED, at.halted
    assert at.approved["rest"].user == "ann" and len(at.done) == at.total
    assert (await ann.rollout_progress(id_)).phase is Phase.FINISHED


@ONE_PLACE
async def test_another_machine_aborts_it_before_its_next_batch(fleet: Fleet) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    id_ = await begun(ann)
    async with ann.rollout(id_) as run:
        async for event in run:
            if isinstance(event, BatchBegan):
                await ben.ask_rollout(id_, Ask.ABORT)
    at = await ann.rollout_progress(id_)
    assert (at.phase, at.touched) == (Phase.ABORTED, ("web/dev",)), "the batch under way ended, and no other one began"
    await begun(ben)


@ONE_PLACE
async def test_one_rollout_of_a_stack_over_all_machines(fleet: Fleet) -> None:
    ann, ben = fleet.session("ann", stages=PROD), fleet.session("ben")
    other = fleet.session("cid", stages=DEV)
    id_ = await begun(ann)
    with pytest.raises(Refused, match=f"rollout {id_} of web/prod has not ended: it is open"):
        await begun(ben)
    assert len((await ben.rollouts()).known) == 1, "what was refused left nothing"
    await begun(other)
    await ben.ask_rollout(id_, Ask.ABORT)
    with pytest.raises(Refused, match="of web/dev has not ended"):
        await begun(ben)


async def test_the_claim_alone_holds_another_rollout_off(fleet: Fleet) -> None:
    """Two that look at the same moment see no other rollout."""
    ann, ben = fleet.session("ann", stages=PROD), fleet.session("ben", stages=PROD)
    id_ = await begun(ann)
    planned = await ben.plan_rollout()
    view = ben._rollouts()
    began = planned.began("r-ffffffff", ben._now(), user="ben", host="box", reason="", salt=b"s")
    homes = await view.homes([ben._goes_of(planned.plans["web/prod"])])
    with pytest.raises(Refused, match=f"rollout {id_} of web/prod has not ended"):
        await view._claim(replace(began, homes=homes), "hz")


@ONE_PLACE
async def test_a_plan_says_that_a_rollout_is_under_way(fleet: Fleet) -> None:
    ann, ben = fleet.session("ann", stages=DEV), fleet.session("ben")
    dev, prod = ben.select("web/dev"), ben.select("web/prod")
    id_ = await begun(ann)
    assert any(f"rollout {id_} of this stack is open" in each for each in (await ben.plan(dev)).warnings)
    assert not any("rollout" in each for each in (await ben.plan(prod)).warnings)
    async with ann.rollout(id_) as run:
        async for _ in run:
            break
        said = (await ben.plan(dev)).warnings
        assert any("is open, carried out by ann@host-of-ann pid" in each for each in said), said
        said = (await ben.plan_destroy(dev)).warnings
        assert any(f"rollout {id_} of this stack" in each for each in said), said
    await ben.ask_rollout(id_, Ask.ABORT)
    assert not any("rollout" in each for each in (await ben.plan(dev)).warnings)


async def test_who_is_replaced_between_two_batches_begins_no_other_one(fleet: Fleet) -> None:
    stages = "stages: [{name: pre, stacks: [web/dev], ready_for: 6s}, {name: rest, stacks: [web/prod]}]\n"
    ann, ben = fleet.session("ann", stages=stages), fleet.session("ben", stages=stages)
    id_ = await begun(ann)
    with pytest.raises(ReleaseFailure, match=r"somebody else carries it out|taken over|taken away"):
        async with ann.rollout(id_) as run:
            async for event in run:
                if isinstance(event, BatchReady):
                    holder = await ben.unlock_rollout(id_)
                    assert await ben.unlock_rollout(id_, holder) == holder
                    async with ben.rollout(id_) as other:
                        await other.interrupt()
    at = await ben.rollout_progress(id_)
    assert (at.phase, at.touched, at.ready) == (Phase.OPEN, ("web/dev",), frozenset({("pre", 0)}))
    assert (await carried_out(ben, id_)).phase is Phase.FINISHED


async def test_who_lost_the_rollout_applies_no_step(clusters: Fleet) -> None:
    class Lost:
        token = "t"
        checks = 0

        def verify(self) -> None:
            if self.checks > 1:
                raise ReleaseFailure("the lock was taken over by ben")

        async def check(self) -> None:
            self.checks += 1
            self.verify()

        async def renew(self) -> None:
            pass

        async def release(self) -> None:
            raise AssertionError("it is the caller's")

    ann, lost = clusters.session("ann"), Lost()
    plan = await ann.plan(ann.select("web/dev"))
    async with ann.apply(plan, confirm=plan.confirmation.phrase, held={"r-00000001": lost}) as events:
        every = [each async for each in events]
    assert lost.checks > 1 and not any(isinstance(each, StepFinished) for each in every), every
    assert clusters.sandbox.clusters[0].find("configmaps", "web-dev", "front") is None


async def test_a_cluster_that_is_silent_has_not_no_rollouts(clusters: Fleet) -> None:
    ann = clusters.session("ann")
    id_ = await begun(ann)
    ben = clusters.cut_off("ben", 0)
    found = await ben.rollouts()
    assert found.known == () and list(found.silent) == ["hz"]
    with pytest.raises(ReleaseFailure, match=f"whether there is a rollout {id_} is not known"):
        await ben.rollout_progress(id_)
    with pytest.raises(ReleaseFailure, match="not known"):
        await ben.ask_rollout(id_, Ask.PAUSE)
    cid = clusters.cut_off("cid", 1)
    found = await cid.rollouts()
    assert [each.id for each in found.known] == [id_] and list(found.silent) == ["sh"]


def harm(clusters: Fleet, *, spares_the_copy: bool) -> str:
    """Edits the record of the rollout, and its copy or not; returns its name."""
    found = [each for each in clusters.secrets() if each["type"] == "workbench.konfig.io/rollout.v1"]
    first, copy = sorted(found, key=lambda each: len(each["metadata"]["name"]))
    for secret in (first,) if spares_the_copy else (first, copy):
        edited = {**secret, "data": {**secret["data"], "records": secret["data"]["records"][:-8] + "AAAAAAA="}}
        clusters.sandbox.clusters[0].update("secrets", NAMESPACE, secret["metadata"]["name"], edited)
    return str(first["metadata"]["name"])


async def test_a_damaged_record_is_told_by_its_copy_and_gone_on_with(clusters: Fleet) -> None:
    ann, ben = clusters.session("ann", stages=DEV), clusters.session("ben", stages=DEV)
    id_ = await begun(ann)
    harm(clusters, spares_the_copy=True)
    known = await ben.find_rollout(id_)
    assert (
        "checksum" in known.damage and "nothing is missing" in known.damage and (await ben.rollouts()).unreadable == ()
    )
    lines = [str(each) for each in present.progress_lines(present.Shown(known, ben._now()), ASCII)]
    assert any(each.startswith("! its record does not match its checksum") for each in lines), lines
    assert present.document(present.Shown(known, ben._now()))["damage"] == known.damage
    with pytest.raises(Refused, match=f"rollout {id_} of web/dev has not ended"):
        await begun(ben)
    assert (await carried_out(ben, id_)).phase is Phase.FINISHED
    assert (await ann.find_rollout(id_)).damage == ""


async def test_a_stack_whose_claim_has_no_record_is_not_said_to_be_free(clusters: Fleet) -> None:
    ann, ben = clusters.session("ann", stages=DEV), clusters.session("ben", stages=DEV)
    id_ = await begun(ann)
    for each in clusters.secrets():
        if each["type"] == "workbench.konfig.io/rollout.v1":
            clusters.sandbox.clusters[0].delete("secrets", NAMESPACE, each["metadata"]["name"])
    said = (await ben.plan(ben.select("web/dev"))).warnings
    assert any(f"whether rollout {id_} of this stack" in each and "its record is gone" in each for each in said), said
    assert (await carried_out(ben, await begun(ben))).phase is Phase.FINISHED, "who deleted it wants to begin again"


async def test_a_damaged_record_is_named_and_refuses_another_rollout(clusters: Fleet) -> None:
    ann, ben = clusters.session("ann"), clusters.session("ben")
    id_ = await begun(ann)
    named = harm(clusters, spares_the_copy=False)
    (broken,) = (await ben.rollouts()).unreadable
    assert broken.id == id_ and "checksum" in str(broken.error) and named in broken.error.where
    assert f"delete {named} and {named}-copy in namespace {NAMESPACE}" in broken.error.hint
    with pytest.raises(ReleaseFailure, match="checksum"):
        await ben.rollout_progress(id_)
    with pytest.raises(Refused, match=f"rollout {id_} cannot be read"):
        await begun(ben)
    said = (await ben.plan(ben.select("web/dev"))).warnings
    assert any("has ended is not known: its record does not match its checksum" in each for each in said), said


async def test_what_an_older_version_recorded_here_is_taken_over(clusters: Fleet) -> None:
    from workbench.engine.rollout.records import encode

    ann, ben = clusters.session("ann", repository=""), clusters.session("ben")
    id_ = await begun(ann)
    began = (await ann.rollout_progress(id_)).began
    folder = clusters.home / "ann/state/rollouts" / repository_name(clusters.root("ann"))
    for each in folder.glob("rollouts/*"):
        each.unlink()
    content = {key: value for key, value in encode(began).items() if key != "homes"}
    (folder / f"{id_}.jsonl").write_text(json.dumps(content) + "\n" + '{"kind": "Wai')
    ann = clusters.session("ann")
    (former,) = (await ann.rollouts()).known
    assert (former.id, former.is_former) == (id_, True)
    with pytest.raises(Refused, match=f"rollout {id_} of"):
        await begun(ann)
    assert (await ben.rollouts()).known == ()
    await ann.ask_rollout(id_, Ask.PAUSE)
    (seen,) = (await ben.rollouts()).known
    assert (seen.id, seen.place, seen.progress.phase) == (id_, "hz", Phase.PAUSED)
    assert FormerRollouts(folder).ids() == () and len((await ann.rollouts()).known) == 1
    await ben.ask_rollout(id_, Ask.RESUME)
    assert (await carried_out(ben, id_)).phase is Phase.WAITING


async def test_only_the_last_that_ended_are_kept_and_all_that_have_not(
    clusters: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollouts, "KEPT_ROLLOUTS", 2)
    ann, ben = clusters.session("ann", stages=PROD), clusters.session("ben", stages=DEV)
    ids = [await begun(ann)]
    for _ in range(5):
        ids.append(await begun(ben))
        await ben.ask_rollout(ids[-1], Ask.ABORT)
    kept = {each.id for each in (await ben.rollouts()).known}
    assert kept == {ids[0], *ids[-3:]}


async def test_an_apply_beside_it_halts_it_and_no_batch_is_lost(clusters: Fleet) -> None:
    ann, ben = clusters.session("ann", stages=STAGES.replace(", approval: true", "")), clusters.session("ben")
    id_ = await begun(ann)
    async with ann.rollout(id_) as run:
        async for event in run:
            if isinstance(event, BatchReady) and event.stage == "pre":
                clusters.edit("ben", "web/dev/main.k", "replicas = 1", "replicas = 2")
                plan = await ben.plan(ben.select("web/dev"))
                assert any(id_ in each for each in plan.warnings)
                await apply(ben, plan)
    at = await ben.rollout_progress(id_)
    assert at.phase is Phase.HALTED and at.halted is not None
    assert "was changed after its batch" in at.halted.why, at.halted.why


async def test_what_a_bucket_keeps_is_seen_by_a_machine_that_keeps_its_releases_in_clusters(
    clusters: Fleet, bucket_server: BucketServer
) -> None:
    fleet = clusters
    fleet.bucket = bucket_server.bucket()
    ann = fleet.session("ann", stages=DEV)
    fleet.bucket = None
    ben = fleet.session("ben", stages=DEV)
    id_ = await begun(ann)
    said = (await ben.plan(ben.select("web/dev"))).warnings
    assert any(f"whether rollout {id_} of this stack, recorded in s3://" in each for each in said), said
    with pytest.raises(Refused, match=f"whether rollout {id_} of web/dev, recorded in s3://.*, has ended is not known"):
        await begun(ben)
    await ann.ask_rollout(id_, Ask.ABORT)
    other = await begun(ben)
    with pytest.raises(Refused, match=f"rollout {other} of web/dev has not ended"):
        await begun(ann)
