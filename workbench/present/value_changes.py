"""Two values of one field side by side: what differs in them, in as few lines as that takes.

Texts are compared line by line and word by word (text_changes.py). Lists and mappings are compared element by element,
each difference with its path below the field. A text that holds JSON or YAML is compared as that where the structure
tells everything that differs; where comments, order or spaces differ as well it is compared as the text it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import FieldPath, format_path
from runtimes.base.documents import load_json, load_yaml
from workbench.engine.diff import same
from workbench.engine.fields import MISSING
from workbench.engine.masking import Masked
from workbench.present import text_changes
from workbench.present.alignment import align
from workbench.present.glyphs import Glyphs
from workbench.present.text import Span, Tone, line
from workbench.present.text_changes import ChangedLine, cells, end_of
from workbench.present.yaml_lines import scalar, yaml_lines

_MOST_STRUCTURED: Final = 1 << 20
"""Characters of a text that is looked into for JSON or YAML."""
_DEEPEST: Final = 4
"""JSON in JSON in JSON: so far it is looked into."""
_LEAST_WIDTH: Final = 24


@dataclass(frozen=True, slots=True)
class _Difference:
    """`MISSING` on the side that has none."""

    path: FieldPath
    before: Any
    after: Any


def in_one_line(before: Any, after: Any) -> tuple[tuple[Span, ...], tuple[Span, ...]] | None:
    """Returns two values as each stands within a line, None where one of them can't."""
    old, new = one_line(before), one_line(after)
    if old is None or new is None:
        return None
    if isinstance(before, Masked) and isinstance(after, Masked):
        return (Span(before.distinguished_from(after), Tone.REMOVED),), (
            Span(after.distinguished_from(before), Tone.ADDED),
        )
    if isinstance(before, str) and isinstance(after, str):
        return text_changes.in_one_line(old.text, new.text)
    return (Span(old.text, Tone.REMOVED),), (Span(new.text, Tone.ADDED),)


def one_line(value: Any) -> Span | None:
    """Returns a value that can stand within a line; None for text of several lines, mappings and lists."""
    if isinstance(value, str) and "\n" in value:
        return None
    if isinstance(value, Mapping | list) and value:
        return None
    return scalar(value)


def changed_lines(before: Any, after: Any, width: int, glyphs: Glyphs, depth: int = 0) -> Iterator[ChangedLine]:
    """Yields what differs between two values, each line at most `width` cells; nothing for values that are the same."""
    width = max(width, _LEAST_WIDTH)
    if same(before, after):
        return
    match before, after:
        case str(), str():
            structure = _structures(before, after) if depth < _DEEPEST else None
            if structure is not None:
                name, found = structure
                yield ChangedLine("⋯", line(Span(f"as {name}:", Tone.MUTED)))
                yield from _structured(found, width, glyphs, depth + 1)
            else:
                yield from text_changes.changed_lines(before, after, width)
        case Masked(), Masked():
            yield ChangedLine("-", line(Span(before.distinguished_from(after), Tone.REMOVED)))
            yield ChangedLine("+", line(Span(after.distinguished_from(before), Tone.ADDED)))
        case (list(), list()) | (Mapping(), Mapping()):
            yield from _structured(_differences(before, after), width, glyphs, depth)
        case _:
            yield from one_sided(before, "-", Tone.REMOVED, width)
            yield from one_sided(after, "+", Tone.ADDED, width)


def one_sided(value: Any, sign: str, tone: Tone, width: int) -> Iterator[ChangedLine]:
    """Yields a value that only one side has, whole."""
    if isinstance(value, str) and "\n" in value:
        yield from text_changes.block(value, sign, tone, width)
        return
    for each in yaml_lines(value):
        yield from text_changes.block(str(each.text), sign, tone, width)


def _structured(found: Sequence[_Difference], width: int, glyphs: Glyphs, depth: int) -> Iterator[ChangedLine]:
    for each in found:
        path = Span(end_of(format_path(each.path), width - 1), Tone.KEY)
        if each.before is MISSING:
            yield from _came(each.after, path, "+", Tone.ADDED, width)
        elif each.after is MISSING:
            yield from _came(each.before, path, "-", Tone.REMOVED, width)
        else:
            yield from _changed(each, path, width, glyphs, depth)


def _came(value: Any, path: Span, sign: str, tone: Tone, width: int) -> Iterator[ChangedLine]:
    whole = one_line(value)
    if whole is not None and cells(path.text) + cells(whole.text) + 2 <= width:
        yield ChangedLine(sign, line(path, ": ", Span(whole.text, tone)))
        return
    yield ChangedLine(sign, line(path, ":"))
    for each in one_sided(value, sign, tone, width - 2):
        yield ChangedLine(sign, line("  ", each.line))


def _changed(each: _Difference, path: Span, width: int, glyphs: Glyphs, depth: int) -> Iterator[ChangedLine]:
    both = in_one_line(each.before, each.after)
    if both is not None:
        old, new = (line(path, ": ", *side) for side in both)
        whole = line(old, Span(f" {glyphs.arrow} ", Tone.MUTED), *both[1])
        if cells(str(whole)) <= width:
            yield ChangedLine("~", whole, (old, new))
            return
    yield ChangedLine("~", line(path, ":"), (line(path, ":"), line(path, ":")))
    for below in changed_lines(each.before, each.after, width - 2, glyphs, depth):
        sides = None if below.sides is None else (line("  ", below.sides[0]), line("  ", below.sides[1]))
        yield ChangedLine(below.sign, line("  ", below.line), sides)


def _differences(before: Any, after: Any, path: FieldPath = ()) -> list[_Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = dict.fromkeys((*before, *after))
        return [
            found
            for key in keys
            for found in _differences(before.get(key, MISSING), after.get(key, MISSING), (*path, str(key)))
        ]
    if isinstance(before, list) and isinstance(after, list):
        return list(_in_lists(before, after, path))
    return [] if _as_key(before) == _as_key(after) else [_Difference(path, before, after)]


def _in_lists(before: Sequence[Any], after: Sequence[Any], path: FieldPath) -> Iterator[_Difference]:
    """Yields what came, went and changed; an index is that of the new list where the element is in it."""
    for each in align([_as_key(item) for item in before], [_as_key(item) for item in after]):
        if each.is_equal:
            continue
        both = min(each.end - each.start, each.new_end - each.new_start)
        for index in range(both):
            old, new = before[each.start + index], after[each.new_start + index]
            yield from _differences(old, new, (*path, each.new_start + index))
        for index in range(each.start + both, each.end):
            yield _Difference((*path, index), before[index], MISSING)
        for index in range(each.new_start + both, each.new_end):
            yield _Difference((*path, index), MISSING, after[index])


def _as_key(value: Any) -> Any:
    """Returns a hashable stand-in that is equal only where a text of the value would be: 1.0 is neither 1 nor true."""
    match value:
        case Mapping():
            return "map", tuple((key, _as_key(each)) for key, each in value.items())
        case list():
            return "list", tuple(map(_as_key, value))
        case bool() | float():
            return type(value), repr(value)
        case _:
            return value


@dataclass(frozen=True, slots=True)
class _Structure:
    """A text as a value, and all of the text that the value does not tell: how it is laid out.

    `writings` are texts of which several stand for one value.
    """

    value: Any
    layout: Any
    writings: tuple[str, ...] = ()


def _structures(before: str, after: str) -> tuple[str, list[_Difference]] | None:
    """Returns what two texts are, and all that differs between them; None where that is not all structure tells."""
    if max(len(before), len(after)) > _MOST_STRUCTURED:
        return None
    for name, read in (("JSON", _json), ("YAML", _yaml)):
        old, new = read(before), read(after)
        if old is None or new is None:
            continue
        if old.layout != new.layout or not _is_same_order(old.value, new.value):
            return None
        found = _differences(old.value, new.value)
        written_otherwise = sum(map(str.__ne__, old.writings, new.writings))
        return (name, found) if found and (not old.writings or written_otherwise == len(found)) else None
    return None


_STYLES: Final[tuple[dict[str, Any], ...]] = (
    {"separators": (",", ":")},
    {"separators": (", ", ": ")},
    {"indent": 2},
    {"indent": 4},
    {"indent": "\t"},
)


def _json(text: str) -> _Structure | None:
    """Reads a mapping or list that is written in one of the common styles, so that nothing but the value varies."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value = load_json(text)
    except (ValueError, RecursionError):
        return None
    body = text.removesuffix("\n")
    for style in _STYLES:
        for is_ascii in (False, True):
            if json.dumps(value, ensure_ascii=is_ascii, **style) == body:
                has_choice = not text.isascii() or "\\u" in text  # to write what is not ASCII as such or as an escape
                return _Structure(value, (type(value), str(style), is_ascii and has_choice, text != body))
    return None


def _yaml(text: str) -> _Structure | None:
    """Reads a mapping or list of several lines; its layout is the text with a gap for each plain value."""
    if "\n" not in text.strip() or not (":" in text or "- " in text):
        return None
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = load_yaml(text)
        node = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list) or not _is_plain(value) or node is None:
        return None
    gaps = sorted(_plain_values(node, yaml))
    if any(one[1] > other[0] for one, other in pairwise(gaps)):
        return None  # anchors: one place has a say in several values
    layout, at = [], 0
    for start, end in gaps:
        layout.append(text[at:start])
        at = end
    return _Structure(value, (type(value), *layout, text[at:]), tuple(text[start:end] for start, end in gaps))


def _plain_values(node: Any, yaml: Any) -> Iterator[tuple[int, int]]:
    """Yields where values stand that are written as they are, in one line and without quotes."""
    match node:
        case yaml.MappingNode():
            for _, each in node.value:
                yield from _plain_values(each, yaml)
        case yaml.SequenceNode():
            for each in node.value:
                yield from _plain_values(each, yaml)
        case yaml.ScalarNode() if not node.style and node.start_mark.line == node.end_mark.line:
            yield node.start_mark.index, node.end_mark.index


def _is_plain(value: Any) -> bool:
    """Whether JSON could say it: YAML has dates, sets and keys that are no text."""
    match value:
        case dict():
            return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
        case list():
            return all(map(_is_plain, value))
        case _:
            return value is None or isinstance(value, str | bool | int | float)


def _is_same_order(before: Any, after: Any) -> bool:
    """Whether the keys that both have come in one order everywhere; elements of lists are compared at their place."""
    if isinstance(before, dict) and isinstance(after, dict):
        common = [key for key in before if key in after]
        return common == [key for key in after if key in before] and all(
            _is_same_order(before[key], after[key]) for key in common
        )
    if isinstance(before, list) and isinstance(after, list):
        return all(
            _is_same_order(one, other)
            for each in align(list(map(_as_key, before)), list(map(_as_key, after)))
            if not each.is_equal
            for one, other in zip(before[each.start : each.end], after[each.new_start : each.new_end], strict=False)
        )
    return True
