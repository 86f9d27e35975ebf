"""Log lines for the screen and for a file: whose they are, when, and where some are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from kcl.terminal import harmless
from runtimes.base.logs import LogLine, LogNote, LogSource
from workbench.present.rows import Column
from workbench.present.text import Line, Span, Tone, line

COLUMNS = (Column("", grow=True),)
_TONES = (Tone.SOURCE, Tone.KEY, Tone.GOOD, Tone.CHANGED, Tone.ENVIRONMENT)


def prefix(entry: LogLine | LogNote, *, has_times: bool, has_sources: bool, pods: int) -> Line:
    """Returns what stands before a line. The pod is left out where there is one only."""
    parts: list[Span] = []
    if has_times:
        at = entry.at.astimezone(UTC).strftime("%H:%M:%S.%f")[:-3] if entry.at is not None else "?" * 12
        parts.append(Span(f"{at} ", Tone.MUTED))
    if has_sources and entry.source is not None:
        parts.append(Span(f"{_name(entry.source, pods)} ", _tone(entry.source)))
    return line(*parts)


def said(entry: LogLine | LogNote, sign: str) -> Span:
    if isinstance(entry, LogNote):
        return Span(f"{sign} {entry.at.astimezone(UTC):%H:%M:%S} {entry.text}", Tone.WARN)
    return Span(harmless(entry.text))


def cut(entry: LogLine | LogNote) -> str:
    """Returns what to say of the end of a line that is not shown, empty where all of it is."""
    cut_bytes = entry.cut_bytes if isinstance(entry, LogLine) else 0
    return f" ({cut_bytes:,} bytes more are not shown)" if cut_bytes else ""


def _name(source: LogSource, pods: int) -> str:
    return source.container if pods < 2 else str(source)


def _tone(source: LogSource) -> Tone:
    return _TONES[sum(map(ord, str(source))) % len(_TONES)]


def file_lines(entries: Iterable[LogLine | LogNote], title: str, saved_at: datetime) -> Iterator[str]:
    """Yields the lines of a file: each with time and source, what may be missing after a `#`."""
    yield f"# {harmless(title)}, as shown at {saved_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}, secrets masked"
    for each in entries:
        where = f"{each.source} " if each.source is not None else ""
        at = each.at.astimezone(UTC).isoformat(timespec="microseconds") if each.at is not None else "-"
        sign = "# " if isinstance(each, LogNote) else ""
        yield harmless(f"{sign}{at} {where}{each.text}{cut(each)}")
