"""`import datetime`. The clock is the run's own, so that a run can be repeated."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from kcl.evaluator.value import CallContext, ValueFailure
from kcl.patterns import pattern
from kcl.stdlib.access import Access
from kcl.stdlib.declaration import Module

MODULE: Final = Module("datetime")
_RFC3339: Final = pattern(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:\d\d)")
_LEAP_SECOND: Final = pattern(r"(?<=:\d\d:)60")
_DIRECTIVE: Final = pattern(r"%[-_0]?([A-Za-z])")
_WHOLE: Final = tuple(
    map(frozenset, ("Ymd", "Ybd", "YBd", "ymd", "ybd", "yBd", "Yj", "yj", "GVu", "D", "x", "c", "HM", "IMp", "X"))
)
"""Directives that together tell a day, or a time of the day."""
_DEFAULT_FORMAT: Final = "%a %b %d %H:%M:%S %Y"


@MODULE.function("ticks() -> float", contextual=True, needs_access=True, capture="time")
def ticks(access: Access, context: CallContext) -> float:
    """Seconds since 1970."""
    return float(int(access.now().timestamp()))


@MODULE.function("date() -> str", contextual=True, needs_access=True, capture="time")
def date(access: Access, context: CallContext) -> str:
    return access.now().strftime("%Y-%m-%d %H:%M:%S")


@MODULE.function("today() -> str", contextual=True, needs_access=True, capture="time")
def today(access: Access, context: CallContext) -> str:
    return access.now().strftime("%Y-%m-%d %H:%M:%S.%f")


@MODULE.function("now(format?: str, ticks?: float) -> str", contextual=True, needs_access=True, capture="time")
def now(access: Access, context: CallContext, format: str = _DEFAULT_FORMAT, ticks: float | None = None) -> str:
    """The time of the run, or `ticks` seconds after 1970."""
    moment = access.now()
    if ticks is not None:
        try:
            moment = datetime.fromtimestamp(ticks, moment.tzinfo)
        except (ValueError, OverflowError, OSError):
            raise ValueFailure(f"no time is {ticks} seconds after 1970") from None
    return moment.strftime(format)


@MODULE.function("validate(date: str, format: str) -> bool")
def validate(date: str, format: str) -> bool:
    """Whether `date` has that format, and the format tells a whole day or a whole time of the day."""
    try:
        datetime.strptime(date, format)
    except (ValueError, re.error):
        return False
    given = set(_DIRECTIVE.findall(format))
    return any(alternative <= given for alternative in _WHOLE)


@MODULE.function("is_rfc3339(date: str) -> bool")
def is_rfc3339(date: str) -> bool:
    return _is_instant(date)


@MODULE.function("is_iso8601(date: str) -> bool")
def is_iso8601(date: str) -> bool:
    """The official function accepts what RFC 3339 and ISO 8601 have in common: a full date, time and offset."""
    return _is_instant(date)


def _is_instant(value: str) -> bool:
    if not _RFC3339.fullmatch(value):
        return False
    try:
        plain = re.sub(r"\.\d+", "", value.upper()).replace("Z", "+00:00")
        datetime.fromisoformat(_LEAP_SECOND.sub("59", plain))
    except ValueError:
        return False
    return True
