"""What the documentation says of DataFrames is what they have."""

from __future__ import annotations

import re

from tests.workbench.notebook.conftest import ROOT
from workbench.notebook import frames, recovery_frames, survey_frames

FRAMES = (
    frames.STACKS,
    frames.SPEC,
    frames.DIFF,
    frames.PLAN,
    frames.RUN,
    frames.STATUS,
    frames.EVENTS,
    frames.TIMELINE,
    frames.RELEASES,
    survey_frames.DRIFT,
    survey_frames.IMPACT,
    survey_frames.POLICIES,
    survey_frames.ROLLOUTS,
    recovery_frames.PODS,
    recovery_frames.HOSTS,
    recovery_frames.AUDIT,
)


def test_every_documented_column_is_there_and_every_column_is_documented() -> None:
    text = (ROOT / "docs" / "notebooks.md").read_text().partition("## DataFrames")[2]
    documented = [row.split(", ") for row in re.findall(r"^\| `.*` \| (.*) \|$", text, re.MULTILINE)]

    assert documented == [list(each) for each in FRAMES]


def test_a_frame_without_rows_has_its_columns_and_dtypes() -> None:
    for columns in FRAMES:
        empty, full = frames.frame(columns, []), frames.frame(columns, [{}])
        assert list(empty.columns) == list(columns)
        assert list(map(str, empty.dtypes)) == list(map(str, full.dtypes))
        assert full.isna().all(axis=None)
