"""The architecture holds: the import contracts of pyproject.toml, and a start that loads only what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

REPORT = """
import json, sys
from workbench.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    pass
heavy = ("textual", "kubernetes", "lark", "aiohttp", "pandas", "ipywidgets", "anywidget", "IPython")
print("\\n" + json.dumps([name for name in heavy if name in sys.modules]))
"""


def modules_loaded_by(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


def test_the_import_contracts_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("ls", "-w", "sample-konfig"), ("compile", "--help")],
    ids=lambda arguments: " ".join(arguments),
)
def test_starting_loads_neither_screens_nor_clients(arguments: tuple[str, ...]) -> None:
    assert modules_loaded_by(*arguments) == []


def test_compiling_loads_neither_screens_nor_clients_nor_the_grammar() -> None:
    assert modules_loaded_by("compile", "checkout/dev", "-w", "sample-konfig") == []


def test_importing_the_package_loads_nothing_before_it_is_asked_for() -> None:
    script = "import sys, workbench; print([name for name in sys.modules if name.startswith('workbench.')])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_nothing_names_a_place_on_one_machine() -> None:
    """What is shipped works anywhere: no home folders, no scratch folders of whoever wrote it."""
    suspects = ("/work/", "/root/", "/opt/cp")
    found = [
        f"{path.relative_to(ROOT)}: {suspect}"
        for folder in ("kcl", "runtimes", "workbench", "sample-konfig", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".k", ".yaml", ".tcss", ".toml"}
        for suspect in suspects
        if suspect in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert found == []
