"""The process `wb`: how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ENDING = """
import atexit, os, sys, threading, time
from workbench.cli.process import process

def late():
    time.sleep(0.2)
    print("of a thread", flush=True)

threading.Thread(target=late).start()
atexit.register(lambda: print("at the end"))
sys.argv = ["wb", *sys.argv[1:]]
process()
"""


def _run(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", _ENDING, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment, timeout=60)


def test_what_runs_beside_and_what_is_to_be_done_at_the_end_are_waited_for() -> None:
    ended = _run("--version")
    assert ended.returncode == 0 and ended.stderr == ""
    assert ended.stdout.startswith("wb ")
    assert ended.stdout.splitlines()[1:] == ["of a thread", "at the end"]


def test_the_exit_code_is_that_of_the_command() -> None:
    ended = _run("no-such-verb")
    assert ended.returncode == 64 and "no-such-verb" in ended.stderr


def test_what_cannot_be_printed_is_no_success() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no device that is always full")
    with full.open("w") as stream:
        ended = _run("keys", stdout=stream.fileno())
    assert ended.returncode == 1 and "No space left" in ended.stderr


_BEGINNING = """
import sys
from workbench.engine import evaluator_start

def expect():
    print("begun", "click" in sys.modules)

evaluator_start.expect = expect
sys.argv = ["wb", *sys.argv[1:]]
from workbench.cli.process import process
process()
"""


@pytest.mark.parametrize(
    ("words", "begun"),
    [(["diff", "--no-such-option"], ["begun False"]), (["diff", "--help"], []), (["keys"], []), ([], [])],
)
def test_what_evaluates_is_begun_before_the_commands_are_imported(words: list[str], begun: list[str]) -> None:
    command = [sys.executable, "-P", "-c", _BEGINNING, *words]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    ended = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=60, stdin=subprocess.DEVNULL
    )
    assert [each for each in ended.stdout.splitlines() if each.startswith("begun")] == begun
