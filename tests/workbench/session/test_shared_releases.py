"""Releases that every machine sees: a laptop, a colleague and a CI job agree on what there is, and take turns."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtimes.base import Address, KubernetesId
from tests.workbench.session.machines import NAMESPACE, Machines, apply, machines, released
from workbench.engine.errors import Locked, Refused, ReleaseFailure, StalePlan
from workbench.engine.events import Action, ApplyFinished, Outcome, StepFinished
from workbench.engine.fleet import TakenOut
from workbench.engine.release import Phase
from workbench.present.releases import note
from workbench.release.contract import NotAllowed

FRONT = Address("hz", KubernetesId("v1", "ConfigMap", "web-dev", "front"))


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Machines]:
    async with machines(tmp_path) as found:
        yield found


def without_config_map(fleet: Machines, name: str) -> None:
    """Takes what a release made out of the configuration of a machine."""
    text = (fleet.root(name) / "models/server.k").read_text()
    start, end = text.index("        {\n"), text.index("        {\n", text.index("        {\n") + 1)
    (fleet.root(name) / "models/server.k").write_text(text[:start] + text[end:])


async def test_another_machine_sees_the_release_and_nothing_to_do(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/dev"))
    stack = ben.select("web/dev")
    plan = await ben.plan(stack)
    assert (plan.prior, plan.revision, plan.is_empty, plan.gaps) == (1, 2, True, ())
    (latest,) = (await ben.history(stack)).releases()
    assert (latest.user, latest.host, latest.phase) == ("ann", "host-of-ann", Phase.SUCCEEDED)
    assert ben.releases(stack) == ()
    diff = await ben.diff(stack)
    assert not diff.is_different and not diff.gaps and diff.release == 1


async def test_another_machine_deletes_what_is_gone_from_the_configuration(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/dev"))
    without_config_map(fleet, "ben")
    plan = await ben.plan(ben.select("web/dev"))
    assert plan.change(FRONT).action is Action.DELETE and not plan.gaps
    await released(ben, ben.select("web/dev"))
    assert fleet.sandbox.clusters[0].find("configmaps", "web-dev", "front") is None
    assert [each.user for each in (await ann.history(ann.select("web/dev"))).releases()] == ["ben", "ann"]


@pytest.mark.slow
async def test_another_machine_destroys_all_of_it(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/prod"))
    plan = await ben.plan_destroy(ben.select("web/prod"))
    assert {each.action for each in plan.changes} == {Action.DELETE} and not plan.gaps and len(plan.changes) == 8
    end = (await apply(ben, plan))[-1]
    assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED
    latest = (await ann.history(ann.select("web/prod"))).latest
    assert latest is not None and latest.revision == 2 and not latest.resources


async def test_each_cluster_keeps_what_went_there_and_the_first_one_all(fleet: Machines) -> None:
    ann = fleet.session("ann")
    await released(ann, ann.select("web/prod"))
    parts = [
        [each["metadata"]["labels"]["releases.workbench.konfig.io/part"] for each in fleet.secrets(at)] for at in (0, 1)
    ]
    assert parts == [["whole"], ["cluster"]]
    for at in (0, 1):
        assert "holderIdentity" not in fleet.lease(at)["spec"]


async def test_secrets_compare_on_every_machine_and_are_in_no_record(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/dev"))
    fleet.edit("ben", "web/base/base.k", 'default="canary-4f1d"', 'default="canary-9e2b"')
    stack = ben.select("web/dev")
    (changed,) = [each for each in (await ben.diff(stack)).changes if each.action is Action.UPDATE]
    assert changed.address.id.kind == "Secret"  # type: ignore[union-attr]  # all are Kubernetes'
    assert not changed.drift, "ann's release gave it what is live, which ben's machine can tell"
    await released(ben, stack)
    records = [gzip.decompress(base64.b64decode(each["data"]["record"])).decode() for each in fleet.secrets()]
    for record in records:
        assert "sealed:" in record and "canary" not in record and "Y2FuYXJ5" not in record
    assert len(records) == 2 and "canary" not in json.dumps(fleet.secrets())


async def test_of_two_that_apply_at_once_one_is_refused_by_the_name_of_the_other(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    ours, theirs = await ann.plan(ann.select("web/dev")), await ben.plan(ben.select("web/dev"))
    async with ann.apply(ours, confirm=ours.confirmation.phrase) as events:
        with pytest.raises(Locked, match="ann@host-of-ann pid"):
            async with ben.apply(theirs, confirm=theirs.confirmation.phrase):
                pass
        async for _ in events:
            pass
    with pytest.raises(StalePlan, match="release 1 was made since"):
        async with ben.apply(theirs, confirm=theirs.confirmation.phrase):
            pass


async def test_a_plan_made_from_a_release_that_a_restored_cluster_has_not_is_not_applied(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/dev"))
    theirs = await ben.plan(ben.select("web/dev"))
    for each in fleet.secrets():
        fleet.sandbox.clusters[0].delete("secrets", NAMESPACE, each["metadata"]["name"])
    with pytest.raises(StalePlan, match="release 1 is not there any more, there is none: the cluster may have been"):
        await apply(ben, theirs)


@pytest.mark.slow
async def test_a_home_that_is_silent_is_no_history_not_none(fleet: Machines) -> None:
    ann = fleet.session("ann")
    await released(ann, ann.select("web/prod"))
    config = fleet.sandbox.kubeconfig()
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"  # type: ignore[index]
    (fleet.home / "broken").write_text(json.dumps(config))
    ben = fleet.at("ben", fleet.home / "broken")
    stack = ben.select("web/prod")
    for clusters in ((), ("sh",)):
        plan = await ben.plan(stack, clusters=clusters)
        assert "hz" in {each.cluster for each in plan.problems}
        assert plan.is_refused
        with pytest.raises(Refused):
            async with ben.apply(plan, confirm="web/prod"):
                pass
    history = await ben.history(stack)
    assert history.problems and not history.releases()[0].warnings
    with pytest.raises(ReleaseFailure, match="can't be read"):
        history.refuse_unknown(stack.name)


async def test_releases_of_one_machine_are_taken_over_by_the_first_that_is_shared(fleet: Machines) -> None:
    before = fleet.session("ann", releases_namespace="")
    for _ in range(2):
        await released(before, before.select("web/dev"), force=True)
        fleet.edit("ann", "web/dev/main.k", "replicas = ", "replicas = 1")
    assert fleet.sandbox.clusters[0].find("namespaces", None, NAMESPACE) is None
    ann, ben = fleet.session("ann"), fleet.session("ben")
    plan = await ann.plan(ann.select("web/dev"))
    assert plan.prior == 2 and not plan.gaps
    await released(ann, ann.select("web/dev"))
    without_config_map(fleet, "ben")
    plan = await ben.plan(ben.select("web/dev"))
    assert (plan.prior, plan.change(FRONT).action) == (3, Action.DELETE)
    assert [each.revision for each in (await ann.history(ann.select("web/dev"))).releases()] == [3, 2, 1]
    assert [each.revision for each in (await ben.history(ben.select("web/dev"))).releases()] == [3]


async def test_what_one_machine_left_half_done_another_continues(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    plan = await ann.plan(ann.select("web/dev"))
    async with ann.apply(plan, confirm=plan.confirmation.phrase) as events:
        async for event in events:
            if isinstance(event, StepFinished):
                break
    continued = await ben.plan(ben.select("web/dev"))
    assert continued.prior == 1 and any("was not finished" in each for each in continued.notes)
    await released(ben, ben.select("web/dev"))
    assert (await ann.plan(ann.select("web/dev"))).is_empty


async def test_a_checkout_that_nothing_names_is_told_that_there_are_releases(fleet: Machines) -> None:
    ann, zip_ = fleet.session("ann"), fleet.session("zip", repository="")
    await released(ann, ann.select("web/dev"))
    stack = zip_.select("web/dev")
    plan = await zip_.plan(stack)
    assert plan.prior == 0 and any("WB_REPOSITORY=git.example.org/shop/config" in each for each in plan.warnings)
    assert any("WB_REPOSITORY=" in each for each in (await zip_.history(stack)).warnings)
    quiet = fleet.session("zip", repository="", releases_namespace="")
    assert not any("WB_REPOSITORY" in each for each in (await quiet.plan(stack)).warnings)


async def test_another_repository_with_the_same_names_is_told_and_nothing_of_it_is_deleted(fleet: Machines) -> None:
    ann, eve = fleet.session("ann"), fleet.session("eve", repository="git.example.org/other/config")
    await released(ann, ann.select("web/dev"))
    without_config_map(fleet, "eve")
    plan = await eve.plan(eve.select("web/dev"))
    assert plan.prior == 0 and not any(each.action is Action.DELETE for each in plan.changes)
    assert any("another repository (git.example.org/shop/config" in each for each in plan.warnings)
    assert [each.subject for each in plan.gaps] == [FRONT.id], "what it left is said, too"


async def test_an_apply_whose_lock_was_taken_away_does_not_say_how_it_ended(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    plan = await ann.plan(ann.select("web/dev"))
    async with ann.apply(plan, confirm=plan.confirmation.phrase) as events:
        (holder,) = await ben.unlock(ben.select("web/dev"))
        with pytest.raises(Locked):
            await ben.unlock(ben.select("web/dev"), "somebody@else pid 1")
        assert await ben.unlock(ben.select("web/dev"), holder) == (holder,)
        seen = [each async for each in events]
    assert isinstance(seen[-1], ApplyFinished)
    assert seen[-1].outcome in (Outcome.UNRECORDED, Outcome.INTERRUPTED), "whether it had begun everything or not"
    latest = (await ben.history(ben.select("web/dev"))).latest
    assert latest is not None and latest.phase is Phase.APPLYING, "nobody claims to know how it ended"


async def test_a_stack_that_went_elsewhere_before_is_found_there(fleet: Machines) -> None:
    ann = fleet.session("ann")
    await released(ann, ann.select("web/dev"))
    ben = fleet.session("ben")
    fleet.edit("ben", "clusters.yaml", '["*/dev"], clusters: [hz]', '["*/dev"], clusters: [sh]')
    plan = await ben.plan(ben.select("web/dev"))
    assert plan.prior == 1 and any(each.place == "hz" and each.exists for each in plan.gaps)
    await released(ben, ben.select("web/dev"))
    latest = (await ben.history(ben.select("web/dev"))).latest
    assert latest is not None and any(each.startswith("hz: ") for each in latest.gaps), "whoever reads it later is told"
    assert note(latest) == "with gaps"


async def test_a_stack_that_moves_away_and_back_is_known_by_its_last_release(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/dev"))
    fleet.edit("ben", "clusters.yaml", '["*/dev"], clusters: [hz]', '["*/dev"], clusters: [sh]')
    await released(ben, ben.select("web/dev"))
    cid = fleet.session("cid")
    plan = await cid.plan(cid.select("web/dev"))
    assert (plan.prior, plan.revision) == (2, 3)
    assert any(each.place == "sh" and each.exists for each in plan.gaps), "what is left there now is said"
    latest = (await cid.history(cid.select("web/dev"))).latest
    assert latest is not None and {each.cluster for each in latest.resources} == {"hz", "sh"}


async def test_another_first_cluster_goes_on_with_the_same_history(fleet: Machines) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/prod"))
    fleet.edit("ben", "clusters.yaml", "clusters: [hz, sh]", "clusters: [sh, hz]")
    await released(ben, ben.select("web/prod"))
    assert [each.revision for each in (await ann.history(ann.select("web/prod"))).releases()] == [2, 1]
    fleet.edit("ann", "clusters.yaml", "clusters: [hz, sh]", "clusters: [sh]")
    alone = await ann.history(ann.select("web/prod"))
    assert alone.latest is not None and {each.cluster for each in alone.latest.resources} == {"hz", "sh"}


async def test_no_more_than_the_history_is_kept_and_never_less_than_the_last_good_one(
    fleet: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.release.shared.KEPT_RELEASES", 3)
    ann = fleet.session("ann")
    stack = ann.select("web/dev")
    for replicas in range(5):
        (fleet.root("ann") / "web/dev/main.k").write_text(
            f"import models.server\n\nfront: server.Server {{\n    replicas = {replicas}\n}}\n"
        )
        await released(ann, stack)
    assert [each.revision for each in (await fleet.session("ben").history(stack)).releases()] == [5, 4, 3]
    assert len(fleet.secrets()) == 3


async def test_a_user_who_may_not_keep_releases_is_told_what_it_takes(fleet: Machines) -> None:
    ann = fleet.session("ann")
    await released(ann, ann.select("web/dev"))
    allow(
        fleet,
        [
            {"apiGroups": [""], "resources": ["*"], "verbs": ["*"]},
            {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]},
        ],
        "web-dev",
    )
    dan = fleet.session("dan", user="deployer")
    plan = await dan.plan(dan.select("web/dev"))
    (gap,) = [each for each in plan.gaps if "another machine" in each.message]
    assert gap.place == "hz" and "leases.coordination.k8s.io" in gap.hint and "WB_RELEASES=local" in gap.hint
    with pytest.raises(ReleaseFailure):
        (await dan.history(dan.select("web/dev"))).refuse_unknown("web/dev")


async def test_a_user_who_may_only_look_at_releases_plans_and_changes_none(fleet: Machines) -> None:
    ann = fleet.session("ann")
    await released(ann, ann.select("web/dev"))
    allow(fleet, [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}], NAMESPACE)
    dan = fleet.session("dan", user="deployer")
    stack = dan.select("web/dev")
    history = await dan.history(stack)
    assert history.latest is not None and not history.gaps
    with pytest.raises(NotAllowed, match="may not be kept in hz") as refused:
        await dan.forget(stack, "hz")
    assert "leases.coordination.k8s.io" in refused.value.hint
    assert dan.releases(stack) == ()


def allow(fleet: Machines, rules: list[dict[str, object]], namespace: str) -> None:
    """Lets `deployer` do this in one namespace."""
    api = fleet.sandbox.clusters[0]
    meta = {"name": "deployer", "namespace": namespace}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": rules}
    api.create("roles.rbac.authorization.k8s.io", namespace, role)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "User", "name": "deployer", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    api.create("rolebindings.rbac.authorization.k8s.io", namespace, binding)


async def test_what_a_stack_left_in_a_cluster_that_is_gone_from_the_repository_is_said_on_any_machine(
    fleet: Machines,
) -> None:
    """Whoever looks after all stacks looks at those that are there; that one was taken out is known where it was."""
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/prod"))
    assert await ben.taken_out() == TakenOut()
    fleet.edit("ben", "web/project.yaml", "name: web", "name: shop")
    moved = fleet.session("ben")
    (said,) = (await moved.taken_out()).said
    assert said.startswith("web/prod is no stack of this repository any more, and its release 1 left "), said
    assert "resources: bring its folder back" in said
    blind = fleet.session("ben", user="deployer")
    (unknown,) = (await blind.taken_out()).said
    what = "whether stacks that are gone from the repository left something in hz, sh is not known: "
    assert unknown.startswith(what), unknown
    gone = await ann.plan_destroy(ann.select("web/prod"))
    assert isinstance((await apply(ann, gone))[-1], ApplyFinished)
    assert await moved.taken_out() == TakenOut(), "brought back, and taken away by another"
