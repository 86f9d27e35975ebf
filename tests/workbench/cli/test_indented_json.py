"""Output with an indent is, letter for letter, what the standard library writes."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.cli import indented_json as module
from workbench.cli.indented_json import write_indented_json

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates()
KEYS = st.text() | st.none() | st.booleans() | st.integers() | st.floats()
ANY = st.recursive(PLAIN, lambda each: st.lists(each) | st.tuples(each) | st.dictionaries(KEYS, each), max_leaves=12)


def indented_json(document: Any) -> str:
    pieces: list[str] = []
    write_indented_json(document, pieces.append)
    return "".join(pieces)


@given(ANY)
def test_it_is_what_the_standard_library_writes(document: Any) -> None:
    assert indented_json(document) == json.dumps(document, indent=2, ensure_ascii=False, default=str)


def test_subclasses_of_plain_values_are_written_alike() -> None:
    class Text(str):
        pass

    class Number(int):
        pass

    document = {"text": Text("é\u2028\x01"), Text("number"): Number(3), "day": date(2026, 1, 1), "none": [], "no": {}}
    assert indented_json(document) == json.dumps(document, indent=2, ensure_ascii=False, default=str)


def test_a_long_document_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PARTS", 10)
    document = {"changes": [{"id": number, "fields": ["a", "b"]} for number in range(20)]}
    pieces: list[str] = []
    write_indented_json(document, pieces.append)
    assert len(pieces) > 5 and max(map(len, pieces)) < 400
    assert "".join(pieces) == json.dumps(document, indent=2)
