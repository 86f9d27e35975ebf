"""A process that runs one program and ends does not look for garbage while it loads the language."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import gc, os, sys
from kcl.__main__ import process
gc.collect()
gc.callbacks.append(lambda phase, info: os.write(2, b"collected\\n") if phase == "start" else None)
sys.argv = ["kcl", "run", "main.k"]
process()
"""


def test_nothing_is_collected_while_the_language_is_loaded_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("schema A:\n    x: int = 1\na = [A {x = i} for i in range(3)]\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "KCL_RUN_CACHE": str(tmp_path / "kept")}
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.stdout.startswith("a:\n- x: 0\n")
    assert ended.stderr == ""
