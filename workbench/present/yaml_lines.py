"""A body as lines of YAML, each with the path it shows: for screens, so that every line can name its source.

What programs read is written by the language's own emitter. This one is for reading: secrets are already masked, long
text is cut where a row would end, and every line knows its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.base import FieldPath, Unknown
from workbench.engine.masking import Masked
from workbench.present.text import Line, Span, Tone, line

_SAFE = re.compile(r"[A-Za-z_./@][\w./:@+-]*(?: [\w./@+-]+)*")
_RESERVED = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"}


@dataclass(frozen=True, slots=True)
class YamlLine:
    """`path` is that of the value that begins in this line, with plain indexes for list elements."""

    path: FieldPath
    text: Line
    is_leaf: bool


def yaml_lines(body: Any, *, indent: int = 0) -> Iterator[YamlLine]:
    """Yields the lines of a mapping or list; scalars give one line."""
    yield from _lines(body, (), "  " * indent, "")


def _lines(value: Any, path: FieldPath, margin: str, lead: str) -> Iterator[YamlLine]:
    """`lead` is what stands before the first line after the margin: `- ` of a list element, or nothing."""
    match value:
        case Mapping() if value:
            for index, (key, each) in enumerate(value.items()):
                start = lead if index == 0 else " " * len(lead)
                yield from _entry(str(key), each, (*path, str(key)), margin + start)
        case list() if value:
            for index, each in enumerate(value):
                start = lead if index == 0 else " " * len(lead)
                yield from _lines(each, (*path, index), margin + start, "- ")
        case _:
            yield YamlLine(path, line(margin + lead, scalar(value)), True)


def _entry(key: str, value: Any, path: FieldPath, margin: str) -> Iterator[YamlLine]:
    name = Span(f"{key if _SAFE.fullmatch(key) else repr(key)}:", Tone.KEY)
    is_container = isinstance(value, Mapping | list) and bool(value)
    if is_container:
        yield YamlLine(path, line(margin, name), False)
        deeper = " " * len(margin) + ("" if isinstance(value, list) else "  ")
        yield from _lines(value, path, deeper, "")
    elif isinstance(value, str) and "\n" in value:
        yield YamlLine(path, line(margin, name, " |"), True)
        for each in value.splitlines():
            yield YamlLine(path, line(" " * len(margin), "  ", each), False)
    else:
        yield YamlLine(path, line(margin, name, " ", scalar(value)), True)


def scalar(value: Any) -> Span:
    """Returns a value as YAML writes it in one line; a masked one as its mask."""
    match value:
        case None:
            return Span("null", Tone.MUTED)
        case bool():
            return Span("true" if value else "false")
        case Masked() | Unknown():
            return Span(str(value), Tone.MUTED)
        case str():
            plain = _SAFE.fullmatch(value) and value.lower() not in _RESERVED and not value.endswith(":")
            return Span(value if plain else "'" + value.replace("'", "''") + "'")
        case Mapping() | list() if not value:
            return Span("{}" if isinstance(value, Mapping) else "[]")
        case _:
            return Span(str(value))
