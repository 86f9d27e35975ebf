"""How a command runs what is asynchronous."""

from __future__ import annotations

import pytest

from workbench.cli import loop


class _Large:
    written_down = 0

    def __repr__(self) -> str:
        type(self).written_down += 1
        return "a text of all there is"


def test_what_comes_of_it_is_returned_and_not_written_down() -> None:
    made = _Large()

    async def make() -> _Large:
        return made

    assert loop.outcome(make) is made
    assert made.written_down == 0


def test_what_is_raised_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        loop.outcome(fail)
