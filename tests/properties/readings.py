"""Two readings of one text, and where they part: by the grammar, and by the parser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from kcl.source import SourceFile
from kcl.syntax import ast, parse
from kcl.syntax.nodes import split_documentation
from tests.kcl.conformance import FOLDER
from tests.properties.projects import SAMPLE

CORPORA = ("kcl-grammar", "konfig-2023", "konfig-2025", "kcl-modules")


def by_grammar(text: str) -> list[ast.Stmt] | None:
    """The statements of a file; None where the grammar refuses it. Skips the test where lark is not installed."""
    pytest.importorskip("lark", reason="lark is not installed")
    from tests.kcl.syntax import reference

    return reference.read(text)


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
    result = parse(SourceFile("main.k", text))
    if result.diagnostics:
        return f"refused: {result.diagnostics[0].message} at {result.diagnostics[0].primary}"
    module, doc = result.module, None
    if module.doc is not None:
        doc, grammar = split_documentation(grammar, text, dedents=True)
    return difference([doc, *grammar], [module.doc, *module.body])


def programs(corpus: str) -> list[Path]:
    """The files of a corpus in their order; none where it is not at hand."""
    return sorted((FOLDER / corpus).rglob("*.k"))


def sample() -> list[Path]:
    return sorted(SAMPLE.rglob("*.k"))


def text_of(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")
