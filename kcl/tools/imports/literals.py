"""Plain values as KCL writes them."""

from __future__ import annotations

import math
from typing import Any, Final

from kcl.bounds import MOST_DEPTH
from kcl.terminal import harmless_lines
from kcl.tools.imports.names import key
from kcl.tools.imports.texts import text_literal

_LARGEST: Final = 2**63 - 1


def number(value: int | float) -> str:
    """A number; whole ones beyond 64 bits as floats."""
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return str(value)
    written = repr(float(value))
    mantissa, exponent, power = written.partition("e")
    return written if "." in mantissa or not exponent else f"{mantissa}.0e{power}"


def can_be_written(value: Any, depth: int = 0) -> bool:
    """Whether KCL has a literal for a plain value: not for infinite numbers, and not for those no float can hold."""
    if depth > MOST_DEPTH:
        return False
    if isinstance(value, dict):
        return all(can_be_written(each, depth + 1) for each in value.values())
    if isinstance(value, list):
        return all(can_be_written(each, depth + 1) for each in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 10**300
    return not isinstance(value, float) or math.isfinite(value)


def holds_large(value: Any) -> bool:
    """Whether a whole number beyond 64 bits is in a plain value, which `number` writes as another type."""
    if isinstance(value, dict):
        return any(holds_large(each) for each in value.values())
    if isinstance(value, list):
        return any(holds_large(each) for each in value)
    return isinstance(value, int) and abs(value) > _LARGEST


def value(of: Any) -> str:
    """A plain value on one line."""
    if of is None or isinstance(of, bool):
        return str(of)
    if isinstance(of, int | float):
        return number(of)
    if isinstance(of, list):
        return "[" + ", ".join(value(each) for each in of) + "]"
    if isinstance(of, dict):
        return "{" + ", ".join(f"{key(name)} = {value(each)}" for name, each in of.items()) + "}"
    return text_literal(str(of))


def lines_of(of: Any, indent: int = 0) -> list[str]:
    """A plain value over several lines, the first without its indentation."""
    space = "    " * (indent + 1)
    if isinstance(of, dict) and of:
        lines = ["{"]
        for name, each in of.items():
            first, *rest = lines_of(each, indent + 1)
            lines += [f"{space}{key(name)} = {first}", *rest]
        return [*lines, "    " * indent + "}"]
    if isinstance(of, list) and of:
        lines = ["["]
        for each in of:
            first, *rest = lines_of(each, indent + 1)
            lines += [f"{space}{first}", *rest]
        return [*lines, "    " * indent + "]"]
    return [value(of)]


def prose(text: str) -> str:
    """What may stand between the quotes of a docstring, on any number of lines."""
    clean = harmless_lines(text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    "))
    return clean.replace('"""', "'''")
