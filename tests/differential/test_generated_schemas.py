"""Programs made by chance whose schemas make order count: generated code does as closures do.

`WB_SCHEMA_PROGRAMS` asks for more of them than by default.
"""

from __future__ import annotations

import os

import pytest

from tests.differential.schemas import program
from tests.kcl.compiler.both_ways import AT_ONCE, outcome

PROGRAMS = int(os.environ.get("WB_SCHEMA_PROGRAMS", "30"))
TELLING = (50, 99, 118, 140, 152, 171, 186, 195, 242, 247, 277, 3638)
"""Programs in which generated code once was told from closures."""


def test_generated_code_does_as_closures_do(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = 0
    for number in (*range(PROGRAMS), *TELLING):
        text = program(number)
        arguments = {"files": ["main.k"], "work_dir": "/nowhere", "texts": {"main.k": text}}
        plain = outcome(None, monkeypatch, **arguments)
        assert outcome(AT_ONCE, monkeypatch, **arguments) == plain, f"program {number}:\n{text}"
        accepted += len(plain) > 2
    assert accepted > PROGRAMS * 0.7, "most programs should make sense"


def test_a_number_makes_one_program() -> None:
    assert program(7) == program(7) != program(8)
