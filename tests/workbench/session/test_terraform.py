"""Stacks with Terraform resources: where their workspaces are, what is planned, watched, and taken away again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address, KubernetesId, Misconfigured, Status
from tests.workbench.engine.fake_workspace import FakeWorkspace, thing
from tests.workbench.session.shop import Clusters, shop
from workbench.engine.errors import ConfirmationRequired, Refused
from workbench.engine.events import Action, ApplyFinished, Outcome
from workbench.engine.plan import Level, Plan
from workbench.engine.status import Verdict
from workbench.project import BrokenFile, Stack
from workbench.release import ReleaseStore
from workbench.session import Session
from workbench.settings import Settings
from workbench.workspaces import Workspaces

CLOUD = """\
db = {
    id = "acme:cloud:thing:db"
    $type = "Terraform"
    attributes = {name = "db", size = option("size", default=1), password = "canary-9d"}
    extensions = {provider = "registry.example/acme/cloud/1.0", resourceType = "thing"}
}
"""
MAIN = """\
import manifests

space = {
    id = "v1:Namespace:pay"
    $type = "Kubernetes"
    attributes = {apiVersion = "v1", kind = "Namespace", metadata.name = "pay"}
}
settings = {
    id = "v1:ConfigMap:pay:settings"
    $type = "Kubernetes"
    attributes = {
        apiVersion = "v1"
        kind = "ConfigMap"
        metadata = {name = "settings", namespace = "pay"}
        data = {host = "$kusion_path.acme:cloud:thing:db.address"}
    }
}
manifests.yaml_stream([space, settings, db])
"""
FILES = {
    "pay/project.yaml": "name: pay\n",
    "pay/base/base.k": CLOUD,
    "pay/dev/stack.yaml": "name: dev\n",
    "pay/dev/main.k": MAIN,
    "pay/prod/stack.yaml": "name: prod\n",
    "pay/prod/main.k": MAIN,
    "pay/alone/stack.yaml": "name: alone\n",
    "pay/alone/main.k": "import manifests\n\nmanifests.yaml_stream([db])\n",
}
SETTINGS = KubernetesId("v1", "ConfigMap", "pay", "settings")


class Clouds:
    """A workspace for each stack, made on first use."""

    def __init__(self) -> None:
        self.by_stack: dict[str, FakeWorkspace] = {}

    async def __call__(self, stack: Stack) -> Any:
        return self.by_stack.setdefault(stack.name, FakeWorkspace())


class Place:
    def __init__(self, root: Path) -> None:
        self.root, self.clusters, self.clouds = root, Clusters("hz", "sh"), Clouds()

    def open(self, now: Callable[[], datetime] = lambda: datetime.now(UTC), **settings: Any) -> Session:
        state = self.root.parent / "state"
        made = Settings(state, state, user="ann", host="box", **settings)
        return Session.open(self.root, settings=made, connect=self.clusters, connect_workspace=self.clouds, now=now)

    async def apply(self, opened: Session, plan: Plan) -> ApplyFinished:
        async with opened.apply(plan, confirm=plan.confirmation.phrase) as events:
            last = [each async for each in events][-1]
        assert isinstance(last, ApplyFinished)
        return last


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(shop(tmp_path / "repo", FILES))


async def test_from_nothing_to_ready_in_both_places_and_away_again(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        plan = await opened.plan(stack)
        assert plan.places == ("hz", "terraform")
        assert plan.summary.create == 3
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        assert place.clusters["hz"].body(SETTINGS)["data"] == {"host": "db-1.cloud"}
        assert (await opened.plan(stack)).is_empty
        assert not (await opened.diff(stack)).is_different

        tree = await opened.status(stack)
        assert [each for each in tree.resources if each.health.status is not Status.CURRENT] == []
        watched = {each.address: each.health.status for each in tree.resources}
        assert watched[Address("terraform", thing("db"))] is Status.CURRENT

        release = opened.releases(stack)[0]
        assert Address("terraform", thing("db")) in release.resources
        record = "".join(each.read_text() for each in place.root.parent.joinpath("state").rglob("*.json"))
        assert "canary-9d" not in record and "$kusion_path.acme:cloud:thing:db.address" in record
        assert {each.cluster for each in opened.audit().entries() if each.target == str(thing("db"))} == {"terraform"}

        away = await opened.plan_destroy(stack)
        assert away.destroys and away.confirmation.level is Level.PHRASE
        with pytest.raises(ConfirmationRequired):
            async with opened.apply(away, confirm="yes"):
                raise AssertionError("nothing may be applied")
        assert (await place.apply(opened, away)).outcome is Outcome.SUCCEEDED
        assert place.clusters["hz"].objects == {} and place.clouds.by_stack["pay/dev"].cloud == {}
        assert (await opened.plan(stack)).summary.create == 3


async def test_a_stack_that_no_longer_compiles_can_be_destroyed(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan(stack))
        (place.root / "pay/dev/main.k").write_text("this is no KCL at all {")
        away = await opened.plan_destroy(stack)
        assert {each.action for each in away.steps()} == {Action.DELETE} and len(away.steps()) == 3
        assert (await place.apply(opened, away)).outcome is Outcome.SUCCEEDED


async def test_a_protected_stack_is_not_destroyed(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/prod")
        await place.apply(opened, await opened.plan(stack))
        away = await opened.plan_destroy(stack)
        with pytest.raises(Refused, match="stack not protected"):
            async with opened.apply(away, confirm=away.confirmation.phrase):
                raise AssertionError("nothing may be applied")


async def test_a_stack_with_nothing_but_terraform_needs_no_placement(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/alone")
        assert stack.placement is None
        plan = await opened.plan(stack)
        assert (plan.clusters, plan.places, plan.summary.create) == ((), ("terraform",), 1)
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        assert (await opened.status(stack)).verdict is Verdict.READY
        assert (await place.apply(opened, await opened.plan_destroy(stack))).outcome is Outcome.SUCCEEDED
        assert place.clouds.by_stack["pay/alone"].state == {}


async def test_what_left_the_configuration_is_deleted_though_no_terraform_resource_is_left(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan(stack))
        text = MAIN.replace("[space, settings, db]", "[space]")
        (place.root / "pay/dev/main.k").write_text(text)
        plan = await opened.plan(stack)
        assert plan.summary.delete == 2
        assert (await place.apply(opened, plan)).outcome is Outcome.SUCCEEDED
        assert place.clouds.by_stack["pay/dev"].state == {}
        asked = len(place.clouds.by_stack["pay/dev"].requests)
        assert (await opened.plan(stack)).is_empty
        # the stack has no workspace any more, so nothing is started for one
        assert len(place.clouds.by_stack["pay/dev"].requests) == asked


async def test_a_saved_plan_is_bound_to_what_terraform_would_do(place: Place, tmp_path: Path) -> None:
    from workbench.engine.errors import StalePlan

    async with place.open() as opened:
        stack = opened.select("pay/dev")
        opened.save_plan(await opened.plan(stack), tmp_path / "plan")
        assert "canary-9d" not in (tmp_path / "plan").read_text()
        assert (await opened.load_plan(tmp_path / "plan")).summary.create == 3
        place.clouds.by_stack["pay/dev"].make(thing("db"), {"name": "db"}, None)
        with pytest.raises(StalePlan):
            await opened.load_plan(tmp_path / "plan")


async def test_a_saved_plan_whose_terraform_is_away_is_not_said_to_be_out_of_date(place: Place, tmp_path: Path) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        opened.save_plan(await opened.plan(stack), tmp_path / "plan")
        workspace = place.clouds.by_stack["pay/dev"]
        workspace.broken = Misconfigured("the provider's binary is not found", target="terraform")
        with pytest.raises(Refused, match="not everything could be asked: terraform: the provider's binary is not f"):
            await opened.load_plan(tmp_path / "plan")
        workspace.broken = None
        assert (await opened.load_plan(tmp_path / "plan")).summary.create == 3


async def test_a_stack_without_terraform_starts_no_workspace(place: Place) -> None:
    async with place.open() as opened:
        plan = await opened.plan(opened.select("web/dev"))
    assert plan.workspace == "" and place.clouds.by_stack == {}


async def test_a_workspace_that_cannot_be_reached_is_a_problem_and_clusters_are_shown(place: Place) -> None:
    async def nowhere(stack: Stack) -> Any:
        raise Misconfigured("no terraform on PATH", target="terraform", hint="install terraform or tofu")

    state = place.root.parent / "state"
    settings = Settings(state, state, user="ann", host="box")
    async with Session.open(place.root, settings=settings, connect=place.clusters, connect_workspace=nowhere) as opened:
        found = await opened.diff(opened.select("pay/dev"))
    assert [(each.cluster, each.message) for each in found.problems] == [("terraform", "no terraform on PATH")]
    assert [each.address.cluster for each in found.changes] == ["hz", "hz"]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("pay/dev/stack.yaml", "name: dev\nterraform: {backend: {config: {}}}\n", "needs a type"),
        ("pay/project.yaml", "name: pay\nterraform: {stat: 1}\n", "unknown key 'stat'"),
        ("pay/dev/stack.yaml", "name: dev\nterraform: {lockTimeoutSeconds: soon}\n", "a number from 0"),
        ("clusters.yaml", "clusters: {terraform: {}}\nplacements: []\n", "no cluster may be called 'terraform'"),
    ],
)
async def test_where_a_state_is_must_not_be_guessed(place: Place, file: str, text: str, said: str) -> None:
    (place.root / file).write_text(text)
    async with place.open() as opened:
        with pytest.raises(BrokenFile, match=said):
            await opened.plan(opened.select("pay/dev"))


def test_a_stacks_terraform_options_go_over_its_projects(tmp_path: Path) -> None:
    files: Mapping[str, str] = {
        **FILES,
        "pay/project.yaml": "name: pay\nterraform: {backend: {type: s3, config: {bucket: b}}, requiredVersion: '1'}\n",
        "pay/dev/stack.yaml": "name: dev\nterraform: {requiredVersion: '>= 1.9', lockTimeoutSeconds: 60}\n",
    }
    opened = Place(shop(tmp_path / "repo", files)).open()
    options = opened.select("pay/dev").terraform
    assert options.backend == {"type": "s3", "config": {"bucket": "b"}}
    assert (options.required_version, options.lock_timeout_seconds) == (">= 1.9", 60.0)


@pytest.mark.parametrize(
    ("backend", "is_shared"),
    [
        ("{type: s3, config: {bucket: states, key: pay}}", True),
        ("{type: local, config: {path: /srv/pay.tfstate}}", True),
        ("{type: local, config: {path: pay.tfstate}}", False),
        ("{type: http}", False),
    ],
)
async def test_stacks_that_name_one_place_for_their_states_are_refused(
    tmp_path: Path, backend: str, is_shared: bool
) -> None:
    """What a project.yaml says holds for all its stacks: each would plan to delete what the other has."""
    place = Place(
        shop(tmp_path / "repo", {**FILES, "pay/project.yaml": f"name: pay\nterraform: {{backend: {backend}}}\n"})
    )
    async with place.open() as opened:
        plan = await opened.plan(opened.select("pay/dev"))
        said = [each.message for each in plan.problems]
        assert any("that of pay/alone, pay/prod as well" in each for each in said) == is_shared, said
        assert place.clouds.by_stack.keys() == (set() if is_shared else {"pay/dev"}), "nobody is contacted"


async def test_what_no_release_has_and_is_deleted_may_be_anothers(place: Place) -> None:
    async with place.open() as opened:
        stack = opened.select("pay/dev")
        await place.apply(opened, await opened.plan(stack))
        theirs = place.clouds.by_stack["pay/dev"]
    place.clouds.by_stack["pay/prod"] = theirs
    (place.root / "pay/base/base.k").write_text(CLOUD.replace("thing:db", "thing:other").replace('"db"', '"other"'))
    (place.root / "pay/prod/main.k").write_text("import manifests\n\nmanifests.yaml_stream([db])\n")
    async with place.open() as opened:
        plan = await opened.plan(opened.select("pay/prod"))
    said = "no release of this stack has 1 of the Terraform resources that are deleted"
    assert plan.summary.delete == 1 and any(said in each for each in plan.confirmation.reasons)


async def test_each_stack_has_a_folder_of_its_own_beside_its_releases(tmp_path: Path) -> None:
    root = shop(tmp_path / "repo", FILES)
    settings = Settings(tmp_path / "state", tmp_path / "cache")
    store = ReleaseStore(settings.state_dir, root)
    stacks = [Session.open(root, settings=settings).select(name) for name in ("pay/dev", "pay/prod")]
    folders = [store.workspace_folder(each.path) for each in stacks]
    assert [each.parts[-2:] for each in folders] == [("pay", "dev"), ("pay", "prod")]
    assert folders[0].parent.parent.parent == tmp_path / "state" / "terraform"
    # a state that holds something is enough to need the workspace; an empty one is not
    from workbench.engine.spec import Spec

    workspaces = Workspaces(settings, store.workspace_folder, trust=Session.open(root, settings=settings).trust)
    nothing = Spec("pay/dev", ())
    assert not workspaces.is_needed(stacks[0], nothing, None)
    folders[0].mkdir(parents=True)
    (folders[0] / "terraform.tfstate").write_text('{"resources": []}')
    assert not workspaces.is_needed(stacks[0], nothing, None)
    (folders[0] / "terraform.tfstate").write_text('{"resources": [{}]}')
    assert workspaces.is_needed(stacks[0], nothing, None)


async def test_what_terraform_has_for_one_stack_is_not_what_it_has_for_another(place: Place) -> None:
    """Each has a state of its own, in which a resource is called the same."""
    main = place.root / "pay/prod/main.k"
    main.write_text((place.root / "pay/alone/main.k").read_text())
    async with place.open() as opened:
        for name in ("pay/alone", "pay/prod"):
            await place.apply(opened, await opened.plan(opened.select(name)))
        main.write_text('other = {**db, id = "acme:cloud:thing:other"}\n' + main.read_text().replace("[db]", "[other]"))
        fleet = await opened.plan_stacks("pay/alone", "pay/prod")
        assert not fleet.unplanned
        assert {each.action for each in fleet.plans["pay/prod"].changes} == {Action.DELETE, Action.CREATE}
