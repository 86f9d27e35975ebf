"""Documents of YAML and JSON, and where in their text each key and item stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from kcl.bounds import LimitError, check_json, check_size
from kcl.loader import load_all_yaml
from kcl.loader.yaml_text import YamlError
from kcl.patterns import pattern
from kcl.records import dataclass, field

_SPACE: Final = pattern(r"[ \t\r\n]*")
_LIMIT: Final = 2**63
_MOST_DIGITS: Final = len(str(2 * _LIMIT)) + 1
_TOO_LARGE: Final = "{} is no integer of 64 bits; write it with a point, or as a text"
_SCALAR: Final = pattern(r"[^\s,\]}]+")


class BadData(Exception):
    """A text that is no document of its format. `offset` is where it goes wrong, None for unknown."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Places:
    """Where a value stands, and what is in it: by key or index, where that begins, and its own places."""

    start: int
    inner: dict[str | int, tuple[int, Places]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    value: Any
    places: Places


def documents(text: str, form: str) -> list[Document]:
    """The documents of a text, in order; of JSON there is one. Raises BadData, also where a key is there twice."""
    return [_json(text)] if form == "json" else _yaml(text)


# --- JSON ---


def _json(text: str) -> Document:
    try:
        check_size(text)
        check_json(text)
        value = json.loads(text, parse_constant=_no_constant, parse_int=_whole)
    except LimitError as over:
        raise BadData(f"the document {over.problem}") from None
    except json.JSONDecodeError as problem:
        raise BadData(f"this is not JSON: {problem.msg}", problem.pos) from None
    except RecursionError:
        raise BadData("the document is nested too deeply") from None
    except ValueError as problem:
        raise BadData(f"this is not JSON: {problem}") from None
    return Document(value, _Json(text).value(_after_space(text, 0))[0])


def _whole(digits: str) -> int | float:
    """An integer of 64 bits, or the number next to it that there is; what lies between says `_Json`."""
    number = int(digits) if len(digits) <= _MOST_DIGITS else None
    return number if number is not None and -_LIMIT <= number < _LIMIT else float(digits)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


class _Json:
    """Goes through a text that is known to be JSON."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int) -> tuple[Places, int]:
        """The places of the value at an offset, and where it ends."""
        text = self._text
        if text[at] == '"':
            return Places(at), self._end_of_string(at)
        if text[at] not in "[{":
            found = _SCALAR.match(text, at)
            assert found is not None
            if len(digits := found[0]) <= _MOST_DIGITS and digits.isdigit() and _LIMIT <= int(digits) < 2 * _LIMIT:
                raise BadData(_TOO_LARGE.format(digits), at)
            return Places(at), found.end()
        is_object, inner = text[at] == "{", dict[str | int, tuple[int, Places]]()
        end = _after_space(text, at + 1)
        while text[end] not in "]}":
            start = end
            name: str | int = len(inner)
            if is_object:
                after = self._end_of_string(start)
                name = json.loads(text[start:after], strict=False)
                if name in inner:
                    raise BadData(f"the key {json.dumps(name)} is there twice", start)
                end = _after_space(text, _after_space(text, after) + 1)
            places, end = self.value(end)
            inner[name] = start, places
            end = _after_space(text, end)
            if text[end] == ",":
                end = _after_space(text, end + 1)
        return Places(at, inner), end + 1

    def _end_of_string(self, at: int) -> int:
        at += 1
        while self._text[at] != '"':
            at += 2 if self._text[at] == "\\" else 1
        return at + 1


# --- YAML ---


def _yaml(text: str) -> list[Document]:
    import yaml

    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]

    def offset(mark: Any) -> int:
        return min(starts[min(int(mark.line), len(starts) - 1)] + int(mark.column), len(text))

    try:
        values = load_all_yaml(text)
        nodes = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except YamlError as problem:
        at = starts[min(problem.line, len(starts)) - 1] + max(problem.column - 1, 0) if problem.line else None
        raise BadData(f"this is not YAML: {problem.problem}", at) from None
    except (yaml.YAMLError, RecursionError) as problem:
        raise BadData(f"this is not YAML: {str(problem).splitlines()[0]}") from None
    for value, node in zip(values, nodes, strict=True):
        _check_integers(value, node, offset)
    return [Document(value, _places(node, offset)) for value, node in zip(values, nodes, strict=True)]


def _check_integers(value: Any, node: Any, offset: Callable[[Any], int]) -> None:
    """Raises BadData for the first integer that does not fit into 64 bits."""
    if isinstance(value, list):
        for item, inner in zip(value, node.value, strict=True):
            _check_integers(item, inner, offset)
    elif isinstance(value, dict) and node.id == "mapping":
        for key, inner in node.value:
            if key.value in value:
                _check_integers(value[key.value], inner, offset)
    elif isinstance(value, int) and not -_LIMIT <= value < _LIMIT:
        raise BadData(_TOO_LARGE.format(value), offset(node.start_mark))


def _places(node: Any, offset: Callable[[Any], int]) -> Places:
    start = offset(node.start_mark)
    inner: dict[str | int, tuple[int, Places]] = {}
    if node.id == "sequence":
        inner = {index: (offset(each.start_mark), _places(each, offset)) for index, each in enumerate(node.value)}
    elif node.id == "mapping":
        for key, value in node.value:
            if key.value in inner and key.value != "<<":
                raise BadData(f"the key {json.dumps(key.value)} is there twice", offset(key.start_mark))
            inner[key.value] = offset(key.start_mark), _places(value, offset)
    return Places(start, inner)
