"""managedFields: owners, list identities, conflicts and parts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from runtimes.base import FieldConflict, FieldOwner, ListKey
from runtimes.kubernetes import fields

WEB = ListKey((("name", "web"),))
PORT = ListKey((("containerPort", 80), ("protocol", "TCP")))
TREE = {
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
