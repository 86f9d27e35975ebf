"""Where a name is used, over all files of a repository, and another name for it.

Files that hold the word are looked at one by one, each in its own program; a use counts if it leads to the same
declaration. So comments, strings and other things of the same name are left alone.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

from kcl.diagnostics import Code
from kcl.loader import MANIFEST_NAME, find_root
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.syntax import ast
from kcl.tools.lsp.documents import Documents, Edit
from kcl.tools.lsp.outline import Kind, top_level
from kcl.tools.lsp.resolving import Declaration, Name, name_at
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.views import View

_MOST_FILES = 20_000
"""So many of them, and folders, are looked through."""
_MOST_SYMBOLS = 500
_IDENTIFIER = pattern(r"[A-Za-z_]\w*")
_RESERVED = frozenset(
    {"import", "as", "rule", "schema", "mixin", "protocol", "check", "for", "assert", "if", "elif", "else", "or", "and"}
    | {"not", "in", "is", "lambda", "all", "any", "map", "filter", "True", "False", "None", "Undefined", "type"}
    | {"str", "int", "float", "bool"}
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a name can't be replaced."""

    reason: str


def definition(view: View, offset: int) -> Declaration | None:
    """Where the name at an offset is declared."""
    found = name_at(view, offset)
    return None if found is None else found.declaration


def references(session: Session, path: str, offset: int, is_over: Callable[[], bool] = bool) -> list[Declaration]:
    """Every place that means what the name at an offset means, its declaration first."""
    documents = session.documents
    view = session.view(path, documents)
    found = None if view is None else name_at(view, offset)
    if view is None or found is None or found.declaration is None:
        return []
    return uses(session, documents, view, found, is_over)


def uses(
    session: Session, documents: Documents, view: View, name: Name, is_over: Callable[[], bool] = bool
) -> list[Declaration]:
    """Every place that leads to the declaration of a name, which must have one: that first. `view` holds the name."""
    declared = name.declaration
    assert declared is not None
    word = pattern(rf"(?<![\w$]){name.text}(?!\w)")
    found: dict[Declaration, None] = {}
    own_files = (module.source.path for module in view.program.main.modules)
    below = files_below(find_root(os.path.dirname(view.path), documents.files), documents, is_over)
    for path in dict.fromkeys((declared.path, view.path, *own_files, *below.paths)):
        text = documents.text(path)
        if is_over() or text is None or name.text not in text:
            continue
        own = session.view(path, documents)
        if own is None or own.text != text:
            continue
        for match in word.finditer(text):
            each = name_at(own, match.start())
            if each is not None and each.declaration == declared:
                found[Declaration(path, match.start(), match.end())] = None
    return sorted(found, key=lambda each: (each != declared, each.path, each.start))


@dataclass(frozen=True, slots=True)
class Below:
    """KCL files of a repository; there are others where that is not the `whole` of them."""

    paths: tuple[str, ...]
    whole: bool = True


def files_below(root: str | None, documents: Documents, is_over: Callable[[], bool] = bool) -> Below:
    """The KCL files below a folder, and those that are open; hidden folders and vendored packages are left out.

    `root` is the folder of a kcl.mod; without one nobody knows where a repository begins, and only open files count.
    """
    found = [path for path in documents.opened if path.endswith(".k")]
    pending, folders = [] if root is None else [root], 0
    while pending:
        folders += 1
        if is_over() or len(found) >= _MOST_FILES or folders > _MOST_FILES:
            return Below(tuple(found), whole=False)
        folder = pending.pop()
        try:
            names = documents.base.list_dir(folder)
        except OSError:  # what nobody may read is no part of a program
            continue
        for name in names:
            path = os.path.join(folder, name)
            if name.startswith(".") or name == "vendor":
                continue
            if name.endswith(".k"):
                found.append(path)
            elif "." not in name and documents.base.is_dir(path) and not os.path.islink(path):
                pending.append(path)
    return Below(tuple(found))


def declared(session: Session, query: str) -> list[tuple[str, str, Kind, int]]:
    """What files of the open programs declare whose name has the letters of a query: path, name, kind, offset."""
    documents = session.documents
    roots = {find_root(os.path.dirname(path), documents.files) for path in documents.opened}
    found: list[tuple[str, str, Kind, int]] = []
    for path in dict.fromkeys(each for root in roots for each in files_below(root, documents).paths):
        found += [(path, *each) for each in top_level(documents.text(path) or "", query)]
        if len(found) >= _MOST_SYMBOLS:
            break
    return found[:_MOST_SYMBOLS]


def renamed(session: Session, path: str, offset: int, new: str) -> dict[str, list[Edit]] | Refusal:
    """The edits, by file, that give another name to what is at an offset; or why that is not safe."""
    documents = session.documents
    view = session.view(path, documents)
    found = None if view is None else name_at(view, offset)
    if view is None or found is None:
        return Refusal("there is no name here")
    reason = _unsafe(view, documents, found, new)
    if reason is not None:
        return Refusal(reason)
    places = uses(session, documents, view, found)
    texts: dict[str, str] = {}
    edits: dict[str, list[Edit]] = {}
    for use in sorted(places, key=lambda each: (each.path, -each.start)):
        text = texts.get(use.path) or documents.text(use.path) or ""
        lines = session.lines(documents.text(use.path) or "")
        texts[use.path] = text[: use.start] + new + text[use.end :]
        edits.setdefault(use.path, []).append(Edit(lines.range(use.start, use.end), new))
    broken = _breaks(session, documents, texts)
    broken = broken or _captures(session, documents, texts, places, new)
    return Refusal(broken) if broken else edits


def _unsafe(view: View, documents: Documents, found: Name, new: str) -> str | None:
    declared = found.declaration
    if declared is None:
        return f"'{found.text}' is not declared in KCL files"
    if isinstance(found.node, ast.Import):
        return "packages are named by their folders: move the folder"
    if not declared.path.startswith(view.program.root + os.sep):
        return f"'{found.text}' is declared outside of {view.program.root}, the folder of {MANIFEST_NAME}"
    if not _IDENTIFIER.fullmatch(new):
        return f"'{new}' is no name"
    if new in _RESERVED:
        return f"'{new}' is a word of the language"
    root = find_root(os.path.dirname(view.path), documents.files)
    if not files_below(root, documents).whole:
        return f"below {root} are more than {_MOST_FILES:,} files, and '{found.text}' may be used in any"
    return None


def _captures(
    session: Session, documents: Documents, texts: dict[str, str], uses: list[Declaration], new: str
) -> str | None:
    """Which name would mean another thing afterwards, though nothing is wrong."""
    after = documents
    for path, text in texts.items():
        after = after.with_text(path, text)
    word = pattern(rf"(?<![\w$]){new}(?!\w)")
    declared: set[Declaration | None] = set()
    for path, text in texts.items():
        own = [use for use in uses if use.path == path]
        starts = {use.start + at * (len(new) - (use.end - use.start)) for at, use in enumerate(sorted(own, key=_start))}
        view = session.view(path, after)
        found = {each.start(): view and name_at(view, each.start()) for each in word.finditer(text)}
        renamed_to = {name.declaration if name else None for at, name in found.items() if at in starts}
        declared |= renamed_to
        if any(name.declaration in renamed_to for at, name in found.items() if name and at not in starts):
            return f"another '{new}' in {os.path.basename(path)} would mean this one"
    return None if len(declared) == 1 else f"some uses would mean another '{new}'"


def _start(use: Declaration) -> int:
    return use.start


def _breaks(session: Session, documents: Documents, texts: dict[str, str]) -> str | None:
    """What would be wrong in the files afterwards that is not wrong now."""
    after = documents
    for path, text in texts.items():
        after = after.with_text(path, text)
    for path in texts:
        before_it = Counter(each.code for each in session.analysis(path, documents).diagnostics)
        for each in session.analysis(path, after).diagnostics:
            before_it[each.code] -= 1
            if before_it[each.code] < 0 or each.code is Code.INVALID_SYNTAX:
                where = os.path.relpath(each.primary.path if each.primary else path, os.path.dirname(path))
                return f"with it {where} would be wrong: {each.message}"
    return None
