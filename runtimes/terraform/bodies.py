"""Bodies as a person would write them, out of everything that Terraform keeps of a resource.

A plan has each attribute twice, as it is and as it will be, and most of them nobody ever wrote: computed ones, blocks
that are empty, nulls. A body keeps an attribute, and likewise a key of a mapping or of a block inside, if

    it is configured, or
    it is not the same before and after (so defaults show when a resource is made, and nothing shows twice).

Null is absent. A single block that was written as a mapping is one, though Terraform keeps a list. Elements of a set
come in the order in which they were written; `before` has them at the same places as `after`, as far as both have them.
Where nothing is configured, for a resource to be deleted, everything that can be set and is not empty is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.base import UNKNOWN, FieldPath, is_unknown, refers
from runtimes.terraform import values
from runtimes.terraform.schema import Form, Type


@dataclass(frozen=True, slots=True)
class Pair:
    """A value before and after. None is absent, on either side."""

    before: Any
    after: Any


def paired(wanted: Mapping[str, Any], pair: Pair, type_: Type | None) -> Pair:
    """Returns both bodies of a resource that is configured as `wanted`; None stays None."""
    return _mapping(values.composed(wanted), pair, type_)


def written(attributes: Mapping[str, Any], type_: Type | None) -> dict[str, Any]:
    """Returns the body of a resource that is not configured: what can be set, and says something."""
    found = {}
    for key, value in attributes.items():
        attribute = type_.fields.get(key) if type_ else None
        if values.is_empty(value) or (attribute and not attribute.is_settable):
            continue
        found[key] = _written(value, attribute.type if attribute else None)
    return found


def shaped_path(path: FieldPath, wanted: Any, raw: Any, type_: Type | None) -> FieldPath:
    """Returns where a path of Terraform's leads in a body; what is inside a set is led to the set."""
    shaped: list[Any] = []
    wanted = values.composed(wanted)
    for step in path:
        if isinstance(raw, list):
            if isinstance(wanted, Mapping):
                raw, type_ = (raw[0] if raw else None), type_.element if type_ else None
                continue
            if _is_set(wanted, raw, type_):
                break
        shaped.append(step)
        wanted = _step(wanted, step)
        raw = _step(raw, step)
        type_ = type_.at(step) if type_ else None
    return tuple(shaped)


def differences(before: Any, after: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Any, Any]]:
    """Yields each field that is not the same, with both values; lists of other lengths or of texts as a whole."""
    if values.same(before, after):
        return
    match before, after:
        case Mapping(), Mapping():
            for key in dict.fromkeys((*before, *after)):
                yield from differences(before.get(key), after.get(key), (*path, key))
        case list(), list() if len(before) == len(after) and all(isinstance(each, Mapping) for each in before + after):
            for index, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from differences(one, other, (*path, index))
        case _:
            yield path, before, after


def _step(value: Any, step: Any) -> Any:
    match value:
        case Mapping():
            return value.get(step)
        case list() if isinstance(step, int) and 0 <= step < len(value):
            return value[step]
        case _:
            return None


def _written(value: Any, type_: Type | None) -> Any:
    match value:
        case Mapping():
            return written(value, type_)
        case list():
            return [_written(each, type_.element if type_ else None) for each in value]
        case _:
            return value


def _mapping(wanted: Any, pair: Pair, type_: Type | None) -> Pair:
    """`wanted` other than a mapping means that nothing of it is configured."""
    asked = wanted if isinstance(wanted, Mapping) else {}
    before = pair.before if isinstance(pair.before, Mapping) else {}
    after = pair.after if isinstance(pair.after, Mapping) else {}
    shaped: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for key in dict.fromkeys((*asked, *before, *after)):
        inner = Pair(before.get(key), after.get(key))
        is_configured = asked.get(key) is not None
        both_there = pair.before is not None and pair.after is not None
        if both_there and values.same(inner.before, inner.after):
            if not is_configured:
                continue
            one = inner.after if inner.after is not None else inner.before
            inner = Pair(one, one)
        value = _value(asked.get(key), inner, type_.at(key) if type_ else None)
        # one kind of nothing that becomes another is a change, and nobody could see it in what is left out
        keeps_empty = is_configured or (both_there and values.is_empty(value.before) and values.is_empty(value.after))
        for side, each in zip(shaped, (value.before, value.after), strict=True):
            if each is not None and (keeps_empty or not values.is_empty(each)):
                side[key] = each
    return Pair(
        shaped[0] if pair.before is not None else None,
        shaped[1] if pair.after is not None else None,
    )


def _value(wanted: Any, pair: Pair, type_: Type | None) -> Pair:
    pair, type_ = _unwrapped(wanted, pair, type_)
    sides = [side for side in (pair.before, pair.after) if side is not None]
    if sides and all(isinstance(side, Mapping) for side in sides):
        return _mapping(wanted, pair, type_)
    if sides and all(isinstance(side, list) for side in sides):
        return _list(wanted, pair, type_)
    return Pair(*(_alone(wanted, side, type_) for side in (pair.before, pair.after)))


def _alone(wanted: Any, side: Any, type_: Type | None) -> Any:
    """Shapes one side where the other is of another form: unknown, or another type of an attribute of any type."""
    match side:
        case Mapping():
            return _mapping(wanted, Pair(None, side), type_).after
        case list():
            return _list(wanted, Pair(None, side), type_).after
        case _:
            return side


def _unwrapped(wanted: Any, pair: Pair, type_: Type | None) -> tuple[Pair, Type | None]:
    """Takes single blocks out of their lists where they were written as mappings."""
    sides = (pair.before, pair.after)
    lists = [side for side in sides if isinstance(side, list)]
    if not (isinstance(wanted, Mapping) and lists and all(map(_is_one_block, lists))):
        return pair, type_
    one = [(side[0] if side else None) if isinstance(side, list) else side for side in sides]
    return Pair(*one), type_.element if type_ else None


def _is_one_block(found: list[Any]) -> bool:
    """A list of null is none: taken out it could not be told from an empty list."""
    return not found or (len(found) == 1 and (isinstance(found[0], Mapping) or is_unknown(found[0])))


def _list(wanted: Any, pair: Pair, type_: Type | None) -> Pair:
    before, after = pair.before, pair.after
    if _is_set(wanted, after if after is not None else before, type_):
        if after is not None:
            after = _in_order(after, wanted if isinstance(wanted, list) else [])
        if before is not None:
            before = _in_order(before, after if after is not None else wanted if isinstance(wanted, list) else [])
    element = type_.element if type_ else None
    shaped: tuple[list[Any], list[Any]] = [], []
    for index in range(max(len(before or ()), len(after or ()))):
        asked = _step(wanted, index)
        inner = Pair(_step(before, index), _step(after, index))
        value = _element(asked, inner, element)
        for side, source, each in zip(shaped, (before, after), (value.before, value.after), strict=True):
            if source is not None and index < len(source):
                side.append(each)
    return Pair(shaped[0] if before is not None else None, shaped[1] if after is not None else None)


def _element(wanted: Any, pair: Pair, type_: Type | None) -> Pair:
    """Shapes elements of a list at one place. Those that nobody wrote, in a list that changes, are shown whole."""
    if wanted is None:
        return Pair(_written(pair.before, type_), _written(pair.after, type_))
    return _value(wanted, pair, type_)


def _is_set(wanted: Any, raw: Any, type_: Type | None) -> bool:
    """Without a schema it is one if it has what was written, in another order."""
    if type_ is not None and type_.form is not Form.ANY:
        return type_.form is Form.SET
    if not isinstance(wanted, list) or not isinstance(raw, list) or len(wanted) != len(raw):
        return False
    in_order = all(_matches(one, other) for one, other in zip(wanted, raw, strict=True))
    return not in_order and len(_placed(raw, wanted)) == len(raw)


def _in_order(found: list[Any], order: list[Any]) -> list[Any]:
    """Returns the elements in the order of those they match; the rest fill the places between, then come last."""
    places = _placed(found, order)
    rest = iter([each for index, each in enumerate(found) if index not in places.values()])
    at = [found[places[index]] if index in places else next(rest, _NOTHING) for index in range(len(order))]
    return [*(each for each in at if each is not _NOTHING), *rest]


_NOTHING = object()


def _placed(found: list[Any], order: list[Any]) -> dict[int, int]:
    """Returns which place of `order` each element of `found` matches, by its index; sure matches come first."""
    places: dict[int, int] = {}
    for is_sure in (True, False):
        for index, wanted in enumerate(order):
            if index in places:
                continue
            taken = set(places.values())
            candidates = (at for at, each in enumerate(found) if at not in taken)
            match = (at for at in candidates if _matches(wanted, found[at], is_sure=is_sure))
            if (at := next(match, None)) is not None:
                places[index] = at
    return places


def _matches(wanted: Any, found: Any, *, is_sure: bool = False) -> bool:
    """Whether an element is the one that was written: what was not written of it may be anything.

    References and what isn't known match anything, unless it has to be sure.
    """
    if is_unknown(wanted) or refers(wanted) or found is UNKNOWN:
        return not is_sure
    match wanted, found:
        case Mapping(), Mapping():
            return all(_matches(each, found.get(key), is_sure=is_sure) for key, each in wanted.items())
        case Mapping(), [one]:
            return _matches(wanted, one, is_sure=is_sure)
        case list(), list():
            return len(wanted) == len(found) and len(_placed(found, wanted)) == len(found)
        case _:
            return values.same(wanted, found)
