"""Which Events are kept where there are more than there is room for, and of which objects some were left out.

A cluster has as many as its pods fail in an hour, which is hundreds of thousands on a bad day, and a watch of a
namespace gets all of them. What people read of an object is its newest: so every object keeps its newest Warnings, then
the newest of the others, before any object keeps a second handful. How many of whom were left out is counted, since "no
such event" would be another thing to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtimes.kubernetes.client import Object
from runtimes.kubernetes.objects import event_stamp, kind_of, mapping, name_of, namespace_of, uid_of

MOST_EVENTS = 20_000
"""For all namespaces that are watched at once: some 30 MB."""
_FEWEST = 500
_SLACK = 8
"""So many times fewer than there is room for are over it before it is made again: ranking goes through all."""


class EventRoom:
    """Room for the events of one list and the watch that goes on from it."""

    def __init__(self, most: int = MOST_EVENTS) -> None:
        self.most = most
        self._left_out: dict[str, int] = {}
        self._uncounted = 0

    def share(self, most: int, sharers: int) -> None:
        """Takes the part of one of several."""
        self.most = max(min(_FEWEST, most), most // sharers)

    def take_over(self, other: EventRoom) -> None:
        """Counts what another one left out, and no more what this one did: everything was listed again."""
        self._left_out, self._uncounted = dict(other._left_out), other._uncounted

    def is_over(self, events: int) -> bool:
        return events > self.most + self.most // _SLACK

    def thin(self, events: Sequence[Object]) -> tuple[Sequence[Object], Sequence[Object]]:
        """Returns which events to keep, and which were left out; nothing is as long as there is room."""
        if not self.is_over(len(events)):
            return events, ()
        ranked = _ranked(events)
        for each in ranked[self.most :]:
            self._leave_out(_about(each))
        return ranked[: self.most], ranked[self.most :]

    def thinned(self, listed: list[Object]) -> list[Object]:
        """What to keep of a list so far; without any it has begun, or begins again."""
        if not listed:
            self._left_out.clear()
            self._uncounted = 0
        return list(self.thin(listed)[0])

    def come_back(self, event: Object) -> None:
        """Takes note that one that is not kept was changed, and is kept again, or that it is no more."""
        about = _about(event)
        if about in self._left_out:
            self._left_out[about] -= 1
            if not self._left_out[about]:
                del self._left_out[about]

    def about(self, subject: Mapping[str, Any]) -> int | None:
        """Returns how many events about an object are left out; None where that may be some, and was not counted."""
        uid, named = uid_of(subject), _named(kind_of(subject), namespace_of(subject), name_of(subject))
        unspaced = _named(kind_of(subject), "", name_of(subject))
        found = sum(self._left_out.get(each, 0) for each in {uid, named, unspaced})
        return None if not found and self._uncounted else found

    def _leave_out(self, about: str) -> None:
        if about in self._left_out or len(self._left_out) < 2 * self.most:
            self._left_out[about] = self._left_out.get(about, 0) + 1
        else:
            self._uncounted += 1


def _ranked(events: Iterable[Object]) -> list[Object]:
    """Those to keep first: of each object its newest two Warnings, its newest other, two Warnings more, and so on; in
    each round the Warnings of all objects come first, and the newest."""
    newest_first = sorted(events, key=event_stamp, reverse=True)
    seen: dict[tuple[str, bool], int] = {}
    rounds: list[tuple[int, bool, int]] = []
    for index, each in enumerate(newest_first):
        is_other = each.get("type") != "Warning"
        key = _about(each), is_other
        rank = seen.get(key, 0)
        seen[key] = rank + 1
        rounds.append((rank if is_other else rank // 2, is_other, index))
    return [newest_first[index] for _, _, index in sorted(rounds)]


def _about(event: Object) -> str:
    about = mapping(event.get("involvedObject"))
    named = _named(str(about.get("kind")), str(about.get("namespace") or ""), str(about.get("name")))
    return str(about.get("uid") or named)


def _named(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"
