"""Today's public Konfig: every stack is found, and compiles as officially or is refused as officially.

The official compiler of 0.13 refuses every stack of it, for private names that one of its packages reads of another.
So there are two forms: as published, and with those names made public.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcl.api import run
from kcl.loader.checksum import checksum
from kcl.loader.lock import Locked, lock_text
from kcl.loader.requirement import OciSource
from kcl.source import OsFileSystem
from tests.conformance.kcl_suite import same
from tests.differential.comparing import documents
from tests.kcl.conformance import corpus
from tests.properties.official import Official, official
from workbench.engine.compile import compile_now, new_cache, program_of
from workbench.engine.compiled import CompileFailed, CompileInputs
from workbench.engine.errors import SpecInvalid
from workbench.project import Stack, discover

_PRIVATE, _PUBLIC = "__META_", "META_"
_STACKS = int(os.environ.get("KONFIG_2025_STACKS", "4"))
"""How many of the twenty are compiled."""


@pytest.fixture(scope="module")
def peer() -> Iterator[Official]:
    with official(60) as running:
        yield running


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _copied(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    konfig = _copied(tmp_path_factory.mktemp("public"))
    for file in konfig.rglob("*.k"):
        text = file.read_text()
        if _PRIVATE in text:
            file.write_text(text.replace(_PRIVATE, _PUBLIC))
    return konfig


def _copied(folder: Path) -> Path:
    """The repository beside the package it depends on, as `kcl mod pull` would have put it."""
    shutil.copytree(corpus("konfig-2025") / "konfig", folder / "konfig")
    (folder / "packages").mkdir()
    (folder / "packages/k8s_1.31.2").symlink_to(corpus("kcl-modules") / "k8s/1.31")
    for each in (folder / "konfig").rglob("*"):
        each.chmod(0o755 if each.is_dir() else 0o644)
    _lock(folder / "konfig", folder / "packages/k8s_1.31.2")
    return folder / "konfig"


def _lock(konfig: Path, k8s: Path) -> None:
    """Writes beside every kcl.mod what `kcl mod update` writes there: nothing upstream has it."""
    found = checksum(str(k8s), OsFileSystem())
    locked = Locked("k8s", k8s.name, "1.31.2", found, OciSource("ghcr.io", "kcl-lang/k8s", "1.31.2"))
    for manifest in konfig.rglob("kcl.mod"):
        manifest.with_name("kcl.mod.lock").write_text(lock_text([locked]))


def _official(stack: Stack, konfig: Path, peer: Official) -> tuple[str | None, str]:
    files = ["../base/base.k", "main.k", "${konfig:KCL_MOD}/models/kube/render/render.k"]
    packages = [("konfig", str(konfig)), ("k8s", str(konfig.parent / "packages/k8s_1.31.2"))]
    asked = {"files": [files[0], *files[1:]], "options": _options(stack), "packages": packages}
    answer = peer.run_files(str(stack.directory), asked)
    return answer.yaml, answer.complaint


def _options(stack: Stack) -> list[tuple[str, str]]:
    """What the workbench tells every stack."""
    return [("project", f'"{stack.path.project}"'), ("stack", f'"{stack.path.stack}"')]


def test_every_stack_is_found(published: Path) -> None:
    tree = discover(published)
    found = {str(each.directory.relative_to(published)) for each in tree.stacks()}
    assert found == {str(each.parent.relative_to(published)) for each in published.glob("examples/*/*/*/kcl.mod")}
    assert len(found) == 20
    assert all(each.components for each in tree.stacks())
    assert list(tree.all_findings()) == []


@pytest.mark.parametrize("form", ["names made public", "in the dialect of 0.12"])
def test_stacks_compile_to_what_the_official_compiler_makes(
    form: str, public: Path, published: Path, peer: Official, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    konfig = public
    if form == "in the dialect of 0.12":
        shutil.copytree(published.parent, tmp_path / "older", symlinks=True)
        konfig = tmp_path / "older/konfig"
        with (konfig / "kcl.mod").open("a") as stream:
            stream.write('\n[expected]\nkclvm_version = "0.12"\n')
    monkeypatch.setenv("KCL_PKG_PATH", str(public.parent / "packages"))
    cache = new_cache()
    tree, same_stacks = discover(konfig), list(discover(public).stacks())
    for stack in same_stacks[:: max(1, len(same_stacks) // _STACKS)]:
        yaml, complaint = _official(stack, public, peer)
        assert yaml is not None, complaint
        expected = documents(yaml + "\n")
        chosen = tree.select(stack.name)
        program = program_of(chosen, CompileInputs())
        ran = run(
            program.files,
            work_dir=chosen.directory,
            settings=program.settings,
            options=program.options,
            vendor_dir=str(public.parent / "packages"),
        )
        assert same(list(ran.documents), expected), stack.name
        if all(each["metadata"]["name"] for each in expected):
            spec = compile_now(chosen, CompileInputs(), cache).spec
            assert same([each["attributes"] for each in spec.documents()], expected), stack.name
        else:
            with pytest.raises(SpecInvalid, match=r"needs apiVersion, kind and metadata\.name"):
                compile_now(chosen, CompileInputs(), cache)


def test_stacks_as_published_are_refused_where_the_official_compiler_refuses_them(
    published: Path, peer: Official, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCL_PKG_PATH", str(published.parent / "packages"))
    stacks = list(discover(published).stacks())
    for stack in stacks[:: max(1, len(stacks) // _STACKS)]:
        yaml, complaint = _official(stack, published, peer)
        assert yaml is None
        with pytest.raises(CompileFailed, match="cannot reference private member") as failed:
            compile_now(stack, CompileInputs(), new_cache())
        assert all(each.message in complaint for each in failed.value.diagnostics)
