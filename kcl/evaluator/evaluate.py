"""Evaluating a loaded program: the packages it consists of, run in order, and what its main package evaluates to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import kcl.evaluator.calls
import kcl.evaluator.configurations
import kcl.evaluator.expressions  # noqa: F401 - these three register how expressions are compiled
from kcl.bounded import in_force
from kcl.bounded.watchdog import give_room_to_report, is_out_of_memory
from kcl.collection import paused
from kcl.diagnostics import Code, Diagnostic, KclError
from kcl.evaluator.deep_threads import in_deep_thread
from kcl.evaluator.dialect import KCL, Dialect
from kcl.evaluator.observing import Observation
from kcl.evaluator.operations import equals
from kcl.evaluator.packages import File
from kcl.evaluator.prepared import Prepared
from kcl.evaluator.provenance import Provenance
from kcl.evaluator.runtime import (
    Compiling,
    Limits,
    Runtime,
    StartOver,
    Where,
    evaluation_error,
)
from kcl.evaluator.union import bit_or, brief
from kcl.evaluator.value import UNDEFINED, KDict, Library, SchemaInstance, Value, ValueFailure
from kcl.evaluator.whereabouts import raised_at
from kcl.loader.program import MAIN_PACKAGE, Program
from kcl.memo.queries import Memo
from kcl.records import dataclass, replace
from kcl.semantic import Rules, check, packages_in_use
from kcl.syntax import ast

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
    """What a program evaluates to, as KCL values.

    `value` is the whole result: a KDict of the main package's variables, private ones included, in the order they were
    declared; another value where the program ends in an expression. `emitted` is the text that replaces the output
    (`manifests.yaml_stream`) with `documents`, the values behind it; both are None in most programs. `printed` is what
    `print` wrote.
    """

    value: Value
    emitted: Callable[[], str] | None
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
    memo: Memo | None = None,
    prepared: Prepared | None = None,
    compiling: Compiling | None = None,
    observation: Observation | None = None,
) -> Evaluation:
    """Evaluates a program. Raises KclError if it is wrong; no other exception comes from the program's doing.

    `memo` keeps what the checker finds out about packages, for the next evaluation of the same files. `prepared`
    keeps the code of its packages likewise, and values of imported variables; its library must be this one and tell it
    of what is asked of the world (`Prepared.note_use`), and the program import no plugins.
    `compiling` says what gets generated code; without it nothing does. The results are the same. `observation` is
    told what happens meanwhile.

    Runs in a thread of its own with a stack deep enough for nested calls, so it may be called from any thread.
    """
    limits = limits or Limits()
    try:
        return _in_deep_thread(
            lambda: _evaluate(program, library, options or {}, dialect, limits, memo, prepared, compiling, observation)
        )
    except KclError as problem:
        if not limits.debug:
            raise
        raise KclError(tuple(_with_backtrace(program, finding) for finding in problem.diagnostics)) from None


def findings(program: Program, library: Library, dialect: Dialect = KCL, memo: Memo | None = None) -> list[Diagnostic]:
    """What the checker says of a program that is not to be evaluated, since not all of it could be read."""
    try:
        return _in_deep_thread(lambda: check(program, library.types, rules_of(dialect), memo))
    except KclError as problem:
        return list(problem.diagnostics)


def rules_of(dialect: Dialect) -> Rules:
    """What the checker lets pass in a dialect."""
    return Rules(
        unknown_names=dialect.unknown_name_is_undefined,
        missing_arguments=dialect.missing_argument_is_none,
        file_scoped_imports=dialect.file_scoped_imports,
        private_members=dialect.private_members_are_shared,
        missing_attributes=dialect.missing_attributes_wait_for_the_run,
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
    def guarded() -> _T:
        try:
            with paused():
                return work()
        except RecursionError as problem:
            place = raised_at(problem)
            message = "the program nests too deeply to be evaluated"
            if place is not None and place.span is None:
                message = f"{place.path}: {message}"
            raise evaluation_error(message, None if place is None else place.span) from None
        except ValueFailure as problem:
            raise evaluation_error(problem.message, None) from None
        except MemoryError as exhausted:
            raise _out_of_memory(exhausted) from None
        except BaseException as exception:
            allowance = in_force()
            if allowance is not None and is_out_of_memory(exception, allowance):
                raise _out_of_memory(exception) from None
            raise

    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    return in_deep_thread(guarded)


def _out_of_memory(error: BaseException) -> KclError:
    give_room_to_report()
    place = raised_at(error)
    span = None if place is None else place.span
    allowance = in_force()
    if allowance is None:
        return evaluation_error("the program makes values that are too large for this machine", span)
    problem = evaluation_error(allowance.memory_problem, span)
    return KclError(tuple(replace(each, notes=(*each.notes, allowance.memory_hint)) for each in problem.diagnostics))


def _evaluate(
    program: Program,
    library: Library,
    options: Mapping[str, Value],
    dialect: Dialect,
    limits: Limits,
    memo: Memo | None,
    prepared: Prepared | None,
    compiling: Compiling | None,
    observation: Observation | None,
) -> Evaluation:
    if observation is not None and not observation.allows_generated_code:
        compiling = None
    found = check(program, library.types, rules_of(dialect), memo)
    if found:
        raise KclError(tuple(found))
    preparing = prepared or Prepared(library)
    in_use = packages_in_use(program, memo)
    try:
        return _evaluate_checked(program, in_use, preparing, options, dialect, limits, compiling, observation)
    except StartOver:
        return _evaluate_checked(program, in_use, preparing, options, dialect, limits, None, observation)
    finally:
        if prepared is None:
            preparing.dissolve()


def _evaluate_checked(
    program: Program,
    in_use: frozenset[str],
    prepared: Prepared,
    options: Mapping[str, Value],
    dialect: Dialect,
    limits: Limits,
    compiling: Compiling | None,
    observation: Observation | None,
) -> Evaluation:
    runtime = prepared.runtime(program, options, dialect, limits, compiling, observation)
    if observation is not None:
        observation.begin(runtime.printed)
    for path, package in program.packages.items():
        if path != MAIN_PACKAGE:
            prepared.prepare(package)
    main = prepared.prepare_main(program.main)
    imported = [path for path in program.imported.packages if path in in_use]
    prepared.run_imports(imported, partial(_run, runtime))
    prepared.begin_main()
    _run(runtime, MAIN_PACKAGE, main)
    value = _result(runtime, [Expression(*each) for each in runtime.stated])
    documents = tuple(runtime.emitted_values) if runtime.emitted is not None else None
    return Evaluation(
        value,
        runtime.emitted,
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


def _run(runtime: Runtime, path: str, files: list[File]) -> None:
    scope = runtime.packages[path]
    for file in files:
        file.run(scope)
    runtime.module = None


# --- The result ---


def _result(runtime: Runtime, expressions: list[Expression]) -> Value:
    """The main package's variables, united with the values of its expression statements."""
    scope = runtime.packages[MAIN_PACKAGE]
    result = KDict()
    sites = {}
    for name in scope.setters:
        value, origin = scope.outcome(name)
        dict.__setitem__(result, name, value)
        if origin:
            sites[name] = origin
    result.sites = sites or None
    scalars = _scalars(expressions)
    if not scalars:
        return result
    value = UNDEFINED
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
    if isinstance(value, (list, dict)) and isinstance(other, dict if isinstance(value, dict) else list):
        try:
            return bit_or(_as_dict(value), _as_dict(other), where.span)
        except ValueFailure as failure:
            raise where.located(failure) from None
    if isinstance(value, (list, dict)) or isinstance(other, (list, dict)) or not equals(value, other):
        raise evaluation_error(f"conflicting values between {brief(other)} and {brief(value)}", where.span)
    return value


def _as_dict(value: Value) -> Value:
    """The attributes of an instance alone: joined with the variables around it, it is no instance any more."""
    if not isinstance(value, SchemaInstance):
        return value
    result = KDict(value)
    result.sites = value.sites
    return result
