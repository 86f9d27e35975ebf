from __future__ import annotations

from pathlib import Path

import pytest

from kcl import api
from kcl.diagnostics import KclError


@pytest.mark.parametrize(
    "call",
    [
        'file.delete("\\0")',
        'file.write("\\0", "a")',
        'file.append("a\\0", "a")',
        'file.mkdir("\\0")',
        'file.cp("\\0", "b")',
        'file.mv("\\0", "b")',
        'file.read("\\0")',
        'file.exists("\\0")',
        'file.size("a\\0")',
    ],
)
def test_what_is_no_path_is_refused_where_it_is_named(call: str, tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(f"import file\na = {call}\n")
    with pytest.raises(KclError, match="is not allowed"):
        api.run(["main.k"], work_dir=tmp_path)
