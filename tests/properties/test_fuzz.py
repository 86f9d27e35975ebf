"""A few hundred mutated programs: none breaks the compiler. `make fuzz` runs longer."""

from __future__ import annotations

import importlib.util

import pytest

from tests.properties.fuzz import fuzz
from tests.properties.mutation import mutated
from tests.properties.report import Report
from tests.properties.seeds import SEEDS


def broken(report: Report[str]) -> list[str]:
    return [f"{kind}:\n{text}" for kind, text in report.findings.items() if kind.startswith(("crash", "gone"))]


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_mutated_programs_end_in_a_result_or_in_diagnostics(seed: int) -> None:
    if importlib.util.find_spec("kcl_lib") is None:
        pytest.skip("kcl-lib is not installed")
    report = fuzz(120, seed, most=150, with_suite=False)
    assert not broken(report)
    assert report.inputs.total() > 20 and report.compared > 0
    assert report.accepted > 0, "mutations should leave some programs whole"
    assert len(report.features) > 100
    # Now and then a text is read otherwise than officially; more than that would be a fault of a rule.
    assert len(report.findings) <= 3, report.text()


def test_a_seed_makes_one_mutation() -> None:
    import random

    texts = {mutated(random.Random(5), SEEDS[0], SEEDS) for _ in range(3)}
    assert len(texts) == 1 and texts != {SEEDS[0]}
