"""The practice provider as the real terraform sees it."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.provider import SOURCE, by_hand
from tests.runtimes.sandbox.provider.conftest import DATABASE, NETWORK, Folder, everything

pytestmark = pytest.mark.slow

NEEDS_NOTHING: dict[str, str] = {}
TIME = 60.0


def test_what_is_created_is_there_and_a_second_plan_is_empty(installed: Folder) -> None:
    installed.write(everything())

    created = installed.apply()

    assert created.code == 0, created.errors
    state = installed.state()
    database = state["sandbox_database.main"]
    kept = installed.world.objects("sandbox_database")["orders"]
    assert database["id"] == "orders" and database["address"] == kept["address"] and database["port"] == 5432
    assert database["version"] == "16" and database["zone"] == "a"
    assert database["connection"] == f"postgres://orders:{DATABASE['password']}@{kept['address']}:5432/orders"
    assert list(installed.world.objects("sandbox_network")) == [state["sandbox_network.main"]["id"]]
    assert state["sandbox_network.main"]["id"].startswith("net-")
    assert state["sandbox_bucket.main"]["id"] == "invoices"
    assert state["sandbox_dns_record.main"]["id"] == "orchard.example/db/CNAME"
    assert state["sandbox_dns_record.main"]["values"] == [kept["address"]]
    assert installed.plan().actions == NEEDS_NOTHING
    assert DATABASE["password"] not in installed.world.path.read_text()


def test_computed_attributes_are_unknown_until_they_are_there_and_stay_as_they_are(folder: Folder) -> None:
    folder.write(everything())
    assert planned(folder)["sandbox_database.main"]["after_unknown"] == dict.fromkeys(
        ("id", "address", "port", "version", "connection", "network_id"), True
    )
    folder.apply()

    folder.write(everything(database={"size_gb": 40, "password": "not-a-real-password-2"}))

    change = planned(folder)["sandbox_database.main"]
    assert change["actions"] == ["update"]
    assert change["after_unknown"] == {"connection": True}
    assert change["after_sensitive"] == {"password": True, "connection": True}
    before = folder.state()["sandbox_database.main"]
    assert folder.apply().code == 0
    after = folder.state()["sandbox_database.main"]
    assert (after["size_gb"], after["address"]) == (40, before["address"])
    assert "not-a-real-password-2@" in after["connection"]
    assert folder.plan().actions == NEEDS_NOTHING


def test_another_zone_needs_another_database(folder: Folder) -> None:
    folder.write(everything())
    folder.apply()
    address = folder.state()["sandbox_database.main"]["address"]

    folder.write(everything(database={"zone": "b"}))

    change = planned(folder)["sandbox_database.main"]
    assert (change["actions"], change["replace_paths"]) == (["delete", "create"], [["zone"]])
    assert folder.apply().code == 0
    state = folder.state()
    assert state["sandbox_database.main"]["zone"] == "b"
    assert state["sandbox_database.main"]["address"] != address
    assert state["sandbox_dns_record.main"]["values"] == [state["sandbox_database.main"]["address"]]


def test_what_people_change_and_delete_is_drift(folder: Folder) -> None:
    folder.write(everything())
    folder.apply()

    by_hand.edit(folder.world, "sandbox_database", "orders", {"size_gb": 80, "password": "somebody-elses-one"})
    by_hand.remove(folder.world, "sandbox_bucket", "invoices")

    plan = folder.plan()
    drift = {each["change"]["resource"]["addr"]: each["change"]["action"] for each in plan.of("resource_drift")}
    assert drift == {"sandbox_database.main": "update", "sandbox_bucket.main": "delete"}
    assert plan.actions == {"sandbox_database.main": "update", "sandbox_bucket.main": "create"}
    change = planned(folder)["sandbox_database.main"]
    assert (change["before"]["size_gb"], change["after"]["size_gb"]) == (80, 20)
    assert (change["before"]["password"], change["after"]["password"]) == (None, DATABASE["password"])


def test_what_is_there_can_be_imported_by_id_or_name(folder: Folder, tmp_path: Path) -> None:
    folder.write(everything())
    folder.apply()
    (folder.path / "terraform.tfstate").unlink()
    ids = {"network": "main", "database": "orders", "bucket": "invoices", "dns_record": "orchard.example/db/CNAME"}
    imports = [{"to": f"sandbox_{name}.main", "id": id_} for name, id_ in ids.items()]

    folder.write(everything(), **{"import": imports})
    imported = folder.apply()

    assert imported.code == 0, imported.errors
    assert imported.of("change_summary")[-1]["changes"] == {
        "add": 0,
        "change": 1,  # the password can't be read, so it is set
        "import": 4,
        "remove": 0,
        "operation": "apply",
    }
    assert folder.state()["sandbox_network.main"]["id"] in folder.world.objects("sandbox_network")
    assert folder.plan().actions == NEEDS_NOTHING


def test_importing_what_is_not_there_says_so(folder: Folder) -> None:
    folder.write(
        {"sandbox_bucket": everything()["sandbox_bucket"]}, **{"import": [{"to": "sandbox_bucket.main", "id": "x"}]}
    )

    (error,) = folder.plan().errors

    assert error["summary"] == "Cannot import non-existent remote object"


def test_what_exists_is_not_created_again(folder: Folder) -> None:
    folder.write({"sandbox_bucket": {"main": {"name": "invoices"}}})
    folder.apply()

    folder.write({"sandbox_bucket": {"main": {"name": "invoices"}, "again": {"name": "invoices"}}})
    (error,) = folder.apply().errors

    assert error["summary"] == "Bucket already exists"
    assert error["address"] == "sandbox_bucket.again"
    assert "invoices" in error["detail"]


@pytest.mark.parametrize(
    ("changes", "attribute", "summary"),
    [
        ({"database": {"size_gb": 5}}, "size_gb", "size_gb is out of range"),
        ({"database": {"size_gb": 20.5}}, "size_gb", "size_gb is out of range"),
        ({"database": {"engine": "oracle"}}, "engine", "'oracle' is no engine"),
        ({"database": {"password": "short"}}, "password", "The password is too short"),
        ({"network": {"cidr": "10.0.0.1/33"}}, "cidr", "'10.0.0.1/33' is not a range of addresses"),
        ({"dns_record": {"ttl": 5}}, "ttl", "ttl is out of range"),
        ({"dns_record": {"type": "A", "values": ["300.1.1.1"]}}, "values", "'300.1.1.1' is no value of such a record"),
        ({"bucket": {"name": "Invoices"}}, "name", "'Invoices' is not a name"),
    ],
)
def test_a_wrong_configuration_is_told_with_its_attribute(
    folder: Folder, changes: dict[str, Any], attribute: str, summary: str
) -> None:
    folder.write(everything(**changes))

    (error,) = folder.plan().errors

    assert error["summary"] == summary
    line = (folder.path / "main.tf.json").read_text()[error["range"]["start"]["byte"] : error["range"]["end"]["byte"]]
    value = next(iter(changes.values()))[attribute]
    assert json.loads(line) in (value, value[0] if isinstance(value, list) else None)


def test_a_quota_names_the_attribute_that_is_too_much(folder: Folder) -> None:
    by_hand.set_quotas(folder.world, "sandbox_database", {"size_gb": 30})
    folder.write(everything(database={"size_gb": 31}))

    ran = folder.apply()

    (error,) = ran.errors
    assert (error["summary"], error["address"]) == ("Quota exceeded", "sandbox_database.main")
    assert "31 of size_gb would be used, 30 are allowed" in error["detail"]
    assert error["snippet"]["code"].count("31") == 1
    assert sorted(folder.state()) == ["sandbox_bucket.main", "sandbox_network.main"]


def test_a_transient_error_is_gone_the_next_time(folder: Folder) -> None:
    by_hand.order_faults(folder.world, [{"operation": "create", "type": "*_bucket", "error": "Try again", "times": 1}])
    folder.write({"sandbox_bucket": {"main": {"name": "invoices"}}})

    assert [each["summary"] for each in folder.apply().errors] == ["Try again"]
    assert folder.apply().code == 0


@pytest.mark.parametrize(("crash", "is_there"), [("before", False), ("after", True)])
def test_a_crash_loses_the_answer(installed: Folder, crash: str, is_there: bool) -> None:
    by_hand.order_faults(installed.world, [{"operation": "create", "crash": crash, "times": 1}])
    installed.write({"sandbox_bucket": {"main": {"name": "invoices"}}})

    ran = installed.apply()

    assert ran.code == 1 and ran.errors
    assert ("invoices" in installed.world.objects("sandbox_bucket")) == is_there
    assert installed.state() == {}


def test_a_failed_update_or_delete_leaves_the_object_in_the_state(folder: Folder) -> None:
    folder.write(everything())
    folder.apply()
    before = folder.state()

    by_hand.order_faults(
        folder.world,
        [
            {"operation": "update", "type": "sandbox_bucket", "error": "Not now"},
            {"operation": "delete", "type": "sandbox_dns_record", "error": "Not now"},
        ],
    )
    changed = everything(bucket={"tags": {"owner": "bob"}})
    del changed["sandbox_dns_record"]
    folder.write(changed)
    ran = folder.apply()

    assert [each["summary"] for each in ran.errors] == ["Not now", "Not now"]
    assert folder.state() == before


def test_a_network_in_use_stays(folder: Folder) -> None:
    folder.write({"sandbox_network": {"main": NETWORK}})
    folder.apply()
    id_ = folder.state()["sandbox_network.main"]["id"]
    with folder.world.change() as content:
        content.of("sandbox_database")["theirs"] = {"network_id": id_}

    folder.write({})
    (error,) = folder.apply().errors

    assert error["summary"] == "Network is in use"
    assert "theirs" in error["detail"]


def test_everything_can_be_destroyed(folder: Folder) -> None:
    folder.write(everything())
    folder.apply()

    folder.run("destroy", "-auto-approve")

    content = folder.world.content()
    assert not any(content.objects.values())
    assert [each["operation"] for each in content.log].count("delete") == 4


def test_one_interrupt_lets_creates_end_and_all_are_in_the_state(installed: Folder) -> None:
    slow = {"operation": "create", "type": "sandbox_bucket", "times": 4, "latency_seconds": 2}
    by_hand.order_faults(installed.world, [slow])
    buckets = {f"b{index}": {"name": f"bucket-{index}"} for index in range(4)}
    installed.write(
        {"sandbox_bucket": buckets, "sandbox_network": {"after": {**NETWORK, "depends_on": ["sandbox_bucket.b0"]}}}
    )

    with installed.start("apply", "-auto-approve", "-json") as process:
        assert process.stdout is not None
        for _ in range(4):
            next(line for line in process.stdout if '"apply_start"' in line)
        ends = time.monotonic() + TIME
        while installed.world.content().faults[0]["times"]:  # what terraform announces it has not yet asked for
            assert time.monotonic() < ends
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # the provider hears it too, and is asked to stop
        process.stdout.read()
        assert process.wait(TIME) == 1

    assert sorted(installed.world.objects("sandbox_bucket")) == [f"bucket-{index}" for index in range(4)]
    assert sorted(installed.state()) == [f"sandbox_bucket.b{index}" for index in range(4)]


def test_a_provider_whose_terraform_was_killed_ends(installed: Folder) -> None:
    by_hand.order_faults(installed.world, [{"operation": "create", "latency_seconds": 30}])
    installed.write({"sandbox_bucket": {"main": {"name": "invoices"}}})

    with installed.start("apply", "-auto-approve", "-json") as process:
        assert process.stdout is not None
        next(line for line in process.stdout if '"apply_start"' in line)
        session = process.pid
        assert others_in(session)
        process.kill()

    deadline = time.monotonic() + 10
    while (left := others_in(session)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    assert "invoices" not in installed.world.objects("sandbox_bucket")


def test_without_a_world_the_configuration_is_refused(folder: Folder) -> None:
    folder.environment.pop("KONFIG_PRACTICE_WORLD")
    folder.write(everything())

    assert {each["summary"] for each in folder.plan().errors} == {"No world"}


def test_the_world_may_stand_in_the_configuration(folder: Folder, tmp_path: Path) -> None:
    folder.environment.pop("KONFIG_PRACTICE_WORLD")
    other = tmp_path / "there" / "other.json"
    folder.write({"sandbox_bucket": {"main": {"name": "invoices"}}}, provider={"sandbox": {"world": str(other)}})

    assert folder.apply().code == 0
    assert "invoices" in json.loads(other.read_text())["objects"]["sandbox_bucket"]


def test_a_broken_world_is_said_and_left_alone(folder: Folder) -> None:
    folder.world.path.write_text('{"objects": [')
    folder.write(everything())

    (error,) = folder.plan().errors

    assert error["summary"] == "The world can't be used"
    assert "is not JSON" in error["detail"]
    assert folder.world.path.read_text() == '{"objects": ['


def test_the_lock_file_holds_for_an_installation_that_is_made_again(installed: Folder) -> None:
    from runtimes.sandbox.provider.mirror import install

    install(installed.mirror)

    assert SOURCE in (installed.path / ".terraform.lock.hcl").read_text()
    installed.said("init", "-input=false", "-lockfile=readonly")


def planned(folder: Folder) -> dict[str, Any]:
    """Returns the changes of a plan by address."""
    folder.said("plan", "-out=plan.bin", "-input=false")
    shown = json.loads(folder.said("show", "-json", "plan.bin"))
    return {each["address"]: each["change"] for each in shown["resource_changes"]}


def others_in(session: int) -> list[int]:
    """Returns the living processes of a session, its leader left out."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal() and int(each.name) != session:
            try:
                fields = (each / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(each.name))
    return found
