"""Checks packages: each after those it imports, its declarations before its statements.

A name may be used above the line that gives it a value, and by other files of its package. So a package is checked in
passes, each over all of its files, and each may rely on what those before it have bound:

1. Imports. What a file imports is checked first, by recursion, so packages are checked in depth-first order. A scope is
   registered before its package is entered: who imports in a circle finds it there, incomplete as it is, and the
   packages of a circle are never taken from the cache.
2. Names of schemas and rules, each with an empty `SchemaInfo`. From here on a type may name any of them.
3. Variables, exported ones that are assigned twice reported. Types are those of annotations, `any` where there is none,
   since values have not been looked at.
4. Schemas are built, from their bases on: `_pending` holds those still to be built, and who needs one builds it on the
   way. What is wrong with it is noted apart (`_built_findings`), since findings are reported in the order of the text
   and not in that of need. A circle of bases shows by a schema that is met again while its own base is looked for.
5. Variables again: annotations can now be told from their schemas. Then lambdas, whose parameters have types now.
6. Statements, in their order; here the types of variables become those of their values. Unifications of one name are
   joined before (`merge.find_merges`), entries of other files among them; each entry is checked with its own file open,
   for the sake of places and imports.

The result is a `Checked`. A `CheckCache` lets it be used again while the files are the same parsed trees and the
packages it imports have the same scopes, by identity. A package that was changed where others cannot see it, that is
with the same interface, keeps the scope it had before the change, and who imports it is not checked again. Such a scope
holds places of the earlier text (`moved`), and so may a main package of which statements were not walked through. They
are shown only where something is wrong, and then what has moved, and what imports it, is checked again (`exact`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import PurePath
from typing import Final, Protocol

from kcl.diagnostics import Code, Diagnostic, Label, Span, error
from kcl.loader.program import MAIN_PACKAGE, Import, Imported, ImportKind, Module, Package, Program
from kcl.memo.queries import Asking, Memo, Query
from kcl.records import dataclass, field, replace
from kcl.semantic.interfaces import interface
from kcl.semantic.merge import Merged, Merges, find_merges, schema_expression
from kcl.semantic.remembered import Remembered, effect, remembering, repeat, surroundings, words
from kcl.semantic.schemas import Schemas
from kcl.semantic.scopes import Binding, Kind, Scope, is_private
from kcl.semantic.signatures import LibraryTypes
from kcl.semantic.state import Rules
from kcl.semantic.statements import mutable_note
from kcl.semantic.types import ANY, FunctionType, ModuleType, SchemaInfo, SchemaType, Type, is_upper_bound
from kcl.syntax import ast

_Key = tuple[Rules, tuple[str, ...]]
_Naming = tuple[str, tuple[tuple[str, str], ...]]
"""A file's text, and the packages it imports with the names it gives them."""
Checking = tuple[Rules, bool]
"""How a package is checked: the rules, and whether its strings have lost their indentation."""


@dataclass(slots=True, eq=False)
class Checked:
    """What is known of a package: the names it declares, what is wrong with it, and what that rests on."""

    path: str
    scope: Scope
    findings: tuple[Diagnostic, ...]
    trees: tuple[ast.Module, ...]
    imports: tuple[Checked, ...]
    moved: bool = False
    """Whether places that `scope` tells may be those of an earlier text, to which it is equal else."""
    rests: bytes | None = None
    """A digest of all texts that it rests on, for who keeps it elsewhere; None where a place may have moved."""
    _interface: bytes | None = None

    @property
    def interface(self) -> bytes:
        """A digest of what other packages can see of it."""
        if self._interface is None:
            self._interface = interface(self.path, self.scope, [each.interface for each in self.imports])
        return self._interface


@dataclass(frozen=True, slots=True)
class CheckedElsewhere:
    """As `Checked`, of another process. `rests` is None where only what the imported packages show is the same."""

    scope: Scope
    interface: bytes
    findings: tuple[Diagnostic, ...]
    rests: bytes | None


class ChecksElsewhere(Protocol):
    """What the checker found out about packages in other processes."""

    def read(
        self,
        package: Package,
        how: Checking,
        imports: Sequence[Checked],
        checked: Mapping[str, Checked],
        builtins: Scope,
    ) -> CheckedElsewhere | None:
        """What is known of the package, if the packages it imports, in order, still show what they did.

        `checked` are the packages checked before it, by path. What is wrong with it is known only while all texts
        that it rests on are the same.
        """

    def rests(self, package: Package, how: Checking, imports: Sequence[Checked]) -> bytes | None:
        """A digest of all texts that a package rests on; None where a place in what it imports may have moved."""

    def keep(self, package: Package, how: Checking, found: Checked, checked: Mapping[str, Checked]) -> None:
        """Notes a package as it was just checked; `checked` are those checked before it, by path."""


def _by_imported() -> MutableMapping[Imported, dict[Rules, Mapping[str, Checked]]]:
    from weakref import WeakKeyDictionary  # who keeps nothing pays nothing

    return WeakKeyDictionary()


@dataclass(slots=True)
class CheckCache:
    """Packages checked before, by the paths of their files and the rules they were checked by.

    Hand one to every compilation of the same repository; safe to share between threads (an entry is replaced whole).
    """

    entries: dict[_Key, Checked] = field(default_factory=dict)
    remembered: dict[tuple[Checking, str], Remembered] = field(default_factory=dict)
    """The statements of files of main packages, by how they are checked and by path."""
    on_disk: ChecksElsewhere | None = None
    """Those of other processes."""
    memo: Memo = field(default_factory=Memo)
    """Facts of packages."""
    imported: MutableMapping[Imported, dict[Rules, Mapping[str, Checked]]] = field(default_factory=_by_imported)
    """What was found of all imported packages together, as long as somebody imports these."""


def _keep_scope(before: Checked, checked: Checked) -> None:
    """Lets a package that was checked again keep the scope it had, if nobody else can tell the difference."""
    if before.path != checked.path or before.findings or checked.findings or before.interface != checked.interface:
        return
    checked.scope, checked.moved, checked.rests = before.scope, True, None


def packages_in_use(program: Program, cache: CheckCache | None = None) -> frozenset[str]:
    """Paths of the packages whose members files name; those are run.

    One that is only imported is not, as in the official compiler. What its files name is, all the same.
    """
    memo = Memo() if cache is None else cache.memo
    named = memo.ask(_USED, program.main)
    used = memo.ask(_USED_BY_IMPORTED, program.imported)
    return (named | used | {MAIN_PACKAGE}) & program.packages.keys()


def _must_be_right(path: str, program: Program, in_use: frozenset[str]) -> bool:
    """Whether what the checker finds in a package counts: of one that nobody names only if it imports something."""
    return path in in_use or any(module.imports for module in program.packages[path].modules)


def _used(asking: Asking, package: Package) -> frozenset[str]:
    return frozenset[str]().union(*(asking.ask(_NAMED, _naming(module)) for module in package.modules))


def _used_by_imported(asking: Asking, imported: Imported) -> frozenset[str]:
    return frozenset[str]().union(*(asking.ask(_USED, package) for package in imported.packages.values()))


def _naming(module: Module) -> _Naming:
    imports = ((alias, each.package) for alias, each in module.imports.items() if each.kind is ImportKind.PACKAGE)
    return module.source.text, tuple(imports)


def _named_by_file(asking: Asking, key: _Naming) -> frozenset[str]:
    text, imports = key
    return frozenset(package for alias, package in imports if re.search(rf"(?<![\w.]){re.escape(alias)}\s*\??\.", text))


def _import_statements(module: Module) -> Iterator[tuple[ast.Import, Import | None]]:
    """The import statements of a file, each with where it leads; None for what was not found."""
    resolved = {id(each.statement): each for each in module.imports.values()}
    for statement in module.tree.body:
        if isinstance(statement, ast.Import):
            yield statement, resolved.get(id(statement)) or module.imports.get(statement.name)


def _imported_packages(asking: Asking, package: Package) -> tuple[str, ...]:
    imports = (each for module in package.modules for _, each in _import_statements(module))
    return tuple(dict.fromkeys(each.package for each in imports if each and each.kind is ImportKind.PACKAGE))


_NAMED: Final = Query("packages named by a file", _named_by_file, most=1024)
"""Paths of the imported packages that a file names members of."""
_USED: Final = Query("packages used by a package", _used, lives_with_key=True)
"""The same for all files of a package. A main package is loaded anew each time, but for the texts of its files."""
_USED_BY_IMPORTED: Final[Query[Imported, frozenset[str]]] = Query(
    "packages used by imported ones", _used_by_imported, lives_with_key=True
)
_IMPORTED_BY: Final = Query("packages imported by a package", _imported_packages, lives_with_key=True)
"""Their paths, in the order of the statements."""


def _named(imported: Import) -> str:
    """How messages name what is imported: a file by itself, also where it is all of its folder's package."""
    last = imported.statement.names[-1] if imported.statement.names else ""
    if imported.kind is not ImportKind.PACKAGE or imported.package.rpartition(".")[2] == last:
        return imported.package
    return f"{imported.package}.{last}"


class Checker(Schemas):
    """Checks the packages of one program. An `exact` one takes nothing that may tell places of an earlier text."""

    def __init__(
        self, program: Program, library: LibraryTypes, rules: Rules, cache: CheckCache, *, exact: bool = False
    ) -> None:
        super().__init__(library, rules)
        self._program = program
        self._exact = exact
        self._how = (rules, program.dedents)
        self._repeated = False
        """Whether a statement was not walked through, since it was before."""
        self._cache = cache
        self._scopes: dict[str, Scope] = {}
        """Of the packages that are checked or being checked."""
        self._checked: dict[str, Checked] = {}
        self._pending: dict[SchemaInfo, tuple[ast.Schema | ast.Rule, Module]] = {}
        self._built_findings: dict[SchemaInfo, dict[Diagnostic, None]] = {}
        self._name_places: dict[SchemaInfo, Span] = {}
        self._placed: dict[int, Module] = {}
        """Entries that were joined into a configuration of another file, by identity, with their own file."""
        self._joined_configs: set[int] = set()
        """The identities of those configurations."""

    def check(self) -> list[Diagnostic]:
        """Everything that is wrong with the program, the packages in the order they are first imported."""
        self._take_imported()
        self._package(MAIN_PACKAGE, self._program.main)
        checked = self._checked.values()
        if not self._exact and any(each.findings for each in checked) and any(each.moved for each in checked):
            return Checker(self._program, self.library, self.rules, self._cache, exact=True).check()
        self._note_imported()
        findings: dict[Diagnostic, None] = {}
        in_use = packages_in_use(self._program, self._cache)
        for each in checked:
            if _must_be_right(each.path, self._program, in_use):
                findings.update(dict.fromkeys(each.findings))
        return list(findings)

    def _take_imported(self) -> None:
        """Takes all imported packages as they were found, if none of them changed since."""
        known = self._cache.imported.get(self._program.imported, {}).get(self.rules)
        if known is not None and not (self._exact and any(each.moved for each in known.values())):
            self._checked.update(known)
            self._scopes.update((path, checked.scope) for path, checked in known.items())

    def _note_imported(self) -> None:
        known = self._cache.imported.get(self._program.imported, {})
        if (self._exact or self.rules not in known) and self._checked.keys() == self._program.packages.keys():
            found = {path: checked for path, checked in self._checked.items() if path != MAIN_PACKAGE}
            self._cache.imported[self._program.imported] = {**known, self.rules: found}

    # ------------------------------------------------------------ one package

    def _package(self, path: str, package: Package) -> Scope:
        known = self._scopes.get(path)
        if known is not None:
            return known
        scope = self._scopes[path] = Scope(self.builtins)
        key = (self.rules, tuple(module.source.path for module in package.modules))
        imports = self._checked_imports(package)
        before = self._cache.entries.get(key)
        checked = None if imports is None else self._found_before(path, package, imports, before)
        if checked is None:
            checked = self._walked(path, package, scope, imports or ())
            if imports is not None and path != MAIN_PACKAGE:
                if self._cache.on_disk is not None:
                    checked.rests = self._cache.on_disk.rests(package, self._how, imports)
                    kept = (
                        checked if before is None else replace(checked)
                    )  # before its scope gives way to that of before
                    self._cache.on_disk.keep(package, self._how, kept, self._checked)
                if before is not None and not self._exact:
                    _keep_scope(before, checked)
        if imports is not None:
            self._cache.entries[key] = checked
        self._scopes[path], self._checked[path] = checked.scope, checked
        return checked.scope

    def _checked_imports(self, package: Package) -> tuple[Checked, ...] | None:
        """The packages that the files import, checked before it. None if it imports itself by a detour."""
        paths = self._cache.memo.ask(_IMPORTED_BY, package)
        for path in paths:
            self._package(path, self._program.packages[path])
        return tuple(self._checked[path] for path in paths) if self._checked.keys() >= set(paths) else None

    def _found_before(
        self, path: str, package: Package, imports: tuple[Checked, ...], before: Checked | None
    ) -> Checked | None:
        """What was found of the same files and imports, in this process or another."""
        trees = tuple(module.tree for module in package.modules)
        if (
            before is not None
            and before.path == path  # the same files may be a package of this repository, and of a dependency
            and not (self._exact and before.moved)
            and len(before.trees) == len(trees)
            and len(before.imports) == len(imports)
            and all(mine is theirs for mine, theirs in zip(before.trees, trees, strict=True))
            and all(mine.scope is theirs.scope for mine, theirs in zip(before.imports, imports, strict=True))
        ):
            return before
        if path == MAIN_PACKAGE or self._cache.on_disk is None:
            return None
        kept = self._cache.on_disk.read(package, self._how, imports, self._checked, self.builtins)
        if kept is None or (self._exact and kept.rests is None):
            return None
        moved = kept.rests is None
        return Checked(path, kept.scope, kept.findings, trees, imports, moved, kept.rests, kept.interface)

    def _walked(self, path: str, package: Package, scope: Scope, imports: tuple[Checked, ...]) -> Checked:
        """Checks the package, whose imports were checked before, and binds its names in `scope`."""
        self._start(path, scope)
        self._bind_imports(package, scope)
        bodies = list(self._bodies(path, package))
        self._declarations(bodies)
        for module, body in bodies:
            self._open(module)
            remembered = self._remembered(module) if path == MAIN_PACKAGE else None
            for statement in body:
                if remembered is not None and id(statement) in remembered.words:
                    self._statement(statement, module, remembered)
                else:
                    self.statement(statement)
        trees = tuple(module.tree for module in package.modules)
        moved = path == MAIN_PACKAGE and self._repeated
        return Checked(path, scope, tuple(self.findings), trees, imports, moved)

    def _remembered(self, module: Module) -> Remembered | None:
        """What is known of the statements of a file, None at the first sight of it."""
        if self._exact:
            return None
        key = (self._how, module.source.path)
        found = self._cache.remembered.get(key)
        if found is not None and found.tree is module.tree:
            return found
        self._cache.remembered[key] = remembering(module.tree)
        return None

    def _statement(self, statement: ast.Stmt, module: Module, remembered: Remembered) -> None:
        """Checks a statement, or does what checking it did in surroundings that were alike."""
        key, scope, path = id(statement), self.scope, module.source.path
        mentioned = remembered.words[key]
        if mentioned is None:
            mentioned = remembered.words[key] = words(statement)
        imported = {name: self.modules[path, name] for name in mentioned & module.imports.keys()}
        now = surroundings(mentioned, scope, self.lambdas, self.declared, imported)
        known = remembered.effects.get(key)
        if known is not None and known.before.like(now):
            repeat(known, now, scope, self.declared)
            self._repeated = True
            return
        bindings, size = {name: scope.names[name] for name in now.names}, len(scope.names)
        before, self.findings = self.findings, {}
        self.statement(statement)
        found, self.findings = self.findings, before
        for finding in found:
            self.findings.setdefault(finding)
        done = None if found else effect(now, bindings, scope, size, self.declared)
        if done is not None:
            remembered.effects[key] = done

    def _bind_imports(self, package: Package, scope: Scope) -> None:
        """Binds what the files import."""
        paths: dict[str, str] = {}
        for module in package.modules:
            for statement, imported in _import_statements(module):
                if imported is None:
                    self._bind_missing(statement, module, package, scope)
                    continue
                place = Span(module.source.path, statement.start, statement.end)
                name = statement.name
                target = module.targets.get(statement.start) or ".".join(statement.names)
                if paths.setdefault(name, target) != target and not self.rules.file_scoped_imports:
                    message = f"the name '{name}' is defined multiple times, '{name}' must be defined only once"
                    self.findings.setdefault(error(Code.COMPILE, message, place))
                around = self._scopes[imported.package] if imported.kind is ImportKind.PACKAGE else None
                type_ = ModuleType(imported.package, around, _named(imported))
                self.modules[module.source.path, name] = type_
                if name not in scope.names:
                    scope.names[name] = Binding(type_, place, Kind.MODULE)

    def _bind_missing(self, statement: ast.Import, module: Module, package: Package, scope: Scope) -> None:
        """Binds the name of a package that was not found, which has no members."""
        place = Span(module.source.path, statement.start, statement.end)
        names = [*self._above(statement.level, module, package), *statement.names]
        type_ = ModuleType(".".join(names), Scope(None))
        scope.names.setdefault(statement.name, Binding(type_, place, Kind.MODULE))

    def _above(self, level: int, module: Module, package: Package) -> list[str]:
        """The folders between the root and what a relative import of `level` dots starts from."""
        if not level:
            return []
        if package.path != MAIN_PACKAGE:
            folders = package.path.split(".")
        else:
            here, root = PurePath(module.source.path).parent, PurePath(self._program.root)
            folders = list(here.relative_to(root).parts) if here.is_relative_to(root) else []
        return folders[: len(folders) - level + 1]

    def _start(self, path: str, scope: Scope) -> None:
        self.findings = {}
        self.package = "" if path == MAIN_PACKAGE else path
        self.top = self.scope = scope
        self.level = 0
        self.declared, self.lambdas, self.assigned = {}, {}, {}
        self.infos, self.order, self.later = {}, {}, []
        self._pending, self._built_findings, self._name_places, self._placed = {}, {}, {}, {}
        self._joined_configs = set()
        self.schema = None
        self.loop_names.clear()
        self.contexts.clear()

    def _open(self, module: Module) -> None:
        self.path, self.text, self.imports = module.source.path, module.source.text, module.imports

    # ------------------------------------------------------------ statements, joined as they are evaluated

    def _bodies(self, path: str, package: Package) -> Iterator[tuple[Module, Sequence[ast.Stmt]]]:
        """The statements of each file; those that describe one instance together are joined into the last."""
        merges = Merges({}, frozenset())
        if path == MAIN_PACKAGE:
            merges = find_merges([module.tree.body for module in package.modules])
        for module in package.modules:
            if not merges.merged:
                yield module, module.tree.body
                continue
            yield (
                module,
                [
                    self._joined_statement(merges.merged[id(statement)], package)
                    if id(statement) in merges.merged
                    else statement
                    for statement in module.tree.body
                    if id(statement) not in merges.dropped
                ],
            )

    def _joined_statement(self, merged: Merged, package: Package) -> ast.Stmt:
        statement = merged.statement
        whole = schema_expression(statement)
        for placed in merged.items:
            self._placed[id(placed.item)] = package.modules[placed.file]
        config = ast.Config(whole.config.start, whole.config.end, [placed.item for placed in merged.items])
        self._joined_configs.add(id(config))
        value = ast.SchemaExpr(whole.start, whole.end, whole.name, whole.args, whole.keywords, config)
        if isinstance(statement, ast.Unification):
            return ast.Unification(statement.start, statement.end, statement.target, value)
        return ast.Assign(statement.start, statement.end, statement.targets, statement.type, value)

    def config(self, node: ast.Config) -> Type:
        if id(node) not in self._joined_configs:
            return super().config(node)
        around = self.path, self.text, self.imports
        found = super().config(node)
        self.path, self.text, self.imports = around
        return found

    def before_item(self, item: ast.ConfigItem) -> None:
        module = self._placed.get(id(item))
        if module is not None:
            self._open(module)

    # ------------------------------------------------------------ declarations

    def _declarations(self, bodies: Sequence[tuple[Module, Sequence[ast.Stmt]]]) -> None:
        self._schema_names(bodies)
        for module, body in bodies:
            self._open(module)
            self._variables(body, first=True)
        self._build_schemas()
        for module, body in bodies:
            self._open(module)
            self._variables(body, first=False)
        for module, body in bodies:
            self._open(module)
            self._lambdas(body)

    def _schema_names(self, bodies: Sequence[tuple[Module, Sequence[ast.Stmt]]]) -> None:
        """Binds the names of schemas and rules. Of several with one name the last is meant everywhere."""
        names = self.scope.names
        for module, body in bodies:
            self._open(module)
            for statement in body:
                if not isinstance(statement, (ast.Schema, ast.Rule)):
                    continue
                name = statement.name
                if name in names:
                    self.report(Code.UNIQUE_KEY, f"Unique key error name '{name}'", self.span(statement))
                info = SchemaInfo(
                    name,
                    self.package,
                    is_mixin=isinstance(statement, ast.Schema) and statement.is_mixin,
                    is_protocol=isinstance(statement, ast.Schema) and statement.is_protocol,
                    is_rule=isinstance(statement, ast.Rule),
                )
                self.infos[id(statement)] = info
                self.order[info] = len(self.order)
                self._name_places[info] = Span(self.path, statement.name_start, statement.name_end)
                self._pending[info] = (statement, module)
                self.bind(name, SchemaType(info, False), self.span(statement), Kind.DEFINITION)

    def _variables(self, body: Sequence[ast.Stmt], *, first: bool) -> None:
        """Binds the variables of a file; `first` time the exported ones that are assigned twice are reported."""
        for statement in body:
            if isinstance(statement, ast.TypeAlias):
                self.here = self.place(statement)
                self.alias(statement)
        self._assigned_variables(body, first)

    def _assigned_variables(self, body: Sequence[ast.Stmt], first: bool) -> None:
        for statement in body:
            match statement:
                case ast.Assign():
                    for target in statement.targets:
                        self._variable(target, statement.type, first)
                case ast.Unification(target=target):
                    self.bind(target.name, self.instantiated(statement.value), self.span(target))
                case ast.If():
                    self._assigned_variables(statement.body, first)
                    self._assigned_variables(statement.orelse, first)
                case _:
                    pass

    def _variable(self, target: ast.Target, annotation: ast.Type | None, first: bool) -> None:
        name, place = target.name, self.span(target)
        known = self.scope.names.get(name)
        if first and known is not None and not is_private(name):
            assert known.span is not None
            self.report(
                Code.IMMUTABLE,
                f"Can not change the value of '{name}', because it was declared immutable",
                place,
                (Label(known.span, f"The variable '{name}' is declared here"),),
                (mutable_note(name),),
            )
            return
        type_: Type = ANY if known is None else known.type
        if annotation is not None:
            type_ = self.annotated(annotation)
            if known is not None and not is_upper_bound(known.type, type_):
                self.type_changes(target, type_, known.type, known.span, shown=known.type)
        self.bind(name, type_, place)

    def _lambdas(self, body: Sequence[ast.Stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
                function = FunctionType(self.lambda_parameters(statement.value), ANY)
                for target in statement.targets:
                    if not target.path:
                        self.lambdas[target.name] = function

    # ------------------------------------------------------------ schemas

    def _build_schemas(self) -> None:
        for info in list(self.order):
            self._built(info)
            self.findings.update(self._built_findings.get(info, {}))
        self.findings.update(dict.fromkeys(self.later))
        self._report_circles()

    def _built(self, info: SchemaInfo) -> SchemaInfo:
        pending = self._pending.pop(info, None)
        if pending is None:
            return info
        node, module = pending
        before = self.findings, self.path, self.text, self.imports, self.here
        self.findings = {}
        self._open(module)
        if isinstance(node, ast.Schema):
            self.build_schema(node)
        else:
            self.build_rule(node)
        self._built_findings[info] = self.findings
        self.findings, self.path, self.text, self.imports, self.here = before
        return info

    def _report_circles(self) -> None:
        reported: set[SchemaInfo] = set()
        ending: set[SchemaInfo] = set()
        """What leads to a schema without a base."""
        for info in self.order:
            circle: list[SchemaInfo] = [info]
            met = {info}
            while (base := circle[-1].base) is not None and base not in met and base not in ending:
                circle.append(base)
                met.add(base)
            if base is None or base in ending:
                ending.update(circle)
                continue
            if base is not info or info in reported or len(circle) == 1:
                continue
            reported.update(circle)
            names = ", ".join(member.full for member in circle)
            for member in circle:
                place = self._name_places.get(member)
                if place is not None:
                    self.compile_error(f"There is a circular reference between schemas {names}", place)
