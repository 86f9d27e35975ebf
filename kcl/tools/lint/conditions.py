"""Conditions that decide nothing: literals, what is compared with itself, what was asked before, what cannot hold.

Expressions are compared as they are written, white space and brackets aside, and only those that give the same value
each time: names, members, literals, operators, and functions that look at nothing but their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from kcl.diagnostics import Code, Label, Span, warning
from kcl.records import dataclass
from kcl.syntax import ast
from kcl.tools.lint.subject import Finding, Subject, found, found_at, shortened

_PURE: Final = frozenset(
    {"abs", "bool", "ceil", "float", "int", "isunique", "len", "max", "min", "round", "sorted", "str", "sum", "typeof"}
)
_IFS: Final = (ast.If, ast.ListIf, ast.ConfigIf, ast.IfExpr)
_PURE_MODULES: Final = frozenset(("math", "regex"))
_FLIPPED: Final = {
    ast.CompareOp.EQ: ast.CompareOp.EQ,
    ast.CompareOp.NE: ast.CompareOp.NE,
    ast.CompareOp.LT: ast.CompareOp.GT,
    ast.CompareOp.LE: ast.CompareOp.GE,
    ast.CompareOp.GT: ast.CompareOp.LT,
    ast.CompareOp.GE: ast.CompareOp.LE,
}


def self_comparison(subject: Subject) -> Iterator[Finding]:
    for node in subject.nodes.of(ast.Compare):
        for left, right in pairwise([node.left, *node.comparators]):
            text = subject.text[left.start : left.end]
            if text == subject.text[right.start : right.end] and _is_plain(left):
                message = f"'{shortened(text)}' is compared with itself, which tells nothing"
                yield found_at(Code.SELF_COMPARISON, message, subject, left.start, right.end)


def constant_condition(subject: Subject) -> Iterator[Finding]:
    for node in subject.nodes.of(*_IFS, ast.Assert, ast.Check, ast.Quantifier, ast.CompClause):
        match node:
            case ast.If() | ast.ListIf() | ast.ConfigIf() | ast.IfExpr():
                conditions: list[ast.Expr | None] = [node.cond]
            case ast.Assert() | ast.Check():
                # `assert False, "..."` is how a program says that it must not come here.
                conditions = [None if node.cond is not None or _truth(node.test) is False else node.test, node.cond]
            case ast.Quantifier():
                conditions = [node.cond]
            case ast.CompClause():
                conditions = list(node.conds)
            case _:
                continue
        for each in conditions:
            truth = None if each is None else _truth(each)
            if each is not None and truth is not None:
                text = shortened(subject.text[each.start : each.end])
                yield found(Code.CONSTANT_CONDITION, f"'{text}' is always {str(truth).lower()}", subject, each)


def repeated_condition(subject: Subject) -> Iterator[Finding]:
    """Conditions that were asked before: in a chain of ifs, in one `and` or `or`, in the checks of a schema."""
    inner: set[int] = set()
    for node in subject.nodes.of(*_IFS, ast.Binary, ast.Schema, ast.Rule):
        match node:
            case ast.If() | ast.ListIf() | ast.ConfigIf() | ast.IfExpr() if id(node) not in inner:
                yield from _repeated_in_chain(subject, _chain(node, inner))
            case ast.Binary(op=ast.BinaryOp.AND | ast.BinaryOp.OR) if id(node) not in inner:
                yield from _repeated_operands(subject, node, inner)
            case ast.Schema() | ast.Rule():
                yield from _repeated_checks(subject, node.checks)
            case _:
                pass


def contradiction(subject: Subject) -> Iterator[Finding]:
    """What never holds (`x == 1 and x == 2`), what always does (`x != 1 or x != 2`), checks that exclude others."""
    inner: set[int] = set()
    for node in subject.nodes.of(ast.Binary, ast.Schema, ast.Rule):
        match node:
            case ast.Binary(op=ast.BinaryOp.AND | ast.BinaryOp.OR as op) if id(node) not in inner:
                claims = [_claim(each, negated=op is ast.BinaryOp.OR) for each in _operands(node, op, inner)]
                pair = _excluding([each for each in claims if each is not None])
                if pair is not None:
                    truth = "never true" if op is ast.BinaryOp.AND else "always true"
                    message = f"this is {truth}: {_quoted(subject, *pair)}"
                    yield found(Code.CONTRADICTION, message, subject, node)
            case ast.Schema() | ast.Rule():
                yield from _excluding_checks(subject, node.checks)
            case _:
                pass


# ------------------------------------------------------------ what was asked before


_If = ast.If | ast.ListIf | ast.ConfigIf | ast.IfExpr


def _chain(node: _If, inner: set[int]) -> list[ast.Expr]:
    """The conditions of an if and of all that is asked where it does not hold, and of nothing else."""
    conditions = [node.cond]
    while True:
        otherwise: ast.Node | None
        if isinstance(node, ast.IfExpr):
            otherwise = _bare(node.orelse)
        else:
            otherwise = node.orelse[0] if len(node.orelse) == 1 else None
        if not isinstance(otherwise, ast.If | ast.ListIf | ast.ConfigIf | ast.IfExpr):
            return conditions
        node = otherwise
        inner.add(id(node))
        conditions.append(node.cond)


def _repeated_in_chain(subject: Subject, conditions: Sequence[ast.Expr]) -> Iterator[Finding]:
    before: list[tuple[frozenset[str], ast.Expr]] = []
    for condition in conditions:
        keys = [_key(each) for each in _operands(condition, ast.BinaryOp.AND)]
        if None in keys:
            continue
        asked = frozenset(each for each in keys if each is not None)
        earlier = next((each for known, each in before if known <= asked), None)
        if earlier is not None:
            line = subject.line(earlier.start)
            text = shortened(subject.text[earlier.start : earlier.end])
            message = f"this way is never taken: where '{text}' holds, line {line} has been taken"
            yield _repeats(message, subject, condition, earlier)
        before.append((asked, condition))


def _repeated_operands(subject: Subject, node: ast.Binary, inner: set[int]) -> Iterator[Finding]:
    seen: dict[str, ast.Expr] = {}
    for each in _operands(node, node.op, inner):
        key = _key(each)
        if key is None or isinstance(each, ast.Constant):
            continue
        if key in seen:
            text = shortened(subject.text[each.start : each.end])
            yield _repeats(f"'{text}' is asked twice in one '{node.op}'", subject, each, seen[key])
        seen.setdefault(key, each)


def _repeated_checks(subject: Subject, checks: Sequence[ast.Check]) -> Iterator[Finding]:
    seen: dict[tuple[str, str], ast.Check] = {}
    for each in checks:
        test, condition = _key(each.test), "" if each.cond is None else _key(each.cond)
        if test is None or condition is None or _truth(each.test) is not None:
            continue
        before = seen.setdefault((test, condition), each)
        if before is not each:
            yield _repeats(f"line {subject.line(before.start)} checks the same", subject, each, before)


def _repeats(message: str, subject: Subject, node: ast.Node, before: ast.Node) -> Finding:
    labels = (Label(Span(subject.path, before.start, before.end), "it is asked here first"),)
    return Finding(warning(Code.REPEATED_CONDITION, message, Span(subject.path, node.start, node.end), labels=labels))


# ------------------------------------------------------------ what cannot hold together


_Literal = tuple[str, object]
"""Its kind and its value: 1 and 1.0 are equal in KCL, 1 and True are not."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """That an expression, given by its key, stands in a relation to a literal."""

    key: str
    op: ast.CompareOp
    literal: _Literal
    node: ast.Expr


_NEGATED: Final = {
    ast.CompareOp.EQ: ast.CompareOp.NE,
    ast.CompareOp.NE: ast.CompareOp.EQ,
}


def _claim(node: ast.Expr, *, negated: bool = False) -> _Claim | None:
    """What a comparison claims, or its negation: only of `==` and `!=`, since a value may be none that has an order."""
    inner = _bare(node)
    if not isinstance(inner, ast.Compare) or len(inner.ops) != 1:
        return None
    left, op, right = inner.left, inner.ops[0], inner.comparators[0]
    if _literal(left) is not None:
        if op not in _FLIPPED:
            return None
        left, op, right = right, _FLIPPED[op], left
    key, literal = _key(left), _literal(right)
    if key is None or literal is None or op not in _FLIPPED or _literal(left) is not None:
        return None
    if negated:
        if op not in _NEGATED:
            return None
        op = _NEGATED[op]
    return _Claim(key, op, literal, node)


def _excluding(claims: Sequence[_Claim]) -> tuple[_Claim, _Claim] | None:
    """The first two claims that cannot both hold."""
    for index, second in enumerate(claims):
        for first in claims[:index]:
            if first.key == second.key and (_excludes(first, second) or _excludes(second, first)):
                return first, second
    return None


def _excludes(first: _Claim, second: _Claim) -> bool:
    one, other = first.literal, second.literal
    equal = ast.CompareOp.EQ
    if first.op is equal and second.op is equal:
        return one != other
    if first.op is equal and second.op is ast.CompareOp.NE:
        return one == other
    if one[0] != "number" or other[0] != "number":
        return False
    low, high = one[1], other[1]
    assert isinstance(low, int | float) and isinstance(high, int | float), "numbers are numbers"
    match second.op:
        case ast.CompareOp.LT if first.op in (equal, ast.CompareOp.GE, ast.CompareOp.GT):
            return low >= high
        case ast.CompareOp.LE if first.op in (equal, ast.CompareOp.GE):
            return low > high
        case ast.CompareOp.LE if first.op is ast.CompareOp.GT:
            return low >= high
        case ast.CompareOp.GT if first.op is equal:
            return low <= high
        case ast.CompareOp.GE if first.op is equal:
            return low < high
        case _:
            return False


def _excluding_checks(subject: Subject, checks: Sequence[ast.Check]) -> Iterator[Finding]:
    """Checks of one schema that no instance can pass: those under one condition, or under none, hold together."""
    claims: dict[str, list[_Claim]] = {}
    for check in checks:
        condition = "" if check.cond is None else _key(check.cond)
        if condition is None:
            continue
        known = claims.setdefault(condition, [])
        mine = [claim for each in _operands(check.test, ast.BinaryOp.AND) if (claim := _claim(each)) is not None]
        for claim in mine:
            before = _excluding([*known, claim])
            if before is None:
                continue
            line = subject.line(before[0].node.start)
            message = f"no instance passes this check and that of line {line}: {_quoted(subject, *before)}"
            yield found(Code.CONTRADICTION, message, subject, check)
            break
        else:
            known += mine


def _quoted(subject: Subject, first: _Claim, second: _Claim) -> str:
    texts = [shortened(subject.text[each.node.start : each.node.end]) for each in (first, second)]
    return f"'{texts[0]}' and '{texts[1]}'"


# ------------------------------------------------------------ expressions


def _operands(node: ast.Expr, op: ast.BinaryOp, inner: set[int] | None = None) -> list[ast.Expr]:
    """The operands of a row of one operator; an expression that is none is the only one of its row."""
    bare = _bare(node)
    if not isinstance(bare, ast.Binary) or bare.op is not op:
        return [node]
    if inner is not None:
        inner.add(id(bare))
    return [*_operands(bare.left, op, inner), *_operands(bare.right, op, inner)]


def _bare(node: ast.Expr) -> ast.Expr:
    while isinstance(node, ast.Paren):
        node = node.value
    return node


def _literal(node: ast.Expr) -> _Literal | None:
    match _bare(node):
        case ast.Int(value=number, suffix=None) | ast.Float(value=number):
            return ("number", number)
        case ast.Unary(op=ast.UnaryOp.MINUS, operand=ast.Int(value=number, suffix=None) | ast.Float(value=number)):
            return ("number", -number)
        case ast.Str(value=text):
            return ("str", text)
        case ast.Constant(kind=ast.ConstantKind.TRUE | ast.ConstantKind.FALSE as kind):
            return ("bool", kind)
        case _:
            return None


def _key(node: ast.Expr) -> str | None:
    """One text for expressions that are the same; None for one that may differ from one time to the next."""
    match node:
        case ast.Paren(value=value):
            return _key(value)
        case ast.Name(id=name):
            return name
        case ast.Constant(kind=kind):
            return str(kind.value)
        case ast.Int(value=number, suffix=suffix):
            return f"{number}{suffix or ''}"
        case ast.Float(value=number):
            return repr(number)
        case ast.Str(value=text):
            return repr(text)
        case ast.Selector(value=value, name=name, optional=optional):
            return _joined(_key(value), "?." if optional else ".", name)
        case ast.Subscript(value=value, index=index, optional=optional):
            return _joined(_key(value), "?[" if optional else "[", _key(index), "]")
        case ast.Unary(op=operator, operand=operand):
            return _joined(f"({operator.value} ", _key(operand), ")")
        case ast.Binary(op=operation, left=left, right=right):
            return _joined("(", _key(left), f" {operation.value} ", _key(right), ")")
        case ast.Compare():
            parts = [f" {op.value} " for op in node.ops]
            keys = [_key(each) for each in node.comparators]
            return _joined(
                "(", _key(node.left), *(each for pair in zip(parts, keys, strict=True) for each in pair), ")"
            )
        case ast.Call(keywords=[]) if _is_pure(node.func):
            return _joined(_key(node.func), "(", *(_joined(_key(each), ",") for each in node.args), ")")
        case _:
            return None


def _is_pure(function: ast.Expr) -> bool:
    match function:
        case ast.Name(id=name):
            return name in _PURE
        case ast.Selector(value=ast.Name(id=module)):
            return module in _PURE_MODULES
        case _:
            return False


def _joined(*parts: str | None) -> str | None:
    return None if None in parts else "".join(each for each in parts if each is not None)


def _is_plain(node: ast.Expr) -> bool:
    """Whether an expression is the same whenever it is computed, and no number that stands for itself."""
    match node:
        case ast.Name():
            return True
        case ast.Selector() | ast.Paren():
            return _is_plain(node.value)
        case ast.Subscript():
            return _is_plain(node.value) and isinstance(node.index, ast.Int | ast.Str | ast.Name)
        case _:
            return False


def _truth(node: ast.Expr) -> bool | None:
    """What a literal is as a condition; None for all that has to be computed."""
    match node:
        case ast.Constant(kind=kind):
            return kind is ast.ConstantKind.TRUE
        case ast.Int(value=number) | ast.Float(value=number):
            return bool(number)
        case ast.Str(value=text):
            return bool(text)
        case ast.Paren(value=inner):
            return _truth(inner)
        case ast.Unary(op=ast.UnaryOp.NOT, operand=operand):
            truth = _truth(operand)
            return None if truth is None else not truth
        case _:
            return None
