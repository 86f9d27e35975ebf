"""Lines without end: what differs in them is shown, and the rest is counted, in no time to speak of."""

from __future__ import annotations

import pytest

from workbench.present.text import Tone
from workbench.present.text_changes import block, changed_lines, in_one_line

MILLION = "y" * 1_000_000


def shown(before: str, after: str, width: int = 80) -> dict[str, str]:
    lines: dict[str, str] = {}
    for each in changed_lines(before, after, width):
        lines[each.sign] = lines.get(each.sign, "") + "".join(span.text for span in each.line.spans)
    return lines


def test_what_differs_within_endless_lines_is_seen() -> None:
    lines = shown(f"{MILLION}old{MILLION}", f"{MILLION}new{MILLION}")
    assert "old" in lines["-"] and "new" in lines["+"]
    assert all(len(each) < 2_000 for each in lines.values())


@pytest.mark.parametrize("width", [20, 80])
def test_both_ends_of_an_endless_difference_are_seen(width: int) -> None:
    lines = shown("start end", f"start {MILLION} end", width)
    assert lines["+"].startswith("start y")
    assert lines["+"].endswith("y end")
    assert "996,010 characters" in lines["+"]


def test_one_character_more_at_the_end_of_an_endless_line_is_a_difference() -> None:
    old, new = in_one_line(MILLION, MILLION + "z")
    texts = ["".join(span.text for span in each) for each in (old, new)]
    assert texts[0] != texts[1]
    assert texts[1].endswith("z")
    assert any(span.tone is Tone.ADDED_PART for span in new)


def test_a_text_of_one_side_says_what_is_left_out() -> None:
    text = "".join("".join(span.text for span in each.line.spans) for each in block(MILLION, "+", Tone.ADDED, 80))
    assert text == f"{'y' * 2_000} …996,000 characters… {'y' * 2_000}"
