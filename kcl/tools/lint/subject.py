"""What the rules are handed, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, TypeVar, cast

from kcl.diagnostics import Code, Diagnostic, Span, position, warning
from kcl.evaluator.coverage import Reached
from kcl.records import dataclass
from kcl.syntax import ast
from kcl.syntax.walking import walk
from kcl.tools.lint.deprecated import Deprecated
from kcl.tools.migrate import Edit

_MOST_CHARACTERS: Final = 60
_Kind = TypeVar("_Kind", bound=ast.Node)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `edits` mend it and keep what the program means; empty where only a person can tell how."""

    diagnostic: Diagnostic
    edits: tuple[Edit, ...] = ()

    @property
    def span(self) -> Span:
        assert self.diagnostic.primary is not None, "a finding of the linter always has a place"
        return self.diagnostic.primary


class Nodes:
    """All nodes of a tree, outer before inner. Most rules look at few kinds of them."""

    def __init__(self, tree: ast.Module) -> None:
        self.all: Sequence[ast.Node] = tuple(walk(tree))
        self._by_kind: dict[type, list[tuple[int, ast.Node]]] = {}
        for at, node in enumerate(self.all):
            self._by_kind.setdefault(type(node), []).append((at, node))

    def of(self, *kinds: type[_Kind]) -> list[_Kind]:
        """Those of some kinds, in the order of all."""
        found = [pair for kind in kinds for pair in self._by_kind.get(kind, ())]
        if len(kinds) > 1:
            found.sort(key=itemgetter(0))
        return cast("list[_Kind]", [node for _, node in found])


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
    nodes: Nodes
    deprecated: Deprecated
    """What the program uses that its authors want to take away."""
    reached: Mapping[str, Reached] | None = None
    """What stacks reach, by path; None where none was run."""

    def line(self, offset: int) -> int:
        """The number of the line that a character stands on, from 1."""
        return position(self.text, offset).line


def found(code: Code, message: str, subject: Subject, node: ast.Node, edits: tuple[Edit, ...] = ()) -> Finding:
    """A finding about a node."""
    return found_at(code, message, subject, node.start, node.end, edits)


def found_at(code: Code, message: str, subject: Subject, start: int, end: int, edits: tuple[Edit, ...] = ()) -> Finding:
    """A finding about some characters of the file."""
    return Finding(warning(code, message, Span(subject.path, start, end)), edits)


def shortened(text: str) -> str:
    """A piece of a program as a message quotes it."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."
