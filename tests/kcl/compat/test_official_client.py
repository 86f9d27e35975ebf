"""The tests of the official Python client, run against `kcl.compat`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kcl.conformance import ROOT, corpus

EXPECTED_FAILURES = {
    "test_format_code_api": "the official formatter ends a file whose last statement is a schema with an empty line",
    "test_override_file_api": "the official edit adds a line end at the end of the file; here only the value changes",
    "test_update_dependencies_api": "reaches the registry of packages",
    "test_exec_api_with_external_dependencies": "reaches the registry of packages",
}


def outcomes(tmp_path: Path, name: str) -> dict[str, str]:
    """How each test of a file of theirs ends, by its name."""
    folder = corpus("kcl-lib-python")
    tests = tmp_path / "tests"
    shutil.copytree(folder / "test_data", tests / "test_data")
    text = (folder / name).read_text()
    text = text.replace("kcl_lib.api", "kcl.compat.api").replace("kcl_lib.plugin", "kcl.compat.plugin")
    (tests / "test_them.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "tests/test_them.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "KPM_REG": "127.0.0.1:9"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    listed = re.findall(r"^(PASSED|FAILED) \S+::(\w+)", done.stdout, re.MULTILINE)
    assert len(listed) == text.count("\ndef test_"), done.stdout[-6000:]
    return {test: outcome for outcome, test in listed}


def test_official_client_tests(tmp_path: Path) -> None:
    """Those that fail are exactly the ones that are listed, each with its reason."""
    ended = outcomes(tmp_path, "api_test.py")
    assert {name for name, outcome in ended.items() if outcome == "FAILED"} == set(EXPECTED_FAILURES)


def test_official_tests_of_plugins(tmp_path: Path) -> None:
    assert set(outcomes(tmp_path, "plugin_test.py").values()) == {"PASSED"}
