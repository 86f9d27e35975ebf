"""What `make check` runs: nothing that a change may break is forgotten, and what does not fit is named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.affected import __main__ as running
from tests.affected import reach, seconds
from tests.affected.reach import Module, Reach
from tests.affected.selection import Selection, is_test_file, select

ROOT = Path(__file__).parents[2]
EVERYTHING = float("inf")


@pytest.fixture(scope="module")
def known() -> Reach:
    return reach.read(ROOT)


def _ran(known: Reach, *changed: str, budget: float = EVERYTHING) -> Selection:
    return select(changed, known, defaultdict(lambda: 1.0), budget)


def _tests(known: Reach) -> set[str]:
    return {module.path for module in known.modules.values() if is_test_file(module.path)}


def test_every_test_file_is_known_and_imports_what_it_imports(known: Reach) -> None:
    """A folder of tests without an `__init__.py` would be no package, and its imports unseen."""
    folders = {file.parent for file in (ROOT / "tests").rglob("test_*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
    assert _tests(known) == {
        file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("*.py") if file.name.startswith("test_")
    }


_LOADED = """
import importlib, json, sys
sys.path.insert(0, "")
importlib.import_module(sys.argv[1])
ours = ("kcl.", "runtimes.", "workbench.", "tests.")
print(json.dumps(sorted(name for name in sys.modules if name.startswith(ours))))
"""


@pytest.mark.parametrize(
    "test",
    ["tests.kcl.stdlib.test_catch", "tests.workbench.notebook.test_columns", "tests.attacks.test_clusters"],
)
def test_a_change_of_any_module_that_a_test_loads_reaches_it(known: Reach, test: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, test], capture_output=True, text=True, cwd=ROOT, check=True, timeout=300
    )
    loaded = [name for name in json.loads(done.stdout) if name in known.modules]
    assert test in loaded
    assert len(loaded) > 10
    path = known.modules[test].path
    unreached = [name for name in loaded if path not in _all(_ran(known, known.modules[name].path))]
    assert unreached == []


def _all(selection: Selection) -> set[str]:
    return {*selection.near, *selection.far, *selection.left}


def test_the_tests_of_the_changed_package_run_whatever_they_take(known: Reach) -> None:
    ran = _ran(known, "kcl/syntax/nodes.py", budget=0)
    assert {path for path in _tests(known) if path.startswith("tests/kcl/syntax/")} == set(ran.near)
    assert ran.far == ()
    assert "tests/kcl/api/test_run.py" in ran.left


def test_a_module_with_a_folder_of_its_own_runs_that_folder(known: Reach) -> None:
    assert (
        "tests/runtimes/sandbox/apply/test_fieldset.py" in _ran(known, "runtimes/sandbox/apply/x.json", budget=0).near
    )


def test_a_changed_test_runs_and_nothing_else(known: Reach) -> None:
    assert _ran(known, "tests/kcl/syntax/test_grammar.py") == Selection(("tests/kcl/syntax/test_grammar.py",), (), ())


def test_a_test_that_starts_the_program_in_a_process_of_its_own_is_reached(known: Reach) -> None:
    for path in ("kcl/semantic/statements.py", "kcl/stdlib/regex.py", "kcl/plugins/worker.py"):
        assert (ROOT / path).is_file()
        assert "tests/kcl/api/test_command_line.py" in _all(_ran(known, path)), path
    assert "tests/scenarios/test_headless_demo.py" in _all(_ran(known, "workbench/cli/main.py"))


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("tests/conformance/kcl_suite_known_failures.txt", "tests/conformance/test_kcl_suite.py"),
        ("runtimes/sandbox/schema/definitions.json.gz", "tests/runtimes/sandbox/apply/test_typed.py"),
        ("sample-konfig/models/frontend.k", "tests/differential/test_sample_konfig.py"),
        ("docs/cli.md", "tests/workbench/test_docs.py"),
        ("README.md", "tests/workbench/test_docs.py"),
        ("notebooks/WhatIf.ipynb", "tests/workbench/notebook/test_notebooks.py"),
        (".ci/locked/dev.txt", "tests/architecture/test_locked.py"),
        ("tests/workbench/tui/__snapshots__/test_screens/gone.raw", "tests/workbench/tui/test_keys.py"),
        ("kcl/api/gone.py", "tests/kcl/api/test_run.py"),
        ("tests/attacks/conftest.py", "tests/attacks/test_untrusted.py"),
        ("tests/conftest.py", "tests/kcl/source/test_source_files.py"),
        ("kcl/__init__.py", "tests/workbench/engine/test_execute.py"),
        ("pyproject.toml", "tests/runtimes/base/test_templates.py"),
    ],
)
def test_data_settings_and_what_is_gone_reach_those_that_read_them(known: Reach, changed: str, test: str) -> None:
    assert (ROOT / test).is_file()
    assert test in _all(_ran(known, changed))


def test_what_is_nearer_runs_first_and_the_rest_is_named() -> None:
    modules = {
        "kcl.base": Module("kcl/base.py", ""),
        "kcl.face": Module("kcl/face.py", ""),
        "tests.one.test_base": Module("tests/one/test_base.py", ""),
        "tests.one.test_slow_base": Module("tests/one/test_slow_base.py", ""),
        "tests.two.test_face": Module("tests/two/test_face.py", ""),
        "tests.two.test_other": Module("tests/two/test_other.py", ""),
    }
    resting_on = {
        "kcl.base": frozenset({"kcl.face", "tests.one.test_base", "tests.one.test_slow_base"}),
        "kcl.face": frozenset({"tests.two.test_face"}),
    }
    costs = {module.path: 1.0 for module in modules.values()} | {"tests/one/test_slow_base.py": 5.0}

    def ran(budget: float) -> Selection:
        return select(["kcl/base.py"], Reach(modules, resting_on), costs, budget)

    order = ("tests/one/test_base.py", "tests/one/test_slow_base.py", "tests/two/test_face.py")
    assert [ran(budget) for budget in (0, 1, 6.5, 7)] == [Selection((), order[:n], order[n:]) for n in (0, 1, 2, 3)]


def test_what_a_file_takes_is_what_its_tests_took_and_a_guess_at_first(tmp_path: Path) -> None:
    (tmp_path / "test_new.py").write_text("def test_a():\n    pass\n\nasync def test_b():\n    pass\n")
    (tmp_path / "test_old.py").write_text("def test_a():\n    pass\n")
    assert seconds.by_file(tmp_path, ["test_new.py"]) == {"test_new.py": 0.4}
    kept = tmp_path / ".pytest_cache/v/konfig_workbench/seconds"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"test_old.py::test_a[1]": 1.5, "test_old.py::test_a[2]": 2.0}))
    assert seconds.by_file(tmp_path, ["test_new.py", "test_old.py"]) == {"test_new.py": 0.4, "test_old.py": 3.5}
    kept.write_text("{")
    assert seconds.by_file(tmp_path, ["test_old.py"]) == {"test_old.py": 0.2}


def test_pytest_keeps_what_each_test_took(tmp_path: Path) -> None:
    """All but those marked slow, which `make check` never runs; those that did not run this time stay as they were."""
    (tmp_path / "conftest.py").write_text(
        "from tests.affected.seconds import Seconds\n"
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'slow: slow')\n"
        "    config.pluginmanager.register(Seconds())\n"
    )
    (tmp_path / "test_it.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): pass\n@pytest.mark.slow\ndef test_c(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "-c", "/dev/null", str(tmp_path)]
    for only in ([], ["-k", "test_a"]):
        subprocess.run([*command, *only], cwd=ROOT, check=True, capture_output=True, timeout=120)
        kept = json.loads((tmp_path / ".pytest_cache/v/konfig_workbench/seconds").read_text())
        assert set(kept) == {"test_it.py::test_a", "test_it.py::test_b"}


def _git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def test_changed_is_what_was_committed_on_the_branch_or_not_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _git(tmp_path, "init", "-q", "-b", "main")
    for name in ("kept", "renamed", "edited"):
        (tmp_path / name).write_text(name * 100)
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "first")
    _git(tmp_path, "checkout", "-qb", "branch")
    _git(tmp_path, "mv", "renamed", "moved to")
    _git(tmp_path, "commit", "-qm", "second")
    (tmp_path / "edited").write_text("other")
    (tmp_path / "new é").write_text("new")
    monkeypatch.setattr(running, "ROOT", tmp_path)
    monkeypatch.delenv("BASE", raising=False)
    assert set(running.changed_files(running.base_commit())) == {"renamed", "moved to", "edited", "new é"}
    monkeypatch.setenv("BASE", "HEAD")
    assert set(running.changed_files(running.base_commit())) == {"edited", "new é"}
