"""Variables that look as if they were read before they change, and are read after it.

What a statement of a file reads is the value that the last change has left, wherever that stands: `_a |= {...}` or
`_a = ...` in line 8 is seen by `b = _a` in line 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcl.diagnostics import Code, Label, Span, warning
from kcl.syntax import ast
from kcl.syntax.walking import children
from kcl.tools.lint.subject import Finding, Subject


def changed_below(subject: Subject) -> Iterator[Finding]:
    """Changes of a variable that a statement above reads."""
    read: dict[str, ast.Name] = {}
    for statement in subject.tree.body:
        targets = _targets(statement)
        for target in targets:
            above = read.pop(target.name, None)
            if above is not None:
                yield _found(subject, target, above)
        own = {target.name for target in targets}
        for name in _names(statement):
            if name.id.startswith("_") and name.id not in own:
                read.setdefault(name.id, name)


def _targets(statement: ast.Stmt) -> list[ast.Target]:
    match statement:
        case ast.Assign(targets=targets):
            return targets
        case ast.AugAssign(target=target):
            return [target]
        case _:
            return []


def _names(statement: ast.Stmt) -> Iterator[ast.Name]:
    """What a statement reads itself: schemas and lambdas read when somebody makes an instance, or calls them."""
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.Unification | ast.ExprStmt):
        return
    pending: list[ast.Node] = [statement.value]
    while pending:
        node = pending.pop()
        match node:
            case ast.Name():
                yield node
            case ast.Lambda():
                pass
            case ast.Entry() if isinstance(node.key, ast.Name):
                pending += [each for each in reversed(children(node)) if each is not node.key]
            case _:
                pending += reversed(children(node))


def _found(subject: Subject, target: ast.Target, above: ast.Name) -> Finding:
    message = f"line {subject.line(above.start)} reads '{target.name}' above, and sees this change all the same"
    labels = (Label(Span(subject.path, above.start, above.end), f"'{target.name}' is read here"),)
    place = Span(subject.path, target.start, target.name_end)
    return Finding(warning(Code.CHANGED_BELOW, message, place, labels=labels))
