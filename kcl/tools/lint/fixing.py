"""The findings that can be mended: what is edited, and the proof that nothing else changed."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.diagnostics import Severity
from kcl.records import dataclass
from kcl.source import FileSystem, OverlayFileSystem
from kcl.tools.lint.linting import Linted, lint
from kcl.tools.migrate import Overlap, apply_edits


@dataclass(frozen=True, slots=True)
class Fixed:
    """`texts` are the files that change, by path. `refused` says why nothing is changed, "" where something may be."""

    texts: dict[str, str]
    count: int
    refused: str = ""


def fixes(found: Linted, files: FileSystem, packages: str | None = None) -> Fixed:
    """Makes all safe edits, and checks the programs again: an error that was not there before refuses them all."""
    mended = [each for each in found.findings if each.edits]
    try:
        texts = apply_edits(found.texts, [edit for each in mended for edit in each.edits])
    except Overlap as problem:
        return Fixed({}, 0, f"two fixes change the same characters of {problem}: fix one by hand")
    if not texts:
        return Fixed({}, 0)
    again = lint(found.files, OverlayFileSystem(files, texts), packages=packages)
    before = _errors(found)
    new = [each for each in _errors(again) if each not in before]
    if new:
        return Fixed({}, 0, f"the program would be wrong after it: {new[0]}")
    return Fixed(texts, len(mended))


def _errors(linted: Linted) -> Sequence[str]:
    return [each.message for each in linted.diagnostics if each.severity is Severity.ERROR]
