"""The Language Server Protocol, by pygls: its messages on one side, `Session` and the features on the other.

Messages arrive on the thread of the event loop, which only keeps texts. Diagnostics are worked out on a second thread
and answers on a third, so that nobody who completes a word waits for a check. What was found of texts that have
changed since is thrown away (`Session.revision`), on the thread where they change: nothing stale is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from typing import Any, BinaryIO, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from kcl.diagnostics import Diagnostic, Severity, Span
from kcl.tools.fmt import Refused, changes
from kcl.tools.lsp import acting, colouring, completing, hovering, outline, referring
from kcl.tools.lsp.documents import Edit
from kcl.tools.lsp.outline import Kind
from kcl.tools.lsp.positions import Lines, Place, Range, Unit
from kcl.tools.lsp.resolving import Declaration
from kcl.tools.lsp.sessions import Found, Session

_DEBOUNCE_SECONDS: Final = 0.015
_WATCHED: Final = ("**/*.k", "**/kcl.mod", "**/kcl.mod.lock", "**/kcl.yaml", "**/settings.yaml")
_SEVERITIES: Final = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
}


class Server:
    """One editor, and what it is told."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.protocol = LanguageServer("kcl", _version())
        self.session = Session(environment=environment)
        self.checks = ThreadPoolExecutor(1, "kcl-checks")
        self.answers = ThreadPoolExecutor(1, "kcl-answers")
        self._changed = asyncio.Event()
        self._recent: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._uris: dict[str, str] = {}
        """The names that the editor has for paths."""
        self._published: frozenset[str] = frozenset()
        """Paths of which the editor shows diagnostics."""
        self._register()

    def _register(self) -> None:
        self._note(lsp.INITIALIZED, self._initialized)
        self._note(lsp.TEXT_DOCUMENT_DID_OPEN, self._opened)
        self._note(lsp.TEXT_DOCUMENT_DID_CHANGE, self._edited)
        self._note(lsp.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        self._note(lsp.TEXT_DOCUMENT_DID_SAVE, self._saved)
        self._note(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._touched)
        self._answer(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self._symbols)
        self._answer(lsp.TEXT_DOCUMENT_FOLDING_RANGE, self._folds)
        self._answer(lsp.TEXT_DOCUMENT_SELECTION_RANGE, self._selections)
        self._answer(lsp.TEXT_DOCUMENT_HOVER, self._hover)
        self._answer(lsp.TEXT_DOCUMENT_DEFINITION, self._definition)
        self._answer(lsp.TEXT_DOCUMENT_REFERENCES, self._references)
        self._answer(lsp.TEXT_DOCUMENT_COMPLETION, self._complete, lsp.CompletionOptions([".", " "]))
        self._answer(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, self._signature, lsp.SignatureHelpOptions(["(", ","]))
        self._answer(lsp.TEXT_DOCUMENT_RENAME, self._rename)
        legend = lsp.SemanticTokensLegend(colouring.KINDS, [])
        self._answer(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, self._tokens, legend)
        self._answer(lsp.TEXT_DOCUMENT_INLAY_HINT, self._hints)
        self._answer(lsp.TEXT_DOCUMENT_CODE_ACTION, self._actions)
        self._answer(lsp.TEXT_DOCUMENT_FORMATTING, self._laid_out)
        self._answer(lsp.TEXT_DOCUMENT_RANGE_FORMATTING, self._lines_laid_out)

        async def find(params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
            return await asyncio.get_running_loop().run_in_executor(self.answers, self._find, params)

        self.protocol.feature(lsp.WORKSPACE_SYMBOL)(find)

    def _note(self, method: str, work: Callable[[Any], None]) -> None:
        """Lets a notification be taken on the thread of the loop, in the order of arrival."""

        def take(params: Any) -> None:  # a method has no room for what pygls notes of it
            work(params)

        self.protocol.feature(method)(take)

    def _answer(self, method: str, work: Callable[[str, Any], Any], options: Any = None) -> None:
        """Lets a request about a file be answered on the thread of answers, None for what is no file."""

        async def answer(params: Any) -> Any:
            path = self.path(params.text_document.uri)
            if path is None:
                return None
            return await asyncio.get_running_loop().run_in_executor(self.answers, work, path, params)

        self.protocol.feature(method, options)(answer)

    # ------------------------------------------------------------ texts

    def _initialized(self, params: lsp.InitializedParams) -> None:
        self._task = asyncio.get_running_loop().create_task(self._check_for_ever())
        workspace = self.protocol.client_capabilities.workspace
        watching = workspace and workspace.did_change_watched_files
        if watching and watching.dynamic_registration:
            watchers = [lsp.FileSystemWatcher(each) for each in _WATCHED]
            options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
            registered = lsp.Registration("kcl-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.protocol.client_register_capability(lsp.RegistrationParams([registered]))

    def _opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self.session.columns = Unit(self.protocol.workspace.position_encoding or Unit.UTF_16)
        document = params.text_document
        path = self.path(document.uri)
        if path is not None:
            self._uris[path] = document.uri
            self.session.open(path, document.text, document.version)
            self._check_soon(path)

    def _edited(self, params: lsp.DidChangeTextDocumentParams) -> None:
        path = self.path(params.text_document.uri)
        if path is not None:
            self.session.change(path, [_edit(each) for each in params.content_changes], params.text_document.version)
            self._check_soon(path)

    def _closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        path = self.path(params.text_document.uri)
        if path is not None:
            self.session.close(path)
            self._check_soon(None)

    def _saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        self.session.touch()
        self._check_soon(self.path(params.text_document.uri))

    def _touched(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        self.session.touch()
        self._check_soon(None)

    @staticmethod
    def path(uri: str) -> str | None:
        """The file that a URI names; None for what is no file, such as a text nobody has saved yet."""
        return to_fs_path(uri) if uri.startswith("file:") else None

    def uri(self, path: str) -> str:
        return self._uris.get(path) or from_fs_path(path) or ""

    # ------------------------------------------------------------ diagnostics

    def _check_soon(self, path: str | None) -> None:
        self._recent = path or self._recent
        self._changed.set()

    async def _check_for_ever(self) -> None:
        while True:
            await self._changed.wait()
            while self._changed.is_set():
                self._changed.clear()
                await asyncio.sleep(_DEBOUNCE_SECONDS)
            await self._check()

    async def _check(self) -> None:
        session, revision = self.session, self.session.revision
        first = () if self._recent is None else (self._recent,)
        work = asyncio.get_running_loop().run_in_executor(
            self.checks, session.diagnostics, first, lambda: session.revision != revision
        )
        try:
            found = await work
        except Exception as bug:  # the editor goes on, and is told
            message = f"this is a bug in kcl lsp: {type(bug).__name__}: {bug}"
            self.protocol.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))
            return
        if found is not None and session.revision == revision:
            self._publish(found)

    def _publish(self, found: Found) -> None:
        opened = self.session.documents.opened
        lines = _LinesOf(found.texts, self.session.columns)
        for path in sorted(found.by_path.keys() | self._published):
            document = opened.get(path)
            shown = [self._shown(each, lines, path) for each in found.by_path.get(path, ())]
            self.protocol.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(self.uri(path), shown, None if document is None else document.version)
            )
        self._published = frozenset(path for path, items in found.by_path.items() if items)

    def _shown(self, item: Diagnostic, lines: _LinesOf, path: str) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(lsp.Location(self.uri(label.span.path), lines.range(label.span)), said)
            for label in item.labels
            if (said := label.message or "here")
        ]
        return lsp.Diagnostic(
            range=lines.range(item.primary or Span(path, 0, 0)),
            message="\n".join((item.message, *(f"note: {note}" for note in (*item.notes, *item.suggestions)))),
            severity=_SEVERITIES[item.severity],
            code=item.code.number,
            source="kcl",
            related_information=related or None,
            tags=None,
        )

    # ------------------------------------------------------------ answers

    def _offset(self, path: str, position: lsp.Position) -> int:
        return self.session.lines(self.session.documents.text(path) or "").offset(place_of(position))

    def _location(self, declared: Declaration) -> lsp.Location:
        lines = self.session.lines(self.session.documents.text(declared.path) or "")
        return lsp.Location(self.uri(declared.path), range_of(lines.range(declared.start, declared.end)))

    def _symbols(self, path: str, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        text, tree = self.session.tree(path)
        lines = self.session.lines(text)
        return [_symbol(each, lines) for each in outline.symbols(tree)]

    def _folds(self, path: str, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        text, tree = self.session.tree(path)
        return [
            lsp.FoldingRange(first, last, kind=lsp.FoldingRangeKind(kind) if kind else None)
            for first, last, kind in outline.folds(tree, self.session.lines(text))
        ]

    def _selections(self, path: str, params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange]:
        text, tree = self.session.tree(path)
        lines = self.session.lines(text)
        found: list[lsp.SelectionRange] = []
        for position in params.positions:
            around: lsp.SelectionRange | None = None
            for start, end in reversed(outline.selections(tree, lines.offset(place_of(position)))):
                around = lsp.SelectionRange(range_of(lines.range(start, end)), around)
            found.append(around or lsp.SelectionRange(lsp.Range(position, position)))
        return found

    def _hover(self, path: str, params: lsp.HoverParams) -> lsp.Hover | None:
        view = self.session.view(path)
        found = None if view is None else hovering.hover(view, self._offset(path, params.position))
        if view is None or found is None:
            return None
        shown = range_of(self.session.lines(view.text).range(found.start, found.end))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.markdown()), shown)

    def _definition(self, path: str, params: lsp.DefinitionParams) -> lsp.Location | None:
        view = self.session.view(path)
        found = None if view is None else referring.definition(view, self._offset(path, params.position))
        return None if found is None else self._location(found)

    def _references(self, path: str, params: lsp.ReferenceParams) -> list[lsp.Location]:
        revision = self.session.revision
        offset = self._offset(path, params.position)
        found = referring.references(self.session, path, offset, lambda: self.session.revision != revision)
        return [self._location(each) for each in found[0 if params.context.include_declaration else 1 :]]

    def _complete(self, path: str, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        documents = self.session.documents
        text = documents.text(path) or ""
        lines = self.session.lines(text)
        offset = lines.offset(place_of(params.position))
        found = completing.complete(
            text, offset, path, documents.files, lambda changed: self.session.view(path, documents, changed)
        )
        return [_completion(each, lines, offset) for each in found]

    def _signature(self, path: str, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        documents = self.session.documents
        text = documents.text(path) or ""
        offset = self.session.lines(text).offset(place_of(params.position))
        found = completing.signature(text, offset, lambda changed: self.session.view(path, documents, changed))
        if found is None:
            return None
        shown = lsp.SignatureInformation(
            found.label, parameters=[lsp.ParameterInformation(each) for each in found.params]
        )
        return lsp.SignatureHelp([shown], 0, found.active)

    def _rename(self, path: str, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        revision = self.session.revision
        found = referring.renamed(self.session, path, self._offset(path, params.position), params.new_name)
        if self.session.revision != revision:  # the edits are of texts that are no more
            raise JsonRpcException("not renamed: files changed meanwhile", lsp.LSPErrorCodes.ContentModified)
        if isinstance(found, referring.Refusal):
            raise JsonRpcException(f"not renamed: {found.reason}", lsp.LSPErrorCodes.RequestFailed)
        changes = {
            self.uri(each): [lsp.TextEdit(range_of(edit.range), edit.text) for edit in edits if edit.range is not None]
            for each, edits in found.items()
        }
        return lsp.WorkspaceEdit(changes)

    def _tokens(self, path: str, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        text, tree = self.session.tree(path)
        return lsp.SemanticTokens(colouring.encoded(colouring.tokens(text, tree), self.session.lines(text)))

    def _hints(self, path: str, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        view = self.session.view(path)
        if view is None:
            return []
        lines = self.session.lines(view.text)
        start, end = lines.offset(place_of(params.range.start)), lines.offset(place_of(params.range.end))
        return [
            lsp.InlayHint(range_of(lines.range(each.at, each.at)).start, each.text, lsp.InlayHintKind.Type)
            for each in colouring.hints(view, start, end)
        ]

    def _actions(self, path: str, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        view = self.session.view(path)
        if view is None:
            return []
        lines = self.session.lines(view.text)
        start, end = lines.offset(place_of(params.range.start)), lines.offset(place_of(params.range.end))
        return [
            lsp.CodeAction(
                each.title,
                lsp.CodeActionKind.QuickFix,
                edit=lsp.WorkspaceEdit(
                    {params.text_document.uri: [lsp.TextEdit(range_of(lines.range(each.start, each.end)), each.text)]}
                ),
            )
            for each in acting.actions(view, start, end)
        ]

    def _laid_out(self, path: str, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        return self._layout(path, None)

    def _lines_laid_out(self, path: str, params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit] | None:
        first, end = params.range.start.line, params.range.end
        # A range that ends where a line begins holds nothing of that line.
        last = end.line - 1 if not end.character and end.line > first else end.line
        return self._layout(path, (first + 1, last + 1))

    def _layout(self, path: str, wanted: tuple[int, int] | None) -> list[lsp.TextEdit] | None:
        """None for a text that is left as it is: half-written ones are every day's business in an editor."""
        text = self.session.documents.text(path) or ""
        lines = self.session.lines(text)
        try:
            found = changes(text, path, wanted)
        except Refused:
            return None
        return [lsp.TextEdit(range_of(lines.range(start, end)), instead) for start, end, instead in found]

    def _find(self, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        found: list[lsp.WorkspaceSymbol] = []
        for path, name, kind, start in referring.declared(self.session, params.query):
            location = self._location(Declaration(path, start, start + len(name)))
            found.append(lsp.WorkspaceSymbol(location, name, _SYMBOL_KINDS.get(kind, lsp.SymbolKind.Variable)))
        return found


_SYMBOL_KINDS: Final = {
    Kind.SCHEMA: lsp.SymbolKind.Struct,
    Kind.ATTRIBUTE: lsp.SymbolKind.Property,
    Kind.FUNCTION: lsp.SymbolKind.Function,
    Kind.TYPE: lsp.SymbolKind.Interface,
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


def _symbol(found: outline.Symbol, lines: Lines) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        name=found.name or "_",
        kind=_SYMBOL_KINDS.get(found.kind, lsp.SymbolKind.Variable),
        range=range_of(lines.range(found.start, found.end)),
        selection_range=range_of(lines.range(found.name_start, found.name_end)),
        children=[_symbol(each, lines) for each in found.children],
    )


def _completion(found: completing.Completion, lines: Lines, offset: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=found.label,
        kind=_ITEM_KINDS.get(found.kind, lsp.CompletionItemKind.Variable),
        detail=found.detail or None,
        sort_text=f"{found.rank}{found.label}",
        text_edit=lsp.TextEdit(range_of(lines.range(found.start, offset)), found.text),
    )


class _LinesOf:
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


def _edit(change: lsp.TextDocumentContentChangeEvent) -> Edit:
    if isinstance(change, lsp.TextDocumentContentChangePartial):
        return Edit(Range(place_of(change.range.start), place_of(change.range.end)), change.text)
    return Edit(None, change.text)


def _version() -> str:
    try:
        return version("konfig-workbench")
    except PackageNotFoundError:
        return "unknown"


def serve(stdin: BinaryIO, stdout: BinaryIO, environment: Mapping[str, str]) -> int:
    """Serves until the editor says `exit` or is gone."""
    server = Server(environment)
    try:
        server.protocol.start_io(stdin, stdout)
    finally:
        server.checks.shutdown(wait=False, cancel_futures=True)
        server.answers.shutdown(wait=False, cancel_futures=True)
    return 0
