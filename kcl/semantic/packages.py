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
holds places of the earlier text (`moved`). They are shown only where something is wrong, and then all is checked again
without the cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import PurePath
from typing import Final, Protocol

from kcl.diagnostics import Code, Diagnostic, Label, Span, error
from kcl.loader.program import MAIN_PACKAGE, Import, Imported, ImportKind, Module, Package, Program
from kcl.memo.queries import Asking, Memo, Query
from kcl.records import dataclass, field
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
    """Whether `scope` is that of an earlier text, equal but for the places that it tells."""
    _interface: bytes | None = None

    @property
    def interface(self) -> bytes:
        """A digest of what other packages can see of it."""
        if self._interface is None:
            self._interface = interface(self.path, self.scope, [each.interface for each in self.imports])
        return self._interface


class ChecksElsewhere(Protocol):
    """What the checker found out about packages in other processes."""

    def read(
        self,
        package: Package,
        how: Checking,
        imports: Sequence[Checked],
        checked: Mapping[str, Checked],
        builtins: Scope,
    ) -> tuple[Scope, bytes] | None:
        """The scope and the interface of the package, if the packages it imports, in order, still show what they did.

        `checked` are the packages checked before it, by path.
        """

    def keep(self, package: Package, how: Checking, found: Checked, checked: Mapping[str, Checked]) -> None:
        """Notes a package nothing is wrong with; `checked` are those checked before it, by path."""


def _by_imported() -> MutableMapping[Imported, dict[Rules, Mapping[str, Checked]]]:
    from weakref import WeakKeyDictionary  # who keeps nothing pays nothing

    return WeakKeyDictionary()


@dataclass(slots=True)
class CheckCache:
    """Packages checked before, by the paths of their files and the rules they were checked by.

    Hand one to every compilation of the same repository; safe to share between threads (an entry is replaced whole).
    """

    entries: dict[_Key, Checked] = field(default_factory=dict)
    named: dict[str, tuple[ast.Module, Mapping[str, str], frozenset[str]]] = field(default_factory=dict)
    """By the path of a file, where its imports lead, and which of these packages it names members of."""
    whole: dict[_Key, tuple[Package, Checked, tuple[str, ...]]] = field(default_factory=dict)
    """Packages that are no part of a circle, as they were loaded when they were last checked or found to be the same,
    with the paths of the packages they import."""
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
    if before.findings or checked.findings or before.interface != checked.interface:
        return
    checked.scope, checked.moved = before.scope, True


def packages_in_use(program: Program, cache: CheckCache | None = None) -> frozenset[str]:
    """Paths of the packages whose members files name; those are run.

    One that is only imported is not, as in the official compiler. What its files name is, all the same.
    """
    cache = cache or CheckCache()
    named = frozenset[str]().union(*(_named_by(module, cache) for module in program.main.modules))
    used = cache.memo.ask(_USED_BY_IMPORTED, program.imported)
    return (named | used | {MAIN_PACKAGE}) & program.packages.keys()


def _must_be_right(path: str, program: Program, in_use: frozenset[str]) -> bool:
    """Whether what the checker finds in a package counts: of one that nobody names only if it imports something."""
    return path in in_use or any(module.imports for module in program.packages[path].modules)


def _used(asking: Asking, package: Package) -> frozenset[str]:
    return frozenset(path for module in package.modules for path in _members_of(module))


def _used_by_imported(asking: Asking, imported: Imported) -> frozenset[str]:
    return frozenset[str]().union(*(asking.ask(_USED, package) for package in imported.packages.values()))


_USED: Final = Query("packages used by a package", _used, lives_with_key=True)
"""Paths of the imported packages that the files of a package name members of."""
_USED_BY_IMPORTED: Final[Query[Imported, frozenset[str]]] = Query(
    "packages used by imported ones", _used_by_imported, lives_with_key=True
)


def _named_by(module: Module, cache: CheckCache) -> frozenset[str]:
    """As `_members_of` a file of a main package, which is loaded anew each time."""
    imports = {name: each.package for name, each in module.imports.items()}
    known = cache.named.get(module.source.path)
    if known is not None and known[0] is module.tree and known[1] == imports:  # the same text may import others now
        return known[2]
    named = _members_of(module)
    cache.named[module.source.path] = module.tree, imports, named
    return named


def _members_of(module: Module) -> frozenset[str]:
    """Paths of the imported packages that a file names members of."""
    text = module.source.text
    return frozenset(
        each.package
        for alias, each in module.imports.items()
        if each.kind is ImportKind.PACKAGE and re.search(rf"(?<![\w.]){re.escape(alias)}\s*\??\.", text)
    )


def _named(imported: Import) -> str:
    """How messages name what is imported: a file by itself, also where it is all of its folder's package."""
    last = imported.statement.names[-1] if imported.statement.names else ""
    if imported.kind is not ImportKind.PACKAGE or imported.package.rpartition(".")[2] == last:
        return imported.package
    return f"{imported.package}.{last}"


class Checker(Schemas):
    """Checks the packages of one program. With `anew` nothing found out about the imported ones together is taken."""

    def __init__(
        self, program: Program, library: LibraryTypes, rules: Rules, cache: CheckCache, *, anew: bool = False
    ) -> None:
        super().__init__(library, rules)
        self._program = program
        self._anew = anew
        self._how = (rules, program.dedents)
        self._remembers = True
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
        if not self._anew:
            self._take_imported()
        self._package(MAIN_PACKAGE, self._program.main)
        if any(checked.findings for checked in self._checked.values()) and not self._anew:
            if any(checked.moved for checked in self._checked.values()):
                return self._check_anew()
            if self._repeated:
                return self._check_main_anew()
        self._note_imported()
        findings: dict[Diagnostic, None] = {}
        in_use = packages_in_use(self._program, self._cache)
        for path, checked in self._checked.items():
            if _must_be_right(path, self._program, in_use):
                findings.update(dict.fromkeys(checked.findings))
        return list(findings)

    def _take_imported(self) -> None:
        """Takes all imported packages as they were found, if none of them changed since."""
        known = self._cache.imported.get(self._program.imported, {}).get(self.rules)
        if known is not None:
            self._checked.update(known)
            self._scopes.update((path, checked.scope) for path, checked in known.items())

    def _check_anew(self) -> list[Diagnostic]:
        """The findings with the places of now."""
        fresh = CheckCache(named=self._cache.named, memo=self._cache.memo, imported=self._cache.imported)
        found = Checker(self._program, self.library, self.rules, fresh, anew=True).check()
        self._cache.entries, self._cache.whole = fresh.entries, fresh.whole
        return found

    def _check_main_anew(self) -> list[Diagnostic]:
        """The findings, and the places in them, as if no statement had been seen before."""
        key = self._package_key(self._program.main)
        self._cache.entries.pop(key, None)
        self._cache.whole.pop(key, None)
        again = Checker(self._program, self.library, self.rules, self._cache)
        again._remembers = False
        return again.check()

    def _note_imported(self) -> None:
        known = self._cache.imported.get(self._program.imported, {})
        if (self._anew or self.rules not in known) and self._checked.keys() == self._program.packages.keys():
            found = {path: checked for path, checked in self._checked.items() if path != MAIN_PACKAGE}
            self._cache.imported[self._program.imported] = {**known, self.rules: found}

    # ------------------------------------------------------------ one package

    def _package(self, path: str, package: Package) -> Scope:
        known = self._scopes.get(path)
        if known is not None:
            return known
        scope = self._scopes[path] = Scope(self.builtins)
        key = self._package_key(package)
        whole = self._cache.whole.get(key)
        if whole is not None and whole[0] is package and self._imports_hold(whole[1], whole[2]):
            self._scopes[path] = whole[1].scope
            self._checked[path] = whole[1]
            return whole[1].scope
        found: list[Diagnostic] = []
        imports = self._import_packages(package, scope, found)
        trees = tuple(module.tree for module in package.modules)
        cached = self._cache.entries.get(key)
        if (
            cached is not None
            and cached.path == path  # the same files may be a package of this repository, and of a dependency
            and imports is not None
            and len(cached.trees) == len(trees)
            and len(cached.imports) == len(imports)
            and all(mine is theirs for mine, theirs in zip(cached.trees, trees, strict=True))
            and all(mine.scope is theirs.scope for mine, theirs in zip(cached.imports, imports, strict=True))
        ):
            self._scopes[path] = cached.scope
            self._checked[path] = cached
            self._note_whole(key, package, cached)
            return cached.scope
        on_disk = None if self._anew or imports is None or path == MAIN_PACKAGE else self._cache.on_disk
        if on_disk is not None:
            kept = on_disk.read(package, self._how, imports or (), self._checked, self.builtins)
            if kept is not None:
                checked = Checked(path, kept[0], (), trees, imports or (), moved=bool(imports), _interface=kept[1])
                self._take(key, package, checked)
                return checked.scope
        self._start(path, scope, found)
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
        checked = Checked(path, scope, tuple(self.findings), trees, imports or ())
        if imports is not None:
            if cached is not None and path != MAIN_PACKAGE:
                _keep_scope(cached, checked)
            self._take(key, package, checked)
            if on_disk is not None and not checked.findings:
                on_disk.keep(package, self._how, checked, self._checked)
        else:
            self._scopes[path], self._checked[path] = scope, checked
        return checked.scope

    def _remembered(self, module: Module) -> Remembered | None:
        """What is known of the statements of a file, None at the first sight of it."""
        if not self._remembers:
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

    def _take(self, key: _Key, package: Package, checked: Checked) -> None:
        """Lets a package that is no part of a circle be what was found, for this check and those to come."""
        self._scopes[checked.path] = checked.scope
        self._checked[checked.path] = self._cache.entries[key] = checked
        if checked.path != MAIN_PACKAGE:  # which is loaded anew each time
            self._note_whole(key, package, checked)

    def _imports_hold(self, checked: Checked, paths: tuple[str, ...]) -> bool:
        """Whether the packages that an unchanged one imports are what it was checked against, checking them first."""
        for path, imported in zip(paths, checked.imports, strict=True):
            self._package(path, self._program.packages[path])
            now = self._checked.get(path)
            if now is None or now.scope is not imported.scope:
                return False
        return True

    def _note_whole(self, key: _Key, package: Package, checked: Checked) -> None:
        """Lets the next run take the package without looking at its statements, unless it is part of a circle."""
        paths = {id(each.scope): path for path, each in self._checked.items()}
        imported = tuple(paths[id(each.scope)] for each in checked.imports)
        if all(self._package_key(self._program.packages[each]) in self._cache.whole for each in imported):
            self._cache.whole[key] = package, checked, imported

    def _package_key(self, package: Package) -> _Key:
        return (self.rules, tuple(module.source.path for module in package.modules))

    def _import_packages(self, package: Package, scope: Scope, found: list[Diagnostic]) -> tuple[Checked, ...] | None:
        """Binds what the files import, checking it before. None if a package imports itself by a detour."""
        paths: dict[str, str] = {}
        imports: dict[str, Checked] = {}
        in_circle = False
        for module in package.modules:
            resolved = {id(each.statement): each for each in module.imports.values()}
            for statement in module.tree.body:
                if not isinstance(statement, ast.Import):
                    continue
                imported = resolved.get(id(statement))
                if imported is None:
                    imported = module.imports.get(statement.name)
                    if imported is None:
                        self._bind_missing(statement, module, package, scope)
                        continue
                place = Span(module.source.path, statement.start, statement.end)
                name = statement.name
                target = module.targets.get(statement.start) or ".".join(statement.names)
                if paths.setdefault(name, target) != target and not self.rules.file_scoped_imports:
                    message = f"the name '{name}' is defined multiple times, '{name}' must be defined only once"
                    found.append(error(Code.COMPILE, message, place))
                type_ = ModuleType(imported.package, self._imported_scope(imported), _named(imported))
                self.modules[module.source.path, name] = type_
                if name not in scope.names:
                    scope.names[name] = Binding(type_, place, Kind.MODULE)
                if imported.kind is ImportKind.PACKAGE:
                    if imported.package in self._checked:
                        imports[imported.package] = self._checked[imported.package]
                    else:
                        in_circle = True
        return None if in_circle else tuple(imports.values())

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

    def _imported_scope(self, imported: Import) -> Scope | None:
        if imported.kind is not ImportKind.PACKAGE:
            return None
        return self._package(imported.package, self._program.packages[imported.package])

    def _start(self, path: str, scope: Scope, found: list[Diagnostic]) -> None:
        self.findings = dict.fromkeys(found)
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
