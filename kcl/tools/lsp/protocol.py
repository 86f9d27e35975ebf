"""Our values as messages of the Language Server Protocol have them, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from lsprotocol import types as lsp

from kcl.diagnostics import Code, Diagnostic, Severity, Span
from kcl.tools.lsp import completing, outline
from kcl.tools.lsp.documents import Edit
from kcl.tools.lsp.outline import Kind
from kcl.tools.lsp.positions import Lines, Place, Range, Unit

SYMBOL_KINDS: Final = {
    Kind.SCHEMA: lsp.SymbolKind.Struct,
    Kind.ATTRIBUTE: lsp.SymbolKind.Property,
    Kind.FUNCTION: lsp.SymbolKind.Function,
    Kind.TYPE: lsp.SymbolKind.Interface,
    Kind.MODULE: lsp.SymbolKind.File,
}
_ITEM_KINDS: Final = {
    Kind.SCHEMA: lsp.CompletionItemKind.Struct,
    Kind.ATTRIBUTE: lsp.CompletionItemKind.Property,
    Kind.FUNCTION: lsp.CompletionItemKind.Function,
    Kind.MODULE: lsp.CompletionItemKind.Module,
    Kind.TYPE: lsp.CompletionItemKind.Interface,
    Kind.KEYWORD: lsp.CompletionItemKind.Keyword,
    Kind.VALUE: lsp.CompletionItemKind.Value,
}


def symbol_of(found: outline.Symbol, lines: Lines) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        name=found.name or "_",
        kind=SYMBOL_KINDS.get(found.kind, lsp.SymbolKind.Variable),
        range=range_of(lines.range(found.start, found.end)),
        selection_range=range_of(lines.range(found.name_start, found.name_end)),
        children=[symbol_of(each, lines) for each in found.children],
    )


def completion_of(found: completing.Completion, lines: Lines, offset: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=found.label,
        kind=_ITEM_KINDS.get(found.kind, lsp.CompletionItemKind.Variable),
        detail=found.detail or None,
        sort_text=f"{found.rank}{found.label}",
        text_edit=lsp.TextEdit(range_of(lines.range(found.start, offset)), found.text),
    )


SEVERITIES: Final = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
}
_UNNECESSARY: Final = frozenset((Code.UNUSED_IMPORT, Code.REIMPORT, Code.UNUSED_VARIABLE, Code.DEAD_VALUE))


def diagnostic_of(item: Diagnostic, lines: LinesOf, path: str, uri: Callable[[str], str]) -> lsp.Diagnostic:
    """A diagnostic in a file; what has no place is shown at its start."""
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(uri(label.span.path), lines.range(label.span)), said)
        for label in (*item.labels, *(each for hint in item.hints for each in hint.labels))
        if (said := label.message or "here")
    ]
    return lsp.Diagnostic(
        range=lines.range(item.primary or Span(path, 0, 0)),
        message="\n".join((item.message, *_beside(item))),
        severity=SEVERITIES[item.severity],
        code=item.code.number,
        source="kcl",
        related_information=related or None,
    )


def _beside(item: Diagnostic) -> Iterator[str]:
    """What is said of a diagnostic beside its message, a line each."""
    yield from (f"note: {note}" for note in (*item.notes, *item.suggestions))
    yield from (f"help: {hint.message}" for hint in item.hints)


def finding_of(item: Diagnostic, lines: LinesOf, path: str, uri: Callable[[str], str]) -> lsp.Diagnostic:
    """A finding of the linter: of a severity below that of warnings, which are about what a run does."""
    found = diagnostic_of(item, lines, path, uri)
    found.severity, found.source = lsp.DiagnosticSeverity.Information, "kcl lint"
    found.tags = [lsp.DiagnosticTag.Unnecessary] if item.code in _UNNECESSARY else None
    return found


def not_checked(why: str) -> lsp.Diagnostic:
    """What is said at the start of a file that could not be checked: that nothing is shown is no good news."""
    start = lsp.Position(0, 0)
    message = f"not checked: this is a bug in kcl lsp: {why}"
    return lsp.Diagnostic(lsp.Range(start, start), message, lsp.DiagnosticSeverity.Error, source="kcl")


def too_large(characters: int, most: int) -> lsp.Diagnostic:
    """What is said at the start of a file of which an editor is not told everything."""
    message = (
        f"the file has {characters:,} characters, more than {most:,}: in the editor it is not linted, coloured by "
        "meaning or completed by type; kcl lint looks at it"
    )
    start = lsp.Position(0, 0)
    return lsp.Diagnostic(lsp.Range(start, start), message, lsp.DiagnosticSeverity.Information, source="kcl lint")


class LinesOf:
    """Ranges in files, the lines of each counted once."""

    def __init__(self, texts: Mapping[str, str], unit: Unit) -> None:
        self._texts, self._unit = texts, unit
        self._known: dict[str, Lines] = {}

    def range(self, span: Span) -> lsp.Range:
        lines = self._known.get(span.path)
        if lines is None:
            lines = self._known[span.path] = Lines(self._texts.get(span.path, ""), self._unit)
        return range_of(lines.range(span.start, max(span.start, span.end)))


def range_of(found: Range) -> lsp.Range:
    """A range as the protocol has it."""
    start, end = found.start, found.end
    return lsp.Range(lsp.Position(start.line, start.column), lsp.Position(end.line, end.column))


def place_of(position: lsp.Position) -> Place:
    return Place(position.line, position.character)


def edit_of(change: lsp.TextDocumentContentChangeEvent) -> Edit:
    if isinstance(change, lsp.TextDocumentContentChangePartial):
        return Edit(Range(place_of(change.range.start), place_of(change.range.end)), change.text)
    return Edit(None, change.text)
