"""Objects, indexed for the questions that readiness asks: who owns whom, what is in a namespace, which
events speak of an object."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar

from runtimes.base import ObjectRef
from runtimes.base.contents import MAPPINGS
from runtimes.kubernetes.fields import parsed_time

Object = Mapping[str, Any]
_Key = TypeVar("_Key", bound=Hashable)
_Index = dict[_Key, dict[str | int, Object]]
_NONE: Mapping[str | int, Object] = {}


class LeftOut(Protocol):
    """Who knows how many events about an object were left out; None where that may be some."""

    def about(self, subject: Object) -> int | None: ...


class Objects:
    """Live objects and events as they are now. Objects may lack an apiVersion, and a uid where they come from a record.

    What is asked of it is true until something is put or taken away; whoever keeps one up to date does so between
    questions. `are_events_known` is False where nobody lets us see events: that there is none then says nothing.
    """

    def __init__(self, live: Iterable[Object] = (), events: Iterable[Object] = ()) -> None:
        self._by_name: _Index[tuple[str, str, str]] = {}
        self._by_kind: _Index[tuple[str, str]] = {}
        self._by_namespace: _Index[str] = {}
        self._by_owner: _Index[str] = {}
        self._events_by_uid: _Index[str] = {}
        self._events_by_name: _Index[tuple[str, str, str]] = {}
        self._reporting: set[tuple[str, str]] = set()
        self.are_events_known = True
        self._uncounting: list[LeftOut] = []
        for each in live:
            self.put(each)
        for each in events:
            self.put(each, is_event=True)

    def expect_status(self, group: str, kind: str) -> None:
        """Takes note that objects of a kind have a status that a controller writes, apart from the rest."""
        self._reporting.add((group, kind))

    def is_status_expected(self, live: Object) -> bool:
        return (group_of(live), kind_of(live)) in self._reporting

    def leave_out(self, left_out: LeftOut) -> None:
        """Has somebody asked of which objects not all events are here."""
        self._uncounting.append(left_out)

    def events_left_out(self, subject: Object) -> int | None:
        """Returns how many events about an object are not here; None where that may be some."""
        found = 0
        for each in self._uncounting:
            some = each.about(subject)
            if some is None:
                return None
            found += some
        return found

    def put(self, each: Object, *, is_event: bool = False) -> None:
        """Takes note of an object, in place of one of the same uid that was taken away, if there was one."""
        mark = uid_of(each) or id(each)
        for index, key in self._keys(each, is_event):
            index.setdefault(key, {})[mark] = each

    def take(self, each: Object, *, is_event: bool = False) -> None:
        """Takes an object away that is there."""
        mark = uid_of(each) or id(each)
        for index, key in self._keys(each, is_event):
            found = index[key]
            found.pop(mark, None)
            if not found:
                del index[key]

    def _keys(self, each: Object, is_event: bool) -> Iterator[tuple[_Index[Any], Any]]:
        if is_event:
            about = mapping(each.get("involvedObject"))
            if about.get("uid"):
                yield self._events_by_uid, str(about["uid"])
            else:
                key = (str(about.get("kind")), str(about.get("namespace") or ""), str(about.get("name")))
                yield self._events_by_name, key
            return
        kind, namespace, name = kind_of(each), namespace_of(each), name_of(each)
        yield self._by_name, (kind, namespace, name)
        yield self._by_kind, (kind, namespace)
        yield self._by_namespace, namespace
        for owner in dict.fromkeys(str(one.get("uid")) for one in mappings(metadata(each).get("ownerReferences"))):
            yield self._by_owner, owner

    def get(self, kind: str, namespace: str, name: str, group: str | None = None) -> Object | None:
        """Returns None if there is none. `group` tells kinds of the same name apart, where objects say theirs."""
        for each in self._by_name.get((kind, namespace, name), _NONE).values():
            if group is None or "apiVersion" not in each or group_of(each) == group:
                return each
        return None

    def of_kind(self, kind: str, namespace: str) -> tuple[Object, ...]:
        return tuple(self._by_kind.get((kind, namespace), _NONE).values())

    def in_any_namespace(self, kind: str) -> tuple[Object, ...]:
        return tuple(each for (of, _), found in self._by_kind.items() if of == kind for each in found.values())

    def in_namespace(self, namespace: str) -> tuple[Object, ...]:
        return tuple(self._by_namespace.get(namespace, _NONE).values())

    def owned_by(self, owner: Object, kind: str | None = None) -> tuple[Object, ...]:
        """Returns what names the object as its owner, by uid, oldest first."""
        owned = self._by_owner.get(uid_of(owner), _NONE).values()
        found = [each for each in owned if kind is None or kind_of(each) == kind]
        return tuple(
            sorted(found, key=lambda each: (str(metadata(each).get("creationTimestamp") or ""), name_of(each)))
        )

    def events_about(self, subject: Object) -> tuple[Object, ...]:
        """Returns the events about an object, oldest first."""
        namespace, key = namespace_of(subject), (kind_of(subject), name_of(subject))
        found = [
            *self._events_by_uid.get(uid_of(subject), _NONE).values(),
            *self._events_by_name.get((key[0], namespace, key[1]), _NONE).values(),
            *(self._events_by_name.get((key[0], "", key[1]), _NONE).values() if namespace else ()),
        ]
        # a stable sort: without times, events stay in the order in which they came
        return tuple(sorted(found, key=lambda event: event_stamp(event)))

    def last_warning(self, subject: Object, *reasons: str) -> Object | None:
        """Returns the latest Warning about the object, of one of these reasons if any are given."""
        for event in reversed(self.events_about(subject)):
            if event.get("type") == "Warning" and (not reasons or event.get("reason") in reasons):
                return event
        return None


def kind_of(live: Object) -> str:
    return str(live.get("kind") or "")


def group_of(live: Object) -> str:
    return str(live.get("apiVersion") or "").rpartition("/")[0]


def metadata(live: Object) -> Mapping[str, Any]:
    return mapping(live.get("metadata"))


def name_of(live: Object) -> str:
    return str(metadata(live).get("name") or "")


def namespace_of(live: Object) -> str:
    return str(metadata(live).get("namespace") or "")


def uid_of(live: Object) -> str:
    return str(metadata(live).get("uid") or "")


def is_going(live: Object) -> bool:
    return bool(metadata(live).get("deletionTimestamp"))


def created(live: Object) -> datetime | None:
    return parsed_time(metadata(live).get("creationTimestamp"))


def spec(live: Object) -> Mapping[str, Any]:
    return mapping(live.get("spec"))


def status(live: Object) -> Mapping[str, Any]:
    return mapping(live.get("status"))


def count(section: Mapping[str, Any], name: str, default: int = 0) -> int:
    """Returns a count; the server leaves zeros out."""
    value = section.get(name)
    return value if isinstance(value, int) else default


def condition(live: Object, type_: str) -> Mapping[str, Any]:
    """Returns the condition of this type, empty if there is none."""
    for each in mappings(status(live).get("conditions")):
        if each.get("type") == type_:
            return each
    return {}


def is_true(state: Mapping[str, Any]) -> bool:
    return state.get("status") == "True"


def is_false(state: Mapping[str, Any]) -> bool:
    return state.get("status") == "False"


def is_observed(live: Object) -> bool:
    """Whether the controller has seen the present spec: for kinds whose status has an observedGeneration."""
    return status(live).get("observedGeneration") == metadata(live).get("generation")


def reference(live: Object) -> ObjectRef:
    return ObjectRef(kind_of(live), namespace_of(live), name_of(live), uid_of(live))


def event_stamp(event: Object) -> str:
    """The last time of an event as text that sorts, empty if it has none."""
    series = mapping(event.get("series"))
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or metadata(event).get("creationTimestamp")
        or ""
    )


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, MAPPINGS) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
