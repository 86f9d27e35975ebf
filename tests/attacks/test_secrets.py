"""Canaries in every place where a secret may stand: no command, format, screen, record or cache has one in clear."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtimes.sandbox.server import Sandbox
from tests.attacks.secret_repository import Vault, vault
from tests.workbench.cli.command import Ended, Wb
from workbench.exit_codes import ExitCode


@dataclass(frozen=True)
class Opened:
    vault: Vault
    home: Path
    sandbox: Sandbox
    wb: Wb

    async def __call__(self, *arguments: str, given: bool = True) -> Ended:
        """Runs a command on the stack, with its options if it takes any."""
        return await self.wb.meanwhile(*arguments, *(self.vault.arguments if given else ()))

    def leaks(self, ended: Ended) -> list[str]:
        return self.vault.canaries.leaks(ended.text)


@pytest.fixture
async def opened(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    made = vault()
    made.write(tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    monkeypatch.setenv("KCL_RUN_CACHE", str(tmp_path / "kcl"))
    async with Sandbox(names=("one",), clusters=1, tokens={"admin": "token-of-admin"}, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield Opened(made, tmp_path, sandbox, wb)


async def test_no_format_of_what_is_new_shows_a_secret(opened: Opened) -> None:
    """All objects are in a namespace that the plan itself creates, so no cluster was asked about them."""
    leaking = {}
    for verb in ("diff", "plan"):
        for format_ in ("table", "json", "yaml"):
            ended = await opened(verb, "vault/dev", *(() if format_ == "table" else ("-o", format_)))
            assert ended.code in (ExitCode.OK, ExitCode.DIFFERENT), ended.text
            assert "settings" in ended.out
            leaking[f"{verb} {format_}"] = opened.leaks(ended)
    assert not any(leaking.values()), leaking
