"""What a token of KCL looks like, and what words mean where they stand.

A token is a tuple `(type, start, end, text)`: tuples are the cheapest thing Python can make, and
there are tens of thousands. `text` is the source text, except that names have lost the `$` that
escapes a keyword.
"""

from __future__ import annotations

import re

from kcl.syntax.tokens import Report, Token

__all__ = ["Report", "Token"]

# Atomic groups and possessive quantifiers keep an unterminated string from being tried in every possible split. Before
# Python 3.11.5 a possessive group forgets alternatives inside of itself (python/cpython#106052): groups are atomic.
TOKEN = re.compile(
    r"""
    (?>(?:[ \t\r\f]+|\\\r?\n|\\\Z)*)
    (?:
      (?P<string>[rR]?(?:
          "{3}(?>(?:[^"\\]++|\\.|"(?!""))*)"{3}
        | '{3}(?>(?:[^'\\]++|\\.|'(?!''))*)'{3}
        | "(?!"")(?>(?:[^"\\\r\n\0]++|\\[^\r\n\0])*)"
        | '(?!'')(?>(?:[^'\\\r\n\0]++|\\[^\r\n\0])*)'
      ))
    | (?P<name>\$?[^\W\d]\w*)
    | (?P<newline>(?:\#[^\n]*)?\n(?>(?:[ \t\r\f]*(?:\#[^\n]*)?\n)*)[ \t\r\f]*)
    | (?P<number>
          0[xX][\w]*|0[bB][\w]*|0[oO][\w]*
        | \d[\d_]*(?:\.(?![.\w]))
        | \d[\d_]*\.\d[\d_]*(?:[eE][+-]?[\d_]*)?
        | \d[\d_]*[eE][+-]?\d[\d_]*
        | \d[\d_]*(?:[^\W\d]\w*)?
      )
    | (?P<operator>
          \*\*=|//=|<<=|>>=|\.\.\.
        | \*\*|//|<<|>>|<=|>=|==|!=|->|\+=|-=|\*=|/=|%=|&=|\|=|\^=|\?\.|\?\[
        | [-+*/%<>=&|^~.,:?@()\[\]{}]
      )
    | (?P<comment>\#[^\n]*)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
BLANK = re.compile(r"(?>(?:[ \t\r\f]+|\\\r?\n|\\\Z)*)")
LEADING = re.compile(r"(?>(?:[ \t\r\f]*(?:#[^\n]*)?\n)*)[ \t\r\f]*")
COMMENT = re.compile(r"#[^\n]*")
WORD = re.compile(r"\w*")
IN_FOLLOWS = re.compile(r"(?:[ \t]+|\\\r?\n)+in\b")
NOT_FOLLOWS = re.compile(r"(?:[ \t]+|\\\r?\n)+not\b")
NAME_FOLLOWS = re.compile(r"[ \t]+[$\w]")
MIXIN_FOLLOWS = re.compile(r"[ \t]*\[|[ \t]+[$\w]")
LOOP_FOLLOWS = re.compile(r"[ \t]+[^\W\d]\w*[ \t]*(?:,|[ \t]in\b)")
BLOCK_FOLLOWS = re.compile(r"[ \t]*:[ \t\r]*(?:#[^\n]*)?\n")
USED_AS_NAME = re.compile(r"\.[^\W\d]|[ \t]*(?:[?:=]|[-+*/%&|^]=)")
INDEX_SIGNATURE = re.compile(r"\[[^\[\]{}\n]*\][ \t]*:")
ARROW_FOLLOWS = re.compile(r"[ \t]*->")
STRING_START = re.compile(r"[rR]?(\"\"\"|'''|\"|')")
EXPONENT = re.compile(r"[\d_]+[eE][+-]?[\d_]+")
REST_OF_LINE = re.compile(r"[^\n]*")

OPERATOR_TYPES = {
    "(": "LPAR",
    ")": "RPAR",
    "[": "LBRACKET",
    "]": "RBRACKET",
    "?[": "QLBRACKET",
    "{": "LBRACE",
    "}": "RBRACE",
    ".": "DOT",
    "?.": "QDOT",
    "...": "ELLIPSIS",
    ",": "COMMA",
    ":": "COLON",
    "?": "QUESTION",
    "@": "AT",
    "->": "ARROW",
    "=": "ASSIGN",
    "+=": "PLUS_ASSIGN",
    "+": "PLUS_MINUS",
    "-": "PLUS_MINUS",
    "~": "TILDE",
    "*": "STAR",
    "**": "DOUBLE_STAR",
    "|": "BAR",
    **dict.fromkeys(["/", "//", "%", "<<", ">>", "^", "&", "==", "!=", "<", "<=", ">", ">="], "OPERATOR"),
    **dict.fromkeys(["-=", "*=", "/=", "//=", "%=", "**=", "<<=", ">>=", "|=", "^=", "&="], "AUG_ASSIGN"),
}
BEFORE_TYPE = frozenset(
    ("COLON", "BAR", "ARROW", "LBRACKET", "SIGNATURE_LBRACKET", "ELLIPSIS", "LBRACE", "LPAR", "COMMA", "AS")
)
HEADERS = frozenset(("SCHEMA", "MIXIN", "PROTOCOL", "RULE"))
CLOSERS = {"(": ")", "[": "]", "?[": "]", "{": "}"}
BRACKETS = frozenset((*CLOSERS, *CLOSERS.values()))
MISMATCH = {
    ")": "error nesting on close paren",
    "]": "mismatched closing delimiter",
    "}": "error nesting on close brace",
}
OPENERS = frozenset(("LPAR", "LBRACKET", "QLBRACKET", "SIGNATURE_LBRACKET", "LBRACE", "PARAMETERS_LBRACE"))

# After one of these a word is an operator, a bracket a call or a subscript.
OPERAND_ENDS = frozenset(("NAME", "CONSTANT", "INT", "FLOAT", "STRING", "RPAR", "RBRACKET", "RBRACE"))
STATEMENT_STARTS = frozenset(("", "NEWLINE", "INDENT", "DEDENT", "BODY_LBRACE"))
BEFORE_LAMBDA_BODY = OPERAND_ENDS | {"LAMBDA"}

ALWAYS = {
    "True": "CONSTANT",
    "False": "CONSTANT",
    "None": "CONSTANT",
    "Undefined": "CONSTANT",
    "if": "IF",
    "elif": "ELIF",
    "else": "ELSE",
    "for": "FOR",
    "lambda": "LAMBDA",
    "not": "NOT",
}
AFTER_OPERAND = {"and": "OPERATOR", "or": "OPERATOR", "is": "OPERATOR", "in": "IN", "as": "AS"}
AT_STATEMENT_START = {
    "import": "IMPORT",
    "type": "TYPE",
    "assert": "ASSERT",
    "schema": "SCHEMA",
    "mixin": "MIXIN",
    "protocol": "PROTOCOL",
    "rule": "RULE",
    "check": "CHECK",
}
QUANTIFIERS = frozenset(("all", "any", "map", "filter"))
WORDS = frozenset((*ALWAYS, *AFTER_OPERAND, *AT_STATEMENT_START, *QUANTIFIERS))
