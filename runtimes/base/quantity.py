"""Resource quantities: `500m`, `1.5Gi`, `1e3`, and the one form each value is written in.

The suffix family a value was written with is kept (binary, decimal, exponent), the rest is made canonical: no
fraction, the largest suffix that needs none. Anything finer than a billionth is rounded up, as the server does.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal, localcontext
from typing import Literal

from kcl.records import dataclass

SYNTAX = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
SYNTAX_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_TEXT = "unable to parse quantity's suffix"

DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
BINARY = {0: "", 10: "Ki", 20: "Mi", 30: "Gi", 40: "Ti", 50: "Pi", 60: "Ei"}
DECIMAL_EXPONENTS = {suffix: exponent for exponent, suffix in DECIMAL.items()}
BINARY_EXPONENTS = {suffix: exponent for exponent, suffix in BINARY.items() if suffix}
NANO = Decimal("1e-9")
WIDE = Context(prec=60)
LARGEST = Decimal(2**63 - 1)
_FAR = 40
_LONGEST_EXPONENT = 18
"""Digits of a whole number of 64 bits."""

Family = Literal["binary", "decimal", "exponent"]


@dataclass(frozen=True, slots=True)
class Quantity:
    value: Decimal
    family: Family

    def __str__(self) -> str:
        with localcontext(WIDE):
            if self.family == "binary" and abs(self.value) >= 1024 and self.value == self.value.to_integral_value():
                return _binary_text(int(self.value))
            return _decimal_text(self.value, self.family)


def parse(text: str) -> Quantity:
    """Raises ValueError with the server's text for it."""
    match = SYNTAX.fullmatch(text)
    if match is None or NUMBER.fullmatch(match[1]) is None:
        raise ValueError(SYNTAX_TEXT)
    number, suffix = _bounded(Decimal(match[1])), match[2]
    with localcontext(WIDE):
        if suffix in BINARY_EXPONENTS:
            value, family = number * 2 ** BINARY_EXPONENTS[suffix], "binary"
        elif suffix in DECIMAL_EXPONENTS:
            value, family = number.scaleb(DECIMAL_EXPONENTS[suffix]), "decimal"
        elif re.fullmatch(r"[eE][-+]?[0-9]+", suffix):
            value, family = _scaled(number, suffix[1:]), "exponent"
        else:
            raise ValueError(SUFFIX_TEXT)
        value = max(min(value, LARGEST), -LARGEST)
        if value != value.quantize(NANO):
            value = value.quantize(NANO, rounding=ROUND_UP)
        return Quantity(value, family)  # type: ignore[arg-type]  # the literals above, joined


def _bounded(number: Decimal) -> Decimal:
    """The number, or one that is as much out of bounds: digits by the thousand say nothing more."""
    if number and number.adjusted() < -_FAR:
        return Decimal((number.is_signed(), (1,), -_FAR))
    if number.adjusted() > _FAR:
        return Decimal((number.is_signed(), (1,), _FAR))
    with localcontext(WIDE):
        return +number


def _scaled(number: Decimal, exponent: str) -> Decimal:
    digits = exponent.lstrip("+-").lstrip("0")
    if len(digits) > _LONGEST_EXPONENT:
        raise ValueError(SUFFIX_TEXT)
    power = -int(digits or 0) if exponent.startswith("-") else int(digits or 0)
    return _bounded(number.scaleb(max(min(power, 2 * _FAR), -2 * _FAR)))


def canonical(text: str) -> str:
    return str(parse(text))


def amount(value: object) -> Decimal:
    """The number that a quantity in an object stands for; a number counts as written."""
    return parse(str(value)).value


def _decimal_text(value: Decimal, family: Family) -> str:
    if not value:
        return "0"
    sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int)
    mantissa = int("".join(map(str, digits)))
    while exponent % 3 or exponent > 18:
        mantissa, exponent = mantissa * 10, exponent - 1
    if family == "exponent":
        suffix = f"e{exponent}" if exponent else ""
    else:
        suffix = DECIMAL[exponent]
    return f"{'-' if sign else ''}{mantissa}{suffix}"


def _binary_text(value: int) -> str:
    exponent = 0
    while value % 1024 == 0 and exponent < 60:
        value, exponent = value // 1024, exponent + 10
    return f"{value}{BINARY[exponent]}"
