"""`kcl fmt`: which files, what is written, what is said, and with which exit status."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from kcl.cli import main

UGLY, FINE = "x=1\n", "x = 1\n"
OK, FAILED, USAGE = 0, 1, 2


def fmt(folder: Path, *arguments: str, stdin: str | bytes = "") -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    given = io.StringIO(stdin) if isinstance(stdin, str) else io.TextIOWrapper(io.BytesIO(stdin))
    return main(["fmt", *arguments], cwd=folder, stdin=given, stdout=out, stderr=err), out.getvalue(), err.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file that is fine, two that are not, one of them further down, and some that are not looked for."""
    for name, text in {"a.k": UGLY, "b.k": FINE, "sub/c.k": UGLY, ".git/d.k": UGLY, "e.txt": UGLY}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_files_of_a_folder_are_written_and_those_that_change_are_named(folder: Path) -> None:
    assert fmt(folder) == (OK, "a.k\n", "")
    assert (folder / "a.k").read_text() == FINE
    assert (folder / "sub/c.k").read_text() == UGLY
    assert fmt(folder) == (OK, "", "")


@pytest.mark.parametrize("arguments", [("./...",), ("-R",), ("-R", "."), ("a.k", "sub")])
def test_folders_below(folder: Path, arguments: tuple[str, ...]) -> None:
    status, out, err = fmt(folder, *arguments)
    assert (status, err) == (OK, "")
    assert {os.path.normpath(line) for line in out.splitlines()} == {"a.k", "sub/c.k"}
    assert (folder / ".git/d.k").read_text() == UGLY


def test_check_writes_nothing_and_fails(folder: Path) -> None:
    assert fmt(folder, "--check", "./...") == (FAILED, "a.k\nsub/c.k\n", "")
    assert fmt(folder, "--check", "b.k") == (OK, "", "")
    assert (folder / "a.k").read_text() == UGLY


def test_diff_writes_nothing(folder: Path) -> None:
    diff = "--- a.k (as it is)\n+++ a.k (laid out)\n@@ -1 +1 @@\n-x=1\n+x = 1\n"
    assert fmt(folder, "--diff", "a.k") == (OK, diff, "")
    assert fmt(folder, "-d", "--check", "a.k") == (FAILED, diff, "")
    assert (folder / "a.k").read_text() == UGLY


def test_standard_input(tmp_path: Path) -> None:
    assert fmt(tmp_path, "-", stdin=UGLY) == (OK, FINE, "")
    assert fmt(tmp_path, "-", stdin=b"x=1\r\n") == (OK, "x = 1\r\n", "")
    assert fmt(tmp_path, "-", "--check", "--stdin-filename", "m.k", stdin=UGLY) == (FAILED, "m.k\n", "")
    status, out, err = fmt(tmp_path, "-", "--stdin-filename", "m.k", stdin="x = (\n")
    assert (status, out) == (FAILED, "")
    assert "m.k:1:5" in err


def test_lines_take_whole_statements(tmp_path: Path) -> None:
    (tmp_path / "a.k").write_text("x=1\nif a:\n  y=1\n  z=1\nw=1\n")
    assert fmt(tmp_path, "--lines", "3:3", "a.k")[0] == OK
    assert (tmp_path / "a.k").read_text() == "x=1\nif a:\n    y = 1\n    z = 1\nw=1\n"
    assert fmt(tmp_path, "--lines", "5", "a.k")[0] == OK
    assert (tmp_path / "a.k").read_text() == "x=1\nif a:\n    y = 1\n    z = 1\nw = 1\n"


def test_a_link_and_the_mode_stay(folder: Path) -> None:
    (folder / "a.k").chmod(0o640)
    (folder / "link.k").symlink_to("a.k")
    assert fmt(folder, "link.k") == (OK, "link.k\n", "")
    assert (folder / "link.k").is_symlink()
    assert (folder / "a.k").read_text() == FINE
    assert (folder / "a.k").stat().st_mode & 0o777 == 0o640


def test_what_is_wrong_with_one_file_does_not_keep_others(folder: Path) -> None:
    (folder / "0.k").write_text("x = (\n")
    (folder / "1.k").write_bytes(b"x = 1\ny = '\xff'\n")
    (folder / "2.k").symlink_to("nowhere.k")
    os.mkfifo(folder / "3.k")
    status, out, err = fmt(folder, "0.k", "1.k", "2.k", "3.k", "a.k")
    assert (status, out) == (FAILED, "a.k\n")
    assert "0.k:1:5" in err
    assert "1.k:2: byte 0xff is not UTF-8; save the file as UTF-8\n" in err
    assert "2.k: No such file or directory\n" in err
    assert "3.k: not a regular file\n" in err
    assert (folder / "0.k").read_text() == "x = (\n"


def test_finding_nothing_is_no_success(folder: Path) -> None:
    (folder / "empty/deeper").mkdir(parents=True)
    (folder / "empty/deeper/f.k").write_text(UGLY)
    assert fmt(folder, "nowhere") == (FAILED, "", "kcl fmt: nowhere: there is no such file or folder\n")
    said = "empty: there is no file that ends in .k in it; for folders below it say empty/..."
    assert fmt(folder, "empty") == (FAILED, "", f"kcl fmt: {said}\n")
    assert fmt(folder, "empty/...") == (OK, "empty/deeper/f.k\n", "")


@pytest.mark.parametrize(
    "arguments", [("--lines", "2:1", "a.k"), ("--lines", "x", "a.k"), ("--lines", "1:1"), ("-", "a.k"), ("-j", "0")]
)
def test_a_command_line_that_makes_no_sense(folder: Path, arguments: tuple[str, ...]) -> None:
    status, out, err = fmt(folder, *arguments)
    assert (status, out) == (USAGE, "")
    assert "kcl fmt: " in err


def test_orders_in_names_are_not_sent_to_a_terminal(folder: Path) -> None:
    (folder / "\x1b[2J.k").write_text(UGLY)
    status, out, _ = fmt(folder, "--check")
    assert status == FAILED
    assert "\x1b" not in out


def test_help(folder: Path) -> None:
    status, out, err = fmt(folder, "--help")
    assert (status, err) == (OK, "")
    assert "--check" in out


def test_several_processes_do_what_one_does(folder: Path) -> None:
    assert fmt(folder, "-j", "2", "./...") == (OK, "a.k\nsub/c.k\n", "")
    assert (folder / "sub/c.k").read_text() == FINE


def test_of_many_errors_the_first_are_shown(folder: Path) -> None:
    (folder / "0.k").write_text("x = (\n" * 9)
    status, _, err = fmt(folder, "0.k")
    assert status == FAILED
    assert err.count("InvalidSyntax") == 3
    assert "0.k: " in err and " more errors" in err
