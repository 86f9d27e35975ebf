"""How the Specs of all stacks, and their index, are put into a folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

from workbench.engine.compiled_index import write_private


def test_what_a_killed_process_left_of_a_spec_goes_once_nobody_can_be_writing_it(tmp_path: Path) -> None:
    spec = tmp_path / "web" / "dev.yaml"
    write_private(spec, b"old")
    left, now = [spec.parent / f".dev.yaml.{each}.unfinished" for each in ("killed", "writing")], time.time()
    for each, seconds in zip(left, (7200, 60), strict=True):
        each.write_bytes(b"a secret")
        os.utime(each, (now - seconds, now - seconds))
    write_private(spec, b"new")
    assert {each.name for each in spec.parent.iterdir()} == {"dev.yaml", ".dev.yaml.writing.unfinished"}
    assert spec.read_bytes() == b"new" and spec.stat().st_mode & 0o777 == 0o600
