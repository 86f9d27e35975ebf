"""What kinds that keep a number of pods have in common: which pods hold them up, and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from runtimes.kubernetes.health import pod
from runtimes.kubernetes.health.verdict import Verdict, failed, in_progress
from runtimes.kubernetes.objects import Object, Objects, condition, count, is_going, spec, status


def active(pods: Iterable[Object]) -> tuple[Object, ...]:
    """Pods that count: neither ended nor being deleted. A controller replaces the others."""
    return tuple(
        each for each in pods if not is_going(each) and status(each).get("phase") not in ("Failed", "Succeeded")
    )


def broken(pods: Sequence[Object], objects: Objects, done: str) -> Verdict | None:
    """Returns Failed if a pod waits because of an error, with the pods that do. `done` are the counts in words."""
    found = [(each, verdict) for each in pods if (verdict := pod.hopeless(each, objects))]
    if not found:
        return None
    first = found[0][1].health
    return failed(
        f"{done}; {first.message}" if done else first.message,
        reason=first.reason,
        evidence=found[0][1].evidence,
        because=tuple(each for each, _ in found),
    )


def unready(pods: Sequence[Object], now: datetime) -> tuple[Object, ...]:
    """Pods that do not stand ready yet, those that were restarted a moment ago included."""
    return tuple(each for each in pods if not pod.is_ready(each) or pod.is_restarting(each, now))


def aging(live: Object, pods: Sequence[Object], unavailable: int) -> tuple[Object, ...]:
    """The pods that are ready but do not count as available yet, as `minReadySeconds` asks for more time.

    Which these are is told by who became ready last: the clock of this machine may not be the cluster's.
    """
    if not count(spec(live), "minReadySeconds"):
        return ()
    ready = [each for each in pods if pod.is_ready(each)]
    ready.sort(key=lambda each: str(condition(each, "Ready").get("lastTransitionTime") or ""), reverse=True)
    return tuple(ready[: max(unavailable, 0)])


def aging_in_words(live: Object, pods: Sequence[Object]) -> str:
    """What to say after the counts while some pods are `aging`."""
    return f"; ready for less than the {count(spec(live), 'minReadySeconds')} s of minReadySeconds" if pods else ""


def unsteady(pods: Sequence[Object], now: datetime) -> Verdict | None:
    """Returns InProgress if a pod that looks ready was restarted moments ago."""
    found = tuple(each for each in pods if pod.is_restarting(each, now))
    if not found:
        return None
    return in_progress(
        "a container was restarted moments ago", reason="Restarted", evidence="recent restart", because=found
    )
