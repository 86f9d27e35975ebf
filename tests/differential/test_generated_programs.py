"""Five hundred random programs, two thousand in `make soak`, mean the same to the official compiler and to us.

What the official compiler gets wrong is not generated, so that it hides nothing else:

* `b: [int] = a` in a schema, `b += [1]` in an instance: `a` grows as well, since both are one list.
* `a += [1]` for an attribute that another default reads: the items come twice.
* Arguments of a schema are unknown in its checks when the instance is one of a derived schema.
"""

from __future__ import annotations

import pytest

from tests.differential.comparing import both, difference
from tests.differential.programs import program
from tests.sizes import size

PROGRAMS = size(500, 2_000)
_PARTS = 8


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=[pytest.mark.slow] if part else []) for part in range(_PARTS)]
)
def test_generated_programs_mean_the_same_as_officially(part: int) -> None:
    found: list[str] = []
    accepted = compared = 0
    for text, ours, theirs in both(map(program, range(part, PROGRAMS, _PARTS))):
        compared += 1
        accepted += ours.documents is not None
        what = difference(text, ours, theirs)
        if what is not None:
            found.append(f"{what}\n{text}\nours:\n{ours.text}\nofficially:\n{theirs.text}")
    assert not found, "\n".join(found[:3])
    assert compared > PROGRAMS // _PARTS * 0.98
    assert accepted > compared * 0.7, "most programs should make sense"


def test_a_number_makes_one_program() -> None:
    assert program(7) == program(7) != program(8)
