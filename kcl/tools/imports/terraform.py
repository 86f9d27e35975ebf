"""What `terraform providers schema -json` prints: a file for each resource and data source.

Blocks and types are turned into a JSON Schema first. What a provider alone computes cannot be set, and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kcl.tools.imports import names
from kcl.tools.imports.documents import Document
from kcl.tools.imports.failure import ImportFailure, placed
from kcl.tools.imports.results import Generated, notes_of
from kcl.tools.imports.shapes import Dialect, Reader
from kcl.tools.imports.types import PackageNames, Typing
from kcl.tools.imports.writer import file_text

_DIALECT: Final = Dialect(is_closed=True)
_PLAIN: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    "dynamic": {},
}
_MOST_DEPTH: Final = 60


def is_provider_schema(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("provider_schemas"), Mapping)


def generate(documents: Sequence[Document]) -> list[Generated]:
    """The files for all providers; each has a folder of its own where there are several. Raises ImportFailure."""
    providers: dict[str, tuple[Document, Mapping[str, Any]]] = {}
    for document in documents:
        if not is_provider_schema(document.value):
            raise ImportFailure(
                f"{document.name}: holds no provider_schemas: `terraform providers schema -json` prints them"
            )
        for address, each in document.value["provider_schemas"].items():
            if not isinstance(each, Mapping):
                raise ImportFailure(f"{document.name}: {address}: is no schema of a provider")
            providers[str(address)] = (document, each)
    if not providers:
        raise ImportFailure(f"{documents[0].name}: holds no provider")
    found: dict[tuple[str, ...], Generated] = {}
    for address, (document, each) in sorted(providers.items()):
        short = names.package_part(address.rsplit("/", 1)[-1].lower())
        folder = (short,) if len(providers) > 1 else ()
        for generated in _provider(document, address, short, each, folder):
            if generated.path in found:
                raise ImportFailure(
                    f"{document.name}: two things make {'/'.join(generated.path)}: import one at a time"
                )
            found[generated.path] = generated
    return list(found.values())


def _provider(
    document: Document, address: str, short: str, schema: Mapping[str, Any], folder: tuple[str, ...]
) -> list[Generated]:
    wanted: list[tuple[str, Any]] = []
    if isinstance(schema.get("provider"), Mapping):
        wanted.append((f"{short}_provider", schema["provider"]))
    for word, prefix in (
        ("resource_schemas", ""),
        ("data_source_schemas", "data_"),
        ("ephemeral_resource_schemas", "ephemeral_"),
    ):
        inner = schema.get(word)
        if isinstance(inner, Mapping):
            wanted += [(f"{prefix}{name}", inner[name]) for name in sorted(inner)]
    package = PackageNames(names.schema_name(name) for name, _ in wanted)
    return [_file(f"{document.name}: {address}: {name}", name, each, folder, package) for name, each in wanted]


def _file(where: str, name: str, schema: Any, folder: tuple[str, ...], package: PackageNames) -> Generated:
    block = schema.get("block") if isinstance(schema, Mapping) else None
    if not isinstance(block, Mapping):
        raise ImportFailure(f"{where}: has no block")
    with placed(where):
        shape = Reader(_DIALECT, _no_reference).read(_block(block, 0), "")
        typing = Typing(package=package)
        schema_name = names.schema_name(name)
        package.begin(schema_name)
        typing.root(shape, schema_name, schema_name)
        text = file_text(typing)
    stem = names.file_stem(names.snake(name))
    return Generated((*folder, f"{stem}.k"), text, notes_of(where, typing))


def _no_reference(ref: str, where: str) -> str:
    raise ImportFailure(f"{where}: schemas of providers hold no references")


def _block(block: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The JSON Schema of a block."""
    if depth > _MOST_DEPTH:
        raise ImportFailure("blocks are nested too deeply")
    properties: dict[str, Any] = {}
    required: list[str] = []
    computed: list[str] = []
    for name, each in _mapping(block, "attributes").items():
        if not isinstance(each, Mapping):
            raise ImportFailure(f"{name}: is no attribute")
        if each.get("computed") and not each.get("optional") and not each.get("required"):
            computed.append(name)
            continue
        nested = each.get("nested_type")
        schema = _nested(nested, depth) if isinstance(nested, Mapping) else _type(each.get("type"), name, depth)
        properties[name] = {**schema, "description": _description(each), "nullable": not each.get("required")}
        if each.get("required"):
            required.append(name)
    for name, each in _mapping(block, "block_types").items():
        if not isinstance(each, Mapping) or not isinstance(each.get("block"), Mapping):
            raise ImportFailure(f"{name}: is no block")
        properties[name] = {
            **_nesting(each, _block(each["block"], depth + 1)),
            "description": _description(each["block"]),
        }
        if each.get("min_items"):
            required.append(name)
    text = _description(block)
    if computed:
        text = f"{text}\n\nKnown after it was applied: {', '.join(sorted(computed))}.".strip()
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "description": text,
        "additionalProperties": False,
    }


def _nested(nested: Mapping[str, Any], depth: int) -> dict[str, Any]:
    return _nesting(nested, _block({"attributes": nested.get("attributes", {})}, depth + 1))


def _nesting(of: Mapping[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    mode = of.get("nesting_mode")
    if mode in ("single", "group"):
        return inner
    if mode == "map":
        return {"type": "object", "additionalProperties": inner}
    if mode not in ("list", "set"):
        raise ImportFailure(f"there is no nesting_mode '{mode}': one of single, group, list, set, map")
    schema: dict[str, Any] = {"type": "array", "items": inner}
    if of.get("min_items"):
        schema["minItems"] = of["min_items"]
    if of.get("max_items"):
        schema["maxItems"] = of["max_items"]
    return schema


def _type(given: Any, name: str, depth: int) -> dict[str, Any]:
    """The JSON Schema of a type: `"string"`, `["list", T]`, `["object", {name: T}]`."""
    if depth > _MOST_DEPTH:
        raise ImportFailure(f"{name}: its type is nested too deeply")
    if isinstance(given, str) and given in _PLAIN:
        return dict(_PLAIN[given])
    if isinstance(given, list) and len(given) >= 2:
        kind, inner = given[0], given[1]
        if kind in ("list", "set"):
            return {"type": "array", "items": _type(inner, name, depth + 1)}
        if kind == "map":
            return {"type": "object", "additionalProperties": _type(inner, name, depth + 1)}
        if kind == "tuple" and isinstance(inner, list):
            items = [_type(each, name, depth + 1) for each in inner]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if kind == "object" and isinstance(inner, Mapping):
            optional = given[2] if len(given) > 2 and isinstance(given[2], list) else []
            properties = {key: {**_type(each, name, depth + 1), "nullable": True} for key, each in inner.items()}
            required = [key for key in inner if key not in optional]
            schema = {"type": "object", "properties": properties, "additionalProperties": False, "required": required}
            return schema if inner else {"type": "object"}
    raise ImportFailure(f"{name}: there is no type {given!r:.80}")


def _mapping(of: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    given = of.get(word) or {}
    if not isinstance(given, Mapping):
        raise ImportFailure(f"{word}: is a mapping of names")
    return {str(name): given[name] for name in sorted(given)}


def _description(of: Mapping[str, Any]) -> str:
    text = of.get("description")
    marks = [text.strip()] if isinstance(text, str) and text.strip() else []
    if of.get("deprecated"):
        marks.append("Deprecated.")
    if of.get("sensitive"):
        marks.append("Sensitive.")
    return "\n".join(marks)
