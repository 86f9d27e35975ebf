"""Ages and durations as kubectl writes them: two units at the most, `3m12s`, `2d4h`, `45s`."""

from __future__ import annotations

_MOST_SKEW_SECONDS = 60
"""A time that lies further ahead is by a clock that is wrong, or this one is: how long ago it was is not known."""
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def short(seconds: float) -> str:
    """Returns e.g. `0s`, `59s`, `3m12s`, `25h`, `3d`; `?` for what lies ahead by more than clocks differ."""
    if seconds < -_MOST_SKEW_SECONDS:
        return "?"
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    for position, (unit, size) in enumerate(_UNITS):
        if whole >= size * (2 if unit != "m" else 1):
            count, rest = divmod(whole, size)
            smaller, smaller_size = _UNITS[position + 1]
            extra = rest // smaller_size if count < 10 else 0
            return f"{count}{unit}{extra}{smaller}" if extra else f"{count}{unit}"
    raise AssertionError("every duration of two minutes and more has a unit")


def coarse(seconds: float) -> str:
    """Returns one unit only, for where room is short: `59s`, `3m`, `25h`, `3d`; `?` as `short`."""
    if seconds < -_MOST_SKEW_SECONDS:
        return "?"
    whole = max(0, int(seconds))
    unit, size = next(((unit, size) for unit, size in _UNITS if whole >= 2 * size), ("s", 1))
    return f"{whole // size}{unit}"


def clock(seconds: float) -> str:
    """Returns minutes and seconds for something that runs: `01:12`, `1:02:03`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
