"""`wb sandbox provider` and `wb sandbox world`: installing the practice provider, and meddling with its cloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.sandbox.provider import CLOUD_VARIABLE, Cloud
from runtimes.sandbox.provider.kinds import KINDS
from runtimes.sandbox.provider.mirror import missing
from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """Holds a bucket and a database."""
    made = Cloud(tmp_path / "world.json")
    with made.change() as content:
        KINDS["sandbox_bucket"].create({"name": "invoices", "versioning": True}, content)
        network = KINDS["sandbox_network"].create({"name": "n", "cidr": "10.0.0.0/16", "region": "east"}, content)
        body = {"name": "orders", "engine": "postgres", "size_gb": 20, "network_id": network, "username": "ann"}
        KINDS["sandbox_database"].create({**body, "password": "not-a-real-password"}, content)
    monkeypatch.setenv(CLOUD_VARIABLE, str(made.path))
    return made


@pytest.mark.skipif(bool(missing()), reason=f"no module {', '.join(missing())}")
def test_installing_prints_what_a_shell_needs(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CLOUD_VARIABLE, raising=False)
    folder = tmp_path / "my folder"

    ended = wb("sandbox", "provider", "install", "--folder", folder)

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        f"export WB_TERRAFORM_MIRROR='{folder}'",
        f"export {CLOUD_VARIABLE}='{folder / 'world.json'}'",
    ]
    assert list(folder.glob("workbench.local/sandbox/sandbox/*/*/terraform-provider-sandbox_*"))


def test_what_is_there_is_listed_without_what_is_kept_of_passwords(wb: Wb, world: Cloud) -> None:
    document = wb("sandbox", "world", "ls", "-o", "json").json()

    kinds = [each["type"] for each in document["objects"]]
    assert kinds == ["sandbox_bucket", "sandbox_database", "sandbox_network"]
    assert document["objects"][1]["attributes"]["password"] == "(hidden)"
    shown = wb("sandbox", "world", "ls", "--world", world.path).out
    assert world.objects("sandbox_database")["orders"]["password"]["digest"] not in shown


def test_things_can_be_changed_and_deleted(wb: Wb, world: Cloud) -> None:
    assert wb("sandbox", "world", "set", "database", "orders", "size_gb=80").code == 0
    assert wb("sandbox", "world", "set", "sandbox_bucket", "invoices", 'tags={"a": "b"}', "versioning=false").code == 0
    assert world.objects("sandbox_database")["orders"]["size_gb"] == 80
    assert world.objects("sandbox_bucket")["invoices"]["tags"] == {"a": "b"}

    assert wb("sandbox", "world", "rm", "bucket", "invoices").code == 0
    assert world.objects("sandbox_bucket") == {}


def test_what_is_not_there_is_said_with_what_is(wb: Wb, world: Cloud) -> None:
    ended = wb("sandbox", "world", "rm", "bucket", "parcels")

    assert ended.code == ExitCode.ERROR
    assert "No bucket has the id parcels" in ended.err
    assert "The world has: invoices." in ended.err


def test_a_world_that_is_not_there_or_broken_is_said(wb: Wb, world: Cloud, tmp_path: Path) -> None:
    absent = wb("sandbox", "world", "ls", "--world", tmp_path / "none.json")
    world.path.write_text("[")
    broken = wb("sandbox", "world", "ls")

    assert (absent.code, broken.code) == (ExitCode.ERROR, ExitCode.ERROR)
    assert "there is no world yet" in absent.err
    assert "is not JSON" in broken.err


def test_without_a_file_the_question_is_which(wb: Wb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CLOUD_VARIABLE, raising=False)

    ended = wb("sandbox", "world", "ls")

    assert ended.code == ExitCode.USAGE
    assert "--world FILE" in ended.err


def test_a_value_without_its_name_is_not_shown(wb: Wb, world: Cloud) -> None:
    ended = wb("sandbox", "world", "set", "database", "orders", "canary-value")

    assert ended.code == ExitCode.USAGE
    assert "canary-value" not in ended.text
