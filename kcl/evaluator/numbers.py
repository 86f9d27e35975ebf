"""Spelling of floats.

Three spellings occur in official output: YAML and JSON use the shortest round-trip digits with an exponent outside
1e-5 … 1e16 (JSON with a plus sign), `str()` and string interpolation never use an exponent.
"""

from __future__ import annotations

import math


def _digits_and_exponent(value: float) -> tuple[str, int]:
    """Shortest digits without point, and the decimal exponent of the first one: 1234.5 → ("12345", 3)."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    if exponent:
        point = len(whole) + int(exponent)
    else:
        point = len(whole)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", point - 1


def float_text(value: float, *, plus: bool = False) -> str:
    """`value` as YAML and JSON print it. `plus` writes `1e+20` for `1e20`. Infinities and NaN in YAML's spelling."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    magnitude = abs(value)
    if "e" not in text and (magnitude < 1e16):
        return text
    if 1e-5 <= magnitude < 1e-4:
        sign = "-" if value < 0 else ""
        digits, exponent = _digits_and_exponent(magnitude)
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    sign = "-" if value < 0 else ""
    digits, exponent = _digits_and_exponent(magnitude)
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{sign}{mantissa}e{'+' if plus and exponent >= 0 else ''}{exponent}"


def float_display(value: float) -> str:
    """`value` as `str()` in the language prints it: all digits, no exponent, at least one decimal."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    if "e" not in text:
        return text
    sign = "-" if value < 0 else ""
    digits, exponent = _digits_and_exponent(abs(value))
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return f"{sign}{digits}{'0' * (exponent + 1 - len(digits))}.0"
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
