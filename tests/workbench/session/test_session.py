"""The verbs, from KCL text to objects in clusters and back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kcl import bounds, whole_file
from runtimes.base import KubernetesId, ObjectRef, Status, format_path
from tests.workbench.session.shop import Clusters, session, shop
from workbench.engine.changes import ChangeClass
from workbench.engine.compiled import CompileFailed, CompileInputs
from workbench.engine.errors import (
    ConfirmationRequired,
    EngineError,
    Locked,
    Refused,
    ReleaseFailure,
    SpecInvalid,
    StalePlan,
    UnresolvedConflict,
)
from workbench.engine.events import ApplyFinished, Outcome, StepStarted
from workbench.engine.release import Phase
from workbench.engine.status import Verdict
from workbench.project import NotARepository, UnknownCluster, UnknownStack
from workbench.session import Session
from workbench.settings import Settings

FRONT = KubernetesId("apps/v1", "Deployment", "web-prod", "front")
SETTINGS = KubernetesId("v1", "ConfigMap", "web-prod", "front")


async def released(root: Path, clusters: Clusters, name: str = "web/prod") -> None:
    async with session(root, clusters) as opened:
        stack = opened.select(name)
        plan = await opened.plan(stack)
        async with opened.apply(plan, confirm=plan.confirmation.phrase) as events:
            last = [each async for each in events][-1]
    assert isinstance(last, ApplyFinished) and last.outcome is Outcome.SUCCEEDED


def records(folder: Path) -> list[Path]:
    return sorted(folder.rglob("[0-9].json"))


def kept(folder: Path) -> list[str]:
    """The text of every file but the repository's own."""
    return [each.read_text() for each in folder.rglob("*.json")]


def sources(root: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in root.rglob("*.k")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return shop(tmp_path / "repo")


async def test_from_nothing_to_ready_in_two_clusters(root: Path) -> None:
    clusters = Clusters("hz", "sh")
    async with session(root, clusters) as opened:
        stack = opened.select("web/prod")
        assert [each.name for each in stack.components] == ["front"]
        plan = await opened.plan(stack)
        assert (plan.summary.create, plan.confirmation.phrase) == (8, "web/prod")
        async with opened.apply(plan, confirm="web/prod") as events:
            kinds = [type(each).__name__ async for each in events]
        assert (kinds[0], kinds[-1]) == ("ApplyStarted", "ApplyFinished")
        async with opened.watch(stack, spec=plan.spec, until_settled=True, timeout_seconds=5) as trees:
            last = [each async for each in trees][-1]
        assert (last.verdict, last.total) == (Verdict.READY, 8)
        assert (await opened.status(stack)).verdict is Verdict.READY
        assert not (await opened.diff(stack)).is_different
        (release,) = opened.releases(stack)
        assert (release.revision, release.phase, release.user) == (1, Phase.SUCCEEDED, "ann")
        assert (await opened.logs("hz", ObjectRef("Pod", "web-prod", "front-1"))) == ("log of Pod/front-1",)
    assert clusters["hz"].closed and clusters["sh"].closed
    assert clusters["sh"].body(FRONT)["spec"]["replicas"] == 3


async def test_an_edit_of_the_source_shows_with_file_and_line(root: Path) -> None:
    clusters = Clusters("hz", "sh")
    await released(root, clusters)
    base = root / "web/base/base.k"
    base.write_text(base.read_text().replace("front:1", "front:2"))
    clusters["sh"].edit(FRONT, ("spec", "replicas"), 9)
    async with session(root, clusters) as opened:
        diff = await opened.diff(opened.select("web/prod"))
    shown = [
        (each.address.cluster, format_path(f.path), f.before, f.after, f.class_, f.source[0].relative_to(root))
        for each in diff.changes
        for f in each.fields
    ]
    image = "spec.template.spec.containers[name=front].image"
    assert shown == [
        ("hz", image, "front:1", "front:2", ChangeClass.INTENDED, "web/base/base.k:5"),
        ("sh", "spec.replicas", 9, 3, ChangeClass.DRIFT, "web/prod/main.k:4"),
        ("sh", image, "front:1", "front:2", ChangeClass.INTENDED, "web/base/base.k:5"),
    ]


async def test_a_placement_tells_the_models_and_options_win(root: Path) -> None:
    async with session(root, Clusters("hz")) as opened:
        stack = opened.select("web/dev")
        compiled = await opened.compile(stack)
        assert str(compiled.spec.resources[0].id) == "v1:Namespace:web-dev"
        compiled = await opened.compile(stack, CompileInputs(options={"stack": "mine"}))
        assert str(compiled.spec.resources[0].id) == "v1:Namespace:web-mine"
        (root / "web/dev/ci.yaml").write_text("kcl_options: [{key: stack, value: ci}]\n")
        compiled = await opened.compile(stack, CompileInputs(settings=("ci.yaml",)))
        assert str(compiled.spec.resources[0].id) == "v1:Namespace:web-ci"


async def test_wrong_kcl_is_shown_where_it_is(root: Path) -> None:
    (root / "web/prod/main.k").write_text("import models.server\n\nfront: server.Server {\n    replicas = nobody\n}\n")
    async with session(root, Clusters("hz", "sh")) as opened:
        with pytest.raises(CompileFailed) as failed:
            await opened.plan(opened.select("web/prod"))
    assert failed.value.where.endswith("web/prod/main.k:4:16")
    assert "replicas = nobody" in failed.value.rendered and "^" in failed.value.rendered


async def test_what_is_no_spec_is_refused_with_the_stack_and_its_line(root: Path) -> None:
    (root / "models/render.k").write_text("a = 1\n")
    async with session(root, Clusters("hz")) as opened:
        with pytest.raises(SpecInvalid, match="neither a resource nor a Kubernetes object") as invalid:
            await opened.compile(opened.select("web/dev"))
    assert invalid.value.where.startswith(f"{root}/web/")
    assert invalid.value.message.startswith("resource 1 of web/dev: ")


async def test_unknown_names_say_what_there_is(root: Path, tmp_path: Path) -> None:
    async with session(root, Clusters("hz", "sh")) as opened:
        with pytest.raises(UnknownStack) as stack:
            opened.select("web/prd")
        assert "web/prod" in stack.value.hint
        with pytest.raises(UnknownCluster) as cluster:
            await opened.plan(opened.select("web/prod"), clusters=["mars"])
        assert "hz, sh" in cluster.value.hint
    with pytest.raises(NotARepository):
        Session.open(tmp_path / "nowhere")


async def test_a_cluster_that_is_down_refuses_the_plan_but_not_the_diff_of_the_other(root: Path) -> None:
    async with session(root, Clusters("hz")) as opened:
        stack = opened.select("web/prod")
        diff = await opened.diff(stack)
        assert (diff.summary.create, [each.cluster for each in diff.problems]) == (4, ["sh"])
        plan = await opened.plan(stack)
        with pytest.raises(Refused, match="sh: connection refused"):
            async with opened.apply(plan, confirm=plan.confirmation.phrase):
                pass
        plan = await opened.plan(stack, clusters=["hz"])
        async with opened.apply(plan, confirm="web/prod") as events:
            assert [each async for each in events][-1].outcome is Outcome.SUCCEEDED  # type: ignore[union-attr]


async def test_confirmation_conflicts_and_read_only_are_refused_before_any_write(root: Path) -> None:
    clusters = Clusters("hz", "sh")
    async with session(root, clusters) as opened:
        plan = await opened.plan(opened.select("web/prod"))
        with pytest.raises(ConfirmationRequired):
            async with opened.apply(plan, confirm="yes"):
                pass
    async with session(root, clusters, is_read_only=True) as opened:
        plan = await opened.plan(opened.select("web/prod"))
        with pytest.raises(Refused, match="read-only"):
            async with opened.apply(plan, confirm="web/prod"):
                pass
    assert clusters["hz"].calls == []
    await released(root, clusters)
    clusters["hz"].edit(FRONT, ("spec", "replicas"), 9)
    async with session(root, clusters) as opened:
        plan = await opened.plan(opened.select("web/prod"))
        with pytest.raises(UnresolvedConflict):
            async with opened.apply(plan, confirm="web/prod"):
                pass


async def test_two_plans_over_one_state_only_the_first_runs(root: Path) -> None:
    clusters = Clusters("hz", "sh")
    async with session(root, clusters) as one, session(root, clusters) as two:
        first, second = await one.plan(one.select("web/prod")), await two.plan(two.select("web/prod"))
        async with one.apply(first, confirm="web/prod") as events:
            async for event in events:
                if isinstance(event, StepStarted):
                    with pytest.raises(Locked, match=f"ann@box pid {os.getpid()}"):
                        async with two.apply(second, confirm="web/prod"):
                            pass
        with pytest.raises(StalePlan, match="release 1 was made since"):
            async with two.apply(second, confirm="web/prod"):
                pass


async def test_a_deleted_object_makes_the_plan_stale(root: Path) -> None:
    clusters = Clusters("hz", "sh")
    await released(root, clusters)
    (root / "web/prod/main.k").write_text("import models.server\n\nfront: server.Server {\n    replicas = 5\n}\n")
    async with session(root, clusters) as opened:
        plan = await opened.plan(opened.select("web/prod"))
        del clusters["sh"].objects[FRONT]
        with pytest.raises(StalePlan, match="Deployment:web-prod:front@sh: is gone"):
            async with opened.apply(plan, confirm="web/prod"):
                pass
        assert len(opened.releases(opened.select("web/prod"))) == 1, "no release was begun"


async def test_a_full_disk_stops_before_the_first_write(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = Clusters("hz", "sh")
    async with session(root, clusters) as opened:
        plan = await opened.plan(opened.select("web/prod"))

        def full(path: Path, data: bytes, *, mode: int = 0o600) -> None:
            if path.suffix == ".json":
                raise OSError(28, "No space left on device")
            real(path, data, mode=mode)

        real = whole_file.write
        monkeypatch.setattr(whole_file, "write", full)
        with pytest.raises(ReleaseFailure, match="No space left on device") as failure:
            async with opened.apply(plan, confirm="web/prod"):
                pass
        assert "WB_STATE_DIR" in failure.value.hint
        monkeypatch.undo()
        assert clusters["hz"].calls == []
        async with opened.apply(await opened.plan(opened.select("web/prod")), confirm="web/prod") as events:
            assert [each async for each in events][-1].outcome is Outcome.SUCCEEDED  # type: ignore[union-attr]


async def test_broken_records_are_named_and_stop_a_plan_but_not_a_diff(root: Path, tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    await released(root, clusters)
    await released(root, clusters)
    one, two = records(tmp_path)
    two.write_bytes(b"torn")
    async with session(root, clusters) as opened:
        stack = opened.select("web/prod")
        plan = await opened.plan(stack)
        assert (plan.prior, plan.revision) == (1, 3)
        assert "2.json" in plan.warnings[0]
        one.write_bytes(b"torn as well")
        with pytest.raises(ReleaseFailure, match=r"2\.json .* 1\.json|1\.json"):
            await opened.plan(stack)
        diff = await opened.diff(stack)
    assert not diff.is_different
    assert "release records are not used" in diff.warnings[0]


async def test_secrets_stay_out_of_everything_that_is_shown_or_kept(root: Path, tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    inputs = CompileInputs(options={"token": "canary-9b2e"})
    async with session(root, clusters) as opened:
        stack = opened.select("web/prod")
        plan = await opened.plan(stack, inputs)
        opened.save_plan(plan, tmp_path / "plan.json")
        seen = [repr(plan), repr(await opened.diff(stack, inputs)), repr(inputs), repr(plan.changes)]
        async with opened.apply(plan, confirm="web/prod") as events:
            seen += [repr(each) async for each in events]
        seen += [repr(opened.releases(stack)[0].resources), repr(await opened.compile(stack, inputs))]
    seen += kept(tmp_path)
    assert len(seen) > 6
    assert not [each for each in seen if "canary" in each]


async def test_a_plan_that_could_not_be_read_again_is_not_saved(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(root, Clusters("hz", "sh")) as opened:
        plan = await opened.plan(opened.select("web/dev"))
        with monkeypatch.context() as small:
            small.setattr(bounds, "MOST_BYTES", 300)
            with pytest.raises(EngineError, match="no more than 300 are read again: it is not saved"):
                opened.save_plan(plan, tmp_path / "plan.json")
        assert not (tmp_path / "plan.json").exists()
        opened.save_plan(plan, tmp_path / "plan.json")


async def test_a_saved_plan_is_made_again_or_refused(root: Path, tmp_path: Path) -> None:
    clusters, file = Clusters("hz", "sh"), tmp_path / "plan.json"
    inputs = CompileInputs(options={"token": "secret-value", "colour": "blue"})
    async with session(root, clusters) as opened:
        plan = await opened.plan(opened.select("web/prod"), inputs)
        opened.save_plan(plan, file)
    assert file.stat().st_mode & 0o777 == 0o600
    async with session(root, clusters) as opened:
        from workbench.engine.plan_file import PlanFileInvalid

        with pytest.raises(PlanFileInvalid) as invalid:
            await opened.load_plan(file)
        assert "-D token=" in invalid.value.hint
        given = CompileInputs(options={"token": "secret-value"})
        again = await opened.load_plan(file, given)
        assert again.id == plan.id and again.inputs.options == inputs.options
        with pytest.raises(StalePlan, match="compiles to something else"):
            await opened.load_plan(file, CompileInputs(options={"token": "another"}))
        clusters["hz"].put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web-prod"}})
        with pytest.raises(StalePlan, match="Namespace:web-prod@hz: changed"):
            await opened.load_plan(file, given)
        file.write_text(json.dumps({"format": "other"}))
        with pytest.raises(PlanFileInvalid, match="has format 'other'"):
            await opened.load_plan(file)


async def test_a_saved_plan_is_good_for_as_long_as_it_says(root: Path, tmp_path: Path) -> None:
    clusters, file, now = Clusters("hz", "sh"), tmp_path / "plan.json", datetime(2026, 3, 1, 12, tzinfo=UTC)
    later = timedelta(0)
    settings = Settings(tmp_path / "state", tmp_path / "cache", plan_age=timedelta(hours=2))

    def opening(own: Settings = settings) -> Session:
        return Session.open(root, settings=own, connect=clusters, now=lambda: now + later)

    async with opening() as opened:
        plan = await opened.plan(opened.select("web/prod"))
        opened.save_plan(plan, file)
        assert json.loads(file.read_text())["expires"] == "2026-03-01T14:00:00+00:00"
        later = timedelta(hours=1, minutes=59)
        assert (await opened.load_plan(file)).id == plan.id
        later = timedelta(hours=2)
        with pytest.raises(StalePlan, match="good until 2026-03-01 14:00"):
            await opened.load_plan(file)
    later = timedelta(hours=-2)
    async with opening() as opened:
        with pytest.raises(StalePlan, match="can't be known"):
            await opened.load_plan(file)
    later = timedelta(minutes=40)
    async with opening(replace(settings, plan_age=timedelta(minutes=30))) as opened:
        with pytest.raises(StalePlan, match="good until 2026-03-01 12:30"):
            await opened.load_plan(file)
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "made": "2026-03-01T12:00:00"}))
    async with opening() as opened:
        with pytest.raises(EngineError, match="is not a saved plan"):
            await opened.load_plan(file)


async def test_what_if_changes_nothing_until_it_is_written(root: Path) -> None:
    clusters = Clusters("hz", "sh")
    await released(root, clusters)
    before = sources(root)
    async with session(root, clusters) as opened:
        stack = opened.select("web/prod")
        compiled = await opened.compile(stack)
        site = compiled.spec.chain(FRONT, ("spec", "replicas"))[0]
        edited = opened.whatif(stack).set_value(site, 7)
        diff = await opened.diff(stack, edited.inputs)
        assert [(f.before, f.after) for each in diff.changes for f in each.fields] == [(3, 7), (3, 7)]
        assert sources(root) == before
        assert edited.patch().splitlines()[-4:] == [
            " front: server.Server {",
            "-    replicas = 3",
            "+    replicas = 7",
            " }",
        ]
        assert edited.write() == (root / "web/prod/main.k",)
        assert [f.after for each in (await opened.diff(stack)).changes for f in each.fields] == [7, 7]


async def test_after_compiling_it_is_known_exactly_what_an_edit_touches(root: Path) -> None:
    async with session(root, Clusters("hz")) as opened:
        await opened.compile(opened.select("web/dev"))
        impact = opened.affected(["web/prod/main.k", "web/base/base.k"])
        assert ([str(e) for e in impact.certain], [str(e) for e in impact.possible]) == (["web/dev"], ["web/prod"])
        assert opened.affected(["web/prod/main.k"]).certain == ()


async def test_a_failing_workload_fails_the_wait(root: Path) -> None:
    clusters = Clusters("hz", "sh")
    await released(root, clusters)
    clusters["sh"].become(FRONT, Status.FAILED, reason="CrashLoopBackOff")
    async with session(root, clusters) as opened:
        tree = await opened.status(opened.select("web/prod"))
    assert tree.verdict is Verdict.FAILED
    assert tree.why is not None and str(tree.why.address) == f"{FRONT}@sh"


def test_listing_stacks_loads_neither_client_nor_parser_nor_screen(root: Path) -> None:
    script = (
        "import sys; from workbench.session import Session;"
        f"names = [s.name for s in Session.open({str(root)!r}).tree().stacks()];"
        "assert names == ['web/dev', 'web/prod'], names;"
        "rules = ('bounded', 'bounds', 'patterns', 'reach', 'records', 'regular', 'secrecy', 'terminal');"
        "heavy = ('kubernetes', 'textual', 'lark', 'aiohttp', 'kcl');"
        "found = [m.split('.') for m in sys.modules if m.split('.')[0] in heavy];"
        "print(['.'.join(m) for m in found if m[0] != 'kcl' or (m[1:] and m[1] not in rules)])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # of the language only the rules that it shares with us, which load nothing
    assert result.stdout.strip() == "[]"


async def test_the_value_of_a_secret_option_is_masked_wherever_it_ends_up(tmp_path: Path) -> None:
    """A Secret hides its values by its kind; a field that is none has to be told by what was handed in."""
    extra = {
        "web/prod/main.k": (
            "import models.server\n\n"
            'front: server.Server {\n    replicas = 3\n    settings.URL = "db://" + option("db_password") + "@db"\n}\n'
        )
    }
    clusters = Clusters("hz", "sh")
    async with session(shop(tmp_path / "repo", extra), clusters) as found:
        stack = found.select("web/prod")
        inputs = CompileInputs(options={"db_password": "canary-91c2"})
        diff = await found.diff(stack, inputs)
        assert "canary-91c2" not in repr(diff) and any(change.fields or change.resource for change in diff.changes)
        plan = await found.plan(stack, inputs)
        async with found.apply(plan, confirm=plan.confirmation.phrase) as events:
            assert [each async for each in events]
        written = [path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()]
        assert written and not any(b"canary-91c2" in each for each in written)
        changed = CompileInputs(options={"db_password": "canary-77ff"})
        (field,) = {
            each.path: each
            for change in (await found.diff(stack, changed)).changes
            for each in change.fields
            if each.path == ("data", "URL")
        }.values()
        assert field.is_masked and str(field.before).startswith("«masked") and field.before != field.after
    assert clusters["hz"].objects
