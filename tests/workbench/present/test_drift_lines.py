"""What is said of many stacks is said once."""

from __future__ import annotations

from workbench.present import drift
from workbench.present.glyphs import UNICODE
from workbench.present.text import line

HIDDEN = ("? near: 52 kinds may not be listed", "  → ask for the permission to list them")
OWN = ("? v1:ConfigMap:a:b@near: forbidden", "  → ask for the permission to list them")


def told(said: set[tuple[str, ...]], *texts: str) -> list[str]:
    return [str(each) for each in drift.unsaid(map(line, texts), said, UNICODE)]


def test_a_remark_is_made_once_and_counted_where_it_holds_again() -> None:
    """A user with few rights read the same five lines below each of a hundred stacks."""
    said: set[tuple[str, ...]] = set()
    assert told(said, *HIDDEN, "! a note") == [*HIDDEN, "! a note"]
    assert told(said, *HIDDEN, *OWN) == [*OWN, "? and 1 remark as of a stack above"]
    assert told(said, *HIDDEN, *OWN, "! a note") == ["? and 3 remarks as of a stack above"]
    assert told(said, "! a note") == ["! and 1 remark as of a stack above"], "a note is no doubt"
    assert told(said) == []


def test_a_remark_with_another_hint_is_another() -> None:
    said: set[tuple[str, ...]] = set()
    told(said, *HIDDEN)
    assert told(said, HIDDEN[0], "  → use another context") == [HIDDEN[0], "  → use another context"]
