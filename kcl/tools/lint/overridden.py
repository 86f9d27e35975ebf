"""Values that no stack ever sees: every one that could replaces them.

A file alone does not tell that, so stacks are run, and counted is what they evaluate. A default is never evaluated for
an instance that is given a value, an entry never where another file of the stack replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kcl.diagnostics import Code
from kcl.evaluator.coverage import Reached, parts
from kcl.syntax import ast
from kcl.tools.lint.subject import Finding, Subject, found_at


def always_overridden(subject: Subject) -> Iterator[Finding]:
    reached = None if subject.reached is None else subject.reached.get(subject.path)
    if reached is None:
        return
    there = set(parts(subject.tree).points)
    for node in subject.nodes.of(ast.Schema, ast.Config, ast.SchemaExpr):
        match node:
            case ast.Schema() if _is_reached(node, reached):
                yield from _defaults(subject, node, reached)
            case ast.Config() if _is_reached(node, reached):
                yield from _entries(subject, node.items, reached, there)
            case ast.SchemaExpr(config=ast.Config(items=items)) if _is_reached(node, reached):
                yield from _entries(subject, items, reached, there)
            case _:
                pass


def _defaults(subject: Subject, schema: ast.Schema, reached: Reached) -> Iterator[Finding]:
    """Defaults of attributes that every instance was given a value for."""
    count = reached.points[schema.start, schema.end]
    instances = "the one instance of" if count == 1 else f"all {count} instances of"
    for node in schema.body:
        if isinstance(node, ast.SchemaAttr) and node.value is not None and not _is_reached(node.value, reached):
            message = f"this default is never seen: {instances} '{schema.name}' that the stacks make replace it"
            yield found_at(Code.ALWAYS_OVERRIDDEN, message, subject, node.start, node.name_end)


def _entries(
    subject: Subject, items: Iterable[ast.ConfigItem], reached: Reached, there: set[tuple[int, int]]
) -> Iterator[Finding]:
    for item in items:
        if not isinstance(item, ast.Entry) or (item.value.start, item.value.end) not in there:
            continue
        if not _is_reached(item.value, reached):
            message = "this value is never seen: every stack that has it replaces it"
            yield found_at(Code.ALWAYS_OVERRIDDEN, message, subject, item.key.start, item.key.end)


def _is_reached(node: ast.Node, reached: Reached) -> bool:
    return bool(reached.points.get((node.start, node.end)))
