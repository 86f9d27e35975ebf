"""The library against the official one, call by call."""

import json
import multiprocessing
import queue
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import pytest

from kcl.api import ProgramError, run

pytest.importorskip("kcl_lib", reason="the official library is not installed")

_CALLS = Path(__file__).with_name("official_calls.txt")
_FAILED = object()
_ANSWER_SECONDS = 60


def _program(call: str) -> str:
    module, _, expression = call.partition("|")
    imported = f"import {module}\n" if module else ""
    return f"{imported}_v = lambda x: any -> any {{ x }}\na = {expression}\n"


def _serve(programs: "Queue[str]", answers: "Queue[str | None]") -> None:
    """Runs programs in the official library: its panics end the process, which must not be ours."""
    import kcl_lib.api as official

    api = official.API()
    while True:
        arguments = official.ExecProgramArgs(work_dir="/", k_filename_list=["/main.k"], k_code_list=[programs.get()])
        try:
            result = api.exec_program(arguments)
        except Exception:
            answers.put(None)
        else:
            answers.put(None if result.err_message else result.json_result)


class _Official:
    """Answers one program at a time; the process is begun again when it died."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._programs: Queue[str] = self._context.Queue()
        self._answers: Queue[str | None] = self._context.Queue()
        self._process: SpawnProcess = self._context.Process(
            target=_serve, args=(self._programs, self._answers), daemon=True
        )
        self._process.start()

    def answer(self, program: str) -> Any:
        self._programs.put(program)
        for _ in range(_ANSWER_SECONDS * 5):
            try:
                text = self._answers.get(timeout=0.2)
            except queue.Empty:
                if self._process.is_alive():
                    continue
                self._start()
                return _FAILED
            return _FAILED if text is None else json.loads(text)
        raise AssertionError(f"no answer to {program}")

    def stop(self) -> None:
        self._process.kill()
        self._process.join()


def _ours(program: str) -> Any:
    try:
        return run(["main.k"], work_dir="/", texts={"main.k": program}).documents[0]
    except ProgramError:
        return _FAILED


def _same(left: Any, right: Any) -> bool:
    """Equal values of equal kinds: 1, 1.0 and True are three."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)


def _calls() -> list[str]:
    return [line for line in _CALLS.read_text().splitlines() if line and not line.startswith("#")]


@pytest.mark.slow
def test_calls_are_answered_as_officially() -> None:
    """A call marked with `!` is answered otherwise, and says so only as long as it is true."""
    official = _Official()
    try:
        wrong = []
        for line in _calls():
            call = line.removeprefix("! ")
            theirs, ours = official.answer(_program(call)), _ours(_program(call))
            agree = _same(theirs, ours) if theirs is not _FAILED else ours is _FAILED
            if agree == line.startswith("! "):
                wrong.append(f"{line}: official {theirs}, ours {ours}")
    finally:
        official.stop()
    assert not wrong, "\n".join(wrong)
