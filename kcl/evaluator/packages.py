"""Packages made ready to run: their files with the code of their statements, as far as it was needed yet.

Preparing a package declares its types and variables; code is compiled when it runs for the first time. What was
prepared of a file serves as long as the file, what its names may mean, and what other files say of the same variables
stay the same. So an edit of one file of the main package leaves the code of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kcl.evaluator.calls import schema_expression_code
from kcl.evaluator.configurations import config_code, lower_item
from kcl.evaluator.environments import Environment, Evaluate
from kcl.evaluator.functions import RuleType
from kcl.evaluator.lexical import ConfigScope, GlobalScope, Scope, Unit
from kcl.evaluator.runtime import ModuleContext, Runtime
from kcl.evaluator.schema_lowering import compile_body, run_rule
from kcl.evaluator.schemas import SchemaType
from kcl.evaluator.scopes import PackageScope, Setter
from kcl.evaluator.statements import Assigning, Body, Run, lower_assignment, lower_setter, lower_statements
from kcl.evaluator.value import Value
from kcl.loader.program import MAIN_PACKAGE, Module, Package
from kcl.records import dataclass, field
from kcl.semantic.merge import Merged, Merges, find_merges, schema_expression
from kcl.syntax import ast

_NOTHING = Merges({}, frozenset())


@dataclass(slots=True, eq=False)
class File:
    """One file of a package. `setters` are those of its own statements, by variable, in order."""

    context: ModuleContext
    body: Body
    declared: tuple[str, ...]
    """The variables it assigns, without those whose statements were joined with others elsewhere."""
    dropped: frozenset[int]
    """Identities of the statements joined with others."""
    types: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, Any] = field(default_factory=dict)
    setters: dict[str, list[Setter]] = field(default_factory=dict)
    meanings: dict[int, object] = field(default_factory=dict)
    """By the identity of a statement, what stands for its text, its place and what its names mean; see `reuse`."""
    _code: tuple[Unit, list[Run]] | None = None

    @property
    def declares_types(self) -> bool:
        return bool(self.types or self.aliases)

    @property
    def is_idle(self) -> bool:
        """Whether there turned out to be nothing to run: files of schemas only."""
        return self._code is not None and not self._code[1]

    def run(self, scope: PackageScope) -> None:
        """Runs the statements in order."""
        if self._code is None:
            unit = Unit()
            global_scope = GlobalScope(self.context, unit)
            # Not a method of the file: code that refers to it would wait for the search for garbage with it.
            state = partial(_state, self.context)
            self._code = unit, lower_statements(self.body.statements, self.body, global_scope, state)
        unit, runs = self._code
        self.context.runtime.module = self.context
        environment = unit.environment(None)
        for run in runs:
            run(environment, scope, self.body.first)

    def take_meanings(self, before: File) -> None:
        """Takes those of the statements that stand where they stood in an earlier version of the file.

        For a version in which names mean the same.
        """
        then, now = before.context.module.source, self.context.module.source
        if then.path != now.path:
            return
        known = {each.start: each for each in before.context.module.tree.body}
        for statement in self.context.module.tree.body:
            same = known.get(statement.start)
            if (
                same is not None
                and type(same) is type(statement)
                and then.text[same.start : same.end] == now.text[statement.start : statement.end]
                and then.position(same.start) == now.position(statement.start)
            ):
                self.meanings[id(statement)] = before.meanings[id(same)]

    def serves(self, module: Module, dropped: frozenset[int]) -> bool:
        """Whether this is what preparing `module` would come to, as far as that depends on the file alone."""
        known = self.context.module
        return (
            known.tree is module.tree
            and known.source.path == module.source.path
            and self.dropped == dropped
            and imports_of(known) == imports_of(module)
        )


def _state(context: ModuleContext, node: ast.ExprStmt, value: Value) -> None:
    if context.package == MAIN_PACKAGE:  # what an imported package states comes to nothing
        context.runtime.stated.append((node, context.where(node), value))


def imports_of(module: Module) -> list[tuple[object, ...]]:
    """Where the names lead that a file imports."""
    return [(each.alias, each.package, each.kind) for each in module.imports.values()]


def prepared_files(runtime: Runtime, package: Package, known: Sequence[File] = ()) -> list[File]:
    """The files of a package, ready to run, and its scope in `runtime`. `known` are those of an earlier time."""
    merges = find_merges([each.tree.body for each in package.modules]) if package.path == MAIN_PACKAGE else _NOTHING
    if known:
        scope = known[0].context.scope
        runtime.packages[package.path] = scope
        files = _files(runtime, package, merges, known)
        if _mean_the_same(known, files):
            for before, file in zip(known, files, strict=False):
                if file is not before:
                    file.take_meanings(before)
            return _joined(scope, files)
        scope.dissolve()
    runtime.packages[package.path] = PackageScope(runtime, package.path)
    files = _files(runtime, package, merges, ())
    return _joined(runtime.packages[package.path], files)


def _mean_the_same(known: Sequence[File], files: Sequence[File]) -> bool:
    """Whether names lead to the same things in both, so that the files which they share can stay."""
    old = [each for each in known if each not in files]
    new = [each for each in files if each not in known]
    if any(each.declares_types for each in (*old, *new)):
        return False
    if [imports_of(each.context.module) for each in old] != [imports_of(each.context.module) for each in new]:
        return False
    return {name for each in known for name in each.declared} == {name for each in files for name in each.declared}


def _files(runtime: Runtime, package: Package, merges: Merges, known: Sequence[File]) -> list[File]:
    files: list[File] = []
    for index, module in enumerate(package.modules):
        identities = [id(each) for each in module.tree.body]
        dropped = merges.dropped.intersection(identities)
        joined = not merges.merged.keys().isdisjoint(identities)
        if index < len(known) and not joined and known[index].serves(module, dropped):
            files.append(known[index])
        else:
            files.append(_file(ModuleContext(runtime, package.path, module, module.imports), dropped))
    for file in files:
        if file not in known:
            _declare(file, merges.merged, files)
    return files


def _file(context: ModuleContext, dropped: frozenset[int]) -> File:
    statements = context.module.tree.body
    body = Body([each for each in statements if id(each) not in dropped])
    return File(context, body, tuple(body.assigning), dropped, meanings={id(each): object() for each in statements})


def _declare(file: File, merged: Mapping[int, Merged], files: list[File]) -> None:
    context, body = file.context, file.body
    for statement in body.statements:
        match statement:
            case ast.Schema():
                file.types[statement.name] = SchemaType(statement, context, compile_body)
            case ast.Rule():
                file.types[statement.name] = RuleType(statement, context, run_rule)
            case ast.TypeAlias():
                file.aliases[statement.name] = (context, statement)
            case _:
                pass
    for name, places in body.assigning.items():
        file.setters[name] = [
            Setter(
                _code(file, place, merged.get(id(place.statement)), files),
                first=body.first,
                augments=isinstance(place.statement, ast.AugAssign),
                unites=isinstance(place.statement, ast.Unification),
                reaches=place.target is not None and bool(place.target.path),
            )
            for place in places
        ]


def _joined(scope: PackageScope, files: list[File]) -> list[File]:
    """Puts what the files declare together in the scope of their package."""
    setters: dict[str, list[Setter]] = {}
    scope.types, scope.aliases = {}, {}
    for file in files:
        scope.types.update(file.types)
        scope.aliases.update(file.aliases)
        for name, own in file.setters.items():
            known = setters.setdefault(name, [])
            file.body.first[name] = len(known)
            known += own
    scope.setters = setters
    scope.modules = [file.context for file in files]
    return files


def _code(file: File, place: Assigning, merged: Merged | None, files: list[File]) -> Callable[[], Evaluate]:
    context, body, meanings = file.context, file.body, file.meanings
    package = context.scope
    contexts = [] if merged is None else [each.context for each in files]
    all_meanings = [] if merged is None else [each.meanings for each in files]  # files hold their code: no cycle

    def compile_() -> Evaluate:
        unit = Unit()
        scope = GlobalScope(context, unit)
        right_side = None if merged is None else partial(_merged_expression, merged, scope, contexts)
        parts = [] if merged is None else [all_meanings[index][id(statement)] for index, statement in merged.parts]
        # What stands inside of an `if` has none of its own; closures that stay have their own in any case.
        own = meanings.get(id(place.statement)) or object()
        code = lower_assignment(
            place, scope, lambda environment: package, lambda environment, value: value, right_side, (own, *parts)
        )
        return _isolated(lower_setter(place, body, scope, code, lambda environment: package), unit, context)

    return compile_


def _merged_expression(merged: Merged, scope: Scope, contexts: list[ModuleContext]) -> Evaluate:
    """Code for the schema instance several statements describe; each entry is compiled in its own file."""
    variables: dict[str, object] = {}
    steps = []
    inner: Scope = scope
    for placed in merged.items:
        inner = ConfigScope(contexts[placed.file], scope.unit, GlobalScope(contexts[placed.file], scope.unit))
        inner.variables = variables  # type: ignore[assignment]  # one configuration, whichever file an entry is from
        steps.append(lower_item(placed.item, inner))
    code = schema_expression_code(schema_expression(merged.statement), scope, config_code(steps, inner))
    observation = scope.module.runtime.observation
    if observation is not None:
        for index, statement in merged.parts:
            code = observation.around(schema_expression(statement), contexts[index].module, code)
    return code


def _isolated(code: Evaluate, unit: Unit, context: ModuleContext) -> Evaluate:
    """Code of a package variable, as if nothing else were being evaluated while it runs."""
    runtime = context.runtime

    def run(environment: Environment) -> Value:
        caller, schemas, expressions = runtime.module, runtime.schema_depth, runtime.schema_expression_depth
        runtime.module, runtime.schema_depth, runtime.schema_expression_depth = context, 0, 0
        runtime.enter(None)
        try:
            return code(unit.environment(None))
        finally:
            runtime.depth -= 1
            runtime.module, runtime.schema_depth, runtime.schema_expression_depth = caller, schemas, expressions

    return run
