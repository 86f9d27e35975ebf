"""What is made of definitions is held to a real API server: rules of CEL, objects of published definitions, and
objects of the kinds that the server has by itself."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.api_server import api_server
from tests.kcl.tools.imports.importing import is_template
from tests.kcl.tools.imports.rule_cases import CASES, definition
from tests.kcl.tools.imports.server_agreement import DEFENDED, Judged, of_built_in_kinds, of_definitions

_EACH = int(os.environ.get("KONFIG_WORKBENCH_DEFINITIONS_EVERY", "9"))


def test_the_table_of_rules_is_what_a_server_decides() -> None:
    server = api_server()
    assert server.define(definition()) == ""
    for at, case in enumerate(CASES):
        for expected, values in ((True, case.accepted), (False, case.refused)):
            for value in values:
                answer = server.create(definition(), "v1", {"spec": {f"c{at}": value}})
                assert answer.is_accepted is expected, (case.rule, value, answer.message)


@pytest.mark.slow
def test_published_definitions_are_held_to_as_a_server_holds_to_them(tmp_path: Path) -> None:
    """`KONFIG_WORKBENCH_DEFINITIONS_EVERY=1` takes them all."""
    server, rng = api_server(), random.Random(7)
    found = [each for each in sorted(corpus("crds").rglob("*.yaml")) if not is_template(each)][::_EACH]
    counts: Counter[str] = Counter()
    for at, path in enumerate(found):
        counts += _judged_as_defended(of_definitions(server, path, tmp_path, f"p{at}", rng))
    assert min(counts["accepted"], counts["refused"]) > 20, counts


@pytest.mark.slow
def test_kinds_that_a_server_has_by_itself_are_held_to_as_it_holds_to_them(tmp_path: Path) -> None:
    counts = _judged_as_defended(of_built_in_kinds(api_server(), tmp_path, random.Random(7), 3))
    assert min(counts["accepted"], counts["refused"]) > 20, counts


def _judged_as_defended(judged: Iterable[Judged]) -> Counter[str]:
    """How many objects both accept and refuse; what they differ in is what docs/import.md defends."""
    counts: Counter[str] = Counter()
    wrong = []
    for each in judged:
        if each.is_alike:
            counts["accepted" if each.answer.is_accepted else "refused"] += 1
        elif each.difference not in DEFENDED:
            wrong.append(f"{each.difference}: {each.told[:900]}\n{(each.answer.message or each.problem)[:600]}")
    assert wrong == [], f"{len(wrong)} beside {counts}:\n" + "\n".join(wrong[:20])
    return counts
