"""What is answered to the requests of an editor: of each what a feature says, as the protocol has it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from kcl.diagnostics import Hint
from kcl.syntax import ast
from kcl.tools.fmt import Refused, changes
from kcl.tools.lsp import acting, colouring, completing, hierarchies, hovering, outline, referring, surveying
from kcl.tools.lsp.advising import Advisor
from kcl.tools.lsp.living import Living
from kcl.tools.lsp.positions import Lines, Unit
from kcl.tools.lsp.protocol import SYMBOL_KINDS, LinesOf, completion_of, finding_of, place_of, range_of, symbol_of
from kcl.tools.lsp.repositories import Place
from kcl.tools.lsp.resolving import Declaration
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.surveying import Effect, Survey
from kcl.tools.lsp.uris import path_of
from kcl.tools.lsp.views import View

_FIX_ALL: Final = f"{lsp.CodeActionKind.SourceFixAll.value}.kcl"
_MOST_NESTED: Final = 100
"""A selection grows so often; a message nested deeper cannot be written."""
_ACTIONS: Final = (lsp.CodeActionKind.QuickFix, _FIX_ALL)


LEFT_OUT: Final = frozenset(
    (
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
        lsp.TEXT_DOCUMENT_INLAY_HINT,
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.TEXT_DOCUMENT_CODE_LENS,
        lsp.TEXT_DOCUMENT_FOLDING_RANGE,
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
    )
)
"""Of large files nobody is told these: editors ask after each key, and what somebody asks for would wait for them."""
Listed = TypeVar("Listed", lsp.TypeHierarchyItem, lsp.CallHierarchyItem)


class Answers:
    """One editor's answers. `uri` is the name that the editor has for a path.

    `survey` knows the stacks of the repository, None where nobody does; `wants` is called when somebody asks for them.
    `living` knows what is live of them, None where that is not to be asked.

    `about_files` are asked of one file, by its path; `others` of anything. Both give None, or nothing, for what is not
    known.
    """

    def __init__(
        self,
        session: Session,
        advisor: Advisor,
        uri: Callable[[str], str],
        survey: Survey | None = None,
        wants: Callable[[], object] = bool,
        living: Living | None = None,
    ) -> None:
        self.session, self.advisor, self.uri = session, advisor, uri
        self.survey, self.wants, self.living = survey, wants, living
        self._asked = threading.local()
        self.about_files: Mapping[str, tuple[Callable[[str, Any], Any], Any]] = {
            lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (self._symbols, None),
            lsp.TEXT_DOCUMENT_FOLDING_RANGE: (self._folds, None),
            lsp.TEXT_DOCUMENT_SELECTION_RANGE: (self._selections, None),
            lsp.TEXT_DOCUMENT_HOVER: (self._hover, None),
            lsp.TEXT_DOCUMENT_DEFINITION: (self._definition, None),
            lsp.TEXT_DOCUMENT_REFERENCES: (self._references, None),
            lsp.TEXT_DOCUMENT_COMPLETION: (self._complete, lsp.CompletionOptions([".", " ", '"', "'"])),
            lsp.TEXT_DOCUMENT_SIGNATURE_HELP: (self._signature, lsp.SignatureHelpOptions(["(", ","])),
            lsp.TEXT_DOCUMENT_RENAME: (self._rename, None),
            lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (self._tokens, lsp.SemanticTokensLegend(colouring.KINDS, [])),
            lsp.TEXT_DOCUMENT_INLAY_HINT: (self._hints, None),
            lsp.TEXT_DOCUMENT_CODE_ACTION: (self._actions, lsp.CodeActionOptions(list(_ACTIONS))),
            lsp.TEXT_DOCUMENT_PREPARE_TYPE_HIERARCHY: (self._schema, None),
            lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: (self._callable, None),
            lsp.TEXT_DOCUMENT_FORMATTING: (self._laid_out, None),
            lsp.TEXT_DOCUMENT_RANGE_FORMATTING: (self._lines_laid_out, None),
        }
        if survey is not None:
            self.about_files = {**self.about_files, lsp.TEXT_DOCUMENT_CODE_LENS: (self._lenses, None)}
        self.others: Mapping[str, Callable[[Any], Any]] = {
            lsp.WORKSPACE_SYMBOL: self._find,
            lsp.TYPE_HIERARCHY_SUPERTYPES: self._supertypes,
            lsp.TYPE_HIERARCHY_SUBTYPES: self._subtypes,
            lsp.CALL_HIERARCHY_INCOMING_CALLS: self._callers,
            lsp.CALL_HIERARCHY_OUTGOING_CALLS: self._callees,
        }

    def _offset(self, path: str, position: lsp.Position) -> int:
        return self.session.lines(self.session.documents.text(path) or "").offset(place_of(position))

    def _location(self, declared: Declaration) -> lsp.Location:
        lines = self.session.lines(self.session.documents.text(declared.path) or "")
        return lsp.Location(self.uri(declared.path), range_of(lines.range(declared.start, declared.end)))

    def _symbols(self, path: str, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        text, tree = self.session.tree(path)
        lines = self.session.lines(text)
        return [symbol_of(each, lines) for each in outline.symbols(tree)]

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
            grown = outline.selections(tree, lines.offset(place_of(position)))[:_MOST_NESTED]
            for start, end in reversed(grown):
                around = lsp.SelectionRange(range_of(lines.range(start, end)), around)
            found.append(around or lsp.SelectionRange(lsp.Range(position, position)))
        return found

    def _hover(self, path: str, params: lsp.HoverParams) -> lsp.Hover | None:
        view = self.session.view(path)
        if view is None:
            return None
        offset = self._offset(path, params.position)
        found = hovering.hover(view, offset)
        parts = [] if found is None else [found.markdown()]
        parts += self._told_of_stacks(view, offset)
        parts += self.advisor.explanations(path, offset)
        if not parts:
            return None
        start, end = (offset, offset) if found is None else (found.start, found.end)
        shown = range_of(self.session.lines(view.text).range(start, end))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), shown)

    def _told_of_stacks(self, view: View, offset: int) -> list[str]:
        """What the line at an offset does in the stacks of the repository, as far as they were looked at."""
        around = None if self.survey is None else surveying.settled_at(view, offset)
        if self.survey is None or around is None:
            return []
        self.wants()
        node, keys = around
        place, root = Lines(view.text, Unit.UTF_32).place(node.start), view.program.root
        parts = []
        effects = self.survey.at(view.path, place.line + 1, place.column + 1, keys)
        if effects:
            parts.append(surveying.story(effects, root))
            parts += map(surveying.code, self._told_of_clusters(effects))
        if isinstance(node, ast.SchemaAttr):
            start = node.start + (view.text[node.start] in "'\"")
            declared = Declaration(view.path, start, start + len(node.name))
            places = self.survey.of_declaration(declared)
            parts += [surveying.places_story(places, root)] if places else []
        extent = self.survey.extent()
        nothing = "no stack has anything from here" if extent.is_whole else "nothing is known yet of what this does"
        return ["\n\n".join((*(parts or [nothing]), f"({extent})"))]

    def _told_of_clusters(self, effects: Sequence[Effect]) -> list[str]:
        """What is live of what a place decides; nothing where nobody may ask clusters."""
        if self.living is None:
            return []
        if self.living.want(effects):
            self.wants()
        said = self.living.title(effects)
        return [said] if said else []

    def _lenses(self, path: str, params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
        view = None if self.survey is None else self.session.view(path)
        if self.survey is None or view is None:
            return None
        self.wants()
        lines, places = self.session.lines(view.text), Lines(view.text, Unit.UTF_32)
        ways = {places.place(node.start).line: keys for node, keys in surveying.settled(view.module.tree, view.text)}
        titles: dict[int, list[str]] = {}
        for line in sorted({*ways, *(each - 1 for each in self.survey.lines(path))}):
            effects = self.survey.at(path, line + 1, keys=ways.get(line, ()))
            if effects:
                titles[line] = [surveying.title(effects), *self._told_of_clusters(effects)]
        by_declaration: dict[Declaration, list[tuple[str, Place]]] = {}
        for declared, stack, place in self.survey.declarations(path):
            if declared.path == path and (place.path, place.line - 1) != (path, places.place(declared.start).line):
                by_declaration.setdefault(declared, []).append((stack, place))
        for declared, found in by_declaration.items():
            titles.setdefault(places.place(declared.start).line, []).append(surveying.places_title(found))
        extent = self.survey.extent()
        more = "" if extent.is_whole else f" ({extent})"
        return [
            lsp.CodeLens(
                range_of(lines.range(lines.line_start(line), lines.line_start(line))),
                lsp.Command(" · ".join(said) + more, ""),
            )
            for line, said in sorted(titles.items())
            if line < len(lines)
        ]

    def _definition(self, path: str, params: lsp.DefinitionParams) -> lsp.Location | None:
        view = self.session.view(path)
        found = None if view is None else referring.definition(view, self._offset(path, params.position))
        return None if found is None else self._location(found)

    def _references(self, path: str, params: lsp.ReferenceParams) -> list[lsp.Location]:
        found = referring.references(self.session, path, self._offset(path, params.position), self._until_changed())
        return [self._location(each) for each in found[0 if params.context.include_declaration else 1 :]]

    def _complete(self, path: str, params: lsp.CompletionParams) -> list[lsp.CompletionItem] | lsp.CompletionList:
        documents = self.session.documents
        text = documents.text(path) or ""
        lines = self.session.lines(text)
        offset = lines.offset(place_of(params.position))
        if self.session.is_large(path):
            names = completing.declared_names(text, offset)
            return lsp.CompletionList(True, [completion_of(each, lines, offset) for each in names])
        found = completing.complete(
            text, offset, path, documents.files, lambda changed: self.session.view(path, documents, changed)
        )
        shown = completing.most_likely(found, text[found[0].start : offset] if found else "")
        items = [completion_of(each, lines, offset) for each in shown]
        return items if len(shown) == len(found) else lsp.CompletionList(True, items)

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
        revision, view, documents = self.session.revision, self.session.view(path), self.session.documents
        text = documents.text(path) or ""
        lines = self.session.lines(text)
        start, end = lines.offset(place_of(params.range.start)), lines.offset(place_of(params.range.end))
        wanted = params.context.only or [lsp.CodeActionKind.QuickFix]
        found: list[tuple[str, acting.Action]] = []
        hints: list[Hint] = []
        if _is_wanted(lsp.CodeActionKind.QuickFix, wanted):
            hints += acting.mending(self.session.analysis(path, documents).diagnostics, path, start, end)
            offered = () if view is None else (*self.advisor.actions(path, start, end), *acting.actions(view, start))
            found += [(lsp.CodeActionKind.QuickFix, each) for each in offered]
        mended = self.advisor.mended(path) if view is not None and _is_wanted(_FIX_ALL, wanted) else None
        if mended is not None:
            found.append((_FIX_ALL, mended))
        if self.session.revision != revision:  # the edits are of texts that are no more
            return []
        shown = LinesOf({path: text}, self.session.columns)
        uri = params.text_document.uri

        def edit(*edits: tuple[int, int, str]) -> lsp.WorkspaceEdit:
            changes = [lsp.TextEdit(range_of(lines.range(first, last)), new) for first, last, new in edits]
            return lsp.WorkspaceEdit({uri: changes})

        mending = [
            lsp.CodeAction(
                each.message,
                lsp.CodeActionKind.QuickFix,
                edit=edit(*((one.span.start, one.span.end, one.text) for one in each.edits)),
            )
            for each in hints
        ]
        return mending + [
            lsp.CodeAction(
                each.title,
                kind,
                None if each.against is None else [finding_of(each.against, shown, path, self.uri)],
                edit=edit((each.start, each.end, each.text)),
            )
            for kind, each in found
        ]

    def _schema(self, path: str, params: lsp.TypeHierarchyPrepareParams) -> list[lsp.TypeHierarchyItem] | None:
        found = hierarchies.schema_at(self.session, path, self._offset(path, params.position))
        return None if found is None else [self._item(lsp.TypeHierarchyItem, found)]

    def _callable(self, path: str, params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem] | None:
        found = hierarchies.callable_at(self.session, path, self._offset(path, params.position))
        return None if found is None else [self._item(lsp.CallHierarchyItem, found)]

    def _supertypes(self, params: lsp.TypeHierarchySupertypesParams) -> list[lsp.TypeHierarchyItem]:
        found = hierarchies.supertypes(self.session, *self._place(params.item))
        return [self._item(lsp.TypeHierarchyItem, each) for each in found]

    def _subtypes(self, params: lsp.TypeHierarchySubtypesParams) -> list[lsp.TypeHierarchyItem]:
        found = hierarchies.subtypes(self.session, *self._place(params.item), self._until_changed())
        return [self._item(lsp.TypeHierarchyItem, each) for each in found]

    def _callers(self, params: lsp.CallHierarchyIncomingCallsParams) -> list[lsp.CallHierarchyIncomingCall]:
        found = hierarchies.callers(self.session, *self._place(params.item), self._until_changed())
        return [
            lsp.CallHierarchyIncomingCall(self._item(lsp.CallHierarchyItem, each.item), self._ranges(each))
            for each in found
        ]

    def _callees(self, params: lsp.CallHierarchyOutgoingCallsParams) -> list[lsp.CallHierarchyOutgoingCall]:
        found = hierarchies.callees(self.session, *self._place(params.item))
        return [
            lsp.CallHierarchyOutgoingCall(self._item(lsp.CallHierarchyItem, each.item), self._ranges(each))
            for each in found
        ]

    def _place(self, item: lsp.TypeHierarchyItem | lsp.CallHierarchyItem) -> tuple[str, int]:
        path = path_of(item.uri) or ""
        return path, self._offset(path, item.selection_range.start)

    def _ranges(self, found: hierarchies.Calls) -> list[lsp.Range]:
        return [self._location(each).range for each in found.places]

    def _item(self, kind: type[Listed], found: hierarchies.Item) -> Listed:
        lines = self.session.lines(self.session.documents.text(found.declaration.path) or "")
        return kind(
            name=found.name,
            kind=SYMBOL_KINDS.get(found.kind, lsp.SymbolKind.Variable),
            uri=self.uri(found.declaration.path),
            range=range_of(lines.range(found.start, found.end)),
            selection_range=range_of(lines.range(found.declaration.start, found.declaration.end)),
            detail=os.path.basename(found.declaration.path),
        )

    def answer(self, is_given_up: Callable[[], bool], work: Callable[..., Any], *given: Any) -> Any:
        """What a feature says; `is_given_up` tells it whether anybody still waits."""
        self._asked.is_given_up = is_given_up
        return work(*given)

    def _until_changed(self) -> Callable[[], bool]:
        """Whether texts have changed since, or nobody waits: what is looked for in all files is given up then."""
        revision = self.session.revision
        is_given_up: Callable[[], bool] = getattr(self._asked, "is_given_up", bool)
        return lambda: self.session.revision != revision or is_given_up()

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
            found.append(lsp.WorkspaceSymbol(location, name, SYMBOL_KINDS.get(kind, lsp.SymbolKind.Variable)))
        return found


def _is_wanted(kind: str, wanted: Sequence[str]) -> bool:
    """Whether a kind is one of those asked for, or below one."""
    return any(kind == each or kind.startswith(f"{each}.") for each in wanted)
