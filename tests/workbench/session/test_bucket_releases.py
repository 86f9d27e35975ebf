"""Releases in a bucket: machines with state folders of their own agree, and what is broken there is said by name."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address, KubernetesId
from tests.bucket_server import CREDENTIALS, BucketServer
from tests.workbench.session.machines import REPOSITORY, Machines, apply, machines, released
from tests.workbench.session.test_shared_releases import allow
from workbench.bucket_url import BucketUrl
from workbench.engine.errors import Locked, Refused, ReleaseFailure
from workbench.engine.events import Action, ApplyFinished, Outcome, StepFinished
from workbench.release.shared import ReleasePlaces
from workbench.session import Session

FRONT = Address("hz", KubernetesId("v1", "ConfigMap", "web-dev", "front"))


@dataclass
class Shop:
    """Machines that keep their releases in one bucket."""

    fleet: Machines
    server: BucketServer
    url: BucketUrl

    def session(self, name: str, **settings: Any) -> Session:
        return self.fleet.session(name, releases_bucket=self.url, **settings)

    def records(self) -> list[str]:
        return sorted(each for each in self.server.keys(self.url) if each.endswith(".json"))

    def record(self, revision: int) -> str:
        (found,) = [each for each in self.records() if each.endswith(f"-{revision}.json")]
        return found


@pytest.fixture
async def shop(tmp_path: Path, bucket_server: BucketServer) -> AsyncIterator[Shop]:
    async with machines(tmp_path) as found:
        yield Shop(found, bucket_server, bucket_server.bucket())


def without_config_map(fleet: Machines, name: str) -> None:
    text = (fleet.root(name) / "models/server.k").read_text()
    start, end = text.index("        {\n"), text.index("        {\n", text.index("        {\n") + 1)
    (fleet.root(name) / "models/server.k").write_text(text[:start] + text[end:])


async def test_two_machines_agree_and_no_secret_is_in_the_bucket(shop: Shop) -> None:
    ann, ben = shop.session("ann"), shop.session("ben")
    await released(ann, ann.select("web/dev"))
    plan = await ben.plan(ben.select("web/dev"))
    assert (plan.prior, plan.revision, plan.is_empty, plan.gaps) == (1, 2, True, ())
    without_config_map(shop.fleet, "ben")
    assert (await ben.plan(ben.select("web/dev"))).change(FRONT).action is Action.DELETE
    await released(ben, ben.select("web/dev"))
    history = await ann.history(ann.select("web/dev"))
    assert history.is_shared and [each.user for each in history.releases()] == ["ben", "ann"]
    assert shop.fleet.secrets() == [], "the clusters have none of it"
    for key in shop.server.keys(shop.url):
        content = shop.server.read(shop.url, key)
        assert b"canary" not in content and b"Y2FuYXJ5" not in content, key
        assert not any(each.encode() in content for each in CREDENTIALS.values()), key


async def test_of_two_that_apply_at_once_one_is_refused_by_the_name_of_the_other(shop: Shop) -> None:
    ann, ben = shop.session("ann"), shop.session("ben")
    ours, theirs = await ann.plan(ann.select("web/dev")), await ben.plan(ben.select("web/dev"))
    async with ann.apply(ours, confirm=ours.confirmation.phrase) as events:
        with pytest.raises(Locked, match="ann@host-of-ann pid"):
            async with ben.apply(theirs, confirm=theirs.confirmation.phrase):
                pass
        assert [each.split()[0] for each in await ben.unlock(ben.select("web/dev"))] == ["ann@host-of-ann"]
        async for _ in events:
            pass


async def test_what_one_machine_left_between_intent_and_end_another_continues(shop: Shop) -> None:
    ann, ben = shop.session("ann"), shop.session("ben")
    plan = await ann.plan(ann.select("web/dev"))
    async with ann.apply(plan, confirm=plan.confirmation.phrase) as events:
        async for event in events:
            if isinstance(event, StepFinished):
                break
    continued = await ben.plan(ben.select("web/dev"))
    assert continued.prior == 1 and any("was not finished" in each for each in continued.notes)
    await released(ben, ben.select("web/dev"))
    assert (await ann.plan(ann.select("web/dev"))).is_empty


KILLED = """
import os, signal, sys, anyio
from pathlib import Path
from workbench.bucket_url import BucketUrl
from workbench.engine.events import StepFinished
from workbench.session import Session
from workbench.settings import Settings

async def main(root, state, kubeconfig, url, repository):
    settings = Settings(
        Path(state), Path(state), kubeconfig=kubeconfig, user="ann", host="box", repository=repository,
        releases_bucket=BucketUrl.parse(url),
    )
    async with Session.open(root, settings=settings) as session:
        plan = await session.plan(session.select("web/dev"))
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for event in events:
                if isinstance(event, StepFinished):
                    os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main, *sys.argv[1:])
"""


async def test_what_was_killed_between_intent_and_end_another_machine_finishes(shop: Shop) -> None:
    fleet, ben = shop.fleet, shop.session("ben")
    arguments = (fleet.root("ann"), fleet.home / "ann/state", fleet.home / "admin.kubeconfig", shop.url, REPOSITORY)
    process = await asyncio.create_subprocess_exec(sys.executable, "-P", "-c", KILLED, *map(str, arguments))
    assert await process.wait() == -signal.SIGKILL
    stack = ben.select("web/dev")
    plan = await ben.plan(stack)
    assert plan.prior == 1 and any("was not finished" in each for each in plan.notes)
    with pytest.raises(Locked, match="ann@box pid"):
        await apply(ben, plan)
    (holder,) = await ben.unlock(stack)
    assert await ben.unlock(stack, holder) == (holder,)
    await released(ben, stack)
    cid = shop.session("cid")
    assert (await cid.plan(stack)).is_empty
    assert [each.user for each in (await cid.history(stack)).releases()] == ["ben", "ann"]


async def test_what_the_clusters_have_is_taken_over_and_they_say_where_it_went(shop: Shop) -> None:
    before = shop.fleet.session("ann")
    await released(before, before.select("web/prod"))
    ben = shop.session("ben")
    plan = await ben.plan(ben.select("web/prod"))
    assert (plan.prior, plan.is_empty, plan.gaps) == (1, True, ())
    await released(ben, ben.select("web/prod"), force=True)
    late = shop.fleet.session("ann")
    gaps = (await late.plan(late.select("web/prod"))).gaps
    assert any(str(shop.url) == each.place for each in gaps), "who still looks in the clusters is told"
    cid = shop.session("cid")
    history = await cid.history(cid.select("web/prod"))
    assert [each.revision for each in history.releases()] == [2] and history.home == str(shop.url)


async def test_a_machine_that_keeps_its_releases_in_clusters_is_held_off_and_holds_off(shop: Shop) -> None:
    ann, ben = shop.session("ann"), shop.fleet.session("ben")
    ours, theirs = await ann.plan(ann.select("web/prod")), await ben.plan(ben.select("web/prod"))
    async with ann.apply(ours, confirm=ours.confirmation.phrase) as events:
        with pytest.raises(Locked, match=r"ann@host-of-ann pid .* by its lease in hz"):
            async with ben.apply(theirs, confirm=theirs.confirmation.phrase):
                pass
        for cluster in (0, 1):
            assert "ann@host-of-ann" in shop.fleet.lease(cluster)["spec"]["holderIdentity"]
        async for _ in events:
            pass
    for cluster in (0, 1):
        assert "holderIdentity" not in shop.fleet.lease(cluster)["spec"]
    ours = await ann.plan(ann.select("web/prod"))
    theirs = await ben.plan(ben.select("web/prod"))
    async with ben.apply(theirs, confirm=theirs.confirmation.phrase) as events:
        with pytest.raises(Locked, match="ben@host-of-ben pid"):
            async with ann.apply(ours, confirm=ours.confirmation.phrase):
                pass
        async for _ in events:
            pass


async def test_who_may_not_lock_the_clusters_applies_nothing(shop: Shop) -> None:
    shop.fleet.sandbox.clusters[0].create("namespaces", "", {"metadata": {"name": "web-dev"}})
    allow(shop.fleet, [{"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["*"]}], "web-dev")
    dan = shop.session("dan", user="deployer")
    plan = await dan.plan(dan.select("web/dev"), only=["ConfigMap/*"])
    with pytest.raises(ReleaseFailure, match="can't be locked in hz, where another machine may keep") as refused:
        async with dan._releases.working(
            ReleasePlaces(dan.select("web/dev").path, ("hz",)), user="dan", host="box", clusters={}, asked=("hz",)
        ):
            pass
    assert "create and update of leases" in refused.value.hint and plan.stack == "web/dev"


async def test_a_first_cluster_that_is_gone_keeps_nobody_from_the_others(shop: Shop) -> None:
    ann = shop.session("ann")
    await released(ann, ann.select("web/prod"))
    config = shop.fleet.sandbox.kubeconfig()
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"  # type: ignore[index]
    (shop.fleet.home / "broken").write_text(json.dumps(config))
    ben = shop.fleet.at("ben", shop.fleet.home / "broken", releases_bucket=shop.url)
    shop.fleet.edit("ben", "web/prod/main.k", "replicas = 3", "replicas = 2")
    plan = await ben.plan(ben.select("web/prod"), clusters=["sh"])
    assert not plan.is_refused, plan.guards
    end = (await apply(ben, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED
    whole = await ben.plan(ben.select("web/prod"))
    assert [each.name for each in whole.guards if not each.passed and not each.is_unknown] == ["clusters answer"]


async def test_a_bucket_that_is_silent_is_not_called_a_cluster(shop: Shop) -> None:
    gone = replace(shop.url, endpoint="http://127.0.0.1:1")
    ben = shop.fleet.session("ben", releases_bucket=gone)
    plan = await ben.plan(ben.select("web/dev"))
    (guard,) = [each for each in plan.guards if not each.passed]
    assert guard.name == "releases known" and str(gone) in guard.message and plan.is_refused
    assert any(each.name == "clusters answer" and each.passed for each in plan.guards)


async def test_clusters_that_are_silent_may_have_had_releases_before(shop: Shop) -> None:
    config = shop.fleet.sandbox.kubeconfig()
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"  # type: ignore[index]
    (shop.fleet.home / "broken").write_text(json.dumps(config))
    ben = shop.fleet.at("ben", shop.fleet.home / "broken", releases_bucket=shop.url)
    history = await ben.history(ben.select("web/dev"))
    assert history.latest is None and [each.place for each in history.gaps] == ["hz"]


async def test_clusters_that_let_nobody_look_are_told_of(shop: Shop) -> None:
    dan = shop.session("dan", user="deployer")
    history = await dan.history(dan.select("web/dev"))
    assert any(
        "hz was not queried, so whether the stack was released there before is not known" in each
        for each in history.warnings
    )


async def test_a_stack_of_terraform_alone_has_its_releases_there_too(shop: Shop) -> None:
    ann = shop.session("ann")
    releases, stack = ann._releases, ann.select("web/dev").path
    assert releases.places(ReleasePlaces(stack, (), has_objects=False)) == (str(shop.url),)
    assert (await releases.read(ReleasePlaces(stack, (), has_objects=False))).is_shared


async def test_who_cannot_say_which_repository_it_is_makes_no_plan(shop: Shop) -> None:
    zip_ = shop.session("zip", repository="")
    plan = await zip_.plan(zip_.select("web/dev"))
    assert plan.is_refused and any("WB_REPOSITORY" in each.hint for each in plan.problems)


async def test_another_repository_with_the_same_names_is_told_and_nothing_of_it_is_used(shop: Shop) -> None:
    ann, eve = shop.session("ann"), shop.session("eve", repository="git.example.org/other/config")
    await released(ann, ann.select("web/dev"))
    plan = await eve.plan(eve.select("web/dev"))
    assert plan.prior == 0 and any("another repository (git.example.org/shop/config" in each for each in plan.warnings)


async def test_what_a_stack_left_that_is_gone_from_the_repository_is_told_by_the_bucket(shop: Shop) -> None:
    """Its clusters know nothing of it, and neither does the machine that asks."""
    ann = shop.session("ann")
    await released(ann, ann.select("web/dev"))
    shop.fleet.edit("ben", "web/project.yaml", "name: web", "name: shop")
    ben = shop.session("ben")
    (said,) = (await ben.taken_out()).said
    assert said.startswith("web/dev is no stack of this repository any more, and its release 1 left "), said
    shop.server.write(shop.url, shop.record(1), b"{")
    (unknown,) = (await shop.session("ben").taken_out()).said
    what = f"whether stacks that are gone from the repository left something in {shop.url} is not known: "
    assert unknown.startswith(what) and shop.record(1).rpartition("/")[0] in unknown, unknown


async def test_no_more_than_the_history_is_kept(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.release.shared.KEPT_RELEASES", 2)
    ann = shop.session("ann")
    for replicas in range(4):
        (shop.fleet.root("ann") / "web/dev/main.k").write_text(
            f"import models.server\n\nfront: server.Server {{\n    replicas = {replicas}\n}}\n"
        )
        await released(ann, ann.select("web/dev"))
    assert [each.rpartition("-")[2] for each in shop.records()] == ["3.json", "4.json"]


def _other_format(content: bytes) -> bytes:
    return content.replace(b'"format": 1', b'"format": 9', 1)


def _edited(content: bytes) -> bytes:
    return content.replace(b'"type": "workbench', b'"type": "w0rkbench')


BROKEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "emptied": (lambda content: b"", "is empty"),
    "torn": (lambda content: content[: len(content) // 2], "no JSON, or torn"),
    "of a newer version": (_other_format, "has format 9"),
    "edited": (_edited, "checksum"),
    "somebody else's": (lambda content: b'{"hello": "world"}', "no object of the workbench"),
    "a page": (lambda content: b"<html>sign in</html>", "no JSON, or torn"),
    "huge": (lambda content: b" " * 4_100_000, "bytes"),
    "a list": (lambda content: b"[1, 2]", "no object of the workbench"),
}


async def test_a_broken_object_is_named_and_the_last_good_release_is_used(shop: Shop) -> None:
    ann = shop.session("ann")
    await released(ann, ann.select("web/dev"))
    good = shop.record(1)
    broken, content = good.replace("-1.json", "-2.json"), shop.server.read(shop.url, good)
    for how, (breaking, said) in BROKEN.items():
        shop.server.write(shop.url, good, content)
        shop.server.write(shop.url, broken, breaking(content))
        ben = shop.session("ben")
        history = await ben.history(ben.select("web/dev"))
        assert history.latest is not None and history.latest.revision == 1 and history.next_revision == 3, how
        (warning,) = [each for each in history.latest.warnings if "passed over" in each]
        assert said in warning and "-2" in warning, how
        shop.server.remove(shop.url, good)
        with pytest.raises(ReleaseFailure, match="passed over"):
            await ben.history(ben.select("web/dev"))


async def test_a_copy_under_another_name_is_no_release(shop: Shop) -> None:
    ann = shop.session("ann")
    await released(ann, ann.select("web/dev"))
    good = shop.record(1)
    shop.server.write(shop.url, good.replace("-1.json", "-7.json"), shop.server.read(shop.url, good))
    history = await ann.history(ann.select("web/dev"))
    assert history.latest is not None and history.latest.revision == 1


async def test_a_lease_that_cannot_be_read_is_not_free(shop: Shop) -> None:
    ann, ben = shop.session("ann"), shop.session("ben")
    plan = await ann.plan(ann.select("web/dev"))
    async with ann.apply(plan, confirm=plan.confirmation.phrase) as events:
        (lease,) = [each for each in shop.server.keys(shop.url) if each.endswith(".lease")]
        shop.server.write(shop.url, lease, b"")
        holder, in_cluster = await ben.unlock(ben.select("web/dev"))
        assert "can't be read" in holder and in_cluster.startswith("ann@host-of-ann")
        seen = [each async for each in events]
    assert isinstance(seen[-1], ApplyFinished)
    assert seen[-1].outcome in (Outcome.UNRECORDED, Outcome.INTERRUPTED), "it lost its lock, and says so"


@pytest.mark.parametrize("gone", ["the bucket", "the server"])
async def test_a_bucket_that_is_gone_is_no_history_not_none(shop: Shop, gone: str) -> None:
    ann = shop.session("ann")
    await released(ann, ann.select("web/dev"))
    away = (
        shop.server.url("no-such-bucket") if gone == "the bucket" else replace(shop.url, endpoint="http://127.0.0.1:1")
    )
    for name in ("ann", "ben"):  # one that has a release of its own, and one that has none
        session = shop.fleet.session(name, releases_bucket=away)
        stack = session.select("web/dev")
        plan = await session.plan(stack)
        (said,) = [each.message for each in plan.problems if each.cluster == str(away)]
        assert ("no such bucket" if gone == "the bucket" else "does not answer") in said
        with pytest.raises(Refused):
            await apply(session, plan)
    with pytest.raises(ReleaseFailure, match="can't be read"):
        (await session.history(stack)).refuse_unknown(stack.name)


async def test_an_untrusted_repository_has_the_bucket_asked_only_with_its_clusters(shop: Shop) -> None:
    ann = shop.session("ann")
    await released(ann, ann.select("web/dev"))
    seen = shop.session("ben", is_untrusted=True)
    stack = seen.select("web/dev")
    with pytest.raises(ReleaseFailure, match="untrusted"):
        (await seen.history(stack)).refuse_unknown(stack.name)
    diff = await seen.diff(stack, server_dry_run=True)
    assert diff.release == 1
