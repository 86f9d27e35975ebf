"""Merging values: the `|` operator, configuration entries, and attributes that meet their configuration.

Nothing is changed in place but the container the caller owns: `merge_entry` writes into its first argument, `unite`
returns a new value that shares what it did not touch.

Merging into a schema instance by `|`, and into one that is an attribute's default, builds a new instance from all that
either side was given, so defaults that depend on a merged attribute follow, and the schema's checks run again. Entries
of one literal are only put together, as officially: other attributes stay as they were computed, nothing is checked
again, and an attribute that the schema does not declare is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from kcl.diagnostics import Span
from kcl.evaluator.operations import equals, kind
from kcl.evaluator.value import (
    INSERT,
    OVERRIDE,
    SCALARS,
    UNDEFINED,
    UNION,
    KDict,
    KList,
    SchemaInstance,
    Sites,
    Value,
    ValueFailure,
)

_MOST_SITES = 8
_IDEMPOTENT: Final = 1  # two unlike values of one key conflict
_RESOLVED: Final = 2  # an instance that is changed is built again
_NONE: Final[Mapping[str, int]] = {}


class _Conflict(Exception):
    """Two values that cannot both hold; `path` grows while the exception leaves the nested merges."""

    def __init__(self, step: str, ours: Value, theirs: Value) -> None:
        super().__init__()
        self.path = [step]
        self.ours, self.theirs = ours, theirs

    def failure(self) -> ValueFailure:
        key = self.path[0]
        ours, theirs = brief(self.ours), brief(self.theirs)
        if not key:
            return ValueFailure(f"conflicting values between {theirs} and {ours}")
        return ValueFailure(
            f"conflicting values on the attribute '{key}' between :\n    {ours}\nand\n    {theirs}\n"
            f"with union path :\n    {'.'.join(reversed(self.path))}\n"
            "try operator '=' to override the attribute, like:\n"
            f"    {{...}} | {{\n            ...\n            {key} = {theirs}\n            ...\n    }}"
        )


def bit_or(left: Value, right: Value, origin: Span | None) -> Value:
    """KCL's `|`: bitwise on ints, a merge of containers in which two different scalars conflict."""
    if type(left) is int and type(right) is int:
        return left | right
    if left is None or left is UNDEFINED:
        return right
    if right is None or right is UNDEFINED:
        return left
    if isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
        try:
            return _unite_containers(left, right, _IDEMPOTENT | _RESOLVED, origin)
        except _Conflict as conflict:
            raise conflict.failure() from None
    raise ValueFailure(f"unsupported operand type(s) for |: '\"{kind(left)}\"' and '\"{kind(right)}\"'")


def merge_entry(
    target: KDict, key: str, value: Value, operator: int, index: int | None, sites: Sites, origin: Span | None
) -> None:
    """Adds an entry to a configuration literal, merging it with an entry of the same key."""
    if index is None and operator != INSERT and key not in target:  # almost always, so without the calls it takes
        dict.__setitem__(target, key, value)
        if operator:
            if target.operators is None:
                target.operators = {}
            target.operators[key] = operator
        if target.sites is None:
            target.sites = {}
        target.sites[key] = sites
        return
    try:
        _merge_entry(target, key, value, operator, index, sites, _IDEMPOTENT, origin)
    except _Conflict as conflict:
        raise conflict.failure() from None


def merge_all(target: KDict, delta: KDict, origin: Span | None) -> None:
    """Merges every entry of `delta`, as `**delta` in a configuration literal does."""
    if not (target or target.operators or delta.operators or delta.indexes or delta.holder):
        dict.update(target, delta)
        target.sites = dict(delta.sites) if delta.sites else None
        return
    try:
        _merge_all(target, delta, _IDEMPOTENT, origin)
    except _Conflict as conflict:
        raise conflict.failure() from None


def configured(default: Value, config: KDict, key: str, origin: Span | None) -> Value:
    """An attribute's default as the configuration changes it; a scalar simply gives way."""
    value, operator, index = config[key], config.operator(key), config.index(key)
    if index is None and operator != INSERT:
        return _unite(default, value, _RESOLVED, origin) if operator == UNION and default is not UNDEFINED else value
    holder = KDict()
    if default is not UNDEFINED:
        dict.__setitem__(holder, key, default)
    _merge_entry(holder, key, value, operator, index, (), _RESOLVED, origin)
    return holder.get(key, UNDEFINED)


@lru_cache(maxsize=65_536)
def joined_sites(first: Sites, second: Sites) -> Sites:
    """The sites of a value two places decided, `first` the more decisive; without repetition, and bounded."""
    if not second or first == second:
        return first
    if not first:
        return second
    joined = tuple(dict.fromkeys(first + second))[:_MOST_SITES]
    return first if joined == first else joined  # the same object, which who remembers it need not compare


def subsumes(delta: Value, value: Value) -> bool:
    """Whether merging `delta` into `value` says nothing that contradicts it at this level."""
    if delta is None or delta is UNDEFINED or value is None or value is UNDEFINED:
        return True
    if isinstance(delta, dict):
        return isinstance(value, dict)
    if isinstance(delta, list):
        return isinstance(value, list) and len(delta) == len(value) and all(map(subsumes, delta, value))
    return type(delta) is type(value) and equals(delta, value)


def brief(value: Value) -> str:
    """A value as messages about conflicts show it: a scalar as JSON, of containers their brackets."""
    if isinstance(value, dict):
        return "{...}"
    if isinstance(value, list):
        return "[...]"
    if value is UNDEFINED:
        return ""
    if not isinstance(value, (str, bool, int, float)):
        return str(value)
    import json  # a run without a conflict needs none of it

    return json.dumps(value, ensure_ascii=False)


def _unite(left: Value, right: Value, rules: int, origin: Span | None) -> Value:
    """The merge of two values under one key: containers merge, anything else gives way to the right."""
    if left is None or left is UNDEFINED:
        return right
    if right is None or right is UNDEFINED:
        return left
    if isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
        return _unite_containers(left, right, rules, origin)
    return right


def _unite_containers(left: Value, right: Value, rules: int, origin: Span | None) -> Value:
    if left is right and not isinstance(left, SchemaInstance):  # an instance with itself is built again, and counted
        return left
    if isinstance(left, KDict) and isinstance(right, KDict):
        if isinstance(left, SchemaInstance) or isinstance(right, SchemaInstance):
            together = _unite_instances if rules & _RESOLVED else _put_together
            return together(left, right, rules, origin)
        result = left.copy()
        _merge_all(result, right, rules, origin)
        return result
    if isinstance(left, list) and isinstance(right, list):
        return _unite_lists(left, right, rules, origin)
    raise ValueFailure(f'union failure, expect "{kind(left)}", got "{kind(right)}"')


def _unite_lists(left: Value, right: Value, rules: int, origin: Span | None) -> KList:
    result = KList(left)
    left_sites, right_sites = getattr(left, "sites", None), getattr(right, "sites", None)
    if left_sites is not None or right_sites is not None:
        result.sites = list(left_sites or [()] * len(left))
    for index, item in enumerate(right):
        if index >= len(left):
            result.append(item)
            if result.sites is not None:
                result.sites.append(right_sites[index] if right_sites else ())
            continue
        try:
            result[index] = _unite(left[index], item, rules, origin)
        except _Conflict as conflict:
            conflict.path.append(f"list[{index}]")
            raise
        if result.sites is not None and right_sites:
            result.sites[index] = joined_sites(right_sites[index], result.sites[index])
    return result


def _unite_instances(left: KDict, right: KDict, rules: int, origin: Span | None) -> Value:
    if isinstance(left, SchemaInstance) and not isinstance(right, SchemaInstance):
        if not SCALARS.issuperset(map(type, right.values())):  # of others nothing is remembered
            return _changed_instance(left, right, rules, origin)
        known = left.schema.made_before(left, right, rules, origin)
        if known is None:
            known = _changed_instance(left, right, rules, origin)
            left.schema.remember(left, right, rules, origin, known)
        return known
    # What else an instance has are its defaults, which are computed again; those that the right side names count.
    keys = dict.fromkeys(left.config_keys if isinstance(left, SchemaInstance) else left)
    assert isinstance(right, SchemaInstance)
    keys.update(dict.fromkeys(right.config_keys))
    config = _part(left, keys)
    for key, value in right.items():
        if key in keys:
            operator, index, sites = right.operator(key), right.index(key), right.sites_of(key)
            _merge_entry(config, key, value, operator, index, sites, rules, origin)
    config = _overriding(config, keys)
    if isinstance(left, SchemaInstance):
        return left.schema.rebuild(config, right.args, right.kwargs, origin or left.origin)
    return right.schema.rebuild(config, right.args, right.kwargs, right.origin or origin)


def _changed_instance(left: SchemaInstance, right: KDict, rules: int, origin: Span | None) -> Value:
    keys = dict.fromkeys((*left.config_keys, *right))
    config = KDict({key: left[key] for key in keys if key in left})
    if left.sites:
        sites = left.sites
        config.sites = {key: sites[key] for key in config if key in sites}
    _merge_all(config, right, rules, origin)
    return left.schema.rebuild_changed(left, right, _overriding(config, keys), origin or left.origin)


def _overriding(config: KDict, keys: Mapping[str, None]) -> KDict:
    """The entries in the order of `keys`, each in place of what was there."""
    if list(config) != list(keys):
        ordered = KDict({key: config[key] for key in keys if key in config})
        ordered.sites = config.sites
        config = ordered
    config.operators, config.indexes = dict.fromkeys(config, OVERRIDE), None
    return config


def _put_together(left: KDict, right: KDict, rules: int, origin: Span | None) -> Value:
    """An instance with what both sides hold, in the order of the left one and then of the right one."""
    if isinstance(left, SchemaInstance):
        result = left.copy()
    else:
        assert isinstance(right, SchemaInstance)
        result = SchemaInstance(right.schema)
        result.update(left)
        result.holder, result.sites = left.holder, dict(left.sites) if left.sites else None
        result.operators = dict(left.operators) if left.operators else None
        result.indexes = dict(left.indexes) if left.indexes else None
        result.args, result.kwargs, result.required, result.origin = (
            right.args,
            right.kwargs,
            right.required,
            right.origin,
        )
    given = dict.fromkeys(left.config_keys if isinstance(left, SchemaInstance) else left)
    given.update(dict.fromkeys(right.config_keys if isinstance(right, SchemaInstance) else right))
    _merge_all(result, right, rules, origin)
    result.config_keys = tuple(given)
    return result


def _part(whole: KDict, keys: Iterable[str]) -> KDict:
    """A copy of some entries, as far as there are such."""
    part = KDict({key: whole[key] for key in keys if key in whole})
    sites = whole.sites
    part.sites = {key: sites[key] for key in part if key in sites} if sites else {}
    if not isinstance(whole, SchemaInstance):
        part.operators = dict(whole.operators) if whole.operators else None
        part.indexes = dict(whole.indexes) if whole.indexes else None
    return part


def _merge_all(target: KDict, delta: KDict, rules: int, origin: Span | None) -> None:
    if delta.operators or delta.indexes or target.operators is not None:
        operators, indexes = delta.operators or _NONE, delta.indexes or _NONE
        for key, value in delta.items():
            operator, index, sites = operators.get(key, UNION), indexes.get(key), delta.sites_of(key)
            _merge_entry(target, key, value, operator, index, sites, rules, origin)
        return
    for key, value in delta.items():  # as above, without the calls that this takes
        sites = delta.sites.get(key, ()) if delta.sites and not delta.holder else delta.sites_of(key)
        if key in target:
            _merge_value(target, key, value, sites, rules, origin)
            continue
        dict.__setitem__(target, key, value)
        if sites:
            if target.sites is None:
                target.sites = {}
            target.sites[key] = sites


def _merge_entry(
    target: KDict,
    key: str,
    value: Value,
    operator: int,
    index: int | None,
    sites: Sites,
    rules: int,
    origin: Span | None,
) -> None:
    if operator != UNION or target.operators is not None:
        if target.operators is None:
            target.operators = {}
        target.operators[key] = operator
    if index is not None:
        if key not in target:
            # What is inserted here may yet meet the list of an attribute's default, at the same place.
            if target.indexes is None:
                target.indexes = {}
            target.indexes[key] = index
        _merge_item(target, key, value, operator, index, sites, rules, origin)
    elif key not in target:
        if operator == INSERT and (value is None or value is UNDEFINED):
            value = KList()
        dict.__setitem__(target, key, value)
        _record(target, key, sites)
    elif operator == OVERRIDE:
        dict.__setitem__(target, key, value)
        _record(target, key, joined_sites(sites, target.sites_of(key)) if sites else ())
    elif operator == INSERT:
        dict.__setitem__(target, key, _inserted(target[key], value, None, target.sites_of(key), sites))
        _record(target, key, joined_sites(sites, target.sites_of(key)))
    else:
        _merge_value(target, key, value, sites, rules, origin)


def _merge_value(target: KDict, key: str, value: Value, sites: Sites, rules: int, origin: Span | None) -> None:
    """An entry written `key: value` of a key that is there."""
    present = target[key]
    if rules & _IDEMPOTENT and not subsumes(value, present):
        raise _Conflict(key, present, value)
    try:
        dict.__setitem__(target, key, _unite(present, value, rules, origin))
    except _Conflict as conflict:
        conflict.path.append(key)
        raise
    if value is not None and value is not UNDEFINED:
        before = target.sites.get(key, ()) if target.sites and not target.holder else target.sites_of(key)
        _record(target, key, joined_sites(sites, before) if sites and before else sites or before)


def _merge_item(
    target: KDict,
    key: str,
    value: Value,
    operator: int,
    index: int,
    sites: Sites,
    rules: int,
    origin: Span | None,
) -> None:
    """An entry written `key[index] operator value`: changes one item of a list, or inserts before it."""
    verb = {UNION: "union", OVERRIDE: "override", INSERT: "inserted"}[operator]
    present = target.get(key, UNDEFINED)
    if key not in target and operator != INSERT:
        hint = "only list attribute" if operator == OVERRIDE else "only non-empty list attribute"
        raise ValueFailure(f"{hint} can be {verb} value with the index {index}")
    if operator == INSERT:
        dict.__setitem__(target, key, _inserted(present, value, index, target.sites_of(key), sites))
        return
    if not isinstance(present, list):
        raise ValueFailure(f"only list attribute can be {verb} value with the index {index}")
    place = index + len(present) if index < 0 else index
    if not 0 <= place < len(present):
        raise ValueFailure(f"index out of bounds: the len is {len(present)} but the index is {index}")
    items = KList(present)
    items.sites = _item_sites(present, target.sites_of(key))
    if operator == OVERRIDE and value is UNDEFINED:
        del items[place], items.sites[place]
    else:
        if operator == OVERRIDE:
            items[place] = value
        else:
            if rules & _IDEMPOTENT and not subsumes(value, items[place]):
                raise _Conflict(f"{key}[{index}]", items[place], value)
            try:
                items[place] = _unite(items[place], value, rules, origin)
            except _Conflict as conflict:
                conflict.path.append(key)
                raise
        items.sites[place] = joined_sites(sites, items.sites[place])
    dict.__setitem__(target, key, items)


def _inserted(present: Value, value: Value, index: int | None, present_sites: Sites, sites: Sites) -> KList:
    if present is None or present is UNDEFINED:
        present = KList()
    if value is None or value is UNDEFINED:
        value = KList()
    if not isinstance(present, list) or not isinstance(value, list):
        raise ValueFailure(
            "only list attribute can be inserted value, the origin value type is "
            f"{kind(present)} and got value type is {kind(value)}"
        )
    items = KList(present)
    items.sites = _item_sites(present, present_sites)
    at = len(items) if index is None else index + len(items) if index < 0 else index
    if at < 0:
        raise ValueFailure(f"index out of bounds: the len is {len(items)} but the index is {index}")
    if at > len(items):
        raise ValueFailure(f"insertion index (is {index}) should be <= len (is {len(items)})")
    items[at:at] = value
    items.sites[at:at] = _item_sites(value, sites)
    return items


def _item_sites(items: Value, otherwise: Sites) -> list[Sites]:
    """The sites of a list's items; those of the entry that holds the list where they have none."""
    sites = getattr(items, "sites", None)
    if sites is None:
        return [otherwise] * len(items)
    return [site or otherwise for site in sites]


def _record(target: KDict, key: str, sites: Sites) -> None:
    if sites:
        if target.sites is None:
            target.sites = {}
        target.sites[key] = sites
