"""What a compiler printed, ours or the official one, read back: the class of each finding, its places and texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_HEAD = re.compile(r"(?:(?:error|warning)\[\w+\]: )?(\w+)$")
_PLACE = re.compile(r" *-+> (?:File )?(.*?):(\d+)(?::(\d+))?(?:: (.*))?$")
_TEXT = re.compile(r" *\| *\^? ?(.+)$")
"""What is said below a line of source, without a caret where only the line is known."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place is the name of a file, a line, a column (0 where none is printed) and what is said there."""

    title: str
    places: tuple[tuple[str, int, int, str], ...]

    @property
    def said(self) -> tuple[str, ...]:
        """What is said, without where."""
        return (*(said for *_, said in self.places), self.title)

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        return tuple((name, line) for name, line, *_ in self.places)


def findings(text: str) -> list[Finding]:
    """The findings in what a compiler prints, each once, in their order."""
    found: dict[Finding, None] = {}
    title = ""
    places: list[tuple[str, int, int, str]] = []
    place: tuple[str, int, int] | None = None

    def close() -> None:
        if title and places:
            found[Finding(title, tuple(places))] = None

    for line in _ANSI.sub("", text).splitlines():
        if head := _HEAD.match(line):
            close()
            title, places, place = head[1], [], None
        elif at := _PLACE.match(line):
            place = Path(at[1]).name, int(at[2]), int(at[3] or 0)
            if at[4] is not None:
                places.append((*place, at[4].strip()))
                place = None
        elif place and (said := _TEXT.match(line)):
            places.append((*place, said[1].strip()))
            place = None
    close()
    return list(found)
