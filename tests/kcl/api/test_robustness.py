"""Whatever the text is, a program ends in a result or in diagnostics."""

import random

import pytest

from kcl.api import ProgramError, run
from tests.properties.mutation import mutated
from tests.properties.seeds import SEEDS


def test_the_program_itself_runs() -> None:
    result = run(["main.k"], work_dir="/w", texts={"main.k": SEEDS[0]})
    assert result.documents[0]["t"]["count"] == 6
    assert result.documents[0]["s"]["full"] == "web-x"


@pytest.mark.parametrize("seed", range(8))
def test_broken_programs_end_in_diagnostics(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(40):
        text = mutated(dice, dice.choice(SEEDS), SEEDS)
        try:
            result = run(["main.k"], work_dir="/w", texts={"main.k": text})
        except ProgramError as problem:
            assert problem.render(), text
            assert all(item.message for item in problem.diagnostics), text
        else:
            assert result.yaml(), text
