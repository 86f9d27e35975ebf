"""The vault over a cluster of its own, and `wb` in it: what its user has, and what other programs were given."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from runtimes.sandbox.server import Sandbox
from tests.attacks.secret_repository import SPACE, Vault, vault
from tests.workbench.cli.command import Ended, Wb
from workbench.settings import Settings

REPOSITORY = "git.example.org/vault"
_TOKEN = "cnry-token-of-admin-7Kq9Zx"
_LISTENING = """#!/bin/sh
{{ echo "{name}"; tr '\\0' ' ' < /proc/$$/cmdline; echo; env; }} >> '{seen}' 2>/dev/null
exec {program} "$@"
"""


@dataclass(frozen=True)
class Opened:
    vault: Vault
    home: Path
    sandbox: Sandbox
    wb: Wb
    monkeypatch: pytest.MonkeyPatch

    async def __call__(self, *arguments: str, given: bool = True) -> Ended:
        """Runs a command, with the options of the stack if it takes any."""
        return await self.wb.meanwhile(*arguments, *(self.vault.arguments if given else ()))

    async def on_terminal(self, *arguments: str) -> Ended:
        with self.monkeypatch.context() as patch:
            patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
            return await self(*arguments)

    async def write_manifests(self) -> Path:
        """Writes what the vault compiles to as manifests, secrets in clear, as somebody has them who has YAML.

        Left out is what only the program knows to be secret: what a plugin gave.
        """
        compiled = await self("compile", "vault/dev", "-o", "json")
        bodies = [each["attributes"] for each in compiled.json() if each["type"] == "Kubernetes"]
        bodies = [each for each in bodies if each["metadata"]["name"] != "plugged"]
        file = self.own / "manifests.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))
        return file

    def settings(self) -> Settings:
        state, cache = self.home / "state", self.home / "cache"
        kubeconfig = os.environ["KUBECONFIG"]
        return Settings(
            state, cache, kubeconfig=kubeconfig, user="ann", host="box", repository=REPOSITORY, trusts_plugins=True
        )

    def leaks(self, said: Ended | str) -> list[str]:
        return self.vault.canaries.leaks(said.text if isinstance(said, Ended) else said)

    def leaking_files(self) -> dict[str, list[str]]:
        """All that is written down on this machine beside the repository and what its user has."""
        folders = [each for each in self.home.iterdir() if each.is_dir() and each.name not in ("repo", "own")]
        return self.vault.canaries.leaking_files(*folders)

    def leaking_records(self) -> list[str]:
        """All that is kept in the clusters about releases, unpacked."""
        kept: list[str] = []
        for cluster in self.sandbox.clusters:
            kept += [json.dumps(each) for each in cluster.list("leases.coordination.k8s.io", "konfig-workbench").items]
            for secret in cluster.list("secrets", "konfig-workbench").items:
                content = {name: base64.b64decode(each) for name, each in secret["data"].items()}
                plain = {"about", "claim"}
                kept += [json.dumps(secret), *(each.decode() for name, each in content.items() if name in plain)]
                kept += [gzip.decompress(each).decode() for name, each in content.items() if name not in plain]
        assert any("sealed:" in each for each in kept), "some release is there, and its secrets in it"
        return self.leaks("\n".join(kept))

    @property
    def own(self) -> Path:
        """What the user has: kubeconfig, programs, and what tests saw of those."""
        return self.home / "own"

    def listen_to(self, name: str, program: str) -> Path:
        """Puts a program before another that writes down what it was given, and where it lies."""
        listening = self.own / "bin" / name
        listening.parent.mkdir(exist_ok=True)
        listening.write_text(_LISTENING.format(name=name, seen=self.own / f"given to {name}", program=program))
        listening.chmod(0o755)
        self.monkeypatch.setenv("PATH", os.pathsep.join((str(listening.parent), os.environ["PATH"])))
        return listening

    def given_to(self, name: str) -> str:
        return (self.own / f"given to {name}").read_text()

    def log_in_by_program(self) -> None:
        """Has the kubeconfig get its token from a program, as those of clouds do."""
        answer = self.own / "answer.json"
        version = "client.authentication.k8s.io/v1"
        status = {"token": self.vault.canaries.put("live", "token of a program", _TOKEN)}
        answer.write_text(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
        program = self.listen_to("log-in", f"cat '{answer}' #")
        user = {"exec": {"apiVersion": version, "interactiveMode": "Never", "command": str(program)}}
        self.rewrite_users(user)

    def rewrite_users(self, user: Any) -> None:
        file = Path(os.environ["KUBECONFIG"])
        content = yaml.safe_load(file.read_text())
        content["users"] = [{"name": each["name"], "user": user} for each in content["users"]]
        file.write_text(json.dumps(content))

    def change_by_hand(self) -> None:
        """What a person leaves in the cluster, with secrets that are in no file."""
        given = self.vault.canaries
        before = base64.b64encode(given.strong("live", "data of a Secret").encode()).decode()
        self._patch("secrets", "texts", {"data": {"text-0": before, "mine": before}})
        url = f"postgres://app:{given.weak('live', 'URL')}@old.example/orders"
        self._patch("configmaps", "settings", {"data": {"url-postgres": url, "mine": url}})
        env = [{"name": "SIDE_PASSWORD", "value": given.weak("live", "variable")}]
        container = {"containers": [{"name": "web", "env": env}]}
        self._patch("deployments.apps", "web", {"spec": {"template": {"spec": container}}}, "strategic")

    def delete_by_hand(self) -> None:
        """Something that an apply makes again, with many secrets in it."""
        self.sandbox.clusters[0].delete("configmaps", SPACE, "again")

    def _patch(self, resource: str, name: str, patch: Any, form: Literal["merge", "strategic"] = "merge") -> None:
        self.sandbox.clusters[0].patch(resource, SPACE, name, patch, form, manager="kubectl-edit")


@asynccontextmanager
async def opened_vault(wb: Wb, home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    made = vault()
    made.write(home / "repo")
    (home / "own").mkdir()
    monkeypatch.chdir(home / "repo")
    monkeypatch.setenv("KCL_RUN_CACHE", str(home / "kcl"))
    monkeypatch.setenv("WB_REPOSITORY", REPOSITORY)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    async with Sandbox(names=("one",), clusters=1, tokens={"admin": _TOKEN}, seed=1) as sandbox:
        sandbox.write_kubeconfig(home / "own" / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(home / "own" / "kubeconfig"))
        yield Opened(made, home, sandbox, wb, monkeypatch)
