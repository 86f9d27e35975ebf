"""Where values come from: the table of source positions of one evaluation, and look-ups by path in its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcl.diagnostics import Span
from kcl.evaluator.sites import Site, SiteKind, ranked
from kcl.evaluator.value import UNDEFINED, KDict, KList, SchemaInstance, Sites, Value
from kcl.records import dataclass, field
from kcl.source import SourceFile


class SiteTable:
    """The sites of one evaluation, as cheap to add as an append; lines are counted when somebody asks."""

    __slots__ = ("_entries", "_spans")

    def __init__(self) -> None:
        self._entries: list[tuple[SourceFile, int, int, SiteKind, tuple[int, int] | None, str]] = []
        self._spans: dict[int, Span] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(
        self,
        source: SourceFile,
        start: int,
        end: int,
        kind: SiteKind,
        literal: tuple[int, int] | None,
        option: str = "",
    ) -> Sites:
        """A chain of just the new site; `literal` is where the value stands as it is, None if it does not."""
        self._entries.append((source, start, end, kind, literal, option))
        return (len(self._entries) - 1,)

    def is_literal(self, index: int) -> bool:
        return self._entries[index][4] is not None

    def span(self, index: int) -> Span:
        known = self._spans.get(index)  # a loop asks for the same ones again and again
        if known is None:
            source, start, end, *_ = self._entries[index]
            known = self._spans[index] = Span(source.path, start, end)
        return known

    def plain(self, index: int) -> tuple[str, int, int, int, int, str, tuple[int, int] | None, str]:
        """As `site`, of plain values: file, line, column, start and end, kind, start and end of the literal, option."""
        source, start, end, kind, literal, option = self._entries[index]
        place = source.position(start)
        return source.path, place.line, place.column, start, end, kind.value, literal, option

    def site(self, index: int, givers: Mapping[str, str] | None = None) -> Site:
        """`givers` says who gave each option."""
        source, start, end, kind, literal, option = self._entries[index]
        place = source.position(start)
        written = None if literal is None else Span(source.path, *literal)
        giver = givers.get(option, "") if givers else ""
        return Site(source.path, place.line, place.column, kind, Span(source.path, start, end), written, option, giver)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The sites behind each value of the output.

    `documents` are the values the output documents were planned from, in order. `user_files` are the files of the main
    package: what a user writes, as opposed to the models it is written in. `givers` says who gave each option.
    """

    table: SiteTable
    documents: Sequence[Value]
    user_files: frozenset[str] = frozenset()
    givers: Mapping[str, str] = field(default_factory=dict)

    def lookup(self, document: int, path: Sequence[str | int]) -> tuple[Site, ...]:
        """The places that decided the value at `path` of an output document, the most decisive first.

        Places in the main package come before those in packages it imports, the latest change of a value before
        what it changed, and where a value was written before where it was passed on.
        A value that has no place of its own answers with that of the closest container that has one. Empty when the
        document or path does not exist, or nothing in the source is known to have decided it.
        """
        if not 0 <= document < len(self.documents):
            return ()
        value: Value = self.documents[document]
        found: Sites = ()
        for step in path:
            if isinstance(value, KDict) and isinstance(step, str) and step in value:
                found = value.sites_of(step) or found
                value = value[step]
            elif isinstance(value, list) and isinstance(step, int):
                visible = [index for index, item in enumerate(value) if item is not UNDEFINED]
                if not -len(visible) <= step < len(visible):
                    return ()
                index = visible[step]
                sites = value.sites if isinstance(value, KList) else None
                found = (sites[index] if sites else ()) or found
                value = value[index]
            elif isinstance(value, Mapping) and step in value:
                value = value[step]
            else:
                return ()
        return ranked([self.table.site(index, self.givers) for index in found], self.user_files)

    def schema(self, document: int, path: Sequence[str | int]) -> str | None:
        """The name of the schema the value at `path` is an instance of, None for anything else."""
        value: Value = self.documents[document] if 0 <= document < len(self.documents) else None
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value.schema.name if isinstance(value, SchemaInstance) else None
