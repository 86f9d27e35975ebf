"""Rules on declarations: exported variables are assigned once, parameters with defaults come last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kcl.diagnostics import Code, Diagnostic, Label, Span, error
from kcl.loader.program import Module, Package, Program
from kcl.syntax import ast


@dataclass(frozen=True, slots=True)
class _Declared:
    span: Span
    by_unification: bool


def check_declarations(program: Program) -> list[Diagnostic]:
    """Findings about the declarations of every package, in the order of the files."""
    found: list[Diagnostic] = []
    for package in program.packages.values():
        for module in package.modules:
            found += _parameters(module)
        found += _reassignments(package)
    return found


def _reassignments(package: Package) -> Iterator[Diagnostic]:
    """Exported variables that are changed after they have been declared; private ones may be."""
    declared: dict[str, _Declared] = {}
    for module in package.modules:
        declared.update(_named_types(module))
    for module in package.modules:
        imported = {
            alias: _Declared(Span(module.source.path, found.statement.start, found.statement.end), False)
            for alias, found in module.imports.items()
        }
        for statement in _flattened(module.tree.body):
            match statement:
                case ast.Assign():
                    for target in statement.targets:
                        span = Span(module.source.path, target.start, target.end)
                        known = imported.get(target.name) or declared.get(target.name)
                        if _is_private(target.name):
                            continue
                        if known is None:
                            declared[target.name] = _Declared(span, False)
                        else:
                            yield _immutable(
                                target.name,
                                span,
                                known.span,
                                f"Can not change the value of '{target.name}', because it was declared immutable",
                                f"The variable '{target.name}' is declared here",
                            )
                case ast.AugAssign(target=target):
                    known = declared.get(target.name)
                    if known is not None and not known.by_unification and not _is_private(target.name):
                        yield _immutable(
                            target.name,
                            Span(module.source.path, target.start, target.end),
                            known.span,
                            f"Immutable variable '{target.name}' is modified during compiling",
                            f"The variable '{target.name}' is declared here firstly",
                        )
                case ast.Unification(target=target):
                    span = Span(module.source.path, target.start, target.end)
                    declared.setdefault(target.name, _Declared(span, True))
                case _:
                    pass


def _named_types(module: Module) -> Iterator[tuple[str, _Declared]]:
    """Schemas, rules and type aliases take their names as well."""
    for statement in module.tree.body:
        match statement:
            case ast.Schema() | ast.Rule():
                yield statement.name, _Declared(Span(module.source.path, statement.start, statement.end), False)
            case ast.TypeAlias():
                start = module.source.text.find(statement.name, statement.start + len("type"))
                yield statement.name, _Declared(Span(module.source.path, start, start + len(statement.name)), False)
            case _:
                pass


def _flattened(statements: Iterable[ast.Stmt]) -> Iterator[ast.Stmt]:
    for statement in statements:
        if isinstance(statement, ast.If):
            yield from _flattened(statement.body)
            yield from _flattened(statement.orelse)
        else:
            yield statement


def _is_private(name: str) -> bool:
    return name.startswith("_")


def _immutable(name: str, span: Span, first: Span, message: str, first_message: str) -> Diagnostic:
    return error(
        Code.IMMUTABLE,
        message,
        span,
        labels=(Label(first, first_message),),
        notes=(f"change the variable name to '_{name}' to make it mutable",),
    )


def _parameters(module: Module) -> Iterator[Diagnostic]:
    for statement in module.tree.body:
        if isinstance(statement, (ast.Schema, ast.Rule)):
            yield from _defaults(statement.params, module)


def _defaults(params: Sequence[ast.Param], module: Module) -> Iterator[Diagnostic]:
    """Defaults that a parameter without one follows, the last first."""
    follows = False
    for param in reversed(params):
        if param.default is None:
            follows = True
        elif follows:
            yield error(
                Code.ILLEGAL_PARAMETER,
                "non-default argument follows default argument",
                Span(module.source.path, param.default.start, param.default.end),
                notes=("A default argument",),
            )
