"""A text laid out again, and the proof that it says what it said.

The proof is that the result has the tokens of the text: kinds and words, line ends, indents and dedents, since the tree
is made of nothing else (`kcl.syntax.scanned`). Where it has not, as where lines between brackets are indented otherwise
- there that means nothing -, it is parsed and the trees are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kcl.collection import paused
from kcl.diagnostics import Diagnostic
from kcl.records import dataclass, fields, is_dataclass
from kcl.source import SourceFile
from kcl.syntax import ast, parse_with_tokens, scanned
from kcl.syntax.tokens import Token
from kcl.tools.fmt.layout import Edit, edits

_PLACES: Final = frozenset(("start", "end", "name_start", "name_end", "path_start", "path_end"))
_LAYOUT: Final = frozenset(("newline", "indent", "dedent", "eof"))


class Refused(Exception):
    """A text that is left as it is; the message says why."""


class Malformed(Refused):
    """The text has syntax errors, which `diagnostics` tell."""

    def __init__(self, source: SourceFile, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(f"{source.path} has syntax errors")
        self.source = source
        self.diagnostics = tuple(diagnostics)


class Altered(Refused):
    """Laid out the text would say something else: KCL takes layouts in which the level of a line means little."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            f"{path} is left as it is: laid out it would have other {what}; "
            "put closing brackets on lines of their own and try again"
        )


@dataclass(frozen=True, slots=True)
class _Read:
    module: ast.Module
    tokens: list[Token]


def formatted(text: str, path: str = "<text>", lines: tuple[int, int] | None = None) -> str:
    """Returns the text laid out; tokens, comments and tree are those of `text`.

    With `lines`, the first and the last of them counted from 1, only the statements of the file that these lines are
    part of, as a whole: half of a block can't have another indentation than the rest.

    Raises `Malformed` for syntax errors, and `Altered` where the layout can't be had without changing what is said.
    """
    return _applied(text, changes(text, path, lines))


def changes(text: str, path: str = "<text>", lines: tuple[int, int] | None = None) -> list[Edit]:
    """As `formatted`, but what of the white space has to be replaced for it, in order; nothing where all is well."""
    with paused():
        read = _read(text, path)
        found = edits(text, read.tokens, read.module.comments)
        if lines is not None:
            start, end = _widened(read.module, *_characters(text, path, lines))
            found = [edit for edit in found if start <= edit[0] and edit[1] <= end]
        if found:
            made = _applied(text, found)
            if not _has_tokens_of(read, text, made):
                _prove(read, text, made, path)
        return found


def _characters(text: str, path: str, lines: tuple[int, int]) -> tuple[int, int]:
    """Where the first line begins and the last one ends."""
    source = SourceFile(path, text)
    first, last = lines
    start = source.offset(first)
    end = text.find("\n", source.offset(last))
    return start, len(text) if end < 0 else end


def _widened(module: ast.Module, start: int, end: int) -> tuple[int, int]:
    """The place from `start` to `end` with all of the statements that it holds a part of."""
    first, last = start, end
    for statement in module.body:
        decorators = statement.decorators if isinstance(statement, (ast.Schema, ast.Rule)) else []
        begins = min([statement.start, *(each.start for each in decorators)])
        if begins < end and statement.end > start:
            first, last = min(first, begins), max(last, statement.end)
    return first, last


def _read(text: str, path: str) -> _Read:
    source = SourceFile(path, text)
    parsed, tokens = parse_with_tokens(source)
    if parsed.diagnostics:
        raise Malformed(source, parsed.diagnostics)
    return _Read(parsed.module, tokens)


def _has_tokens_of(read: _Read, text: str, made: str) -> bool:
    """Whether a text that was made has the tokens and comments of the one that was read."""
    again = scanned(made)
    if again is None:
        return False
    tokens, comments = again
    return (
        _kinds(tokens) == _kinds(read.tokens)
        and _said(tokens) == _said(read.tokens)
        and [each.text for each in comments] == [each.text for each in read.module.comments]
        and _begins_in_first_line(tokens, made) == _begins_in_first_line(read.tokens, text)
    )


def _kinds(tokens: Sequence[Token]) -> str:
    """The kinds of tokens; of line ends that follow each other one."""
    found = " ".join([each[0] for each in tokens])
    while "newline newline" in found:
        found = found.replace("newline newline", "newline")
    return found


def _said(tokens: Sequence[Token]) -> list[str]:
    return [each[3] for each in tokens if each[0] != "newline"]


def _begins_in_first_line(tokens: Sequence[Token], text: str) -> bool:
    return "\n" not in text[: next(start for kind, start, _, _ in tokens if kind not in ("newline", "indent"))]


def _prove(read: _Read, text: str, made: str, path: str) -> None:
    """Raises `Altered` unless the text that was made says what the text says that was read."""
    try:
        again = _read(made, path)
    except Malformed:
        raise Altered(path, "syntax") from None
    if _words(text, read.tokens) != _words(made, again.tokens):
        raise Altered(path, "tokens")
    if [each.text for each in read.module.comments] != [each.text for each in again.module.comments]:
        raise Altered(path, "comments")
    if not _is_same(read.module, again.module):
        raise Altered(path, "meaning")


def _applied(text: str, found: Sequence[Edit]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, instead in found:
        parts += (text[at:start], instead)
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _words(text: str, tokens: Sequence[Token]) -> list[str]:
    return [text[start:end] for kind, start, end, _ in tokens if kind not in _LAYOUT]


def _is_same(before: Any, after: Any) -> bool:
    """Whether two trees differ at most in where things stand."""
    pairs = [(before, after)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, (list, tuple)):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, ast.Comment):
            continue
        elif is_dataclass(one):
            pairs.extend((getattr(one, name), getattr(other, name)) for name in _meaning(type(one)))
        elif one != other:
            return False
    return True


_MEANING: dict[type, tuple[str, ...]] = {}


def _meaning(of: type) -> tuple[str, ...]:
    """The fields of a class of nodes that are no places."""
    known = _MEANING.get(of)
    if known is None:
        known = _MEANING[of] = tuple(each.name for each in fields(of) if each.name not in _PLACES)
    return known
