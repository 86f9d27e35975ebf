"""What sets the attributes of a schema, and in terms of what: all that is known before its function is written."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, Final

from kcl.compiler.types import holds_instances
from kcl.compiler.writing import names_in
from kcl.evaluator.layouts import Level
from kcl.evaluator.lexical import SchemaScope
from kcl.evaluator.runtime import ModuleContext
from kcl.evaluator.runtime_types import RuntimeType
from kcl.evaluator.schema_lowering import literal_default
from kcl.evaluator.statements import Assigning
from kcl.evaluator.value import UNDEFINED, Builtin, Value
from kcl.loader.program import ImportKind, Package
from kcl.memo.queries import Query, Request
from kcl.syntax import ast

_CREATORS: Final = (ast.SchemaExpr, ast.Call)
_SILENT: Final = {
    *("abs", "all_true", "any_true", "bin", "bool", "ceil", "float", "floor", "hex", "int", "isunique", "len", "list"),
    *("max", "min", "oct", "ord", "pow", "range", "round", "sorted", "str", "sum", "typeof", "zip"),
}
"""Functions of the library that only answer."""
_SILENT_MODULES: Final = frozenset(("base64", "crypto", "json", "math", "regex", "units", "yaml"))


class Setter:
    """One statement that assigns an attribute, as part of the whole stack of levels."""

    __slots__ = ("assigning", "body", "creates", "index", "level", "name", "scope", "type")

    def __init__(
        self,
        level: int,
        of: Level,
        assigning: Assigning,
        type_: RuntimeType | None,
        index: int,
        attributes: Container[str],
    ) -> None:
        self.level = level
        self.body = of.body
        self.scope: SchemaScope = of.body.scope
        self.assigning = assigning
        self.name = assigning.name
        self.index = index
        self.type = type_
        value = assigning.statement.value
        self.creates = (type_ is not None and type_.converts) or shows(value, self.scope.module, attributes)
        """Whether it may make instances or print, so that it can be told when it runs."""

    @property
    def is_straight(self) -> bool:
        statement, target = self.assigning.statement, self.assigning.target
        match statement:
            case ast.SchemaAttr():
                return True
            case ast.Assign():
                return len(statement.targets) == 1 and target is not None and not target.path
            case ast.Unification():
                return target is not None and not target.path
            case _:
                return False

    def reads(self) -> Iterator[str]:
        yield from names_in(self.assigning.statement.value)
        for statement, _ in self.assigning.conditions:
            yield from names_in(statement.cond)
        if not self.is_straight:
            yield from names_in(self.assigning.statement)


COMPUTED: Final = object()


def scalar_default(statement: ast.SchemaAttr) -> Value:
    """The default of an attribute, Undefined for none; COMPUTED if it is not just a scalar."""
    literal = literal_default(statement)
    if literal is not None:
        return literal.value
    match statement.value:
        case None:
            return UNDEFINED
        case ast.Str() | ast.Float() as node:
            return node.value if statement.op is not ast.AugOp.BIT_OR else COMPUTED
        case ast.Int(suffix=None) as node:
            return node.value if statement.op is not ast.AugOp.BIT_OR else COMPUTED
        case ast.Constant(kind=ast.ConstantKind.TRUE | ast.ConstantKind.FALSE as kind):
            return kind is ast.ConstantKind.TRUE if statement.op is not ast.AugOp.BIT_OR else COMPUTED
        case _:
            return COMPUTED


def makes_instances(node: ast.Node | None, is_silent: Callable[[ast.Call], bool] = lambda call: False) -> bool:
    """Whether an expression may make instances or print by itself; a union builds an instance again."""
    pending: list[Any] = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, ast.Binary) and found.op is ast.BinaryOp.BIT_OR:
            return True
        if isinstance(found, _CREATORS) and not (isinstance(found, ast.Call) and is_silent(found)):
            return True
        if isinstance(found, ast.Node):
            pending.extend(getattr(found, name) for name in type(found).__match_args__)
        elif isinstance(found, (list, tuple)):
            pending.extend(found)
    return False


def shows(node: ast.Node | None, module: ModuleContext, attributes: Container[str]) -> bool:
    """Whether an expression may make instances or print, by itself or as the first to read a variable that does."""
    if makes_instances(node, lambda call: _is_silent(call, module, attributes)):
        return True
    variables = _showing(module, module.package)
    if any(name in variables and name not in attributes for name in names_in(node)):
        return True
    return any(name in _showing(module, package) for package, name in _imported_names(node, module))


def _is_silent(call: ast.Call, module: ModuleContext, attributes: Container[str]) -> bool:
    """Whether what is called is surely a function of the library that only answers."""
    match call.func:
        case ast.Name(id=name) if name not in module.imports:
            return name not in attributes and is_silent_name(name, module)
        case ast.Selector(value=ast.Name(id=head), name=name) if head in module.imports:
            if head in attributes or not is_silent_name(head, module):
                return False
            found = module.runtime.library.modules.get(module.imports[head].package, {}).get(name)
            # what asks the world (uuid, a file) answers otherwise each time, and what writes does so each time
            return isinstance(found, Builtin) and not (found.capture or found.contextual)
        case _:
            return False


def is_silent_name(name: str, module: ModuleContext) -> bool:
    """Whether a name outside of a schema is that of a function, or a module of the library, that only answers."""
    if name in module.imports:
        imported = module.imports[name]
        return imported.kind is ImportKind.SYSTEM and imported.package in _SILENT_MODULES
    return name in _SILENT and name not in module.scope.setters and name not in module.scope.types


def _showing(module: ModuleContext, path: str) -> frozenset[str]:
    program = module.runtime.program
    package = program.main if path == program.main.path else program.packages.get(path)
    return frozenset() if package is None else module.runtime.memo.get(_SHOWING, package)


def _imported_names(node: ast.Node | None, module: ModuleContext) -> Iterator[tuple[str, str]]:
    """The variables of other packages that an expression may read."""
    pending: list[Any] = [node] if module.imports else []
    while pending:
        found = pending.pop()
        match found:
            case ast.Selector(value=ast.Name(id=head)) if head in module.imports:
                imported = module.imports[head]
                if imported.kind is ImportKind.PACKAGE:
                    yield imported.package, found.name
            case ast.Node():
                pending.extend(getattr(found, name) for name in type(found).__match_args__)
            case list() | tuple():
                pending.extend(found)
            case _:
                pass


def _variables_that_show(request: Request, package: Package) -> frozenset[str]:
    """The variables of a package that make instances or print when they are computed, by others of it as well."""
    reads: dict[str, set[str]] = {}
    showing: set[str] = set()
    pending: list[Any] = [module.tree.body for module in package.modules]
    while pending:
        match pending.pop():
            case list() | tuple() as several:
                pending.extend(several)
            case ast.If() as node:
                inside = {name for statement in (*node.body, *node.orelse) for name in names_in(statement)}
                if makes_instances(node.cond):
                    showing |= inside
                for name in inside:
                    reads.setdefault(name, set()).update(names_in(node.cond))
                pending += [node.body, node.orelse]
            case ast.Assign() | ast.AugAssign() | ast.Unification() as node:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    reads.setdefault(target.name, set()).update(names_in(node.value))
                    if makes_instances(node.value):
                        showing.add(target.name)
            case _:
                pass
    return frozenset(name for name in reads if name in showing or not showing.isdisjoint(reachable(name, reads)))


_SHOWING: Final = Query("variables that make instances or print", _variables_that_show, lives_with_key=True)


def reachable(start: str, reads: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(reads[start])
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(reads.get(name, ()))
    return found


def decorators(node: ast.Schema) -> list[ast.Decorator]:
    """In the order of `CompiledBody.decorators`."""
    found = list(node.decorators)
    for statement in node.body:
        if isinstance(statement, ast.SchemaAttr):
            found += statement.decorators
    return found


def may_hold_instances(setters: Iterable[Setter]) -> bool:
    return any(holds_instances(setter.type) for setter in setters)
