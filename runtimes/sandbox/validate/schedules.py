"""When a cron job runs: the expression and its time zone, refused in the words of the server's cron library."""

from __future__ import annotations

import re
import zoneinfo

from runtimes.sandbox.validate.causes import Causes

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: at for at, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: at for at, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_NICKNAMES = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION = re.compile(r"[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0")
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def schedule(causes: Causes, text: str, zone: str | None, held: str | None) -> None:
    """`held` is the expression that the object has so far: one with a zone in it may stay."""
    problem = _problem(text)
    if problem:
        causes.invalid("spec.schedule", text, problem)
    if "TZ" in text:
        if held is None or "TZ" not in held:
            causes.invalid("spec.schedule", text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
        elif zone is not None:
            causes.invalid("spec.schedule", text, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def time_zone(causes: Causes, zone: str | None) -> None:
    if zone is None:
        return
    if not zone:
        causes.invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            causes.invalid("spec.timeZone", zone, f"unknown time zone {zone}")
            return
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        causes.invalid("spec.timeZone", zone, text)
    if zone != "Local" and not _is_zone(zone):
        causes.invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _problem(text: str) -> str:
    """Why the library does not read it; empty if it does."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, _, text = text.partition("=")[2].partition(" ")
        if zone not in ("", "UTC", "Local") and not _is_zone(zone):
            return f"provided bad location {zone}: unknown time zone {zone}"
        text = text.strip()
    if text.startswith("@"):
        return _nickname_problem(text)
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, (low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, field.split(",")):
            try:
                _range(part, low, high, names)
            except ValueError as problem:
                return str(problem)
    return ""


def _nickname_problem(text: str) -> str:
    if text in _NICKNAMES:
        return ""
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        if _DURATION.fullmatch(duration):
            return ""
        return f'failed to parse duration {text}: time: invalid duration "{duration}"'
    return f"unrecognized descriptor: {text}"


def _range(part: str, low: int, high: int, names: dict[str, int]) -> None:
    """Raises ValueError, in the library's words, for a range that is none."""
    span, *steps = part.split("/")
    begin, *ends = span.split("-")
    if begin in ("*", "?"):
        first, last = low, high
    else:
        first = _number(begin, names)
        if len(ends) > 1:
            raise ValueError(f"too many hyphens: {part}")
        last = _number(ends[0], names) if ends else first
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {part}")
    step = 1
    if steps:
        step = _number(steps[0], {})
        last = last if ends else high
    if first < low:
        raise ValueError(f"beginning of range ({first}) below minimum ({low}): {part}")
    if last > high:
        raise ValueError(f"end of range ({last}) above maximum ({high}): {part}")
    if first > last:
        raise ValueError(f"beginning of range ({first}) beyond end of range ({last}): {part}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {part}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
