"""Lines of terraform's events: what is read of them, and following a file that grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtimes.terraform.events import (
    ApplyHook,
    Diagnosed,
    Event,
    Follower,
    Phase,
    PlannedChange,
    Provisioned,
    Summed,
    parse,
    read,
)

RESOURCE = {"addr": "terraform_data.a", "resource_type": "terraform_data", "resource_name": "a"}


def line(type_: str, **content: Any) -> bytes:
    return json.dumps({"@timestamp": "2026-11-21T14:04:52Z", "type": type_, **content}).encode()


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (
            line("apply_start", hook={"resource": RESOURCE, "action": "create"}),
            ApplyHook(Phase.STARTED, "terraform_data.a", "create", "2026-11-21T14:04:52Z"),
        ),
        (
            line(
                "apply_complete",
                hook={"resource": RESOURCE, "action": "create", "id_key": "id", "id_value": "x", "elapsed_seconds": 3},
            ),
            ApplyHook(Phase.COMPLETED, "terraform_data.a", "create", "2026-11-21T14:04:52Z", 3.0, "x"),
        ),
        (
            line("apply_progress", hook={"resource": RESOURCE, "action": "create", "elapsed_seconds": "ten"}),
            ApplyHook(Phase.PROGRESS, "terraform_data.a", "create", "2026-11-21T14:04:52Z"),
        ),
        (
            line("apply_errored", hook={"resource": RESOURCE, "action": "delete", "elapsed_seconds": 1}),
            ApplyHook(Phase.ERRORED, "terraform_data.a", "delete", "2026-11-21T14:04:52Z", 1.0),
        ),
        (
            line("provision_progress", hook={"resource": RESOURCE, "output": "hello"}),
            Provisioned("terraform_data.a", "hello"),
        ),
        (
            line("planned_change", change={"resource": RESOURCE, "action": "replace"}),
            PlannedChange("terraform_data.a", "replace", is_drift=False),
        ),
        (
            line("resource_drift", change={"resource": RESOURCE, "action": "update"}),
            PlannedChange("terraform_data.a", "update", is_drift=True),
        ),
        (line("diagnostic", diagnostic={"severity": "error"}), Diagnosed({"severity": "error"})),
        (line("change_summary", changes={"add": 1, "operation": "apply"}), Summed("apply")),
        (line("version", terraform="1.11.4"), None),
        (line("of_a_newer_version", change=[1]), None),
        (line("apply_start", hook=None), ApplyHook(Phase.STARTED, "", "", "2026-11-21T14:04:52Z")),
        (b"Error: not JSON", None),
        (b"[1]", None),
        (b"", None),
    ],
)
def test_what_a_line_says(text: bytes, event: Event | None) -> None:
    assert parse(text) == event


def test_a_file_is_followed_while_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "apply.jsonl"
    follower = Follower(path)
    assert list(follower.read()) == []
    whole = line("change_summary", changes={"operation": "plan"}) + b"\n"
    path.write_bytes(whole + whole[:20])
    assert list(follower.read()) == [Summed("plan")]
    assert list(follower.read()) == []
    with path.open("ab") as file:
        file.write(whole[20:])
    assert list(follower.read()) == [Summed("plan")]
    assert follower.offset == 2 * len(whole)


def test_the_end_of_a_file_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "apply.jsonl"
    path.write_bytes(line("change_summary", changes={"operation": "plan"}) + b"\n" + b'{"type": "diag')
    assert read(path) == (Summed("plan"),)
