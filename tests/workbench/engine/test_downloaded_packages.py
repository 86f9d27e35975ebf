"""A stack may use packages that `kcl mod` downloaded, as `kcl run` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcl.loader.checksum import checksum
from kcl.loader.lock import Locked, lock_text
from kcl.loader.requirement import OciSource
from kcl.secrecy.rules import BUILT_IN
from kcl.source import OsFileSystem
from workbench.engine.compile import evaluated, new_cache
from workbench.engine.compiled import CompileFailed
from workbench.session import Session
from workbench.settings import Settings


def lock(root: Path, package: Path) -> None:
    """What `kcl mod update` writes."""
    name, _, version = package.name.partition("_")
    locked = Locked(name, package.name, version, checksum(str(package), OsFileSystem()), OciSource("", "", version))
    (root / "kcl.mod.lock").write_text(lock_text([locked]))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "packages" / "limits_1.0.0"
    package.mkdir(parents=True)
    (package / "kcl.mod").write_text('[package]\nname = "limits"\nversion = "1.0.0"\n')
    (package / "sizes.k").write_text('memory = "64Mi"\n')
    root = tmp_path / "konfig"
    stack = root / "web" / "dev"
    stack.mkdir(parents=True)
    (root / "kcl.mod").write_text('[package]\nname = "shop"\n\n[dependencies]\nlimits = "1.0.0"\n')
    (root / "web" / "project.yaml").write_text("name: web\n")
    (stack / "stack.yaml").write_text("name: dev\n")
    (stack / "main.k").write_text(
        "import limits.sizes\n\n"
        'apiVersion = "v1"\nkind = "ConfigMap"\nmetadata = {name = "web"}\ndata = {memory = sizes.memory}\n'
    )
    lock(root, package)
    monkeypatch.setenv("KCL_PKG_PATH", str(tmp_path / "packages"))
    return root


async def test_a_stack_imports_a_package_from_the_folder_of_downloads(root: Path, tmp_path: Path) -> None:
    session = Session.open(root, settings=Settings.load({"WB_STATE_DIR": str(tmp_path / "state")}))
    compiled = await session.compile(session.select("web/dev"))
    assert [each.attributes["data"] for each in compiled.spec] == [{"memory": "64Mi"}]


def test_a_file_that_is_no_stacks_imports_one_only_where_its_checksum_is_known(root: Path) -> None:
    file = root / "site.k"
    file.write_text("import limits.sizes\n\nsite = {memory = sizes.memory}\n")
    assert [*evaluated(file, root, BUILT_IN, new_cache())] == [{"site": {"memory": "64Mi"}}]
    (root / "kcl.mod.lock").unlink()
    with pytest.raises(CompileFailed, match="is not locked"):
        evaluated(file, root, BUILT_IN, new_cache())


def test_a_failure_of_such_a_file_says_no_secret_of_its_sources(root: Path) -> None:
    file = root / "site.k"
    file.write_text('_password = "canary-k3"\nassert False, "it is " + _password\n')
    with pytest.raises(CompileFailed) as failed:
        evaluated(file, root, BUILT_IN, new_cache())
    assert "it is" in failed.value.rendered and "canary-k3" not in f"{failed.value.message} {failed.value.rendered}"
