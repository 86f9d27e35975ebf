"""What passes from the scanner to the parser."""

from __future__ import annotations

from typing import Protocol

from kcl.diagnostics import Code

Token = tuple[str, int, int, str]
"""Kind, start, end and text; see kcl/syntax/descent/scanner.py."""


class Report(Protocol):
    """Told of an error at characters `start` to `end`."""

    def __call__(self, start: int, end: int, message: str, code: Code = Code.INVALID_SYNTAX, /) -> None: ...
