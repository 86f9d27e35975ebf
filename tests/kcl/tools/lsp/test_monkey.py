"""A few random edits and questions, held against a cold check; `monkey.py` goes on for hours."""

import shutil
from pathlib import Path

from tests.kcl.conformance import ROOT
from tests.kcl.tools.lsp.monkey import run


def test_what_an_editor_is_shown_after_random_edits_is_what_a_cold_check_finds(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    shutil.copytree(ROOT / "sample-konfig", root)
    done = run(root, seed=3, turns=3)
    assert done["compared"] == 3
    assert done["opened"] > 0
