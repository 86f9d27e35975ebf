"""A policy written in KCL, where its file is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcl.secrecy.rules import BUILT_IN
from workbench.engine.errors import EngineError
from workbench.engine.policy.evaluating import said


def test_what_is_there_instead_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.k").mkdir()
    os.mkfifo(tmp_path / "pipe.k")
    for name, words in (("none", "there is no such file"), ("folder", "it is a folder"), ("pipe", "no regular file")):
        with pytest.raises(EngineError, match=words):
            said(str(tmp_path / f"{name}.k"), str(tmp_path), {}, BUILT_IN)
