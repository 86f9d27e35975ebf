"""Comments that allow a finding: `# kcl-lint: allow W3002 because the template reads it`.

Such a comment speaks of the line that it ends, or, on a line of its own, of the next line that is no comment. With
`allow-file` it speaks of the whole file. It names codes, by number or by name, and a reason: one without a reason, of
an unknown code, or that allows nothing is itself a finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kcl.diagnostics import Code, Diagnostic, Span, position, warning
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.syntax import ast

_COMMENT: Final = pattern(r"#\s*kcl-lint\s*:\s*(.*)", 0)
_ALLOW: Final = pattern(r"(allow|allow-file)\s+(.+?)(?:\s+because(?:\s+(.*))?)?", 0)
_BY_NAME: Final = {name: code for code in Code if code.number.startswith("W") for name in (code.number, code.title)}


@dataclass(slots=True)
class Suppression:
    """`line` is the line it speaks of, from 1; 0 for all lines of the file."""

    comment: Span
    codes: frozenset[Code]
    line: int
    is_used: bool = False


def read(path: str, text: str, comments: Iterable[ast.Comment]) -> tuple[list[Suppression], list[Diagnostic]]:
    """Returns the suppressions of a file, and what is wrong with others."""
    found: list[Suppression] = []
    wrong: list[Diagnostic] = []
    lines = text.split("\n")
    for comment in comments:
        matched = _COMMENT.fullmatch(comment.text.rstrip())
        if matched is None:
            continue
        span = Span(path, comment.start, comment.end)
        allowed = _ALLOW.fullmatch(matched[1].strip())
        if allowed is None:
            wrong.append(_unfit("this is no order to the linter: '# kcl-lint: allow CODE because REASON' is one", span))
            continue
        names = [each for each in allowed[2].replace(",", " ").split() if each]
        unknown = [each for each in names if each not in _BY_NAME]
        if unknown:
            known = "an error can't be allowed" if unknown[0].startswith("E") else "`kcl explain` lists the codes"
            wrong.append(_unfit(f"there is no warning '{unknown[0]}': {known}", span))
            continue
        if not (allowed[3] or "").strip():
            wrong.append(_unfit("a finding is allowed for a reason: add 'because ...'", span))
            continue
        line = 0 if allowed[1] == "allow-file" else _line(lines, position(text, comment.start).line - 1)
        found.append(Suppression(span, frozenset(_BY_NAME[each] for each in names), line))
    return found, wrong


def apply(
    diagnostics: Iterable[Diagnostic], suppressions: Iterable[Suppression], text: str, looked_for: frozenset[Code]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Returns the diagnostics of a file that nothing allows, and those of suppressions that allow nothing."""
    every = list(suppressions)
    left = []
    for diagnostic in diagnostics:
        assert diagnostic.primary is not None, "a finding of a rule has a place"
        line = position(text, diagnostic.primary.start).line
        allowing = [each for each in every if diagnostic.code in each.codes and each.line in (0, line)]
        for each in allowing:
            each.is_used = True
        if not allowing:
            left.append(diagnostic)
    idle = [each for each in every if not each.is_used and each.codes <= looked_for]
    return left, [_unfit("this allows nothing: take it away", each.comment) for each in idle]


def _line(lines: list[str], at: int) -> int:
    """The number, from 1, of the line that a comment on line `at`, from 0, speaks of."""
    if not lines[at].lstrip().startswith("#"):
        return at + 1
    following = at
    while following < len(lines) and (not lines[following].strip() or lines[following].lstrip().startswith("#")):
        following += 1
    return following + 1


def _unfit(message: str, span: Span) -> Diagnostic:
    return warning(Code.SUPPRESSION, message, span)
