"""The places in the source behind a value, apart from the values: who reads them need not load what evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from kcl.diagnostics import Span
from kcl.records import dataclass


class SiteKind(StrEnum):
    """What a place in the source did to a value."""

    LITERAL = "literal"
    """`key: value` in a configuration, an item of a list or an assignment, with the value written out."""
    EXPRESSION = "expression"
    """The same, with a value that is computed or comes from elsewhere."""
    OVERRIDE = "override"
    """`key = value` in a configuration."""
    INSERT = "insert"
    """`key += value` in a configuration."""
    DEFAULT = "default"
    """The default of a schema's attribute."""
    COMPREHENSION = "comprehension"
    """What a comprehension makes of each item."""
    ARGUMENT = "argument"
    """An argument of a lambda or schema, which the value came through."""
    OPTION = "option"
    """A call of `option`: the value was given from outside the program."""
    PLUGIN = "plugin"
    """A call of a Python function: the value was made there."""


@dataclass(frozen=True, slots=True)
class Site:
    """One place in the source; lines and columns count from 1.

    `literal` is where the value itself stands, None if the place does not write it out. `option` is the name of the
    option a value was asked for under, and `given_by` who gave it (a settings file, `-D`), "" where that is not known.
    """

    file: str
    line: int
    column: int
    kind: SiteKind
    span: Span
    literal: Span | None = None
    option: str = ""
    given_by: str = ""


def ranked(behind: Sequence[Site], user_files: frozenset[str]) -> tuple[Site, ...]:
    """The places behind a value, each once, those in the user's own files first."""
    places = list({(site.span, site.kind): site for site in behind}.values())
    return tuple(sorted(places, key=lambda place: place.file not in user_files))
