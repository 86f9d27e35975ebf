"""Whose state a change may alter: from what came, went or changed up to the objects that it belongs to.

An object counts for whatever owns it, however far up, and for whatever it speaks of or serves: an event for the object
it is about, the slices of a Service for that Service. Claims and volumes are used by name from anywhere, so that a
change of one may concern everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from runtimes.kubernetes.objects import (
    Object,
    Objects,
    kind_of,
    mapping,
    mappings,
    metadata,
    name_of,
    namespace_of,
)

Name = tuple[str, str, str]
"""Kind, namespace and name: kinds of one name in two groups are taken together."""

_USED_FROM_ANYWHERE = frozenset({"PersistentVolumeClaim", "PersistentVolume"})
_SERVICE = "kubernetes.io/service-name"


def subjects_of(moved: Iterable[Object], objects: Objects, by_uid: Callable[[str], Object | None]) -> set[Name] | None:
    """Returns the names of all that the moved objects may count for, themselves included; None where that is anything.

    `objects` is what there is now, `by_uid` finds one of them.
    """
    found: set[Name] = set()
    todo = list(moved)
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        kind = kind_of(each)
        if kind in _USED_FROM_ANYWHERE:
            return None
        if kind == "Event" or "involvedObject" in each:
            todo += _subjects(each, objects, by_uid)
            continue
        found.add((kind, namespace_of(each), name_of(each)))
        for owner in mappings(metadata(each).get("ownerReferences")):
            found.add((str(owner.get("kind")), namespace_of(each), str(owner.get("name"))))
            found.add((str(owner.get("kind")), "", str(owner.get("name"))))
            above = by_uid(str(owner.get("uid")))
            todo += [above] if above is not None else []
        service = mapping(metadata(each).get("labels")).get(_SERVICE)
        if kind == "EndpointSlice" and isinstance(service, str):
            found.add(("Service", namespace_of(each), service))
    return found


def _subjects(event: Object, objects: Objects, by_uid: Callable[[str], Object | None]) -> Iterator[Object]:
    about = mapping(event.get("involvedObject"))
    by_name = objects.get(str(about.get("kind")), str(about.get("namespace") or ""), str(about.get("name")))
    for each in (by_uid(str(about.get("uid"))), by_name):
        if each is not None:
            yield each
