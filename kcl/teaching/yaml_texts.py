"""Texts of several lines as YAML writes them, `key: |` with the text below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kcl.patterns import pattern
from kcl.teaching.view import LONGEST_LINE, Change, Remedy, View

_HEAD = pattern(r"(\s*)(?:[\w.$-]+|\"[^\"]*\"|'[^']*')(\s*[:=]\s*)([|>])([+-]?)[ \t]*$")
_MOST_LINES: Final = 400
"""Lines above an error among which the head of its text is looked for."""


def text_remedies(view: View, at: int) -> Iterator[Remedy]:
    """The text that the place stands in, or its head does, in quotes as KCL writes it."""
    line = view.line_of(at)
    depth: int | None = None
    for number in range(line, max(-1, line - _MOST_LINES), -1):
        text = view.line(number)
        if not text.strip():
            continue
        own = len(text) - len(text.lstrip())
        if depth is None or own < depth:
            depth = own
            found = _HEAD.match(text) if len(text) <= LONGEST_LINE else None
            if found is not None and not view.is_quoted(view.starts[number]):
                yield from _quoted(view, number, own, found.start(2), found[3], found[4])
                return


def _quoted(view: View, head: int, depth: int, behind: int, style: str, chomping: str) -> Iterator[Remedy]:
    last = head
    for number in range(head + 1, len(view.starts)):
        text = view.line(number)
        if text.strip():
            if len(text) - len(text.lstrip()) <= depth:
                break
            last = number
    lines = [view.line(number) for number in range(head + 1, last + 1)]
    value = _value(lines, style)
    if value is None:
        return
    start, end = view.starts[head] + behind, view.starts[last] + len(view.line(last))
    written = _literal(value + ("" if chomping == "-" else "\n"))
    for sign in (": ", " = ") if depth else (" = ",):
        message = f'a text of several lines stands in three quotes, `key{sign}"""..."""`: there is no `{style}`'
        yield Remedy(message, (Change(start, end, f"{sign}{written}"),))


def _value(lines: Sequence[str], style: str) -> str | None:
    """What YAML reads; None for what it folds by rules of its own."""
    full = [line for line in lines if line.strip()]
    if not full:
        return None
    margin = len(full[0]) - len(full[0].lstrip(" "))
    if any(line[:margin].strip(" ") for line in full):
        return None  # less indented than the first line, or by tabs: no YAML either
    texts = [line[margin:] if line.strip() else "" for line in lines]
    if style == "|":
        return "\n".join(texts)
    if any(text[:1] in (" ", "\t") or not text for text in texts):
        return None
    return " ".join(texts)


def _literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("${", "\\${").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return f'"""{escaped}"""'
