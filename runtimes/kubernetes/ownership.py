"""Whether an apply would leave an object as it is, told by the object itself: pure, no server is asked.

A server-side apply merges what is applied into the object, takes away what its manager applied before and applies no
more, and writes down what is owned now (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy).
So nothing happens where the fields that we own by the last apply, under the same version, are exactly those that are
applied now, and each has the value that it has in the object. The object's own `managedFields` say which fields those
are, and with them how lists are merged, so no schema is needed.

The answer errs to one side only. `True` means that nothing would change, as far as the server's own merge goes;
whatever is not beyond doubt (a value written in another form, an element that cannot be told from another, another
order, a field that the server moves elsewhere) is `False`, and the server is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from runtimes.base.contents import MAPPINGS
from runtimes.base.documents import load_json
from runtimes.kubernetes.objects import is_going

Object = Mapping[str, Any]

# what no manager owns: https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go
_UNOWNED = frozenset({"name", "namespace"})
_OWNED_METADATA = frozenset({"labels", "annotations", "finalizers", "ownerReferences"})
# the one key of built-in lists that the server fills in where it is left out
_FILLED_IN = {"protocol": "TCP"}
_SCALARS = frozenset({str, int, float, bool})
_NOTHING: Mapping[str, Any] = {}


def is_as_applied(content: Object, live: Object, manager: str) -> bool:
    """Whether a server-side apply of `content` by `manager` would change nothing of `live`.

    `live` is the whole object, read under the version that is applied. Admission that would change an object though
    nothing of it changes, or refuse it, is not foreseen.
    """
    if is_going(live) or any(live.get(name) != content.get(name) for name in ("apiVersion", "kind")):
        return False
    own = [entry for entry in _entries(live) if entry.get("manager") == manager and entry.get("operation") == "Apply"]
    if len(own) != 1 or own[0].get("subresource") or own[0].get("apiVersion") != content.get("apiVersion"):
        return False
    tree, metadata = own[0].get("fieldsV1"), content.get("metadata")
    if own[0].get("fieldsType") != "FieldsV1" or not isinstance(tree, MAPPINGS) or not isinstance(metadata, MAPPINGS):
        return False
    named, found = {name: metadata[name] for name in metadata if name not in _UNOWNED}, live.get("metadata")
    if not isinstance(found, MAPPINGS) or not named.keys() <= _OWNED_METADATA:
        return False
    applied = {name: value for name, value in content.items() if name not in ("apiVersion", "kind", "metadata")}
    if named:
        applied["metadata"] = named
    is_built_in = _is_built_in(str(content["apiVersion"]))
    try:
        return _is_same_map(applied, live, tree, is_built_in)
    except (ValueError, TypeError, RecursionError):
        return False  # steps that are not as a server writes them, or names that are no texts


def _entries(live: Object) -> list[Mapping[str, Any]]:
    entries = (live.get("metadata") or {}).get("managedFields")
    return [each for each in entries if isinstance(each, MAPPINGS)] if isinstance(entries, list) else []


def _is_built_in(api_version: str) -> bool:
    group = api_version.rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def _is_same(applied: Any, live: Any, tree: Any, is_built_in: bool) -> bool:
    if not isinstance(tree, dict):
        return False
    if len(tree) == ("." in tree):
        return _is_identical(applied, live)  # owned as a whole
    if type(applied) is dict and type(live) is dict:
        return _is_same_map(applied, live, tree, is_built_in)
    if type(applied) is list and type(live) is list:
        steps = [key for key in tree if key != "."]
        match {key[:2] for key in steps}:
            case sorts if sorts == {"k:"}:
                return _is_same_keyed(applied, live, tree, is_built_in)
            case sorts if sorts == {"v:"}:
                return _is_same_set(applied, live, steps)
    return False


def _is_same_map(applied: Object, live: Object, tree: Mapping[str, Any], is_built_in: bool) -> bool:
    """Looks at each step with as little as it can: a large stack has tens of thousands of them."""
    if len(tree) - ("." in tree) != len(applied):
        return False
    for name, value in applied.items():
        below = tree.get("f:" + name)
        if below is None or name not in live:
            return False
        now = live[name]
        if below == {} and type(value) in _SCALARS:
            if type(now) is not type(value) or now != value:
                return False
        elif not _is_same(value, now, below, is_built_in):
            return False
    return True


def _is_same_keyed(applied: Sequence[Any], live: Sequence[Any], tree: Mapping[str, Any], is_built_in: bool) -> bool:
    if not all(isinstance(each, dict) for each in (*applied, *live)):
        return False
    steps = [key for key in tree if key != "."]
    keys = [_key(step) for step in steps]
    names = keys[0].keys()
    if len(keys) != len(applied) or not names or any(each.keys() != names for each in keys):
        return False
    owned = {_told(key, names): step for key, step in zip(keys, steps, strict=True)}
    # elements that share a key get in by writes that are no apply: how those are merged is the server's affair
    there = {_told(each, names): at for at, each in enumerate(live)}
    if len(owned) != len(keys) or len(there) != len(live):
        return False
    filled_in = _FILLED_IN if is_built_in else {}
    places: list[int] = []
    for element in applied:
        told = _told(element, names, filled_in)
        step, at = owned.pop(told, None), there.get(told)
        if step is None or at is None or not _is_same(element, live[at], tree[step], is_built_in):
            return False
        places.append(at)
    return _is_rising(places)


@lru_cache(maxsize=1 << 10)
def _key(step: str) -> Mapping[str, Any]:
    """The same few keys are in every object of a kind. Raises ValueError for what is none."""
    key = load_json(step[2:])
    if not isinstance(key, dict) or any(each is None for each in key.values()):
        raise ValueError("no key of an element")
    return key


def _told(element: Object, names: Iterable[str], filled_in: Mapping[str, Any] = _NOTHING) -> tuple[Any, ...]:
    """Returns what tells an element from others, as it is written: `1` is not `true`. TypeError: no plain values."""
    values = [element[name] if name in element else filled_in.get(name) for name in names]
    return (*map(type, values), *values)


def _is_same_set(applied: Sequence[Any], live: Sequence[Any], steps: Sequence[str]) -> bool:
    owned = [load_json(step[2:]) for step in steps]
    if len(owned) != len(applied) or not all(_count(owned, each) == 1 for each in applied):
        return False
    if not all(_count(live, each) == 1 for each in applied):
        return False
    return _is_rising([next(at for at, other in enumerate(live) if _is_identical(other, each)) for each in applied])


def _count(values: Iterable[Any], value: Any) -> int:
    return sum(_is_identical(each, value) for each in values)


def _is_rising(places: Sequence[int]) -> bool:
    """Whether elements lie in the order in which they are applied: a merge puts them into that order."""
    return all(one < next_ for one, next_ in pairwise(places))


def _is_identical(one: Any, other: Any) -> bool:
    """Compares JSON values in the form in which they are written: `1` is not `1.0`, nor `true`, nor `"1"`."""
    if type(one) is not type(other) or one is None:
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_identical(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_identical, one, other))
    return bool(one == other)
