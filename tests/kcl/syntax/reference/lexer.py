"""Text to tokens, with layout decided here so that the grammar needs none of it.

KCL's layout is not Python's. What a line end means depends on the innermost bracket it stands in:

* in a file and in a lambda's body it ends a statement (NEWLINE), and indentation opens and closes
  blocks (INDENT, DEDENT);
* in a list, and in a configuration or call whose opening bracket is directly followed by a line
  end, it separates items (SEP), unless something else already does; a block opens only after the
  colon of an `if`, `elif` or `else`;
* in a configuration opened on the line, it may stand only before the closing brace;
* in groups, subscripts, parameters and types it may not stand at all.

Where a line end may not stand, NEWLINE is emitted, which the grammar accepts nowhere inside an
expression: the error then names the place, and lexing goes on as if the brackets had been closed.
"""

from __future__ import annotations

from kcl.syntax.ast import Comment
from tests.kcl.syntax.reference.indentation import INCOMPARABLE, Level, compare, level_after
from tests.kcl.syntax.reference.tokens import (
    AFTER_OPERAND,
    ALWAYS,
    ARROW_FOLLOWS,
    AT_STATEMENT_START,
    BEFORE_LAMBDA_BODY,
    BEFORE_TYPE,
    BLANK,
    BLOCK_FOLLOWS,
    BRACKETS,
    CLOSERS,
    COMMENT,
    EXPONENT,
    HEADERS,
    IN_FOLLOWS,
    INDEX_SIGNATURE,
    LEADING,
    LOOP_FOLLOWS,
    MISMATCH,
    MIXIN_FOLLOWS,
    NAME_FOLLOWS,
    NOT_FOLLOWS,
    OPENERS,
    OPERAND_ENDS,
    OPERATOR_TYPES,
    REST_OF_LINE,
    STATEMENT_STARTS,
    STRING_START,
    TOKEN,
    USED_AS_NAME,
    WORD,
    WORDS,
    Report,
    Token,
)

# Kinds of layout context.
_FILE, _BODY, _ITEMS, _LINE, _RIGID, _QUANTIFIED = range(6)


class _Context:
    """What line ends mean between a bracket and its match (or in the file)."""

    __slots__ = ("closer", "in_comprehension", "is_block", "kind", "levels")

    def __init__(self, kind: int, closer: str, levels: list[Level]) -> None:
        self.kind = kind
        self.closer = closer
        self.levels = levels
        self.in_comprehension = False
        self.is_block = False  # of a quantifier: whether its condition stands on a line of its own


def tokenize(
    text: str,
    report: Report,
    comments: list[Comment],
    start: int = 0,
    end: int | None = None,
) -> list[Token]:
    """The tokens of `text[start:end]`, the last of type `$END`; offsets count from the start of `text`.

    Comments are appended to `comments`. What is no token at all is reported and left out.
    """
    return _Lexer(text, report, comments, start, len(text) if end is None else end).run()


class _Lexer:
    __slots__ = (
        "before_arrow",
        "between_levels",
        "comments",
        "context",
        "contexts",
        "end",
        "left_block",
        "levels_by_line",
        "line_level",
        "pending",
        "previous",
        "report",
        "start",
        "text",
        "tokens",
    )

    def __init__(self, text: str, report: Report, comments: list[Comment], start: int, end: int) -> None:
        self.text = text
        self.report = report
        self.comments = comments
        self.start = start
        self.end = end
        self.tokens: list[Token] = []
        self.previous = ""  # type of the last token
        self.context = _Context(_FILE, "", [(0, 0)])
        self.contexts = [self.context]
        self.line_level: Level = (0, 0)
        # Indentation as the official scanner follows it, which does not look at brackets.
        self.levels_by_line: list[Level] = [(0, 0)]
        self.between_levels = False  # whether this line stands between two of them
        self.left_block = False  # whether a line between brackets stood left of the block they are in, or askew
        # Lambdas and quantifiers whose brace is still to come: (type, depth of contexts).
        self.pending: list[tuple[str, int]] = []
        # Braces, by where they stand, whose match has been looked for: whether an arrow follows it.
        self.before_arrow: dict[int, bool] = {}

    def run(self) -> list[Token]:
        tokens, text, end = self.tokens, self.text, self.end
        match = TOKEN.match
        emit = tokens.append
        at = self._skip_leading()
        while at < end:
            found = match(text, at, end)
            if found is None:
                at = self._skip_unknown(at)
                continue
            kind = found.lastgroup
            at = found.end()
            word = found[kind]  # type: ignore[index]  # some group always matches
            if kind == "name":
                start = at - len(word)
                if word not in WORDS:
                    if word[0] == "$":
                        word = word[1:]
                    emit(("NAME", start, at, word))
                    self.previous = "NAME"
                else:
                    at = self._word(word, start, at)
            elif kind == "operator":
                token_type = OPERATOR_TYPES[word]
                start = at - len(word)
                if word in BRACKETS:
                    token_type = self._open(word, token_type, start) if word in CLOSERS else self._close(word, start)
                emit((token_type, start, at, word))
                self.previous = token_type
            elif kind == "newline":
                at = self._newline(word, at)
            elif kind == "string":
                emit(("STRING", at - len(word), at, word))
                self.previous = "STRING"
            elif kind == "number":
                self._number(word, at - len(word), at)
            else:
                self.comments.append(Comment(at - len(word), at, word))
        self._finish(end)
        return tokens

    # ------------------------------------------------------------------ words and numbers

    def _word(self, word: str, start: int, at: int) -> int:
        """Emit a word that is a keyword in some place; returns where to go on."""
        previous = self.previous
        token_type = "NAME"
        if previous == "DOT" or previous == "QDOT":
            pass
        elif word in ALWAYS:
            if word == "not" and previous in OPERAND_ENDS:
                follows = IN_FOLLOWS.match(self.text, at, self.end)
                if follows:
                    at, word, token_type = follows.end(), "not in", "OPERATOR"
                else:
                    # The lines of a check block need no line end between them: `a not None` is two.
                    token_type = "NOT"
                    if self.context.kind == _FILE:
                        self._emit("NEWLINE", start)
            else:
                token_type = ALWAYS[word]
                if word == "for":
                    self.context.in_comprehension = True
                elif word == "lambda":
                    self.pending.append(("LAMBDA", len(self.contexts)))
        elif word in AFTER_OPERAND:
            if previous in OPERAND_ENDS:
                token_type = AFTER_OPERAND[word]
                if word == "is":
                    follows = NOT_FOLLOWS.match(self.text, at, self.end)
                    if follows:
                        at, word = follows.end(), "is not"
        elif word in AT_STATEMENT_START:
            if previous in STATEMENT_STARTS and self.context.kind <= _BODY and self._starts_statement(word, at):
                token_type = AT_STATEMENT_START[word]
        elif LOOP_FOLLOWS.match(self.text, at, self.end):
            token_type = "QUANTIFIER"
            self.pending.append(("QUANTIFIER", len(self.contexts)))
        elif word != "any" or not self._in_type():
            token_type = "QUANTIFIER"  # one without its loop, which the tables refuse
        self.tokens.append((token_type, start, at, word))
        self.previous = token_type
        return at

    def _in_type(self) -> bool:
        """Whether a type may stand after the last token; where a value may as well, that is decided by what follows."""
        if self.previous == "ASSIGN":
            return len(self.tokens) > 2 and self.tokens[-3][0] == "TYPE"
        return self.previous in BEFORE_TYPE

    def _starts_statement(self, word: str, at: int) -> bool:
        """Whether the official parser takes `word`, where a statement begins, for the keyword it may be.

        It does so without looking further, but in the body of a schema. Where that cannot be told from other blocks,
        what follows decides.
        """
        text, end = self.text, self.end
        if word != "check" and (self.context.kind == _BODY or len(self.context.levels) == 1):
            return True
        match word:
            case "assert":
                return True
            case "import":
                return not USED_AS_NAME.match(text, at, end)
            case "check":
                return BLOCK_FOLLOWS.match(text, at, end) is not None
            case "mixin":
                return MIXIN_FOLLOWS.match(text, at, end) is not None
            case _:
                return NAME_FOLLOWS.match(text, at, end) is not None

    def _number(self, word: str, start: int, at: int) -> None:
        is_integer = word.isdigit() or word[:2] in ("0x", "0X", "0b", "0B", "0o", "0O")
        if not is_integer:
            is_integer = "." not in word and not EXPONENT.fullmatch(word)
        self.tokens.append(("INT" if is_integer else "FLOAT", start, at, word))
        self.previous = "INT"

    # ------------------------------------------------------------------ brackets

    def _open(self, word: str, token_type: str, start: int) -> str:
        """Open a bracket's context; returns the type its token really has."""
        previous = self.previous
        if word == "{":
            return self._open_brace(previous, start)
        if word == "[" and previous in STATEMENT_STARTS and self.context.kind <= _BODY:
            if INDEX_SIGNATURE.match(self.text, start, self.end):
                token_type = "SIGNATURE_LBRACKET"
        follows_operand = previous in OPERAND_ENDS
        if word == "(":
            is_header = len(self.tokens) > 1 and self.tokens[-2][0] in HEADERS
            kind = _LINE if follows_operand and not is_header else _RIGID
        else:
            kind = _RIGID if follows_operand or token_type != "LBRACKET" else _ITEMS
        self._push(kind, CLOSERS[word])
        return token_type

    def _open_brace(self, previous: str, start: int) -> str:
        if self.pending and self.pending[-1][1] == len(self.contexts):
            owner = self.pending[-1][0]
            if previous == "LAMBDA" and self._closes_parameters(start):
                self._push(_ITEMS, "}")
                return "PARAMETERS_LBRACE"
            if owner == "LAMBDA" and previous in BEFORE_LAMBDA_BODY:
                self.pending.pop()
                self._push(_BODY, "}")
                return "BODY_LBRACE"
            if owner == "QUANTIFIER" and previous != "IN":
                self.pending.pop()
                self._push(_QUANTIFIED, "}")
                return "QUANTIFIER_LBRACE"
        self._push(_LINE, "}")
        return "LBRACE"

    def _closes_parameters(self, start: int) -> bool:
        """Whether the brace at `start`, right after `lambda`, holds parameters: an arrow follows its match."""
        known = self.before_arrow
        if start in known:
            return known[start]
        at = start
        opened: list[int] = []
        while True:
            found = TOKEN.match(self.text, at, self.end)
            if found is None:
                # What is open here stays open, as far as can be told.
                known.update(dict.fromkeys(opened, False))
                return known.setdefault(start, False)
            at = found.end()
            word = found["operator"]
            if word == "{":
                opened.append(at - 1)
            elif word == "}":
                known[opened.pop()] = ARROW_FOLLOWS.match(self.text, at, self.end) is not None
                if not opened:
                    return known[start]

    def _push(self, kind: int, closer: str) -> None:
        self.context = _Context(kind, closer, [])
        self.contexts.append(self.context)

    def _close(self, word: str, start: int) -> str:
        """Close the innermost bracket, with the blocks and statements that were open in it; returns its token type.

        A bracket of another kind is reported and read as the one that was due.
        """
        contexts = self.contexts
        if self.context.closer != word:
            self.report(start, start + 1, MISMATCH[word])
            if len(contexts) == 1:
                return OPERATOR_TYPES[word]
            word = self.context.closer
        context = contexts.pop()
        if context.kind == _BODY:
            if self.previous not in STATEMENT_STARTS:
                self._emit("NEWLINE", start)
            for _ in context.levels[1:]:
                self._emit("DEDENT", start)
        else:
            for _ in context.levels:
                self._emit("DEDENT", start)
        self.context = contexts[-1]
        while self.pending and self.pending[-1][1] > len(contexts):
            self.pending.pop()
        return OPERATOR_TYPES[word]

    # ------------------------------------------------------------------ lines

    def _skip_leading(self) -> int:
        """Blank lines and comments before the first token; its indentation counts only after one of them."""
        found = LEADING.match(self.text, self.start, self.end)
        assert found is not None  # the pattern matches nothing as well
        run = found[0]
        self._collect_comments(run, found.start())
        if "\n" in run and found.end() < self.end and self.text[found.end()] != "#":
            level = level_after(run)
            if level != (0, 0):
                self.context.levels.append(level)
                self._emit("INDENT", found.end())
        return found.end()

    def _newline(self, run: str, at: int) -> int:
        """A line end with the blank lines and comments after it, up to the first token of a line at `at`.

        Returns `at`.
        """
        text, context = self.text, self.context
        start = at - len(run)
        if "#" in run:
            self._collect_comments(run, start)
            if run[0] == "#":
                start += run.index("\n")
        if at >= self.end or text[at] == "#":
            # The end, or a last comment: there is no further line to lay out.
            if context.kind == _FILE:
                self._check_levels(at)
                self._end_line(start, (0, 0), at)
            elif context.kind > _ITEMS and self.previous not in OPENERS and not self._may_end_later():
                self._break_line(start, (0, 0), at)
            return at
        if "\t" in run or "\r" in run or "\f" in run:
            level = level_after(run)
        else:
            level = (0, len(run) - run.rfind("\n") - 1)
        before, self.line_level = self.line_level, level
        if context.kind == _FILE:
            self._check_levels(at)
        if text[at] == "\\" and level != self.levels_by_line[-1]:
            # A line that goes on before it began changes the level, and the official parser sees nothing of it: whether
            # it can still read the file the grammar does not say.
            self._emit("DEDENT", at)
        self.between_levels = level != self.levels_by_line[-1] and self._follow(level)
        kind = context.kind
        if kind == _FILE:
            self._end_line(start, level, at)
        elif kind == _BODY:
            self._end_body_line(start, level, at)
        else:
            if kind == _LINE and self.previous in OPENERS:
                kind = context.kind = _ITEMS
            if kind == _ITEMS:
                self._end_item_line(start, level, before, at)
            elif kind == _LINE:
                closes = text[at] == context.closer and context.closer != ")"
                if not closes and not (context.in_comprehension and self._next_word(at) == "if"):
                    self._break_line(start, level, at)
            elif kind == _QUANTIFIED:
                if self.previous == "QUANTIFIER_LBRACE":
                    context.is_block = compare(level, before) > 0
                if not context.is_block or not (self.previous == "QUANTIFIER_LBRACE" or text[at] == "}"):
                    self._break_line(start, level, at)
            else:
                self._break_line(start, level, at)
        return at

    def _follow(self, level: Level) -> bool:
        """Keep up `levels_by_line` with a line at `level`; one between two levels leaves the deeper one open.

        Whether it is one between two levels.
        """
        levels = self.levels_by_line
        last: Level | None = None
        while compare(level, levels[-1]) < 0:
            last = levels.pop()
        self.left_block |= compare(level, levels[-1]) is INCOMPARABLE
        if compare(level, levels[-1]) > 0:
            levels.append(level if last is None else last)
            return last is not None
        if len(levels) < len(self.contexts[0].levels) and len(self.contexts) > 1:
            self.left_block = True
        return False

    def _end_line(self, start: int, level: Level, at: int) -> None:
        if self.previous and self.previous not in STATEMENT_STARTS:
            self._emit("NEWLINE", start)
        self._indent(level, at, always=True)

    def _check_levels(self, at: int) -> None:
        if self.left_block or self.levels_by_line != self.context.levels:
            # The lines between brackets left a level open or closed one, which the official parser sees after them.
            self.left_block = False
            self._emit("DEDENT", at)

    def _end_body_line(self, start: int, level: Level, at: int) -> None:
        """As in a file, but in a lambda's body: the first line sets the base, and only blocks indent."""
        levels = self.context.levels
        if self.text[at] == "}":
            return
        opens_block = self.previous == "COLON"
        if self.previous != "BODY_LBRACE" and self.previous not in STATEMENT_STARTS:
            self._emit("NEWLINE", start)
        if not levels:
            levels.append(level)
        elif len(levels) == 1 and not opens_block:
            pass
        else:
            self._indent(level, at, always=True)  # in a block no line opens another one but by its colon

    def _end_item_line(self, start: int, level: Level, before: Level, at: int) -> None:
        """A line end among items. `before` is the indentation of the line that ends, `level` of the next."""
        context, levels = self.context, self.context.levels
        if self.text[at] == context.closer:
            return
        if self.previous == "COLON":
            if compare(level, levels[-1] if levels else before) > 0:
                levels.append(level)
                self._emit("INDENT", at)
                return
            self._emit("NEWLINE", start)
            return
        if levels and (self.between_levels or compare(level, levels[-1]) > 0):
            self._emit("INDENT", at)  # deeper than the block of an `if`, where nothing opens another
            return
        closed_block = False
        while levels and compare(level, levels[-1]) < 0:
            if len(levels) > 1 and compare(level, levels[-2]) > 0:
                self._misaligned(level, levels[-2], at)
                break
            levels.pop()
            self._emit("DEDENT", at)
            closed_block = True
        if context.in_comprehension:
            if self._next_word(at) not in ("for", "if"):
                self._emit("NEWLINE", start)  # clauses stand on lines of their own, and are not divided
            return
        if not closed_block and self.previous in _SEPARATED:
            return
        if self._next_word(at) not in ("for", "elif", "else"):
            self._emit("SEP", start)

    def _break_line(self, start: int, level: Level, at: int) -> None:
        """A line end where none may be: say so with a NEWLINE, and leave every bracket that forbids it."""
        while self.context.kind > _ITEMS:
            self.contexts.pop()
            self.context = self.contexts[-1]
        depth = len(self.contexts)
        while self.pending and self.pending[-1][1] > depth:
            self.pending.pop()
        self._emit("NEWLINE", start)
        if self.context.kind == _FILE:
            self._indent(level, at, always=True)

    def _indent(self, level: Level, at: int, *, always: bool) -> None:
        """Open or close blocks for a line at `level`; opens one only if `always`."""
        levels = self.context.levels
        order = compare(level, levels[-1])
        if order is INCOMPARABLE:
            self.report(at, at, "inconsistent use of tabs and spaces in indentation")
        elif order > 0:
            if always:
                levels.append(level)
                self._emit("INDENT", at)
        else:
            while order < 0:
                outer = compare(level, levels[-2]) if len(levels) > 1 else 0
                if outer > 0:
                    self._misaligned(level, levels[-2], at)
                    return
                if len(levels) == 1:
                    return
                levels.pop()
                self._emit("DEDENT", at)
                order = outer

    def _misaligned(self, level: Level, outer: Level, at: int) -> None:
        count = level[1] - outer[1]
        spaces = f"{count} space" if count == 1 else f"{count} spaces"
        self.report(at, at, f"invalid indentation with {spaces}, try to align indents by adding or removing spaces")

    def _finish(self, end: int) -> None:
        """End the last statement, close the blocks of the file, and what a lambda left open."""
        if self.previous not in STATEMENT_STARTS and not self._may_end_later():
            if self.context.kind == _FILE:
                self._check_levels(end)
            self._emit("NEWLINE", end)
        if len(self.contexts) == 1:
            for _ in self.context.levels[1:]:
                self._emit("DEDENT", end)
        self._emit("$END", end)

    def _may_end_later(self) -> bool:
        """Whether the innermost bracket, still open, lets a line end stand before its match."""
        return self.context.kind == _ITEMS or (self.context.kind == _LINE and self.context.closer == "}")

    # ------------------------------------------------------------------ helpers

    def _emit(self, token_type: str, at: int) -> None:
        self.tokens.append((token_type, at, at, ""))
        self.previous = token_type

    def _next_word(self, at: int) -> str:
        found = WORD.match(self.text, at, self.end)
        return found[0] if found else ""

    def _collect_comments(self, run: str, start: int) -> None:
        for found in COMMENT.finditer(run):
            self.comments.append(Comment(start + found.start(), start + found.end(), found[0].rstrip("\r")))

    def _skip_unknown(self, at: int) -> int:
        """Report what is no token; returns where to go on."""
        blank = BLANK.match(self.text, at, self.end)
        at = blank.end() if blank else at
        if at >= self.end:
            return at
        character = self.text[at]
        string = STRING_START.match(self.text, at, self.end)
        if string:
            return self._skip_unterminated(at, string[1])
        match character:
            case ";":
                self.report(at, at + 1, "the semicolon ';' here is unnecessary, please remove it")
            case "!":
                self.report(at, at + 1, "invalid token '!', consider using 'not '")
                self.tokens.append(("NOT", at, at + 1, "not"))
                self.previous = "NOT"
            case "\\":
                self.report(at, at + 1, "unexpected character after line continuation character")
            case _:
                self.report(at, at + 1, "unknown start of token")
        return at + 1

    def _skip_unterminated(self, at: int, quote: str) -> int:
        """A string without its end reaches to the end of the line, or of the file if triple-quoted."""
        if len(quote) == 3:
            end = self.end
        else:
            rest = REST_OF_LINE.match(self.text, at, self.end)
            end = rest.end() if rest else self.end
        self.report(at, end, "unterminated string")
        self.tokens.append(("STRING", at, end, quote[0] * 2))
        self.previous = "STRING"
        return end


_SEPARATED = OPENERS | {"COMMA", "SEP", "INDENT"}
