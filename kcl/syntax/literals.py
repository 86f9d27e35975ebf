"""What literals mean: escapes and dedent in strings, bases and units in numbers."""

from __future__ import annotations

import re
import unicodedata

from kcl.patterns import pattern

UNITS = frozenset(("n", "u", "m", "k", "K", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"))

_ESCAPE = pattern(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]*)\}|(.)|$)", re.DOTALL
)
_BLANKS = " \t"
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
_INTEGER = pattern(
    r"0x[\da-fA-F_]*|(?:0b[01_]+|0o[0-7_]+|0[0-7_][0-7_]+|0|[1-9][0-9_]*)(?:n|u|m|k|Ki?|Mi?|Gi?|Ti?|Pi?)?", re.ASCII
)
_BASES = {"x": (16, 2), "X": (16, 2), "b": (2, 2), "B": (2, 2), "o": (8, 2), "O": (8, 2)}
_WORD = 1 << 64


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


def with_line_ends(content: str) -> str:
    """Content as the language has it: a line ends by `\\n`, however the file writes it, so that a program says the same
    on every system."""
    return content.replace("\r\n", "\n") if "\r" in content else content


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
    lines = content.split("\n")
    margins = [len(line) - len(rest) for line in lines if (rest := line.lstrip(_BLANKS)) and not rest[0].isspace()]
    last = lines[-1]
    if last and not last.strip(_BLANKS):
        margins.append(len(last))
    margin = min(margins, default=0)
    if not margin:
        return content.removeprefix("\n")
    if not lines[0] and len(lines) > 1:
        del lines[0]
    usual = " " * margin
    return "\n".join(
        [line[margin:] if line.startswith(usual) else line[:margin].lstrip(_BLANKS) + line[margin:] for line in lines]
    )


def integer(token: str) -> tuple[int, str | None]:
    """Value and unit of an integer literal. Raises LiteralError for one that is not written as it should be."""
    if len(token) < 19 and token.isascii() and token.isdecimal() and token[0] != "0":
        return int(token), None
    if not _INTEGER.fullmatch(token):
        raise LiteralError("invalid int literal")
    value, suffix = wide_integer(token)
    if value is None:
        raise LiteralError(f'expected one of ["int"] got {token}')
    return value, suffix


def wide_integer(written: str) -> tuple[int | None, str | None]:
    """Value and unit of an integer literal; the value is None where the digits are too many or stand wrong."""
    suffix = None
    if written[1:2] not in ("x", "X"):
        digits = written.rstrip("numkKMGTPi")
        if digits != written and written[len(digits) :] in UNITS:
            suffix = written[len(digits) :]
            written = digits
    return _digits_value(written), suffix


def _digits_value(written: str) -> int | None:
    base = 10
    if written[0] == "0" and len(written) > 1:
        base, length = _BASES.get(written[1], (8, 1))  # a leading zero means octal, as in C
        written = written[length:].removeprefix("_")
    if not written or "__" in written or written[-1] == "_" or written[0] == "_":
        return None
    significant = written.replace("_", "").lstrip("0")
    if len(significant) > 64:
        return None
    try:
        value = int(significant, base) if significant else 0
    except ValueError:
        return None
    if value >= _WORD:
        return None
    # The official parser keeps the 64 bits as they are, which makes the upper half negative.
    return value - _WORD if value >= _WORD // 2 else value


def decimal(written: str) -> float | None:
    """The value of a float literal; None where it has separators, which only integers may have."""
    try:
        return None if "_" in written else float(written)
    except ValueError:
        return None
