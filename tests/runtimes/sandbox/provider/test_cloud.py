"""The practice provider's world: a file that many processes change at once, and what is kept in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.provider import Cloud, CloudBroken, by_hand
from runtimes.sandbox.provider.cloud import Content
from runtimes.sandbox.provider.faults import Fault, strike
from runtimes.sandbox.provider.kinds import KINDS, Refused

ROOT = Path(__file__).parents[4]
NETWORK = {"name": "main", "cidr": "10.0.0.0/16", "region": "east"}
WRITER = """
import sys
from pathlib import Path
from runtimes.sandbox.provider.cloud import Cloud
world, name = Cloud(Path(sys.argv[1])), sys.argv[2]
for index in range(int(sys.argv[3])):
    with world.change() as content:
        content.of("sandbox_bucket")[f"{name}-{index}"] = {"name": f"{name}-{index}", "filler": "x" * 2000}
    print(index, flush=True)
"""


@pytest.fixture
def world(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path / "world.json")


def start_writer(world: Cloud, name: str, count: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(world.path), name, str(count)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def database(network_id: str, **changes: Any) -> dict[str, Any]:
    body = {"name": "orders", "engine": "postgres", "size_gb": 20, "network_id": network_id, "username": "ann"}
    return {**body, "password": "not-a-real-password", "zone": "a", **changes}


def test_no_change_of_several_processes_is_lost(world: Cloud) -> None:
    writers = [start_writer(world, name, 25) for name in ("a", "b", "c", "d")]
    for each in writers:
        each.communicate(timeout=60)

    assert [each.returncode for each in writers] == [0, 0, 0, 0]
    assert sorted(world.objects("sandbox_bucket")) == sorted(f"{name}-{n}" for name in "abcd" for n in range(25))
    assert world.content().serial == 100


def test_a_writer_that_is_killed_leaves_a_whole_file_and_no_lock(world: Cloud) -> None:
    for attempt in range(5):
        with start_writer(world, f"w{attempt}", 10_000) as writer:
            assert writer.stdout is not None
            said = [int(writer.stdout.readline()) for _ in range(3 + attempt)]
            os.kill(writer.pid, signal.SIGKILL)

        kept = world.objects("sandbox_bucket")
        assert {f"w{attempt}-{index}" for index in said} <= kept.keys()
    with world.change() as content:
        content.of("sandbox_bucket")["after"] = {}
    assert "after" in world.objects("sandbox_bucket")


def test_a_change_that_fails_is_not_made(world: Cloud) -> None:
    with pytest.raises(Refused), world.change() as content:
        content.of("sandbox_bucket")["half"] = {}
        raise Refused("no", "no")

    assert not world.path.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not the file of a world"),
        ('{"thing": 1}', "a key that no world has: thing"),
        ('{"faults": {}}', "faults is not of the form"),
        ('{"objects": {"sandbox_bucket": {"a": 3}}}', "objects.sandbox_bucket has to map ids to objects"),
    ],
)
def test_a_file_that_is_no_world_is_refused_and_kept(world: Cloud, text: str, message: str) -> None:
    world.path.write_text(text)

    with pytest.raises(CloudBroken, match=message), world.change():
        raise AssertionError("nothing is to be changed")
    assert world.path.read_text() == text


def test_faults_are_taken_in_order_and_used_up() -> None:
    content = Content(
        faults=[
            {"operation": "create", "latency_seconds": 0.5},
            {"operation": "create", "type": "*_bucket", "error": "No", "attribute": "name", "times": 1},
            {"operation": "create", "latency_seconds": 2},
        ]
    )

    struck = [strike(content, "create", "sandbox_bucket", "a") for _ in range(2)]

    assert struck == [Fault(0.5, "No", "name"), Fault(2.5)]
    assert strike(content, "delete", "sandbox_bucket", "a") == Fault()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("create", "an object is expected"),
        ({"operations": "create"}, "operations means nothing"),
        ({"crash": "now"}, 'crash has to be "before" or "after"'),
        ({"latency_seconds": -1}, "latency_seconds has to be a number, 0 or more"),
        ({"times": "1"}, "times has to be a whole number"),
        ({"error": 1}, "error has to be a text"),
    ],
)
def test_a_wrong_fault_is_said_with_its_place(entry: Any, message: str) -> None:
    with pytest.raises(CloudBroken, match=r"faults\[1\] of the world: " + message):
        strike(Content(faults=[{}, entry]), "read", "sandbox_bucket", "a")


def test_a_password_is_known_again_and_not_kept() -> None:
    content = Content()
    network = KINDS["sandbox_network"].create(NETWORK, content)
    kind = KINDS["sandbox_database"]
    wanted = database(network)

    id_ = kind.create(wanted, content)

    kept = content.of("sandbox_database")[id_]
    assert wanted["password"] not in json.dumps(kept)
    assert kind.state(id_, kept, wanted)["password"] == wanted["password"]
    assert f":{wanted['password']}@" in kind.state(id_, kept, wanted)["connection"]
    other = kind.state(id_, kept, {"password": "another-password"})
    assert (other["password"], other["connection"]) == (None, None)


def test_a_database_grows_and_never_shrinks() -> None:
    content = Content()
    network = KINDS["sandbox_network"].create(NETWORK, content)
    kind = KINDS["sandbox_database"]
    id_ = kind.create(database(network), content)

    kind.update(id_, database(network, size_gb=30), content)

    with pytest.raises(Refused) as refused:
        kind.update(id_, database(network, size_gb=25), content)
    assert refused.value.path == ("size_gb",)
    assert content.of("sandbox_database")[id_]["size_gb"] == 30


def test_a_database_needs_a_network_that_is_there() -> None:
    with pytest.raises(Refused) as refused:
        KINDS["sandbox_database"].create(database("net-00000000"), Content())
    assert refused.value.path == ("network_id",)


def test_a_count_is_a_quota_of_its_own() -> None:
    content = Content(quotas={"sandbox_bucket": {"count": 1}})
    kind = KINDS["sandbox_bucket"]
    kind.create({"name": "one"}, content)

    kind.update("one", {"name": "one", "tags": {"a": "b"}}, content)

    with pytest.raises(Refused, match="Quota exceeded"):
        kind.create({"name": "two"}, content)


def test_a_name_that_several_have_finds_none_of_them() -> None:
    kind, content = KINDS["sandbox_dns_record"], Content()
    for type_, value in (("A", "10.0.0.1"), ("TXT", "hello")):
        kind.create({"zone": "orchard.example", "name": "db", "type": type_, "values": [value], "ttl": 60}, content)

    assert kind.find("orchard.example/db/A", content) == "orchard.example/db/A"
    assert kind.find("orchard.example/db/AAAA", content) is None
    with pytest.raises(Refused, match="Several are called db"):
        kind.find("db", content)


def test_an_address_that_was_unknown_while_planning_is_looked_at_when_it_is_known() -> None:
    wanted = {"zone": "orchard.example", "name": "db", "type": "A", "values": ["web.example"], "ttl": 60}

    with pytest.raises(Refused) as refused:
        KINDS["sandbox_dns_record"].create(wanted, Content())
    assert refused.value.path == ("values", 0)


def test_edits_by_hand_are_read_as_the_attribute_asks(world: Cloud) -> None:
    with world.change() as content:
        network = KINDS["sandbox_network"].create(NETWORK, content)
        KINDS["sandbox_database"].create(database(network), content)
        KINDS["sandbox_bucket"].create({"name": "invoices"}, content)

    by_hand.edit(world, "sandbox_database", "orders", {"size_gb": "40", "password": "somebody-elses", "username": "7"})
    by_hand.edit(world, "sandbox_bucket", "invoices", {"versioning": "true", "tags": '{"a": "b"}'})

    kept = world.objects("sandbox_database")["orders"]
    assert (kept["size_gb"], kept["username"]) == (40, "7")
    assert "somebody-elses" not in world.path.read_text()
    assert KINDS["sandbox_database"].state("orders", kept, {"password": "somebody-elses"})["password"]
    bucket = world.objects("sandbox_bucket")["invoices"]
    assert (bucket["versioning"], bucket["tags"]) == (True, {"a": "b"})


@pytest.mark.parametrize(
    ("type_", "id_", "values", "summary"),
    [
        ("sandbox_volume", "a", {}, "sandbox_volume is no type of the practice provider"),
        ("sandbox_bucket", "none", {}, "No bucket has the id none"),
        ("sandbox_bucket", "a", {"size": "1"}, "size is no attribute of sandbox_bucket"),
        ("sandbox_bucket", "a", {"versioning": "perhaps"}, "'perhaps' is no value of versioning"),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused(
    world: Cloud, type_: str, id_: str, values: dict[str, str], summary: str
) -> None:
    with world.change() as content:
        KINDS["sandbox_bucket"].create({"name": "a"}, content)

    with pytest.raises(Refused, match=summary):
        by_hand.edit(world, type_, id_, values)
