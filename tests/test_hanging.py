"""A test that hangs is named, and the run ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.hanging import Watched

_CONFTEST = """
from tests.hanging import Bounded

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Bounded(longest=0.5, grace=0.5))
"""
_TESTS = """
import asyncio, signal, threading

async def test_waits_for_what_never_comes():
    never = asyncio.get_running_loop().create_future()
    other = asyncio.create_task(asyncio.Event().wait(), name="the other one")
    await never

def test_goes_on():
    pass

def test_hears_nothing():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    threading.Lock().acquire() and threading.Event().wait()
"""


def _environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"}


def test_what_hangs_fails_by_name_and_what_hears_nothing_ends_its_process(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(_TESTS)
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    settings = "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{settings}")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "--max-worker-restart=0", "-ra", "-p", "no:cacheprovider", "."],
        cwd=tmp_path, env=_environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    said = done.stdout + done.stderr
    assert "FAILED test_a.py::test_waits_for_what_never_comes - Failed: hangs:" in said, said
    assert "\nhangs: it took longer than 0.5 seconds\n" in said, said
    assert "task the other one" in said and "await never" in said, said
    assert "crashed while running 'test_a.py::test_hears_nothing'" in said, said
    assert "in test_hears_nothing" in said, said  # where it stood
    assert "2 failed, 1 passed" in said, said
    assert done.returncode == 1


def test_who_hands_out_tests_names_what_it_waits_for() -> None:
    watched = Watched()
    watched.pytest_xdist_node_collection_finished(ids=["a", "b", "c"])
    for each in "ab":
        watched.pytest_runtest_logstart(nodeid=each)
    watched.pytest_runtest_logfinish(nodeid="a")

    assert watched.waits_for() == "began, and did not end: b\nnever began: c\n"

    watched.pytest_runtest_logstart(nodeid="c")
    for each in "bc":
        watched.pytest_runtest_logfinish(nodeid=each)
    assert watched.waits_for() == "All tests ended; what waits is a process that ran them.\n"


def test_where_nothing_happens_any_more_the_run_ends() -> None:
    script = (
        "import time; from tests.hanging import Watched\n"
        "watched = Watched(0.3); watched.pytest_configure(); watched.pytest_runtest_logstart('test_it')\n"
        "time.sleep(100)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3
    assert "nothing has happened for 0.3 seconds: this run ends.\nbegan, and did not end: test_it\n" in done.stderr
