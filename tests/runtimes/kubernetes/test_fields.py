"""managedFields: owners, list identities, conflicts and parts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from runtimes.base import FieldConflict, FieldOwner, ListKey
from runtimes.kubernetes import fields

WEB = ListKey((("name", "web"),))
PORT = ListKey((("containerPort", 80), ("protocol", "TCP")))
TREE: dict[str, Any] = {
    "f:metadata": {"f:labels": {".": {}, "f:example.com/a.b": {}}, "f:finalizers": {'v:"keep"': {}}},
    "f:spec": {
        "f:replicas": {},
        "f:containers": {
            'k:{"name":"web"}': {
                ".": {},
                "f:image": {},
                "f:name": {},
                "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
            }
        },
    },
}


def _live(**entry: Any) -> dict[str, Any]:
    fields_of = {"manager": "me", "operation": "Apply", "time": "2025-01-01T00:00:00Z", "fieldsV1": TREE, **entry}
    return {
        "metadata": {"labels": {"example.com/a.b": "x"}, "finalizers": ["other", "keep"], "managedFields": [fields_of]},
        "spec": {
            "replicas": 2,
            "paused": True,
            "containers": [
                {"name": "side", "image": "s"},
                {"name": "web", "image": "w", "tty": True, "ports": [{"containerPort": 80, "protocol": "TCP"}]},
            ],
        },
    }


def test_each_owned_leaf_has_an_owner() -> None:
    when = datetime(2025, 1, 1, tzinfo=UTC)
    assert fields.owners(_live()) == tuple(
        FieldOwner(path, "me", "Apply", when)
        for path in (
            ("metadata", "labels", "example.com/a.b"),
            ("metadata", "finalizers", 1),
            ("spec", "replicas"),
            ("spec", "containers", WEB, "image"),
            ("spec", "containers", WEB, "name"),
            ("spec", "containers", WEB, "ports", PORT, "containerPort"),
        )
    )


def test_owners_of_the_status_are_left_out() -> None:
    assert fields.owners(_live(subresource="status")) == ()
    assert fields.owners(_live(subresource="scale")) != ()


def test_lists_are_identified_by_the_keys_their_elements_carry() -> None:
    assert fields.list_keys(_live()) == {
        ("spec", "containers"): ("name",),
        ("spec", "containers", "ports"): ("containerPort", "protocol"),
    }


def test_conflicts_are_found_by_the_servers_text_even_with_dots_in_names() -> None:
    causes = (
        (".metadata.labels.example.com/a.b", "me", ""),
        ('.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].containerPort', "me", ""),
        (".spec.replicas", "me", "2024-05-05T05:05:05Z"),
        (".spec.unheard", "another", ""),
        (".metadata.labels.example.com/a.b", "before-first-apply", ""),
        ('.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].hostPort', "before-first-apply", ""),
    )
    assert fields.conflicts(causes, _live()) == (
        FieldConflict(("metadata", "labels", "example.com/a.b"), "me", "2025-01-01T00:00:00Z"),
        FieldConflict(("spec", "containers", WEB, "ports", PORT, "containerPort"), "me", "2025-01-01T00:00:00Z"),
        FieldConflict(("spec", "replicas"), "me", "2024-05-05T05:05:05Z"),
        FieldConflict(("spec", "unheard"), "another", ""),
        FieldConflict(("metadata", "labels", "example.com/a.b"), "before-first-apply", ""),
        FieldConflict(("spec", "containers", WEB, "ports", PORT, "hostPort"), "before-first-apply", ""),
    )


def test_objects_that_are_owned_alike_keep_their_own_writers_and_elements() -> None:
    """What one tree says is remembered: neither who wrote, nor when, nor where an element lies may come with it."""
    plain = {"f:spec": {"f:containers": TREE["f:spec"]["f:containers"]}}
    ours, theirs = (
        _live(fieldsV1=plain),
        _live(fieldsV1=plain, manager="you", operation="Update", time="2025-02-02T00:00:00Z"),
    )
    for each in (ours, theirs, ours):
        said = each["metadata"]["managedFields"][0]
        assert {(owner.manager, owner.operation) for owner in fields.owners(each)} == {
            (said["manager"], said["operation"])
        }
        assert {owner.when for owner in fields.owners(each)} == {datetime.fromisoformat(said["time"])}
        assert fields.list_keys(each)["spec", "containers"] == ("name",)
    moved = _live()
    moved["metadata"]["finalizers"] = ["keep", "other"]
    assert [owner.path for each in (_live(), moved) for owner in fields.owners(each) if "finalizers" in owner.path] == [
        ("metadata", "finalizers", 1),
        ("metadata", "finalizers", 0),
    ]


def test_a_tree_too_large_to_be_remembered_is_read_all_the_same() -> None:
    large = {"f:data": {f"f:key-{number}": {} for number in range(5_000)}, "f:spec": TREE["f:spec"]}
    assert len(fields.owners(_live(fieldsV1=large))) == 5_000 + 4
    assert fields.list_keys(_live(fieldsV1=large)) == fields.list_keys(_live())
