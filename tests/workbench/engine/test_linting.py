"""Which lines of a file changed."""

from __future__ import annotations

from pathlib import Path

from workbench.engine import linting


def test_of_a_file_that_is_too_large_to_compare_every_line_may_have_changed(tmp_path: Path) -> None:
    """Else what is found far down would be left out as nobody's change."""
    before, after = tmp_path / "before.k", tmp_path / "after.k"
    text = "# a line that says nothing\n" * 100_000
    before.write_text(text)
    after.write_text(text + "a = 1")
    assert linting._changed_lines(before, after) == frozenset(range(1, 100_002))
    assert linting._changed_lines(tmp_path / "none.k", tmp_path / "none.k") == frozenset()
