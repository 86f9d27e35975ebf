"""What is said of type aliases, lambdas and variables of a package, and of the options that it reads."""

from __future__ import annotations

from collections.abc import Iterator

from kcl.syntax import ast
from kcl.tools.doc.masking import hides
from kcl.tools.doc.model import Option, Place, Target, Text, Value
from kcl.tools.doc.resolving import Scope, is_private
from kcl.tools.docstrings import Line, Lines, lines_of
from kcl.tools.query.arguments import of_tree


def values(scope: Scope) -> Iterator[Value]:
    """The aliases, lambdas and variables at the top of a file, without private ones."""
    comments = _Comments(scope)
    for node in scope.file.tree.body:
        for name, kind, type_, text in _written(node, scope):
            if not is_private(name):
                doc = _lambda_doc(node, scope) or comments.above(node.start)
                target = Target(scope.folder.path, name)
                yield Value(target, kind, type_, text, scope.lines(doc), scope.place(node.start))


def _written(node: ast.Stmt, scope: Scope) -> Iterator[tuple[str, str, Text, str]]:
    """Name, kind, type and value of each that a statement declares."""
    match node:
        case ast.TypeAlias():
            yield node.name, "alias", scope.text(node.value), ""
        case ast.Assign(value=ast.Lambda() as function):
            signature = _signature(function, scope)
            yield from ((each.name, "lambda", signature, "") for each in node.targets if not each.path)
        case ast.Assign():
            for each in node.targets:
                if not each.path:
                    yield each.name, "variable", scope.text(node.type), scope.code(node.value, each.name)
        case ast.Unification(target=target, value=value) if not target.path:
            yield target.name, "variable", scope.text(value.name), scope.code(value.config, target.name)
        case _:
            pass


def _signature(node: ast.Lambda, scope: Scope) -> Text:
    result = scope.text(node.result)
    return ("(", *scope.text(*node.params), ")", *((" -> ", *result) if result else ()))


def _lambda_doc(node: ast.Stmt, scope: Scope) -> Lines:
    """The text in triple quotes that a lambda begins with, if it is not all there is."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.value.body) > 1):
        return ()
    first = node.value.body[0]
    text = first.value if isinstance(first, ast.ExprStmt) else None
    return lines_of(scope.file.source, text) if isinstance(text, ast.Str) and text.triple else ()


class _Comments:
    """Comments that stand right above a statement: who has no docstring is told about there."""

    def __init__(self, scope: Scope) -> None:
        self._source = scope.file.source
        comments = scope.file.tree.comments
        self._lines = {self._source.position(each.start).line: each for each in comments if self._is_alone(each)}

    def _is_alone(self, comment: ast.Comment) -> bool:
        begin = self._source.text.rfind("\n", 0, comment.start) + 1
        return not self._source.text[begin : comment.start].strip()

    def above(self, offset: int) -> Lines:
        line = self._source.position(offset).line - 1
        found: list[Line] = []
        while line in self._lines:
            found.append(Line(self._lines[line].text.lstrip("#").removeprefix(" ").rstrip(), line))
            line -= 1
        return tuple(reversed(found))


def options(scope: Scope) -> Iterator[Option]:
    """The calls of `option` in a file."""
    for each in of_tree(scope.file.source, scope.file.tree):
        default = hides(each.name, each.default)
        yield Option(
            scope.clean(each.name),
            scope.clean(each.type),
            each.is_required,
            scope.clean(default),
            scope.clean(each.help),
            Place(scope.file.shown, each.line),
        )
