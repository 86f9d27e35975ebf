"""What a stack amounted to is taken again by the next process, Spec and source lines alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kcl.api import ParseCache
from kcl.loader.queries import PACKAGE
from tests.kcl.clocks import later, let_tick, wait_until_settled
from tests.kcl.compiler.both_ways import leaves
from tests.sizes import size
from tests.workbench.engine.test_compile_konfig import KONFIG, SETTINGS
from workbench.engine.compile import compile_now, new_cache
from workbench.engine.compile_all import Wanted, prepare
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.errors import SpecInvalid
from workbench.engine.worker_pools import in_processes
from workbench.project import Stack, discover

SAMPLE = Path(__file__).parents[3] / "sample-konfig"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KCL_RUN_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def _stacks(root: Path) -> list[Stack]:
    if not root.is_dir():
        pytest.skip(f"the inputs are not there: {root}")
    return list(discover(root).stacks())


def _results(store: Path) -> list[Path]:
    return sorted(store.glob("result-*.entry"))


def _seen(compiled: CompiledStack) -> tuple[object, ...]:
    chains = [
        (each.id, path, compiled.spec.chain(each.id, path))
        for each in compiled.spec
        for path in leaves(each.attributes)
    ]
    return compiled.spec, compiled.spec.secrets, chains, compiled.diagnostics, compiled.dependencies, compiled.log


def _has_compiled(cache: ParseCache) -> bool:
    return cache.memo.count(PACKAGE) > 0


@pytest.mark.parametrize(("root", "settings"), [(SAMPLE, ()), (KONFIG, (SETTINGS,))], ids=["sample", "konfig-2023"])
def test_the_next_process_compiles_nothing_that_was_compiled(
    root: Path, settings: tuple[str, ...], store: Path
) -> None:
    inputs = CompileInputs(settings=settings)
    stacks = [each for each in _stacks(root) if all((each.directory / name).is_file() for name in settings)]
    stacks = stacks[:: size(6, 1)]
    cold = {each.name: _seen(compile_now(each, inputs)) for each in stacks}
    first, again = new_cache(), new_cache()
    for stack in stacks:
        compile_now(stack, inputs, first)
    assert len(_results(store)) == len(stacks), "those with a Secret too: what the workbench tells may be known"
    for stack in stacks:
        assert _seen(compile_now(stack, inputs, again)) == cold[stack.name]
    assert _has_compiled(first) and not _has_compiled(again)


def test_an_edit_is_compiled_whether_on_disk_or_in_memory(tmp_path: Path, store: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    stack = next(each for each in _stacks(tmp_path / "sample") if each.name == "checkout/prod")
    main = stack.directory / "main.k"
    edited = main.read_text() + "\n_another = 1\n"
    compile_now(stack, CompileInputs(), new_cache(clock=later))
    cache = new_cache(clock=later)
    plain = compile_now(stack, CompileInputs(), cache)
    assert not _has_compiled(cache)
    what_if = compile_now(stack, CompileInputs(overlay={main: edited}), cache)
    assert _has_compiled(cache) and what_if.spec == plain.spec
    main.write_text(edited)
    cache = new_cache(clock=later)
    compile_now(stack, CompileInputs(), cache)
    assert _has_compiled(cache)


def test_what_a_secret_option_had_a_part_in_is_not_kept(tmp_path: Path, store: Path) -> None:
    stack = _stacks(SAMPLE)[0]
    for options in ({"dbPassword": "hunter2"}, {"token": "hunter2"}):
        compile_now(stack, CompileInputs(options=options), new_cache())
    assert _results(store) == []
    assert not any(b"hunter2" in each.read_bytes() for each in store.iterdir())


def test_definitions_beside_the_stacks_are_read_as_they_are_now(tmp_path: Path, store: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    stack = next(each for each in _stacks(tmp_path / "sample") if each.name == "checkout/prod")
    folder = stack.project_directory / "crd"
    folder.mkdir()
    cache, plain = new_cache(clock=later), compile_now(stack, CompileInputs()).spec
    for name in ("one", "two", "one"):
        definition = (
            f"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\n"
        )
        let_tick(tmp_path)
        (folder / "a.yaml").write_text(definition + "since: 2023-07-01\n")
        found = [compile_now(stack, CompileInputs(), cache).spec for _ in range(2)]
        names = [[each.attributes["metadata"]["name"] for each in spec if each not in plain] for spec in found]
        assert names == [[name], [name]]
    (folder / "a.yaml").write_text("a: [")
    with pytest.raises(SpecInvalid, match="cannot be read as YAML"):
        compile_now(stack, CompileInputs(), cache)


def test_compiling_everything_leaves_no_results(tmp_path: Path, store: Path) -> None:
    shutil.copytree(SAMPLE / "models", tmp_path / "sample" / "models")
    shutil.copytree(SAMPLE / "storefront", tmp_path / "sample" / "storefront")
    for name in ("kcl.mod", "clusters.yaml"):
        shutil.copy(SAMPLE / name, tmp_path / "sample" / name)
    wait_until_settled()  # the processes that compile look at the clock of this machine
    batch = prepare(Wanted(discover(tmp_path / "sample"), CompileInputs(), tmp_path / "specs"))
    assert all(each.failure is None for each in batch.run(in_processes(1)))
    assert list(store.glob("parsed-*.entry")) and _results(store) == []
