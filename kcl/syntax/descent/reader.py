"""The position in the tokens, what may be asked of the token there, and how errors are worded."""

from __future__ import annotations

from typing import NoReturn

from kcl.syntax import runs
from kcl.syntax.descent.scanner import scan_lines
from kcl.syntax.literals import LiteralError, dedent, string_parts, unescape, with_line_ends
from kcl.syntax.tokens import Report, Token

MOST_NESTED = 15_000
"""Brackets, blocks and lambdas inside each other; a text that holds more is not read any further."""

_LONGEST_SHOWN = 200

ANY_TYPE = ("any", "bool", "int", "float", "str", "True", "False", "identifier", "literal", "[", "{", ")")
OPERAND = ("identifier", "literal", "(", "[", "{")


class GaveUp(Exception):
    """The text nests too deeply, or holds too many errors to go on; what to say of it has been reported."""


class Reader:
    """A cursor over tokens without comments."""

    def __init__(self, text: str, tokens: list[Token], report: Report, dedents: bool) -> None:
        self.text = text
        self.tokens = tokens
        self.report = report
        self.dedents = dedents
        self.index = 0
        self.token = tokens[0]
        self.before: Token = ("start", tokens[0][1], tokens[0][1], "")
        self._depth = 0

    # ------------------------------------------------------------------ moving

    def bump(self) -> Token:
        """Goes on to the next token and answers the one that was there; the last token is never left."""
        left = self.before = self.token
        if left[0] != "eof":
            self.index = index = self.index + 1
            self.token = self.tokens[index]
        return left

    def expect(self, kind: str) -> Token:
        """Goes on, whatever stands there; says so if it is another kind."""
        if self.token[0] != kind:
            self.missing(kind)
        return self.bump()

    def close(self, kind: str) -> None:
        """Goes on only if `kind` stands there."""
        if self.token[0] == kind:
            self.bump()
        else:
            self.missing(kind)

    def split_run(self) -> None:
        """Puts single tokens in the place of one for lines of plain data, where such lines are something else."""
        kind, start, end, _ = self.token
        if kind in runs.TYPES:
            self.tokens[self.index : self.index + 1] = scan_lines(self.text, self.report, start, end)
            self.token = self.tokens[self.index]

    def skip_newlines(self) -> None:
        if self.token[0] == "newline":
            tokens, index = self.tokens, self.index + 1
            while tokens[index][0] == "newline":
                index += 1
            self.before = tokens[index - 1]
            self.index = index
            self.token = tokens[index]

    def skip_indentation(self) -> None:
        """Past all indents, then past all dedents that stand here."""
        while self.token[0] == "indent":
            self.bump()
        self.skip_dedents()

    def skip_dedents(self) -> None:
        while self.token[0] == "dedent":
            self.bump()

    def stuck(self, index: int) -> bool:
        """Whether nothing has been read since `index`; then the token here is reported and left out."""
        if index != self.index:
            return False
        self.error(self.token, f"expected expression, got {self.shown(self.token)}")
        self.bump()
        return True

    # ------------------------------------------------------------------ asking

    def at_word(self, *words: str) -> bool:
        return self.token[0] == "name" and self.token[3] in words

    def ahead(self, count: int = 1) -> Token | None:
        """The token `count` after this one, None past the last."""
        place = self.index + count
        return self.tokens[place] if place < len(self.tokens) else None

    def ahead_is(self, kind: str, count: int = 1) -> bool:
        token = self.ahead(count)
        return token is not None and token[0] == kind

    def at_block_end(self) -> bool:
        return self.token[0] == "dedent" and not self.token[3]

    # ------------------------------------------------------------------ errors

    def error(self, token: Token, message: str) -> None:
        self.report(token[1], max(token[1], token[2]), message)

    def missing(self, *kinds: str) -> None:
        """Says what could have stood here."""
        wanted = ", ".join(f'"{kind}"' for kind in kinds)
        self.error(self.token, f"expected one of [{wanted}] got {self.shown(self.token)}")

    def unexpected(self) -> None:
        self.error(self.token, f"unexpected token '{self.shown(self.token)}'")

    def check_dedent(self) -> None:
        """Reports and leaves a dedent to a column that no block has."""
        kind, _, _, off = self.token
        if kind == "dedent" and off:
            spaces = "1 space" if off == "1" else f"{off} spaces"
            self.error(
                self.token, f"invalid indentation with {spaces}, try to align indents by adding or removing spaces"
            )
            self.bump()

    def shown(self, token: Token) -> str:
        """As messages name it: names by their kind, literals by their value."""
        kind, _, _, text = token
        match kind:
            case "name":
                return "identifier"
            case "str":
                return shortened(string_value(text, False))
            case "int" | "float" | "!":
                return shortened(text)
            case _:
                return kind

    def enter(self) -> None:
        """Counts a level of nesting; matched by `leave`."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            self._too_deep()

    def leave(self) -> None:
        self._depth -= 1

    def _too_deep(self) -> NoReturn:
        self.error(self.token, f"more than {MOST_NESTED} levels of nesting")
        raise GaveUp


def shortened(text: str) -> str:
    """`text` as a message can hold it."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def string_value(written: str, dedents: bool) -> str:
    """The value of a string as written with its quotes, whose escapes are known to be right."""
    content, raw, triple = string_parts(written)
    content = with_line_ends(content)
    if not raw and "\\" in content:
        try:
            content = unescape(content)
        except LiteralError:
            return ""
    return dedent(content) if triple and dedents else content
