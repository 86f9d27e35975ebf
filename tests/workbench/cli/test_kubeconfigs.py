"""Whose kubeconfig it is decides what it may run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from tests.workbench.cli.conftest import Place

LOGIN = """#!{python}
import json, os
open("{ran}", "a").write("x")
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                   "status": {{"token": "token-of-admin"}}}}))
"""


def _with_login(place: Place, kubeconfig: Path, to: Path) -> Path:
    """Writes a kubeconfig that gets its token from a program; returns the file that grows each time it runs."""
    ran, program = to.parent / "ran", to.parent / "login"
    program.write_text(LOGIN.format(python=sys.executable, ran=ran))
    program.chmod(0o755)
    content = yaml.safe_load(kubeconfig.read_text())
    for each in content["users"]:
        each["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login"}}
    to.write_text(yaml.safe_dump(content))
    return ran


async def test_ones_own_kubeconfig_runs_its_login_as_kubectl_does(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = _with_login(place, tmp_path / "kubeconfig", tmp_path / "own")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "own"))
    ended = await place("plan", "web/dev")
    assert ended.code == 0, ended.text
    assert ran.exists()


@pytest.mark.parametrize("folder", ["repo", "repo/web", "."], ids=["root", "below", "checkout"])
async def test_one_that_came_with_the_repository_runs_nothing_until_it_is_trusted(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    if folder == ".":
        (tmp_path / ".git").mkdir()
    ran = _with_login(place, tmp_path / "kubeconfig", tmp_path / folder / "its")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / folder / "its"))
    refused = await place("plan", "web/dev")
    assert refused.code != 0
    assert "WB_ALLOW_EXEC=1" in refused.text and "is a file of the repository" in refused.text
    assert not ran.exists()
    monkeypatch.setenv("WB_ALLOW_EXEC", "1")
    assert (await place("plan", "web/dev")).code == 0
    assert ran.exists()
