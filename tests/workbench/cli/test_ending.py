"""However a command ends, it ends with one message and an exit code: no traceback, no half a line, no secret."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb
from workbench.cli import ls_command, main
from workbench.exit_codes import ExitCode


def _breaking(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Makes `wb ls` come upon an error that nobody expected."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(ls_command, "_row", fail)


@pytest.mark.parametrize(
    "error", [ValueError("canary"), KeyError("canary"), AssertionError("canary"), RecursionError("canary")], ids=repr
)
def test_a_bug_is_called_one_and_tells_its_place_but_no_data(
    wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    _breaking(monkeypatch, error)
    ended = wb("ls")
    assert ended.code == ExitCode.ERROR
    assert f"bug in the workbench: {type(error).__name__} at" in ended.err and "please report it" in ended.err
    assert "Traceback" not in ended.err and "canary" not in ended.text


def test_errors_of_several_tasks_are_told_one_by_one(wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _breaking(monkeypatch, BaseExceptionGroup("tasks", [ValueError("canary"), KeyError("canary")]))
    ended = wb("ls")
    assert ended.code == ExitCode.ERROR
    assert "ValueError at" in ended.err and "KeyError at" in ended.err and "canary" not in ended.text


def test_an_error_of_the_system_names_the_file(wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _breaking(monkeypatch, PermissionError(13, "Permission denied", "/some/file"))
    ended = wb("ls")
    assert ended.code == ExitCode.ERROR
    assert "/some/file: the system refuses: Permission denied" in ended.err and "bug" not in ended.err
    # click takes this one for a pipe whose reader has left
    _breaking(monkeypatch, BrokenPipeError(32, "Broken pipe"))
    assert "bug in the workbench: BrokenPipeError" in wb("ls").err


def test_a_missing_part_of_the_installation(wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "workbench.cli.diff_command", None)
    ended = wb("diff", "web/dev")
    assert ended.code == ExitCode.ERROR
    assert "workbench.cli.diff_command" in ended.err and "install it again" in ended.err


def test_even_when_failures_cannot_be_shown(wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _breaking(monkeypatch, ValueError("canary"))
    monkeypatch.setitem(sys.modules, "workbench.present.errors", None)
    ended = wb("ls")
    assert ended.code == ExitCode.ERROR
    assert "ended by ValueError" in ended.err and "Is the installation whole?" in ended.err
    assert "Traceback" not in ended.err and "canary" not in ended.text


def test_interrupted(wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _breaking(monkeypatch, KeyboardInterrupt())
    ended = wb("ls")
    assert ended.code == ExitCode.INTERRUPTED and ended.err.strip() == "interrupted"


def test_the_folder_is_gone(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ended = wb("ls")
    assert ended.code == ExitCode.USAGE and "--workdir" in ended.err
    monkeypatch.chdir(tmp_path)


def test_a_setting_that_cannot_be_used(wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_TIMEOUT", "soon")
    ended = wb("ls")
    assert ended.code == ExitCode.ERROR and "WB_TIMEOUT" in ended.err and "'soon'" in ended.err


def _shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    wb = f"{sys.executable} -m workbench"
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command.replace('wb ', wb + ' ')}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(main.__file__).parents[2]), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_an_error(root: Path) -> None:
    done = _shell("wb compile web/prod > /dev/full", root)
    assert done.returncode == ExitCode.ERROR
    assert done.stderr == "Error: the output could not be written: No space left on device\n"


def test_streams_that_are_closed_are_no_bug_and_no_file_takes_their_place(root: Path) -> None:
    """Some start programs so: what is printed must neither stop an apply nor go into a file of ours."""
    done = _shell("wb ls >&- <&-", root)
    assert done.returncode == ExitCode.ERROR
    assert done.stderr == "Error: the output could not be written: Bad file descriptor\n"
    done = _shell("wb compile web/nowhere 2>&-", root)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")


def test_a_reader_that_leaves_is_none(root: Path) -> None:
    done = _shell("wb compile web/prod | true", root)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_plain_terminal_gets_plain_signs_and_data_stay_utf8(root: Path) -> None:
    base = root / "web/base/base.k"
    base.write_text(base.read_text().replace("red", "röd"))
    done = _shell("wb compile web/prod", root, PYTHONIOENCODING="ascii", WB_ASCII="1")
    assert (done.returncode, done.stderr) == (0, "") and "COLOUR: röd" in done.stdout
    done = _shell("wb compile web/nowhere", root, PYTHONIOENCODING="ascii")
    assert done.returncode == ExitCode.USAGE and done.stderr.isascii() and "there is no stack" in done.stderr
