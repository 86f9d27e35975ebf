"""JSON Schema, draft 4 to 2020-12: one file for each document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kcl.tools.imports import names
from kcl.tools.imports.documents import Document
from kcl.tools.imports.failure import ImportFailure, placed
from kcl.tools.imports.references import References
from kcl.tools.imports.results import Generated, notes_of
from kcl.tools.imports.shapes import ARRAY, OBJECT, Dialect, Shape
from kcl.tools.imports.types import PackageNames, Typing, is_schema
from kcl.tools.imports.writer import file_text

_MODERN: Final = Dialect(is_closed=False)
_OLD: Final = Dialect(is_closed=False, ref_hides_siblings=True)
_OLD_DRAFTS: Final = ("draft-03", "draft-04", "draft-05", "draft-06", "draft-07")
_WORDS: Final = frozenset(("$schema", "$ref", "$defs", "definitions", "properties", "type", "allOf", "anyOf", "oneOf"))


def is_json_schema(value: Any) -> bool:
    """Whether a document says that it is one, or looks like one."""
    if not isinstance(value, Mapping):
        return False
    schema = value.get("$schema")
    if isinstance(schema, str):
        return "json-schema.org" in schema
    is_typed = value.get("type") == "object" and isinstance(value.get("properties"), Mapping)
    return is_typed or isinstance(value.get("$defs"), Mapping)


def generate(documents: Sequence[Document]) -> list[Generated]:
    """A file for each document. Raises ImportFailure."""
    package = PackageNames()
    taken: dict[str, str] = {}
    found = []
    for each in documents:
        stem = names.file_stem(each.stem.removesuffix(".schema").lower())
        if stem in taken:
            raise ImportFailure(f"{each.name}: makes {stem}.k, as {taken[stem]} does: import it into another --package")
        taken[stem] = each.name
        found.append(_generated(each, stem, package))
    return found


def _generated(document: Document, stem: str, package: PackageNames) -> Generated:
    value = document.value
    if not isinstance(value, Mapping):
        raise ImportFailure(f"{document.name}: is no JSON Schema: a mapping is")
    draft = value.get("$schema")
    is_old = isinstance(draft, str) and any(each in draft for each in _OLD_DRAFTS)
    title = value.get("title")
    name = names.schema_name(title if isinstance(title, str) and len(title) <= 40 and names.camel(title) else stem)
    references = References(value, _OLD if is_old else _MODERN, name, document.name, package.taken)
    typing = Typing(references.definitions, package=package)
    shape = references.shape("#")
    references.schema_name("#")
    notes = []
    opened = typing.opened(shape)
    is_only_definitions = not opened.ref and not _WORDS & (set(value) - {"$schema", "$defs", "definitions"})
    if (opened.ref and _is_of_object(typing, opened)) or (
        not opened.ref and not is_only_definitions and (is_schema(opened) or _is_object(opened))
    ):
        _root(typing, opened, name)
    elif not is_only_definitions:
        holder = Shape("", types=(OBJECT,), properties={"value": shape}, required=("value",), is_open=False)
        typing.root(holder, name, name)
        notes.append(f"{document.name}: the document is no object: {name} has it as the attribute `value`")
    for word in ("$defs", "definitions"):
        inner = value.get(word)
        for key in inner if isinstance(inner, Mapping) else ():
            token = str(key).replace("~", "~0").replace("/", "~1")
            typing.type_of(Shape("", ref=f"#/{word}/{token}"), name)
    if not typing.made:
        raise ImportFailure(f"{document.name}: describes no object, so there is no schema to make of it")
    with placed(document.name):
        text = file_text(typing)
    package.taken |= references.names
    return Generated((f"{stem}.k",), text, [*notes, *notes_of(document.name, typing)])


def _is_of_object(typing: Typing, shape: Shape) -> bool:
    """Whether a reference leads to an object that lists names."""
    while shape.ref:
        shape = typing.opened(typing.definitions[shape.ref])
    return is_schema(shape) and shape.types in ((), (OBJECT,))


def _is_object(shape: Shape) -> bool:
    return shape.types == (OBJECT,) or (
        not shape.types and ARRAY not in shape.types and bool(shape.any_of or shape.one_of)
    )


def _root(typing: Typing, shape: Shape, name: str) -> None:
    """The schema for the whole document; references to `#` mean it too."""
    if shape.ref:
        typing.root(shape, name, name)
    elif is_schema(shape):
        typing.document = typing.definition("#", shape, name)
    else:
        typing.root(shape, name, name)
