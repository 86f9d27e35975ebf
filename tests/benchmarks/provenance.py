"""What it costs to capture where every value comes from: the evaluator beside the same without (`placeless`)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks import programs
from tests.benchmarks.compiling import Repository
from tests.benchmarks.measuring import ExtraAtMost, Result, result

_ROOT = Path(__file__).parents[2]
_GOAL = ExtraAtMost(0.1)
_ROUNDS = 15


def rows(repositories: Sequence[Repository], rounds: int | None) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Each row's name, and what measures it."""
    made_up = "provenance of every leaf, share of evaluation (5,000 instances)"
    yield made_up, lambda: _measured(made_up, [_text(programs.EVALUATION)], rounds)
    for each in repositories:
        name = f"provenance of every leaf, share of evaluation ({each.name})"
        runs = [{"work_dir": str(stack), "settings": each.settings} for stack in each.stacks]
        yield name, lambda name=name, runs=runs: _measured(name, runs, rounds)  # type: ignore[misc]


def _text(text: str) -> dict[str, Any]:
    return {"files": ["main.k"], "work_dir": "/", "texts": {"main.k": text}}


def _measured(name: str, runs: list[dict[str, Any]], rounds: int | None) -> Result:
    """Ours is evaluation as it is, the peer the same without."""
    with _evaluating("with", runs) as ours, _evaluating("without", runs) as without:
        assert ours.texts == without.texts, "without provenance the result is another"
        assert ours.placed and not without.placed
        pairs = [(ours.seconds(), without.seconds()) for _ in range(min(_ROUNDS, rounds or _ROUNDS))]
    return result(name, _GOAL, pairs, [mine / less - 1 for mine, less in pairs])


class _Evaluating:
    """A process that evaluates the same programs over and over, when asked."""

    def __init__(self, process: subprocess.Popen[str], runs: list[dict[str, Any]]) -> None:
        self._process = process
        answer = json.loads(self._asked(json.dumps({"runs": runs})))
        self.texts, self.placed = answer["texts"], answer["placed"]

    def seconds(self) -> float:
        return float(self._asked("again"))

    def _asked(self, line: str) -> str:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


@contextmanager
def _evaluating(how: str, runs: list[dict[str, Any]]) -> Iterator[_Evaluating]:
    command = [sys.executable, "-m", "tests.benchmarks.placeless", how]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield _Evaluating(process, runs)
        assert process.stdin
        process.stdin.close()
