"""Evaluating a loaded program: the packages it consists of, run in order, and what its main package amounts to."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import kcl.evaluator.calls
import kcl.evaluator.configurations
import kcl.evaluator.expressions  # noqa: F401 - these three register how expressions are compiled
from kcl.collection import paused
from kcl.diagnostics import Code, Diagnostic, KclError
from kcl.evaluator.calls import schema_expression_code
from kcl.evaluator.configurations import config_code, lower_item
from kcl.evaluator.dialect import KCL, Dialect
from kcl.evaluator.functions import RuleType
from kcl.evaluator.lexical import ConfigScope, GlobalScope, Scope, Unit
from kcl.evaluator.operations import equals, kind
from kcl.evaluator.prepared import FileCode, Files, Prepared
from kcl.evaluator.provenance import Provenance
from kcl.evaluator.runtime import (
    Compiling,
    Environment,
    Evaluate,
    Limits,
    ModuleContext,
    Runtime,
    StartOver,
    Where,
    evaluation_error,
)
from kcl.evaluator.schemas import SchemaType
from kcl.evaluator.scopes import LazyScope, PackageScope, Setter
from kcl.evaluator.statements import Assigning, Body, lower_assignment, lower_setter, lower_statements
from kcl.evaluator.union import bit_or
from kcl.evaluator.value import UNDEFINED, KDict, Library, SchemaInstance, Value, ValueFailure
from kcl.loader.program import MAIN_PACKAGE, Package, Program
from kcl.semantic import CheckCache, Rules, check, packages_in_use
from kcl.semantic.merge import Merged, Merges, find_merges, schema_expression
from kcl.syntax import ast

_STACK_BYTES = 64 * 1024 * 1024
_RECURSION_LIMIT = 60_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression statement of the main package that has been run."""

    node: ast.ExprStmt
    where: Where
    value: Value


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a program amounts to, as KCL values.

    `value` is the whole result: a KDict of the main package's variables, private ones included, in the order they were
    declared; another value where the program ends in an expression. `emitted` is the text that replaces the output
    (`manifests.yaml_stream`) with `documents`, the values behind it; both are None in most programs. `printed` is what
    `print` wrote.
    """

    value: Value
    emitted: str | None
    documents: tuple[Value, ...] | None
    printed: str
    provenance: Provenance
    warnings: tuple[Diagnostic, ...]


def evaluate(
    program: Program,
    library: Library,
    options: Mapping[str, Value] | None = None,
    dialect: Dialect = KCL,
    limits: Limits | None = None,
    checks: CheckCache | None = None,
    prepared: Prepared | None = None,
    compiling: Compiling | None = None,
) -> Evaluation:
    """Evaluates a program. Raises KclError if it is wrong; no other exception comes from the program's doing.

    `checks` keeps what the checker finds out about packages, for the next evaluation of the same files. `prepared`
    keeps the code of its packages likewise; its library must be this one, and the program import no plugins.
    `compiling` says which schemas get generated code; without it none does. The results are the same.

    Runs in a thread of its own with a stack deep enough for nested calls, so it may be called from any thread.
    """
    limits = limits or Limits()
    try:
        return _in_deep_thread(
            lambda: _evaluate(program, library, options or {}, dialect, limits, checks, prepared, compiling)
        )
    except KclError as problem:
        if not limits.debug:
            raise
        raise KclError(tuple(_with_backtrace(program, finding) for finding in problem.diagnostics)) from None


def findings(
    program: Program, library: Library, dialect: Dialect = KCL, checks: CheckCache | None = None
) -> list[Diagnostic]:
    """What the checker says of a program that is not to be evaluated, since not all of it could be read."""
    try:
        return _in_deep_thread(lambda: check(program, library.types, _rules(dialect), checks))
    except KclError as problem:
        return list(problem.diagnostics)


def _rules(dialect: Dialect) -> Rules:
    return Rules(
        unknown_names=dialect.unknown_name_is_undefined,
        missing_arguments=dialect.missing_argument_is_none,
        file_scoped_imports=dialect.file_scoped_imports,
    )


def _with_backtrace(program: Program, finding: Diagnostic) -> Diagnostic:
    """The finding with the place it happened at as a note, as the debug mode prints it."""
    if finding.code is not Code.EVALUATION or finding.primary is None:
        return finding
    for package in program.packages.values():
        for module in package.modules:
            if module.source.path == finding.primary.path:
                line = module.source.position(finding.primary.start).line
                note = f"backtrace:\n\t0: kcl_main\n\t\tat {finding.primary.path}:{line}"
                return replace(finding, notes=(*finding.notes, note))
    return finding


def _in_deep_thread(work: Callable[[], _T]) -> _T:
    result: list[_T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            with paused():
                result.append(work())
        except RecursionError:
            failure.append(evaluation_error("the program nests too deeply to be evaluated", None))
        except ValueFailure as problem:
            failure.append(evaluation_error(problem.message, None))
        except MemoryError:
            failure.append(evaluation_error("the program makes values that are too large for this machine", None))
        except BaseException as exception:
            failure.append(exception)

    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    with _STACK_SIZE_LOCK:
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="kcl-evaluation", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


_STACK_SIZE_LOCK = threading.Lock()


def _evaluate(
    program: Program,
    library: Library,
    options: Mapping[str, Value],
    dialect: Dialect,
    limits: Limits,
    checks: CheckCache | None,
    prepared: Prepared | None,
    compiling: Compiling | None,
) -> Evaluation:
    found = check(program, library.types, _rules(dialect), checks)
    if found:
        raise KclError(tuple(found))
    prepared = prepared or Prepared(library)
    in_use = packages_in_use(program, checks)
    try:
        return _evaluate_checked(program, in_use, prepared, options, dialect, limits, compiling)
    except StartOver:
        return _evaluate_checked(program, in_use, prepared, options, dialect, limits, None)


def _evaluate_checked(
    program: Program,
    in_use: frozenset[str],
    prepared: Prepared,
    options: Mapping[str, Value],
    dialect: Dialect,
    limits: Limits,
    compiling: Compiling | None,
) -> Evaluation:
    runtime = prepared.runtime(program, options, dialect, limits, compiling)
    added = [path for path in program.packages if path == MAIN_PACKAGE or path not in prepared.files]
    for path in added:
        runtime.packages[path] = PackageScope(runtime, path)
    for path in added:
        prepared.files[path] = _prepare(runtime, path, program.packages[path])
    for path in program.packages:
        if path != MAIN_PACKAGE and path in in_use:
            _run(runtime, path, prepared.files[path], _kept_code(prepared, path))
    expressions: list[Expression] = []
    main = prepared.files[MAIN_PACKAGE]
    _run(runtime, MAIN_PACKAGE, main, (_code(file, partial(_keep, expressions, file[0])) for file in main))
    value = _result(runtime, expressions)
    emitted = None if runtime.emitted is None else "\n".join(runtime.emitted)
    documents = tuple(runtime.emitted_values) if runtime.emitted is not None else None
    return Evaluation(
        value,
        emitted,
        documents,
        "".join(runtime.printed),
        Provenance(
            runtime.table,
            documents if documents is not None else _streamed(value),
            frozenset(module.source.path for module in program.main.modules),
        ),
        tuple(runtime.warnings),
    )


def _streamed(value: Value) -> tuple[Value, ...]:
    """The documents a result prints as: the items of a list of configs, else itself."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return tuple(value)
    return (value,)


# --- Packages ---


def _prepare(runtime: Runtime, path: str, package: Package) -> list[tuple[ModuleContext, Body]]:
    """Declares the package's types and variables; nothing is compiled before it is needed."""
    scope = runtime.packages[path]
    contexts = [ModuleContext(runtime, path, module, module.imports) for module in package.modules]
    trees = [module.tree.body for module in package.modules]
    merges = find_merges(trees) if path == MAIN_PACKAGE else Merges({}, frozenset())
    setters: dict[str, list[Setter]] = {}
    bodies = []
    for statements in trees:
        # Output follows the order of declaration, also of those that are joined with a later one.
        for name in Body(statements).assigning:
            setters.setdefault(name, [])
    for context, statements in zip(contexts, trees, strict=True):
        kept = [statement for statement in statements if id(statement) not in merges.dropped]
        for statement in kept:
            match statement:
                case ast.Schema():
                    scope.types[statement.name] = SchemaType(statement, context)
                case ast.Rule():
                    scope.types[statement.name] = RuleType(statement, context)
                case ast.TypeAlias():
                    scope.aliases[statement.name] = (context, statement)
                case _:
                    pass
        body = Body(kept)
        for name, places in body.assigning.items():
            known = setters.setdefault(name, [])
            body.first[name] = len(known)
            for place in places:
                merged = merges.merged.get(id(place.statement))
                known.append(Setter(_setter(scope, context, body, place, merged, contexts), first=body.first))
        bodies.append(body)
    scope.setters = setters
    scope.modules = contexts
    return list(zip(contexts, bodies, strict=True))


def _setter(
    package: PackageScope,
    context: ModuleContext,
    body: Body,
    place: Assigning,
    merged: Merged | None,
    contexts: list[ModuleContext],
) -> Callable[[], Evaluate]:
    def compile_() -> Evaluate:
        unit = Unit()
        scope = GlobalScope(context, unit)
        right_side = None if merged is None else _merged_expression(merged, scope, contexts)
        code = lower_assignment(place, scope, lambda environment: package, lambda environment, value: value, right_side)
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
    return schema_expression_code(schema_expression(merged.statement), scope, config_code(steps, inner))


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


def _code(file: tuple[ModuleContext, Body], on_value: Callable[[ast.ExprStmt, Value], None]) -> FileCode:
    """Code for the statements of a file, in order."""
    context, body = file
    unit = Unit()
    return unit, lower_statements(body.statements, body, GlobalScope(context, unit), on_value)


def _kept_code(prepared: Prepared, path: str) -> Iterator[FileCode]:
    """The code of each file of an imported package, compiled when its turn comes for the first time."""
    known = prepared.statements.setdefault(path, [])
    for index, file in enumerate(prepared.files[path]):
        if index == len(known):
            known.append(_code(file, _ignore))
        yield known[index]


def _run(runtime: Runtime, path: str, files: Files, code: Iterable[FileCode]) -> None:
    """Runs the statements of a package's files in order."""
    scope = runtime.packages[path]
    for (context, body), (unit, runs) in zip(files, code, strict=True):
        runtime.module = context
        environment = unit.environment(None)
        for run in runs:
            run(environment, scope, body.first)
    runtime.module = None


def _ignore(node: ast.ExprStmt, value: Value) -> None:
    """What an imported package states comes to nothing."""


def _keep(expressions: list[Expression], context: ModuleContext, node: ast.ExprStmt, value: Value) -> None:
    expressions.append(Expression(node, context.where(node), value))


# --- The result ---


def _result(runtime: Runtime, expressions: list[Expression]) -> Value:
    """The main package's variables, united with the values of its expression statements."""
    scope: LazyScope = runtime.packages[MAIN_PACKAGE]
    result = KDict()
    sites = {}
    for name in scope.setters:
        dict.__setitem__(result, name, scope.read(name))
        if scope.sites.get(name):
            sites[name] = scope.sites[name]
    result.sites = sites or None
    scalars = _scalars(expressions)
    if not scalars:
        return result
    value: Value = UNDEFINED
    for scalar in scalars:
        value = _united(value, scalar.value, scalar.where)
    if isinstance(value, dict) or not all(name.startswith("_") for name in result):
        return _united(value, result, scalars[-1].where)
    return value


def _scalars(expressions: list[Expression]) -> list[Expression]:
    """The values that count: calls print nothing, and of several schema instances the last one stands for all."""
    scalars: list[Expression] = []
    schema_index = 0
    for expression in expressions:
        if isinstance(expression.node.value, ast.Call):
            continue
        if isinstance(expression.node.value, ast.SchemaExpr):
            if schema_index < len(scalars):
                del scalars[schema_index]
            schema_index = len(scalars)
        scalars.append(expression)
    return scalars


def _united(value: Value, other: Value, where: Where) -> Value:
    if value is UNDEFINED or value is None:
        return other
    if other is UNDEFINED or other is None:
        return value
    if isinstance(value, (list, dict)) and isinstance(other, (list, dict)):
        try:
            return bit_or(_as_dict(value), _as_dict(other), where.span)
        except ValueFailure as failure:
            raise where.located(failure) from None
    if isinstance(value, (list, dict)) or isinstance(other, (list, dict)) or not equals(value, other):
        raise evaluation_error(f"conflicting values between {_shown(other)} and {_shown(value)}", where.span)
    return value


def _as_dict(value: Value) -> Value:
    """The attributes of an instance alone: joined with the variables around it, it is no instance any more."""
    if not isinstance(value, SchemaInstance):
        return value
    result = KDict(value)
    result.sites = value.sites
    return result


def _shown(value: Value) -> str:
    if isinstance(value, dict):
        return "{...}"
    if isinstance(value, list):
        return "[...]"
    return str(value) if isinstance(value, (int, float, str)) else kind(value)
