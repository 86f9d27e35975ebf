"""How long a saved plan may be applied: what was looked at yesterday is not what somebody agrees to today.

A saved plan is bound to what it was made from, so an old one fails where anything moved. One that nothing moved under
would be good for ever, whoever finds the file. So it says when it was made and until when it is good, and both that and
the limit of the machine that applies it hold. Two machines' clocks differ: a plan of the near future is new; one of the
far future has no age that could be known, and is refused.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from runtimes.base import ClusterIdentity
from workbench.engine.errors import MovedObject, StalePlan

MOST_SKEW = timedelta(minutes=5)


class ExpiredPlan(StalePlan):
    """A saved plan is older than it may be, or how old it is can't be known. Nothing was written."""

    def __init__(self, what: str, *, where: str, hint: str) -> None:
        super().__init__([MovedObject(None, what)], where=where)
        self.message, self.hint = what, hint


def other_clock(cluster: ClusterIdentity) -> timedelta | None:
    """Returns how far a cluster's clock is ahead of this machine's; None where they agree, or it did not say."""
    ahead = cluster.ahead_seconds
    found = timedelta(seconds=ahead) if ahead is not None else timedelta()
    return found if abs(found) > MOST_SKEW else None


def expiry(made_at: datetime, limit: timedelta | None) -> str:
    """Returns what a file says: the moment from which on the plan is not good, empty where it always is."""
    return (made_at + limit).isoformat() if limit is not None else ""


def moment(text: object) -> datetime:
    """Returns a moment that a file names; raises `ValueError` for one without its offset from UTC."""
    found = datetime.fromisoformat(str(text))
    if found.tzinfo is None:
        raise ValueError(f"{text} does not say in which time zone it is")
    return found


def refuse_old(
    made_at: datetime, expires_at: datetime | None, *, now: datetime, limit: timedelta | None, where: str
) -> None:
    """Raises `ExpiredPlan` from the moment on that the file names, or that `limit` sets, whichever is the earlier.

    None is no limit. What was made in the future by more than clocks differ is refused as well.
    """
    if made_at - now > MOST_SKEW:
        raise ExpiredPlan(
            f"how old the plan is can't be known: it says {_shown(made_at)}, and it is {_shown(now)} here",
            where=where,
            hint="one of two clocks is wrong: set it, or plan again here",
        )
    ends = [each for each in (expires_at, made_at + limit if limit is not None else None) if each is not None]
    if not ends or now < min(ends):
        return
    end = min(ends)
    raise ExpiredPlan(
        f"the plan was good until {_shown(end)}: it was made at {_shown(made_at)}, and it is {_shown(now)}",
        where=where,
        hint="plan again and look at what it says" + ("" if end == expires_at else ", or set WB_PLAN_AGE"),
    )


def _shown(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="minutes")
