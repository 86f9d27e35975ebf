"""Every test is collected by every process, and handed out once: what takes long first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.collection import ordered

_TEST = "import pytest\ndef test_one(): pass\n@pytest.mark.slow\ndef test_slow(): pass\n"


def test_what_takes_long_comes_first_and_nothing_is_lost() -> None:
    files = [f"test_{number}.py" for number in range(40)]
    taken = {file: float(number) for number, file in enumerate(files)}

    found = ordered(files, taken, slow={"test_0.py"})

    assert sorted(found) == sorted(files)
    longest, long, others = found[:26], found[26:39], found[39:]
    assert set(longest) == {*files[15:], "test_0.py"} and set(long) == {*files[2:15]} and others == ["test_1.py"]
    assert all(each != sorted(each, key=files.index) for each in (longest, long))
    assert found == ordered(files, taken, slow={"test_0.py"})


def test_a_file_that_fails_to_import_is_reported_by_each_process_and_the_others_are_collected(tmp_path: Path) -> None:
    for name, text in {
        "test_a.py": "import pytest\npytest.importorskip('no_such_module')\n",
        "test_b.py": _TEST,
        "test_c.py": "raise ValueError('a mistake')\n",
        "test_d.py": _TEST,
        "conftest.py": "from tests.collection import pytest_collection, pytest_collection_modifyitems\n",
        "pytest.ini": "[pytest]\nmarkers = slow\naddopts = --import-mode=importlib\n",
    }.items():
        (tmp_path / name).write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "-ra", "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "ValueError: a mistake" in done.stdout and "no_such_module" in done.stdout, done.stdout + done.stderr
    assert "4 passed, 1 skipped, 2 errors" in done.stdout, done.stdout + done.stderr
