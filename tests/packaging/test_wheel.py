"""The wheel holds everything the demo needs: installed by itself, `wb demo` runs in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.scenarios.test_demo import assert_goes_from_list_to_ready

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def _run(*command: str | Path, cwd: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "WB_"))}
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={**kept, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what is in version control, or would be: building leaves traces beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    listed = _run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q")
    _run(*pip, "-w", folder / "dist", source, cwd=folder)
    (built,) = (folder / "dist").glob("konfig_workbench-*.whl")
    return built


def test_wheel_holds_every_module_and_all_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = _run("git", "ls-files", "-z", "kcl", "runtimes", "workbench", cwd=ROOT).split("\0")
    expected = {each for each in sources if each and (ROOT / each).is_file()}
    assert {"kcl/syntax/grammar.lark", "workbench/cli/main.py"} <= expected
    data = {each for each in expected if not each.endswith(".py")}
    assert {".lark", ".xz", ".gz", ".yaml"} <= {Path(each).suffix for each in data}
    assert expected - names == set()
    sample = _run("git", "ls-files", "-z", "sample-konfig", cwd=ROOT).split("\0")
    assert {f"workbench/{each}" for each in sample if each} - names == set()
    assert not [each for each in names if each.startswith(("tests/", "build/")) or "__pycache__" in each]


def test_installed_wheel_runs_the_demo_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    (packages,) = place.glob("lib/python*/site-packages")
    # The dependencies are those of the environment that runs this test. Its own .pth files are not read from there,
    # so the editable installation of the sources stays out of reach.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q")
    _run(*pip, "--ignore-installed", wheel, cwd=tmp_path)
    where = _run(python, "-c", "import workbench; print(workbench.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(place)

    empty = tmp_path / "empty"
    empty.mkdir()
    text = _run(place / "bin" / "wb", "demo", cwd=empty, HOME=str(tmp_path / "home"), TMPDIR=str(tmp_path))
    assert_goes_from_list_to_ready(text)
    assert not list(tmp_path.glob("konfig-practice-*"))
    assert _run(place / "bin" / "workbench", "--version", cwd=empty) == _run(
        place / "bin" / "wb", "--version", cwd=empty
    )
    assert "E2G22" in _run(place / "bin" / "kcl", "explain", "E2G22", cwd=empty)
    # the sample is left for people to play with, complete and theirs to edit
    assert [each.name for each in empty.iterdir()] == ["sample-konfig"]
    listed = _run(place / "bin" / "wb", "ls", "-o", "name", cwd=empty / "sample-konfig")
    assert "checkout/prod" in listed
    assert os.access(empty / "sample-konfig" / "clusters.yaml", os.W_OK)
