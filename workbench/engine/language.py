"""What the language service says of texts that are being edited: what can be written at a place, and what is wrong.

It checks and does not evaluate, so it runs in this process; callers put it on a thread, one call at a time. Files are
read from where a compilation of the repository may read them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kcl.diagnostics import Severity
from kcl.records import dataclass
from kcl.tools.lsp import completing
from kcl.tools.lsp.positions import Lines, Place, Unit
from kcl.tools.lsp.sessions import MOST_CHARACTERS
from kcl.tools.lsp.sessions import Session as Texts
from workbench.engine.compile import read_from
from workbench.engine.compiled import CompileInputs


@dataclass(frozen=True, slots=True)
class Choice:
    """What may stand in place of `text[start:end]` of the line; `detail` is its type."""

    label: str
    detail: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Finding:
    """`line` and `column` count from 1, and are 0 where no place is at fault."""

    file: Path
    line: int
    column: int
    message: str
    is_error: bool


class Language:
    """The texts of one What-if. Not to be used by two threads at a time."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self._texts = Texts(read_from(checkout, folder, CompileInputs()), os.environ)

    def _take(self, edits: Mapping[Path, str]) -> None:
        opened = self._texts.documents.opened
        for path in set(opened) - {str(each) for each in edits}:
            self._texts.close(path)
        for each, text in edits.items():
            if str(each) not in opened or opened[str(each)].text != text:
                self._texts.open(str(each), text, None)

    def choices(self, edits: Mapping[Path, str], file: Path, line: int, column: int) -> tuple[Choice, ...]:
        """Returns what can be written in a file at a place, counted from 0, the likeliest first.

        `edits` are the texts as they are edited, that of the file among them.
        """
        self._take(edits)
        text, path, documents = edits[file], str(file), self._texts.documents
        lines = Lines(text, Unit.UTF_32)
        offset = lines.offset(Place(line, column))
        if self._texts.is_large(path):
            found = completing.declared_names(text, offset)
        else:
            found = completing.complete(
                text, offset, path, documents.files, lambda changed: self._texts.view(path, documents, changed)
            )
        word = text[lines.offset(Place(line, 0)) : offset]
        begun = {each.start: text[each.start : offset] for each in found}
        return tuple(
            Choice(each.label, each.detail, each.text, len(word) - (offset - each.start))
            for each in found
            if each.label.startswith(begun[each.start]) or each.text.startswith(begun[each.start])
        )

    def findings(self, edits: Mapping[Path, str]) -> tuple[Finding, ...]:
        """Returns what is wrong with the programs of the edited files, errors first; nothing of long texts."""
        if any(len(each) > MOST_CHARACTERS for each in edits.values()):
            return ()  # the compilation tells
        self._take(edits)
        found = self._texts.diagnostics()
        assert found is not None, "nobody ends it"
        told: list[Finding] = []
        for path, items in found.by_path.items():
            lines = Lines(found.texts.get(path, ""), Unit.UTF_32)
            for each in items:
                at = lines.place(each.primary.start) if each.primary is not None else Place(-1, -1)
                is_error = each.severity is Severity.ERROR
                told.append(Finding(Path(path), at.line + 1, at.column + 1, each.message, is_error))
        return tuple(sorted(told, key=lambda each: (not each.is_error, str(each.file), each.line, each.column)))
