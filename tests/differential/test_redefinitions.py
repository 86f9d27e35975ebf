"""Several hundred small programs print the same text, also in the order of what they print, as officially.

`REDEFINITIONS=5000` in the environment says how many of each kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.differential.comparing import Outcome, both
from tests.differential.redefinitions import accumulators, readers, unifications

PROGRAMS = int(os.environ.get("REDEFINITIONS", "150"))


def _alike(ours: Outcome, theirs: Outcome) -> bool:
    """The same text, or errors of one kind. Where an error stands, `test_generated_programs` compares."""
    if ours.documents is None or theirs.documents is None:
        return ours.error == theirs.error and (ours.documents is None) == (theirs.documents is None)
    return ours.text.strip() == theirs.text.strip()


@pytest.mark.parametrize("program", [unifications, readers, accumulators])
def test_what_is_set_several_times_and_read_in_circles_is_printed_as_officially(
    program: Callable[[int], str],
) -> None:
    found: list[str] = []
    accepted = compared = 0
    for text, ours, theirs in both(map(program, range(PROGRAMS))):
        compared += 1
        accepted += ours.documents is not None
        if not _alike(ours, theirs):
            found.append(f"{text}\nours:\n{ours.text}\nofficially:\n{theirs.text}")
    assert not found, f"{len(found)} of {compared}\n" + "\n".join(found[:3])
    assert compared > PROGRAMS * 0.98
    assert accepted > compared * 0.3, "many programs should make sense"
