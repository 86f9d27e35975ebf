"""Planning and applying a workspace with the real terraform: what is told, and what is true afterwards."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from runtimes.base import (
    UNKNOWN,
    ApplyRequest,
    DeleteRequest,
    Finding,
    Misconfigured,
    Observation,
    Owned,
    PlannedAction,
    PlanRequest,
    ReadRequest,
    Rejected,
    Report,
    Resource,
    ResourceFailed,
    ResourceFinished,
    ResourceProgress,
    ResourceStarted,
    RuntimeFailure,
    RuntimeType,
    Status,
    TerraformId,
    WatchRequest,
    Workspace,
    WorkspacePlan,
    WorkspacePlanRequest,
)
from runtimes.registry import connect
from runtimes.sandbox.provider import Cloud, by_hand
from tests.runtimes.terraform.practice import (
    PASSWORD,
    Place,
    actions,
    anything,
    bucket,
    database,
    network,
    record,
    texts_in,
)


def told(reports: list[Report], kind: type[Report]) -> list[str]:
    return [report.id.name for report in reports if isinstance(report, kind) and isinstance(report.id, TerraformId)]


def arguments_of_all() -> set[str]:
    """Returns the command line of every process, as any user of the machine may read it."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.add(path.read_bytes().decode(errors="replace"))
    return found


@pytest.mark.slow
async def test_a_stack_is_planned_applied_changed_and_emptied(place: Place) -> None:
    stack = (network("main"), database("orders", "main"), bucket("invoices"), record("www"))
    plan = await place.plan(*stack)
    assert actions(plan) == dict.fromkeys(("main", "orders", "invoices", "www"), PlannedAction.CREATE)
    assert not plan.findings
    assert place.recorded() == set()

    reports, live = await place.apply(*stack)
    assert sorted(told(reports, ResourceStarted)) == sorted(told(reports, ResourceFinished))
    assert set(told(reports, ResourceFinished)) == {"main", "orders", "invoices", "www"}
    assert set(live) == {each.id for each in stack}
    assert live[stack[1].id].observed["network_id"] == live[stack[0].id].observed["id"]
    assert place.has("database") == {"orders"}

    again = await place.plan(*stack)
    assert set(actions(again).values()) == {PlannedAction.NONE}
    assert all(each.was_recorded and each.prediction.live for each in again.resources)

    changed = (stack[0], database("orders", "main", size_gb=30), bucket("receipts"), stack[3])
    assert actions(await place.plan(*changed)) == {
        "main": PlannedAction.NONE,
        "orders": PlannedAction.UPDATE,
        "receipts": PlannedAction.CREATE,
        "www": PlannedAction.NONE,
        "invoices": PlannedAction.DELETE,
    }
    await place.apply(*changed)
    assert place.has("bucket") == {"receipts"}

    reports, live = await place.apply()
    assert live == {}
    assert set(told(reports, ResourceFinished)) == {"main", "orders", "receipts", "www"}
    assert place.recorded() == set()
    assert all(not place.has(kind) for kind in ("network", "database", "bucket", "dns_record"))


async def test_a_replacement_is_one_step_of_two_parts(place: Place) -> None:
    await place.apply(network("main"))
    reports, _ = await place.apply(network("main", region="west"))
    assert told(reports, ResourceStarted) == told(reports, ResourceFinished) == ["main"]
    assert [report.message for report in reports if isinstance(report, ResourceProgress)] == ["the old one is gone"]


async def test_nothing_is_written_when_a_plan_is_not_accepted(place: Place) -> None:
    def refuse(plan: WorkspacePlan) -> None:
        raise Rejected(f"{len(plan.resources)} are too many")

    with pytest.raises(Rejected, match="1 are too many"):
        async with place.runtime.apply_all(WorkspacePlanRequest((bucket("invoices"),)), refuse):
            raise AssertionError("it was accepted")
    assert not place.has("bucket")
    assert not place.folder.plan.exists()


@pytest.mark.slow
async def test_a_part_is_applied_alone(place: Place) -> None:
    stack = (network("main"), database("orders", "main"), bucket("invoices"))
    reports, live = await place.apply(*stack, only=frozenset([stack[1].id]))
    assert set(told(reports, ResourceFinished)) == {"main", "orders"}, "and what it needs"
    assert set(live) == {stack[0].id, stack[1].id}
    limited = await place.plan(stack[0], only=frozenset([stack[0].id]))
    assert actions(limited) == {"main": PlannedAction.NONE}


@pytest.mark.slow
async def test_what_waits_for_a_value_from_elsewhere_is_planned_and_not_applied(place: Place) -> None:
    waiting = record("www", values=[UNKNOWN])
    plan = await place.plan(bucket("invoices"), waiting)
    assert actions(plan) == {"invoices": PlannedAction.CREATE, "www": PlannedAction.CREATE}
    reports, _ = await place.apply(bucket("invoices"), waiting, only=frozenset([bucket("invoices").id]))
    assert told(reports, ResourceFinished) == ["invoices"]
    with pytest.raises(Rejected, match="known only later"):
        await place.plan(waiting, only=frozenset([waiting.id]))


@pytest.mark.slow
async def test_a_failure_stops_what_needs_it_and_nothing_else(place: Place) -> None:
    place.order({"operation": "create", "type": "sandbox_network", "error": "no more networks"})
    stack = (network("main"), database("orders", "main"), bucket("invoices"))
    async with place.runtime.apply_all(WorkspacePlanRequest(stack), anything) as run:
        reports = [report async for report in run]
        live = await run.outcome()
    failed = [report for report in reports if isinstance(report, ResourceFailed)]
    assert [each.id for each in failed] == [stack[0].id]
    assert "no more networks" in str(failed[0].error)
    assert told(reports, ResourceFinished) == ["invoices"]
    assert "orders" not in told(reports, ResourceStarted)
    assert set(live) == {stack[2].id}


@pytest.mark.slow
async def test_what_happens_behind_its_back_is_drift(place: Place) -> None:
    stack = (bucket("invoices", versioning=True), bucket("receipts"))
    await place.apply(*stack)
    by_hand.edit(place.world, "sandbox_bucket", "invoices", {"versioning": False})
    by_hand.remove(place.world, "sandbox_bucket", "receipts")
    plan = await place.plan(*stack)
    edited, removed = plan.get(stack[0].id), plan.get(stack[1].id)
    assert edited is not None and removed is not None
    assert (edited.action, removed.action) == (PlannedAction.UPDATE, PlannedAction.CREATE)
    assert [(each.path, each.recorded, each.found) for each in edited.drift] == [(("versioning",), True, False)]
    assert removed.was_recorded and removed.prediction.live is None


@pytest.mark.slow
async def test_one_init_serves_until_the_providers_change(place: Place) -> None:
    await place.plan(bucket("invoices"))
    stamp = place.folder.initialised.stat().st_mtime_ns
    await place.apply(bucket("invoices"))
    await place.plan(bucket("invoices"))
    await place.another().survey(WorkspacePlanRequest((bucket("invoices"), network("main"))))
    assert place.folder.initialised.stat().st_mtime_ns == stamp


@pytest.mark.slow
async def test_a_folder_that_lost_its_providers_is_initialised_again(place: Place) -> None:
    await place.apply(bucket("invoices"))
    shutil.rmtree(place.folder.path / ".terraform" / "providers")
    assert actions(await place.plan(bucket("invoices"))) == {"invoices": PlannedAction.NONE}


@pytest.mark.slow
async def test_a_rebuilt_provider_of_a_mirror_is_taken(place: Place, tmp_path: Path, mirror: Path) -> None:
    own = tmp_path / "own-mirror"
    shutil.copytree(mirror, own)
    runtime = place.another(mirrors=(own,))
    request = WorkspacePlanRequest((bucket("invoices"),))
    await runtime.survey(request)
    program = next(own.rglob("terraform-provider-sandbox_*"))
    program.write_text(program.read_text() + "\n# another build\n")
    assert actions(await runtime.survey(request)) == {"invoices": PlannedAction.CREATE}


@pytest.mark.slow
async def test_a_wrong_attribute_is_a_finding_of_its_resource(place: Place) -> None:
    await place.apply(bucket("invoices"))
    wrong = database("orders", "main", size_gb=3)
    plan = await place.plan(bucket("invoices"), network("main"), wrong)
    errors = [each for each in plan.findings if each.is_error]
    assert [(each.id, each.path) for each in errors] == [(wrong.id, ("size_gb",))]
    with pytest.raises(RuntimeFailure, match="size_gb"):
        await place.apply(bucket("invoices"), network("main"), wrong)
    assert place.has("network") == set()


@pytest.mark.slow
async def test_an_existing_resource_is_taken_over_by_its_id(place: Place) -> None:
    await place.apply(bucket("invoices"))
    for file in place.folder.path.glob("terraform.tfstate*"):
        file.unlink()
    known = bucket("invoices", extensions={"importId": "invoices"})
    plan = await place.plan(known)
    assert actions(plan) == {"invoices": PlannedAction.IMPORT}
    reports, live = await place.apply(known)
    assert told(reports, ResourceFinished) == ["invoices"]
    assert set(live) == {known.id}


@pytest.mark.slow
async def test_secrets_are_in_clear_nowhere_but_in_the_state(place: Place) -> None:
    tokens = ("canary-of-the-request", PASSWORD)
    stack = (network("main"), database("orders", "main"), bucket("invoices", tags={"owner": tokens[0]}))
    secrets = frozenset([tokens[0]])
    argv: set[str] = set()
    place.order({"operation": "create", "latency_seconds": 0.5, "error": f"refused with {PASSWORD}", "type": "*base"})
    states = {"terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.last"}
    kept = {*states, "plan.tfplan"}
    async with place.runtime.apply_all(WorkspacePlanRequest(stack, secrets=secrets), anything) as run:
        reports = []
        async for report in run:
            reports.append(report)
            argv |= arguments_of_all()
            assert texts_in(place.folder.path, tokens, but=kept | {"apply.jsonl"}) == []
    assert any("apply" in each and "terraform" in each for each in argv)
    assert not [each for each in argv if any(token in each for token in tokens)]
    failed = [report for report in reports if isinstance(report, ResourceFailed)]
    assert len(failed) == 1 and "refused with" in str(failed[0].error)
    assert not any(token in str(report) + repr(report) for report in reports for token in tokens)
    assert texts_in(place.folder.path, tokens, but=states) == []
    place.order()
    _, live = await place.apply(*stack, secrets=secrets)
    assert ("password",) in live[stack[1].id].hidden
    plan = await place.plan(*stack, secrets=secrets)
    assert texts_in(place.folder.path, tokens, but=states) == []
    assert not any(token in repr(plan) for token in tokens)


@pytest.mark.slow
async def test_single_resources_by_the_verbs_of_every_runtime(place: Place) -> None:
    runtime = connect(RuntimeType.TERRAFORM, place.settings)
    assert isinstance(runtime, Workspace)
    one = bucket("invoices")
    assert await runtime.read(ReadRequest(one.id)) is None
    prediction = await runtime.plan(PlanRequest(one))
    assert prediction.live is None and prediction.after["name"] == "invoices"
    live = await runtime.apply(ApplyRequest(one, expected=None))
    assert live.body["name"] == "invoices"
    read = await runtime.read(ReadRequest(one.id))
    assert read is not None and (read.identity, read.observed) == (live.identity, live.observed)
    assert await runtime.owned({}) == Owned((read,))
    with pytest.raises(RuntimeFailure, match="not what the plan was made from"):
        await runtime.apply(ApplyRequest(bucket("invoices", versioning=True), expected=None))
    await runtime.delete(DeleteRequest(one.id, live.identity))
    await runtime.delete(DeleteRequest(one.id, live.identity))
    assert await runtime.read(ReadRequest(one.id)) is None
    await runtime.close()


@pytest.mark.slow
async def test_watching_follows_an_apply_of_anybody(place: Place) -> None:
    one, other = bucket("invoices"), bucket("receipts")
    place.order({"operation": "create", "id": "invoices", "latency_seconds": 2})
    seen: list[tuple[str, Status]] = []
    async with place.another().watch(WatchRequest((one.id, other.id))) as reports:
        observations = (each async for each in reports if isinstance(each, Observation))
        seen += [(each.id.name, each.health.status) for each in [await anext(observations), await anext(observations)]]
        async with place.runtime.apply_all(WorkspacePlanRequest((one, other)), anything) as run:
            async for observation in observations:
                assert isinstance(observation.id, TerraformId)
                seen.append((observation.id.name, observation.health.status))
                if {("invoices", Status.CURRENT), ("receipts", Status.CURRENT)} <= set(seen):
                    break
            await run.outcome()
    assert seen[:2] == [("invoices", Status.NOT_FOUND), ("receipts", Status.NOT_FOUND)]
    assert ("invoices", Status.IN_PROGRESS) in seen
    assert seen.index(("invoices", Status.IN_PROGRESS)) < seen.index(("invoices", Status.CURRENT))


async def test_a_resource_built_into_terraform_needs_no_provider(place: Place) -> None:
    id_ = TerraformId("builtin", "terraform", "terraform_data", "greeting")
    one = Resource(id_, RuntimeType.TERRAFORM, {"input": "hello ${name} %{if}"})
    _, live = await place.apply(one)
    assert live[id_].observed["output"] == "hello ${name} %{if}"


async def test_what_is_wrong_with_the_settings_is_told(place: Place) -> None:
    request = WorkspacePlanRequest((bucket("invoices"),))
    with pytest.raises(Misconfigured, match="no program no-terraform"):
        await place.another(binary="no-terraform").survey(request)
    with pytest.raises(Misconfigured, match="neither is on PATH"):
        await place.another(environment={"PATH": ""}).survey(request)
    with pytest.raises(Misconfigured, match="has no type"):
        place.another(backend={})
    with pytest.raises(Misconfigured, match="no setting colour"):
        connect(RuntimeType.TERRAFORM, {**place.settings, "colour": "blue"})


async def test_the_users_own_settings_are_not_copied(place: Place, tmp_path: Path) -> None:
    own = tmp_path / "terraformrc"
    own.write_text('credentials "app.example" {\n  token = "canary"\n}\n')
    id_ = TerraformId("builtin", "terraform", "terraform_data", "one")
    request = WorkspacePlanRequest((Resource(id_, RuntimeType.TERRAFORM, {}),))
    plan = await place.another(cli_config=own, mirrors=()).survey(request)
    assert actions(plan) == {"one": PlannedAction.CREATE}
    assert texts_in(place.folder.path, ["canary"]) == []
    absent = place.another(cli_config=tmp_path / "absent", mirrors=())
    assert actions(await absent.survey(request)) == {"one": PlannedAction.CREATE}


async def test_a_provider_that_needs_a_network_which_is_not_there(place: Place) -> None:
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""}
    runtime = place.another(environment=nowhere)
    id_ = TerraformId("hashicorp", "null", "null_resource", "one")
    with pytest.raises(RuntimeFailure) as raised:
        await runtime.survey(WorkspacePlanRequest((Resource(id_, RuntimeType.TERRAFORM, {}),)))
    assert "hashicorp/null" in str(raised.value)
    assert raised.value.hint


def test_a_finding_is_worth_a_set() -> None:
    assert len({Finding(True, "a"), Finding(True, "a")}) == 1


@pytest.mark.slow
async def test_what_is_no_longer_asked_for_is_deleted_by_the_provider_that_made_it(
    place: Place, tmp_path: Path
) -> None:
    elsewhere = Cloud(tmp_path / "elsewhere.json")
    one = bucket("invoices", extensions={"providerMeta": {"world": str(elsewhere.path)}})
    await place.apply(one, bucket("receipts"))
    assert set(elsewhere.objects("sandbox_bucket")) == {"invoices"}
    reports, _ = await place.apply(bucket("receipts"))
    assert told(reports, ResourceFinished) == ["invoices"]
    assert not elsewhere.objects("sandbox_bucket") and place.has("bucket") == {"receipts"}


@pytest.mark.slow
async def test_how_a_provider_was_configured_may_be_told_by_the_caller(place: Place, tmp_path: Path) -> None:
    elsewhere = Cloud(tmp_path / "elsewhere.json")
    one = bucket("invoices", extensions={"providerMeta": {"world": str(elsewhere.path)}})
    await place.apply(one)
    (place.folder.path / "former.json").unlink()
    await place.apply(former=(one,))
    assert not elsewhere.objects("sandbox_bucket")
