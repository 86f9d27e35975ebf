"""What the rules of all kinds share: the shape of their answer and the words for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import Health, Status
from runtimes.kubernetes.objects import Object, metadata, status


@dataclass(frozen=True, slots=True)
class Verdict:
    """The health of an object and what decides it.

    `because` are the objects whose own state explains this one, the most telling first; empty where the object
    explains itself. `evidence` is the condition, container state or event behind the verdict. `container` is set for
    a Pod whose container is to blame. `advice` is what has to be done by hand, where waiting alone does not help; it is
    told with whatever object is found to be the deepest reason.
    """

    health: Health
    evidence: str = ""
    because: tuple[Object, ...] = field(default=(), repr=False)
    container: str = ""
    advice: str = ""


def current(message: str = "", reason: str = "", *, is_qualified: bool = False) -> Verdict:
    return Verdict(Health(Status.CURRENT, reason, message, is_qualified))


def in_progress(
    message: str, *, reason: str = "", evidence: str = "", because: tuple[Object, ...] = (), container: str = ""
) -> Verdict:
    return Verdict(Health(Status.IN_PROGRESS, reason, message), evidence or message, because, container)


def failed(
    message: str, *, reason: str = "", evidence: str = "", because: tuple[Object, ...] = (), container: str = ""
) -> Verdict:
    return Verdict(Health(Status.FAILED, reason, message), evidence or message, because, container)


def terminating(message: str, *, evidence: str = "", because: tuple[Object, ...] = ()) -> Verdict:
    return Verdict(Health(Status.TERMINATING, "", message), evidence or message, because)


def unobserved(live: Object, because: tuple[Object, ...] = ()) -> Verdict:
    """The verdict while a status speaks of an older generation, with all of its counts and conditions.

    Controllers act before they write that they have seen a generation, so what they wait for may be there already.
    """
    seen, wanted = status(live).get("observedGeneration"), metadata(live).get("generation")
    return in_progress(
        f"generation {wanted} is not observed yet",
        reason="NotObserved",
        evidence=f"observedGeneration {seen} of {wanted}" if seen is not None else "observedGeneration is not set",
        because=because,
    )


def condition_text(condition: Mapping[str, Any]) -> str:
    """A condition in words."""
    parts = (f"{condition.get('type')} {condition.get('status')}", condition.get("reason"), condition.get("message"))
    return ", ".join(str(part) for part in parts if part)


def event_text(event: Object | None) -> str:
    return f"event {event.get('reason')}: {event.get('message')}" if event else ""
