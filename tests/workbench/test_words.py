"""Words that all faces use."""

from __future__ import annotations

import pytest

from workbench.words import counted, few


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 files"), (1, "1 file"), (2, "2 files")],
)
def test_a_count_is_said_with_its_noun(number: int, said: str) -> None:
    assert counted(number, "file") == said


@pytest.mark.parametrize(
    ("names", "said"),
    [((), ""), (("a",), "a"), (("a", "b"), "a, b"), (("a", "b", "c"), "a, b and 1 more")],
)
def test_what_is_left_out_of_names_is_counted(names: tuple[str, ...], said: str) -> None:
    assert few(names, 2) == said
