"""Log lines as they may be shown."""

from __future__ import annotations

from datetime import UTC, datetime

from runtimes.base import RuntimeFailure
from runtimes.base.logs import LogLine, LogNote, LogReport, LogSource
from workbench.engine import logs
from workbench.engine.logs import Together


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


def test_several_streams_are_as_one_and_stand_as_badly_as_the_worst_of_them() -> None:
    at, later = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    source = LogSource("web", "c")
    one = LogReport((LogLine(source, at, "a"),), (source,), later)
    other = LogReport((LogNote(None, at, "gone"),), (source,), at, RuntimeFailure("away"))
    together = Together(("hz", "sh"))
    assert together.take(0, one) == LogReport(
        (LogLine(LogSource("web@hz", "c"), at, "a"),), (LogSource("web@hz", "c"),), later
    )
    found = together.take(1, other)
    assert found.entries == other.entries and found.failure is other.failure and found.heard_at == at
    assert [str(each) for each in found.sources] == ["web@hz/c", "web@sh/c"]
    assert together.take(0, one).failure is other.failure, "the other is away still"
    assert Together(("hz", "hz")).take(1, one).sources == (source,), "of one cluster nothing has to be said"
