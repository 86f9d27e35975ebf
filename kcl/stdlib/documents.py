"""`import json`, `import yaml` and `import manifests`: data as text and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from kcl.emit import json_text, yaml_text
from kcl.evaluator.operations import kind
from kcl.evaluator.sizes import expanded
from kcl.evaluator.value import CallContext, KList, Value, ValueFailure
from kcl.loader.yaml_text import YamlError, load_all_yaml, load_yaml
from kcl.stdlib.access import Access
from kcl.stdlib.conversion import to_plain, to_value
from kcl.stdlib.declaration import Module
from kcl.stdlib.files import write_text
from kcl.stdlib.json_text import JsonError, parse_json

JSON: Final = Module("json")
YAML: Final = Module("yaml")
MANIFESTS: Final = Module("manifests")


# ---------------------------------------------------------------- json


@JSON.function("encode(data: any, sort_keys?: bool, indent?: int, ignore_private?: bool, ignore_none?: bool) -> str")
def json_encode(
    data: Value, sort_keys: bool = False, indent: int = 0, ignore_private: bool = False, ignore_none: bool = False
) -> str:
    plain = to_plain(data, ignore_private=ignore_private, ignore_none=ignore_none)
    return json_text(plain, indent=max(indent, 0), sort_keys=sort_keys)


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except JsonError as problem:
        raise ValueFailure(str(problem)) from None


@JSON.function("decode(value: str) -> any")
def json_decode(value: str) -> Value:
    return to_value(_json(value))


@JSON.function("validate(value: str) -> bool")
def json_validate(value: str) -> bool:
    try:
        _json(value)
    except ValueFailure:
        return False
    return True


@JSON.function(
    "dump_to_file(data: any, filename: str, sort_keys?: bool, indent?: int, ignore_private?: bool, ignore_none?: bool)"
    " -> None",
    contextual=True,
    needs_access=True,
)
def json_dump(access: Access, context: CallContext, data: Value, filename: str, **settings: Any) -> None:
    write_text(access, context, filename, json_encode(data, **settings))


@JSON.function("merge(src: any, patch: any) -> any")
def json_merge(src: Value, patch: Value) -> Value:
    """A JSON merge patch (RFC 7396): None in the patch takes a key away."""
    return to_value(_merged(to_plain(src), to_plain(patch)))


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), item)
    return result


# ---------------------------------------------------------------- yaml


@YAML.function("encode(data: any, sort_keys?: bool, ignore_private?: bool, ignore_none?: bool) -> str")
def yaml_encode(data: Value, sort_keys: bool = False, ignore_private: bool = False, ignore_none: bool = False) -> str:
    return yaml_text(to_plain(data, ignore_private=ignore_private, ignore_none=ignore_none), sort_keys=sort_keys)


@YAML.function("encode_all(data: [any], sort_keys?: bool, ignore_private?: bool, ignore_none?: bool) -> str")
def yaml_encode_all(data: Value, **settings: Any) -> str:
    """Official output has an empty line before each `---`."""
    return "\n---\n".join(yaml_encode(item, **settings) for item in data)


def _yaml(load: Callable[[str], Any], text: str) -> Any:
    try:
        loaded = load(text)
    except YamlError as problem:
        raise ValueFailure(str(problem)) from None
    expanded(loaded)
    return loaded


@YAML.function("decode(value: str) -> any")
def yaml_decode(value: str) -> Value:
    return to_value(_yaml(load_yaml, value))


@YAML.function("decode_all(value: str) -> [any]")
def yaml_decode_all(value: str) -> KList:
    documents = _yaml(load_all_yaml, value) or [None]
    return KList(to_value(document) for document in documents)


@YAML.function("validate(value: str) -> bool")
def yaml_validate(value: str) -> bool:
    try:
        _yaml(load_all_yaml, value)
    except ValueFailure:
        return False
    return True


@YAML.function(
    "dump_to_file(data: any, filename: str, sort_keys?: bool, ignore_private?: bool, ignore_none?: bool) -> None",
    contextual=True,
    needs_access=True,
)
def yaml_dump(access: Access, context: CallContext, data: Value, filename: str, **settings: Any) -> None:
    write_text(access, context, filename, yaml_encode(data, **settings))


@YAML.function(
    "dump_all_to_file(data: [any], filename: str, sort_keys?: bool, ignore_private?: bool, ignore_none?: bool) -> None",
    contextual=True,
    needs_access=True,
)
def yaml_dump_all(access: Access, context: CallContext, data: Value, filename: str, **settings: Any) -> None:
    write_text(access, context, filename, yaml_encode_all(data, **settings))


# ---------------------------------------------------------------- manifests


@MANIFESTS.function("yaml_stream(values: any, opts?: {str:any}) -> None", contextual=True)
def yaml_stream_output(context: CallContext, values: Value, opts: Value = None) -> None:
    """Makes the documents `values` the output of the whole program."""
    if not isinstance(values, list):
        raise ValueFailure(f"invalid list value: yaml_stream() takes a list of documents, got {kind(values)}")
    settings = dict(opts or {})
    sort_keys = bool(settings.get("sort_keys", False))
    ignore_private = bool(settings.get("ignore_private", True))
    ignore_none = bool(settings.get("ignore_none", False))
    separator = settings.get("sep") or "---"
    if not isinstance(separator, str):
        raise ValueFailure(f"yaml_stream() option sep must be a str, got {kind(separator)}")
    rules = {"sort_keys": sort_keys, "ignore_private": ignore_private, "ignore_none": ignore_none}
    context.emit_values(values)
    context.emit(cache(lambda: f"{separator}\n".join(yaml_encode(item, **rules) for item in values)))
