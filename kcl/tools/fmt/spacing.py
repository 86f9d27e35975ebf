"""Blanks between the tokens of one line, by what stands on both sides and which bracket surrounds them.

    f(a=1)    {a = 1}    a[1:2]    {str:int}    {"a": 1}    x - 1    -1    [*a]    lambda x { -x }

The same sign asks for different blanks in different places, so a stack of frames says what each open bracket is: a
call, a subscript, a type, a configuration, the body of a lambda. A bracket belongs to what is before it exactly when an
operand is: this is how the parser reads it too, since blanks mean nothing to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final

from kcl.syntax.tokens import Token


class Kind(IntEnum):
    """What a frame is: a bracket that is open, or a block of lines."""

    GROUP = 0
    CALL = 1
    LIST = 2
    SUBSCRIPT = 3
    PARAMETERS = 4
    CONFIGURATION = 5
    TYPE = 6
    BODY = 7
    """The braces of a lambda."""
    BLOCK = 8
    """Lines below a header that ends in a colon."""


class Frame:
    """A bracket or a block, and what held around it."""

    __slots__ = ("column", "kind", "level", "signature", "typed", "word")

    def __init__(self, kind: Kind, level: int, typed: bool, signature: bool, word: str = "", column: int = 0) -> None:
        self.kind = kind
        self.level = level
        """Of the line that opened it."""
        self.typed = typed
        self.signature = signature
        self.word = word
        """The first word of the header of a block."""
        self.column = column
        """Where the lines of a block began in the text."""


_WORDS: Final = frozenset(
    ("and", "as", "assert", "elif", "else", "for", "if", "import", "in", "is", "lambda", "mixin", "not", "or")
)
"""Words that are no operands: a bracket behind them opens something new."""
_HEADERS: Final = frozenset(("schema", "mixin", "protocol", "rule"))
_AUGMENTED: Final = ("+=", "-=", "*=", "/=", "//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^=")
_BINARY: Final = ("/", "//", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^")


class Spacing:
    """The blanks of the lines of one file, token by token, in order."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.frames: list[Frame] = []
        self.level = 0
        """Of the line; frames that open in it remember it."""
        self.word = ""
        """The text of the token before."""
        self.index = 0
        """The place of the token in the tokens."""
        self._tokens = tokens
        self._tight = True
        """Whether nothing comes between the token before and the next."""
        self._operand = False
        """Whether the token before ends a value."""
        self._typed = False
        """Whether a type is being read."""
        self._signature = False
        """Whether what is read stands between `lambda` and the brace of its body."""
        self._default = False
        """Whether a value is being read in a signature."""
        self._colon = False
        """Whether the line has had the colon before a type."""
        self._header = False
        self._alias = False
        self.blanks: dict[str, Callable[[str], bool]] = self._handlers()
        """For each kind of token, whether a blank comes before it; called with its text, for each token in order."""

    def begin_line(self, token: Token, following: Token) -> None:
        """Begins a line with a token that nothing comes before."""
        self._tight = True
        self._operand = self._colon = self._typed = self._default = False
        is_name = token[0] == "name" and following[0] == "name"
        self._header = is_name and token[3] in _HEADERS
        self._alias = is_name and token[3] == "type"

    def _handlers(self) -> dict[str, Callable[[str], bool]]:
        handlers: dict[str, Callable[[str], bool]] = {
            "name": self._name,
            "str": self._literal,
            "int": self._literal,
            "float": self._literal,
            ",": self._comma,
            ":": self._colon_sign,
            "=": self._equals,
            ".": self._dot,
            "?": self._question,
            "@": self._prefix,
            "...": self._prefix,
            "~": self._prefix,
            "!": self._prefix,
            "$": self._prefix,
            "->": self._arrow,
            "|": self._bar,
            "+": self._sign,
            "-": self._sign,
            "*": self._sign,
            "**": self._sign,
            "(": self._parenthesis,
            "[": self._bracket,
            "{": self._brace,
            ")": self._close,
            "]": self._close,
            "}": self._close,
        }
        handlers.update(dict.fromkeys(_AUGMENTED, self._operator))
        handlers.update(dict.fromkeys(_BINARY, self._operator))
        return handlers

    # ------------------------------------------------------------------ words and literals

    def _name(self, word: str) -> bool:
        tight, self._tight = self._tight, False
        self._operand = True
        if word in _WORDS and self.word != ".":
            self._operand = False
            self._typed = word == "as" or self._is_in(Kind.TYPE)
            if word == "lambda":
                self._signature = True
        return not tight

    def _literal(self, word: str) -> bool:
        tight, self._tight = self._tight, False
        self._operand = True
        return not tight

    # ------------------------------------------------------------------ signs

    def _comma(self, word: str) -> bool:
        self._tight = self._operand = self._default = False
        self._typed = self._is_in(Kind.TYPE)
        return False

    def _colon_sign(self, word: str) -> bool:
        kind = self.frames[-1].kind if self.frames else Kind.BLOCK
        self._tight = kind is Kind.SUBSCRIPT or kind is Kind.TYPE
        self._operand = self._default = False
        if self._signature or kind is Kind.PARAMETERS or kind is Kind.TYPE:
            self._typed = True
        elif (kind is Kind.BLOCK or kind is Kind.BODY) and not self._colon:
            self._typed = self._colon = True
        return False

    def _equals(self, word: str) -> bool:
        is_keyword = not self._signature and self._is_in(Kind.CALL)
        self._tight = is_keyword
        self._operand = False
        self._default = self._signature
        self._typed, self._alias = self._alias, False
        return not is_keyword

    def _dot(self, word: str) -> bool:
        self._tight = True
        return self.word == "import"

    def _question(self, word: str) -> bool:
        self._tight = True
        return False

    def _prefix(self, word: str) -> bool:
        tight, self._tight = self._tight, True
        self._operand = False
        return not tight

    def _arrow(self, word: str) -> bool:
        self._tight = self._operand = self._default = False
        self._typed = True
        return True

    def _bar(self, word: str) -> bool:
        self._tight = self._operand = False
        return True

    def _sign(self, word: str) -> bool:
        """One with two meanings: behind an operand it has two sides, else it belongs to what follows."""
        tight, self._tight = self._tight, not self._operand
        self._operand = self._typed = False
        return not tight

    def _operator(self, word: str) -> bool:
        self._tight = self._operand = self._typed = False
        return True

    # ------------------------------------------------------------------ brackets

    def _parenthesis(self, word: str) -> bool:
        is_apart = not (self._tight or self._operand)
        self._open(Kind.TYPE if self._typed else Kind.CALL if self._operand else Kind.GROUP)
        return is_apart

    def _bracket(self, word: str) -> bool:
        is_apart = not (self._tight or self._operand)
        if not self._operand:
            kind = Kind.TYPE if self._typed else Kind.LIST
        else:
            kind = Kind.PARAMETERS if self._header and not self._is_in(Kind.PARAMETERS) else Kind.SUBSCRIPT
        self._open(kind)
        return is_apart

    def _brace(self, word: str) -> bool:
        is_apart = not self._tight
        kind = Kind.CONFIGURATION
        if self._typed and not self._operand:
            kind = Kind.TYPE
        elif self._signature:
            kind = self._brace_in_signature()
            if kind is Kind.BODY:
                self._signature = self._typed = False
        self._open(kind)
        self._tight = kind is not Kind.BODY
        return is_apart

    def _brace_in_signature(self) -> Kind:
        if self._default and (not self._operand or self.word == ")" or self.word.isidentifier()):
            return Kind.CONFIGURATION
        if self.word == "lambda" and self._closes_before_arrow():
            return Kind.PARAMETERS
        return Kind.BODY

    def _closes_before_arrow(self) -> bool:
        depth = 0
        for place in range(self.index, len(self._tokens) - 1):
            kind = self._tokens[place][0]
            depth += (kind == "{") - (kind == "}")
            if depth == 0:
                return self._tokens[place + 1][0] == "->"
        return False

    def _open(self, kind: Kind) -> None:
        self.frames.append(Frame(kind, self.level, self._typed, self._signature))
        self._tight = True
        self._typed = kind is Kind.TYPE
        self._operand = self._signature = self._default = False

    def _close(self, word: str) -> bool:
        frame = self.frames.pop()
        while frame.kind is Kind.BLOCK:
            frame = self.frames.pop()
        self._typed, self._signature = frame.typed, frame.signature
        self._tight = False
        self._operand = True
        return frame.kind is Kind.BODY and self.word != "{"

    def _is_in(self, kind: Kind) -> bool:
        return bool(self.frames) and self.frames[-1].kind is kind
