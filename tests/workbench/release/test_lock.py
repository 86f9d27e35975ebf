"""One worker a stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from time import time

import pytest

from tests.workbench.engine.fake_cluster import EPOCH
from tests.workbench.engine.world import STACK
from tests.workbench.release.test_store import A, release
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.engine.events import Action, StepFinished
from workbench.release import Lock, ReleaseStore


def take(folder: Path, host: str = "box") -> Lock:
    return Lock.acquire(folder, user="ann", host=host)


def forge(folder: Path, **content: object) -> None:
    held = json.loads((folder / "lock").read_text())
    (folder / "lock").write_text(json.dumps({**held, **content}))


def test_a_held_lock_names_its_holder(tmp_path: Path) -> None:
    lock = take(tmp_path)
    with pytest.raises(Locked, match=rf"ann@box pid {os.getpid()} since 20\d\d-"):
        take(tmp_path)
    lock.release()
    take(tmp_path).release()


def test_a_lock_of_a_dead_process_of_this_machine_is_taken_over_at_once(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    take(tmp_path)
    forge(tmp_path, pid=dead.pid)
    take(tmp_path).release()


def test_a_lock_of_another_machine_is_respected_until_its_time_is_over(tmp_path: Path) -> None:
    take(tmp_path)
    forge(tmp_path, host="elsewhere", pid=2**22 + 1)
    with pytest.raises(Locked, match="elsewhere"):
        take(tmp_path)
    forge(tmp_path, host="elsewhere", until=time() - 1)
    take(tmp_path).release()


def test_who_slept_past_his_time_cannot_write_and_does_not_take_the_lock_away(tmp_path: Path) -> None:
    store = ReleaseStore(tmp_path, Path("/repo"))
    late = store.lock(STACK, user="ann", host="box")
    journal = store.journal(STACK, release(1), late)
    forge(store.folder(STACK), until=time() - 1)
    owner = store.lock(STACK, user="bob", host="box")
    with pytest.raises(ReleaseFailure, match="the lock was taken over by bob@box"):
        journal.record(StepFinished(EPOCH, A, Action.CREATE, 0.1, "uid-a"))
    with pytest.raises(ReleaseFailure):
        late.renew()
    late.release()
    owner.verify()
    owner.release()
    assert not (store.folder(STACK) / "lock").exists()


def test_renewing_moves_the_end_on(tmp_path: Path) -> None:
    lock = take(tmp_path)
    forge(tmp_path, until=time() + 1)
    lock.renew()
    assert json.loads((tmp_path / "lock").read_text())["until"] > time() + 60
    lock.release()


@pytest.mark.parametrize("content", ["", "[1]", "{}", "nonsense"])
def test_a_lock_file_that_is_no_lock_does_not_lock_for_ever(tmp_path: Path, content: str) -> None:
    (tmp_path / "lock").write_text(content)
    take(tmp_path).release()


def test_of_many_at_once_exactly_one_holds_it(tmp_path: Path) -> None:
    inside = most = won = 0
    guard = threading.Lock()

    def worker() -> None:
        nonlocal inside, most, won
        for _ in range(40):
            try:
                lock = take(tmp_path)
            except Locked:
                continue
            with guard:
                inside, won = inside + 1, won + 1
                most = max(most, inside)
            with guard:
                inside -= 1
            lock.release()

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 1 and won > 0
