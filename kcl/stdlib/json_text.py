"""Reads JSON, and says what is wrong with text that is none in the words of the official library (serde_json)."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from kcl.bounds import LimitError, check_depth, check_json, check_size
from kcl.patterns import pattern

_INCOMPLETE_WORD: Final = pattern(r"(?:t|tr|tru|f|fa|fal|fals|n|nu|nul)\Z")


class JsonError(ValueError):
    """Text that is not JSON; the message ends with the place."""


def parse_json(text: str) -> Any:
    """Raises JsonError."""
    import json  # most programs read none

    try:
        check_size(text)
        check_json(text)
        found = json.loads(text, parse_constant=_refused, parse_float=_finite, parse_int=_whole)
        check_depth(found)
    except LimitError as problem:
        raise JsonError(str(problem)) from None
    except json.JSONDecodeError as problem:
        raise JsonError(_described(text, problem.msg, problem.pos)) from None
    except _ConstantError as problem:
        raise JsonError(_at("expected value", text, max(text.find(str(problem)), 0))) from None
    except _RangeError as problem:
        raise JsonError(_at("number out of range", text, text.find(str(problem)) + len(str(problem)) - 1)) from None
    except RecursionError:
        raise JsonError("recursion limit exceeded") from None
    if "\\u" in text and (half := _half_of_a_pair(text)):
        raise JsonError(half)
    return found


_ESCAPE: Final = pattern(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def _half_of_a_pair(text: str) -> str:
    """What serde_json says of the first escape that is half of a surrogate pair; "" where there is none.

    Python makes such an escape a character, which no output can then hold.
    """
    open_until = 0
    for escape in _ESCAPE.finditer(text):
        if open_until and escape.start() != open_until:
            break
        code = int(escape[1], 16) if escape[1] else 0
        if open_until and not escape[1]:
            return _at("unexpected end of hex escape", text, escape.start() + 1)
        is_second = 0xDC00 <= code <= 0xDFFF
        if is_second != bool(open_until):
            return _at("lone leading surrogate in hex escape", text, escape.end() - 1)
        open_until = escape.end() if 0xD800 <= code <= 0xDBFF else 0
    return _at("unexpected end of hex escape", text, open_until) if open_until else ""


_MOST_DIGITS: Final = 400


class _ConstantError(ValueError):
    """`NaN` and its like, which Python reads and JSON does not have."""


class _RangeError(ValueError):
    """A number that no float can hold."""


def _refused(name: str) -> Any:
    raise _ConstantError(name)


def _whole(text: str) -> int | float:
    """An integer; a float of as much as it holds where Python would refuse so many digits."""
    return int(text) if len(text) < _MOST_DIGITS else _finite(text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _RangeError(text)
    return number


def _at(what: str, text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"{what} at line {line} column {column}"


def _described(text: str, problem: str, position: int) -> str:
    """What Python's parser found at `position`, told as serde_json tells it."""
    rest = text[position:]
    at_end = not rest.strip()
    last = max(len(text.rstrip()) - 1, 0)
    before = text[:position].rstrip()[-1:]

    def ended(what: str) -> str:
        found = f"EOF while parsing {what}"
        return _at(found, text, last) if text.strip() else f"{found} at line 1 column 0"

    if problem.startswith("Illegal trailing comma"):  # Python 3.13 and later, with the place of the comma
        return _at("trailing comma", text, len(text) - len(text[position + 1 :].lstrip()))
    if problem.startswith("Extra data"):
        return _at("trailing characters", text, position)
    if problem.startswith("Expecting value"):
        if at_end or _INCOMPLETE_WORD.match(rest):
            return ended("a list" if before == "[" else "a value")
        if rest[0] in "]}" and before == ",":
            return _at("trailing comma", text, position)
        word = next((word for word in ("true", "false", "null") if word[0] == rest[0]), None)
        if word is not None:
            right = next(place for place in range(1, 6) if rest[:place] != word[:place]) - 1
            return _at("expected ident", text, position + right)
        return _at("expected value", text, position)
    if problem.startswith("Expecting property name"):
        if at_end:
            return ended("an object" if before == "{" else "a value")
        comma = before == ","
        return _at("trailing comma" if comma and rest[:1] in "}," else "key must be a string", text, position)
    if problem.startswith("Expecting ':'"):
        return ended("an object") if at_end else _at("expected `:`", text, position)
    if problem.startswith("Expecting ','"):
        inside = "an object" if _innermost(text[:position]) == "{" else "a list"
        close = "}" if inside == "an object" else "]"
        return ended(inside) if at_end else _at(f"expected `,` or `{close}`", text, position)
    if problem.startswith("Unterminated string"):
        return _at("EOF while parsing a string", text, len(text) - 1)
    if problem.startswith("Invalid control character"):
        return _at(r"control character (\u0000-\u001F) found while parsing a string", text, position)
    if problem.startswith("Invalid \\"):
        return _at("invalid escape", text, position + 1)
    return _at(problem[:1].lower() + problem[1:], text, position)


def _innermost(text: str) -> str:
    """The bracket that is still open at the end of `text`, "" for none."""
    open_brackets: list[str] = []
    inside = escaped = False
    for char in text:
        if inside:
            inside = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            inside = True
        elif char in "[{":
            open_brackets.append(char)
        elif char in "]}" and open_brackets:
            open_brackets.pop()
    return open_brackets[-1] if open_brackets else ""
