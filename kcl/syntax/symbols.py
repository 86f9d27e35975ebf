"""What nodes of the tree say by a symbol or a word of the text: operators, constants, basic types."""

from __future__ import annotations

from enum import StrEnum


class UnaryOp(StrEnum):
    PLUS = "+"
    MINUS = "-"
    INVERT = "~"
    NOT = "not"


class BinaryOp(StrEnum):
    """Operators with two operands that do not chain; `and` and `or` evaluate their right side lazily."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    FLOOR_DIV = "//"
    MOD = "%"
    POW = "**"
    LSHIFT = "<<"
    RSHIFT = ">>"
    BIT_OR = "|"
    BIT_XOR = "^"
    BIT_AND = "&"
    AND = "and"
    OR = "or"


class CompareOp(StrEnum):
    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    NOT_IN = "not in"
    IS = "is"
    IS_NOT = "is not"


class AugOp(StrEnum):
    ADD = "+="
    SUB = "-="
    MUL = "*="
    DIV = "/="
    FLOOR_DIV = "//="
    MOD = "%="
    POW = "**="
    LSHIFT = "<<="
    RSHIFT = ">>="
    BIT_OR = "|="
    BIT_XOR = "^="
    BIT_AND = "&="


class ConfigOp(StrEnum):
    """How a configuration entry meets what is already there."""

    UNION = ":"
    OVERRIDE = "="
    INSERT = "+="


class QuantifierOp(StrEnum):
    ALL = "all"
    ANY = "any"
    MAP = "map"
    FILTER = "filter"


class ConstantKind(StrEnum):
    TRUE = "True"
    FALSE = "False"
    NONE = "None"
    UNDEFINED = "Undefined"


class BasicTypeName(StrEnum):
    ANY = "any"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STR = "str"
