"""Lines of YAML a second."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML

from kcl import api
from tests.benchmarks import konfig, programs
from tests.benchmarks.measuring import LinesASecond, Result, result, seconds

_GOAL = LinesASecond(2_000_000)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_APPLICATIONS = 150
_ROUNDS = 15


def rows(folder: Path, rounds: int) -> list[tuple[str, Callable[[], Result]]]:
    """Each row's name, and what measures it."""
    alike = "YAML output, 270,000 lines of objects that are alike"
    real = f"YAML output, what {_APPLICATIONS} applications of a generated Konfig compile to"
    return [
        (alike, lambda: _measured(alike, [programs.documents(10_000)], rounds)),
        (real, lambda: _measured(real, _compiled(folder / "company"), rounds)),
    ]


def _compiled(root: Path) -> list[Any]:
    cache = api.ParseCache()
    return [
        list(api.run(work_dir=root / each.folder / stack, cache=cache).documents)
        for each in konfig.write(root, _APPLICATIONS)
        for stack in each.stacks
    ]


def _measured(name: str, outputs: Sequence[Any], rounds: int) -> Result:
    """The peer is the goal: the time in which two million lines a second are written."""
    texts = [api.yaml_text(each) for each in outputs]
    lines = sum(each.count("\n") for each in texts)
    for output, text in zip(outputs, texts, strict=True):
        _reads_back(output, text)

    def write() -> None:
        for each in outputs:
            api.yaml_text(each)

    times = [seconds(write) for _ in range(max(rounds, _ROUNDS) if rounds > 2 else rounds)]
    goal = lines / _GOAL.lines
    note = f"{lines / statistics.median(times) / 1e6:.2f} million lines a second"
    return result(name, _GOAL, [(each, goal) for each in times], [goal / each for each in times], note=note)


def _reads_back(output: Any, text: str) -> None:
    """Two libraries read what was written. The slower one, in Python, is given what a long list begins with."""
    assert yaml.load(text, Loader=_LOADER) == output
    begun = output[:500]
    assert YAML(typ="safe", pure=True).load(api.yaml_text(begun)) == begun
    assert text.startswith(api.yaml_text(begun))
