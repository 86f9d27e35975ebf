"""Looking for many texts at once finds what looking for each finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.needles import Needles

SIGNS = st.text("ab\\.*+|()[]^$ \n\"'/=é\udc80𝄞", max_size=6)


@given(st.lists(SIGNS.filter(bool), max_size=5), st.text("ab\\.*+|()[]^$ \n\"'/=é\udc80𝄞", max_size=40))
def test_what_is_there_is_found_and_nothing_else(texts: list[str], hay: str) -> None:
    assert Needles(texts).are_in(hay) == any(each in hay for each in texts)


@given(st.lists(st.binary(min_size=1, max_size=3), max_size=5), st.binary(max_size=40))
def test_bytes_are_found_that_are_no_text(texts: list[bytes], hay: bytes) -> None:
    assert Needles(texts).are_in(hay) == any(each in hay for each in texts)


def test_many_are_found_at_the_end_of_much() -> None:
    texts = [f"secret-{number}" for number in range(2_000)]
    needles = Needles(texts)
    assert not needles.are_in("secret- " * 10_000)
    assert all(needles.are_in(f"{'secret- ' * 1_000}{each}") for each in texts[::100])
