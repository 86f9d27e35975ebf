"""Finding terraform, and refusing what will not do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtimes.base import Misconfigured
from runtimes.terraform import binary
from runtimes.terraform.arguments import Arguments
from runtimes.terraform.binary import Binary


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def version(text: str) -> str:
    return f"""echo '{{"terraform_version": "{text}", "platform": "linux_amd64"}}'"""


def test_terraform_comes_before_tofu(tmp_path: Path) -> None:
    tofu = program(tmp_path / "tofu", "")
    assert binary.find(None, str(tmp_path)) == tofu
    terraform = program(tmp_path / "terraform", "")
    assert binary.find(None, str(tmp_path)) == terraform
    assert binary.find("tofu", str(tmp_path)) == tofu
    assert binary.find(str(tofu), "") == tofu


def test_without_any_it_is_said_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="need terraform or tofu, and neither is on PATH") as raised:
        binary.find(None, str(tmp_path))
    assert "install" in raised.value.hint
    with pytest.raises(Misconfigured, match="no program terraform-9 that can be run"):
        binary.find("terraform-9", str(tmp_path))


async def test_its_version_is_asked_once(tmp_path: Path) -> None:
    path = program(tmp_path / "terraform", f"echo x >> {tmp_path}/asked; {version('1.11.4')}")
    environment = dict(os.environ)
    for _ in range(2):
        assert await binary.identify(path, environment, tmp_path) == Binary(path, "1.11.4", "linux_amd64")
    assert (tmp_path / "asked").read_text() == "x\n"
    program(path, version("1.12.0-beta1") + "  # another")
    assert (await binary.identify(path, environment, tmp_path)).number == (1, 12, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (version("1.4.6"), r"is version 1.4.6, which is too old: 1.5.0 or newer is needed"),
        ("echo Terraform v0.11", "did not tell its version"),
        ("exit 3", "did not tell its version"),
        (version("9" * 5000), "did not tell its version"),
        (version("none at all"), "did not tell its version"),
        ("echo '[1, 11]'", "did not tell its version"),
        ("""echo '{"terraform_version": 1.11}'""", "did not tell its version"),
    ],
)
async def test_what_is_too_old_or_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = program(tmp_path / "terraform", text)
    with pytest.raises(Misconfigured, match=message):
        await binary.identify(path, dict(os.environ), tmp_path)


def test_arguments_hold_no_values_and_no_folder() -> None:
    arguments = Arguments("/bin/terraform")
    assert arguments.plan("plan.tfplan", targets=["a.b", 'c.d["x"]'], lock_timeout_seconds=2.5) == (
        "/bin/terraform",
        "plan",
        "-no-color",
        "-json",
        "-detailed-exitcode",
        "-input=false",
        "-lock-timeout=2500ms",
        "-target=a.b",
        '-target=c.d["x"]',
        "-out=plan.tfplan",
    )
    assert arguments.apply("plan.tfplan", lock_timeout_seconds=0) == (
        "/bin/terraform",
        "apply",
        "-no-color",
        "-json",
        "-input=false",
        "-lock-timeout=0ms",
        "plan.tfplan",
    )
    assert arguments.schemas() == ("/bin/terraform", "providers", "schema", "-json")
    assert arguments.init(as_json=False) == ("/bin/terraform", "init", "-no-color", "-input=false")
