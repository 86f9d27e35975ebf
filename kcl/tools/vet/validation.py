"""A document as a program, and what the language finds in it.

The document is written as an instance of the schema, in a file that is nowhere on the disk. So it is the checker and
the evaluator that judge it, and what they find there is shown where it stands in the document.
"""

from __future__ import annotations

import json
import math
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kcl.api import Observation, ParseCache, ProgramError, downloaded_folder, parse, run
from kcl.diagnostics import Code, Diagnostic, Label, Span, error
from kcl.loader import find_root
from kcl.loader.folders import package_files
from kcl.records import dataclass, replace
from kcl.source import OsFileSystem
from kcl.syntax import ast
from kcl.tools.vet.data import Document, Places

_FILE: Final = "_kcl_vet_data.k"


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """Where the schema is: the file, its text, the name, and the variable that the document becomes."""

    path: str
    text: str
    schema: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in a document, and the texts that it points into, by path."""

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]


def schemas(text: str, path: str) -> Sequence[str]:
    """The names of all schemas in a file."""
    return [each.name for each in parse(text, path).module.body if isinstance(each, ast.Schema)]


class Validator:
    """Validates documents against one schema; what was loaded for one serves the next.

    `packages` are folders of packages that the schema's file imports, by name.
    """

    def __init__(
        self, schema: SchemaFile, environment: Mapping[str, str], packages: Mapping[str, str] | None = None
    ) -> None:
        self._schema = schema
        self._packages = packages or {}
        self._environment = environment
        self._cache = ParseCache()
        self._folder = os.path.dirname(schema.path)
        self._observation = Observation(gathers_checks=True)
        files, self._files = OsFileSystem(), [schema.path]
        if find_root(self._folder, files) is not None:
            self._files += [each for each in package_files(self._folder, files) if each != schema.path]

    def validate(self, document: Document, path: str, text: str) -> Findings:
        """All that is found in a document, by its place; `path` and `text` are those of the file it stands in."""
        if not isinstance(document.value, (dict, list)):
            said = f"a document has to be an object or a list of objects, got {_kind(document.value)}"
            return Findings((error(Code.TYPE, said, _span(path, text, document.places.start)),), {path: text})
        wrong = [
            error(Code.TYPE, f"an item has to be an object, got {_kind(item)}", _span(path, text, at))
            for item, at in _items(document)
            if not isinstance(item, dict)
        ]
        if wrong:
            return Findings(tuple(wrong), {path: text})
        written = _Written(self._schema, document)
        failed = self._observation.failed_checks
        assert failed is not None
        failed.clear()
        sources: Mapping[str, str]
        found: list[Diagnostic] = []
        try:
            result = run(
                [*self._files, _FILE],
                work_dir=self._folder,
                texts={_FILE: written.text},
                package_maps=self._packages,
                vendor_dir=downloaded_folder(self._environment),
                cache=self._cache,
                observation=self._observation,
            )
            sources = result.sources
        except ProgramError as problem:
            found, sources = list(problem.diagnostics), problem.sources
        found += failed
        ours = {each for each in sources if os.path.basename(each) == _FILE}
        shown = dict.fromkeys(_placed(each, ours, written, path, text) for each in found)
        return Findings(_sorted(shown, path), {**sources, path: text})


def _sorted(found: Mapping[Diagnostic, None], path: str) -> tuple[Diagnostic, ...]:
    """Those that have a place in the document first, in its order."""

    def key(each: Diagnostic) -> tuple[bool, int]:
        inside = each.primary is not None and each.primary.path == path
        return not inside, each.primary.start if inside and each.primary is not None else 0

    return tuple(sorted(found, key=key))


def _items(document: Document) -> Iterator[tuple[Any, int]]:
    if isinstance(document.value, list):
        for index, item in enumerate(document.value):
            at = document.places.inner.get(index)
            yield item, document.places.start if at is None else at[0]


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return f"the {'text' if isinstance(value, str) else 'value'} {json.dumps(value, default=str)[:80]}"


def _placed(found: Diagnostic, ours: set[str], written: _Written, path: str, text: str) -> Diagnostic:
    """The finding with what points into the written program pointing into the document."""

    def moved(span: Span) -> Span:
        return _span(path, text, written.place(span.start)) if span.path in ours or span.path == _FILE else span

    return replace(
        found,
        primary=None if found.primary is None else moved(found.primary),
        labels=tuple(Label(moved(each.span), each.message, each.line_only) for each in found.labels),
        suggestions=(),
    )


def _span(path: str, text: str, start: int) -> Span:
    start = min(start, len(text))
    return Span(path, start, min(start + 1, len(text)))


class _Written:
    """The text of a program that holds a document, and where its parts stand in the document."""

    def __init__(self, schema: SchemaFile, document: Document) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._offsets: list[int] = []
        self._places: list[int] = []
        self._note(document.places.start)
        self._add(f"{schema.attribute} = ")
        if isinstance(document.value, dict):
            self._add(f"{schema.schema} ")
            self._value(document.value, document.places)
        else:
            self._add("[\n")
            for index, item in enumerate(document.value):
                at, inner = document.places.inner.get(index, (document.places.start, document.places))
                self._note(at)
                self._add(f"{schema.schema} ")
                self._value(item, inner)
                self._add("\n")
            self._add("]")
        self._add("\n")
        self.text = "".join(self._pieces)

    def place(self, offset: int) -> int:
        """Where in the document that stands which the program has at an offset."""
        return self._places[max(bisect_right(self._offsets, offset) - 1, 0)]

    def _add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)

    def _note(self, place: int) -> None:
        self._offsets.append(self._length)
        self._places.append(place)

    def _value(self, value: Any, places: Places) -> None:
        if isinstance(value, dict):
            self._add("{\n")
            for key, item in value.items():
                at, inner = places.inner.get(key, (places.start, places))
                self._note(at)
                self._add(f"{_text(key)}: ")
                self._value(item, inner)
                self._add("\n")
            self._note(places.start)
            self._add("}")
        elif isinstance(value, list):
            self._add("[\n")
            for index, item in enumerate(value):
                at, inner = places.inner.get(index, (places.start, places))
                self._note(at)
                self._value(item, inner)
                self._add("\n")
            self._note(places.start)
            self._add("]")
        else:
            self._add(_scalar(value))


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    return str(value) if isinstance(value, int) else _text(str(value))


def _text(text: str) -> str:
    """A string of KCL: as JSON spells it, and nothing in it is an interpolation."""
    return json.dumps(text, ensure_ascii=False).replace("$", "\\u0024").replace("\x7f", "\\u007f")
