"""A release → the events of its apply, as they were told then: what a screen, a log or a notebook shows again.

When a step began follows from when it ended and how long it took. What was told while it ran is not recorded.
"""

from __future__ import annotations

from datetime import timedelta

from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import (
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    StepFailed,
    StepFinished,
    StepSkipped,
    StepStarted,
)
from workbench.engine.release import Phase, Release, StepState

_OUTCOMES = {
    Phase.SUCCEEDED: Outcome.SUCCEEDED,
    Phase.PARTIAL: Outcome.PARTIAL,
    Phase.FAILED: Outcome.FAILED,
    Phase.INTERRUPTED: Outcome.INTERRUPTED,
}


def replay(release: Release) -> tuple[Event, ...]:
    """Returns the events in the order of their times. One that did not end has no `ApplyFinished`.

    Raises `ReleaseFailure` where the record has steps, and not how they ended: then nothing is known of the order.
    """
    worked_on = [each for each in release.resources.values() if each.state not in (StepState.KEPT, StepState.INTENDED)]
    if worked_on and not release.events:
        raise ReleaseFailure(
            f"release {release.revision} does not say when its steps ended: an older version made it, or it is a part",
            where=release.stack,
            hint="wb release show tells what became of them",
        )
    told: list[Event] = []
    for each in release.events:
        if isinstance(each, StepFinished | StepFailed):
            told.append(StepStarted(each.at - timedelta(seconds=each.seconds), each.address, each.action))
        told.append(each)
    told.sort(key=lambda each: each.at)
    steps = tuple(each.address for each in release.events)
    begin = ApplyStarted(release.started, release.plan, release.stack, release.revision, steps)
    if release.finished is None or release.phase not in _OUTCOMES:
        return (begin, *told)
    counts = [
        sum(isinstance(each, kind) for each in release.events) for kind in (StepFinished, StepFailed, StepSkipped)
    ]
    seconds = (release.finished - release.started).total_seconds()
    end = ApplyFinished(release.finished, _OUTCOMES[release.phase], release.revision, seconds, *counts)
    return (begin, *told, end)
