"""What an editor works on: its open texts, what is cached of them, and the diagnostics they have.

One object for one editor. Texts change on one thread; answers are worked out on others, each of the texts that were
open when it began (`Documents`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kcl.caches import ParseCache
from kcl.diagnostics import Diagnostic
from kcl.loader import downloaded_folder
from kcl.memo.inputs import Clock, now
from kcl.records import dataclass
from kcl.regular import read_regular
from kcl.source import FileSystem, OsFileSystem, SourceFile
from kcl.syntax import ast, parse
from kcl.tools.checked import Analysis, analyse
from kcl.tools.lsp.documents import Documents, Edit, edited
from kcl.tools.lsp.positions import Lines
from kcl.tools.lsp.positions import Unit as Columns
from kcl.tools.lsp.views import View, view_of
from kcl.tools.units import Unit, alone, unit_of

MOST_CHARACTERS: Final = 1_000_000
"""Of a longer text only what is asked for by name is worked out: a check of it takes seconds."""
_MOST_REMEMBERED = 16
_MOST_VIEWS = 8


class Disk(OsFileSystem):
    """The disk, without what the process was started with: the editor speaks on its standard input."""

    def read_bytes(self, path: str) -> bytes:
        return read_regular(path)


@dataclass(frozen=True, slots=True)
class Found:
    """The diagnostics of files by path, every open one among them; and their texts as they were checked.

    `failed` says by path why an open file was not checked, for which there is no good reason.
    """

    by_path: Mapping[str, tuple[Diagnostic, ...]]
    texts: Mapping[str, str]
    failed: Mapping[str, str]


class Session:
    """The texts of an editor and what is known of them."""

    def __init__(
        self,
        base: FileSystem | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        clock: Clock = now,
    ) -> None:
        self.columns = Columns.UTF_16
        self.clock = clock
        self.cache = ParseCache(clock=clock)
        self.packages = downloaded_folder(environment)
        self.documents = Documents(base or Disk(clock))
        self.revision = 0
        """How often anything changed: what was found before a change is not shown after it."""
        self._guard, self._large = threading.Lock(), threading.Lock()
        self._analyses: dict[tuple[int, Unit], Analysis] = {}
        self._trees: dict[str, tuple[str, ast.Module]] = {}
        self._views: dict[str, tuple[Documents, View | None]] = {}

    def open(self, path: str, text: str, version: int | None) -> None:
        self._become(self.documents.with_text(path, text, version))

    def change(self, path: str, edits: Sequence[Edit], version: int | None) -> None:
        before = self.documents.opened.get(path)
        if before is not None:
            self._become(self.documents.with_text(path, edited(before.text, edits, self.columns), version))

    def close(self, path: str) -> None:
        self._become(self.documents.without(path))

    def touch(self) -> None:
        """Files changed on disk."""
        self._become(Documents(self.documents.base, self.documents.opened))

    def _become(self, documents: Documents) -> None:
        self.documents = documents
        self.revision += 1
        with self._guard:
            self._analyses.clear()
            self._views.clear()

    def analysis(self, path: str, documents: Documents) -> Analysis:
        """The unit of a file, checked, with texts that were open at some moment."""
        unit = self._unit(path, documents)
        if not self.is_large(path):
            return self._analysed(unit, documents)
        with self._large:  # who waits finds what the other one found, sooner than both at a time
            return self._analysed(unit, documents)

    def _unit(self, path: str, documents: Documents) -> Unit:
        try:
            return unit_of(path, documents.files, self.cache.memo)
        except OSError:  # its folder cannot be looked at, and its name may be none: that is told of it alone
            return alone(path)

    def _analysed(self, unit: Unit, documents: Documents) -> Analysis:
        known = self._analyses.get((id(documents), unit))
        if known is not None:
            return known
        found = analyse(unit, documents.files, self.cache, self.packages)
        with self._guard:
            if documents is self.documents:
                if len(self._analyses) >= _MOST_REMEMBERED:
                    self._analyses.clear()
                self._analyses[id(documents), unit] = found
        return found

    def is_large(self, path: str) -> bool:
        """Whether a file is open that is too long for what editors ask after each key."""
        document = self.documents.opened.get(path)
        return document is not None and len(document.text) > MOST_CHARACTERS

    def lines(self, text: str) -> Lines:
        """The lines of a text, in the columns of this editor."""
        return Lines(text, self.columns)

    def tree(self, path: str) -> tuple[str, ast.Module]:
        """The text of a file, "" for one that cannot be read, and its tree."""
        known = self._trees.get(path)
        text = self.documents.text(path) or ""
        if known is None or known[0] != text:
            if len(self._trees) >= _MOST_VIEWS:
                self._trees.clear()
            known = self._trees[path] = text, parse(SourceFile(path, text)).module
        return known

    def view(self, path: str, documents: Documents | None = None, text: str | None = None) -> View | None:
        """A file and its program as they are now, or with another `text` of it; None for what cannot be read.

        Another text is not checked for what is wrong with it, which takes as long as all that a view needs.
        """
        documents = documents or self.documents
        known = self._views.get(path)
        if text is None and known is not None and known[0] is documents:
            return known[1]
        if text is not None:
            seen = documents.with_text(path, text)
            read = analyse(self._unit(path, seen), seen.files, self.cache, self.packages, is_read_only=True)
            return view_of(path, read, self.cache)
        found = view_of(path, self.analysis(path, documents), self.cache)
        with self._guard:
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            self._views[path] = documents, found
        return found

    def diagnostics(self, first: Iterable[str] = (), is_over: Callable[[], bool] = bool) -> Found | None:
        """What is wrong with the programs of all open files; None once `is_over`. `first` are looked at first."""
        documents = self.documents
        by_path: dict[str, dict[Diagnostic, None]] = {}
        texts: dict[str, str] = {}
        failed: dict[str, str] = {}
        for path in dict.fromkeys((*first, *documents.opened)):
            if is_over():
                return None
            if path not in documents.opened:
                continue
            by_path.setdefault(path, {})
            try:
                found = self.analysis(path, documents)
            except Exception as bug:  # other files are checked all the same, and of this one that is told
                failed[path] = f"{type(bug).__name__}: {bug}"
                continue
            texts.update(found.sources)
            for item in found.diagnostics:
                if item.follows:
                    continue
                at = item.primary.path if item.primary is not None else path
                by_path.setdefault(at, {})[item] = None
        for path in by_path.keys() - texts.keys():
            text = documents.text(path)
            if text is not None:
                texts[path] = text
        return Found({path: _once(items) for path, items in by_path.items()}, texts, failed)


def _once(items: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each finding once, though several programs have it."""
    return tuple({(each.code, each.primary): each for each in reversed(list(items))}.values())[::-1]
