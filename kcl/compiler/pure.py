"""Which schemas are functions: whose instances follow from their configuration alone, and whose making nobody notices.

Of those the same instance may stand wherever the same is made of the same. All others may read what is being computed
just now, print, make instances that are counted, or ask the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kcl.compiler.setters import Setter, is_silent_name, shows
from kcl.compiler.writing import names_in
from kcl.evaluator.layouts import SchemaLayout
from kcl.syntax import ast


def is_function(layout: SchemaLayout, setters: Mapping[str, Sequence[Setter]]) -> bool:
    """Whether instances follow from their configuration; `setters` are those of all attributes."""
    if layout.index_signature is not None:
        return False
    if any(setter.creates for each in setters.values() for setter in each):
        return False
    for level in layout.levels:
        node, module = level.schema.node, level.schema.module
        if node.params or level.body.decorators or not all(map(is_plain, node.body)):
            return False
        for read in _expressions(node):
            if shows(read, module, setters) or any(
                name not in setters and not is_silent_name(name, module) for name in names_in(read)
            ):
                return False
    return True


def is_plain(statement: ast.Stmt) -> bool:
    """Whether a statement of a schema only declares an attribute, or says what the schema is."""
    if isinstance(statement, ast.ExprStmt):
        return isinstance(statement.value, (ast.Str, ast.Constant))
    return isinstance(statement, ast.SchemaAttr) and statement.op is not ast.AugOp.BIT_OR


def _expressions(node: ast.Schema) -> Iterator[ast.Expr]:
    """All that instances of one level are computed from."""
    for statement in node.body:
        if isinstance(statement, ast.SchemaAttr) and statement.value is not None:
            yield statement.value
    for check in node.checks:
        yield from (each for each in (check.test, check.cond, check.message) if each is not None)
