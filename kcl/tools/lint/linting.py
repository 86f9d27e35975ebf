"""Files are looked at in the programs that they belong to: what a file means is known only there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kcl.caches import ParseCache
from kcl.diagnostics import Code, Diagnostic, Severity
from kcl.loader import find_root
from kcl.loader.program import Module
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import FileSystem
from kcl.syntax.walking import walk
from kcl.tools.checked import Analysis, analyse
from kcl.tools.lint.rules import ASKED_FOR, RULES, Finding, Subject
from kcl.tools.lint.suppressions import apply, read
from kcl.tools.units import Unit, unit_of

_WORD: Final = pattern(r"\w+", 0)
_HIDDEN: Final = "."


@dataclass(frozen=True, slots=True)
class Unread:
    """A file or folder of which nothing can be said."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found, file by file, in each by place.

    `files` were looked at, `unread` could not be. `texts` are those of all files that diagnostics speak of.
    """

    diagnostics: tuple[Diagnostic, ...]
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    unread: tuple[Unread, ...]
    texts: Mapping[str, str]


def files_of(paths: Iterable[str], cwd: str, *, recursive: bool = False) -> tuple[tuple[str, ...], tuple[Unread, ...]]:
    """The .k files that paths name, absolute and each once.

    A folder is the files in it; `FOLDER/...`, or any folder if `recursive`, all below it but hidden folders.
    """
    found: dict[str, None] = {}
    unread: list[Unread] = []
    for name in paths:
        is_deep = recursive or name == "..." or name.endswith("/...")
        path = os.path.normpath(os.path.join(cwd, name.removesuffix("...") or "."))
        if os.path.isdir(path):
            inside = list(_below(path, unread, recursive=is_deep))
            found.update(dict.fromkeys(inside))
            if not inside:
                more = "" if is_deep else "; for folders below it say ./..."
                unread.append(Unread(path, f"there is no file that ends in .k in it{more}"))
        elif os.path.isfile(path):
            found[path] = None
        else:
            unread.append(Unread(path, "no such file or folder" if not os.path.lexists(path) else "is no regular file"))
    return tuple(found), tuple(unread)


def lint(
    paths: Sequence[str],
    files: FileSystem,
    *,
    select: frozenset[Code] | None = None,
    ignore: frozenset[Code] = frozenset(),
    packages: str | None = None,
    cache: ParseCache | None = None,
) -> Linted:
    """Looks at files. `select` are the rules, if not all that need not be asked for; `ignore` are those left out.

    Errors are told wherever they are in the programs that the files belong to: what a program with an error means
    is not known. `packages` is the folder of downloaded packages.
    """
    cache = cache or ParseCache()
    rules = frozenset(select if select is not None else set(RULES) - ASKED_FOR) - ignore
    wanted = set(paths)
    words: dict[str, _Words] = {}
    diagnostics: dict[tuple[object, ...], Diagnostic] = {}
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    unread: list[Unread] = []
    done: set[str] = set()
    analysed: dict[Unit, Analysis] = {}
    for path in paths:
        if path in done:
            continue
        why = _unreadable(path, files)
        if why:
            unread.append(Unread(path, why))
            continue
        unit = unit_of(path, files, cache.memo)
        analysis = analysed.get(unit)
        if analysis is None:
            analysis = analysed[unit] = analyse(unit, files, cache, packages)
            texts.update(analysis.sources)
            for each in analysis.diagnostics:
                place = each.primary.path if each.primary is not None else ""
                if each.severity is Severity.ERROR or place in wanted:
                    diagnostics.setdefault(_key(each), each)
        modules = () if analysis.program is None else analysis.program.main.modules
        by_path = {each.source.path: each for each in modules}
        for name in [each for each in by_path if each in wanted and each not in done] or [path]:
            done.add(name)
            module = by_path.get(name)
            if module is None:
                if not any(each.severity is Severity.ERROR for each in analysis.diagnostics):
                    unread.append(Unread(name, "its program could not be loaded"))
                continue
            if _is_broken(module, analysis):
                continue
            counting = _Words(name, files)
            counting = words.setdefault(counting.folder, counting)
            subject = Subject(
                name,
                module.source.text,
                module.tree,
                [each.tree for each in modules if each is not module],
                counting,
                tuple(walk(module.tree)),
            )
            for finding in _of(subject, rules):
                findings.append(finding)
                diagnostics.setdefault(_key(finding.diagnostic), finding.diagnostic)
    order = {path: number for number, path in enumerate(paths)}
    return Linted(
        tuple(sorted(diagnostics.values(), key=lambda each: _order(each, order))),
        tuple(findings),
        tuple(each for each in paths if each in done),
        tuple(unread),
        texts,
    )


def _of(subject: Subject, rules: frozenset[Code]) -> Iterator[Finding]:
    """What the rules find in a file and nothing allows, and what is wrong with what allows."""
    found = [each for code, rule in RULES.items() if code in rules for each in rule(subject)]
    suppressions, wrong = read(subject.path, subject.text, subject.tree.comments)
    left, idle = apply([each.diagnostic for each in found], suppressions, subject.text, rules)
    kept = {id(each) for each in left}
    yield from (each for each in found if id(each.diagnostic) in kept)
    yield from (Finding(each) for each in (*wrong, *idle))


def _below(folder: str, unread: list[Unread], *, recursive: bool = True) -> Iterator[str]:
    def note(problem: OSError) -> None:
        unread.append(Unread(str(problem.filename), problem.strerror or "can't be read"))

    for where, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(each for each in folders if recursive and not each.startswith(_HIDDEN))
        for path in (os.path.join(where, each) for each in sorted(names) if each.endswith(".k")):
            if os.path.isfile(path):  # who opens a pipe waits for ever
                yield path
            else:
                unread.append(Unread(path, "is no regular file"))


def _unreadable(path: str, files: FileSystem) -> str:
    if not files.is_file(path):
        return "no such file" if not files.exists(path) else "is no regular file"
    try:
        files.read_text(path)
    except UnicodeDecodeError as problem:
        return f"is not UTF-8: byte {problem.start} says so"
    except OSError as problem:
        return problem.strerror or "can't be read"
    return ""


class _Words:
    """How often words stand in the files of a repository, or of a folder that is in none; counted when asked."""

    def __init__(self, path: str, files: FileSystem) -> None:
        root = find_root(os.path.dirname(path), files)
        self.folder, self._is_deep = root or os.path.dirname(path), root is not None
        self._files = files
        self._counted: Counter[str] | None = None
        self._unread: list[Unread] = []

    def __call__(self, word: str) -> int:
        """Two for any word where a file can't be read: it may hold it."""
        if self._counted is None:
            self._counted = Counter()
            for path in _below(self.folder, self._unread, recursive=self._is_deep):
                try:
                    self._counted.update(_WORD.findall(self._files.read_text(path)))
                except (OSError, UnicodeDecodeError):
                    self._unread.append(Unread(path, ""))
        return 2 if self._unread else self._counted[word]


def _is_broken(module: Module, analysis: Analysis) -> bool:
    """Whether the tree of a file is not what somebody wrote, but what was made of it."""
    return any(
        each.code is Code.INVALID_SYNTAX and each.primary is not None and each.primary.path == module.source.path
        for each in analysis.diagnostics
    )


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    """Two diagnostics with one key are the same finding, made twice: files belong to many programs."""
    return diagnostic.code, diagnostic.primary, diagnostic.message


def _order(diagnostic: Diagnostic, order: Mapping[str, int]) -> tuple[int, str, int]:
    span = diagnostic.primary
    return (-1, "", 0) if span is None else (order.get(span.path, -1), span.path, span.start)
