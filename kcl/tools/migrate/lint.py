"""What a migration finds: a legacy construct, where it stands, and the edit that says the same in today's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcl.diagnostics import Diagnostic, Span
from kcl.records import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters `start` up to, not including, `end` of the file at `path` become `text`."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Lint:
    """One use of a legacy construct.

    `edits` modernise it; empty where only a person can. Lints of one `group` make sense only together (a name that is
    declared in one file and used in others); "" stands alone.
    """

    diagnostic: Diagnostic
    edits: tuple[Edit, ...] = ()
    group: str = ""

    @property
    def span(self) -> Span:
        assert self.diagnostic.primary is not None, "a migration lint always has a place"
        return self.diagnostic.primary

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Two lints with one key are the same finding, made twice: files belong to many programs."""
        span = self.span
        return span.path, span.start, span.end, self.diagnostic.code.number


class Overlap(Exception):
    """Two edits want to change the same characters differently; the text names the file."""


def apply_edits(texts: Mapping[str, str], edits: Iterable[Edit]) -> dict[str, str]:
    """The texts of the files that change, with all edits made. Edits that are equal count once.

    An edit inside the characters that another takes away has nothing left to change, and is dropped. Raises Overlap
    where two disagree otherwise: nothing is known then about what either would mean.
    """
    by_path: dict[str, set[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, set()).add(edit)
    changed = {}
    for path, wanted in by_path.items():
        pieces: list[str] = []
        text, at, last = texts[path], 0, None
        for edit in sorted(wanted, key=_order):
            if edit.start < at:
                if last is None or edit.end > at or (edit.start, edit.end) == (last.start, last.end):
                    raise Overlap(path)
                continue
            pieces += (text[at : edit.start], edit.text)
            at, last = edit.end, edit
        pieces.append(text[at:])
        joined = "".join(pieces)
        if joined != text:
            changed[path] = joined
    return changed


def _order(edit: Edit) -> tuple[int, bool, int, str]:
    """From the start of the file on; what is inserted comes first, of what is replaced the longest."""
    return edit.start, edit.start != edit.end, -edit.end, edit.text
