"""The command line as a whole."""

import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kcl.cli import _ELSEWHERE, main


def _kcl(folder: Path, *argv: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    status = main(argv, cwd=folder, stdin=io.StringIO(), stdout=stdout, stderr=stderr, environment=environment)
    return status, stdout.getvalue(), stderr.getvalue()


def test_calls_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    """Each of many threads runs its own program, in its own folder, with its own streams."""

    def one(number: int) -> tuple[int, str, str]:
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "main.k").write_text(
            "import file\nprint(option('n'))\na = option('n') * 2\nb = [x for x in range(200)][-1]\n"
            "c = file.read_env('N')\n"
            if number % 3
            else "a = [][0]\n"
        )
        return _kcl(folder, "run", "main.k", "-D", f"n={number}", environment={"N": f"e{number}"})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(48)))
    for number, (status, stdout, stderr) in enumerate(answers):
        if number % 3:
            assert (status, stdout, stderr) == (0, f"{number}\na: {number * 2}\nb: 199\nc: e{number}\n", "")
        else:
            assert (status, stdout) == (1, "")
            assert f"--> {tmp_path}/{number}/main.k:1" in stderr


def test_file_without_a_command_is_run(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("a = 1\n")
    assert _kcl(tmp_path, "main.k") == (0, "a: 1\n", "")


_RUNS = """
import io, sys
from kcl.cli import main
written = io.StringIO()
assert main(["run", "main.k"], cwd=sys.argv[1], stdin=io.StringIO(), stdout=written, stderr=written) == 0
print(written.getvalue(), sorted(set(sys.argv[2:]) & set(sys.modules)))
"""


def test_a_run_loads_nothing_that_few_programs_need(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text('import crypto\na = crypto.sha256("x")[:4]\n')
    unneeded = ("shutil", "bz2", "lzma", "pickle", "datetime", "_hashlib", "pathlib", "yaml", "tomllib", "lark")
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}{_RUNS}", str(tmp_path), *unneeded]
    ended = subprocess.run(
        command,
        env={**os.environ, "KCL_RUN_CACHE": str(tmp_path / "kept")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("a: '2d71'\n []\n", "")


@pytest.mark.parametrize("argv", [["--help"], ["run", "--help"], ["mod", "--help"], ["mod", "add", "--help"]])
def test_help_goes_to_the_given_stream(argv: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, stdout, stderr = _kcl(tmp_path, *argv)
    assert (status, stderr) == (0, "")
    assert stdout.startswith("usage: kcl")
    assert capfd.readouterr() == ("", "")


def test_command_with_a_module_of_its_own(tmp_path: Path) -> None:
    assert _kcl(tmp_path, "mod", "init", "p")[0] == 0
    assert _kcl(tmp_path / "p", "run") == (0, "The_first_kcl_program: Hello World!\n", "")


@pytest.mark.parametrize("name", _ELSEWHERE)
def test_command_tells_how_it_is_called(name: str, tmp_path: Path) -> None:
    status, told, complaint = _kcl(tmp_path, name, "--help")
    assert (status, complaint) == (0, "") and f"kcl {name}" in told


def test_who_stops_reading_gets_no_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m kcl explain | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == "" and done.stdout.strip() in ("0", "141")


@pytest.mark.parametrize(
    ("to", "status", "said"),
    [
        ("| true", "141", ""),
        (">&-", "1", "error: the output could not be written: Bad file descriptor\n"),
        ("2>&- > seen", "0", ""),
    ],
)
def test_output_that_goes_nowhere_gets_no_traceback(tmp_path: Path, to: str, status: str, said: str) -> None:
    """A run, and the same from what was kept of it."""
    (tmp_path / "main.k").write_text("a = 'x' * 20000\n")
    again = f"{sys.executable} -m kcl run main.k {to}; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", f"{again}; {again}"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == ([status] * 2, said * 2)


# ---------------------------------------------------------------- kcl.mod says what is run


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "kcl.mod").write_text(
        '[profile]\nentries = ["a.k", "s.yaml"]\narguments = ["x=1"]\noverrides = ["z=5"]\nsort_keys = true\n'
    )
    (folder / "a.k").write_text("z = 0\ny = option('y')\nx = option('x')\n")
    (folder / "s.yaml").write_text("kcl_options:\n- key: y\n  value: 2\n")
    return folder


def test_profile_says_what_is_run_and_how(package: Path) -> None:
    assert _kcl(package, "run") == (0, "x: 1\n'y': 2\nz: 5\n", "")
    assert _kcl(package.parent, "run", "p") == (0, "x: 1\n'y': 2\nz: 5\n", "")


def test_flags_win_over_the_profile(package: Path) -> None:
    assert _kcl(package, "run", "-D", "x=3", "-O", "z=9")[1] == "x: 3\n'y': 2\nz: 9\n"


def test_named_files_leave_the_profile_alone(package: Path) -> None:
    assert _kcl(package, "run", "a.k")[1] == "z: 0\n'y': null\nx: null\n"


# ---------------------------------------------------------------- selectors


@pytest.mark.parametrize(
    ("selector", "printed"),
    [
        ("a.b", "c: 1\n"),
        ("a.l[0].x", "1\n"),
        ("a.l.0.x", "1\n"),
        ("a.l.[-1]", "x: 2\n"),
        ("a['d.e']", "3\n"),
        ('a."d.e"', "3\n"),
        (":a.b.c", "1\n"),
    ],
)
def test_selector(selector: str, printed: str, tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text('a = {b.c = 1, l = [{x = 1}, {x = 2}], "d.e" = 3}\n')
    assert _kcl(tmp_path, "run", "main.k", "-S", selector) == (0, printed, "")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a.l.x", "list variable can't be used with dict selector expression"),
        ("a[0]", "dict variable can't be used with list selector expression"),
        ("a.z", "nothing at 'z'"),
    ],
)
def test_selector_that_leads_nowhere(selector: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("a = {b.c = 1, l = [{x = 1}]}\n")
    status, stdout, stderr = _kcl(tmp_path, "run", "main.k", "-S", selector)
    assert (status, stdout) == (1, "")
    assert message in stderr


# ---------------------------------------------------------------- error formats


def test_formats_of_errors(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("schema S:\n    a: int\ns = S {\n    a = 'x'\n}\n")
    path = tmp_path / "main.k"
    short = _kcl(tmp_path, "run", "main.k", "--error_format", "short")[2]
    assert short == f"{path}:4:5: error[E2G22]: expected int, got str(x)\n"
    (message,) = json.loads(_kcl(tmp_path, "run", "main.k", "--error_format", "arcanist")[2])
    assert (message["path"], message["line"], message["char"], message["code"]) == (str(path), 4, 5, "E2G22")
    sarif = json.loads(_kcl(tmp_path, "run", "main.k", "--error_format", "sarif")[2])
    (result,) = sarif["runs"][0]["results"]
    assert result["ruleId"] == "E2G22"
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": path.as_uri()}, "region": {"startLine": 4, "startColumn": 5}}
    assert _kcl(tmp_path, "run", "main.k")[2].startswith("error[E2G22]: TypeError\n --> ")


def test_verbose_names_the_files(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("import lib\na = lib.x\n")
    (tmp_path / "lib.k").write_text("x = 1\n")
    assert _kcl(tmp_path, "run", "main.k", "-v")[2] == f"read {tmp_path}/lib.k\nread {tmp_path}/main.k\n"


def test_vendored_packages_only(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text('[dependencies]\nlib = "1.0"\n')
    (tmp_path / "main.k").write_text("import lib\na = lib.x\n")
    (tmp_path / "cache/lib_1.0").mkdir(parents=True)
    (tmp_path / "cache/lib_1.0/l.k").write_text("x = 1\n")
    environment = {"KCL_PKG_PATH": str(tmp_path / "cache")}
    assert _kcl(tmp_path, "run", "main.k", environment=environment)[:2] == (0, "a: 1\n")
    status, _, stderr = _kcl(tmp_path, "run", "main.k", "--vendor", environment=environment)
    assert status == 1
    assert "vendor/lib_1.0" in stderr


def test_broken_kcl_mod_is_shown_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text("[package]\nname = 'a'\n[dependencies]\nx = 1\n")
    (tmp_path / "main.k").write_text("a = 1\n")
    status, _, stderr = _kcl(tmp_path, "run", "main.k")
    assert status == 1
    assert f"--> {tmp_path}/kcl.mod:4:1" in stderr
    assert "4 | x = 1" in stderr


def test_broken_kcl_mod_of_a_dependency_is_shown_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/kcl.mod").write_text("[package\n")
    (tmp_path / "kcl.mod").write_text("[dependencies]\nlib = { path = 'lib' }\n")
    (tmp_path / "main.k").write_text("a = 1\n")
    assert f"--> {tmp_path}/lib/kcl.mod:1:9" in _kcl(tmp_path, "run", "main.k")[2]
