"""What the linter finds in a change, as values: who shows it loads nothing of the language."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from kcl.records import dataclass


class LintScope(StrEnum):
    """Where findings count: on lines that changed, anywhere in files that changed, nowhere."""

    LINES = "lines"
    FILES = "files"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class LintFinding:
    """`file` is where the user has it; `line` is the first of what is meant, or the first of it that changed."""

    code: str
    title: str
    message: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class LintReport:
    """`unknown` says what could not be looked at, one text a file, and why: no findings there prove nothing."""

    scope: LintScope
    files: int
    findings: tuple[LintFinding, ...] = ()
    unknown: tuple[str, ...] = ()
