"""Which code of KCL is reached: what there is of it in a file, and how often each part was evaluated.

A *point* is an expression that may be evaluated while what surrounds it is, or not: the value of a statement, of an
entry of a configuration, of an item of a list, a side of a conditional expression, the right side of `and` and `or`,
what a comprehension makes, a condition. The rest of an expression is evaluated with its point. A *decision* is a
condition: of `if` in any form, of a comprehension, of a check that holds under a condition. It has two outcomes.

Declarations that compute nothing (an attribute without a default, a type, an import) are no points; of a schema there
is one, at its head, for its instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kcl.evaluator.operations import truthy
from kcl.evaluator.value import Value
from kcl.loader.program import Module
from kcl.records import dataclass, field
from kcl.syntax import ast
from kcl.syntax.walking import children

Evaluate = Callable[[list[Any]], Value]
"""As `runtime.Evaluate`, of which this knows nothing."""
Place = tuple[int, int]
"""First character of an expression, and the one after its last."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What can be reached in a file, in the order of the text."""

    points: tuple[Place, ...]
    decisions: tuple[Place, ...]


@dataclass(slots=True)
class Reached:
    """How often the parts of one file were evaluated; of a decision, how often it was true and how often false."""

    points: dict[Place, int] = field(default_factory=dict)
    decisions: dict[Place, list[int]] = field(default_factory=dict)

    def add(self, other: Reached) -> None:
        for place, count in other.points.items():
            self.points[place] = self.points.get(place, 0) + count
        for place, (true, false) in other.decisions.items():
            mine = self.decisions.setdefault(place, [0, 0])
            mine[0] += true
            mine[1] += false


class Coverage:
    """Counts what is evaluated, file by file; the counts are 0 at first. One for evaluations in one thread."""

    def __init__(self) -> None:
        self._files: dict[str, Reached] = {}

    def around(self, node: ast.Expr, module: Module, evaluate: Evaluate) -> Evaluate:
        """Code that counts where the expression is a part that can be reached, else the same."""
        file = self._file(module)
        place = (node.start, node.end)
        if place in file.decisions:
            evaluate = _deciding(file.decisions[place], evaluate)
        return _counting(file.points, place, evaluate) if place in file.points else evaluate

    def reach(self, node: ast.Node, module: Module) -> None:
        """Counts a point that has no code of its own."""
        points, place = self._file(module).points, (node.start, node.end)
        if place in points:
            points[place] += 1

    def taken(self) -> dict[str, Reached]:
        """What was evaluated since this was asked last, by path; only what was."""
        found: dict[str, Reached] = {}
        for path, file in self._files.items():
            reached = Reached(
                {place: count for place, count in file.points.items() if count},
                {place: list(counts) for place, counts in file.decisions.items() if any(counts)},
            )
            file.points.update(dict.fromkeys(file.points, 0))
            for counts in file.decisions.values():
                counts[:] = (0, 0)
            if reached.points or reached.decisions:
                found[path] = reached
        return found

    def _file(self, module: Module) -> Reached:
        path = module.source.path
        known = self._files.get(path)
        if known is None:
            there = parts(module.tree)
            known = self._files[path] = Reached(
                dict.fromkeys(there.points, 0), {place: [0, 0] for place in there.decisions}
            )
        return known


def _counting(counts: dict[Place, int], place: Place, evaluate: Evaluate) -> Evaluate:
    def run(environment: list[Any]) -> Value:
        counts[place] += 1
        return evaluate(environment)

    return run


def _deciding(counts: list[int], evaluate: Evaluate) -> Evaluate:
    def run(environment: list[Any]) -> Value:
        value = evaluate(environment)
        counts[0 if truthy(value) else 1] += 1
        return value

    return run


# --- What there is to reach ---


def parts(tree: ast.Module) -> Parts:
    """The points and decisions of a file."""
    found = _Parts()
    found.statements(tree.body)
    return Parts(tuple(sorted(found.points)), tuple(sorted(found.decisions)))


_LEAVES: Final = (ast.Name, ast.Constant, ast.Int, ast.Float, ast.Str)


class _Parts:
    """A walk over a tree that notes points and decisions."""

    def __init__(self) -> None:
        self.points: set[Place] = set()
        self.decisions: set[Place] = set()

    def statements(self, nodes: Iterable[ast.Stmt]) -> None:
        for node in nodes:
            self._statement(node)

    def _statement(self, node: ast.Stmt) -> None:
        match node:
            case ast.Assign() | ast.AugAssign() | ast.Unification() | ast.ExprStmt():
                self._point(node.value)
            case ast.SchemaAttr():
                if node.value is not None:
                    self._point(node.value)
            case ast.Assert():
                self._guarded(node)
            case ast.If():
                self._decision(node.cond)
                self.statements(node.body)
                self.statements(node.orelse)
            case ast.Schema():
                self._schema(node)
            case ast.Rule():
                self._parameters(node.params)
                for check in node.checks:
                    self._guarded(check)
            case _:
                pass

    def _schema(self, node: ast.Schema) -> None:
        self.points.add((node.start, node.end))
        self._parameters(node.params)
        self.statements(node.body)
        signature = node.index_signature
        if signature is not None and signature.default is not None:
            self._point(signature.default)
        for check in node.checks:
            self._guarded(check)

    def _guarded(self, node: ast.Assert | ast.Check) -> None:
        """What is tested if a condition holds. The message is no point: good programs never come to it."""
        if node.cond is not None:
            self._decision(node.cond)
        self._point(node.test)

    def _parameters(self, params: Sequence[ast.Param]) -> None:
        for param in params:
            if param.default is not None:
                self._point(param.default)

    def _point(self, node: ast.Expr) -> None:
        self.points.add((node.start, node.end))
        self._inside(node)

    def _decision(self, node: ast.Expr) -> None:
        self.decisions.add((node.start, node.end))
        self._point(node)

    def _inside(self, node: ast.Node) -> None:
        match node:
            case _ if isinstance(node, _LEAVES):
                return
            case ast.IfExpr():
                self._decision(node.cond)
                self._point(node.body)
                self._point(node.orelse)
            case ast.Binary(op=ast.BinaryOp.AND | ast.BinaryOp.OR):
                self._inside(node.left)
                self._point(node.right)
            case ast.Lambda():
                self._parameters(node.params)
                self.statements(node.body)
            case ast.List():
                for item in node.items:
                    self._list_item(item)
            case ast.Config():
                for entry in node.items:
                    self._config_item(entry)
            case ast.ListComp():
                self._clauses(node.clauses)
                self._point(node.element.value if isinstance(node.element, ast.Starred) else node.element)
            case ast.ConfigComp():
                self._clauses(node.clauses)
                self._config_item(node.entry)
            case ast.Quantifier():
                self._inside(node.iter)
                if node.cond is not None:
                    self._decision(node.cond)
                self._point(node.body)
            case _:
                for child in children(node):
                    self._inside(child)

    def _clauses(self, clauses: Sequence[ast.CompClause]) -> None:
        for clause in clauses:
            self._inside(clause.iter)
            for condition in clause.conds:
                self._decision(condition)

    def _list_item(self, node: ast.ListItem) -> None:
        match node:
            case ast.Starred():
                self._point(node.value)
            case ast.ListIf():
                self._decision(node.cond)
                for item in (*node.body, *node.orelse):
                    self._list_item(item)
            case _:
                self._point(node)

    def _config_item(self, node: ast.ConfigItem) -> None:
        match node:
            case ast.ConfigIf():
                self._decision(node.cond)
                for item in (*node.body, *node.orelse):
                    self._config_item(item)
            case ast.Unpack():
                self._point(node.value)
            case ast.Entry():
                if not isinstance(node.key, ast.Name):
                    self._inside(node.key)
                if isinstance(node.value, ast.Config) and not node.value.written:
                    self._inside(node.value)
                else:
                    self._point(node.value)
