"""`kcl test`: which tests there are, that each runs on its own, and what is said of those that fail."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kcl.cli import main

_PACKAGE = {
    "kcl.mod": '[package]\nname = "p"\n',
    "add.k": "_base = 5\nadd = lambda a: int, b: int -> int {\n    a + b\n}\n",
    "add_test.k": (
        "test_adds = lambda {\n    print('quiet')\n    assert add(1, 2) == 3\n}\n"
        "test_wrong = lambda {\n    print('said before')\n    x = add(1, 2)\n"
        "    assert x == _base, 'should be five'\n}\n"
        "test_later = lambda {\n    assert add(0, 0) == 0\n}\n"
        "test_no_lambda = 3\n_test_private = lambda {\n    assert False\n}\n"
    ),
    "below/b_test.k": "test_below = lambda {\n    assert True\n}\n",
}


def _written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _test(folder: Path, *argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = main(
        ["test", *argv], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err, environment=dict(os.environ)
    )
    return status, out.getvalue(), err.getvalue()


def _verdicts(out: str) -> dict[str, str]:
    lines = [line.split(": ") for line in out.splitlines() if line.endswith("ms)")]
    return {name: verdict.split()[0] for name, verdict in lines}


def test_each_test_runs_whatever_became_of_those_before(tmp_path: Path) -> None:
    status, out, _ = _test(_written(tmp_path, _PACKAGE))
    assert status == 1
    assert _verdicts(out) == {"test_adds": "PASS", "test_wrong": "FAIL", "test_later": "PASS"}
    assert out.endswith("PASS: 2/3\nFAIL: 1/3\n")


def test_a_failure_shows_both_values_the_message_and_what_was_printed(tmp_path: Path) -> None:
    _, out, _ = _test(_written(tmp_path, _PACKAGE))
    for said in ("should be five", "note: x is 3", "note: _base is 5", "add_test.k:8:5", "printed:\nsaid before\n"):
        assert said in out
    assert "quiet" not in out


@pytest.mark.parametrize(
    ("assertion", "notes"),
    [
        ("assert [1, {a = 1}] == [1, {a = 2}]", ["they differ at [1].a: 1 and 2"]),
        ("assert {a = 1} == {b = 1}", ["they differ at a: 1 and nothing"]),
        ("assert 1 + 1 == 3 or len('a') > 2", ["1 + 1 is 2", "compared with 3", "len('a') is 1"]),
        ("assert not (add(1, 1) == 2)", ["add(1, 1) is 2"]),
        ("assert isunique([add(1, 1), 2])", ["[add(1, 1), 2] is [2, 2]"]),
        ('assert "a\\nb" == "a\\nc"', ['they differ in line 2: "b" and "c"']),
    ],
)
def test_why_an_assertion_failed(assertion: str, notes: list[str], tmp_path: Path) -> None:
    _, out, _ = _test(_written(tmp_path, {**_PACKAGE, "add_test.k": f"test_a = lambda {{\n    {assertion}\n}}\n"}))
    for note in notes:
        assert f"note: {note}\n" in out, out


def test_folders_below_are_asked_for(tmp_path: Path) -> None:
    _, out, _ = _test(_written(tmp_path, _PACKAGE), "./...", "-j", "2")
    assert list(_verdicts(out)) == ["test_adds", "test_wrong", "test_later", "test_below"]


def test_names_are_chosen_by_a_regular_expression(tmp_path: Path) -> None:
    status, out, _ = _test(_written(tmp_path, _PACKAGE), "--run", "^test_(a|l)")
    assert (status, _verdicts(out)) == (0, {"test_adds": "PASS", "test_later": "PASS"})


def test_the_first_failure_ends_it_when_asked_to(tmp_path: Path) -> None:
    status, out, _ = _test(_written(tmp_path, _PACKAGE), "--fail-fast")
    assert (status, _verdicts(out)) == (1, {"test_adds": "PASS", "test_wrong": "FAIL"})
    assert "1 not run after the first failure" in out


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        (["below/none"], 2, "no such file or folder"),
        (["--run", "nothing"], 5, "none of 3 tests in . matches nothing"),
        (["--run", "("], 2, "--run takes a regular expression"),
        (["empty"], 5, "no tests in empty"),
        (["add.k"], 2, "tests are in folders"),
        (["-j", "0"], 2, "-j takes a number"),
        (["--deadline", "soon"], 2, "--deadline needs to be"),
    ],
)
def test_nothing_run_is_no_success(argv: list[str], status: int, said: str, tmp_path: Path) -> None:
    folder = _written(tmp_path, {**_PACKAGE, "empty/a.k": ""})
    found, out, err = _test(folder, *argv)
    assert (found, out) == (status, "")
    assert said in err


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"test_a = lambda {\n", "InvalidSyntax"), (b"test_a = '\xff'\n", "it is not UTF-8 at byte 10")],
)
def test_a_file_that_is_no_kcl_is_a_failure(content: bytes, said: str, tmp_path: Path) -> None:
    folder = _written(tmp_path, _PACKAGE)
    (folder / "broken_test.k").write_bytes(content)
    status, out, _ = _test(folder)
    assert status == 1
    assert said in out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe_test.k")
    status, out, _ = _test(tmp_path)
    assert status == 1
    assert "not a regular file" in out


def test_a_folder_that_cannot_be_looked_into_is_no_folder_without_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _written(tmp_path, _PACKAGE)
    (folder / "closed").mkdir()
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    status, out, err = _test(folder, f"{folder}/...")
    assert status != 0 and "closed: Permission denied" in out + err, out + err


def test_a_test_without_end_is_ended_and_the_next_one_runs(tmp_path: Path) -> None:
    endless = (
        "test_endless = lambda {\n    sum([a * b for a in range(9999) for b in range(9999)])\n    assert True\n}\n"
    )
    _written(tmp_path, {"e_test.k": endless + "test_next = lambda {\n    assert True\n}\n"})
    status, out, _ = _test(tmp_path, "--deadline", "1")
    assert (status, _verdicts(out)) == (1, {"test_endless": "FAIL", "test_next": "PASS"})
    assert "longer than its deadline of 1 s" in out


def test_junit_is_xml_whatever_a_test_prints(tmp_path: Path) -> None:
    text = 'test_a = lambda {\n    print("\\x1b]0;x\\x07 <&>")\n    assert 1 == 2, "\\x00 ]]>"\n}\n'
    _written(tmp_path, {"a_test.k": text})
    _, out, _ = _test(tmp_path, "--junit", "out.xml")
    tree = ElementTree.parse(tmp_path / "out.xml").getroot()
    suite = tree.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    case = suite.find("testcase")
    assert case is not None
    assert (case.get("name"), case.get("file")) == ("test_a", "a_test.k")
    assert "<&>" in (case.findtext("system-out") or "")
    assert "\x1b" not in out


def test_secrets_are_masked(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    _written(tmp_path, {"a_test.k": f'test_a = lambda {{\n    x = "{token}"\n    assert x == "y"\n}}\n'})
    _, out, _ = _test(tmp_path, "--junit", "out.xml")
    assert token not in out
    assert token not in (tmp_path / "out.xml").read_text()
    assert "«masked»" in out


@pytest.mark.skipif(sys.platform == "win32", reason="paths are compared")
def test_coverage_of_tests(tmp_path: Path) -> None:
    files = {
        "size.k": (
            "size = lambda n: int -> str {\n    result = 'small'\n    if n > 9:\n        result = 'large'\n"
            "    result\n}\nschema Never:\n    a: int = 1\n"
        ),
        "size_test.k": "test_small = lambda {\n    assert size(1) == 'small'\n}\n",
    }
    _written(tmp_path, files)
    status, out, err = _test(tmp_path, "--lcov", "out.info", "--coverage-xml", "out.xml", "--fail-under", "90")
    assert status == 1
    assert "less than 90%" in err
    row = next(line for line in out.splitlines() if line.startswith("size.k"))
    assert row.split()[1:5] == ["7", "3", "2", "1"]
    assert row.endswith("3->true, 4, 7-8")
    lcov = (tmp_path / "out.info").read_text().splitlines()
    assert {"DA:4,0", "DA:5,1", "BRDA:3,0,0,0", "BRDA:3,0,1,1", "SF:size.k"} <= set(lcov)
    root = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (root.get("lines-valid"), root.get("lines-covered")) == ("7", "4")


def test_arguments_settings_and_packages_are_those_of_the_command_line(tmp_path: Path) -> None:
    call = "test_a = lambda {\n    assert [option('env'), option('n'), lib.x] == ['prod', 3, 7]\n}\n"
    files = {
        "p/kcl.mod": "",
        "p/a_test.k": f"import lib\n{call}",
        "lib/lib.k": "x = 7\n",
        "ci.yaml": "kcl_options:\n  - key: env\n    value: dev\n  - key: n\n    value: 3\n",
    }
    _written(tmp_path, files)
    status, out, err = _test(tmp_path, "p", "-Y", "ci.yaml", "-D", "env=prod", "-E", "lib=lib")
    assert status == 0, out + err
    assert _test(tmp_path, "p", "-E", "lib=lib")[0] == 1


@pytest.mark.parametrize("argv", [["-D", "env"], ["-Y", "none.yaml"], ["-E", "lib"]])
def test_what_cannot_be_handed_to_tests_is_no_run(argv: list[str], tmp_path: Path) -> None:
    _written(tmp_path, {"a_test.k": "test_a = lambda {\n    assert True\n}\n"})
    status, out, err = _test(tmp_path, ".", *argv)
    assert (status, out) == (2, "") and err


def test_arguments_with_telling_names_are_not_shown(tmp_path: Path) -> None:
    text = "test_a = lambda {\n    print(option('db'))\n    assert option('password') == option('db').token\n}\n"
    _written(tmp_path, {"a_test.k": text})
    given = ("-D", "password=swordfish", "-D", 'db={"token": "mackerel"}')
    status, out, err = _test(tmp_path, ".", *given, "--junit", "out.xml")
    said = out + err + (tmp_path / "out.xml").read_text()
    assert status == 1 and "swordfish" not in said and "mackerel" not in said
