"""A name, a context or an address that leads to another cluster than before: nothing is written there on the strength
of what is known of the former one, and nothing that was made on that one is forgotten."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtimes.base import ClusterIdentity, KubernetesId, PlanRequest, Prediction, Runtime, Unreachable
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.shop import shop
from workbench.cli.output import Output
from workbench.cli.progress import while_asking
from workbench.engine.changes import Gap
from workbench.engine.errors import Locked, OtherCluster
from workbench.engine.identities import check_clusters
from workbench.engine.plan import Level, Plan
from workbench.engine.plan_file import PlanFileInvalid
from workbench.session import Session
from workbench.settings import Settings

FRONT = KubernetesId("apps/v1", "Deployment", "web-dev", "front")
VERIFIED = "digest-of-an-authority"


class Ways:
    """Where the names of clusters.yaml lead; a test leads them elsewhere."""

    def __init__(self, **clusters: FakeCluster) -> None:
        self.to = dict(clusters)

    async def __call__(self, name: str) -> Runtime:
        if name not in self.to:
            raise Unreachable("connection refused", target=name)
        return self.to[name]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return shop(tmp_path / "repo")


def opened(root: Path, ways: Ways, **settings: Any) -> Session:
    state = root.parent / "state"
    return Session.open(root, settings=Settings(state, state, user="ann", host="box", **settings), connect=ways)


async def planned(root: Path, ways: Ways) -> Plan:
    async with opened(root, ways) as session:
        return await session.plan(session.select("web/dev"))


async def released(root: Path, ways: Ways) -> None:
    async with opened(root, ways) as session:
        plan = await session.plan(session.select("web/dev"))
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for _ in events:
                pass


async def saved(root: Path, ways: Ways) -> Path:
    file = root.parent / "plan.json"
    async with opened(root, ways) as session:
        session.save_plan(await session.plan(session.select("web/dev")), file)
    return file


async def applied(root: Path, ways: Ways, file: Path) -> None:
    async with opened(root, ways) as session:
        plan = await session.load_plan(file)
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for _ in events:
                pass


def cluster(place: str, **identity: Any) -> FakeCluster:
    found = FakeCluster(place)
    found.identity = replace(found.identity, **identity)
    return found


def gap_of(plan: Plan) -> Gap:
    (found,) = plan.gaps
    return found


# --- a saved plan

FORBIDDEN = "its user may not read the namespace kube-system"
ELSEWHERE: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    # what the plan was made on, what its name leads to now, and what is said
    "another uid": ({}, {"uid": "of-another"}, "another cluster"),
    "another uid, same server, context, user and authority": (
        {"server": "https://a", "authority": VERIFIED, "context": "c", "user": "u"},
        {"server": "https://a", "authority": VERIFIED, "context": "c", "user": "u", "uid": "of-another"},
        "another cluster",
    ),
    "not known now, another server": (
        {"authority": VERIFIED},
        {"uid": "", "server": "https://elsewhere", "authority": VERIFIED, "unknown": FORBIDDEN},
        "can't be told",
    ),
    "not known now, another authority": (
        {"authority": VERIFIED},
        {"uid": "", "authority": "of-another", "unknown": FORBIDDEN},
        "can't be told",
    ),
    "not known now, same server without an authority": ({}, {"uid": "", "unknown": FORBIDDEN}, "can't be told"),
    "not known then, another server": (
        {"uid": "", "authority": VERIFIED, "unknown": FORBIDDEN},
        {"server": "https://elsewhere", "authority": VERIFIED},
        "can't be told",
    ),
    "known neither then nor now, no authority": (
        {"uid": "", "unknown": FORBIDDEN},
        {"uid": "", "unknown": FORBIDDEN},
        "can't be told",
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
async def test_a_saved_plan_is_not_applied_to_a_cluster_that_is_not_known_to_be_the_one_it_was_made_for(
    root: Path, name: str
) -> None:
    then, now, said = ELSEWHERE[name]
    file = await saved(root, Ways(hz=cluster("hz", **then)))
    other = cluster("hz", **now)
    with pytest.raises(OtherCluster) as caught:
        await applied(root, Ways(hz=other), file)
    assert said in caught.value.message and other.identity.server in caught.value.message
    assert "wb plan web/dev" in caught.value.hint
    assert (other.objects, other.calls) == ({}, [])


SAME_AGAIN: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "by another context, server and user": (
        {},
        {"context": "of-ben", "server": "https://proxy", "user": "ben", "authority": "of-the-proxy"},
    ),
    "by one who may not read kube-system": (
        {"authority": VERIFIED},
        {"authority": VERIFIED, "uid": "", "unknown": FORBIDDEN},
    ),
    "by one who now may": ({"authority": VERIFIED, "uid": "", "unknown": FORBIDDEN}, {"authority": VERIFIED}),
}


@pytest.mark.parametrize("name", SAME_AGAIN)
async def test_a_saved_plan_is_applied_to_the_same_cluster(root: Path, name: str) -> None:
    then, now = SAME_AGAIN[name]
    file = await saved(root, Ways(hz=cluster("hz", **then)))
    same = cluster("hz", **now)
    await applied(root, Ways(hz=same), file)
    assert FRONT in same.objects


def _without_clusters(content: dict[str, Any]) -> None:
    del content["clusters"]


def _of_no_cluster(content: dict[str, Any]) -> None:
    content["clusters"] = {}


def _of_a_foreign_kind(content: dict[str, Any]) -> None:
    content["clusters"] = {"hz": ["uid"]}


def _with_a_foreign_value(content: dict[str, Any]) -> None:
    content["clusters"]["hz"]["uid"] = {"$": 1}


def _empty(content: dict[str, Any]) -> None:
    content["clusters"]["hz"] = {}


@pytest.mark.parametrize(
    "damage", [_without_clusters, _of_no_cluster, _of_a_foreign_kind, _with_a_foreign_value, _empty]
)
async def test_a_saved_plan_that_does_not_say_for_which_cluster_it_is_is_refused(root: Path, damage: Any) -> None:
    hz = cluster("hz")
    file = await saved(root, Ways(hz=hz))
    content = json.loads(file.read_text())
    damage(content)
    file.write_text(json.dumps(content))
    with pytest.raises((PlanFileInvalid, OtherCluster)) as caught:
        await applied(root, Ways(hz=hz), file)
    assert "wb plan" in caught.value.hint
    assert hz.objects == {}


# --- between a plan and its apply


async def test_a_cluster_that_is_made_anew_between_plan_and_apply_is_not_written_to(root: Path) -> None:
    ways = Ways(hz=cluster("hz"))
    async with opened(root, ways) as session:
        plan = await session.plan(session.select("web/dev"))
        ways.to["hz"].identity = replace(ways.to["hz"].identity, uid="of-another")
        with pytest.raises(OtherCluster, match="another cluster"):
            async with session.apply(plan, confirm=plan.confirmation.phrase):
                pass
        again = await session.plan(session.select("web/dev"))
        async with session.apply(again, confirm=again.confirmation.phrase) as events:
            async for _ in events:
                pass
    assert FRONT in ways.to["hz"].objects


@dataclass(frozen=True)
class Remembering:
    """Says which cluster it is as it was, unless it is asked again: real ones are not asked for each step."""

    was: ClusterIdentity
    is_now: ClusterIdentity

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        return self.is_now if again else self.was


async def test_what_is_remembered_of_a_cluster_does_not_do_for_an_apply() -> None:
    was = ClusterIdentity("hz", "https://hz.example", "ann", uid="one")
    runtimes: Any = {"hz": Remembering(was, replace(was, uid="of-another"))}
    with pytest.raises(OtherCluster, match="another cluster"):
        await check_clusters("web/dev", {"hz": was}, runtimes)


async def test_a_right_that_is_taken_away_between_plan_and_apply_leaves_it_unproven(root: Path) -> None:
    ways = Ways(hz=cluster("hz"))
    async with opened(root, ways) as session:
        plan = await session.plan(session.select("web/dev"))
        ways.to["hz"].identity = replace(ways.to["hz"].identity, uid="", unknown=FORBIDDEN)
        with pytest.raises(OtherCluster, match="can't be told"):
            async with session.apply(plan, confirm=plan.confirmation.phrase):
                pass
    assert ways.to["hz"].calls == []


async def test_a_cluster_that_never_says_who_it_is_is_worked_with_and_that_is_said(root: Path) -> None:
    hz = cluster("hz", uid="", unknown=FORBIDDEN)
    plan = await planned(root, Ways(hz=hz))
    (note,) = [each for each in plan.notes if "kube-system" in each]
    assert "proves nothing" in note
    await released(root, Ways(hz=hz))
    assert FRONT in hz.objects


# --- releases


async def test_a_name_that_leads_to_another_cluster_forgets_nothing_of_the_former_one(root: Path) -> None:
    a, b = cluster("a", context="ctx-a", server="https://a"), cluster("b", context="ctx-b", server="https://b")
    await released(root, Ways(hz=a))

    plan = await planned(root, Ways(hz=b))
    gap = gap_of(plan)
    assert gap.exists and gap.place == "hz@uid-of-a" and "ctx-a, https://a" in gap.message
    assert "wb release forget web/dev --cluster hz@uid-of-a" in gap.hint and "wb destroy web/dev" in gap.hint
    assert plan.confirmation.level is Level.PHRASE
    assert any("hz is another cluster than at release 1" in each for each in plan.confirmation.reasons)
    assert not plan.is_certain

    for replicas in (1, 2):  # what is carried over stays carried over
        (root / "web/dev/main.k").write_text(
            f"import models.server\n\nfront: server.Server {{\n    replicas = {replicas}\n}}\n"
        )
        await released(root, Ways(hz=b))
        assert gap_of(await planned(root, Ways(hz=b))).place == "hz@uid-of-a"
    assert (await planned(root, Ways(hz=b))).confirmation.level is Level.NOTHING, "it is asked once"

    # back again, it is all there: the one field, and nothing made twice
    back = await planned(root, Ways(hz=a))
    assert (back.summary.update, back.summary.changes) == (1, 1) and gap_of(back).place == "hz@uid-of-b"
    assert FRONT in a.objects and FRONT in b.objects


async def test_no_release_tells_of_drift_on_a_cluster_that_took_the_place_of_another(root: Path) -> None:
    await released(root, Ways(hz=cluster("a")))
    async with opened(root, Ways(hz=cluster("b"))) as session:
        found = await session.diff(session.select("web/dev"))
    assert len(list(found.undecided())) == 4 and not found.is_certain


async def test_what_was_made_on_the_former_cluster_is_deleted_there_once_it_has_a_name_again(root: Path) -> None:
    a, b = cluster("a"), cluster("b")
    await released(root, Ways(hz=a))
    await released(root, Ways(hz=b))
    async with opened(root, Ways(hz=b, sh=a)) as session:
        plan = await session.plan_destroy(session.select("web/dev"))
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for _ in events:
                pass
    assert (a.objects, b.objects) == ({}, {})
    assert (await planned(root, Ways(hz=b))).gaps == ()


async def test_where_a_name_leads_back_destroying_takes_away_what_is_there_and_nothing_else(root: Path) -> None:
    a, b = cluster("a"), cluster("b")
    await released(root, Ways(hz=a))
    await released(root, Ways(hz=b))
    async with opened(root, Ways(hz=a, sh=cluster("sh"))) as session:
        plan = await session.plan_destroy(session.select("web/dev"))
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for _ in events:
                pass
    assert a.objects == {} and FRONT in b.objects
    assert (await planned(root, Ways(hz=b))).is_as_configured


async def test_a_cluster_made_anew_under_all_its_names_is_another_one(root: Path) -> None:
    old = cluster("hz", authority=VERIFIED)
    await released(root, Ways(hz=old))
    plan = await planned(root, Ways(hz=cluster("hz", authority=VERIFIED, uid="of-the-new-one")))
    assert any("hz was recreated since release 1" in each for each in plan.confirmation.reasons)
    assert not any("somebody deleted it" in each.because for each in plan.changes)
    assert gap_of(plan).exists


async def test_a_cluster_that_is_gone_is_forgotten_when_its_user_says_so(root: Path) -> None:
    await released(root, Ways(hz=cluster("hz")))
    ways = Ways(hz=cluster("hz", uid="of-the-new-one"))
    await released(root, ways)
    async with opened(root, ways) as session:
        stack = session.select("web/dev")
        assert str(FRONT) in await session.forget(stack, "hz@uid-of-h")
        assert (await session.plan(stack)).is_as_configured
        newest = session.audit().entries(limit=1)[0]
    assert (newest.action, newest.cluster, newest.target) == ("forget", "hz@uid-of-h", "web/dev")


async def test_a_name_for_the_same_cluster_takes_its_release_with_it(root: Path) -> None:
    a = cluster("a")
    await released(root, Ways(hz=a))
    text = (root / "clusters.yaml").read_text()
    (root / "clusters.yaml").write_text(text.replace("hz", "hangzhou"))
    plan = await planned(root, Ways(hangzhou=a))
    assert (plan.is_empty, plan.gaps) == (True, ())


async def test_a_name_that_another_cluster_has_taken_over_cannot_be_taken_by_clusters_yaml(root: Path) -> None:
    a, b = cluster("a"), cluster("b")
    await released(root, Ways(hz=a))
    await released(root, Ways(hz=b))
    text = (root / "clusters.yaml").read_text()
    hostile = text.replace("clusters: {", 'clusters: {"hz@uid-of-a": {context: b}, ').replace("[hz]", '["hz@uid-of-a"]')
    (root / "clusters.yaml").write_text(hostile)
    plan = await planned(root, Ways(**{"hz@uid-of-a": cluster("c")}))
    places = {each.place for each in plan.gaps}
    assert "hz@uid-of-a" not in {each.address.cluster for each in plan.changes if each.action == "delete"}
    assert any("uid-of-a" in each for each in places) and not plan.is_certain


def _records(root: Path) -> Iterator[Path]:
    yield from sorted((root.parent / "state" / "releases").rglob("[0-9].json"))


def _rewritten(file: Path, change: Any) -> None:
    from workbench.release.encoding import _checksum

    record = json.loads(file.read_text())
    change(record["release"])
    record["checksum"] = _checksum(record["release"])
    file.write_text(json.dumps(record))


async def test_a_record_that_does_not_say_which_cluster_it_was_is_read_and_said(root: Path) -> None:
    hz = cluster("hz")
    await released(root, Ways(hz=hz))
    (record,) = _records(root)
    _rewritten(record, lambda release: release.pop("clusters"))
    plan = await planned(root, Ways(hz=hz))
    assert plan.is_empty
    assert any("release 1 does not say which cluster hz was" in each for each in plan.warnings)


@pytest.mark.parametrize("clusters", [{"hz": {}}, {"hz": 3}, [1], "hz", {"hz": {"server": ["x"]}}, None])
async def test_a_record_whose_clusters_are_no_identities_is_broken_and_named(root: Path, clusters: Any) -> None:
    from workbench.engine.errors import ReleaseFailure

    hz = cluster("hz")
    await released(root, Ways(hz=hz))
    (record,) = _records(root)
    _rewritten(record, lambda release: release.update(clusters=clusters))
    with pytest.raises(ReleaseFailure, match="is not a release record"):
        await planned(root, Ways(hz=hz))


async def test_what_cannot_be_told_to_be_the_same_is_kept_apart(root: Path) -> None:
    """Neither cluster says who it is, and the address is another one."""
    await released(root, Ways(hz=cluster("hz", uid="", server="https://a", authority=VERIFIED, unknown=FORBIDDEN)))
    there = cluster("hz", uid="", server="https://b", authority=VERIFIED, unknown=FORBIDDEN)
    plan = await planned(root, Ways(hz=there))
    assert gap_of(plan).exists and "https://a" in gap_of(plan).message


async def test_a_cluster_that_does_not_answer_who_it_is_plans_nothing_there(root: Path) -> None:
    hz = cluster("hz")
    hz.fail["identify"] = Unreachable("no answer within 30 s", target="hz")
    plan = await planned(root, Ways(hz=hz))
    assert plan.is_refused and plan.changes == ()
    assert [each.message for each in plan.problems] == ["no answer within 30 s"]


async def test_two_names_of_one_cluster_are_said_to_be(root: Path) -> None:
    one = cluster("one")
    async with opened(root, Ways(hz=one, sh=one)) as session:
        plan = await session.plan(session.select("web/prod"))
    assert any("hz and sh are one and the same cluster" in each for each in plan.warnings)


async def test_a_clock_that_is_off_is_said(root: Path) -> None:
    clusters = Ways(hz=cluster("hz", ahead_seconds=-86_400.0), sh=cluster("sh", ahead_seconds=4.0))
    plan = await planned(root, clusters)
    assert [each for each in plan.warnings if "clock" in each] == [
        "the clock of hz is 1440 minutes behind this machine's: one is wrong, and what goes by them is not sure"
    ]
    assert "ahead" not in str(plan.identities["hz"].to_mapping())


# --- what is written down


async def test_release_audit_and_lock_say_on_which_cluster(root: Path) -> None:
    ways = Ways(hz=cluster("hz", server="https://10.0.0.1:6443", context="hz-admin"))
    async with opened(root, ways) as session:
        stack = session.select("web/dev")
        plan = await session.plan(stack)
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async with opened(root, ways) as second:
                with pytest.raises(Locked, match=r"at work on hz \(context hz-admin, https://10.0.0.1:6443"):
                    async with second.apply(plan, confirm=plan.confirmation.phrase):
                        pass
            async for _ in events:
                pass
        (release,) = session.releases(stack)
        entries = session.audit().entries()
    assert release.clusters == {"hz": ways.to["hz"].identity}
    assert all("context hz-admin, https://10.0.0.1:6443 as ann, uid uid-of-h" in each.identity for each in entries)


def test_an_identity_survives_its_file() -> None:
    one = ClusterIdentity("c", "https://h", "u", "id", VERIFIED, "")
    assert ClusterIdentity.of_mapping(json.loads(json.dumps(one.to_mapping()))) == one


class Silent(FakeCluster):
    """It takes the question and gives no answer."""

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        await anyio.sleep_forever()
        raise AssertionError


class Stuck(FakeCluster):
    """It answers to one dry run."""

    has_answered = False

    async def plan(self, request: PlanRequest) -> Prediction:
        if self.has_answered:
            await anyio.sleep_forever()
        self.has_answered = True
        return await super().plan(request)


class Heard(io.StringIO):
    def __init__(self, words: str = "waiting for hz: ") -> None:
        super().__init__()
        self.has_said, self._words = anyio.Event(), words

    def write(self, text: str) -> int:
        if self._words in text:
            self.has_said.set()
        return super().write(text)


async def test_who_waits_is_told_for_which_cluster(root: Path) -> None:
    said, errors = io.StringIO(), Heard()
    output = Output(stdout=said, stderr=errors)
    async with opened(root, Ways(hz=Silent("hz"), sh=cluster("sh"))) as session:
        async with while_asking(session, output, every_seconds=0.01), anyio.create_task_group() as tasks:
            tasks.start_soon(session.plan, session.select("web/prod"))
            await errors.has_said.wait()
            tasks.cancel_scope.cancel()
        assert session.waits_for() == {}
    assert said.getvalue() == "" and set(errors.getvalue().splitlines()) >= {"waiting for hz: 0 s"}


async def test_who_waits_is_told_how_far_it_is(root: Path) -> None:
    errors = Heard(" compared")
    async with opened(root, Ways(hz=Stuck("hz"))) as session:
        async with while_asking(session, Output(stderr=errors), every_seconds=0.01), anyio.create_task_group() as tasks:
            tasks.start_soon(session.plan, session.select("web/dev"))
            await errors.has_said.wait()
            tasks.cancel_scope.cancel()
        assert session.compared() == {}
    assert re.search(r"^waiting for hz: 0 s, 1 of [2-9] compared$", errors.getvalue(), re.MULTILINE)
