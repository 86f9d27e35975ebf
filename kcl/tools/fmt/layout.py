"""White space between the tokens and comments of a file: where it is not what it should be, an edit.

A text is tokens and comments with white space between them. Nothing but this white space is ever replaced, so no token
and no comment can be lost, moved or changed. Where a line ends stays the author's choice, and so does whether one blank
line stands between two lines; what is worked out here is how far each line is indented:

* one level deeper than the line in which the bracket or block that it stands in was opened,
* a line that begins with a closing bracket as deep as the line that opened it,
* a comment as what it stands among: in the block that its column says, where a block ends below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kcl.syntax import ast
from kcl.syntax.tokens import Token
from kcl.tools.fmt.spacing import Frame, Kind, Spacing

Edit = tuple[int, int, str]
"""Start, end and what stands there instead."""

_INDENT: Final = "    "
_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_CLOSING: Final = frozenset(_OPENING)
_OPENED: Final = frozenset(_OPENING.values())
_OF_SCHEMAS: Final = frozenset(("schema", "mixin", "protocol"))
_CONDITIONS: Final = frozenset(("if", "elif"))
_ALTERNATIVES: Final = frozenset(("elif", "else"))
_TRIPLE: Final = frozenset(('"""', "'''"))
_DOCUMENTING: Final = tuple(f"{prefix}{quotes}" for prefix in ("", "r", "R") for quotes in _TRIPLE)


def edits(text: str, tokens: Sequence[Token], comments: Sequence[ast.Comment]) -> list[Edit]:
    """Returns what has to change, in order; the text must have no syntax errors.

    `tokens` are single ones, none for lines of plain data, and end with `eof`.
    """
    return _Layout(text, tokens, comments).run()


class _Layout:
    def __init__(self, text: str, tokens: Sequence[Token], comments: Sequence[ast.Comment]) -> None:
        self._text = text
        self._tokens = tokens
        self._comments = comments
        self._next_comment = 0
        self._spacing = Spacing(tokens)
        self._frames = self._spacing.frames
        first_end = text.find("\n")
        self._line_end = "\r\n" if first_end > 0 and text[first_end - 1] == "\r" else "\n"
        self._at = int(text.startswith("\ufeff"))
        """Where what has been laid out ends."""
        self._column = 0
        """Where the last line of tokens began in the text."""
        self._line_level = 0
        self._line_word = ""
        """What that line began with."""
        self._is_empty = True
        """Whether nothing has been laid out yet."""
        self._is_documented = False
        """Whether that was the documentation of the file, alone."""
        self._opened = False
        """Whether the next line is the first within a bracket or a block."""
        self._due: int | None = None
        """The next line that is no deeper than this level has a blank line before it."""
        self._found: list[Edit] = []

    def run(self) -> list[Edit]:
        text, spacing, blanks = self._text, self._spacing, self._spacing.blanks
        begins, indents, dedents = True, False, 0
        at = self._at
        for index, (kind, start, end, word) in enumerate(self._tokens):
            handler = blanks.get(kind)
            if handler is None:  # nothing that is written
                if kind == "newline":
                    begins = True
                elif kind == "indent":
                    indents = True
                elif kind == "dedent" and not word:
                    dedents += 1
                elif kind == "eof":
                    self._at = at
                    self._end(start, dedents)
                continue
            spacing.index = index
            if begins:
                begins = False
                self._at = at
                self._begin_line(index, indents, dedents)
                indents, dedents = False, 0
                handler(word)
            else:
                wanted = " " if handler(word) else ""
                if text[at:start] != wanted:
                    self._at = at
                    self._within_line(start, wanted)
            spacing.word = word
            at = end
        return self._found

    def _within_line(self, start: int, wanted: str) -> None:
        """White space between two tokens of a line, which may go on behind a line end that a backslash hides."""
        if "\\" in self._text[self._at : start]:
            self._spacing.level = self._line_level + 1
            wanted = f" \\{self._line_end}{_INDENT * self._spacing.level}"
        self._replace(start, wanted)

    def _replace(self, start: int, wanted: str) -> None:
        if self._text[self._at : start] != wanted:
            self._found.append((self._at, start, wanted))

    # ------------------------------------------------------------------ lines

    def _begin_line(self, index: int, indents: bool, dedents: int) -> None:
        """The white space and the comments before the first token of a line."""
        kind, start, _, word = self._tokens[index]
        spacing, frames = self._spacing, self._frames
        has_comments = self._next_comment < len(self._comments) and self._comments[self._next_comment].start < start
        if kind in _CLOSING and spacing.word == _OPENING[kind] and not has_comments:
            self._replace(start, "")  # there is nothing between the two brackets
            return
        if indents and spacing.word == ":":
            frames.append(Frame(Kind.BLOCK, self._line_level, False, False, self._line_word, self._column_of(start)))
        self._opened = spacing.word == ":" or spacing.word in _OPENED
        left = self._left(dedents)
        is_last = kind in _CLOSING or word in _ALTERNATIVES
        self._due = None if is_last else self._blank_line_due(index, left)
        if has_comments:
            self._comments_before(start, left, is_bare=spacing.word == ":" and not indents)
        if left:
            del frames[-len(left) :]
        level = self._level_before(kind)
        self._put(start, level, is_last=is_last)
        self._is_documented = self._is_documented or (index == 0 and word[-3:] in _TRIPLE)
        spacing.level = self._line_level = level
        self._column, self._line_word = self._column_of(start), word
        spacing.begin_line(self._tokens[index], self._tokens[index + 1])

    def _end(self, end: int, dedents: int) -> None:
        """The comments and the white space at the end of the file."""
        if self._next_comment < len(self._comments):
            self._opened = self._spacing.word == ":"
            self._comments_before(end, self._left(dedents), is_bare=self._opened)
        self._replace(end, "" if self._is_empty else self._line_end)

    def _put(self, start: int, level: int, *, is_last: bool = False) -> None:
        """Lets a line begin at `start`."""
        if self._is_empty:
            self._is_empty = False
            # A string that a file begins with is its documentation in the first line, and below a blank line a value.
            is_value = self._text.startswith(_DOCUMENTING, start) and "\n" in self._text[self._at : start]
            self._replace(start, self._line_end if is_value else "")
            return
        is_apart = False
        if is_last:
            pass
        elif self._due is not None and level <= self._due:
            is_apart, self._due = True, None
        elif not self._opened:
            is_apart = self._text.count("\n", self._at, start) > 1
        self._opened = False
        self._replace(start, self._line_end * (1 + is_apart) + _INDENT * level)

    def _column_of(self, start: int) -> int:
        return start - self._text.rfind("\n", 0, start) - 1

    # ------------------------------------------------------------------ levels

    def _left(self, dedents: int) -> list[Frame]:
        """The blocks that so many dedents end, from the innermost. Between brackets dedents mean nothing."""
        left: list[Frame] = []
        for frame in reversed(self._frames):
            if len(left) == dedents or frame.kind is not Kind.BLOCK:
                break
            left.append(frame)
        return left

    def _level_before(self, kind: str) -> int:
        """The level of a line that begins with a token of this kind."""
        if kind not in _CLOSING:
            return self._frames[-1].level + 1 if self._frames else 0
        return next(frame.level for frame in reversed(self._frames) if frame.kind is not Kind.BLOCK)

    # ------------------------------------------------------------------ comments

    def _comments_before(self, start: int, left: Sequence[Frame], *, is_bare: bool) -> None:
        """Lays out the comments before `start`; `left` are the blocks that the line there is no longer in.

        `is_bare` says that the line above is the header of a schema that has nothing in it.
        """
        comments, place = self._comments, self._next_comment
        while place < len(comments) and comments[place].start < start:
            comment = comments[place]
            if not self._is_empty and "\n" not in self._text[self._at : comment.start]:
                self._replace(comment.start, " ")
            else:
                column = self._column_of(comment.start)
                is_inside = is_bare and column > self._column
                self._put(comment.start, self._line_level + 1 if is_inside else self._level_of(column, left))
            self._at = comment.end
            place += 1
        self._next_comment = place

    def _level_of(self, column: int, left: Sequence[Frame]) -> int:
        """The level of a comment: of the deepest block that goes on or that its column says it is in."""
        level = self._frames[-1].level + 1 if self._frames else 0
        for frame in left:
            if column >= frame.column:
                break
            level = frame.level
        return level

    # ------------------------------------------------------------------ blank lines

    def _blank_line_due(self, index: int, left: Sequence[Frame]) -> int | None:
        """The level of the line that begins with a token if a blank line has to be before it, else None."""
        word = self._tokens[index][3]
        remaining = len(self._frames) - len(left)
        around = self._frames[remaining - 1] if remaining else None
        level = around.level + 1 if around else 0
        if self._is_documented:
            self._is_documented = False
            return level if self._spacing.word[-3:] in _TRIPLE else None
        if self._line_word == "import" and word != "import" and not around:
            return level
        if word == "check" and around and around.word in _OF_SCHEMAS and self._tokens[index + 1][0] == ":":
            return level
        outermost = [frame.level for frame in left if self._is_set_apart(frame)]
        return outermost[-1] if outermost else None

    def _is_set_apart(self, frame: Frame) -> bool:
        """Whether a blank line follows the block: that of a schema, and of `if` without `else` among statements."""
        if frame.word in _OF_SCHEMAS:
            return True
        if frame.word not in _CONDITIONS:
            return False
        below = self._frames[: self._frames.index(frame)]
        return next((each.kind is Kind.BODY for each in reversed(below) if each.kind is not Kind.BLOCK), True)
