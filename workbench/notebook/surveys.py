"""What was found out over many stacks: drift, what a change reaches, what policies find, rollouts.

Each is true where a person has to look, and that is also where something could not be found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.engine.drift import StackDrift
from workbench.engine.impact import ImpactReport
from workbench.engine.policy.findings import Judgement
from workbench.notebook.results import Shown
from workbench.notebook.views import Picture, Tab
from workbench.present import drift, drift_board, impact, policy, rollout, rollout_board
from workbench.present.drift_board import Entry
from workbench.present.glyphs import UNICODE
from workbench.present.rows import Column, Row, Table
from workbench.present.text import Line
from workbench.project import Stack
from workbench.release.rollout_listing import RolloutListing

if TYPE_CHECKING:
    import pandas as pd


class Drift(Shown):
    """What others changed live. False only where nobody did, and everything could be asked."""

    name = "drift"

    def __init__(self, stacks: tuple[Stack, ...], looks: tuple[StackDrift, ...], root: Path) -> None:
        self._stacks, self.value, self._root = stacks, looks, root
        self._now = datetime.now(UTC)

    def __bool__(self) -> bool:
        return any(each.has_drifted or not each.is_certain for each in self.value)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import survey_frames

        return survey_frames.drift(self.value, self._root)

    def _picture(self) -> Picture:
        looks = {each.stack: each for each in self.value}
        entries = [Entry(each, looks.get(each.path)) for each in self._stacks]
        rows = drift_board.rows(entries, UNICODE, self._now)
        head = (drift.summary_line(self.value, UNICODE), *drift.identity_lines(self.value))
        return Picture(head, (Tab("Drift", Table(drift_board.COLUMNS, rows)),))

    def _document(self) -> dict[str, Any]:
        return drift.document(self.value, self._root, self._now)


class Impact(Shown):
    """What a change of files does to all stacks. False only where surely nothing changes."""

    name = "impact"

    def __init__(self, report: ImpactReport) -> None:
        self.value = report
        self._now = datetime.now(UTC)

    def __bool__(self) -> bool:
        return self.value.is_different or not self.value.is_certain

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks that change, or of which that is not known."""
        return tuple(each.stack for each in self.value.affected)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import survey_frames

        return survey_frames.impact(self.value)

    def _picture(self) -> Picture:
        lines = tuple(impact.lines(self.value, UNICODE, self._now, live_hint=False))
        return Picture(lines[-1:], (Tab("Changes", _table(lines[:-1])),) if lines[:-1] else ())

    def _document(self) -> dict[str, Any]:
        return impact.document(self.value)


class Policies(Shown):
    """What policies find in what the stacks say. False only where every stack was judged and nothing was found."""

    name = "policies"

    def __init__(self, judged: tuple[Judgement, ...], root: Path) -> None:
        self.value, self._root = judged, root

    def __bool__(self) -> bool:
        return any(not each.is_certain or each.report is None or each.report.findings for each in self.value)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import survey_frames

        return survey_frames.policies(self.value, self._root)

    def _picture(self) -> Picture:
        deferred = policy.deferred_line(self.value)
        foot = (deferred,) if deferred is not None else ()
        lines = (each for judged in self.value for each in policy.judgement_lines(judged, self._root, UNICODE))
        return Picture((policy.summary_line(self.value, UNICODE),), (Tab("Policies", _table(lines)),), foot)

    def _document(self) -> dict[str, Any]:
        return policy.judgements(self.value, self._root)


class Rollouts(Shown):
    """The rollouts of the repository, from whichever machine, and what of them is not known."""

    name = "rollouts"

    def __init__(self, found: RolloutListing, now: datetime) -> None:
        self.value, self._now = found, now

    def __len__(self) -> int:
        return len(self.value.known)

    def __iter__(self) -> Iterator[str]:
        return (each.id for each in self.value.known)

    def __bool__(self) -> bool:
        """Whether one has not ended, or that is not known."""
        found = self.value
        return bool(found.silent or found.unreadable) or any(not each.progress.has_ended for each in found.known)

    @property
    def df(self) -> pd.DataFrame:
        from workbench.notebook import survey_frames

        return survey_frames.rollouts(self.value, self._now)

    def _picture(self) -> Picture:
        found = self.value
        head = rollout_board.counts_line(found, self._now, UNICODE), *rollout_board.doubt_lines(found, UNICODE)
        board = Tab("Rollouts", Table(rollout_board.COLUMNS, rollout_board.rows(found, self._now, UNICODE)))
        each = tuple(
            Tab(one.id, _table(rollout.progress_lines(rollout.Shown(one, self._now), UNICODE))) for one in found.known
        )
        return Picture(head, (board, *each))

    def _document(self) -> dict[str, Any]:
        found = self.value
        return {
            "apiVersion": "wb/v1",
            "kind": "Rollouts",
            "rollouts": [rollout.document(rollout.Shown(each, self._now)) for each in found.known],
            "unreadable": {each.id: str(each.error) for each in found.unreadable},
            "notKnown": {place or "this machine": each.message for place, each in found.silent.items()},
        }


def _table(lines: Iterable[Line]) -> Table:
    return Table((Column(""),), tuple(Row(number, (each,)) for number, each in enumerate(lines)))
