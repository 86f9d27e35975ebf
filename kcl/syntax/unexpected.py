"""What to say about a token that cannot stand where it does, in the words of the official compiler."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.syntax.lexer import Token

_SPELLINGS = {
    "NAME": "identifier",
    "INT": "literal",
    "FLOAT": "literal",
    "STRING": "literal",
    "CONSTANT": "identifier",
    "NEWLINE": "newline",
    "SEP": "newline",
    "INDENT": "indent",
    "DEDENT": "dedent",
    "$END": "eof",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACKET": "[",
    "QLBRACKET": "?",
    "SIGNATURE_LBRACKET": "[",
    "RBRACKET": "]",
    "LBRACE": "{",
    "BODY_LBRACE": "{",
    "QUANTIFIER_LBRACE": "{",
    "RBRACE": "}",
    "DOT": ".",
    "QDOT": "?",
    "ELLIPSIS": "...",
    "COMMA": ",",
    "COLON": ":",
    "QUESTION": "?",
    "AT": "@",
    "ARROW": "->",
    "ASSIGN": "=",
    "PLUS_ASSIGN": "+=",
    "IN": "in",
    "ELSE": "else",
    "FOR": "for",
    "IF": "if",
}
_OPERAND = ("identifier", "literal", "(", "[", "{")
# What could also stand there but says little about what is missing.
_CONTINUATIONS = frozenset(
    (
        *("DOT", "QDOT", "LPAR", "LBRACKET", "QLBRACKET", "LBRACE", "IF", "AS", "QUESTION"),
        *("OPERATOR", "PLUS_MINUS", "STAR", "DOUBLE_STAR", "BAR", "TILDE", "NOT"),
        *("ASSIGN", "PLUS_ASSIGN", "AUG_ASSIGN", "COMMA", "SEP", "FOR"),
    )
)
_TYPE = ("any", "bool", "int", "float", "str", "True", "False", "identifier", "literal", "[", "{", ")")
_EXPRESSION_BODIES = frozenset(("SCHEMA", "MIXIN", "PROTOCOL", "RULE", "CHECK"))


def describe(tokens: Sequence[Token], index: int, accepted: frozenset[str], text: str) -> tuple[int, int, str]:
    """Start, end and message for `tokens[index]`, where only `accepted` token types could have stood."""
    token = tokens[index]
    before = tokens[index - 1] if index else None
    if token[0] == "INDENT" and before is not None:
        if before[0] != "COLON":
            return token[1], token[2], "unexpected token 'indent'"
        token = ("NEWLINE", before[2], before[2], "")  # after `key:`, where no block can follow
    elif token[0] == "NEWLINE" and "RBRACE" in accepted:
        # A configuration may end on the next line: what is wrong is what stands there instead.
        following = (other for other in tokens[index + 1 :] if other[0] not in ("INDENT", "DEDENT"))
        token = next(following, token)
    start, end, got = token[1], token[2], _spelling(token)
    if start and (token[0] == "$END" or (token[0] == "NEWLINE" and text[start - 1] != "\n")):
        start -= 1  # at the last character there is, as the official compiler has it
    wanted = _wanted(accepted)
    if wanted == ("newline",) and before is not None and before[0] != "COLON":
        wanted = ()
    if not wanted and got != "eof" and _in_schema(tokens, index):
        wanted = _OPERAND
    if not wanted:
        return start, end, f"unexpected token '{got}'"
    listed = ", ".join(f'"{word}"' for word in wanted)
    return start, end, f"expected one of [{listed}] got {got}"


def _spelling(token: Token) -> str:
    """As the official compiler names it, for which a keyword is an identifier too."""
    token_type, _, _, text = token
    return "identifier" if text.isalpha() and token_type != "STRING" else _SPELLINGS.get(token_type, text)


def _wanted(accepted: frozenset[str]) -> tuple[str, ...]:
    """What to name as missing; nothing where a statement could also have ended."""
    if {"NAME", "LBRACE"} <= accepted:
        return _OPERAND if "LAMBDA" in accepted else _TYPE
    if "NEWLINE" in accepted and "NAME" not in accepted and len(accepted) > 1:
        return ()
    continuations = set(_CONTINUATIONS)
    if "OPERATOR" in accepted:
        continuations.add("IN")
    if "RBRACKET" in accepted:
        continuations |= {"COLON", "NAME"}
    words = {_SPELLINGS.get(name, name.lower()) for name in accepted - continuations}
    return tuple(sorted(words or {_SPELLINGS.get(name, name.lower()) for name in accepted}))


def _in_schema(tokens: Sequence[Token], index: int) -> bool:
    """Whether the statement of `tokens[index]` stands directly in the body of a schema or rule, or in its checks."""
    depth = 0
    for place in range(index - 1, -1, -1):
        match tokens[place][0]:
            case "DEDENT":
                depth += 1
            case "INDENT" if depth:
                depth -= 1
            case "INDENT":
                return _opens_schema(tokens, place)
    return False


def _opens_schema(tokens: Sequence[Token], indent: int) -> bool:
    """Whether the block that begins at token `indent` is the body of a schema: its header is the line before."""
    place = indent - 2  # the NEWLINE of the header lies between
    while place >= 0 and tokens[place][0] not in ("NEWLINE", "INDENT", "DEDENT"):
        place -= 1
    return tokens[place + 1][0] in _EXPRESSION_BODIES
