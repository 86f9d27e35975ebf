"""Rules about what is to be done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fnmatch import fnmatchcase
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import format_path
from workbench.engine.changes import Change, Op, Summary
from workbench.engine.events import Action
from workbench.engine.policy.findings import Violation, at
from workbench.engine.policy.rules import Look, Parameters, Rule, Subject

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS: Final = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)")
_COUNTED: Final[Mapping[str, Callable[[Summary], int]]] = {
    "changes": lambda summary: summary.changes,
    "created": lambda summary: summary.create,
    "updated": lambda summary: summary.update,
    "deleted": lambda summary: summary.delete + summary.replace,
    "restarted": lambda summary: summary.restarts,
}


def _no_deletions(parameters: Parameters) -> Look:
    may_replace = parameters.flag("replacements")

    def look(subject: Subject) -> Iterator[Violation]:
        for each in subject.steps():
            if each.action is Action.DELETE:
                yield at(each.address, "may not be deleted")
            elif each.action is Action.REPLACE and not may_replace:
                yield at(each.address, "may not be deleted, and a replacement does that first")

    return look


def _most_changes(parameters: Parameters) -> Look:
    most = {name: bound for name in _COUNTED if (bound := parameters.whole(name)) is not None}
    if not most:
        raise parameters.lacking(f"with: needs some of {', '.join(_COUNTED)}")

    def look(subject: Subject) -> Iterator[Violation]:
        summary = Summary.of(subject.steps())
        for name, bound in most.items():
            if (count := _COUNTED[name](summary)) > bound:
                yield Violation(f"{count} {name}, and {bound} are allowed at a time")

    return look


def _changeable_fields(parameters: Parameters) -> Look:
    fields = parameters.texts("fields")
    may_create, may_delete = parameters.flag("creations"), parameters.flag("deletions")

    def look(subject: Subject) -> Iterator[Violation]:
        for each in subject.steps():
            if each.action in (Action.UPDATE, Action.IMPORT, Action.MOVE):
                yield from _others(each, fields)
            elif each.action is Action.CREATE and not may_create:
                yield at(each.address, "may not be created, only some fields may change")
            elif each.action in (Action.DELETE, Action.REPLACE, Action.FORGET) and not may_delete:
                yield at(each.address, f"may not go ({each.action.value}), only some fields may change")

    return look


def _others(change: Change, fields: tuple[str, ...]) -> Iterator[Violation]:
    globs = [each.replace("[", "[[]") for each in fields]
    for each in (field for field in change.fields if field.op is not Op.KEPT):
        path = format_path(each.path)
        if not any(fnmatchcase(path, glob) or fnmatchcase(path, f"{glob}.*") for glob in globs):
            yield at(change.address, "may not change", each.path)


def _allowed_users(parameters: Parameters) -> Look:
    users = parameters.texts("users")

    def look(subject: Subject) -> Iterator[Violation]:
        assert subject.plan is not None
        for place in dict.fromkeys(each.address.cluster for each in subject.steps()):
            identity = subject.plan.identities.get(place)
            if identity is None:
                if place in subject.plan.clusters:
                    yield Violation(f"who writes to {place} is not known", is_unknown=True)
            elif not identity.user:
                yield Violation(f"who writes to {place} is not known: its kubeconfig names no user", is_unknown=True)
            elif not any(fnmatchcase(identity.user, each) for each in users):
                yield Violation(f"user {identity.user} may not write to {place}")

    return look


@dataclass(frozen=True, slots=True)
class _Bound:
    """The first or the last of a window: a whole day, or a moment where one is said. `at` is when it begins or ends.

    Moments are compared in UTC: Python compares two times of one zone by what clocks show, and these show an hour twice
    when summer time ends.
    """

    at: datetime
    day: date | None

    def is_before(self, now: datetime, day: date) -> bool:
        return self.day < day if self.day is not None else self.at <= now.astimezone(UTC)

    def is_after(self, now: datetime, day: date) -> bool:
        return self.day > day if self.day is not None else self.at > now.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class _Window:
    """Moments of which all that is said holds: from the first to before the last, some days, some hours of a day.

    Hours that go over midnight belong to the day they begin in.
    """

    since: _Bound | None
    until: _Bound | None
    days: frozenset[int]
    hours: tuple[time, time] | None
    name: str

    def holds(self, now: datetime) -> bool:
        day = self._day(now)
        if day is None or (self.since is not None and self.since.is_after(now, day)):
            return False
        if self.until is not None and self.until.is_before(now, day):
            return False
        return not self.days or day.weekday() in self.days

    def _day(self, now: datetime) -> date | None:
        """Returns the day that a moment belongs to, None outside of the hours."""
        if self.hours is None:
            return now.date()
        begins, ends = self.hours
        clock = now.time()
        if begins < ends or ends == time.min:
            return None if clock < begins or (ends != time.min and clock >= ends) else now.date()
        if clock < ends:
            return now.date() - timedelta(days=1)
        return None if clock < begins else now.date()


def _change_windows(parameters: Parameters) -> Look:
    zone = _zone(parameters)
    opened = tuple(_window(each, zone, parameters) for each in parameters.mappings("open"))
    closed = tuple(_window(each, zone, parameters) for each in parameters.mappings("closed"))
    if not opened and not closed:
        raise parameters.lacking("with: needs open, closed or both")

    def look(subject: Subject) -> Iterator[Violation]:
        if not any(True for _ in subject.steps()):
            return
        for whose, moment in subject.moments():
            now = moment.astimezone(zone)
            by = f", by the clock of {whose}, where it is {now:%Y-%m-%d %H:%M}" if whose else ""
            shut = next((each for each in closed if each.holds(now)), None)
            if shut is not None:
                yield Violation(f"nothing is changed now ({shut.name}){by}")
                return
            if opened and not any(each.holds(now) for each in opened):
                yield Violation(f"changes are made in these times only: {'; '.join(each.name for each in opened)}{by}")
                return

    return look


def _zone(parameters: Parameters) -> tzinfo:
    from zoneinfo import ZoneInfo

    name = parameters.text("zone") or "UTC"
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # also where this machine knows none: no other time is taken for it
        raise parameters.wrong(f"with: this machine knows no time zone {name!r}", "write Asia/Shanghai") from None


def _window(said: Mapping[str, Any], zone: tzinfo, parameters: Parameters) -> _Window:
    for key in said:
        if key not in ("from", "until", "days", "hours", "name"):
            raise parameters.wrong(f"with: unknown key {key!r} of a window; known: from, until, days, hours, name")
    days = said.get("days", [])
    if not isinstance(days, list) or not all(each in _DAYS for each in days):
        raise parameters.wrong(f"with: days of a window need to be some of {', '.join(_DAYS)}")
    since = _moment(said.get("from"), zone, parameters)
    until = _moment(said.get("until"), zone, parameters, is_end=True)
    if since is not None and until is not None and since.at >= until.at:
        raise parameters.wrong("with: a window ends before it begins")
    hours = _hours(said.get("hours"), parameters)
    if since is None and until is None and not days and hours is None:
        raise parameters.wrong("with: a window needs from, until, days or hours")
    name = ", ".join(f"{key} {_text(value)}" for key, value in said.items() if key != "name")
    return _Window(since, until, frozenset(map(_DAYS.index, days)), hours, str(said.get("name") or name))


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _moment(value: Any, zone: tzinfo, parameters: Parameters, *, is_end: bool = False) -> _Bound | None:
    """A day, which is meant as a whole, or a time in the zone of the windows."""
    if value is None:
        return None
    try:
        text = str(value)
        if len(text) == len("2026-12-31"):
            day = date.fromisoformat(text)
            begins = datetime.combine(day + (timedelta(days=1) if is_end else timedelta()), time.min, zone)
            return _Bound(begins.astimezone(UTC), day)
        found = datetime.fromisoformat(text)
        return _Bound((found.replace(tzinfo=zone) if found.tzinfo is None else found).astimezone(UTC), None)
    except (ValueError, OverflowError):
        hint = "write 2026-12-31 or 2026-12-31 18:00"
        raise parameters.wrong(f"with: {value!r} is no day and no time", hint) from None


def _hours(value: Any, parameters: Parameters) -> tuple[time, time] | None:
    if value is None:
        return None
    found = _HOURS.fullmatch(value) if isinstance(value, str) else None
    try:
        if found is None:
            raise ValueError
        begins = time(int(found[1]), int(found[2]))
        ends = time.min if (found[3], found[4]) == ("24", "00") else time(int(found[3]), int(found[4]))
        if begins == ends:
            raise ValueError
    except ValueError:
        raise parameters.wrong(f"with: hours need to be such as '18:00-08:00', got {value!r}") from None
    return begins, ends


RULES: Final = (
    Rule(
        "no-deletions",
        "What it looks at (see kinds) is not deleted, and not replaced either.",
        "replacements: false",
        _no_deletions,
        needs_plan=True,
    ),
    Rule(
        "most-changes",
        "One apply does only so much.",
        "changes: 100, created: 50, updated: 50, deleted: 5, restarted: 20",
        _most_changes,
        needs_plan=True,
    ),
    Rule(
        "changeable-fields",
        "Only some fields change; creations and deletions are allowed by name.",
        'fields: ["spec.replicas", "spec.template.spec.containers[*].image"], creations: false, deletions: false',
        _changeable_fields,
        needs_plan=True,
    ),
    Rule(
        "change-windows",
        "Changes are made at some times only: in windows that are open, and in none that is closed.",
        "zone: Asia/Shanghai, closed: [{days: [sat, sun]}, {from: 2026-12-24, until: 2027-01-02}], "
        'open: [{days: [mon], hours: "09:00-17:00"}]',
        _change_windows,
        needs_plan=True,
    ),
    Rule(
        "allowed-users",
        "Only some users of the kubeconfig write. It keeps from mistakes; what a user may do, the cluster decides.",
        'users: ["deployer", "*-admin"]',
        _allowed_users,
        needs_plan=True,
    ),
)
