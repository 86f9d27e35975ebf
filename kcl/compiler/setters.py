"""What sets the attributes of a schema, and in terms of what: all that is known before its function is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kcl.compiler.types import holds_instances
from kcl.compiler.writing import names_in
from kcl.evaluator.lexical import SchemaScope
from kcl.evaluator.runtime_types import RuntimeType
from kcl.evaluator.schema_lowering import literal_default
from kcl.evaluator.schemas import Level
from kcl.evaluator.statements import Assigning
from kcl.evaluator.value import UNDEFINED, Value
from kcl.syntax import ast

_CREATORS: Final = (ast.SchemaExpr, ast.Call)


class Setter:
    """One statement that assigns an attribute, as part of the whole stack of levels."""

    __slots__ = ("assigning", "body", "index", "level", "name", "scope", "type")

    def __init__(self, level: int, of: Level, assigning: Assigning, type_: RuntimeType | None, index: int) -> None:
        self.level = level
        self.body = of.body
        self.scope: SchemaScope = of.body.scope
        self.assigning = assigning
        self.name = assigning.name
        self.index = index
        self.type = type_

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

    @property
    def creates(self) -> bool:
        """Whether it may make instances."""
        return (self.type is not None and self.type.converts) or makes_instances(self.assigning.statement.value)

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


def makes_instances(node: ast.Node | None) -> bool:
    """Whether an expression may make instances by itself."""
    pending: list[Any] = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, _CREATORS):
            return True
        if isinstance(found, ast.Node):
            pending.extend(getattr(found, name) for name in type(found).__match_args__)
        elif isinstance(found, (list, tuple)):
            pending.extend(found)
    return False


def reachable(start: str, reads: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(reads[start])
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(reads[name])
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
