"""KCL for Pygments, which finds it by the entry point `pygments.lexers`.

Nothing here is loaded by a run, and nothing else here needs Pygments: whoever colours with it has it. A word is
coloured by what stands around it on its line; what a name means only the language server knows. All texts come back
whole: what no program can hold is an error token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
    _TokenType,
)

_NAME = r"\$?[^\W\d]\w*"
_UNIT = r"(?:[numkKMGTP]|[KMGTP]i)"
_STRING = (
    r'"{3}(?:[^"\\]|\\.|"(?!""))*"{3}' + "|" + r"'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"
    r'|"(?!"")(?:[^"\\\r\n]|\\[^\r\n])*"' + "|" + r"'(?!'')(?:[^'\\\r\n]|\\[^\r\n])*'"
)
_PIECE = re.compile(r"(?P<escape>\\(?:.|$))|(?P<value>\$\{[^}]*\})", re.DOTALL)
_TELLING = re.compile(
    r"^(?:schema[ \t]+\w+.*:|import[ \t]+[\w.]+|\w+[ \t]*[:=][ \t]*[\w.]*[ \t]*\{)[ \t]*$", re.MULTILINE
)


def _string(lexer: object, match: re.Match[str]) -> Iterator[tuple[int, _TokenType, str]]:
    """The pieces of a string: its text, escapes, and values that are put into it."""
    text, at = match.group(), 0
    for piece in _PIECE.finditer(text):
        if piece.start() > at:
            yield match.start() + at, String, text[at : piece.start()]
        kind = String.Escape if piece.lastgroup == "escape" else String.Interpol
        yield match.start() + piece.start(), kind, piece.group()
        at = piece.end()
    if at < len(text):
        yield match.start() + at, String, text[at:]


class KclLexer(RegexLexer):
    """KCL, https://www.kcl-lang.io."""

    name = "KCL"
    aliases: ClassVar = ["kcl"]
    filenames: ClassVar = ["*.k", "kcl.mod"]
    mimetypes: ClassVar = ["text/x-kcl"]
    url = "https://www.kcl-lang.io"
    flags = re.DOTALL | re.UNICODE

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"[\s\ufeff\u200e\u200f]+", Whitespace),
            (r"#[^\n]*", Comment.Single),
            (r"\\(?:\r?\n|\Z)", Whitespace),
            (rf"[rR](?:{_STRING})", String.Other),
            (_STRING, _string),
            (
                rf"(import)([ \t]+)(\.*{_NAME}(?:\.{_NAME})*)(?:([ \t]+)(as)([ \t]+)({_NAME}))?",
                bygroups(
                    Keyword.Namespace, Whitespace, Name.Namespace, Whitespace, Keyword.Namespace, Whitespace, Name
                ),
            ),
            (
                rf"(schema|mixin|protocol|rule)([ \t]+)({_NAME})",
                bygroups(Keyword.Declaration, Whitespace, Name.Class),
            ),
            (rf"(type)([ \t]+)({_NAME})(?=[ \t]*=)", bygroups(Keyword.Declaration, Whitespace, Name.Class)),
            (rf"@{_NAME}(?:\.{_NAME})*", Name.Decorator),
            (r"0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+", Number),
            (r"[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9_]+)?|\.[0-9][0-9_]*(?:[eE][-+]?[0-9_]+)?", Number.Float),
            (r"[0-9][0-9_]*[eE][-+]?[0-9_]+", Number.Float),
            (rf"[0-9][0-9_]*(?:{_UNIT}(?!\w))?", Number.Integer),
            (words(("True", "False", "None", "Undefined"), prefix=r"(?<!\.)", suffix=r"\b"), Keyword.Constant),
            (words(("and", "or", "not", "in", "is"), prefix=r"(?<!\.)", suffix=r"\b"), Operator.Word),
            (words(("if", "elif", "else", "for", "lambda", "assert"), r"(?<![.$])", r"\b"), Keyword),
            (r"(?<![.$])(?:check|mixin)\b(?=[ \t]*:?[ \t]*(?:#|\[|\r?\n))", Keyword),
            (rf"(?<![.$])(?:all|any|map|filter)\b(?=[ \t]+{_NAME}(?:[ \t]*,[ \t]*{_NAME})?[ \t]+in\b)", Keyword),
            (words(("str", "int", "float", "bool", "any"), prefix=r"(?<=[:|\[>\s])", suffix=r"\b"), Keyword.Type),
            (rf"({_NAME})(?=[ \t]*(?:\?[ \t]*)?(?::|=(?!=)|\+=|\|=))", Name.Attribute),
            (rf"({_NAME})(?=\()", Name.Function),
            (_NAME, Name),
            (r"\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^<>=!]=|->|\.\.\.|[-+*/%<>=&|^~?@.]", Operator),
            (r"[\[\](){},:;]", Punctuation),
            (r".", Error),
        ]
    }

    @staticmethod
    def analyse_text(text: str) -> float:
        """How sure it is that a text is KCL: other languages have files that end in .k."""
        return 0.4 if _TELLING.search(text) else 0.0
