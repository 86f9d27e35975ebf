"""Text to tokens as the official scanner cuts it.

A token is a tuple `(kind, start, end, text)`: tuples are the cheapest thing Python can make, and there are tens of
thousands. Kinds: `name` (keywords too, and with the `$` that escapes one), `int`, `float`, `str`, `newline`, `indent`,
`dedent` (with the number of blanks it is off as text, "" for none), `eof`, for signs the sign itself, and `entries` and
`items` for lines of plain data (kcl/syntax/runs.py).

The scanner knows nothing of what surrounds a token: a keyword is a name, and every line end is a token, whatever
brackets are open. Layout follows the offside rule, here too whatever brackets are open. A stack holds the indentations
of the blocks a line stands in, from the outermost to its own; each is a pair of tabs and spaces, since their widths
cannot be compared. When a line begins with something, that is with neither a comment nor another line end, its
indentation is held against the top of the stack:

* as deep: nothing happens;
* deeper: it is pushed, and an `indent` comes before the token;
* shallower: levels are popped, a `dedent` for each, until one is as deep as the line. Where the line stands between
  two levels, the deeper of them stays, and the last `dedent` tells by how much it is off; the parser says so where it
  meets one;
* deeper in one of tabs and spaces and shallower in the other: an error.

What a line end, an indent or a dedent means between brackets the parser decides, which knows what it reads.

Nearly all text is made of a few kinds of tokens, written in the usual way: one pattern, `_USUAL`, finds those. What it
does not match is looked at character by character, by rules that are the official scanner's, mistakes included.
"""

from __future__ import annotations

import re

from kcl.patterns import pattern
from kcl.syntax import runs
from kcl.syntax.ast import Comment
from kcl.syntax.literals import UNITS, LiteralError, string_parts, unescape
from kcl.syntax.tokens import Report, Token

# Groups are atomic and not possessive: before Python 3.11.5 those forget alternatives (python/cpython#106052).
_USUAL = pattern(
    r"""
    [ \t]*+
    (?:
      (?P<name>(?![rR]["'])\$?[^\W\d]\w*+)
    | (?P<newline>\r?\n(?>(?:[ \t]*+(?:\#[^\n]*+)?\r?\n)*)[ \t]*+)
    | (?P<sign>
          \*\*=|//=|<<=|>>=|\.\.\.
        | \*\*|//|<<|>>|<=|>=|==|!=|->(?![>=])|\+=|-=|\*=|/=|%=|&=|\|=|\^=
        | [-+*/%<>=&|^~.,:?@$()\[\]{}]
      )
    | (?P<str>[rR]?(?:
          "{3}(?>(?:[^"\\]++|"(?!""))*)"{3} | "(?!"")[^"\\\r\n\0]*+"
        | '{3}(?>(?:[^'\\]++|'(?!''))*)'{3} | '(?!'')[^'\\\r\n\0]*+'
      ))
    | (?P<escaped>[rR]?(?:
          "{3}(?>(?:[^"\\]++|\\.|"(?!""))*)"{3} | "(?!"")(?>(?:[^"\\\r\n\0]++|\\[^\r\n\0])*)"
        | '{3}(?>(?:[^'\\]++|\\.|'(?!''))*)'{3} | '(?!'')(?>(?:[^'\\\r\n\0]++|\\[^\r\n\0])*)'
      ))
    | (?P<float>[0-9]++\.[0-9]++(?![\w.]))
    | (?P<int>(?:0|[1-9][0-9]*+)(?![\w.]))
    | (?P<comment>\#[^\n]*+)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_LINE_END = pattern(r"(?P<comment>#[^\n]*)|(?P<newline>\r?\n)")
_DIGITS = pattern(r"[0-9_]*")
_HEX_DIGITS = pattern(r"[0-9a-fA-F_]*")
_EXPONENT = pattern(r"[-+]?[0-9_]*")
_SUFFIX = pattern(r"[^\W\d]\w*")
_BLANKS = frozenset("\v\f\r\u0085\u200e\u200f\u2028\u2029")
_OPENING = {"(": ")", "[": "]", "{": "}"}
_NESTING = {
    ")": "error nesting on close paren",
    "]": "mismatched closing delimiter",
    "}": "error nesting on close brace",
}
_BRACKETS = frozenset((*_OPENING, *_NESTING))
_RUNS = {"{": runs.ENTRIES, "[": runs.ITEMS}
_BASES = {"b": (2, "01", "binary"), "o": (8, "01234567", "octal"), "x": (16, "0123456789abcdef", "hexadecimal")}

_Level = tuple[int, int]


def scan(text: str, report: Report, comments: list[Comment], *, with_runs: bool) -> list[Token]:
    """The tokens of a file; the last is `eof`. Comments are appended to `comments`."""
    return _Scanner(text, report, comments, 0, len(text), with_runs).run()


def scan_part(text: str, report: Report, start: int, end: int) -> list[Token]:
    """The tokens of `text[start:end]`, comments among them as tokens of the kind `comment`."""
    return _Scanner(text, report, None, start, end, False).run()


def scan_lines(text: str, report: Report, start: int, end: int) -> list[Token]:
    """The tokens of lines of plain data, as `runs` finds them, from their first token to their last."""
    scanner = _Scanner(text, report, None, start, end, False)
    blanks = text[text.rfind("\n", 0, start) + 1 : start]
    tabs = blanks.count("\t")
    scanner._levels = [(tabs, len(blanks) - tabs)]
    return scanner.run()[:-2]  # without the line end and the end of the text


class _Scanner:
    def __init__(
        self, text: str, report: Report, comments: list[Comment] | None, start: int, end: int, with_runs: bool
    ) -> None:
        self._text = text
        self._report = report
        self._comments = comments
        self._at = start
        self._end = end
        self._with_runs = with_runs
        self._tokens: list[Token] = []
        # What closes the brackets that are open, and what lines of plain data look like there, if there may be any.
        self._open: list[str] = []
        self._runs: list[runs.Run | None] = [None]
        self._levels: list[_Level] = [(0, 0)]
        self._level: _Level = (0, 0)
        self._line_begins = False

    def run(self) -> list[Token]:
        text, tokens, end, levels = self._text, self._tokens, self._end, self._levels
        match, emit = _USUAL.match, self._tokens.append
        at = self._at
        if at == 0 and text.startswith("\ufeff"):
            at = 1
        while at < end:
            found = match(text, at, end)
            if found is None:
                at = self._unusual(at)
                continue
            kind = found.lastgroup
            word = found[kind]  # type: ignore[index]  # some group always matches
            at = found.end()
            if self._line_begins and kind != "comment":
                start = at - len(word)
                after = self._begin_line(start)
                if after != start:
                    at = after
                    continue
            if kind == "name":
                emit(("name", at - len(word), at, word))
            elif kind == "sign":
                if word in _BRACKETS or word == ">":
                    emit(self._sign(word, at - len(word), at))
                else:
                    emit((word, at - len(word), at, word))
            elif kind == "newline":
                self._end_line(word, at - len(word))
            elif kind == "comment":
                self._comment(word, at - len(word))
            elif kind == "escaped":
                content, raw, _ = string_parts(word)
                if _can_be_unescaped(content, raw):
                    emit(("str", at - len(word), at, word))
                else:
                    self._at = at - len(word)
                    emit(self._string(self._at))
                    at = self._at
            else:
                emit((kind, at - len(word), at, word))  # type: ignore[arg-type]  # a group, as above
        if not self._line_begins:
            tokens.append(("newline", end, end, ""))
        tokens += [("dedent", end, end, "")] * (len(levels) - 1)
        tokens.append(("eof", end, end, ""))
        return tokens

    def _begin_line(self, at: int) -> int:
        """Lay out the line whose first token is at `at`; returns where to go on, there or after lines of plain data."""
        self._line_begins = False
        level = self._level
        if level != self._levels[-1]:
            self._tokens += self._indent(level, at)
        run = self._runs[-1]
        if run is not None and level == self._levels[-1]:
            kind, pattern = run
            lines = pattern.match(self._text, at - level[0] - level[1], self._end)
            if lines is not None:
                self._tokens.append((kind, at, lines.end(), ""))
                return lines.end()
        return at

    def _end_line(self, word: str, start: int) -> None:
        """Line ends with blank lines and lines of comments between them, and the blanks before what follows."""
        last = word.rfind("\n")
        tokens = self._tokens
        if self._with_runs and tokens:
            before = tokens[-1][0]
            if before == "[" or (before == "{" and not self._is_in_line_of_lambda()):
                self._runs[-1] = _RUNS[before]
        if last == 0:
            tokens.append(("newline", start, start + 1, "\n"))
        else:
            for found in _LINE_END.finditer(word, 0, last + 1):
                kind, at = found.lastgroup, start + found.start()
                if kind == "comment":
                    self._comment(found[0], at)
                else:
                    tokens.append(("newline", at, start + found.end(), "\n"))
        self._line_begins = True
        tabs = word.count("\t", last)
        self._level = (tabs, len(word) - last - 1 - tabs)

    def _is_in_line_of_lambda(self) -> bool:
        """Whether the line so far holds a lambda, whose statements may look like entries."""
        for kind, _, _, text in reversed(self._tokens):
            if kind == "newline":
                return False
            if text == "lambda":
                return True
        return False

    def _comment(self, word: str, start: int) -> None:
        if self._comments is None:
            self._tokens.append(("comment", start, start + len(word), word))
        else:
            word = word.rstrip("\r")
            self._comments.append(Comment(start, start + len(word), word))

    def _unusual(self, at: int) -> int:
        """Read one token, blank or mistake at `at` by the careful rules; returns where to go on."""
        self._at = at
        laid_out: list[Token] = []
        if self._line_begins:
            self._line_begins = False
            laid_out = self._indent(self._level, at)
        found = self._token()
        if found is not None:  # else the official scanner loses the indentation with what is no token
            self._tokens += laid_out
            self._tokens.append(found)
        return self._at

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._text[place] if place < self._end else "\0"

    # ------------------------------------------------------------------ indentation

    def _indent(self, level: _Level, at: int) -> list[Token]:
        """The indents and dedents before what begins a line at `at`."""
        levels = self._levels
        order = _order(level, levels[-1])
        if order is None:
            return self._inconsistent([], at)
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
                return self._inconsistent(dedents, at)
            if order > 0:
                off = level[1] - levels[-1][1]
                levels.append(left.pop())
                dedents[-1] = ("dedent", at, at, str(off) if off else "")
                break
        return dedents

    def _inconsistent(self, dedents: list[Token], at: int) -> list[Token]:
        self._report(at, at, "inconsistent use of tabs and spaces in indentation")
        return dedents

    # ------------------------------------------------------------------ tokens

    def _token(self) -> Token | None:
        """The token at the present place, which is left behind; None for what is none."""
        start = self._at
        character = self._text[start]
        if character == " " or character == "\t" or character in _BLANKS:
            self._at += 1
            return None
        if character in "'\"" or (character in "rR" and self._peek(1) in ("'", '"')):
            return self._string(start)
        if character in "0123456789":
            return self._number(start)
        return self._unknown(character, start)

    def _sign(self, sign: str, start: int, end: int) -> Token:
        """The token of a bracket or of `>`."""
        if sign in _OPENING:
            self._open.append(_OPENING[sign])
            self._runs.append(None)
        elif sign in _NESTING:
            due = None
            if self._open:
                due = self._open.pop()
                self._runs.pop()
            if due != sign:
                self._report(start, end, _NESTING[sign])
                sign = due or sign  # read as the one that was due
        elif self._tokens and self._tokens[-1][0] == "-":
            self._tokens.pop()
            return ("->", start - 1, end, "->")
        return (sign, start, end, sign)

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
