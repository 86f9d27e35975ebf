"""Compiling: what somebody waits for who edits, and what a whole repository costs. Ours and the official compiler's.

The official compiler rejects Konfig as of 2023: it gets a copy that `wb migrate` has brought to today's language, made
for the run in a temporary folder. Both sides are given the same copy, the same options and edits of the same size, and
work from text to YAML. That both come to the same is a test of its own (tests/conformance).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcl import api
from kcl.loader import load_settings, merge_settings
from kcl.source import OsFileSystem
from tests.benchmarks import programs
from tests.benchmarks.measuring import Case, Group, Variant
from tests.kcl.conformance import FOLDER
from workbench.project import discover

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
ONE = "appops/nginx-example/dev"
SHARED = "base/pkg/kusion_models/kube/frontend/server.k"
SETTINGS = ("kcl.yaml", "ci-test/settings.yaml")


@dataclass(frozen=True)
class Repository:
    """`stacks` are folders; `settings` those of their files that are read."""

    root: Path
    stacks: tuple[Path, ...]
    settings: tuple[str, ...]

    def ours(self, stack: Path, cache: api.ParseCache | None = None, overlay: dict[str, str] | None = None) -> str:
        files = api.OverlayFileSystem(api.OsFileSystem(), overlay) if overlay else None
        return api.run(work_dir=stack, settings=self.settings, cache=cache, file_system=files).yaml()

    def arguments(self, stack: Path) -> dict[str, Any]:
        """What the official compiler has to be told, in a form that another process can be given as well."""
        merged = merge_settings(load_settings(str(stack / name), OsFileSystem()) for name in self.settings)
        return {
            "work_dir": str(stack),
            "k_filename_list": [str(stack / name.replace("${KCL_MOD}", str(self.root))) for name in merged.files],
            "args": {name: json.dumps(value) for name, value in merged.option_values().items()},
        }

    def peers(self, stack: Path) -> str:
        return official(self.arguments(stack))


def official(arguments: dict[str, Any]) -> str:
    from kcl_lib import api as peer

    told = dict(arguments)
    args = [peer.Argument(name=name, value=value) for name, value in told.pop("args", {}).items()]
    result = peer.API().exec_program(peer.ExecProgramArgs(**told, args=args))
    if result.err_message:
        raise RuntimeError(result.err_message)
    text: str = result.yaml_result
    return text


def konfig_2023(folder: Path) -> Repository | None:
    """Makes the migrated copy in `folder`; None where the real one is not there."""
    source = FOLDER / "konfig-2023"
    if not source.is_dir():
        return None
    root = folder / "konfig"
    shutil.copytree(source, root)
    subprocess.run(
        [sys.executable, "-m", "workbench", "-w", str(root), "migrate", "--write"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "WB_STATE_DIR": str(folder / "state")},
    )
    stacks = tuple(sorted(each.parent for each in root.rglob("kcl.yaml")))
    return Repository(root, stacks, SETTINGS)


def sample(folder: Path) -> Repository:
    root = folder / "sample"
    shutil.copytree(SAMPLE, root)
    stacks = [each.directory for each in discover(root).stacks() if not each.name.startswith("gateway/")]
    return Repository(root, tuple(stacks), ("kcl.yaml",))  # the gateway calls a plugin, which kcl-lib has not got


def cases(folder: Path) -> Iterator[Case | Group]:
    repositories = {"konfig-2023": konfig_2023(folder), "sample-konfig": sample(folder)}
    for name, each in repositories.items():
        if each is None:
            sys.stderr.write(f"{name} is not there: its rows are left out\n")
            continue
        one = each.root / (ONE if name == "konfig-2023" else "storefront/checkout/prod")
        shared = each.root / (SHARED if name == "konfig-2023" else "models/frontend/server.k")
        yield Case(f"what-if in one stack of {name}, resident", 20, *_what_if(each, one))
        yield Case(f"one stack of {name}, fresh process, warm cache", 5, *_fresh(each, one, folder / "cache"))
        yield _all_stacks(name, each, shared)
    yield Case("evaluation-bound: 5,000 instances", 10, *_text(programs.EVALUATION))
    yield Case("a generated file of 100,000 lines", 1, *_text(programs.generated(100_000)))


def _what_if(repository: Repository, stack: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """One value in the stack's main.k, another one every time."""
    main, numbers = stack / "main.k", itertools.count()
    text, cache = main.read_text(), api.ParseCache()
    repository.ours(stack, cache)

    def edited() -> str:
        return f"{text}\n_measured = {next(numbers)}\n"

    def ours() -> None:
        result = api.run(
            work_dir=stack,
            settings=repository.settings,
            cache=cache,
            file_system=api.OverlayFileSystem(api.OsFileSystem(), {str(main): edited()}),
        )
        assert result.documents and result.provenance is not None

    def peers() -> None:
        main.write_text(edited())
        try:
            repository.peers(stack)
        finally:
            main.write_text(text)

    return ours, peers


def _fresh(repository: Repository, stack: Path, kept: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """A process from start to end. The cache on disk is warm: the stack was compiled before by another process."""
    settings = [part for name in repository.settings for part in ("-Y", name)]
    ours = [sys.executable, "-m", "kcl", "run", *settings]
    script = "import sys, json; from tests.benchmarks.peer import run; run(json.loads(sys.argv[1]))"
    theirs = [sys.executable, "-c", script, json.dumps(repository.arguments(stack))]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "KCL_RUN_CACHE": str(kept)}

    def runs(command: list[str]) -> Callable[[], object]:
        return lambda: subprocess.run(command, cwd=stack, env=environment, check=True, stdout=subprocess.DEVNULL)

    return runs(ours), runs(theirs)


def _all_stacks(name: str, repository: Repository, shared: Path) -> Group:
    """All stacks in one process: nothing kept, and resident after an edit in a shared model."""
    stacks, numbers = repository.stacks, itertools.count()
    text, resident = shared.read_text(), api.ParseCache()

    def cold() -> None:
        cache = api.ParseCache()
        for each in stacks:
            repository.ours(each, cache)

    def edited() -> None:
        overlay = {str(shared): f"{text}\n_measured = {next(numbers)}\n"}
        for each in stacks:
            repository.ours(each, resident, overlay)

    def again() -> None:
        for each in stacks:
            repository.ours(each, resident)

    return Group(
        (
            Variant(f"all {len(stacks)} stacks of {name}, one process, cold", 1, cold),
            Variant(f"all {len(stacks)} stacks of {name}, one process, all kept", 10, again),
            Variant(f"all {len(stacks)} stacks of {name}, shared model edited, resident", 5, edited),
        ),
        lambda: [repository.peers(each) for each in stacks],
    )


def _text(text: str) -> tuple[Callable[[], object], Callable[[], object]]:
    told = {"work_dir": "/", "k_filename_list": ["main.k"], "k_code_list": [text]}
    return (
        lambda: api.run(["main.k"], work_dir="/", texts={"main.k": text}).yaml(),
        lambda: official(told),
    )
