"""Edits as somebody makes them: another value where a file writes one out.

Which value is found at run time, through provenance: one of the output that this file decided. So an edit changes what
is deployed, and a benchmark can see that it did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kcl import api

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """The value at `start` to `end` of the file `name`, a number or a text; `reached` is where it is in the output."""

    name: str
    text: str
    start: int
    end: int
    value: int | str
    reached: tuple[int, Path]

    def other(self, number: int) -> int | str:
        """The value that stands there after the edit `number`; none is the same as another or as the first."""
        return self.value + number + 1 if isinstance(self.value, int) else f"{self.value}-{number + 1}"

    def edited(self, number: int) -> str:
        """The text of the file after the edit `number`."""
        other = self.other(number)
        written = str(other) if isinstance(other, int) else f'"{other}"'
        return self.text[: self.start] + written + self.text[self.end :]

    def is_in(self, documents: Sequence[Any], number: int) -> bool:
        """Whether the output is that of the edit `number`."""
        document, path = self.reached
        found = documents[document]
        for step in path:
            found = found[step]
        return bool(found == self.other(number))


def edits(result: api.RunResult) -> list[Edit]:
    """Every value of the output that some file wrote out, those of numbers first."""
    found = []
    for number, document in enumerate(result.documents):
        for path, value in _leaves(document):
            sites = result.provenance.lookup(number, path)
            place = sites[0].literal if sites else None
            if place is None or isinstance(value, bool) or not isinstance(value, int | str):
                continue
            text = result.sources[place.path]
            written = str(value) if isinstance(value, int) else f'"{value}"'
            if text[place.start : place.end] == written and '"' not in written[1:-1]:
                found.append(Edit(place.path, text, place.start, place.end, value, (number, path)))
    return sorted(found, key=lambda each: isinstance(each.value, str))


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value
