"""Checks packages: each after those it imports, its declarations before its statements.

A name may be used above the line that gives it a value, and by other files of its package. So a package is checked in
passes, each over all of its files, and each may rely on what those before it have bound:

1. Imports. What a file imports is checked first, by recursion, so packages are checked in depth-first order. A scope is
   registered before its package is entered: who imports in a circle finds it there, incomplete as it is, and the
   packages of a circle are never taken from the cache.
2. Names of schemas and rules, each with an empty `SchemaInfo`. From here on a type may name any of them.
3. Variables, exported ones that are assigned twice reported. Types are those of annotations, `any` where there is none,
   since values have not been looked at.
4. Schemas are built, from their bases on: `_pending` holds those still to be built, and the first that needs one
   builds it. Its findings are collected apart (`_built_findings`), since findings are reported in the order of the text
   and not of construction. A circle of bases is detected when a schema is met again while its base is being built.
5. Variables again: annotations can now be resolved to schemas. Then lambdas, whose parameters have types now.
6. Statements, in their order; here the types of variables become those of their values. Unifications of one name are
   joined before (`merge.find_merges`), entries of other files among them; each entry is checked with its own file open,
   for the sake of places and imports.

The checker knows nothing of earlier runs: which packages are checked, in which order, and when that is done again, is
decided by the memo's queries (`checked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kcl.diagnostics import Code, Diagnostic, Label, Span, error
from kcl.loader.program import MAIN_PACKAGE, Import, ImportKind, Module, Package
from kcl.records import replace
from kcl.semantic.merge import Merged, Merges, find_merges, schema_expression
from kcl.semantic.schemas import Schemas
from kcl.semantic.scopes import Binding, Kind, ModuleType, Scope, is_private
from kcl.semantic.signatures import LibraryTypes
from kcl.semantic.state import Rules
from kcl.semantic.statement_cache import (
    CheckedStatements,
    Effect,
    Parts,
    Surroundings,
    Texts,
    Walk,
    after_literal,
    effect,
    has_same_outcome,
    is_cached,
    is_value_changed,
    literals_in,
    named_entries,
    repeat,
    surroundings,
    texts_of,
    words,
)
from kcl.semantic.statements import mutable_note
from kcl.semantic.types import ANY, INT, STR, FunctionType, SchemaInfo, SchemaType, Type, is_upper_bound
from kcl.syntax import ast


def import_statements(module: Module) -> Iterator[tuple[ast.Import, Import | None]]:
    """The import statements of a file, each with where it leads; None for what was not found."""
    resolved = {id(each.statement): each for each in module.imports.values()}
    for statement in module.tree.body:
        if isinstance(statement, ast.Import):
            yield statement, resolved.get(id(statement)) or module.imports.get(statement.name)


def _named(imported: Import) -> str:
    """How messages name what is imported: a file by itself, also where it is all of its folder's package."""
    last = imported.statement.names[-1] if imported.statement.names else ""
    if imported.kind is not ImportKind.PACKAGE or imported.package.rpartition(".")[2] == last:
        return imported.package
    return f"{imported.package}.{last}"


class Checker(Schemas):
    """Checks packages one after the other, whose imports were checked before. `root` is where dotted imports start."""

    def __init__(self, library: LibraryTypes, rules: Rules, root: str) -> None:
        super().__init__(library, rules)
        self._root = root
        self._repeated = False
        """Whether a statement was not walked through, since it was before."""
        self._pending: dict[SchemaInfo, tuple[ast.Schema | ast.Rule, Module]] = {}
        self._built_findings: dict[SchemaInfo, dict[Diagnostic, None]] = {}
        self._name_places: dict[SchemaInfo, Span] = {}
        self._placed: dict[int, Module] = {}
        """Entries that were joined into a configuration of another file, by identity, with their own file."""
        self._joined_configs: set[int] = set()
        """The identities of those configurations."""
        self._joined_parts: dict[int, list[tuple[Module, ast.Stmt]]] = {}
        """What statements were joined of, by their identities."""

    # ------------------------------------------------------------ one package

    def walk(
        self,
        package: Package,
        scope: Scope,
        scopes: Mapping[str, Scope],
        known: Mapping[str, CheckedStatements] = MappingProxyType({}),
        by_text: CheckedStatements | None = None,
        imports: tuple[object, ...] = (),
    ) -> tuple[tuple[Diagnostic, ...], bool]:
        """Binds the names of a package in its scope; `scopes` are those of the packages it imports, by path.

        `imports` are these as they were checked, for `is_like_last`.

        Returns what is wrong, and whether places in the scope may be those of an earlier text, since statements that
        are `known`, by the path of their file, or `by_text` were not walked through.
        """
        self._start(package.path, scope)
        self._scopes, self._repeated = scopes, False
        self._bind_imports(package, scope)
        bodies = list(self._bodies(package))
        self._declarations(bodies)
        met: set[int | Texts] = set()
        effects: dict[tuple[int, int], Effect] = {}
        for file, (module, body) in enumerate(bodies):
            self._open(module)
            cached = known.get(module.source.path)
            for number, statement in enumerate(body):
                done = None
                if cached is not None and id(statement) in cached.words:
                    done = self._statement(statement, id(statement), (module,), cached)
                elif by_text is not None and is_cached(statement):
                    parts = self._joined_parts.get(id(statement)) or ((module, statement),)
                    key = texts_of(parts)
                    met.add(key)
                    done = self._statement(statement, key, [each for each, _ in parts], by_text)
                else:
                    self.statement(statement)
                if done is not None:
                    effects[file, number] = done
        if by_text is not None:
            by_text.keep(met)
            if not self.findings and not self.order:  # schemas are taken over from no other walk
                by_text.last = Walk(bodies, self._joined_parts, scope, imports, effects)
        return tuple(self.findings), self._repeated

    def is_like_last(self, package: Package, imports: tuple[object, ...], cached: CheckedStatements) -> bool:
        """Whether nothing is wrong, since nothing was last time, and one statement at most has another value since.

        The statement is checked as if it were reached, in what it met last time. What it does has to be the same, or
        those after it would find something else. Then `cached.last` is this walk, and its scope that of the package.
        """
        last = cached.last
        if last is None or last.imports != imports:
            return False
        self._start(package.path, Scope(self.builtins))
        now = Walk(list(self._bodies(package)), self._joined_parts, last.scope, imports, last.effects)
        at = last.change(now)
        if at is None:
            return False
        if at != (-1, -1):
            before, parts = last.effects.get(at), now.parts_of(*at)
            if before is None or not is_value_changed(last.parts_of(*at), parts):
                return False
            module, body = now.bodies[at[0]]
            literals = after_literal(before.literals, last.parts_of(*at), parts)
            if literals is not None:
                done: Effect | None = replace(before, literals=literals)
            else:
                self._open(module)
                done = self._alone(body[at[1]], parts, before.before, last.scope)
            if done is None or not has_same_outcome(before, done):
                return False
            now = replace(now, effects={**last.effects, at: done})
        cached.last = now
        return True

    def _alone(self, statement: ast.Stmt, parts: Parts, around: Surroundings, whole: Scope) -> Effect | None:
        """What checking a statement does in these surroundings, of the names in `whole`; None if anything is wrong.

        None too where it mentions a name that they do not tell of.
        """
        mentioned, scope = words(statement), self.scope
        if any(name in whole.names for name in mentioned - around.names.keys()):
            return None
        imported = ((each.source.path, name) for each, _ in parts for name in mentioned & each.imports.keys())
        if any(each not in around.modules for each in imported):
            return None
        scope.names.update(
            {name: Binding(type_, whole.names[name].span, kind) for name, (kind, type_) in around.names.items()}
        )
        places = ((name, whole.names[name].span) for name in around.declared)
        self.declared = {name: place for name, place in places if place is not None}
        self.lambdas = dict(around.lambdas)
        self.modules.update(around.modules)
        bindings, size = dict(scope.names), len(scope.names)
        self.statement(statement)
        found = list(self._plain_values(statement, parts[-1][0]))
        done = None if self.findings else effect(around, bindings, scope, size, self.declared)
        return None if done is None else replace(done, literals=literals_in(parts, found))

    def _plain_values(self, statement: ast.Stmt, module: Module) -> Iterator[tuple[str, str, int, int]]:
        """The literals that a statement gives to attributes of a schema which take any number, or any text.

        Yields the attribute, and the path and place of the literal.
        """
        literals = [each for each in named_entries(statement) if isinstance(each[1].value, ast.Int | ast.Str)]
        if not literals:
            return
        assert isinstance(statement, ast.Assign | ast.Unification)
        schema = self.instantiated(schema_expression(statement))
        if not isinstance(schema, SchemaType):
            return
        for name, entry in literals:
            attribute = schema.info.attribute(name)
            if attribute is not None and (attribute.type is INT or attribute.type is STR):
                path = self._placed.get(id(entry), module).source.path
                yield name, path, entry.value.start, entry.value.end

    def _statement(
        self, statement: ast.Stmt, key: int | Texts, modules: Iterable[Module], cached: CheckedStatements
    ) -> Effect | None:
        """Checks a statement of these files, or does what checking it did in surroundings that were alike.

        Returns what that was, None where more was done than an `Effect` tells.
        """
        scope = self.scope
        mentioned = cached.words.get(key)
        if mentioned is None:
            mentioned = cached.words[key] = words(statement)
        imported = {
            (each.source.path, name): self.modules[each.source.path, name]
            for each in modules
            for name in mentioned & each.imports.keys()
        }
        now = surroundings(mentioned, scope, self.lambdas, self.declared, imported)
        known = cached.effects.get(key)
        if known is not None and known.before.like(now):
            repeat(known, now, scope, self.declared)
            self._repeated = True
            return known
        bindings, size = {name: scope.names[name] for name in now.names}, len(scope.names)
        before, self.findings = self.findings, {}
        self.statement(statement)
        found, self.findings = self.findings, before
        for finding in found:
            self.findings.setdefault(finding)
        done = None if found else effect(now, bindings, scope, size, self.declared)
        if done is not None:
            cached.effects[key] = done
        return done

    def _bind_imports(self, package: Package, scope: Scope) -> None:
        """Binds what the files import."""
        paths: dict[str, str] = {}
        for module in package.modules:
            for statement, imported in import_statements(module):
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
            from pathlib import PurePath  # most programs find what they import

            here, root = PurePath(module.source.path).parent, PurePath(self._root)
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
        self._joined_configs, self._joined_parts = set(), {}
        self.schema = None
        self.loop_names.clear()
        self.contexts.clear()

    def _open(self, module: Module) -> None:
        self.path, self.text, self.imports = module.source.path, module.source.text, module.imports

    # ------------------------------------------------------------ statements, joined as they are evaluated

    def _bodies(self, package: Package) -> Iterator[tuple[Module, Sequence[ast.Stmt]]]:
        """The statements of each file; those that describe one instance together are joined into the last."""
        merges = Merges({}, frozenset())
        if package.path == MAIN_PACKAGE:
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
        joined: ast.Stmt
        if isinstance(statement, ast.Unification):
            joined = ast.Unification(statement.start, statement.end, statement.target, value)
        else:
            joined = ast.Assign(statement.start, statement.end, statement.targets, statement.type, value)
        self._joined_parts[id(joined)] = [(package.modules[file], part) for file, part in merged.parts]
        return joined

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
