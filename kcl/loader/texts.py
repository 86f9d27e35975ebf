"""The texts of files and the trees they are parsed to, as inputs and answers of a memo."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from kcl.diagnostics import Diagnostic
from kcl.memo.queries import Input, Memo, Query, Request
from kcl.source import SourceFile
from kcl.syntax import ast

Parsed = tuple[SourceFile, ast.Module, tuple[Diagnostic, ...]]

TEXT: Final[Input[str, str]] = Input("text")
"""Of a file, by its path."""


def reading(memo: Memo, read_text: Callable[[str], str]) -> Request:
    """A request that reads texts so, each once. What cannot be read raises OSError or UnicodeDecodeError."""
    request = memo.request()
    request.provide_input(TEXT, read_text)
    return request


def _parsed(request: Request, key: tuple[str, bool]) -> Parsed:
    from kcl.syntax import parse  # nothing else here needs the parse tables

    path, dedent = key
    source = SourceFile(path, request.read(TEXT, path))
    result = parse(source, dedent=dedent)
    return source, result.module, tuple(result.diagnostics)


PARSED: Final = Query("parsed", _parsed, is_same=operator.is_)
"""By the path of a file and whether its strings lose their common indentation."""
