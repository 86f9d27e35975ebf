"""What was found out over many stacks → DataFrames: drift, impact, policies, rollouts. See `frames`.

What is not known has a row of its own: a frame that is filtered must not lose that something could not be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.engine.drift import Drifted, StackDrift
from workbench.engine.impact import ImpactReport, StackImpact, State
from workbench.engine.policy.findings import Judgement, PolicyFinding
from workbench.notebook.frames import (
    FRACTION,
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    change_values,
    frame,
    source_values,
    value_text,
)
from workbench.notebook.frames import where_values as where
from workbench.present.drift_board import doubt_lines
from workbench.present.glyphs import UNICODE
from workbench.present.rollout import Shown
from workbench.release.rollout_listing import RolloutListing

if TYPE_CHECKING:
    import pandas as pd

    from workbench.notebook.frames import Values

DRIFT = {
    "stack": TEXT,
    "state": TEXT,
    "id": TEXT,
    "runtime": TEXT,
    "cluster": TEXT,
    "path": TEXT,
    "configured": TEXT,
    "live": TEXT,
    "who": TEXT,
    "changed": TIME,
    "source_file": TEXT,
    "source_line": WHOLE,
    "message": TEXT,
    "looked": TIME,
}
IMPACT = {
    "stack": TEXT,
    "state": TEXT,
    "id": TEXT,
    "runtime": TEXT,
    "op": TEXT,
    "path": TEXT,
    "before": TEXT,
    "after": TEXT,
    "masked": TRUTH,
    "source_file": TEXT,
    "source_line": WHOLE,
    "live_changes": WHOLE,
    "live_restarts": WHOLE,
    "message": TEXT,
}
POLICIES = {
    "stack": TEXT,
    "policy": TEXT,
    "level": TEXT,
    "refuses": TRUTH,
    "unknown": TRUTH,
    "id": TEXT,
    "cluster": TEXT,
    "path": TEXT,
    "message": TEXT,
    "source_file": TEXT,
    "source_line": WHOLE,
    "waived_until": TEXT,
    "expired": TRUTH,
    "waiver_reason": TEXT,
}
ROLLOUTS = {
    "id": TEXT,
    "state": TEXT,
    "running": TRUTH,
    "ready": WHOLE,
    "targets": WHOLE,
    "stage": TEXT,
    "batch": WHOLE,
    "user": TEXT,
    "host": TEXT,
    "began": TIME,
    "reason": TEXT,
    "why": TEXT,
    "runner": TEXT,
    "heard_s": FRACTION,
    "place": TEXT,
}


def drift(looks: Sequence[StackDrift], root: Path) -> pd.DataFrame:
    """One row a field (`state` drift) or resource (deleted) that others changed, and one for each thing that could not
    be told (unknown), with why in `message`."""
    return frame(DRIFT, (row for each in looks for row in _look(each, root)))


def _look(look: StackDrift, root: Path) -> Iterator[Values]:
    about = {"stack": str(look.stack), "looked": look.looked_at}
    for each in look.drifted():
        yield {**about, **_drifted(each, root)}
    if not look.is_certain:
        said = [str(each) for each in doubt_lines(look, UNICODE)]
        undecided = sum(1 for _ in look.diff.undecided()) if look.diff is not None else 0
        if undecided:
            said.append(f"{undecided} resources may be new or deleted: no release is recorded that tells")
        yield {**about, "state": "unknown", "message": "; ".join(said) or "it is not known"}


def _drifted(each: Drifted, root: Path) -> dict[str, Any]:
    from runtimes.base import format_path

    field = each.field
    if field is None:
        return {"state": "deleted", **where(each.address)}
    return {
        "state": "drift",
        **where(each.address),
        "path": format_path(field.path),
        "configured": value_text(field.after),
        "live": value_text(field.before),
        "who": field.actor.manager if field.actor else "",
        "changed": field.actor.when if field.actor else None,
        **source_values(field.source, root),
    }


def impact(report: ImpactReport) -> pd.DataFrame:
    """One row a field or whole resource that changes, one for each stack of which that is not known, and one for each
    doubt. `live_changes` and `live_restarts` are of the whole stack, NA where clusters were not queried or not sure."""
    rows = [row for each in report.affected for row in _impact(each, report.root)]
    rows += [{"state": "unknown", "message": f"{each.where}: {each.message}".strip(": ")} for each in report.doubts]
    return frame(IMPACT, rows)


def _impact(each: StackImpact, root: Path) -> Iterator[Values]:
    about: dict[str, Any] = {"stack": each.stack, "state": each.state.value}
    if each.live is not None and each.live.is_certain:
        summary = each.live.summary
        about |= {"live_changes": summary.changes, "live_restarts": summary.restarts}
    if each.state is State.UNKNOWN or not each.changes:
        said = "; ".join(f"{one.side}: {one.message}" for one in each.failures)
        settings = "; ".join(f"{one.name}: {one.before} → {one.after}" for one in each.settings)
        yield {**about, "message": said or settings}
    for change in each.changes:
        for row in change_values(change, root):
            yield {**row, **about}


def policies(judged: Sequence[Judgement], root: Path) -> pd.DataFrame:
    """One row a finding, waived ones too, and one for each stack that could not be judged (`unknown`, no policy)."""
    return frame(POLICIES, (row for each in judged for row in _judgement(each, root)))


def _judgement(judged: Judgement, root: Path) -> Iterator[Values]:
    about = {"stack": str(judged.stack)}
    if judged.report is None:
        message = getattr(judged.failure, "message", "") or "it could not be judged"
        yield {**about, "unknown": True, "message": message}
        return
    for each in judged.report.findings:
        yield {**about, **_finding(each, root)}


def _finding(found: PolicyFinding, root: Path) -> dict[str, Any]:
    from runtimes.base import format_path

    waiver = found.waiver or found.expired
    return {
        "policy": found.policy,
        "level": found.level.value,
        "refuses": found.refuses,
        "unknown": found.is_unknown,
        "id": str(found.subject) if found.subject is not None else "",
        "cluster": found.place,
        "path": format_path(found.path) if found.path else "",
        "message": found.message,
        **source_values(found.source, root),
        "waived_until": str(waiver.until) if waiver is not None else "",
        "expired": found.waiver is None if waiver is not None else None,
        "waiver_reason": waiver.reason if waiver is not None else "",
    }


def rollouts(found: RolloutListing, now: datetime) -> pd.DataFrame:
    """One row a rollout, the newest first; those that can't be read, and places that did not answer, have `unknown`."""
    rows: list[Values] = [_rollout(Shown(each, now)) for each in found.known]
    rows += [{"id": each.id, "state": "unknown", "why": each.error.message} for each in found.unreadable]
    rows += [
        {"state": "unknown", "place": place or "this machine", "why": error.message}
        for place, error in found.silent.items()
    ]
    return frame(ROLLOUTS, rows)


def _rollout(shown: Shown) -> Values:
    at, runner = shown.at, shown.known.runner
    following = at.next() if not at.has_ended else None
    return {
        "id": at.began.id,
        "state": at.phase.value,
        "running": shown.is_running,
        "ready": len(at.done),
        "targets": at.total,
        "stage": following.stage.name if following else "",
        "batch": following.number + 1 if following else None,
        "user": at.began.user,
        "host": at.began.host,
        "began": at.began.at,
        "reason": at.began.reason,
        "why": at.halted.why if at.halted is not None else "",
        "runner": runner.who if runner is not None else "",
        "heard_s": runner.silent_seconds(shown.now) if runner is not None else None,
        "place": shown.known.place or "this machine",
    }
