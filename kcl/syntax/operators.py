"""Precedence: a flat run of operands and operators becomes a tree.

The order is KCL's own and not Python's: `==` binds weaker than `in`, `in` weaker than `is`, and
`is` weaker than `<`; every operator, `**` too, groups to the left. Operators that compare chain
while they stand side by side on one level, as in `1 < x < 5`.
"""

from __future__ import annotations

from kcl.syntax.ast import Binary, BinaryOp, Compare, CompareOp, Expr

_BINARY = {
    "or": (1, BinaryOp.OR),
    "and": (2, BinaryOp.AND),
    "|": (7, BinaryOp.BIT_OR),
    "^": (8, BinaryOp.BIT_XOR),
    "&": (9, BinaryOp.BIT_AND),
    "<<": (10, BinaryOp.LSHIFT),
    ">>": (10, BinaryOp.RSHIFT),
    "+": (11, BinaryOp.ADD),
    "-": (11, BinaryOp.SUB),
    "*": (12, BinaryOp.MUL),
    "/": (12, BinaryOp.DIV),
    "%": (12, BinaryOp.MOD),
    "//": (12, BinaryOp.FLOOR_DIV),
    "**": (13, BinaryOp.POW),
}
_COMPARE = {
    "==": (3, CompareOp.EQ),
    "!=": (3, CompareOp.NE),
    "in": (4, CompareOp.IN),
    "not in": (4, CompareOp.NOT_IN),
    "is": (5, CompareOp.IS),
    "is not": (5, CompareOp.IS_NOT),
    "<": (6, CompareOp.LT),
    "<=": (6, CompareOp.LE),
    ">": (6, CompareOp.GT),
    ">=": (6, CompareOp.GE),
}


def group(operands: list[Expr], operators: list[str]) -> Expr:
    """The tree of `operands[0] operators[0] operands[1] ...`."""
    return _climb(operands, operators, [0], 0)


def _climb(operands: list[Expr], operators: list[str], at: list[int], floor: int) -> Expr:
    """Take operators that bind tighter than `floor` from position `at[0]`, which is moved on."""
    first = left = operands[at[0]]
    compared: tuple[list[CompareOp], list[Expr]] = ([], [])
    while at[0] < len(operators):
        operator = operators[at[0]]
        binary = _BINARY.get(operator)
        compare = None if binary else _COMPARE[operator]
        level = binary[0] if binary else _COMPARE[operator][0]
        if level <= floor:
            break
        at[0] += 1
        right = _climb(operands, operators, at, level)
        if compare:
            if not compared[0]:
                first = left
            compared[0].append(compare[1])
            compared[1].append(right)
        elif binary:
            if compared[0]:
                left = _compare(first, *compared)
                compared = ([], [])
            left = Binary(left.start, right.end, binary[1], left, right)
    return _compare(first, *compared) if compared[0] else left


def _compare(first: Expr, ops: list[CompareOp], comparators: list[Expr]) -> Expr:
    return Compare(first.start, comparators[-1].end, first, ops, comparators)
