"""Times as the API writes them: whole seconds, UTC, `2026-01-01T00:00:00Z`."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: datetime) -> str:
    """A MicroTime, used by the newer kind of events."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parsed(text: str) -> datetime:
    """Accepts fractions of a second too. Raises ValueError for anything that is no time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def seconds_since(text: str | None, now: datetime) -> float:
    """Infinite if there is no time."""
    return (now - parsed(text)).total_seconds() if text else float("inf")
