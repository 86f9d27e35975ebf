"""Offsets, lines and columns of a file."""

from hypothesis import given
from hypothesis import strategies as st

from kcl.diagnostics import Position, position
from kcl.source import SourceFile

texts = st.text(alphabet="ab \té\r\n", max_size=40)


@given(texts, st.integers(0, 50))
def test_the_line_index_agrees_with_counting(text: str, offset: int) -> None:
    assert SourceFile("f.k", text).position(offset) == position(text, offset)


@given(texts, st.data())
def test_offset_is_the_inverse_of_position(text: str, data: st.DataObject) -> None:
    source = SourceFile("f.k", text)
    offset = data.draw(st.integers(0, len(text)))
    place = source.position(offset)
    assert source.offset(place.line, place.column) == offset


def test_places_that_do_not_exist_are_brought_to_the_nearest() -> None:
    source = SourceFile("f.k", "ab\nc\n")
    assert source.offset(1, 99) == 2
    assert source.offset(99, 1) == 5
    assert source.position(-1) == Position(1, 1)


def test_a_line_comes_without_its_end() -> None:
    source = SourceFile("f.k", "one\r\ntwo\n\nfour")
    assert [source.line(number) for number in range(6)] == ["", "one", "two", "", "four", ""]
