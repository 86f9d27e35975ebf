"""Whether a recovery may run: what was typed, and whether it is still what was looked at."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.engine.errors import ConfirmationRequired, MovedObject, Refused, StalePlan
from workbench.engine.recovery.values import Recovery, StepResult, StepState


def approve(recovery: Recovery, confirm: str, *, dry_run: bool, is_read_only: bool) -> None:
    """Raises `Refused` or `ConfirmationRequired`. A dry run, and one with nothing to do, need no phrase."""
    if dry_run or recovery.is_empty:
        return
    if is_read_only:
        raise Refused(["this session is read-only"], where=recovery.name, hint="unset WB_READONLY to recover")
    if confirm.strip() != recovery.phrase:
        why = f"{recovery.document.operation} on {', '.join(recovery.clusters)}"
        raise ConfirmationRequired(recovery.phrase, why, where=recovery.name)


def check_unchanged(recovery: Recovery, now: Sequence[StepResult]) -> None:
    """Raises `StalePlan` where a run since the preview began a step of this one."""
    began = {each.step.id for each in now if each.state is not StepState.NOT_TRIED}
    known = {each.step.id for each in recovery.previous}
    again = [each for each in recovery.steps if each.id in began - known and not _is_free(each.id, now)]
    if again:
        raise StalePlan([MovedObject(None, f"{each}: was done since") for each in again], where=recovery.name)


def _is_free(step: str, now: Sequence[StepResult]) -> bool:
    """Blocked and refused writes were not done: they may be tried again."""
    return all(
        each.state in (StepState.BLOCKED, StepState.FAILED) and not each.is_uncertain
        for each in now
        if each.step.id == step
    )
