"""Files are looked at in the programs that they belong to: what a file means is known only there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Final

from kcl.caches import ParseCache
from kcl.diagnostics import Code, Diagnostic, Severity
from kcl.evaluator.coverage import Reached
from kcl.loader import find_root
from kcl.loader.program import Module
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import FileSystem
from kcl.tools.checked import Analysis, analyse
from kcl.tools.lint.deprecated import Deprecated
from kcl.tools.lint.rules import ASKED_FOR, RULES
from kcl.tools.lint.subject import Finding, Nodes, Subject
from kcl.tools.lint.suppressions import apply, read
from kcl.tools.paths import NoFiles, files_in, found
from kcl.tools.units import Unit, alone, package_of, unit_of

_PRIVATE: Final = pattern(r"(?<!\w)_\w*", 0)

DEFAULT: Final = frozenset(RULES) - ASKED_FOR
"""The rules that nobody has to ask for."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A file or folder of which nothing can be said: which, and why."""

    text: str


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found, file by file, in each by place.

    `files` were looked at, `unread` could not be. `texts` are those of all files that diagnostics speak of. `apart` are
    those that were taken for programs of their own, since together with the files beside them they are none.
    """

    diagnostics: tuple[Diagnostic, ...]
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    unread: tuple[Unread, ...]
    texts: Mapping[str, str]
    apart: tuple[str, ...] = ()


def files_of(paths: Iterable[str], cwd: str, *, recursive: bool = False) -> tuple[tuple[str, ...], tuple[Unread, ...]]:
    """The .k files that paths name, absolute and each once, and what could not be looked at; see `tools.paths`."""
    files: dict[str, None] = {}
    unread: list[Unread] = []
    for name in paths:
        try:
            named = found(name, cwd, recursive=recursive)
        except NoFiles as problem:
            unread.append(Unread(str(problem)))
        else:
            files.update(dict.fromkeys(os.path.normpath(os.path.join(cwd, each)) for each in named))
    return tuple(files), tuple(unread)


def lint(
    paths: Sequence[str],
    files: FileSystem,
    *,
    select: frozenset[Code] | None = None,
    ignore: frozenset[Code] = frozenset(),
    packages: str | None = None,
    cache: ParseCache | None = None,
    reached: Mapping[str, Reached] | None = None,
) -> Linted:
    """Looks at files. `select` are the rules, if not all that need not be asked for; `ignore` are those left out.

    Errors are told wherever they are in the programs that the files belong to: what a program with an error means
    is not known. `packages` is the folder of downloaded packages.
    """
    cache = cache or ParseCache()
    rules = (DEFAULT if select is None else select) - ignore
    wanted = set(paths)
    words: dict[str, Words] = {}
    diagnostics: dict[tuple[object, ...], Diagnostic] = {}
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    unread: list[Unread] = []
    done: set[str] = set()
    analysed: dict[Unit, tuple[Analysis, Deprecated]] = {}
    apart: list[str] = []
    for path in paths:
        if path in done:
            continue
        why = _unreadable(path, files)
        if why:
            unread.append(Unread(f"{path}: {why}"))
            continue
        unit = unit_of(path, files, cache.memo)
        if unit in analysed:
            analysis, deprecated = analysed[unit]
        else:
            analysis = analyse(unit, files, cache, packages)
            if _clashes(analysis) and unit == package_of(path, files):
                by_itself = analyse(alone(path), files, cache, packages)
                if not _has_errors(by_itself):
                    unit, analysis = by_itself.unit, by_itself
                    apart.append(path)
            deprecated = Deprecated(analysis)
            analysed[unit] = analysis, deprecated
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
                if not _has_errors(analysis):
                    unread.append(Unread(f"{name}: its program could not be loaded"))
                continue
            if is_broken(module, analysis):
                continue
            counting = Words(name, files)
            counting = words.setdefault(counting.folder, counting)
            for finding in found_in(module, analysis, counting, rules, deprecated=deprecated, reached=reached):
                findings.append(finding)
                diagnostics.setdefault(_key(finding.diagnostic), finding.diagnostic)
    order = {path: number for number, path in enumerate(paths)}
    return Linted(
        tuple(sorted(diagnostics.values(), key=lambda each: _order(each, order))),
        tuple(findings),
        tuple(each for each in paths if each in done),
        tuple(unread),
        texts,
        tuple(apart),
    )


def _has_errors(analysis: Analysis) -> bool:
    return any(each.severity is Severity.ERROR for each in analysis.diagnostics)


def _clashes(analysis: Analysis) -> bool:
    """Whether two files declare one name: in a package they can not, programs beside each other can."""
    return any(
        each.code is Code.IMMUTABLE
        and each.primary is not None
        and any(label.span.path != each.primary.path for label in each.labels)
        for each in analysis.diagnostics
    )


def found_in(
    module: Module,
    analysis: Analysis,
    words: Callable[[str], int],
    rules: frozenset[Code] = DEFAULT,
    is_over: Callable[[], bool] = bool,
    *,
    deprecated: Deprecated | None = None,
    reached: Mapping[str, Reached] | None = None,
) -> Iterator[Finding]:
    """What the rules find in a file of a checked unit and nothing allows, and what is wrong with what allows.

    `words` tells how often a private word stands in the repository. Nothing is yielded once `is_over`. `deprecated` is
    what the files of one program share.
    """
    assert analysis.program is not None, "a module belongs to a program"
    path, text, tree = module.source.path, module.source.text, module.tree
    siblings = [each.tree for each in analysis.program.main.modules if each is not module]
    if reached is None:
        rules -= {Code.ALWAYS_OVERRIDDEN}
    subject = Subject(path, text, tree, siblings, words, Nodes(tree), deprecated or Deprecated(analysis), reached)
    found: list[Finding] = []
    for code, rule in RULES.items():
        if is_over():
            return
        found += rule(subject) if code in rules else ()
    suppressions, wrong = read(path, text, tree.comments)
    left, idle = apply([each.diagnostic for each in found], suppressions, text, rules)
    kept = {id(each) for each in left}
    yield from (each for each in found if id(each.diagnostic) in kept)
    yield from (Finding(each) for each in (*wrong, *idle))


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


class Words:
    """How often private words stand in the files of a repository, or of a folder that is in none; counted when asked.

    `counted` keeps the counts of files for the next who asks, with the stamps they hold for. `opened` are files that
    count as well, though they may not be on disk yet.
    """

    def __init__(
        self,
        path: str,
        files: FileSystem,
        counted: MutableMapping[str, tuple[Hashable, Counter[str]]] | None = None,
        opened: Iterable[str] = (),
    ) -> None:
        root = find_root(os.path.dirname(path), files)
        self.folder, self._is_deep = root or os.path.dirname(path), root is not None
        self._files, self._opened = files, opened
        self._kept = {} if counted is None else counted
        self._counts: list[Counter[str]] | None = None
        self._is_known = True

    def __call__(self, word: str) -> int:
        """Two for any word where a file can't be read: it may hold it."""
        if self._counts is None:
            self._counts = []
            try:
                paths = dict.fromkeys(files_in(self.folder, self.folder, recursive=self._is_deep))
                within = self.folder.rstrip(os.sep) + os.sep
                paths |= dict.fromkeys(each for each in self._opened if each.startswith(within))
                stamps = self._files.stamps(paths)
                self._counts = [self._count(path, stamps.get(path)) for path in paths]
            except (OSError, UnicodeDecodeError, NoFiles):
                self._is_known = False
        return sum(each[word] for each in self._counts) if self._is_known else 2

    def _count(self, path: str, stamp: Hashable | None) -> Counter[str]:
        kept = self._kept.get(path)
        if kept is not None and stamp is not None and kept[0] == stamp:
            return kept[1]
        if not self._files.is_file(path):  # who opens a pipe waits for ever
            raise NoFiles(path)
        counted = Counter(_PRIVATE.findall(self._files.read_text(path)))
        self._kept[path] = stamp, counted
        return counted


def is_broken(module: Module, analysis: Analysis) -> bool:
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
