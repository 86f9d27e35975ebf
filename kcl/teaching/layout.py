"""Indentation: lines that are in too far or not far enough, tabs among blanks, and YAML's ways to nest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kcl.patterns import pattern
from kcl.syntax.literals import UNITS
from kcl.teaching.view import TAB, Change, Remedy, View, nearby

_HEADER = pattern(r"\s*(?:schema|mixin|protocol|rule|if|elif|else|check)\b")
_ATTRIBUTE = pattern(r"\s*\w+\??\s*:")
_ITEM = pattern(r"(\s*)- +(\S.*?)\s*$")
_KEY_ALONE = pattern(r"(\s*)(?:[\w$-]+|\"[^\"]*\"|'[^']*')\s*:(?:\s*&[\w-]+)?\s*$")
_ANCHORED = pattern(r"&[\w-]+\s+(?=\S)")
_ALIAS = pattern(r"\*([A-Za-z_]\w*)$")
_MERGED = pattern(r"(\s*)<<\s*:\s*\*([A-Za-z_]\w*)\s*$")
_ANCHORS = pattern(r"^\s*(?:- +)?(?:[\w$-]+|<<)\s*:\s*[&*][\w-]+", re.MULTILINE)
_PLAIN_KEY = pattern(r"(?:[\w$-]+|\"[^\"]*\"|'[^']*')\s*:(?:\s|$)")
_NUMBER = pattern(rf"-?\d[\d_]*(?:\.\d+)?(?:{'|'.join(UNITS)})?$")
_MOST_LEVELS: Final = 8


def layout_remedies(view: View, at: int, message: str) -> Iterator[Remedy]:
    if message.startswith("inconsistent use of tabs"):
        yield from _tabs(view)
    for line in nearby(view, at):
        yield from _yaml_blocks(view, line)
    for line in nearby(view, at):
        yield from _bodies(view, line)
        yield from _misplaced(view, line)


# ------------------------------------------------------------------ indentation


def _tabs(view: View) -> Iterator[Remedy]:
    changes = []
    for number, start in enumerate(view.starts):
        line = view.line(number)
        blanks = line[: len(line) - len(line.lstrip())]
        if "\t" in blanks and not view.is_quoted(start):
            changes.append(Change(start, start + len(blanks), blanks.replace("\t", " " * TAB)))
    if changes:
        yield Remedy("indent by blanks alone: a tab and blanks cannot be compared", tuple(changes))


def _misplaced(view: View, line: int) -> Iterator[Remedy]:
    """The line, and those below that are in as far, where others above it stand."""
    own = view.indent(line)
    levels: list[int] = []
    above: int | None = view.before(line)
    while above is not None and len(levels) < _MOST_LEVELS:
        depth = view.indent(above)
        if depth not in levels and (not levels or depth < levels[-1]):
            levels.append(depth)
        if not depth:
            break
        above = view.before(above)
    last = line
    following = view.after(line)
    while following is not None and view.indent(following) >= own > 0:
        last = following
        following = view.after(following)
    for depth in levels:
        if depth == own:
            continue
        for end in dict.fromkeys((last, view.block(line), line)):
            yield _moved(view, line, end, depth - own)


def _moved(view: View, first: int, last: int, by: int) -> Remedy:
    changes = []
    for number in range(first, last + 1):
        start, depth = view.starts[number], view.indent(number)
        text = view.line(number)
        if text.strip() and not view.is_quoted(start):
            blanks = len(text) - len(text.lstrip())
            changes.append(Change(start, start + blanks, " " * max(0, depth + by)))
    count, way = abs(by), "less" if by < 0 else "more"
    named = "this line" if len(changes) == 1 else f"these {len(changes)} lines"
    depth = view.indent(first) + by
    like = "not at all" if not depth else f"by {depth} blanks, {count} {way}"
    return Remedy(f"indent {named} {like}, as the lines above", tuple(changes))


def _bodies(view: View, line: int) -> Iterator[Remedy]:
    """What belongs to a schema or an `if` and is not indented below it."""
    header = view.before(line)
    first = line
    while header is not None and not _HEADER.match(view.line(header)):
        if view.indent(header) != view.indent(line):
            return
        first = header
        header = view.before(first)
    if header is None or not view.line(header).rstrip().endswith(":") or view.indent(first) != view.indent(header):
        return
    last, following = first, view.after(first)
    while following is not None and following == last + 1 and _ATTRIBUTE.match(view.line(following)):
        last = following
        following = view.after(following)
    keyword = view.line(header).split()[0].rstrip(":")
    changes = tuple(Change(view.starts[each], view.starts[each], " " * TAB) for each in range(first, last + 1))
    start = view.starts[header] + view.indent(header)
    yield Remedy(
        f"what belongs to `{keyword}` is indented below it, by {TAB} blanks",
        changes,
        (start, start + len(keyword), "nothing is indented below this"),
    )


# ------------------------------------------------------------------ YAML


def _yaml_blocks(view: View, line: int) -> Iterator[Remedy]:
    """`key:` with a list or a mapping below it, as YAML nests them; the outermost of those the line stands in."""
    heads = []
    number: int | None = line
    while number is not None:
        if _is_head(view, number):
            heads.append(number)
        depth = view.indent(number)
        number = next(
            (
                each
                for each in range(number - 1, -1, -1)
                if not view.is_empty(each)
                and (view.indent(each) < depth or (view.indent(each) == depth and _is_head(view, each)))
            ),
            None,
        )
        if len(heads) >= _MOST_LEVELS:
            break
    yield from _bracketed_items(view, line)
    for head in reversed(heads):
        changes, has_items = _nested(view, head)
        if changes:
            anchors = _about_anchors(view, head)
            yield Remedy(_nesting("key: ", has_items) + anchors, tuple(changes))
            if not view.indent(head):  # outside of all braces
                opening, *others = changes
                colon = view.text.rindex(":", view.starts[head], opening.start)
                assigned = Change(colon, opening.end, f" ={opening.text}")
                yield Remedy(_nesting("key = ", has_items) + anchors, (assigned, *others))


def _bracketed_items(view: View, line: int) -> Iterator[Remedy]:
    """Items written with `-` between brackets."""
    if _ITEM.match(view.line(line)) is None:
        return
    first, earlier = line, view.before(line)
    while earlier is not None and view.indent(earlier) >= view.indent(line):
        first, earlier = earlier, view.before(earlier)
    if earlier is not None and view.text[: view.code_end(earlier)].endswith("["):
        changes = tuple(_items(view, first)[1])
        yield Remedy("an item stands in a line of its own without `-`, and one with keys in braces", changes)


def _nesting(key: str, has_items: bool) -> str:
    if has_items:
        return f"a list is written `{key}[...]`, an item a line without `-`"
    return f"what is nested is written in braces, `{key}{{...}}`: indentation alone does not nest"


def _about_anchors(view: View, head: int) -> str:
    """What is said of the anchors and aliases in a block, "" where it has none."""
    last = view.block(head)
    if not _ANCHORS.search(view.text[view.starts[head] : view.starts[last] + len(view.line(last))]):
        return ""
    return "; there are no anchors: `_base = {...}` gives a value a name, `**_base` and `_base` use it"


def _is_head(view: View, line: int) -> bool:
    text = view.text[view.starts[line] : view.code_end(line)]
    item = _ITEM.match(text)
    return bool(_KEY_ALONE.match(text)) and not _HEADER.match(text) and item is None


def _nested(view: View, head: int) -> tuple[list[Change], bool]:
    """The changes that put brackets around what stands below `head`, and whether those are items."""
    first = view.after(head)
    depth = view.indent(head)
    if first is None:
        return [], False
    end = view.code_end(head)
    start = view.text.rindex(":", view.starts[head], end) + 1
    if _ITEM.match(view.line(first)) and view.indent(first) >= depth:
        last, changes = _items(view, first)
        return [Change(start, end, " ["), *changes, _closing(view, last, depth, "]")], True
    line = view.line(first)
    if view.indent(first) > depth and (_PLAIN_KEY.match(line.lstrip()) or _MERGED.match(line)):
        last = view.block(head)
        changes, has_items = _entries(view, first, last)
        return [Change(start, end, " {"), *changes, _closing(view, last, depth, "}")], has_items
    return [], False


def _closing(view: View, last: int, depth: int, sign: str) -> Change:
    end = view.starts[last] + len(view.line(last))
    return Change(end, end, "\n" + " " * depth + sign)


def _entries(view: View, first: int, last: int) -> tuple[list[Change], bool]:
    """The changes to the entries of a mapping in these lines."""
    changes: list[Change] = []
    number: int | None = first
    has_items = False
    while number is not None and number <= last:
        if _is_head(view, number):
            inner, lists = _nested(view, number)
            if inner:
                changes += inner
                has_items = has_items or lists
                below = view.after(number)
                end = view.block(number)
                if lists and below is not None and view.indent(below) == view.indent(number):
                    end = _items(view, below)[0]
                number = view.after(end)
                continue
        changes += _value_quoted(view, number)
        number = view.after(number)
    return changes, has_items


def _value_quoted(view: View, line: int) -> list[Change]:
    """YAML writes texts without quotes."""
    start, end = view.starts[line], view.code_end(line)
    text = view.text[start:end]
    merged = _MERGED.match(text)
    if merged is not None:
        return [Change(start + merged.end(1), end, f"**{merged[2]}")]
    key = _PLAIN_KEY.match(text.lstrip())
    if key is None:
        return []
    at = start + len(text) - len(text.lstrip()) + key.end()
    return _quoted(view, at, end)


def _quoted(view: View, start: int, end: int) -> list[Change]:
    value = view.text[start:end].strip()
    if not value or value[0] in "\"'[{(" or _NUMBER.match(value) or '"' in value or "\\" in value:
        return []
    if value in ("True", "False", "None"):
        return []
    known = {"true": "True", "false": "False", "null": "None", "~": "None"}.get(value)
    start += len(view.text[start:end]) - len(view.text[start:end].lstrip())
    anchored = _ANCHORED.match(value)
    if anchored is not None:
        return [Change(start, start + anchored.end(), ""), *_quoted(view, start + anchored.end(), end)]
    alias = _ALIAS.match(value)
    if alias is not None:
        return [Change(start, start + len(value), alias[1])]
    return [Change(start, start + len(value), known or f'"{value}"')]


def _items(view: View, first: int) -> tuple[int, list[Change]]:
    """The last line of a list of YAML that begins in `first`, and the changes to its items."""
    depth = view.indent(first)
    changes: list[Change] = []
    number: int | None = first
    last = first
    while number is not None and view.indent(number) == depth:
        found = _ITEM.match(view.text[view.starts[number] : view.code_end(number)])
        if found is None:
            break
        last = view.block(number)
        changes += _item(view, number, last, found.start(2))
        number = view.after(last)
    return last, changes


def _item(view: View, line: int, last: int, column: int) -> list[Change]:
    dash = view.starts[line] + column
    begin = view.text.rfind("-", view.starts[line], dash)
    end = view.code_end(line)
    if not _PLAIN_KEY.match(view.text[dash:end]):
        return [Change(begin, dash, ""), *_quoted(view, dash, end)]
    blanks = " " * (view.indent(line) + dash - begin)
    changes = [Change(begin, dash, "{\n" + blanks)]
    key = _PLAIN_KEY.match(view.text[dash:end])
    assert key is not None
    changes += _quoted(view, dash + key.end(), end)
    following = view.after(line)
    if last > line and following is not None:
        changes += _entries(view, following, last)[0]
    return [*changes, _closing(view, last, view.indent(line), "}")]
