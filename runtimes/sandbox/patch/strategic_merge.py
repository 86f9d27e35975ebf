"""Strategic merge patches: merge patches that know a kind's lists.

A list whose field has the strategy `merge` is merged by its merge key (or as a set of scalars), others are replaced.
Directives in the patch say more: `$patch` replaces or deletes a map or element, `$deleteFromPrimitiveList/x` takes
scalars out of a list, `$setElementOrder/x` orders its elements, `$retainKeys` clears the members of a map it does not
name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtimes.sandbox.apply.typed import go_type, go_value
from runtimes.sandbox.decode import plain
from runtimes.sandbox.patch.errors import PatchError, failed, malformed, rejected
from runtimes.sandbox.schema.registry import KindSchema
from runtimes.sandbox.schema.types import Field, Type

PATCH, RETAIN_KEYS = "$patch", "$retainKeys"
DELETE_FROM, SET_ORDER = "$deleteFromPrimitiveList", "$setElementOrder"

Map = dict[str, Any]


def strategic(kind: KindSchema, document: Map, patch: Any) -> Map:
    """Raises PatchError: 400 for a malformed patch or directive, 500 for one that the server has no name for."""
    return merged_in_place(kind, plain(document), plain(patch))


def merged_in_place(kind: KindSchema, document: Map, patch: Any) -> Map:
    """As `strategic`, using up both: what is left of the patch is what messages about the result show."""
    if patch is None:
        return document
    if not isinstance(patch, dict):
        kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
        found = kinds[type(patch)]
        raise malformed(f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
    return _merge_map(document, patch, kind.type)


def _no_merge_key(element: Map, key: str) -> PatchError:
    return failed(f"map: {go_value(element)} does not contain declared merge key: {key}")


def _unknown_directive(directive: object, element: Map) -> PatchError:
    return failed(f"unknown patch type: {go_value(directive)} in map: {go_value(element)}")


def _wrong_form(expected: str, found: object) -> PatchError:
    # A missing value is what Go's formatting calls wrong.
    shown = "%!s(<nil>)" if found is None else go_type(found)
    return failed(f"expected a {expected}, but received a {shown}")


def _merge_map(original: Map, patch: Map, type_: Type | None) -> Map:
    """Merges `patch` into `original`, which it changes and gives back."""
    if PATCH in patch:
        match patch[PATCH]:
            case "replace":
                del patch[PATCH]
                return patch
            case "delete":
                return {}
        raise _unknown_directive(patch[PATCH], patch)
    _retain_keys(original, patch)
    _merge_ordered_lists(original, patch, type_)
    for key, value in patch.items():
        is_deletion = key.startswith(DELETE_FROM)
        name = _named_list(key, DELETE_FROM) if is_deletion else key
        if value is None:
            original.pop(name, None)
        elif name not in original or not _same_form(original[name], value):
            if not is_deletion:
                _take(original, name, value)
        elif isinstance(value, dict):
            replaces = _strategy(_field(type_, name)) == "replace"
            original[name] = value if replaces else _merge_map(original[name], value, _type_of(type_, name))
        elif isinstance(value, list):
            original[name] = _merge_list(original[name], value, _field(type_, name), is_deletion)
        else:
            original[name] = value
    return original


def _same_form(left: object, right: object) -> bool:
    return isinstance(left, dict) == isinstance(right, dict) and isinstance(left, list) == isinstance(right, list)


def _take(original: Map, name: str, value: Any) -> None:
    """The patch's value as it is, without nulls and without what directives take out."""
    _discard_nulls(value)
    kept = _without_directives(value)
    if kept is _GONE:
        original.pop(name, None)
    else:
        original[name] = kept


_GONE: Any = object()


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        if PATCH in value:
            return _GONE
        kept = {name: _without_directives(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner is not _GONE}
    if isinstance(value, list):
        return [kept for item in value if (kept := _without_directives(item)) is not _GONE]
    return value


def _discard_nulls(value: Any) -> None:
    if isinstance(value, dict):
        for name in [name for name, inner in value.items() if inner is None]:
            del value[name]
        for inner in value.values():
            _discard_nulls(inner)
    elif isinstance(value, list):
        for item in value:
            _discard_nulls(item)


def _field(type_: Type | None, name: str) -> Field | None:
    return type_.map.fields.get(name) if type_ is not None and type_.map is not None else None


def _type_of(type_: Type | None, name: str) -> Type | None:
    return type_.map.member(name) if type_ is not None and type_.map is not None else None


def _named_list(key: str, prefix: str) -> str:
    found, slash, name = key.partition("/")
    if found != prefix or not slash:
        which = "primitive list" if prefix == DELETE_FROM else "setElementOrder list"
        raise malformed(f"invalid patch format of {which}")
    return name


def _retain_keys(original: Map, patch: Map) -> None:
    if RETAIN_KEYS not in patch:
        return
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list):
        raise malformed("invalid patch format of retainKeys")
    for name, value in patch.items():
        if value is None or name.startswith((DELETE_FROM, SET_ORDER)):
            continue
        if name not in retained:
            raise malformed("invalid patch format of retainKeys")
    for name in [name for name in original if name not in retained]:
        del original[name]


# --- lists ---------------------------------------------------------------------------------------------------------


def _strategy(field: Field | None) -> str:
    """`merge`, `replace` or "": the strategies of a field besides retainKeys."""
    parts = field.patch_strategy.split(",") if field is not None else []
    return next((part for part in parts if part and part != "retainKeys"), "")


def _merge_list(original: list[Any], patch: list[Any], field: Field | None, is_deletion: bool) -> list[Any]:
    if _strategy(field) != "merge" and not is_deletion:
        return patch
    if not original and not patch:
        return original
    element = field.type.list.element if field is not None and field.type.list is not None else None
    key = field.merge_key if field is not None else ""
    _check_forms(original, patch)
    if not isinstance((original or patch)[0], dict):
        if is_deletion:
            return [item for item in original if item not in patch]
        merged = _deduplicated([*original, *patch])
        key = ""
    else:
        if not key:
            raise failed(f"cannot merge lists without merge key for {field.name if field is not None else ''}")
        original, patch = _apply_element_directives(original, patch, key)
        merged = _merge_elements(list(original), patch, key, element)
    ours, theirs = _split(merged, patch, key)
    return _in_order(ours, theirs, patch, original, key)


def _check_forms(original: list[Any], patch: list[Any]) -> None:
    """Elements of a merged list are of one type, and no lists."""
    forms = {go_type(item) for item in original + patch}
    if "[]interface {}" in forms:
        raise rejected()
    if len(forms) > 1:
        raise failed("list element types are not identical: " + go_value([original, patch]))


def _deduplicated(items: list[Any]) -> list[Any]:
    """Each scalar once. A later double gives its place to the last item, as the server's in-place way of doing it."""
    kept = list(items)
    at = 0
    while at < len(kept) - 1:
        other = at + 1
        while other < len(kept):
            if kept[other] == kept[at]:
                last = kept.pop()
                if other < len(kept):
                    kept[other] = last
                continue
            other += 1
        at += 1
    return kept


def _apply_element_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Both lists after `$patch` elements were obeyed: those to delete are gone, `replace` leaves the patch's only."""
    plain_elements: list[Any] = []
    replaces = False
    for element in patch:
        if PATCH not in element:
            plain_elements.append(element)
            continue
        match element[PATCH]:
            case "delete":
                if key not in element:
                    raise _no_merge_key(element, key)
                original = [item for item in original if item.get(key) != element[key]]
            case "replace":
                replaces = True
            case "merge":
                raise failed("merging lists cannot yet be specified in the patch")
            case unknown:
                raise _unknown_directive(unknown, element)
    return (plain_elements, []) if replaces else (original, plain_elements)


def _merge_elements(original: list[Any], patch: list[Any], key: str, element: Type | None) -> list[Any]:
    for item in patch:
        if key not in item:
            raise _no_merge_key(item, key)
        at = next((index for index, held in enumerate(original) if held.get(key) == item[key]), None)
        if at is None:
            original.append(item)
        else:
            original[at] = _merge_map(original[at], item, element)
    return original


# --- order ---------------------------------------------------------------------------------------------------------


def _identity(key: str) -> Callable[[Any], Any]:
    def of(item: Any) -> Any:
        if not key:
            return item
        if not isinstance(item, dict):
            raise _wrong_form("map[string]interface {}", item)
        if key not in item:
            raise _no_merge_key(item, key)
        return item[key]

    return of


def _split(merged: list[Any], by: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Elements that are in `by`, and those that only the server has."""
    identity = _identity(key)
    wanted = [identity(item) for item in by]
    ours = [item for item in merged if identity(item) in wanted]
    theirs = [item for item in merged if identity(item) not in wanted]
    return ours, theirs


def _in_order(ours: list[Any], theirs: list[Any], patch: list[Any], server: list[Any], key: str) -> list[Any]:
    """The patch's elements in its order and the server's in theirs. Between the two the server's order decides where it
    knows both; otherwise the patch's element comes first.
    """
    identity = _identity(key)
    patch_order = [identity(item) for item in patch]
    server_order = [identity(item) for item in server]

    def place(order: list[Any]) -> Callable[[Any], int]:
        return lambda item: order.index(identity(item)) if identity(item) in order else len(order)

    right, left = sorted(ours, key=place(patch_order)), sorted(theirs, key=place(server_order))
    out: list[Any] = []
    while left and right:
        one, other = identity(left[0]), identity(right[0])
        knows_both = one in server_order and other in server_order
        comes_first = knows_both and server_order.index(one) < server_order.index(other)
        out.append(left.pop(0) if comes_first else right.pop(0))
    return out + left + right


def _merge_ordered_lists(original: Map, patch: Map, type_: Type | None) -> None:
    """Lists for which the patch gives an order; they are taken out of the patch, being done."""
    for directive in [key for key in patch if key.startswith(SET_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _wrong_form("[]interface {}", order)
        name = _named_list(directive, SET_ORDER)
        field = _field(type_, name)
        if field is None and type_ is not None and type_.map is not None and type_.map.fields:
            struct = type_.go.rpartition(".")[2]
            raise failed(f'unable to find api field in struct {struct} for the json field "{name}"')
        key = field.merge_key if field is not None else ""
        held, sent = original.get(name), patch.get(name)
        for holder in (original, patch):
            if name in holder and not isinstance(holder[name], list):
                raise _wrong_form("[]interface {}", holder[name])
        _check_order(sent or [], order, key)
        if held is not None and sent is not None:
            before = list(held)
            merged = _merge_list(held, sent, field, False)
        elif held is not None:
            before = merged = held
        elif sent is not None:
            before, merged = [], _without_directives(sent)
        else:
            continue
        ours, theirs = _split(merged, order, key)
        original[name] = _in_order(ours, theirs, order, before, key)
        patch.pop(name, None)


def _check_order(sent: list[Any], order: list[Any], key: str) -> None:
    """Raises unless the patch's elements come in the order that it gives for them."""
    if not sent or not order:
        return
    identity = _identity(key)
    at = 0
    kept = [item for item in sent if not (isinstance(item, dict) and PATCH in item)]
    for wanted in order:
        if at < len(kept) and identity(kept[at]) == identity(wanted):
            at += 1
    if at < len(kept):
        raise failed(
            f"The order in patch list:\n{go_value(sent)}\n doesn't match {SET_ORDER} list:\n{go_value(order)}\n"
        )
