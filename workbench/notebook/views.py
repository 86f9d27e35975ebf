"""Lines, rows and columns as HTML and as text: the snapshots that are saved with a notebook.

Everything passes through `html.escape`: names, events and logs come from clusters and may hold anything. What is bad or
good is said by a sign and a word as well, so a viewer that drops the styles loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from kcl.records import dataclass
from kcl.terminal import harmless
from runtimes.base import RuntimeFailure
from workbench.present import errors
from workbench.present.glyphs import UNICODE
from workbench.present.rows import Column, Row, Table
from workbench.present.text import Line, Span, Tone
from workbench.project import WorkbenchError

MOST_ROWS = 500
"""A snapshot has no more rows of one table; the DataFrame has them all."""

_STYLE = """<style>
.wb{font:12px/1.5 var(--jp-code-font-family,ui-monospace,monospace)}
.wb table{border-collapse:collapse;margin:4px 0}
div.wb.wb th{text-align:left;font-weight:600;padding:1px 10px 1px 0;border-bottom:1px solid #8886}
div.wb.wb td{text-align:left;padding:1px 10px 1px 0;white-space:pre-wrap;vertical-align:top}
div.wb.wb td.right,div.wb.wb th.right{text-align:right}
.wb-strong{font-weight:600}.wb-muted{opacity:.65}.wb-good,.wb-added{color:#1a7f37}.wb-busy,.wb-source{color:#0969da}
.wb-warn,.wb-changed{color:#9a6700}.wb-bad,.wb-removed{color:#cf222e}.wb-key{color:#0550ae}
.wb-added-part{color:#1a7f37;background:#1a7f3726;font-weight:600}
.wb-removed-part{color:#cf222e;background:#cf222e26;font-weight:600}
.wb-environment{font-weight:600}.wb-protected{color:#fff;background:#cf222e;font-weight:600}
</style>"""


@dataclass(frozen=True, slots=True)
class Tab:
    """One way to look at a result: `table` under its `name`."""

    name: str
    table: Table


@dataclass(frozen=True, slots=True)
class Picture:
    """All that is shown of a result: lines on top, tables, lines below. `facts` say how far something that runs is."""

    head: tuple[Line, ...] = ()
    tabs: tuple[Tab, ...] = ()
    foot: tuple[Line, ...] = ()


def html(picture: Picture) -> str:
    """Returns a fragment that stands alone: no scripts, no links, nothing from elsewhere."""
    body = "".join(map(_block, picture.head))
    for number, tab in enumerate(picture.tabs):
        if number:
            body += f"<details><summary>{escape(tab.name)}</summary>{_table(tab.table)}</details>"
        else:
            body += _table(tab.table)
    return f'{_STYLE}<div class="wb">{body}{"".join(map(_block, picture.foot))}</div>'


def text(picture: Picture) -> str:
    """Returns the first table between the lines, as a terminal would show it."""
    parts = [str(each) for each in picture.head]
    for tab in picture.tabs[:1]:
        parts += _text_rows(tab.table)
    return "\n".join((*parts, *(str(each) for each in picture.foot)))


def error_lines(error: WorkbenchError | RuntimeFailure) -> list[str]:
    return [f"{type(error).__name__}", *(str(each) for each in errors.lines(error, UNICODE))]


def _block(line: Line) -> str:
    return f"<div>{_spans(line)}</div>"


def _spans(line: Line) -> str:
    return "".join(map(_span, line.spans))


def _span(span: Span) -> str:
    text = escape(harmless(span.text))
    return text if span.tone is Tone.PLAIN or not text else f'<span class="wb-{span.tone}">{text}</span>'


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    head = "".join(f"<th{_right(each)}>{escape(each.title)}</th>" for each in table.columns)
    rows = "".join(f"<tr>{_cells(table.columns, row)}</tr>" for row in table.rows[:MOST_ROWS])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{_more(table, _paragraph)}"


def _cells(columns: Sequence[Column], row: Row) -> str:
    cells = []
    for number, (column, cell) in enumerate(zip(columns, row.cells, strict=True)):
        # non-breaking spaces survive viewers that drop the styles
        indent = " " * 3 * row.depth if number == 0 else ""
        cells.append(f"<td{_right(column)}>{indent}{_spans(cell)}</td>")
    return "".join(cells)


def _right(column: Column) -> str:
    return ' class="right"' if column.right else ""


def _paragraph(words: str) -> str:
    return f'<div class="wb-muted">{escape(words)}</div>'


def _more(table: Table, shown: Callable[[str], str]) -> str:
    rest = len(table.rows) - MOST_ROWS
    return shown(f"… and {rest} more rows: .df has them all") if rest > 0 else ""


def _text_rows(table: Table) -> Iterable[str]:
    if not table.rows:
        return
    body = [_text_cells(row) for row in table.rows[:MOST_ROWS]]
    titles = [each.title for each in table.columns]
    widths = [max(len(line[index]) for line in (titles, *body)) for index in range(len(titles))]
    for line in (titles, *body) if any(titles) else body:
        padded = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, table.columns, strict=True)
        )
        yield "  ".join(padded).rstrip()
    if more := _more(table, lambda words: words):
        yield more


def _text_cells(row: Row) -> list[str]:
    first, *others = (str(cell) for cell in row.cells)
    return ["  " * row.depth + first, *others]
