"""Two readings of one text, and where they differ: by the grammar's tables, and by recursive descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from kcl.diagnostics import Diagnostic
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.builder import Builder
from kcl.syntax.parser import _by_tables, _Findings, _tolerantly
from tests.kcl.conformance import FOLDER
from tests.properties.projects import SAMPLE

CORPORA = ("kcl-grammar", "konfig-2023", "konfig-2025", "kcl-modules")


def by_grammar(text: str) -> list[ast.Stmt] | None:
    """The statements of a file; None where the grammar refuses it."""
    findings = _Findings(SourceFile("main.k", text))
    body = _by_tables(text, findings, [], Builder(text, findings.report, True))
    return None if findings.found else body


def by_descent(text: str) -> tuple[list[ast.Stmt], list[Diagnostic]]:
    findings = _Findings(SourceFile("main.k", text))
    return _tolerantly(text, findings, Builder(text, findings.report, True)), findings.found


def difference(one: Any, other: Any, where: str = "file") -> str | None:
    """Where two trees part first, places included; None where they are equal."""
    if type(one) is not type(other):
        return f"{where}: {one!r} and {other!r}"
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"{where}: {len(one)} and {len(other)} of them"
        pairs: Iterator[tuple[Any, Any, str]] = ((*pair, where) for pair in zip(one, other, strict=True))
    elif isinstance(one, ast.Node):
        names = [each.name for each in fields(one)]
        pairs = ((getattr(one, name), getattr(other, name), f"{type(one).__name__}.{name}") for name in names)
    else:
        return None if one == other else f"{where}: {one!r} and {other!r}"
    return next(filter(None, (difference(*pair) for pair in pairs)), None)


def disagreement(text: str) -> str | None:
    """What is read in another way, of a text the grammar takes; None where nothing is."""
    grammar = by_grammar(text)
    if grammar is None:
        return None
    body, found = by_descent(text)
    return f"refused: {found[0].message} at {found[0].primary}" if found else difference(grammar, body)


def programs(corpus: str) -> list[Path]:
    """The files of a corpus in their order; none where it is not at hand."""
    return sorted((FOLDER / corpus).rglob("*.k"))


def sample() -> list[Path]:
    return sorted(SAMPLE.rglob("*.k"))


def text_of(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")
