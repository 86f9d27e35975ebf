"""Many processes want one stack: one of them has it at any time, and who slept past his time writes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sizes import size
from tests.workbench.engine.world import STACK
from tests.workbench.release.test_store import release
from workbench.engine.errors import Locked
from workbench.release import Lock, ReleaseStore

PROCESSES, ATTEMPTS = size(6, 50), size(20, 200)

# Who has the lock makes a file that must not be there, and takes it away again before giving the lock up.
CONTENDER = """
import json, os, sys, time
from pathlib import Path
from workbench.engine.errors import Locked
from workbench.release import Lock

folder, attempts = Path(sys.argv[1]), int(sys.argv[2])
won = refused = together = unnamed = 0
print("here", flush=True)
sys.stdin.readline()
for _ in range(attempts):
    try:
        lock = Lock.acquire(folder, user="ann", host="box")
    except Locked as error:
        refused += 1
        unnamed += "ann@box pid " not in error.message
        time.sleep(0.002)
        continue
    try:
        os.close(os.open(folder / "inside", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        together += 1
    else:
        lock.verify()
        (folder / "inside").unlink()
    lock.release()
    won += 1
print(json.dumps([won, refused, together, unnamed]))
"""

# Holds a stack, has written what it intends, and writes what became of it when it is told to.
SLEEPER = """
import sys
from pathlib import Path
from tests.workbench.engine.fake_cluster import EPOCH
from tests.workbench.engine.world import STACK
from tests.workbench.release.test_store import A, release
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import Action, StepFinished
from workbench.release import ReleaseStore, lock

lock.LIFETIME_SECONDS = 0.5
store = ReleaseStore(Path(sys.argv[1]), Path("/repo"))
held = store.lock(STACK, user="ann", host="box")
journal = store.journal(STACK, release(1), held)
print("held", flush=True)
sys.stdin.readline()
for write in (lambda: journal.record(StepFinished(EPOCH, A, Action.CREATE, 0.1, "late")), held.renew):
    try:
        write()
        print("WRITTEN")
    except ReleaseFailure as error:
        print(error.message)
held.release()
"""


@contextmanager
def started(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_of_many_processes_exactly_one_holds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CONTENDER, str(tmp_path), str(ATTEMPTS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    try:
        for each in processes:
            assert each.stdout is not None and each.stdout.readline() == "here\n"
        for each in processes:
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        found = [json.loads(each.communicate()[0]) for each in processes]
    finally:
        for each in processes:
            each.kill()
            each.wait()
    won, refused, together, unnamed = (sum(each) for each in zip(*found, strict=True))
    with capsys.disabled():
        print(f"\n{PROCESSES} processes x {ATTEMPTS}: {won} held it, {refused} were kept out")  # noqa: T201
    assert (together, unnamed) == (0, 0)
    assert won + refused == PROCESSES * ATTEMPTS
    assert won > 0 and refused > 0
    Lock.acquire(tmp_path, user="ben", host="box").release()


@pytest.mark.parametrize("turn", range(size(1, 20)))
def test_a_process_that_was_stopped_past_its_time_writes_nothing(tmp_path: Path, turn: int) -> None:
    store = ReleaseStore(tmp_path, Path("/repo"))
    with started(SLEEPER, tmp_path) as sleeper:
        assert sleeper.stdin is not None and sleeper.stdout is not None
        assert sleeper.stdout.readline() == "held\n"
        os.kill(sleeper.pid, signal.SIGSTOP)
        owner = _taken(store)
        before = {each.name: each.read_bytes() for each in store.folder(STACK).iterdir()}
        os.kill(sleeper.pid, signal.SIGCONT)
        said = sleeper.communicate("\n")[0].splitlines()
    assert len(said) == 2
    assert all("the lock was taken over by ben@box" in each for each in said), said
    assert {each.name: each.read_bytes() for each in store.folder(STACK).iterdir()} == before
    assert store.latest(STACK) == release(1)
    owner.verify()
    owner.release()


def _taken(store: ReleaseStore) -> Lock:
    """Returns the lock as soon as the time of its holder is over, which is alive all the while."""
    for _ in range(1_000):
        try:
            return store.lock(STACK, user="ben", host="box")
        except Locked:
            time.sleep(0.02)
    raise AssertionError("the time of who was stopped did not end")
