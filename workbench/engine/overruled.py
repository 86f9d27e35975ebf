"""What a cluster makes something else of than is configured: what is applied, compared with a dry run's answer. Pure.

Admission may change what is applied: a mutating webhook or policy that sets another image, or another number of
replicas. An apply then leaves what the dry run says, and so does the next one: nothing is to be changed, and it is not
as configured. Who looks at the difference of live and predicted alone would take that for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runtimes.base import Basis, Body, FieldPath, ListKey, Prediction, is_unknown
from runtimes.base.quantity import amount
from workbench.engine.diff import identities, same

_OWN_METADATA = frozenset({"labels", "annotations", "finalizers", "ownerReferences"})
_ABSENT: tuple[Any, ...] = (None, "", [], {})

Keys = Callable[[FieldPath], tuple[str, ...]]


def overruled(applied: Body, prediction: Prediction) -> Iterator[FieldPath]:
    """Yields the fields that are applied and come out with another value, or not at all.

    What is only written in another form (`1000m` for `1`) is as configured, and so is an empty value that is filled in.
    What a list has besides, and another order of its elements, is not looked at.
    """
    if prediction.basis is not Basis.DRY_RUN:
        return
    keys = identities(prediction)
    for path in _others(applied, prediction.after, keys, ()):
        if _is_said(path):
            yield path


def _others(applied: Any, after: Any, keys: Keys, path: FieldPath) -> Iterator[FieldPath]:
    if applied in _ABSENT or is_unknown(applied) or is_unknown(after):
        return
    if isinstance(applied, Mapping) and isinstance(after, Mapping):
        for name, value in applied.items():
            if name in after:
                yield from _others(value, after[name], keys, (*path, name))
            elif value not in _ABSENT and value not in (False, 0):  # a server leaves these out
                yield (*path, name)
    elif isinstance(applied, list) and isinstance(after, list) and (names := keys(path)):
        for element in applied:
            yield from _other_elements(element, after, names, keys, path)
    elif path == ("metadata", "finalizers") and isinstance(applied, list) and isinstance(after, list):
        if not set(map(str, applied)) <= set(map(str, after)):  # a set, to which others add theirs
            yield path
    elif isinstance(applied, list) and isinstance(after, list) and len(applied) == len(after):
        for index, pair in enumerate(zip(applied, after, strict=True)):
            yield from _others(*pair, keys, (*path, index))
    elif not is_same(applied, after) and not _is_drawn(path, applied):
        yield path


def _other_elements(
    element: Any, after: list[Any], names: tuple[str, ...], keys: Keys, path: FieldPath
) -> Iterator[FieldPath]:
    """An element is known by what it says of its keys: what it leaves out the server fills in."""
    if not isinstance(element, Mapping):
        return
    said = {name: element[name] for name in names if name in element}
    place = (*path, ListKey(tuple((name, each) for name, each in said.items() if isinstance(each, str | int))))
    for other in after:
        if isinstance(other, Mapping) and all(is_same(each, other.get(name)) for name, each in said.items()):
            yield from _others(element, other, keys, place)
            return
    yield place


def _is_said(path: FieldPath) -> bool:
    match path:
        case ("status" | "apiVersion" | "kind", *_):
            return False
        case ("metadata", name, *_):
            return name in _OWN_METADATA
        case _:
            return True


def _is_drawn(path: FieldPath, applied: Any) -> bool:
    """A port that is 0 asks for any."""
    return bool(applied == 0) and str(path[-1]).endswith("Port")


def is_same(applied: Any, after: Any) -> bool:
    if same(applied, after):
        return True
    if isinstance(applied, str) and isinstance(after, str) and "".join(applied.split()) == "".join(after.split()):
        return True  # base64 that was written over several lines
    if isinstance(applied, bool | list | Mapping) or isinstance(after, bool | list | Mapping):
        return False
    try:
        return bool(amount(applied) == amount(after))
    except ValueError:
        return False
