"""OpenAPI 2, 3.0 and 3.1. Those of Kubernetes become the package k8s, a file for each definition; others one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kcl.records import replace
from kcl.tools.imports import names, texts
from kcl.tools.imports.documents import Document
from kcl.tools.imports.failure import ImportFailure, placed
from kcl.tools.imports.formats import OF_KINDS, QUANTITY
from kcl.tools.imports.references import References
from kcl.tools.imports.results import Generated, notes_of
from kcl.tools.imports.shapes import KUBERNETES, STRING, Dialect, Shape
from kcl.tools.imports.types import Attribute, PackageNames, Type, Typing, is_schema
from kcl.tools.imports.writer import file_text

_OLD: Final = Dialect(is_closed=False, ref_hides_siblings=True)
_MODERN: Final = Dialect(is_closed=False)
_KINDS: Final = replace(KUBERNETES, formats=OF_KINDS, passes_over_formats=False)
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_KINDS_OF_OBJECTS: Final = "x-kubernetes-group-version-kind"


def is_openapi(value: Any) -> bool:
    return isinstance(value, Mapping) and (isinstance(value.get("openapi"), str) or str(value.get("swagger")) == "2.0")


def generate(documents: Sequence[Document]) -> list[Generated]:
    """The files for all documents; a definition that several have is made once. Raises ImportFailure."""
    package = PackageNames()
    made: dict[tuple[str, ...], Generated] = {}
    sources: dict[tuple[str, ...], str] = {}
    for document in documents:
        if not is_openapi(document.value):
            raise ImportFailure(
                f'{document.name}: is no OpenAPI document: it has neither `openapi` nor `swagger: "2.0"`'
            )
        for each in _generated(document, package):
            known = made.get(each.path)
            if known is None:
                made[each.path], sources[each.path] = each, document.name
            elif known.text != each.text:
                path = "/".join(each.path)
                raise ImportFailure(
                    f"{document.name}: makes another {path} than {sources[each.path]}: import one of them"
                )
    return list(made.values())


def _generated(document: Document, package: PackageNames) -> list[Generated]:
    value = document.value
    if "swagger" in value:
        pointer, schemas = "#/definitions", value.get("definitions")
    else:
        components = value.get("components")
        pointer, schemas = (
            "#/components/schemas",
            components.get("schemas") if isinstance(components, Mapping) else None,
        )
    if not isinstance(schemas, Mapping) or not schemas:
        raise ImportFailure(f"{document.name}: holds no schemas under {pointer}")
    pointers = {f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}": str(name) for name in sorted(schemas)}
    if any(name.startswith("io.k8s.") for name in schemas):
        return _of_kubernetes(document, pointers)
    dialect = _MODERN if str(value.get("openapi", "")).startswith("3.1") else _OLD
    stem = names.file_stem(document.stem.lower())
    references = References(value, dialect, names.schema_name(stem), document.name, package.taken)
    typing = Typing(references.definitions, package=package)
    for each in pointers:
        references.schema_name(each)  # names are given in this order, whoever refers to whom
    for each in pointers:
        typing.type_of(Shape("", ref=each), references.schema_name(each))
    if not typing.made:
        raise ImportFailure(f"{document.name}: describes no object, so there is no schema to make of it")
    with placed(document.name):
        text = file_text(typing)
    package.taken |= references.names
    return [Generated((f"{stem}.k",), text, notes_of(document.name, typing))]


# --- Kubernetes ---


def _of_kubernetes(document: Document, pointers: Mapping[str, str]) -> list[Generated]:
    references = References(_with_quantities(document.value), _KINDS, "K8s", document.name)
    found = []
    for pointer, name in pointers.items():
        shape = references.shape(pointer)
        if is_schema(shape):
            found.append(_definition(document, references, pointers, pointer, name))
    return found


def _with_quantities(value: Any) -> Any:
    """The document with how a quantity is written, which its description says and no schema does."""
    schemas = (value.get("components") or {}).get("schemas") if "components" in value else None
    if not isinstance(schemas, Mapping) or _QUANTITY not in schemas:
        return value
    written = [{"type": "string", "pattern": QUANTITY}, {"type": "number"}]
    made = {**schemas, _QUANTITY: {**schemas[_QUANTITY], "oneOf": written}}
    return {**value, "components": {**value["components"], "schemas": made}}


def _definition(
    document: Document, references: References, pointers: Mapping[str, str], pointer: str, name: str
) -> Generated:
    folder, own = _place(name)
    imports: dict[str, str] = {}

    def external(ref: str) -> Type | None:
        """Another definition is a schema of another file, of this package or of one that is imported."""
        shape = references.definitions[ref]
        if not is_schema(shape):
            return None
        other, schema = _place(pointers[ref])
        if other == folder:
            return Type(schema, frozenset({"object"}))
        alias = other[-1] if other[-1] != folder[-1] else "".join(other[-2:])
        taken = {each for path, each in imports.items() if path != ".".join(other)}
        if alias in taken:
            alias = "".join(other[-2:])
        imports.setdefault(".".join(other), alias)
        return Type(f"{imports['.'.join(other)]}.{schema}", frozenset({"object"}))

    typing = Typing(references.definitions, external)
    shape = references.definitions[pointer]
    shape = replace(shape, properties={each: _without_empty(of) for each, of in shape.properties.items()})
    made = typing.root(shape, own, own, fixed := _fixed(document.value, pointer, shape))
    made.fixed = dict.fromkeys(fixed, "")
    lines = [
        f"import {path}" + ("" if path.endswith(f".{alias}") else f" as {alias}")
        for path, alias in sorted(imports.items())
    ]
    where = f"{document.name}: {name}"
    stem = names.file_stem(names.snake(own))
    with placed(where):
        text = file_text(typing, lines)
    return Generated((*folder, f"{stem}.k"), text, notes_of(where, typing), needs_root=True)


def _place(name: str) -> tuple[tuple[str, ...], str]:
    """The folders and the schema of a definition: `io.k8s.api.apps.v1.Deployment` is `Deployment` in `api/apps/v1`."""
    *parts, own = name.removeprefix("io.k8s.").split(".")
    return tuple(names.package_part(each) for each in parts) or ("core",), names.schema_name(own)


def _without_empty(shape: Shape) -> Shape:
    """Without a default `{}`, `""` or 0: Kubernetes has them where nothing is one, and they hide what is missing."""
    return replace(shape, has_default=False) if shape.has_default and not shape.default else shape


def _fixed(document: Any, pointer: str, shape: Shape) -> dict[str, Attribute]:
    """`apiVersion` and `kind` of what is an object of one group, version and kind."""
    value = document
    for token in pointer.split("/")[1:]:
        value = value[token.replace("~1", "/").replace("~0", "~")]
    given = value.get(_KINDS_OF_OBJECTS)
    if not isinstance(given, list) or len(given) != 1 or not isinstance(given[0], Mapping):
        return {}
    group, version, kind = (str(given[0].get(word, "")) for word in ("group", "version", "kind"))
    fixed = {}
    for name, text in (("apiVersion", f"{group}/{version}" if group else version), ("kind", kind)):
        own = shape.properties.get(name)
        if own is None:
            return {}
        literal = texts.text_literal(text)
        described = Shape("", types=(STRING,), description=own.description)
        fixed[name] = Attribute(name, Type(literal, frozenset({"str"}), holds_enum=True), described, False, literal)
    return fixed
