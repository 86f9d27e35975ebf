"""What the rules are handed, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kcl.diagnostics import Code, Diagnostic, Span, warning
from kcl.evaluator.coverage import Reached
from kcl.records import dataclass
from kcl.syntax import ast
from kcl.tools.lint.deprecated import Deprecated
from kcl.tools.migrate import Edit

_MOST_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `edits` mend it and keep what the program means; empty where only a person can tell how."""

    diagnostic: Diagnostic
    edits: tuple[Edit, ...] = ()

    @property
    def span(self) -> Span:
        assert self.diagnostic.primary is not None, "a finding of the linter always has a place"
        return self.diagnostic.primary


@dataclass(frozen=True, slots=True)
class Subject:
    """A file to look at.

    `siblings` are the other files of its package: they may read what it declares. `occurrences` tells how often a
    private word stands in the files of the repository.
    """

    path: str
    text: str
    tree: ast.Module
    siblings: Sequence[ast.Module]
    occurrences: Callable[[str], int]
    nodes: Sequence[ast.Node]
    """All of the tree: what most rules go through."""
    deprecated: Deprecated
    """What the program uses that its authors want to take away."""
    reached: Mapping[str, Reached] | None = None
    """What stacks reach, by path; None where none was run."""

    def line(self, offset: int) -> int:
        """The number of the line that a character stands on, from 1."""
        return self.text.count("\n", 0, offset) + 1


def found(code: Code, message: str, subject: Subject, node: ast.Node, edits: tuple[Edit, ...] = ()) -> Finding:
    """A finding about a node."""
    return found_at(code, message, subject, node.start, node.end, edits)


def found_at(code: Code, message: str, subject: Subject, start: int, end: int, edits: tuple[Edit, ...] = ()) -> Finding:
    """A finding about some characters of the file."""
    return Finding(warning(code, message, Span(subject.path, start, end)), edits)


def shortened(text: str) -> str:
    """A piece of a program as a message quotes it."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."
