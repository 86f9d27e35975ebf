"""Log lines as they may be shown."""

from __future__ import annotations

from runtimes.base.logs import LogLine, LogReport, LogSource
from workbench.engine import logs


def shown(text: str, cut_bytes: int = 0) -> LogLine:
    line = LogLine(LogSource("front", "app"), None, text, cut_bytes)
    (found,) = logs.shown(LogReport((line,)), frozenset({"canary-4711"})).entries
    assert isinstance(found, LogLine)
    return found


def test_colours_and_titles_are_taken_out_and_hide_no_secret() -> None:
    assert shown("\x1b[1;31mERROR\x1b[0m \x1b]0;mine\x07no").text == "ERROR no"
    assert "4711" not in shown("token=can\x1b[31mary-47\x1b[0m11 sent").text


def test_a_secret_at_the_end_of_what_is_shown_is_masked_before_the_line_is_cut() -> None:
    found = shown("x" * (logs.MOST_SHOWN - 4) + "canary-4711" + "y" * 5000, cut_bytes=7)
    assert "cana" not in found.text and len(found.text) == logs.MOST_SHOWN
    assert found.cut_bytes > 5000
