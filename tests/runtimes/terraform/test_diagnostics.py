"""Diagnostics of the real terraform, led back to what was written; and failures of the class that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import (
    FieldPath,
    Finding,
    Forbidden,
    Misconfigured,
    Moved,
    NotThere,
    Overloaded,
    Rejected,
    Resource,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)
from runtimes.terraform import configuration, diagnostics
from runtimes.terraform.configuration import Configuration
from runtimes.terraform.diagnostics import Lock
from tests.runtimes.terraform import direct
from tests.runtimes.terraform.direct import Direct, data
from tests.runtimes.terraform.practice import PASSWORD, bucket, database, network, record, resource


@pytest.fixture
def real(tmp_path: Path, mirror: Path) -> Iterator[Direct]:
    yield direct.made(tmp_path / "folder", mirror)


def _findings(real: Direct, *resources: Resource, command: str = "plan", **options: Any) -> list[Finding]:
    written = real.write(*resources, **options)
    read = (diagnostics.finding(each, written) for each in real.diagnostics(written, command))
    return [each for each in read if each is not None]


def _one(real: Direct, *resources: Resource, **options: Any) -> Finding:
    (found,) = _findings(real, *resources, **options)
    return found


def test_what_a_provider_refuses_leads_to_the_attribute(real: Direct) -> None:
    bad = network("x.y", cidr="10.0.0.0/99"), record("www", values=["10.0.0.1", "nonsense"])
    bad = replace(bad[0], attributes={**bad[0].attributes, "name": "x"}), bad[1]
    found = {(each.id, each.path): each.message for each in _findings(real, *bad)}
    assert found == {
        (bad[0].id, ("cidr",)): "'10.0.0.0/99' is not a range of addresses",
        (bad[1].id, ("values", 1)): "'nonsense' is no value of such a record",
    }


@pytest.mark.parametrize(
    ("written", "path", "message"),
    [
        (bucket("f", nonsense=1), ("nonsense",), "sandbox_bucket has no attribute 'nonsense'"),
        (bucket("f", tags=["x"]), ("tags",), "tags: map of string required"),
        (resource("network", "n", region="east"), (), "sandbox_network needs the attribute 'cidr'"),
        (data("u.v", other=1), ("other",), "terraform_data has no attribute 'other'"),
    ],
)
def test_what_terraform_refuses_leads_to_the_attribute(
    real: Direct, written: Resource, path: FieldPath, message: str
) -> None:
    found = _one(real, written)
    assert (found.id, found.message) == (written.id, message)
    assert found.path[: len(path)] == path


def test_what_a_provider_configuration_lacks_is_told_with_a_resource_that_uses_it(real: Direct) -> None:
    written = resource("bucket", "f", extensions={"providerMeta": {"nope": "x"}})
    found = _one(real, written)
    assert (found.id, found.path, found.message) == (written.id, (), "its provider has no attribute 'nope'")
    assert found.detail == f"This is nope in extensions.providerMeta of {written.id}."


def test_nothing_to_take_over_is_told_with_the_resource(real: Direct) -> None:
    written = resource("bucket", "f", extensions={"importId": "gone"})
    found = _one(real, written)
    assert (found.id, found.message) == (written.id, "nothing exists under the id it is to be taken over by")
    assert "'gone'" in found.detail
    assert diagnostics.does_not_exist(found)
    assert isinstance(diagnostics.failure([found]), NotThere)


def test_what_fails_while_applying_leads_to_the_resource(real: Direct) -> None:
    with real.world.change() as content:
        content.of("sandbox_bucket")["f"] = {"name": "f"}
    found = _one(real, bucket("f"), command="apply")
    assert (found.id, found.message) == (bucket("f").id, "Bucket already exists")
    failed = diagnostics.failure([found])
    assert isinstance(failed, Rejected)
    assert "extensions.importId" in failed.hint
    assert failed.subject == str(bucket("f").id)


def test_a_provider_configuration_that_is_gone_names_what_needs_it(real: Direct) -> None:
    made = resource("bucket", "f", extensions={"providerMeta": {"world": str(real.world.path)}})
    real.apply(made)
    found = _one(real)
    assert (found.id, found.message) == (made.id, "Provider configuration not present")
    failed = diagnostics.failure([found])
    assert isinstance(failed, Misconfigured)
    assert "providerMeta" in failed.hint
    assert {each.action.value for each in real.plan(former=[made]).resources} == {"delete"}


def test_secrets_are_scrubbed_from_what_is_told(real: Direct) -> None:
    secret = 'canary"text\\'
    found = _findings(real, record("www", values=[f"x {secret}"]), secrets=frozenset({secret}))
    assert found
    assert not any("canary" in repr(each) for each in found)


def test_a_password_that_is_refused_is_not_told(real: Direct) -> None:
    resources = network("shop"), database("orders", "shop", password="canary-0")
    (found,) = _findings(real, *resources, secrets=frozenset({PASSWORD}))
    assert (found.path, found.message) == (("password",), "The password is too short")
    assert "canary" not in repr(found)


@pytest.fixture
def written() -> Configuration:
    return configuration.build([bucket("f")])


def test_warnings_that_targets_cause_are_left_out(written: Configuration) -> None:
    for summary in ("Resource targeting is in effect", "Applied changes may be incomplete"):
        assert diagnostics.finding({"severity": "warning", "summary": summary}, written) is None
    kept = diagnostics.finding({"severity": "warning", "summary": "Attribute\nDeprecated"}, written)
    assert kept == Finding(False, "Attribute Deprecated")


LOCKED = """ConditionalCheckFailedException: resource temporarily unavailable
Lock Info:
  ID:        94f79c67-1ff4-3d7a-8f8f-0aaaeda4e1f5
  Path:      terraform.tfstate
  Operation: OperationTypeApply
  Who:       ana@build-7
  Version:   1.11.4
  Created:   2026-11-21 14:02:03.389285 +0000 UTC
  Info:


Terraform acquires a state lock to protect the state from being written."""


@pytest.mark.parametrize(
    "said",
    [
        'Unsupported state file format: The state file does not have a "version" attribute',
        'Invalid state file format: The state file field "serial" has invalid value number -1',
        'Invalid resource mode in state: State contains a resource with mode ""',
        "state snapshot was created by Terraform v9.9.9, which is newer than current v1.11.4",
        "unexpected EOF",
    ],
)
def test_a_state_that_cannot_be_read_is_not_said_to_be_locked(said: str) -> None:
    failed = diagnostics.failure(
        [Finding(True, "Error acquiring the state lock", f"Error message: {said}\n\nTerraform")]
    )
    assert failed.message == f"the state can't be read: {said}" and "backup" in failed.hint


def test_a_lock_says_who_has_it_and_since_when() -> None:
    lock = diagnostics.lock_of(LOCKED)
    assert lock == Lock("94f79c67-1ff4-3d7a-8f8f-0aaaeda4e1f5", "ana@build-7", "2026-11-21 14:02:03", "apply")
    failed = diagnostics.failure([Finding(True, "Error acquiring the state lock", LOCKED)])
    assert isinstance(failed, Overloaded)
    assert failed.message == "the state is locked by ana@build-7 since 2026-11-21 14:02:03 UTC (apply)"
    assert lock.id in failed.hint


@pytest.mark.parametrize(
    ("summary", "detail", "type_"),
    [
        ("Saved plan is stale", "The given plan file can no longer be applied", Moved),
        ("Plugin did not respond", "The plugin encountered an error", RuntimeFailure),
        ("Request cancelled", "The plugin.(*GRPCProvider).ApplyResourceChange request was cancelled.", RuntimeFailure),
        (
            "Failed to query available provider packages",
            'could not connect to registry.terraform.io: Get "https://registry.terraform.io": dial tcp: no such host',
            Unreachable,
        ),
        (
            "Failed to query available provider packages",
            "x/y was not found in any of the search locations",
            Misconfigured,
        ),
        (
            "Failed to query available provider packages",
            "no available releases match the given constraints",
            Misconfigured,
        ),
        ("Required plugins are not installed", "", Misconfigured),
        ("Unsupported Terraform Core version", "", Misconfigured),
        ("creating EC2 VPC", "api error AuthFailure: AWS was not able to validate the credentials", Unauthenticated),
        ("creating S3 Bucket", "StatusCode: 403, AccessDenied: Access Denied", Forbidden),
        ("creating RDS", "Throttling: Rate exceeded", Overloaded),
        ("Quota exceeded", "3 buckets would be there, 2 are allowed.", Rejected),
        ("creating RDS", "InstanceQuotaExceeded", Rejected),
        ("reading", "dial tcp 10.0.0.1:443: i/o timeout", Unreachable),
        ("Instance cannot be destroyed", "", Rejected),
        ("anything", "else", Rejected),
    ],
)
def test_each_failure_is_of_the_class_that_fits(summary: str, detail: str, type_: type[RuntimeFailure]) -> None:
    failed = diagnostics.failure([Finding(False, "a warning"), Finding(True, summary, detail)], place="place")
    assert type(failed) is type_
    assert failed.message.startswith(summary)
    assert failed.target == "place"


def test_of_many_errors_the_one_that_explains_the_others_comes_first() -> None:
    id_ = bucket("f").id
    failed = diagnostics.failure(
        [
            Finding(True, "name is wrong", "It is.\n\nMore of it.", id_, ("name",)),
            Finding(True, "Plugin did not respond", "gone"),
            Finding(True, "Quota exceeded"),
        ],
        id_=id_,
    )
    assert failed.message == "Plugin did not respond: gone (and 2 more errors)"
    assert failed.subject == str(id_)


def test_each_cause_names_its_attribute() -> None:
    errors = [Finding(True, "too long", "", bucket("f").id, ("tags", "a")), Finding(True, "odd")]
    failed = diagnostics.failure(errors)
    assert isinstance(failed, Rejected)
    assert failed.causes == (("tags.a", "too long"), ("", "odd"))


def test_no_reason_at_all_is_said_to_be_none() -> None:
    failed = diagnostics.failure([], doing="apply")
    assert failed.message == "terraform apply failed and gave no reason"
    assert failed.hint
