"""Plans of the real terraform with the practice provider, read into what the engine gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtimes.base import (
    UNKNOWN,
    Drifted,
    PlannedAction,
    Resource,
    ResourcePlan,
    Status,
    TerraformId,
    WorkspacePlan,
    value_at,
)
from runtimes.terraform import plan
from tests.runtimes.terraform import direct
from tests.runtimes.terraform.direct import Direct, data
from tests.runtimes.terraform.practice import PASSWORD, actions, bucket, database, network, record


@pytest.fixture
def real(tmp_path: Path, mirror: Path) -> Iterator[Direct]:
    yield direct.made(tmp_path / "folder", mirror)


def _of(found: WorkspacePlan, resource: Resource) -> ResourcePlan:
    one = found.get(resource.id)
    assert one is not None
    return one


def test_what_is_new_is_created_with_everything_that_is_known_and_what_is_not(real: Direct) -> None:
    written = database("orders", "shop")
    found = real.plan(network("shop"), written)
    assert [each.id for each in found.resources] == [network("shop").id, written.id]
    one = _of(found, written)
    assert (one.action, one.was_recorded, one.prediction.live) == (PlannedAction.CREATE, False, None)
    assert one.prediction.after == {
        "name": "orders",
        "engine": "postgres",
        "size_gb": 20,
        "network_id": UNKNOWN,
        "username": "shop",
        "password": PASSWORD,
        "zone": "a",
        **dict.fromkeys(("id", "version", "address", "port", "connection"), UNKNOWN),
    }
    assert set(one.prediction.unknown) == {
        (name,) for name in ("network_id", "id", "version", "address", "port", "connection")
    }
    assert one.prediction.sensitive == (("connection",), ("password",))


def test_schemas_say_what_unknown_values_will_be(real: Direct) -> None:
    resources = network("shop"), database("orders", "shop"), bucket("files")
    schemas = real.schemas(real.write(*resources))
    found = real.plan(*resources, schemas=schemas)
    types = _of(found, resources[1]).types
    assert (types["port"], types["address"], types["id"]) == ("number", "string", "string")
    assert _of(found, resources[2]).types["versioning"] == "bool"


def test_nothing_to_do_reads_the_same_from_the_plan_and_from_the_state(real: Direct) -> None:
    resources = network("shop"), database("orders", "shop"), bucket("files", tags={"app.io/name": "shop"})
    state = real.apply(*resources)
    shown = real.plan(*resources)
    unshown = plan.unchanged(real.state(), real.write(*resources))
    assert actions(shown) == dict.fromkeys(("shop", "orders", "files"), PlannedAction.NONE)
    assert shown == unshown
    one = _of(shown, resources[1])
    assert one.prediction.live is not None
    assert one.prediction.live.body == one.prediction.after
    assert set(one.prediction.live.body) == {"name", "engine", "size_gb", "network_id", "username", "password"}
    assert one.prediction.live.observed["port"] == 5432
    assert one.prediction.live.hidden == (("connection",), ("password",))
    assert one.prediction.live.identity.uid == "orders"
    live = plan.live_resources(state, real.write(*resources))
    assert live[resources[1].id] == one.prediction.live


def test_an_update_shows_what_changes_beside_what_was_written(real: Direct) -> None:
    real.apply(network("shop"), database("orders", "shop"))
    one = _of(real.plan(network("shop"), database("orders", "shop", size_gb=40)), database("orders", "shop"))
    assert one.action is PlannedAction.UPDATE
    assert one.was_recorded
    before, after = one.prediction.before, one.prediction.after
    assert before is not None
    assert {key for key in {*before, *after} if before.get(key) != after.get(key)} == {"size_gb"}
    assert (before["size_gb"], after["size_gb"]) == (20, 40)
    assert "address" not in after


def test_what_can_not_be_changed_in_place_is_replaced_and_says_why(real: Direct) -> None:
    real.apply(network("shop"), database("orders", "shop"))
    written = database("orders", "shop", zone="b", engine="mysql")
    one = _of(real.plan(network("shop"), written), written)
    assert one.action is PlannedAction.REPLACE
    assert set(one.prediction.replaces) == {("zone",), ("engine",)}
    assert one.reason in ("zone, engine cannot be changed in place", "engine, zone cannot be changed in place")
    assert one.prediction.after["address"] is UNKNOWN
    first = replace(written, extensions={**written.extensions, "lifecycle": {"create_before_destroy": True}})
    assert _of(real.plan(network("shop"), first), first).reason.endswith("the new one is made before the old one goes")


def test_what_is_no_longer_configured_is_deleted(real: Direct) -> None:
    gone = bucket("old-files", tags={"a": "b"}, versioning=True)
    real.apply(gone, network("shop"))
    found = real.plan(network("shop"))
    assert [each.id for each in found.resources] == [network("shop").id, gone.id]
    one = _of(found, gone)
    assert (one.action, one.reason) == (PlannedAction.DELETE, "it is no longer configured")
    assert one.prediction.after == {}
    assert one.prediction.before is not None
    assert one.prediction.before["tags"] == {"a": "b"}


def test_a_deletion_shows_only_what_can_be_set_where_the_schema_tells(real: Direct) -> None:
    schemas = real.schemas(real.write(bucket("files")))
    real.apply(bucket("files", tags={"a": "b"}), network("shop"))
    one = _of(real.plan(network("shop"), schemas=schemas), bucket("files"))
    assert one.prediction.before == {"name": "files", "versioning": False, "tags": {"a": "b"}}


def test_a_resource_that_got_another_id_is_moved(real: Direct) -> None:
    real.apply(bucket("files"))
    renamed = replace(
        bucket("files"),
        id=TerraformId("sandbox", "sandbox", "sandbox_bucket", "archive"),
        extensions={**bucket("files").extensions, "movedFrom": "sandbox:sandbox:sandbox_bucket:files"},
    )
    found = real.plan(renamed)
    assert len(found.resources) == 1
    one = _of(found, renamed)
    assert (one.action, one.former, one.was_recorded) == (PlannedAction.MOVE, bucket("files").id, True)
    changed = replace(renamed, attributes={**renamed.attributes, "versioning": True})
    one = _of(real.plan(changed), changed)
    assert (one.action, one.former) == (PlannedAction.UPDATE, bucket("files").id)
    moved = real.apply(renamed)
    assert set(moved.resources) == {renamed.id}
    assert _of(real.plan(renamed), renamed).action is PlannedAction.NONE


def test_a_pending_move_goes_with_a_plan_of_something_else(real: Direct) -> None:
    real.apply(bucket("files"), bucket("other"))
    renamed = replace(
        bucket("files"),
        id=TerraformId("sandbox", "sandbox", "sandbox_bucket", "archive"),
        extensions={**bucket("files").extensions, "movedFrom": "sandbox:sandbox:sandbox_bucket:files"},
    )
    changed = bucket("other", versioning=True)
    found = real.plan(renamed, changed, only=[TerraformId("sandbox", "sandbox", "sandbox_bucket", "other")])
    assert actions(found) == {"archive": PlannedAction.MOVE, "other": PlannedAction.UPDATE}


@pytest.mark.parametrize("name", ["importId", "kusionstack.io/import-id"])
def test_what_exists_is_taken_over_by_its_id(real: Direct, name: str) -> None:
    with real.world.change() as content:
        content.of("sandbox_bucket")["files"] = {
            "name": "files", "versioning": False, "tags": {"by": "hand"}, "url": "https://files"
        }  # fmt: skip
    written = bucket("files", versioning=True, tags={"by": "hand"})
    written = replace(written, extensions={**written.extensions, name: "files"})
    one = _of(real.plan(written), written)
    assert (one.action, one.import_id, one.was_recorded) == (PlannedAction.IMPORT, "files", False)
    assert one.prediction.before == {"name": "files", "versioning": False, "tags": {"by": "hand"}}
    assert one.prediction.after == {"name": "files", "versioning": True, "tags": {"by": "hand"}}
    real.apply(written)
    assert _of(real.plan(written), written).action is PlannedAction.NONE


def test_what_is_adopted_needs_no_extension(real: Direct) -> None:
    real.apply(bucket("files"))
    (real.folder / "terraform.tfstate").unlink()
    one = _of(real.plan(bucket("files"), adopt={bucket("files").id: "files"}), bucket("files"))
    assert (one.action, one.import_id) == (PlannedAction.IMPORT, "files")


def test_what_is_forgotten_stays_where_it_is(real: Direct) -> None:
    real.apply(bucket("files"), network("shop"))
    forget = frozenset({bucket("files").id})
    one = _of(real.plan(network("shop"), forget=forget), bucket("files"))
    assert (one.action, one.reason) == (PlannedAction.FORGET, "it leaves the state and stays where it is")
    state = real.apply(network("shop"), forget=forget)
    assert set(state.resources) == {network("shop").id}
    assert list(real.world.objects("sandbox_bucket")) == ["files"]


def test_drift_is_what_was_recorded_and_what_is_there(real: Direct) -> None:
    written = bucket("files", tags={"team": "shop"})
    real.apply(written)
    with real.world.change() as content:
        content.of("sandbox_bucket")["files"]["tags"] = {"team": "other", "x.y": "z"}
    one = _of(real.plan(written), written)
    assert one.action is PlannedAction.UPDATE
    assert set(one.drift) == {Drifted(("tags", "team"), "shop", "other"), Drifted(("tags", "x.y"), None, "z")}
    assert one.prediction.before == {"name": "files", "tags": {"team": "other", "x.y": "z"}}
    assert one.prediction.after == {"name": "files", "tags": {"team": "shop"}}


def test_drift_of_what_nobody_configured_is_told_and_left(real: Direct) -> None:
    real.apply(bucket("files"))
    with real.world.change() as content:
        content.of("sandbox_bucket")["files"]["url"] = "https://elsewhere"
    one = _of(real.plan(bucket("files")), bucket("files"))
    assert one.action is PlannedAction.NONE
    assert [each.path for each in one.drift] == [("url",)]
    assert one.prediction.before == one.prediction.after == {"name": "files"}


def test_what_was_deleted_outside_is_created_again(real: Direct) -> None:
    real.apply(bucket("files"), network("shop"))
    with real.world.change() as content:
        del content.of("sandbox_bucket")["files"]
    one = _of(real.plan(bucket("files"), network("shop")), bucket("files"))
    assert (one.action, one.was_recorded) == (PlannedAction.CREATE, True)
    assert one.prediction.live is None
    assert one.drift == ()


def test_what_is_not_known_yet_is_unknown_to_what_refers_to_it(real: Direct) -> None:
    later = record("www", values=[UNKNOWN])
    dependent = bucket("files", tags={"at": "$kusion_path.sandbox:sandbox:sandbox_dns_record:www.id"})
    free = network("shop")
    written = real.write(later, dependent, free)
    found = real.plan(later, dependent, free)
    assert len(found.resources) == 3
    assert _of(found, later).prediction.after["values"] == [UNKNOWN]
    assert _of(found, dependent).prediction.after["tags"] == {"at": UNKNOWN}
    assert written.unresolved == {later.id, dependent.id}
    assert written.targets([later.id, dependent.id, free.id]) == ("sandbox_network.shop",)


def test_a_plan_of_some_leaves_the_others_as_they_are(real: Direct) -> None:
    real.apply(bucket("one"), bucket("two"))
    changed = bucket("one", versioning=True), bucket("two", versioning=True), bucket("three")
    found = real.plan(*changed, only=[TerraformId("sandbox", "sandbox", "sandbox_bucket", "one")])
    assert actions(found) == {"one": PlannedAction.UPDATE, "two": PlannedAction.NONE, "three": PlannedAction.NONE}
    assert _of(found, changed[1]).prediction.before == _of(found, changed[1]).prediction.after


def test_an_error_in_one_leaves_the_plan_of_the_others(real: Direct) -> None:
    bad = data("bad", input="$kusion_path.builtin:terraform:terraform_data:good.output[0].none", triggers_replace="x")
    written = real.write(data("good", input="x"), bad)
    assert real.diagnostics(written, "plan")[0]["summary"] == "Invalid index"
    real.run("plan", "-input=false", "-out=plan", configuration=written, fails=True)
    found = plan.read(real.run("show", "-json", "plan", configuration=written), written, recorded=real.state())
    assert actions(found) == {"good": PlannedAction.CREATE, "bad": PlannedAction.CREATE}
    assert _of(found, data("good")).prediction.after == {"input": "x", "output": UNKNOWN, "id": UNKNOWN}
    assert _of(found, bad).prediction.after == {"input": UNKNOWN, "triggers_replace": "x"}


def test_where_nothing_can_be_planned_what_is_asked_for_is_shown_over_what_is_recorded(real: Direct) -> None:
    real.apply(network("shop"), database("orders", "shop"), bucket("files"))
    bad = network("bad", cidr="10.0.0.0/99")
    written = real.write(network("shop"), database("orders", "shop", size_gb=40), bad)
    found = plan.unfinished(real.state(), written)
    expected = {"shop": "NONE", "orders": "UPDATE", "bad": "CREATE", "files": "DELETE"}
    assert {name: action.name for name, action in actions(found).items()} == expected
    one = _of(found, database("orders", "shop"))
    assert one.prediction.before is not None
    assert {key for key in one.prediction.after if one.prediction.before[key] != one.prediction.after[key]} == {
        "size_gb"
    }
    assert ("password",) in one.prediction.sensitive


def test_what_was_not_finished_is_replaced_and_told_as_failed(real: Direct) -> None:
    broken = data("broken", input="x")
    real.apply(broken)
    written = real.write(broken)
    # the mark that a creation leaves which broke off in its middle
    real.run("taint", "terraform_data.broken", configuration=written)
    recorded = real.state().resources[written.addresses["terraform_data.broken"]]
    assert recorded.is_tainted
    live = plan.live_resources(real.state(), written)[broken.id]
    assert live.health is not None
    assert (live.health.status, live.health.reason) == (Status.FAILED, "Tainted")
    one = _of(real.plan(broken), broken)
    assert (one.action, one.reason) == (PlannedAction.REPLACE, "it was not finished when it was made")


def test_secrets_that_are_only_marked_are_no_change(real: Direct) -> None:
    real.apply(data("one", input={"value": "canary-text"}))
    found = real.plan(data("one", input={"value": "canary-text"}), secrets=frozenset({"canary-text"}))
    assert actions(found) == {"one": PlannedAction.NONE}
    assert value_at(found.resources[0].prediction.after, ("input", "value")) == "canary-text"
    assert ("input", "value") in found.resources[0].prediction.sensitive


def test_a_text_with_a_known_secret_in_it_is_secret_wherever_it_comes_back(real: Direct) -> None:
    resource = data("one", input={"dsn": "postgres://u:canary-text@h"})
    real.apply(resource, secrets=frozenset({"canary-text"}))
    found = real.plan(resource, secrets=frozenset({"canary-text"}))
    live = found.resources[0].prediction.live
    assert live is not None
    assert set(live.hidden) == {("input", "dsn"), ("output", "dsn")}
    assert "canary" not in repr(found)


def test_a_type_of_another_shape_is_shown_whole(real: Direct) -> None:
    real.apply(data("one", input={"a": 1, "b": [1, 2]}))
    one = real.plan(data("one", input=["x", {"y": 1}])).resources[0]
    assert one.prediction.before == {"input": {"a": 1, "b": [1, 2]}, "output": {"a": 1, "b": [1, 2]}}
    assert one.prediction.after == {"input": ["x", {"y": 1}], "output": UNKNOWN}


def test_an_older_object_that_could_not_be_deleted_is_told(real: Direct) -> None:
    first = network("one", region="east")
    first = replace(first, extensions={**first.extensions, "lifecycle": {"create_before_destroy": True}})
    state = real.apply(first)
    with real.world.change() as content:
        used = state.resources[NETWORK].attributes["id"]
        content.of("sandbox_database")["theirs"] = {"name": "theirs", "network_id": used}
    second = replace(first, attributes={**first.attributes, "name": "two", "region": "west"})
    assert [each["summary"] for each in real.diagnostics(real.write(second), "apply")] == ["Network is in use"]
    recorded = real.state().resources[NETWORK]
    assert (len(recorded.deposed), recorded.attributes["region"], recorded.exists) == (1, "west", True)
    one = _of(real.plan(second), second)
    assert one.action is PlannedAction.UPDATE
    assert one.reason == "an older object of it is deleted, which could not be when it was replaced"
    gone = _of(real.plan(), second)
    assert gone.action is PlannedAction.DELETE
    with real.world.change() as content:
        content.of("sandbox_database").clear()
    assert real.apply(second).resources[NETWORK].deposed == ()


NETWORK = TerraformId("sandbox", "sandbox", "sandbox_network", "one")
