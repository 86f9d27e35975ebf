"""What hints say, and what a text is once their edits are made."""

from __future__ import annotations

from collections.abc import Iterable

from kcl.api import Diagnostic, parse, taught


def told(text: str) -> list[Diagnostic]:
    """The syntax errors a person sees."""
    return [each for each in taught(parse(text).diagnostics, {"main.k": text}) if not each.follows]


def mended(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    """The text after the edits of all hints."""
    edits = {edit for each in diagnostics for hint in each.hints for edit in hint.edits}
    for edit in sorted(edits, key=lambda each: each.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text
