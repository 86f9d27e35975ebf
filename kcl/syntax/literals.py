"""What literals mean: escapes and dedent in strings, bases and units in numbers."""

from __future__ import annotations

import re
import unicodedata

UNITS = frozenset(("n", "u", "m", "k", "K", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"))

_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]*)\}|(.)|$)", re.DOTALL
)
_MARGIN = re.compile(r"^([ \t]*)[^\s]", re.MULTILINE)
_SIMPLE = {
    "\\": "\\",
    "'": "'",
    '"': '"',
    "\n": "",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_INTEGER = re.compile(r"(?P<base>0[xX]|0[bB]|0[oO])?(?P<digits>[0-9][\d_]*|[\da-fA-F_]*)(?P<suffix>.*)")
_BASES = {"x": 16, "b": 2, "o": 8}
_BASE_DIGITS = {16: "0123456789abcdef", 8: "01234567", 2: "01"}


class LiteralError(ValueError):
    """The literal has no value; the message says why."""


def string_parts(token: str) -> tuple[str, bool, bool]:
    """Content, whether raw, whether triple-quoted, of a string as written with its quotes."""
    raw = token[0] in "rR"
    if raw:
        token = token[1:]
    if len(token) >= 6 and token[0] == token[1] == token[2]:
        return token[3:-3], raw, True
    return token[1:-1], raw, False


def unescape(content: str) -> str:
    """Escapes as in Python. Raises LiteralError for one that is cut short or names no character."""
    return _ESCAPE.sub(_unescape_one, content)


def _unescape_one(found: re.Match[str]) -> str:
    octal, byte, short, long, name, other = found.groups()
    if octal is not None:
        return chr(int(octal, 8))
    if name is not None:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            raise LiteralError("invalid string syntax") from None
    digits = byte or short or long
    if digits is not None:
        point = int(digits, 16)
        if 0xD800 <= point <= 0xDFFF:
            return "\ufffd"
        if point > 0x10FFFF:
            raise LiteralError("invalid string syntax")
        return chr(point)
    if other is None or other in "xuUN":
        raise LiteralError("invalid string syntax")
    return _SIMPLE.get(other, "\\" + other)


def dedent(content: str) -> str:
    """Take away the blanks all lines begin with; the first line, if empty, goes too.

    Lines of blanks do not count, except the last: where the closing quotes stand is a margin as well.
    """
    margins = [len(margin) for margin in _MARGIN.findall(content)]
    last = content.rpartition("\n")[2]
    if last and not last.strip(" \t"):
        margins.append(len(last))
    margin = min(margins, default=0)
    kept = content.removeprefix("\n")
    return re.sub(rf"^[ \t]{{1,{margin}}}", "", kept, flags=re.MULTILINE) if margin else kept


def integer(token: str) -> tuple[int, str | None]:
    """Value and unit of an integer literal. Raises LiteralError."""
    if token.isdecimal() and token[0] != "0":
        return int(token), None
    found = _INTEGER.fullmatch(token)
    assert found is not None  # the pattern takes anything
    prefix, digits, suffix = found["base"], found["digits"].replace("_", ""), found["suffix"]
    if prefix:
        base = _BASES[prefix[1].lower()]
        return _in_base(found["digits"] + suffix, base), None
    if suffix and suffix not in UNITS:
        raise LiteralError("invalid int binary suffix")
    if len(digits) > 1 and digits[0] == "0" and digits.strip("0"):
        return _in_base(digits[1:], 8), suffix or None  # a leading zero means octal, as in C
    return int(digits), suffix or None


def _in_base(digits: str, base: int) -> int:
    digits = digits.replace("_", "").lower()
    if not digits:
        raise LiteralError("no valid digits found for number")
    if any(digit not in _BASE_DIGITS[base] for digit in digits):
        raise LiteralError(f"invalid digit for a base {base} literal")
    return int(digits, base)
