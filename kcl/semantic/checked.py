"""The checker's queries: the findings of each package, checked after the packages that it imports.

A package is checked again when its trees have changed, or where its imports lead, or the interfaces of what it imports
(`interfaces`). A change that other packages cannot see leaves the interface as it was, so importers are not checked
again. The positions in such a cached answer may be those of an earlier text, and so may those of statements taken from
`statement_cache`. Positions are shown only where something is wrong. Then the packages are queried once more, with
current positions (`EXACT`): what has moved, and what imports it, is checked again.

Packages that import each other in a circle see the names that are bound in the others by then. The findings of these
packages, and of their importers, are valid in one request alone.
"""

from __future__ import annotations

import marshal
import operator
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kcl.diagnostics import Diagnostic
from kcl.loader.program import MAIN_PACKAGE, Imported, ImportKind, Module, Package, Program
from kcl.memo.digest import blake2b
from kcl.memo.queries import Input, Memo, Query, QueryCycle, Request
from kcl.records import astuple, dataclass, field
from kcl.semantic.interfaces import interface
from kcl.semantic.packages import Checker, import_statements
from kcl.semantic.scopes import Scope
from kcl.semantic.statement_cache import CheckedStatements, unchecked

if TYPE_CHECKING:
    from kcl.semantic.signatures import LibraryTypes
    from kcl.semantic.state import Rules
    from kcl.syntax import ast

_DIGEST_BYTES: Final = 20
How = tuple[bool, ...]
"""The rules that a package is checked by, and whether its strings have lost their indentation."""
Key = tuple[How, str, str, "tuple[str, ...] | None"]
"""How a package is checked, the root of the program, the package's path, and of a main package alone its files."""
_Naming = tuple[str, tuple[tuple[str, str], ...]]
"""A file's text, and the packages it imports with the names it gives them."""


@dataclass(slots=True, eq=False)
class Checked:
    """What is known of a package: the names it declares, what is wrong with it, and what that rests on."""

    path: str
    scope: Scope
    findings: tuple[Diagnostic, ...]
    imports: tuple[Checked, ...]
    package: Package | None
    """What was walked through, with all its imports; None where that is not told by one package."""
    _interface: bytes | None = None
    _places: bytes | None = None
    below: Mapping[str, Checked] = field(init=False, repr=False)
    """All that it imports, by path, in the order they were checked."""
    is_right: bool = field(init=False)
    """Whether nothing is wrong, with what it imports neither."""

    def __post_init__(self) -> None:
        self.below = closure(self.imports)
        self.is_right = not self.findings and all(each.is_right for each in self.imports)

    @property
    def interface(self) -> bytes:
        """A digest of what other packages can see of it."""
        if self._interface is None:
            self._interface = interface(self.path, self.scope, [each.interface for each in self.imports])
        return self._interface

    @property
    def places(self) -> bytes | None:
        """A digest of all texts that places in it are of; None where nobody can tell."""
        if self._places is None and self.package is not None:
            self._places = places(self.package, self.imports)
        return self._places


def closure(imports: tuple[Checked, ...]) -> dict[str, Checked]:
    """These packages and all that they import, by path, in the order they were checked."""
    return {path: each for one in imports for path, each in {**one.below, one.path: one}.items()}


def places(package: Package, imports: tuple[Checked, ...]) -> bytes | None:
    """A digest of all texts that a package and its imports consist of, as these were checked."""
    below = [(each.path, each.places) for each in imports]
    if any(each is None for _, each in below):
        return None
    return blake2b(marshal.dumps((texts(package), below), 2), digest_size=_DIGEST_BYTES).digest()


def texts(package: Package) -> bytes:
    """A digest of the files of a package, and of where their imports lead."""
    found = blake2b(digest_size=_DIGEST_BYTES)
    for module in package.modules:
        text = module.source.text.encode("utf-8", "surrogatepass")
        imports = [(alias, each.package, each.kind.value) for alias, each in module.imports.items()]
        found.update(marshal.dumps((module.source.path, imports, len(text)), 2) + text)
    return found.digest()


# ------------------------------------------------------------ inputs and queries


def _shows_the_same(before: Checked, now: Checked) -> bool:
    """Whether nobody else can tell the difference, but for places."""
    if before.path == MAIN_PACKAGE or before.findings or now.findings or before.imports != now.imports:
        return False
    return before.interface == now.interface


_PACKAGE: Final[Input[str, Package | None]] = Input("imported package", at_once=True, is_lasting=lambda package: False)
"""By its path, in the program that is checked; None where there is none any more."""
_MAIN: Final[Input[Key, Package]] = Input("main package", Package.is_same)
_TREE: Final[Input[str, ast.Module]] = Input("tree", operator.is_)
"""Of a file of the main package, by path."""
CHECKED: Final[Query[Key, Checked]] = Query("checked", is_same=_shows_the_same)
EXACT: Final[Query[Key, Checked]] = Query("checked with the places of now", is_same=operator.is_)
"""As `CHECKED`, places included."""
CACHED_STATEMENTS: Final[Query[tuple[How, str], CheckedStatements]] = Query(
    "statements of a file", lambda request, key: unchecked(request.read(_TREE, key[1])), operator.is_
)
"""By how they are checked, and the path of a file of the main package."""


CACHED_BY_TEXT: Final[Query[tuple[How, tuple[str, ...]], CheckedStatements]] = Query(
    "statements of edited files", lambda request, key: CheckedStatements(), operator.is_, most=48
)
"""By how they are checked, and the paths of the files of the main package."""


def _imported_packages(request: Request, package: Package) -> tuple[str, ...]:
    imports = (each for module in package.modules for _, each in import_statements(module))
    return tuple(dict.fromkeys(each.package for each in imports if each and each.kind is ImportKind.PACKAGE))


IMPORTED_BY: Final = Query("packages imported by a package", _imported_packages, lives_with_key=True)
"""Their paths, in the order of the statements."""
TEXTS: Final[Query[Package, bytes]] = Query(
    "texts of a package", lambda request, package: texts(package), lives_with_key=True
)
"""As `texts`."""


def imports(request: Request, query: Query[Key, Checked], key: Key) -> tuple[Package, tuple[Checked, ...], bool]:
    """A package, those it imports as they were checked, and whether these are all: not if it imports itself."""
    how, root, path, files = key
    package = request.read(_PACKAGE, path) if files is None else request.read(_MAIN, key)
    assert package is not None
    found: list[Checked] = []
    is_whole = True
    for each in request.get(IMPORTED_BY, package):
        try:
            found.append(request.get(query, (how, root, each, None)))
        except QueryCycle:
            is_whole = False
    return package, tuple(found), is_whole and not any(each.package is None for each in found)


class Checking:
    """The check of one program. `memo` is what others left, and is left this.

    It holds on to no request, or neither would go without a search.
    """

    def __init__(self, program: Program, library: LibraryTypes, rules: Rules, memo: Memo) -> None:
        self._program, self._memo = program, memo
        self._checker = Checker(library, rules, program.root)
        builtins = self._checker.builtins
        self._scopes = {query: defaultdict[str, Scope](lambda: Scope(builtins)) for query in (CHECKED, EXACT)}
        """By path, also of packages that are still to be walked through."""
        files = tuple(each.source.path for each in program.main.modules)
        self._main: Key = ((*astuple(rules), program.dedents), program.root, MAIN_PACKAGE, files)

    def findings(self) -> list[Diagnostic]:
        """Everything that is wrong with the program, the packages in the order they are first imported."""
        request = self._new_request()
        if request.get(CHECKED, self._main).is_right:
            return []
        main = request.get(EXACT, self._main)
        in_use = packages_in_use(self._program, self._memo)
        findings: dict[Diagnostic, None] = {}
        for path, each in {**main.below, MAIN_PACKAGE: main}.items():
            if _must_be_right(path, self._program, in_use):
                findings.update(dict.fromkeys(each.findings))
        return list(findings)

    def walk_main(self, checker: Checker) -> None:
        """Walks the main package once more, with another checker."""
        package, found, _ = imports(self._new_request(), CHECKED, self._main)
        checker.walk(package, Scope(checker.builtins), {each.path: each.scope for each in found})

    def _new_request(self) -> Request:
        program, request = self._program, self._memo.request()
        request.provide_input(_PACKAGE, program.imported.packages.get)
        request.provide_input(_MAIN, lambda key: program.main)
        request.provide_input(_TREE, {each.source.path: each.tree for each in program.main.modules}.__getitem__)
        request.provide(CHECKED, lambda request, key: self._walked(request, CHECKED, key))
        request.provide(EXACT, self._exact)
        return request

    def _walked(self, request: Request, query: Query[Key, Checked], key: Key) -> Checked:
        """Walks a package after those that it imports."""
        package, found, is_whole = imports(request, query, key)
        if not is_whole:
            request.discard()
        by_text = _by_text(request, key) if query is CHECKED else None
        if by_text is not None and is_whole and self._checker.is_like_last(package, found, by_text):
            assert by_text.last is not None
            return Checked(package.path, by_text.last.scope, (), found, None)
        scopes = self._scopes[query]
        scopes.update((each.path, each.scope) for each in found)
        scope = scopes[package.path]
        known = _seen_before(request, key) if query is CHECKED else {}
        wrong, repeated = self._checker.walk(package, scope, scopes, known, by_text, found)
        return Checked(package.path, scope, wrong, found, None if repeated or not is_whole else package)

    def _exact(self, request: Request, key: Key) -> Checked:
        package, found, _ = imports(request, EXACT, key)
        checked = request.get(CHECKED, key)
        is_exact = checked.imports == found and checked.places == places(package, found) is not None
        return checked if is_exact else self._walked(request, EXACT, key)


def _seen_before(request: Request, key: Key) -> dict[str, CheckedStatements]:
    """The cached statements of those files of a main package that were checked before."""
    files = {path: request.get(CACHED_STATEMENTS, (key[0], path)) for path in key[3] or ()}
    seen = {path: each for path, each in files.items() if each.is_seen}
    for each in files.values():
        each.is_seen = True
    return seen


def _by_text(request: Request, key: Key) -> CheckedStatements | None:
    """The cached statements of a main package that are found by their texts; None for one never checked before."""
    if key[3] is None:
        return None
    cached = request.get(CACHED_BY_TEXT, (key[0], key[3]))
    is_seen, cached.is_seen = cached.is_seen, True
    return cached if is_seen else None


def _must_be_right(path: str, program: Program, in_use: frozenset[str]) -> bool:
    """Whether what the checker finds in a package counts: of one that nobody names only if it imports something."""
    return path in in_use or any(module.imports for module in program.packages[path].modules)


def packages_in_use(program: Program, memo: Memo | None = None) -> frozenset[str]:
    """Paths of the packages whose members files name; those are run.

    One that is only imported is not, as in the official compiler. What its files name is, all the same.
    """
    memo = memo or Memo()
    named = memo.get(USED, program.main)
    used = memo.get(_USED_BY_IMPORTED, program.imported)
    return (named | used | {MAIN_PACKAGE}) & program.packages.keys()


def _named_by_file(request: Request, key: _Naming) -> frozenset[str]:
    text, imports = key
    return frozenset(package for alias, package in imports if _has_members_of(text, alias))


def _has_members_of(text: str, alias: str) -> bool:
    """Whether a member of `alias` is named somewhere, be it in a comment."""
    at = text.find(f"{alias}.")
    while at >= 0:  # as it is nearly always written: this compiles no expression for each name
        before = text[at - 1 : at]
        if not (before == "." or before == "_" or before.isalnum()):
            return True
        at = text.find(f"{alias}.", at + 1)
    return re.search(rf"(?<![\w.]){re.escape(alias)}\s*\??\.", text) is not None


def _used(request: Request, package: Package) -> frozenset[str]:
    return frozenset[str]().union(*(request.get(_NAMED, _naming(module)) for module in package.modules))


def _used_by_imported(request: Request, imported: Imported) -> frozenset[str]:
    return frozenset[str]().union(*(request.get(USED, package) for package in imported.packages.values()))


def _naming(module: Module) -> _Naming:
    imports = ((alias, each.package) for alias, each in module.imports.items() if each.kind is ImportKind.PACKAGE)
    return module.source.text, tuple(imports)


_NAMED: Final = Query("packages named by a file", _named_by_file, most=1024)
"""Paths of the imported packages that a file names members of."""
USED: Final = Query("packages used by a package", _used, lives_with_key=True)
"""The same for all files of a package. A main package is loaded again each time, but for the texts of its files."""
_USED_BY_IMPORTED: Final[Query[Imported, frozenset[str]]] = Query(
    "packages used by imported ones", _used_by_imported, lives_with_key=True
)
