"""Text to tokens as the official scanner cuts it.

A token is a tuple `(kind, start, end, text)` as in kcl/syntax/tokens.py. Kinds: `name` (keywords too, and with the `$`
that escapes one), `int`, `float`, `str`, `comment`, `newline`, `indent`, `dedent` (with the number of blanks it is off
as text, "" for none), `eof`, and for signs the sign itself. Every line end is a token, every change of indentation too,
whatever brackets are open.
"""

from __future__ import annotations

import re

from kcl.syntax.literals import UNITS, LiteralError, unescape
from kcl.syntax.tokens import Report, Token

_SIGN = re.compile(
    r"\*\*=|//=|<<=|>>=|\.\.\.|\*\*|//|<<|>>|<=|>=|==|!=|\+=|-=|\*=|/=|%=|&=|\|=|\^=|[-+*/%<>=&|^~.,:?@$()\[\]{}]"
)
_NAME = re.compile(r"\$?[^\W\d]\w*")
_DIGITS = re.compile(r"[0-9_]*")
_HEX_DIGITS = re.compile(r"[0-9a-fA-F_]*")
_EXPONENT = re.compile(r"[-+]?[0-9_]*")
_COMMENT = re.compile(r"#[^\n]*")
_SUFFIX = re.compile(r"[^\W\d]\w*")
_BLANKS = frozenset("\v\f\r\u0085\u200e\u200f\u2028\u2029")
_OPENING = {"(": ")", "[": "]", "{": "}"}
_NESTING = {
    ")": "error nesting on close paren",
    "]": "mismatched closing delimiter",
    "}": "error nesting on close brace",
}
_BASES = {"b": (2, "01", "binary"), "o": (8, "01234567", "octal"), "x": (16, "0123456789abcdef", "hexadecimal")}

_Level = tuple[int, int]


def scan(text: str, report: Report, start: int = 0, end: int | None = None) -> list[Token]:
    """The tokens of `text[start:end]`, comments too; the last is `eof`."""
    return _Scanner(text, report, start, len(text) if end is None else end).run()


class _Scanner:
    def __init__(self, text: str, report: Report, start: int, end: int) -> None:
        self._text = text
        self._report = report
        self._at = start
        self._end = end
        self._tokens: list[Token] = []
        self._open: list[str] = []
        self._levels: list[_Level] = [(0, 0)]
        self._level: _Level = (0, 0)
        self._line_begins = False

    def run(self) -> list[Token]:
        if self._at == 0 and self._peek() == "\ufeff":
            self._at = 1
        while self._at < self._end:
            laid_out = self._lay_out(self._text[self._at])
            found = self._token()
            if found is not None:
                self._tokens += laid_out
                self._tokens.append(found)
        end = self._end
        if not self._line_begins:
            self._tokens.append(("newline", end, end, ""))
        self._tokens += [("dedent", end, end, "")] * (len(self._levels) - 1)
        self._tokens.append(("eof", end, end, ""))
        return self._tokens

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._text[place] if place < self._end else "\0"

    # ------------------------------------------------------------------ indentation

    def _lay_out(self, character: str) -> list[Token]:
        if not self._line_begins:
            return []
        tabs, spaces = self._level
        if character == " ":
            self._level = (tabs, spaces + 1)
        elif character == "\t":
            self._level = (tabs + 1, spaces)
        elif character == "#" or character == "\n" or (character == "\r" and self._peek(1) == "\n"):
            self._level = (0, 0)
        else:
            self._line_begins = False
            self._level = (0, 0)
            return self._indent((tabs, spaces))
        return []

    def _indent(self, level: _Level) -> list[Token]:
        at, levels = self._at, self._levels
        order = _order(level, levels[-1])
        if order is None:
            return self._inconsistent([])
        if order > 0:
            levels.append(level)
            return [("indent", at, at, "")]
        dedents: list[Token] = []
        left: list[_Level] = []
        while order < 0:
            left.append(levels.pop())
            dedents.append(("dedent", at, at, ""))
            order = _order(level, levels[-1])
            if order is None:
                return self._inconsistent(dedents)
            if order > 0:
                off = level[1] - levels[-1][1]
                levels.append(left.pop())
                dedents[-1] = ("dedent", at, at, str(off) if off else "")
                break
        return dedents

    def _inconsistent(self, dedents: list[Token]) -> list[Token]:
        self._report(self._at, self._at, "inconsistent use of tabs and spaces in indentation")
        return dedents

    # ------------------------------------------------------------------ tokens

    def _token(self) -> Token | None:
        """The token at the present place, which is left behind; None for what is none."""
        text, start = self._text, self._at
        character = text[start]
        if character == "\n" or (character == "\r" and self._peek(1) == "\n"):
            self._at = start + (1 if character == "\n" else 2)
            self._line_begins = True
            return ("newline", start, self._at, "\n")
        if character == " " or character == "\t" or character in _BLANKS:
            self._at += 1
            return None
        if character == "#":
            return self._matched("comment", _COMMENT)
        if character in "'\"" or (character in "rR" and self._peek(1) in ("'", '"')):
            return self._string(start)
        found = _NAME.match(text, start, self._end)
        if found:
            return self._matched("name", _NAME)
        if character in "0123456789":
            return self._number(start)
        found = _SIGN.match(text, start, self._end)
        if found:
            self._at = found.end()
            return self._sign(found[0], start)
        return self._unknown(character, start)

    def _matched(self, kind: str, pattern: re.Pattern[str]) -> Token:
        found = pattern.match(self._text, self._at, self._end)
        assert found is not None  # the caller has seen its first character
        self._at = found.end()
        return (kind, found.start(), found.end(), found[0])

    def _sign(self, sign: str, start: int) -> Token:
        if sign in _OPENING:
            self._open.append(_OPENING[sign])
        elif sign in _NESTING:
            due = self._open.pop() if self._open else None
            if due != sign:
                self._report(start, self._at, _NESTING[sign])
                sign = due or sign  # read as the one that was due
        elif sign == ">" and self._tokens and self._tokens[-1][0] == "-":
            self._tokens.pop()
            return ("->", start - 1, self._at, "->")
        return (sign, start, self._at, sign)

    def _unknown(self, character: str, start: int) -> Token | None:
        self._at += 1
        match character:
            case ";":
                self._report(start, self._at, "the semicolon ';' here is unnecessary, please remove it")
            case "!":
                self._report(start, self._at, "invalid token '!', consider using 'not '")
                return ("!", start, self._at, "not")
            case "\\":
                following = self._peek()
                if following == "\n" or (following == "\r" and self._peek(1) == "\n"):
                    self._at += 1 if following == "\n" else 2
                elif self._at < self._end:
                    self._report(start, self._at, "unexpected character after line continuation character")
            case _:
                self._report(start, self._at, "unknown start of token")
        return None

    # ------------------------------------------------------------------ strings

    def _string(self, start: int) -> Token:
        text, end = self._text, self._end
        at = start + (text[start] in "rR")
        quote = text[at]
        quoted = at
        triple = text.startswith(quote * 3, at) and at + 3 <= end
        at += 3 if triple else 1
        closing = quote * 3 if triple else quote
        terminated = False
        while at < end:
            character = text[at]
            at += 1
            if character == "\\" and at < end and text[at] in ("\\", quote):
                at += 1
            elif character == quote:
                if not triple:
                    terminated = True
                    break
                if text.startswith(closing, at - 1) and at + 2 <= end:
                    at += 2
                    terminated = True
                    break
            elif not triple and (at >= end or text[at] in "\r\n\0"):
                break
        self._at = at
        opening = text[start : quoted + (3 if triple and terminated else 1)]
        if not terminated:
            self._report(quoted, at, "unterminated string")
        content = text[start + len(opening) : at - (len(closing) if terminated else 0)]
        raw = quoted > start
        if ("\n" in content and not (triple and terminated)) or not _can_be_unescaped(content, raw):
            self._report(start + len(opening), at, "invalid string syntax")
            return ("str", start, at, quote * 2)
        return ("str", start, at, f"{opening}{content}{quote * len(opening.lstrip('rR'))}")

    # ------------------------------------------------------------------ numbers

    def _number(self, start: int) -> Token:
        self._at += 1
        base = "" if self._text[start] != "0" else self._peek()
        if base in ("b", "o", "x") or base.isdecimal():
            self._at += 1
            digits = self._skip(_HEX_DIGITS if base == "x" else _DIGITS)
            if not digits.strip("_"):
                self._skip_suffix()
                self._report(start, self._at, "no valid digits found for number")
                return ("int", start, self._at, "0")
            base = "o" if base.isdecimal() else base
        else:
            base = ""
            self._skip(_DIGITS)
        after = self._peek(1)
        if self._peek() == "." and after != "." and not _SUFFIX.match(after):
            self._at += 1
            if self._peek() in "0123456789":
                self._skip(_DIGITS)
                if self._peek() in "eE":
                    self._at += 1
                    return self._float(start, base, self._skip(_EXPONENT))
            return self._float(start, base, "0")
        if self._peek() in "eE":
            self._at += 1
            return self._float(start, base, self._skip(_EXPONENT))
        written = self._text[start : self._at]
        if base and not self._has_base(start, written[2:], base):
            written = "0"
        suffix = self._skip_suffix()
        if suffix and suffix not in UNITS:
            self._report(start, self._at, "invalid int binary suffix")
            suffix = ""
        return ("int", start, self._at, written + suffix)

    def _has_base(self, start: int, digits: str, base: str) -> bool:
        number, allowed, _ = _BASES[base]
        for place, digit in enumerate(digits):
            if digit != "_" and digit.lower() not in allowed:
                self._report(start + 2 + place, self._at, f"invalid digit for a base {number} literal")
                return False
        return True

    def _float(self, start: int, base: str, exponent: str) -> Token:
        written = self._text[start : self._at]
        if not exponent.strip("+-_"):
            self._report(start, self._at, "expected at least one digit in exponent")
            written = "0.0"
        elif base:
            self._report(start, self._at, f"{_BASES[base][2]} float literal is not supported")
            written = "0.0"
        self._skip_suffix()
        return ("float", start, self._at, written)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at, self._end)
        assert found is not None  # matches nothing as well
        self._at = found.end()
        return found[0]

    def _skip_suffix(self) -> str:
        found = _SUFFIX.match(self._text, self._at, self._end)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]


def _can_be_unescaped(content: str, raw: bool) -> bool:
    if raw or "\\" not in content:
        return True
    try:
        unescape(content)
    except LiteralError:
        return False
    return True


def _order(level: _Level, other: _Level) -> int | None:
    """-1, 0, 1 for shallower, as deep, deeper; None when tabs and spaces disagree."""
    tabs = (level[0] > other[0]) - (level[0] < other[0])
    spaces = (level[1] > other[1]) - (level[1] < other[1])
    if not tabs:
        return spaces
    return tabs if spaces in (0, tabs) else None
