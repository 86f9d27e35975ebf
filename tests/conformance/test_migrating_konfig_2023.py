"""Konfig of July 2023, migrated: today's compilers, ours and the official one, make of it what was recorded then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kcl.api import KCL, KONFIG_2023, Dialect, KclError, ParseCache, RunResult, run
from kcl.loader import load_settings, load_yaml, merge_settings
from kcl.source import OsFileSystem
from kcl.tools.migrate import Subject, find, load_all
from tests.conformance.kcl_suite import same
from tests.kcl.conformance import FOLDER, corpus
from workbench.cli.main import main

_SETTINGS = ["kcl.yaml", "ci-test/settings.yaml"]
_KONFIG = FOLDER / "konfig-2023"
_STACKS = sorted(path.parent.relative_to(_KONFIG).as_posix() for path in _KONFIG.rglob("kcl.yaml")) or ["absent"]


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository after `wb migrate --write`."""
    root = tmp_path_factory.mktemp("migrated") / "konfig"
    shutil.copytree(corpus("konfig-2023"), root)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as end:
        patch.setenv("WB_STATE_DIR", str(root.parent / "state"))
        main(["-w", str(root), "migrate", "--write"])
    assert end.value.code == 0
    return root


@pytest.fixture(scope="module")
def caches() -> tuple[ParseCache, ParseCache]:
    return ParseCache(), ParseCache()


def _run(folder: Path, cache: ParseCache, dialect: Dialect | None = None) -> RunResult:
    return run(work_dir=folder, settings=_SETTINGS, cache=cache, dialect=dialect)


@pytest.mark.parametrize("stack", _STACKS)
def test_stack_is_what_it_was(stack: str, migrated: Path, caches: tuple[ParseCache, ParseCache]) -> None:
    before = _run(corpus("konfig-2023") / stack, caches[0])
    after = _run(migrated / stack, caches[1])
    assert (before.dialect, after.dialect) == (KONFIG_2023, KCL)
    assert same(list(after.documents), list(before.documents))
    assert after.manifest.omit_empty_lists


@pytest.mark.parametrize("stack", _STACKS)
def test_official_compiler_agrees(stack: str, migrated: Path, caches: tuple[ParseCache, ParseCache]) -> None:
    official = pytest.importorskip("kcl_lib.api", reason="kcl-lib is not installed")
    folder = migrated / stack
    settings = merge_settings(load_settings(str(folder / name), OsFileSystem()) for name in _SETTINGS)
    files = [name.replace("${KCL_MOD}", str(migrated)) for name in settings.files]
    arguments = official.ExecProgramArgs(work_dir=str(folder), k_filename_list=[str(folder / name) for name in files])
    for name, value in settings.option_values().items():
        arguments.args.append(official.Argument(name=name, value=json.dumps(value)))
    result = official.API().exec_program(arguments)
    assert not result.err_message
    found: list[Any] = [load_yaml(text) for text in f"\n{result.yaml_result}".split("\n---\n")]
    assert same([each for each in found if each is not None], list(_run(folder, caches[1]).documents))


def test_nothing_legacy_is_left(migrated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["-w", str(migrated), "migrate", "--check", "--dialect", "konfig-2023"])
    assert end.value.code == 0, capsys.readouterr().out


def test_every_legacy_construct_known_of_it_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """What a reading of the repository against the official compiler's errors found, by construct and line."""
    root = corpus("konfig-2023")
    with pytest.raises(SystemExit) as end:
        main(["-w", str(root), "migrate", "--check"])
    assert end.value.code == 1
    text = capsys.readouterr().out
    found = _places(text, root)
    kube = "base/pkg/kusion_models/kube"
    for code, file, lines in [
        ("W2001", f"{kube}/metadata/metadata.k", [1, 2, 3]),
        ("W2001", f"{kube}/utils/application_builder.k", [9, 10, 11, 12, 20, 24, 28, 32]),
        ("W2001", f"{kube}/utils/metadata_builder.k", [5, 6]),
        ("W2001", f"{kube}/backend/server_backend.k", [47]),
        ("W2001", "base/pkg/kusion_prometheus/mixins/monitor_mixin.k", [16]),
        ("W2002", "base/pkg/kusion_clouds/aws/aws_db_instance.k", [6, 10, 18, 20, 26, 28, 44, 68, 80, 96]),
        ("W2002", "base/pkg/kusion_clouds/aws/aws_security_group.k", [12, 35, 54]),
        ("W2003", f"{kube}/backend/database_backend.k", [112]),
        ("W2004", f"{kube}/render/render.k", [130, 145, 147]),
        ("W2005", "base/pkg/kusion_models/commons/resource_builder.k", [28]),
        ("W2006", f"{kube}/backend/database_backend.k", [30, 31, 32]),
        ("W2007", "appops/wordpress/dev/main.k", [17]),
        ("W2007", "appops/wordpress/dev/platform.k", [26, 27]),
        ("W2008", "base/examples/kcl-vault-csi/base/base.k", [15, 18, 20]),
        ("W2008", "appops/clickhouse-operator/prod/main.k", [11]),
        ("W2010", "kcl.mod", [6]),
    ]:
        assert sorted({line for each, name, line in found if (each, name) == (code, file)}) == lines, (code, file)


def _places(text: str, root: Path) -> list[tuple[str, str, int]]:
    found, code = [], ""
    for line in text.splitlines():
        if line.startswith("warning["):
            code = line[len("warning[") : line.index("]")]
        elif line.lstrip().startswith("--> ") and code:
            path, number, _ = line.split("--> ")[1].rsplit(":", 2)
            found.append((code, Path(path).relative_to(root.resolve()).as_posix(), int(number)))
            code = ""
    return found


def test_programs_of_today_have_next_to_nothing_legacy() -> None:
    """The official suite's programs that have a result: what is legacy in some is a string or a partial instance."""
    root = corpus("kcl-grammar")
    found: dict[str, set[str]] = {}
    programs = sorted(path.parent for path in root.rglob("stdout.golden"))
    for folder in programs:
        if (folder / "settings.yaml").exists() or not (folder / "main.k").exists():
            continue
        try:
            loaded = list(load_all([Subject("main", folder, ("main.k",))], folder))
        except KclError:
            continue  # some print before they fail
        for lint in find(loaded, folder):
            found.setdefault(lint.diagnostic.code.number, set()).add(folder.relative_to(root).as_posix())
    assert len(programs) > 500
    assert set(found) <= {"W2007", "W2009"}, found
    assert sum(map(len, found.values())) <= 5
