"""What operators make of the types of their operands."""

from __future__ import annotations

from typing import Final

from kcl.diagnostics import Span
from kcl.semantic.assignability import Assignability
from kcl.semantic.types import (
    ANY,
    BOOL,
    BOOL_FLAG,
    CONFIG,
    FLOAT,
    FLOAT_FLAG,
    INT,
    INT_FLAG,
    ITERABLE,
    LIST_FLAG,
    NONE_FLAG,
    NUMBER,
    SCHEMA_FLAG,
    STR,
    STR_FLAG,
    UNION_FLAG,
    DictType,
    ListType,
    LiteralType,
    Type,
    all_of,
    common,
    is_upper_bound,
    widened,
)
from kcl.syntax import ast

_INTEGERS_ONLY: Final = frozenset(
    {ast.BinaryOp.LSHIFT, ast.BinaryOp.RSHIFT, ast.BinaryOp.BIT_XOR, ast.BinaryOp.BIT_AND}
)
_DIVISIONS: Final = frozenset({ast.BinaryOp.DIV, ast.BinaryOp.FLOOR_DIV, ast.BinaryOp.MOD})
_EQUALITIES: Final = frozenset({ast.CompareOp.EQ, ast.CompareOp.NE, ast.CompareOp.IS, ast.CompareOp.IS_NOT})


def _without_literals(type_: Type) -> Type:
    return widened(type_) if type_.flags & UNION_FLAG else type_


class Operators(Assignability):
    def binary(self, left: Type, right: Type, operator: ast.BinaryOp, place: Span) -> Type:
        one, other = _without_literals(left), _without_literals(right)
        if one is ANY or other is ANY:
            return ANY
        result = self._binary(one, other, operator, place)
        if result is None:
            message = f"unsupported operand type(s) for {operator}: '{left}' and '{right}'"
            self.type_error(message, place)
            return ANY
        return result

    def _binary(self, one: Type, other: Type, operator: ast.BinaryOp, place: Span) -> Type | None:
        """The type of the result, None for operands that do not go together."""
        if operator is ast.BinaryOp.AND:
            return BOOL
        if operator is ast.BinaryOp.OR:
            return common([one, other])
        if operator is ast.BinaryOp.BIT_OR:
            return self._united(one, other)
        if operator in _INTEGERS_ONLY:
            return INT if one.flags & other.flags & INT_FLAG else None
        if one.flags & NUMBER and other.flags & NUMBER:
            if operator in _DIVISIONS and isinstance(other, LiteralType) and other.value == 0:
                self.type_error("integer division or modulo by zero", place)
            if operator is ast.BinaryOp.MOD:
                return INT
            return FLOAT if (one.flags | other.flags) & FLOAT_FLAG else INT
        if operator is ast.BinaryOp.ADD:
            if one.flags & other.flags & STR_FLAG:
                return STR
            if isinstance(one, ListType) and isinstance(other, ListType):
                return ListType(common([one.item, other.item]))
        elif operator is ast.BinaryOp.MUL:
            repeated = NUMBER | STR_FLAG | LIST_FLAG
            if one.flags & INT_FLAG and all_of(other, repeated):
                return other
            if other.flags & INT_FLAG and all_of(one, repeated):
                return one
        return None

    @staticmethod
    def _united(one: Type, other: Type) -> Type | None:
        if one.flags & other.flags & INT_FLAG:
            return INT
        if one.flags & NONE_FLAG:
            return other
        if other.flags & NONE_FLAG:
            return one
        if isinstance(one, ListType) and isinstance(other, ListType):
            return ListType(common([one.item, other.item]))
        if isinstance(one, DictType) and isinstance(other, DictType):
            attributes = {**one.attributes, **other.attributes}
            return DictType(common([one.key, other.key]), common([one.value, other.value]), attributes)
        return one if one.flags & SCHEMA_FLAG and other.flags & CONFIG else None

    def cast(self, value: Type, target: Type, place: Span) -> Type:
        one, other = _without_literals(value), _without_literals(target)
        if one is ANY or other is ANY:
            return ANY
        if not is_upper_bound(widened(one), other):
            self.type_error(
                f"Conversion of type '{one.full}' to type '{other.full}' may be a mistake because neither type "
                "sufficiently overlaps with the other",
                place,
            )
        return other

    def unary(self, operand: Type, operator: ast.UnaryOp, place: Span) -> Type:
        if operand is ANY:
            return ANY
        type_ = _without_literals(operand)
        match operator:
            case ast.UnaryOp.NOT:
                return type_
            case ast.UnaryOp.INVERT:
                allowed = bool(type_.flags & (INT_FLAG | BOOL_FLAG))
            case _:
                allowed = bool(type_.flags & NUMBER)
        if allowed:
            return type_
        self.type_error(f"bad operand type for unary {operator}: '{operand}'", place)
        return ANY

    def compare(self, left: Type, right: Type, operator: ast.CompareOp, place: Span) -> None:
        one, other = _without_literals(left), _without_literals(right)
        if one is ANY or other is ANY:
            return
        contains = operator in (ast.CompareOp.IN, ast.CompareOp.NOT_IN)
        numbers = NUMBER | BOOL_FLAG
        if all_of(one, numbers) and all_of(other, numbers) and not contains:
            return
        if operator in (ast.CompareOp.EQ, ast.CompareOp.NE):
            primitive = numbers | STR_FLAG
            if all_of(one, primitive) and all_of(other, primitive):
                return
        if operator in (ast.CompareOp.EQ, ast.CompareOp.NE) and (
            one.flags & other.flags & LIST_FLAG or (one.flags & CONFIG and other.flags & CONFIG)
        ):
            return
        if contains and other.flags & ITERABLE:
            return
        if (one.flags | other.flags) & NONE_FLAG and operator in _EQUALITIES:
            return
        self.type_error(f"unsupported operand type(s) for {operator}: '{one}' and '{other}'", place)
