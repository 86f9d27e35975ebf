"""What the command line prints, and nowhere else is anything printed: stdout is data, stderr is talk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

from kcl.streams import not_written, send_nowhere
from kcl.terminal import harmless, harmless_lines, json_escaped
from workbench.cli.indented_json import write_indented_json
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

if TYPE_CHECKING:
    from workbench.present.glyphs import Glyphs

_STYLES = {
    Tone.STRONG: "1",
    Tone.MUTED: "2",
    Tone.GOOD: "32",
    Tone.BUSY: "36",
    Tone.WARN: "33",
    Tone.BAD: "31;1",
    Tone.ADDED: "32",
    Tone.REMOVED: "31",
    Tone.CHANGED: "33",
    Tone.ADDED_PART: "32;1;4",
    Tone.REMOVED_PART: "31;1;4",
    Tone.SOURCE: "36",
    Tone.KEY: "34",
    Tone.ENVIRONMENT: "34;1",
    Tone.PROTECTED: "31;1;7",
}


class Output:
    """Writes toned lines with or without colour. Not thread-safe.

    Colour goes where a terminal reads, unless NO_COLOR or `--no-style` say otherwise; FORCE_COLOR wins over both the
    terminal test and NO_COLOR's absence, as https://force-color.org has it.

    A stream that can't be written to any more (a pipe whose reader left, a full disk) is passed over from then on: an
    apply must not stop half-way because nobody looks. `lost` names what was lost, empty if nobody can miss it.
    """

    def __init__(self, *, style: bool = True, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.stdout, self.stderr = stdout or sys.stdout, stderr or sys.stderr
        self._wanted = style
        self.lost = ""

    @property
    def glyphs(self) -> Glyphs:
        """Signs that the terminal can show: ASCII where WB_ASCII or the locale says so."""
        from workbench.present.glyphs import ASCII, UNICODE

        asked = os.environ.get("WB_ASCII", "").strip().lower() not in ("", "0", "false", "no", "off")
        return ASCII if asked or not _is_unicode(self.stdout) else UNICODE

    def has_color(self, stream: TextIO) -> bool:
        if not self._wanted or os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")

    def data(self, text: str) -> None:
        """Writes text as it is: what another program may read. It is UTF-8 whatever the locale.

        A terminal gets no orders with it.
        """
        self._data(text if text.endswith("\n") or not text else text + "\n")

    def _data(self, text: str) -> None:
        text = harmless_lines(text) if self.stdout.isatty() else text
        buffer = None if _is_unicode(self.stdout) else getattr(self.stdout, "buffer", None)
        if buffer is None:
            self._write(self.stdout, text)
        else:
            self._attempt(self.stdout, lambda: (buffer.write(text.encode("utf-8", "surrogateescape")), buffer.flush()))

    def json(self, document: Any) -> None:
        write_indented_json(document, lambda piece: self._data(json_escaped(piece)))
        self._data("\n")

    def yaml(self, document: Any) -> None:
        from workbench.present.yaml_data import yaml_data

        self.data(yaml_data(document))

    def line(self, *parts: Span | str | Line) -> None:
        self.lines([line(*parts)])

    def lines(self, lines: Iterable[Line]) -> None:
        color = self.has_color(self.stdout)
        for each in lines:
            self._write(self.stdout, self._plain(_styled(each, color)).rstrip() + "\n")

    def talk(self, *parts: Span | str | Line) -> None:
        """Progress and errors, on stderr."""
        self._write(self.stderr, self._plain(_styled(line(*parts), self.has_color(self.stderr))).rstrip() + "\n")

    def table(self, columns: tuple[Column, ...], rows: Iterable[Row]) -> None:
        """Writes rows below their titles, columns as wide as what is in them; trees are indented."""
        every = list(rows)
        cells = [[_indented(row, 0, row.cells[0]), *row.cells[1:]] for row in every]
        widths = [
            max([len(column.title), *(len(row[index]) for row in cells if index < len(row))], default=0)
            for index, column in enumerate(columns)
        ]
        titles = [line(Span(column.title.upper(), Tone.MUTED)) for column in columns]
        color, whole = self.has_color(self.stdout), list[str]()
        for row in [titles, *cells]:
            parts: list[Span | str | Line] = []
            for index, (cell, width) in enumerate(zip(row, widths, strict=False)):
                padding = " " * (width - len(cell) + 2)
                parts += [padding[2:], cell, "  "] if columns[index].right else [cell, padding]
            whole.append(_styled(line(*parts), color).rstrip() + "\n")
        self._write(self.stdout, self._plain("".join(whole)))

    def _plain(self, text: str) -> str:
        from workbench.present.glyphs import ASCII, plain

        return plain(text) if self.glyphs is ASCII else text

    def _write(self, stream: TextIO, text: str) -> None:
        if not _is_unicode(stream):
            encoding = stream.encoding or "ascii"
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        self._attempt(stream, lambda: (stream.write(text), stream.flush()))

    def _attempt(self, stream: TextIO, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.lost = self.lost or not_written(error)
            send_nowhere(stream.fileno())


def _is_unicode(stream: TextIO) -> bool:
    """Streams in memory have no encoding: they take any text."""
    encoding = getattr(stream, "encoding", None)
    return encoding is None or encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf16", "utf32")


def _indented(row: Row, column: int, cell: Line) -> Line:
    return line("  " * row.depth, cell) if row.depth and column == 0 else cell


def _styled(each: Line, color: bool) -> str:
    if not color:
        return str(each)
    return "".join(_colored(span.tone, harmless(span.text)) for span in each.spans)


def _colored(tone: Tone, text: str) -> str:
    return f"\x1b[{_STYLES[tone]}m{text}\x1b[0m" if tone in _STYLES else text
