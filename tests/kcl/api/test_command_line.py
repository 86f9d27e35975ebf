"""`python -m kcl run`."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kcl.cli import main
from tests.kcl.conformance import ROOT


def _main(folder: Path, *argv: str, stdin: str = "") -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    status = main(argv, cwd=folder, stdin=io.StringIO(stdin), stdout=stdout, stderr=stderr)
    return status, stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.k").write_text('b = option("key")\na = [2, None]\n_h = 1\n')
    return tmp_path


def test_run_prints_yaml(folder: Path) -> None:
    assert _main(folder, "run", "main.k", "-D", "key=v") == (0, "b: v\na:\n- 2\n- null\n", "")


def test_flags(folder: Path) -> None:
    assert _main(folder, "run", "main.k", "-n", "-k")[1] == "a:\n- 2\n"
    assert "_h: 1" in _main(folder, "run", "main.k", "-H")[1]
    assert _main(folder, "run", "main.k", "-S", "a[0]")[1] == "2\n"
    assert json.loads(_main(folder, "run", "main.k", "--format", "json")[1]) == {"b": None, "a": [2, None]}


def test_settings_files_and_arguments_over_them(folder: Path) -> None:
    (folder / "one.yaml").write_text("kcl_options:\n- {key: key, value: 1}\n")
    (folder / "two.yaml").write_text("kcl_cli_configs:\n  disable_none: true\n")
    assert _main(folder, "run", "main.k", "-Y", "one.yaml", "two.yaml")[1] == "b: 1\na:\n- 2\n"
    assert _main(folder, "run", "main.k", "-Y", "one.yaml", "-D", "key=3")[1].startswith("b: 3\n")


def test_output_file(folder: Path) -> None:
    assert _main(folder, "run", "main.k", "-n", "-o", "out.yaml") == (0, "", "")
    assert (folder / "out.yaml").read_text() == "a:\n- 2\n"
    status, _, stderr = _main(folder, "run", "main.k", "-o", "none/out.yaml")
    assert status == 1
    assert "cannot write" in stderr


def test_standard_input(folder: Path) -> None:
    assert _main(folder, "run", "-", stdin="x = 1 + 1\n") == (0, "x: 2\n", "")


def test_program_that_is_wrong(folder: Path) -> None:
    (folder / "main.k").write_text("a = [][0]\n")
    status, stdout, stderr = _main(folder, "run", "main.k")
    assert (status, stdout) == (1, "")
    assert stderr == (
        f"error[E3M38]: EvaluationError\n --> {folder}/main.k:1:1\n  |\n1 | a = [][0]\n"
        "  |  list index out of range: 0\n  |\n"
    )


@pytest.mark.parametrize(
    "argv", [[], ["nope"], ["run", "--nope"], ["run", "main.k", "-E", "x"], ["run", "main.k", "-f", "toml"]]
)
def test_command_line_that_makes_no_sense(argv: list[str], folder: Path) -> None:
    status, stdout, stderr = _main(folder, *argv)
    assert (status, stdout) == (2, "")
    assert stderr


def test_process(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kcl", "run", str(folder / "main.k"), "-D", "key=é"],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == "b: é\na:\n- 2\n- null\n"


def test_other_errors_of_an_override_are_shown_at_the_new_text(folder: Path) -> None:
    (folder / "main.k").write_text("schema S:\n    n: int\ns: S {\n    n = 1\n}\n")
    status, _, stderr = _main(folder, "run", "main.k", "-O", "s.n='a'")
    assert status == 1
    assert "n = 'a'" in stderr
