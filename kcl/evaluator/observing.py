"""What somebody wants to know of an evaluation beside its result: which code ran, and why assertions failed.

Nobody asks in most evaluations, and then nothing is added to any code. Else each expression that is of interest is
wrapped when it is compiled, by `Observation.around`, which every expression passes. An expression is known by its place
in its file: code is compiled from one node in several ways, and from nodes that stand for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kcl.diagnostics import Diagnostic
from kcl.evaluator.coverage import Coverage
from kcl.evaluator.operations import kind
from kcl.evaluator.value import UNDEFINED, Value
from kcl.loader.program import Module
from kcl.syntax import ast

Evaluate = Callable[[list[Any]], Value]
"""As `runtime.Evaluate`, of which this knows nothing."""
_MOST_CHARACTERS: Final = 400
"""Of a value that is shown."""
_MOST_DIFFERENCES: Final = 8

Place = tuple[str, int, int]


class Observation:
    """Wraps the code of one evaluation, or of several one after the other.

    With `coverage` it is counted which expressions are evaluated; generated code is then not used. With
    `explains_assertions` an assertion that fails says in notes what the sides of its comparison were. With
    `gathers_checks` a check of a schema that fails is noted, and the evaluation goes on.
    """

    def __init__(
        self, *, coverage: Coverage | None = None, explains_assertions: bool = False, gathers_checks: bool = False
    ) -> None:
        self.coverage = coverage
        self.explains_assertions = explains_assertions
        self.failed_checks: list[Diagnostic] | None = [] if gathers_checks else None
        """What checks of schemas have found, where the evaluation goes on after them."""
        self._last: dict[Place, Value] = {}
        """The value an operand of an assertion had last."""
        self._operands: set[Place] = set()
        self._printed: list[str] = []

    @property
    def allows_generated_code(self) -> bool:
        """What is generated counts nothing, and ends at the first check that fails."""
        return self.coverage is None and self.failed_checks is None

    def begin(self, printed: list[str]) -> None:
        """An evaluation begins, which adds to `printed` what the program prints."""
        self._printed = printed

    def printed(self) -> str:
        """What the last program printed, also if it failed."""
        return "".join(self._printed)

    def around(self, node: ast.Expr, module: Module, evaluate: Evaluate) -> Evaluate:
        """The code of an expression, or code that does the same and notes it."""
        if self.coverage is not None:
            evaluate = self.coverage.around(node, module, evaluate)
        place = (module.source.path, node.start, node.end)
        return self._recording(place, evaluate) if place in self._operands else evaluate

    def asserting(self, node: ast.Assert, module: Module) -> Callable[[], tuple[str, ...]]:
        """To be called before an assertion is compiled. The answer tells, after it failed, why: one note a line."""
        path, text = module.source.path, module.source.text
        places = [(path, each.start, each.end) for each in _operands(node.test)] if self.explains_assertions else []
        self._operands.update(places)
        compared = _equality(node.test)

        def notes() -> tuple[str, ...]:
            last = self._last
            found = [_said(_source(text, place), shown(last[place])) for place in places if place in last]
            if compared is not None:
                left, right = ((path, each.start, each.end) for each in compared)
                if left in last and right in last:
                    found += _differences(last[left], last[right])
            return tuple(found)

        return notes

    def forget(self) -> None:
        """Lets go of what was recorded in an evaluation."""
        self._last.clear()

    def _recording(self, place: Place, evaluate: Evaluate) -> Evaluate:
        last = self._last

        def run(environment: list[Any]) -> Value:
            value = last[place] = evaluate(environment)
            return value

        return run


def _plain(node: ast.Expr) -> ast.Expr:
    while isinstance(node, ast.Paren):
        node = node.value
    return node


def _operands(test: ast.Expr) -> Iterator[ast.Expr]:
    """The expressions whose values say why a condition is false; those that are literals too, to show both sides."""
    test = _plain(test)
    match test:
        case ast.Compare():
            yield test.left
            yield from test.comparators
        case ast.Binary(op=ast.BinaryOp.AND | ast.BinaryOp.OR):
            yield from _operands(test.left)
            yield from _operands(test.right)
        case ast.Unary(op=ast.UnaryOp.NOT):
            yield from _operands(test.operand)
        case ast.Call():
            yield from (each for each in test.args if not isinstance(each, ast.Lambda))
            yield test
        case ast.Constant():
            return
        case _:
            yield test


def _equality(test: ast.Expr) -> tuple[ast.Expr, ast.Expr] | None:
    test = _plain(test)
    if isinstance(test, ast.Compare) and test.ops == [ast.CompareOp.EQ]:
        return test.left, test.comparators[0]
    return None


def _said(source: str, value: str) -> str:
    return f"compared with {value}" if source == value else f"{source} is {value}"


def _source(text: str, place: Place) -> str:
    return _cut(" ".join(text[place[1] : place[2]].split()), 80)


def shown(value: Value) -> str:
    """A value as it could be written in a program, cut where it is long."""
    pieces: list[str] = []
    _write(value, pieces, [_MOST_CHARACTERS])
    return _cut("".join(pieces), _MOST_CHARACTERS)


def _write(value: Value, pieces: list[str], left: list[int]) -> None:
    """Adds the text of a value to `pieces`, and stops when no characters are `left`."""
    if left[0] <= 0:
        return

    def add(text: str) -> None:
        pieces.append(text)
        left[0] -= len(text)

    if value is UNDEFINED:
        add("Undefined")
    elif isinstance(value, dict):
        schema = getattr(value, "schema", None)
        add(f"{schema.name} {{" if schema is not None else "{")
        for index, (key, item) in enumerate(value.items()):
            if left[0] <= 0:
                break
            add(f"{', ' if index else ''}{key}: ")
            _write(item, pieces, left)
        add("}")
    elif isinstance(value, list):
        add("[")
        for index, item in enumerate(value):
            if left[0] <= 0:
                break
            add(", " if index else "")
            _write(item, pieces, left)
        add("]")
    elif isinstance(value, str):
        add(_quoted(value))
    elif value is None or isinstance(value, (bool, int, float)):
        add(_number(value))
    else:
        add(f"a {kind(value)}")


def _quoted(text: str) -> str:
    escaped = text[: _MOST_CHARACTERS + 1].replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _number(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 8 * _MOST_CHARACTERS:
        return "a very large int"
    return str(value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _differences(left: Value, right: Value) -> list[str]:
    """Where two containers differ, by path; nothing for other values, which are shown whole."""
    if not (isinstance(left, (dict, list)) and isinstance(right, (dict, list))):
        return _lines_apart(left, right)
    found: list[str] = []
    for path, one, other in _apart(left, right, ""):
        if len(found) == _MOST_DIFFERENCES:
            found.append("they differ in more places")
            break
        found.append(f"they differ at {path or 'the top'}: {one} and {other}")
    return found


def _apart(left: Value, right: Value, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            inner = f"{path}.{key}" if path else str(key)
            if key not in left or key not in right:
                yield inner, _there(left, key), _there(right, key)
            else:
                yield from _apart(left[key], right[key], inner)
    elif isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            yield path, f"{len(left)} items", f"{len(right)} items"
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            yield from _apart(one, other, f"{path}[{index}]")
    elif not (type(left) is type(right) and left == right):
        yield path, shown(left), shown(right)


def _there(value: Value, key: str) -> str:
    return shown(value[key]) if key in value else "nothing"


def _lines_apart(left: Value, right: Value) -> list[str]:
    if not (isinstance(left, str) and isinstance(right, str) and "\n" in left + right):
        return []
    one, other = left.split("\n"), right.split("\n")
    for number, pair in enumerate(zip(one, other, strict=False), 1):
        if pair[0] != pair[1]:
            return [f"they differ in line {number}: {shown(pair[0])} and {shown(pair[1])}"]
    return [f"they differ in their number of lines: {len(one)} and {len(other)}"]
