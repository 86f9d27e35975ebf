"""What a page about a diagnostic consists of."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from kcl.diagnostics import Code
from kcl.records import dataclass, field


class Reporter(Enum):
    """Who gives the diagnostic."""

    RUN = "kcl run"
    MIGRATE = "wb migrate --check"
    LINT = "kcl lint"
    NOBODY = ""
    """Known of the official compiler; here another code is given instead."""


@dataclass(frozen=True, slots=True)
class Page:
    """One code, for somebody who has just met it.

    `meaning` says what is the matter, `mend` what to do. `wrong` is a program that gives exactly this diagnostic, and
    `right` the same program mended; both are texts by file name, and are compiled in the tests.
    """

    code: Code
    meaning: str
    mend: str
    wrong: Mapping[str, str] = field(default_factory=dict)
    right: Mapping[str, str] = field(default_factory=dict)
    told: Reporter = Reporter.RUN


def page(code: Code, meaning: str, mend: str, wrong: str | Mapping[str, str], right: str | Mapping[str, str]) -> Page:
    """A page with examples; a text stands for a program of that one file."""
    return Page(code, meaning, mend, _files(wrong), _files(right))


def migration_page(
    code: Code, meaning: str, mend: str, wrong: str | Mapping[str, str], right: str | Mapping[str, str]
) -> Page:
    return Page(code, meaning, mend, _files(wrong), _files(right), Reporter.MIGRATE)


def lint_page(code: Code, meaning: str, mend: str, wrong: str, right: str) -> Page:
    return Page(code, meaning, mend, _files(wrong), _files(right), Reporter.LINT)


def foreign_page(code: Code, meaning: str, mend: str) -> Page:
    """A page about a code that only the official compiler gives."""
    return Page(code, meaning, mend, told=Reporter.NOBODY)


def _files(program: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"main.k": program} if isinstance(program, str) else program
