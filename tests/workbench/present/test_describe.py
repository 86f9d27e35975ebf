"""What the page of a live object says: the essentials of its kind, and nothing left out of what it does not know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base import Forbidden, Identity, KubernetesId, LiveResource, ObjectRef, Occurrence
from workbench.engine.live import LiveObject, shown
from workbench.present import describe

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
SECRET = "canary-4f1d77"


def live(body: dict[str, Any], events: tuple[Occurrence, ...] | None = ()) -> LiveObject:
    metadata = {"name": "front", "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z"}
    full = {**body, "metadata": {**metadata, **body.get("metadata", {})}}
    id_ = KubernetesId(full["apiVersion"], full["kind"], "shop", "front")
    resource = LiveResource(id_, Identity("uid-1", "7"), full, observed=full)
    found = shown("hz", resource, NOW, frozenset({SECRET}))
    return LiveObject(found.cluster, found.id, found.uid, NOW, found.body, events=events)


def page(found: LiveObject, width: int = 100) -> list[str]:
    return [str(each) for each in describe.lines(found, NOW, width)]


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"ownerReferences": [{"kind": "ReplicaSet", "name": "front-1"}], "labels": {"app": "front"}},
    "spec": {
        "nodeName": "node-1",
        "serviceAccountName": "default",
        "schedulerName": "own-scheduler",
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "resources": {"requests": {"cpu": "100m"}},
                "env": [
                    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "front", "key": "token"}}},
                    {"name": "DB", "value": SECRET},
                ],
                "volumeMounts": [{"name": "files", "mountPath": "/files", "readOnly": True}],
                "stdin": True,
            }
        ],
        "volumes": [{"name": "files", "configMap": {"name": "front-files"}}],
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 30}],
    },
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "web is not ready"},
            {"type": "DiskPressure", "status": "False"},
        ],
        "containerStatuses": [
            {
                "name": "web",
                "ready": False,
                "restartCount": 3,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
                "lastState": {"terminated": {"reason": "Error", "exitCode": 137, "finishedAt": "2026-01-01T00:05:00Z"}},
            }
        ],
    },
}


def test_a_pod_says_its_containers_with_why_they_wait_and_how_they_ended() -> None:
    said = page(live(POD))
    text = "\n".join(said)
    for each in (
        "Controlled by:    ReplicaSet/front-1",
        "Created:          10m ago",
        "waiting, CrashLoopBackOff",
        "back-off 40s",
        "terminated, Error, exit code 137, ended 5m ago",
        "Restarts:     3",
        "cpu=100m",
        "TOKEN from secretKeyRef=name=front, key=token",
        "/files from files (read only)",
        "config map: name=front-files",
        "gpu:NoSchedule for 30s",
        "False  ContainersNotReady  web is not ready",
        "schedulerName: own-scheduler",
        "Stdin:        true",
    ):
        assert each in text, each
    assert SECRET not in text and "DB=«masked#" in text
    assert max(map(len, said)) <= 100


def test_of_a_kind_without_a_page_everything_stands_there() -> None:
    widget = {"apiVersion": "acme.io/v1", "kind": "Widget", "spec": {"flavour": ["a", {"b": 1}]}, "extra": 7}
    text = "\n".join(page(live({**widget, "status": {"phase": "Odd"}})))
    for each in ("Spec:", "flavour:", "b: 1", "Extra:", "7", "Status:", "phase: Odd", "none"):
        assert each in text, each


@pytest.mark.parametrize("kind", sorted(describe._KINDS))
@pytest.mark.parametrize("value", [None, "text", 7, [], ["text", {"name": None}], {"name": {"name": [1]}}, {}])
def test_no_shape_of_an_object_ends_the_page_and_no_field_is_lost(kind: tuple[str, str], value: Any) -> None:
    group, name = kind
    body = {"apiVersion": f"{group}/v1" if group else "v1", "kind": name, "status": value, "data": value}
    names = ("containers", "rules", "ports", "conditions", "template", "tls", "tolerations", "volumes", "taints")
    spec = dict.fromkeys(names, value) | {"unheardOf": "is shown"}
    said = page(live({**body, "spec": spec}))
    assert any("unheardOf: is shown" in each for each in said)
    assert page(live({**body, "spec": value}))


def test_texts_that_drive_terminals_or_have_no_end_are_inert_and_short() -> None:
    hostile = "[red]x[/]\x1b[31m\u202e" + "y" * 1_000_000
    said = page(live({**POD, "metadata": {"annotations": {"note": hostile}}}), 80)
    text = "\n".join(said)
    assert "[red]x[/]" in text and "\x1b" not in text and "\u202e" not in text
    assert "more characters are in the YAML)" in text and len(said) < 120 and max(map(len, said)) <= 80


def test_events_are_told_with_their_message_and_what_cannot_be_read_says_so() -> None:
    about = ObjectRef("Pod", "shop", "front")
    event = Occurrence(about, True, "BackOff", "back-off restarting", 4, datetime(2026, 1, 1, 0, 9, tzinfo=UTC))
    assert any("60s BackOff x4" in each and "back-off restarting" in each for each in page(live(POD, (event,))))
    refused = live(POD, None)
    refused = LiveObject("hz", refused.id, "u", NOW, refused.body, events_failure=Forbidden("no right", target="hz"))
    assert page(refused)[-1] == "Events:           can't be read: no right"
