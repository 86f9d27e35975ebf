"""The clock of a server, as the dates of its answers tell it: what it dated is as old as that clock says.

Any answer tells it, also a refusal. A date is of whole seconds, and is from before the answer came.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_MOST_AHEAD_SECONDS = 10 * 366 * 86400.0
"""A server that says another century says nothing, and no calendar has room for a time that is moved by so much."""
_SAME_SECONDS = 2.0
"""A clock that differs by less is the same."""


class ServerClock:
    def __init__(self) -> None:
        self._heard: tuple[str, datetime] | None = None
        self._followed: tuple[str, datetime] | None = None
        self._ahead = timedelta()

    def hear(self, date: str) -> None:
        """Takes the header Date of an answer that came now; it is read when somebody wants to know."""
        self._heard = (date, datetime.now(UTC))

    @property
    def ahead_seconds(self) -> float | None:
        """How far the clock of the server was ahead of this machine's at its last answer; None where it did not say."""
        if self._heard is None:
            return None
        said, at = self._heard
        try:
            return (parsedate_to_datetime(said) - at).total_seconds()
        except (TypeError, ValueError):  # no date, or one without its offset
            return None

    @property
    def ahead(self) -> timedelta:
        """How far the clock of the server is ahead, nothing where it is as much as the same or never told.

        In whole seconds, and the same until it is another by more than what a date tells: a second to and fro is no
        change of all times that are told by this machine's clock.
        """
        if self._followed is self._heard:
            return self._ahead
        self._followed = self._heard
        seconds = self.ahead_seconds or 0.0
        found = timedelta(seconds=seconds if abs(seconds) < _MOST_AHEAD_SECONDS else 0.0)
        if abs(found - self._ahead) > timedelta(seconds=_SAME_SECONDS):
            self._ahead = timedelta(seconds=round(found.total_seconds()))
        return self._ahead

    def now(self) -> datetime:
        """What time it is by the clock of the server; by this machine's where it never told, or says the same."""
        return datetime.now(UTC) + self.ahead
