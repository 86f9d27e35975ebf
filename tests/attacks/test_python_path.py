"""Python modules that lie in a checkout are not imported by what is run there."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from kcl.bounded.search_path import search_path

ROOT = Path(__file__).parents[2]
_NAMES = (
    "__future__", "argparse", "asyncio", "click", "collections", "contextlib", "dataclasses", "hashlib", "json",
    "marshal", "multiprocessing", "os", "pickle", "platform", "selectors", "signal", "site", "socket", "struct",
    "threading", "tomllib", "typing", "warnings", "yaml",
)  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Every module leaves a marker and ends the process that imports it."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in _NAMES:
        code = f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\nraise SystemExit(77)\n"
        (folder / f"{name}.py").write_text(code)
    (folder / "main.k").write_text("import json\na = json.encode({b = 1})\n")
    return folder


def _leave_what_python_takes(checkout: Path) -> None:
    """Removes those that Python itself imports from where `-m` is said, before it comes to any code of ours."""
    (checkout / "nothing.py").touch()
    ran = checkout.parent / "ran"
    while _run(checkout, "-m", "nothing").returncode:
        for name in ran.read_text().split():
            (checkout / f"{name}.py").unlink()
        ran.unlink()


def _run(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KCL_"))}
    environment |= {"KCL_RUN_CACHE": "off"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "kcl", "run", "main.k"),
        ("-m", "kcl", "explain", "E2G22"),
        ("-m", "workbench", "--version"),
        ("-P", "-m", "workbench", "sandbox", "--help"),
        ("-P", "-m", "runtimes.sandbox.cmdb", "--help"),
        ("-P", "-m", "kcl", "run", "main.k"),
    ],
    ids=" ".join,
)
def test_a_command_imports_nothing_from_where_it_runs(words: tuple[str, ...], checkout: Path) -> None:
    if words[0] == "-m":
        _leave_what_python_takes(checkout)
        assert {"argparse", "json", "threading", "typing"} <= {each.stem for each in checkout.glob("*.py")}
    done = _run(checkout, *words)
    assert not (checkout.parent / "ran").exists(), (checkout.parent / "ran").read_text()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words", [("kcl", "run", "main.k"), ("kcl", "explain", "E2G22"), ("wb", "--version")], ids=" ".join
)
def test_neither_does_the_program_that_was_installed(words: tuple[str, ...], checkout: Path) -> None:
    program = Path(sys.executable).parent / words[0]
    if not program.is_file():
        pytest.skip(f"{program} is not there: nothing was installed beside this Python")
    done = _run(checkout, str(program), *words[1:])
    assert not (checkout.parent / "ran").exists(), (checkout.parent / "ran").read_text()
    assert done.returncode == 0, done.stderr


def test_processes_that_share_the_work_import_nothing_from_where_it_runs(checkout: Path) -> None:
    """They are started with `-m`, which looks in the current folder first."""
    code = (
        f"import sys; sys.path[:] = [each for each in sys.path if each not in ('', {str(checkout)!r})]\n"
        "from kcl.bounded import Allowance\n"
        "from workbench.engine.evaluators import evaluators\n"
        "print(evaluators.call(Allowance(), str.upper, 'done'))\n"
    )
    (checkout.parent / "start.py").write_text(code)
    done = _run(checkout, str(checkout.parent / "start.py"))
    assert not (checkout.parent / "ran").exists(), (checkout.parent / "ran").read_text()
    assert (done.returncode, done.stdout) == (0, "DONE\n"), done.stderr


def test_a_plugin_s_process_does_not_search_the_current_folder(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    monkeypatch.setattr(sys, "path", ["", ".", str(checkout), *sys.path])
    assert str(checkout) not in search_path()
    assert str(ROOT) in search_path() or str(ROOT) not in sys.path


def test_python_started_by_the_product_never_searches_the_current_folder() -> None:
    """`-m` and `-c` put it first unless -P or -I stands before them."""
    sources = [each for name in ("kcl", "runtimes", "workbench") for each in (ROOT / name).rglob("*.py")]
    lines = [line for each in sources for line in each.read_text().splitlines() if "[sys.executable," in line]
    assert lines
    assert [each.strip() for each in lines if '"-P"' not in each and '"-I"' not in each] == []


def test_every_command_of_the_package_leads_to_a_function() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert {"kcl", "wb"} <= set(scripts)
    for place in scripts.values():
        module, _, name = place.partition(":")
        assert callable(getattr(import_module(module), name))
