"""Going on after an error: which tokens to leave out so that the rest can still be read.

The smallest statement around the error goes, together with the block it heads, and the file is
parsed again from the statement of the file it stood in. Where a statement was complete before the
error, it stays, and only what follows it on its line goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcl.syntax.lexer import Token

_BRACKETS = ("LPAR", "LBRACKET", "QLBRACKET", "SIGNATURE_LBRACKET", "LBRACE", "PARAMETERS_LBRACE")
_OPENS = frozenset((*_BRACKETS, "BODY_LBRACE", "QUANTIFIER_LBRACE", "INDENT"))
_CLOSES = frozenset(("RPAR", "RBRACKET", "RBRACE", "DEDENT"))
_NOT_STARTING = frozenset(("INDENT", "DEDENT", "NEWLINE", "ELIF", "ELSE", "RPAR", "RBRACKET", "RBRACE"))
_STARTING = frozenset(("NAME", "CONSTANT", "INT", "FLOAT", "STRING", "LAMBDA", "QUANTIFIER", "LBRACE", "LBRACKET"))


@dataclass(slots=True)
class _Block:
    """A run of statements: a file, an indented block, a lambda's body. `start` is where its present one begins."""

    depth: int
    start: int


def statement_of_file(tokens: Sequence[Token], index: int, text: str) -> int:
    """The number of the token that begins the statement of the file in which `tokens[index]` stands."""
    for number in range(index, 0, -1):
        if _begins_statement_of_file(tokens, number, text):
            return number
    return 0


def next_statement_of_file(tokens: Sequence[Token], index: int, text: str) -> int:
    """The number of the next token after `index` that begins a statement of the file, else of the last."""
    for number in range(index + 1, len(tokens) - 1):
        if _begins_statement_of_file(tokens, number, text):
            return number
    return len(tokens) - 1


def _begins_statement_of_file(tokens: Sequence[Token], number: int, text: str) -> bool:
    token_type, start, _, _ = tokens[number]
    in_first_column = start == 0 or text[start - 1] == "\n"
    return in_first_column and tokens[number - 1][0] in ("NEWLINE", "DEDENT") and token_type not in _NOT_STARTING


def without_error(tokens: Sequence[Token], first: int, index: int, accepted: frozenset[str]) -> list[Token] | None:
    """`tokens` without what is broken at `index`; None if nothing less than the statement from `first` would do.

    `accepted` are the types of the tokens that could have stood there.
    """
    block, depth = _innermost_block(tokens, first, index)
    end = _end_of_line(tokens, index, depth, block.depth)
    token = tokens[index]
    if "NEWLINE" in accepted and depth == block.depth and index > block.start:
        # The statement was complete. A sign that can begin none may only separate it from another.
        resume = end if token[0] in _STARTING else index + 1
        if resume >= len(tokens):
            return None
        if tokens[resume][0] != "NEWLINE":
            return [*tokens[:index], ("NEWLINE", token[1], token[1], ""), *tokens[resume:]]
        return [*tokens[:index], *tokens[resume:]]
    end = _end_of_statement(tokens, end)
    if block.start <= first or end <= index:
        return None
    return [*tokens[: block.start], *tokens[end:]]


def _innermost_block(tokens: Sequence[Token], first: int, index: int) -> tuple[_Block, int]:
    """The run of statements that `tokens[index]` stands in, and how deep in brackets and blocks it stands."""
    blocks = [_Block(0, first)]
    depth = 0
    for number in range(first, index):
        token_type = tokens[number][0]
        if token_type in _OPENS:
            depth += 1
            if token_type == "BODY_LBRACE" or (token_type == "INDENT" and tokens[number - 1][0] == "NEWLINE"):
                blocks.append(_Block(depth, number + 1))
        elif token_type in _CLOSES:
            depth = max(depth - 1, 0)
            while blocks[-1].depth > depth:
                blocks.pop()
            if token_type == "DEDENT" and blocks[-1].depth == depth and tokens[number + 1][0] not in ("ELIF", "ELSE"):
                blocks[-1].start = number + 1
        elif token_type == "NEWLINE" and depth == blocks[-1].depth and tokens[number + 1][0] not in _NOT_STARTING:
            blocks[-1].start = number + 1
    return blocks[-1], depth


def _end_of_line(tokens: Sequence[Token], index: int, depth: int, block_depth: int) -> int:
    """The number of the token that ends the line of `index`: its NEWLINE, or what closes the block."""
    for number in range(index, len(tokens) - 1):
        token_type = tokens[number][0]
        if token_type in _OPENS:
            depth += 1
        elif token_type in _CLOSES:
            if depth == block_depth:
                if token_type in ("DEDENT", "RBRACE"):
                    return number
                continue
            depth -= 1
        elif token_type == "NEWLINE" and depth == block_depth:
            return number
    return len(tokens) - 1


def _end_of_statement(tokens: Sequence[Token], end: int) -> int:
    """Where to go on after the statement whose first line ends at `end`: past its blocks, and its elif and else."""
    while tokens[end][0] == "NEWLINE":
        end += 1
        if tokens[end][0] == "INDENT":
            depth = 1
            while depth and end < len(tokens) - 2:
                end += 1
                depth += (tokens[end][0] == "INDENT") - (tokens[end][0] == "DEDENT")
            end += 1
        if tokens[end][0] not in ("ELIF", "ELSE"):
            break
        while tokens[end][0] not in ("NEWLINE", "$END"):
            end += 1
    return end
