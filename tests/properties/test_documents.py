"""Damaged files of every kind that a repository or a state folder can hold end in a message, for as long as asked."""

from __future__ import annotations

import os
from pathlib import Path

from tests.properties.documents import fuzz
from tests.properties.documents_child import KINDS

FILES = int(os.environ.get("KONFIG_WORKBENCH_DAMAGED_FILES", "170"))


def test_damaged_files_end_in_a_message(tmp_path: Path) -> None:
    report = fuzz(3_600, 20261122, tmp_path, FILES)
    assert report.findings == {}, report.text()
    assert report.inputs.keys() == KINDS.keys() and report.accepted and report.corpus > len(KINDS)
