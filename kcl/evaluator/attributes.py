"""Members of values: `value.name`."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.evaluator.operations import kind, subscript
from kcl.evaluator.runtime import Runtime
from kcl.evaluator.value import (
    UNDEFINED,
    KDict,
    KList,
    Method,
    ModuleValue,
    SchemaInstance,
    Sites,
    Value,
    ValueFailure,
)
from kcl.syntax import ast


def load_attribute(runtime: Runtime, value: Value, name: str) -> Value:
    """`value.name`; Undefined for a key a config does not have. Raises ValueFailure where there is no such member.

    An instance has the attributes of its schema, those nobody gave a value too, and the keys that an index signature
    admitted; any other name is a mistake.
    """
    if isinstance(value, dict):
        if name in value:
            return value[name]
        if isinstance(value, SchemaInstance):
            raise ValueFailure(f"schema '{value.schema.name}' attribute '{name}' not found")
        return UNDEFINED
    if type(value) is str:
        method = runtime.library.string_methods.get(name)
        if method is not None:
            return Method(value, method)
        raise ValueFailure(f"str object attr '{name}' not found")
    if isinstance(value, ModuleValue):
        members = runtime.library.modules.get(value.path)
        if members is not None and name in members:
            return members[name]
    get_member = getattr(value, "member", None)
    if get_member is not None:
        return get_member(name)
    raise ValueFailure(f"invalid value '{kind(value)}' to load attribute '{name}'")


def load_path(runtime: Runtime, value: Value, path: Sequence[ast.Member | ast.Index], steps: Sequence[Value]) -> Value:
    """What stands at the path of an assignment target; `steps` are the name, key or index of each step."""
    for part, step in zip(path, steps, strict=True):
        value = load_attribute(runtime, value, step) if isinstance(part, ast.Member) else subscript(value, step)
    return value


def item_sites(value: Value) -> Sequence[Sites] | None:
    """The sites of each item of a list, if it has any."""
    return value.sites if isinstance(value, KList) else None


def sites_of(value: Value, key: Value) -> Sites:
    """The sites of an entry or item of a container; none for anything else."""
    if isinstance(value, KDict):
        return value.sites_of(key) if type(key) is str else ()
    if isinstance(value, KList) and value.sites is not None and type(key) is int:
        return value.sites[key] if -len(value) <= key < len(value) else ()
    return ()
