"""Members of values: `value.name`."""

from __future__ import annotations

from kcl.evaluator.operations import kind
from kcl.evaluator.runtime import Runtime
from kcl.evaluator.value import UNDEFINED, KDict, KList, Method, ModuleValue, Sites, Value, ValueFailure


def load_attribute(runtime: Runtime, value: Value, name: str) -> Value:
    """`value.name`; Undefined for a key a config does not have. Raises ValueFailure where there is no such member."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        return UNDEFINED
    if type(value) is str:
        method = runtime.library.string_methods.get(name)
        if method is not None:
            return Method(value, method)
    if isinstance(value, ModuleValue):
        members = runtime.library.modules.get(value.path)
        if members is not None and name in members:
            return members[name]
    get_member = getattr(value, "member", None)
    if get_member is not None:
        return get_member(name)
    raise ValueFailure(f"invalid value '{kind(value)}' to load attribute '{name}'")


def sites_of(value: Value, key: Value) -> Sites:
    """The sites of an entry or item of a container; none for anything else."""
    if isinstance(value, KDict):
        return value.sites_of(key) if type(key) is str else ()
    if isinstance(value, KList) and value.sites is not None and type(key) is int:
        return value.sites[key] if -len(value) <= key < len(value) else ()
    return ()
