"""One repository for all pages, each before clusters of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtimes.sandbox.server import Sandbox
from tests.handbook.shell import Shell
from workbench.ci import VARIABLES

ROOT = Path(__file__).parents[2]
_SETTINGS = ("WB_CONTEXT", "WB_READONLY", "WB_TIMEOUT", "WB_ASCII", "WB_REASON", "WB_POLICY", "NO_COLOR", "FORCE_COLOR")
_GIT = """[user]
name = Ann
email = ann@orchard.example
[commit]
gpgsign = false
[init]
defaultBranch = main
[advice]
detachedHead = false
"""


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the repository of all pages lies, with what was compiled of it; each finds it as in the sample."""
    folder = tmp_path_factory.mktemp("handbook")
    (folder / "gitconfig").write_text(_GIT)
    (folder / "home").mkdir()
    return folder


def _as_in_the_sample(orchard: Path) -> None:
    """Leaves files alone that are as they should be, so that what was compiled of them holds."""
    sample = ROOT / "sample-konfig"
    wanted = {path.relative_to(sample) for path in sample.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    shutil.rmtree(orchard / ".git", ignore_errors=True)
    for each in sorted(orchard.rglob("*"), reverse=True):  # what is in a folder comes before the folder
        if each.is_dir() and not any(each.iterdir()):
            each.rmdir()
        elif each.is_file() and each.relative_to(orchard) not in wanted:
            each.unlink()
    for path in wanted:
        text, to = (sample / path).read_bytes(), orchard / path
        if not to.is_file() or to.read_bytes() != text:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(text)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "As it is today"]):
        subprocess.run(["git", *words], cwd=orchard, check=True, timeout=60)


@pytest.fixture
def home(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*_SETTINGS, *VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(shared / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(shared / "home"))
    for name in ("LOGNAME", "USER"):
        monkeypatch.setenv(name, "ann")
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("WB_CACHE_DIR", str(shared / "cache"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "practice.yaml"))
    orchard = shared / "home" / "orchard"
    _as_in_the_sample(orchard)
    monkeypatch.chdir(orchard)
    return shared / "home"


@pytest.fixture
async def shell(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shell]:
    async with Sandbox(clusters=2, tokens={"admin": "token-of-admin"}, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "practice.yaml")
        yield Shell(home, sandbox, monkeypatch)
