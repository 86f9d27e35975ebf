"""`kcl cover`: which lines of models no program reaches, and no report without a program."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kcl.cli import main

_FILES = {
    "kcl.mod": '[package]\nname = "p"\n',
    "models/size.k": "size = lambda n: int -> str {\n    'large' if n > 9 else 'small'\n}\n",
    "models/never.k": "schema Never:\n    a: int = 1\n",
    "stacks/one/kcl.yaml": "kcl_cli_configs:\n  file:\n    - main.k\n",
    "stacks/one/main.k": "import models.size\nx = size.size(1)\n",
    "stacks/two/kcl.yaml": "kcl_cli_configs:\n  file:\n    - main.k\n",
    "stacks/two/main.k": "import models.size\nx = size.size(10)\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in _FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def _cover(folder: Path, *argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = main(["cover", *argv], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err, environment={})
    return status, out.getvalue(), err.getvalue()


def _row(out: str, name: str) -> list[str]:
    return next(line for line in out.splitlines() if line.startswith(name)).split()


def test_what_several_programs_reach_together(folder: Path) -> None:
    status, out, err = _cover(folder, "stacks/...", "--of", "models")
    assert (status, err) == (0, "")
    assert out.startswith("2 programs, 0 failed\n")
    assert _row(out, "models/size.k")[1:6] == ["2", "0", "2", "0", "100.0%"]
    assert _row(out, "models/never.k")[1:] == ["2", "2", "0", "0", "0.0%", "1-2"]


def test_what_one_program_reaches(folder: Path) -> None:
    _, out, _ = _cover(folder, "stacks/one", "--lcov", "one.info", "--coverage-xml", "one.xml")
    assert _row(out, "models/size.k")[-1] == "2->true"
    assert "BRDA:2,0,0,0\nBRDA:2,0,1,1\n" in (folder / "one.info").read_text()
    lines = ElementTree.parse(folder / "one.xml").getroot().iter("line")
    assert "50% (1/2)" in {each.get("condition-coverage") for each in lines}


def test_settings_of_each_program_that_has_them(folder: Path) -> None:
    (folder / "stacks/one/main.k").write_text("import models.size\nx = size.size(option('n'))\n")
    (folder / "stacks/one/ci").mkdir()
    (folder / "stacks/one/ci/settings.yaml").write_text("kcl_options:\n  - key: n\n    value: 11\n")
    status, out, err = _cover(folder, "stacks/...", "-Y", "ci/settings.yaml", "--of", "models/size.k")
    assert (status, err) == (0, "")
    assert _row(out, "models/size.k")[-1] == "2->false"


def test_a_program_that_fails_is_named_and_the_others_count(folder: Path) -> None:
    (folder / "stacks/one/main.k").write_text("x: int = 'a'\n")
    status, out, err = _cover(folder, "stacks/...", "--of", "models/size.k")
    assert status == 1
    assert "stacks/one: failed" in err
    assert "2 programs, 1 failed" in out
    assert _row(out, "models/size.k")[-1] == "2->false"


def test_the_deadline_is_that_of_each_program(folder: Path) -> None:
    """One that goes on without end is ended and named, and the others count."""
    (folder / "stacks/one/main.k").write_text("x = sum([a * b for a in range(9999) for b in range(9999)])\n")
    status, out, err = _cover(folder, "stacks/...", "--deadline", "1", "--of", "models/size.k", "-j", "2")
    assert status == 1
    assert "stacks/one: failed\nerror: the evaluation took longer than its deadline of 1 s" in err
    assert "2 programs, 1 failed" in out
    assert _row(out, "models/size.k")[-1] == "2->false"


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        (["stacks/one", "-j", "0"], 2, "from 1 to 64"),
        (["stacks/one", "--deadline", "soon"], 2, "--deadline"),
        (["models/..."], 5, "no folder below has a kcl.yaml"),
        (["none"], 2, "there is no such folder"),
        ([], 2, "usage: kcl cover"),
        (["stacks/one", "--of", "none.k"], 1, "cannot read"),
        (["stacks/one", "--of", "stacks/empty"], 1, "there are no KCL files below it"),
        (["stacks/one", "--fail-under", "100"], 1, "less than 100%"),
        (["stacks/one", "--fail-under", "nan"], 1, "less than nan%"),
    ],
)
def test_nothing_measured_is_no_success(argv: list[str], status: int, said: str, folder: Path) -> None:
    (folder / "stacks/empty").mkdir()
    found, _, err = _cover(folder, *argv)
    assert found == status
    assert said in err


def _with_tests(folder: Path) -> None:
    (folder / "models/never_test.k").write_text(
        "test_never = lambda {\n    assert Never {}.a == 1\n}\n"
        "test_given = lambda {\n    assert option('n') == 3, 'is not three'\n}\n"
    )


def test_what_tests_reach_counts_beside_what_programs_reach(folder: Path) -> None:
    _with_tests(folder)
    argv = ("stacks/...", "--tests", "models/...", "-D", "n=3", "--of", "models", "--fail-under", "100")
    status, out, err = _cover(folder, *argv)
    assert (status, err) == (0, "")
    assert out.startswith("2 programs, 0 failed\n2 tests, 0 failed\n")
    assert _row(out, "models/never.k")[1:6] == ["2", "0", "0", "0", "100.0%"]
    assert _row(out, "models/size.k")[1:6] == ["2", "0", "2", "0", "100.0%"]


def test_a_test_that_fails_is_named_and_what_it_reached_counts(folder: Path) -> None:
    _with_tests(folder)
    (folder / "models/below").mkdir()
    (folder / "models/below/bad_test.k").write_text("test_bad = lambda {\n")
    status, out, err = _cover(folder, "stacks/...", "--tests", "models/...", "-D", "n=4", "--of", "models/never.k")
    assert status == 1
    assert "models/never_test.k: test_given: failed" in err
    assert "is not three" in err
    assert "models/below/bad_test.k: failed" in err
    assert "3 tests, 2 failed" in out
    assert _row(out, "models/never.k")[1:6] == ["2", "0", "0", "0", "100.0%"]


def test_tests_that_are_not_there_are_no_success(folder: Path) -> None:
    status, out, err = _cover(folder, "stacks/...", "--tests", "models/...")
    assert (status, out) == (5, "")
    assert "no tests in models/...: nothing was run" in err
    status, _, err = _cover(folder, "stacks/...", "--tests", "nowhere")
    assert status == 2
    assert "nowhere" in err
    status, _, err = _cover(folder, "stacks/...", "-D", "n")
    assert status == 2
