"""Processes: on their own, their words in files, known again by their mark."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runtimes.terraform import process
from runtimes.terraform.process import Command, ProcessMark, end_orphans, run, start, start_waiting


def shell(text: str, folder: Path) -> Command:
    return Command(("/bin/sh", "-c", text), {"PATH": os.environ["PATH"], "SECRET": "canary"}, folder)


async def until(happened: object, seconds: float = 10) -> None:
    assert callable(happened)
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)


def wait_without_the_loop(happened: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


async def test_what_it_says_is_in_files_that_only_the_user_may_read(tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    out.write_text("of an earlier one")
    out.chmod(0o644)
    running = await start(shell("echo said; echo complaint >&2; umask; exit 3", tmp_path), output=out, errors=err)
    assert await running.wait() == 3
    assert (out.read_text(), err.read_text()) == (f"said\n{_umask():04o}\n", "complaint\n"), "the user's umask"
    assert out.stat().st_mode & 0o777 == err.stat().st_mode & 0o777 == 0o600


def _umask() -> int:
    umask = os.umask(0o022)
    os.umask(umask)
    return umask


async def test_it_is_the_leader_of_a_session_of_its_own(tmp_path: Path) -> None:
    running = await start(shell("exec sleep 30", tmp_path), output=tmp_path / "out", errors=tmp_path / "err")
    assert os.getsid(running.mark.pid) == running.mark.pid != os.getsid(0)
    assert running.mark.is_running()
    running.interrupt()
    assert await running.wait() == -signal.SIGINT
    assert not running.mark.is_running()


async def test_one_that_waits_begins_when_it_is_told(tmp_path: Path) -> None:
    command = shell("echo begun; cat", tmp_path)
    running = await start_waiting(command, output=tmp_path / "out", errors=tmp_path / "err")
    await asyncio.sleep(0.1)
    assert (tmp_path / "out").read_text() == "" and running.mark.is_running()
    await running.go()
    assert await running.wait() == 0
    assert (tmp_path / "out").read_text() == "begun\n"


async def test_one_that_waits_ends_with_who_started_it(tmp_path: Path) -> None:
    script = (
        "import asyncio, os, signal, sys; from pathlib import Path; from runtimes.terraform.process import *\n"
        "async def main():\n"
        "    folder = Path(sys.argv[1]); command = Command(('/bin/sh', '-c', 'echo begun'), os.environ, folder)\n"
        "    running = await start_waiting(command, output=folder / 'out', errors=folder / 'err')\n"
        "    (folder / 'pid').write_text(str(running.mark.pid))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    root = Path(__file__).parents[3]
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(tmp_path), cwd=root)
    assert await killed.wait() == -signal.SIGKILL
    waiting = ProcessMark.of(int((tmp_path / "pid").read_text()))
    await until(lambda: not waiting.is_running())
    assert (tmp_path / "out").read_text() == ""


async def test_a_program_that_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await start(Command((str(tmp_path / "absent"),), {}, tmp_path), output=tmp_path / "o", errors=tmp_path / "e")


async def test_signals_as_it_ends_do_not_take_its_exit_code(tmp_path: Path) -> None:
    codes = []
    for _ in range(10):
        command = Command(("/bin/sh", "-c", "trap '' INT; exit 3"), os.environ, tmp_path)
        running = await start(command, output=tmp_path / "events", errors=tmp_path / "errors")
        while running.code is None:
            for _ in range(50):  # some of them between its end and the moment in which the event loop hears of it
                running.interrupt()
            await asyncio.sleep(0)
        codes.append(await running.wait())
    assert set(codes) <= {3, -signal.SIGINT}, "255 is what asyncio says where somebody else has taken the code"


async def test_who_runs_too_long_is_killed(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        await run(shell("trap '' INT; sleep 30 & echo $! > child; wait", tmp_path), patience_seconds=0.5)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_PIPES_GRACE_SECONDS", 0.1)


@pytest.mark.usefixtures("brief")
async def test_a_provider_that_stays_and_holds_the_pipes_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        completed = await run(shell("sleep 600 & echo $!; echo complaint >&2; exit 3", tmp_path))
    assert (completed.code, completed.errors) == (3, "complaint\n")
    assert not ProcessMark.of(int(completed.output)).is_running()


@pytest.mark.usefixtures("brief")
async def test_who_holds_the_pipes_from_another_session_is_left_alone_and_not_waited_for(tmp_path: Path) -> None:
    if shutil.which("setsid") is None:
        pytest.skip("there is no setsid")
    async with asyncio.timeout(60):
        completed = await run(shell("setsid sh -c 'echo $$; exec sleep 600' & echo said; sleep 0.2", tmp_path))
    said = completed.output.decode().split()
    (stays,) = (int(each) for each in said if each != "said")
    try:
        assert completed.code == 0 and "said" in said and ProcessMark.of(stays).is_running()
    finally:
        os.kill(stays, signal.SIGKILL)


INTERRUPTED = """\
import time
try:
    open("up", "w").close()
    while True:
        time.sleep(0.02)  # and not once for long: a signal that comes just before is heard after it
except KeyboardInterrupt:
    open("down", "w").close()
"""


@pytest.mark.parametrize("hears", ["that it runs", "not yet that it was started"])
async def test_cancelling_interrupts_and_waits(tmp_path: Path, hears: str) -> None:
    command = Command((sys.executable, "-c", INTERRUPTED), dict(os.environ), tmp_path)
    task = asyncio.create_task(run(command))
    if hears == "that it runs":
        await until((tmp_path / "up").exists)
    else:
        for _ in range(3):  # as far as the program being there; then this process gets no processor for a while
            await asyncio.sleep(0)
        wait_without_the_loop((tmp_path / "up").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "down").exists()


def test_a_mark_knows_its_process_again_and_no_other() -> None:
    mine = ProcessMark.of(os.getpid())
    assert mine.is_running()
    assert not ProcessMark(mine.pid, "another start", mine.host).is_running()
    assert not ProcessMark(mine.pid, mine.started, "another machine").is_running()
    assert not ProcessMark(2**22 + 1, "", mine.host).is_running()


async def test_what_a_killed_one_left_is_ended(tmp_path: Path) -> None:
    text = "(trap '' TERM; sleep 60) & echo $! > child; sleep 60"
    running = await start(shell(text, tmp_path), output=tmp_path / "o", errors=tmp_path / "e")
    await until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    child = ProcessMark.of(int((tmp_path / "child").read_text()))
    assert not await running.mark.end_leftovers(), "it runs itself"
    assert child.is_running()
    running.kill()
    await running.wait()
    assert child.is_running()
    assert await running.mark.end_leftovers()
    assert not child.is_running()
    assert not await running.mark.end_leftovers()


async def test_what_a_killed_workbench_left_at_work_in_a_folder_is_ended_and_nothing_else(tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    with_child = "sleep 60 & echo $! > child; wait"
    left = await start(shell(with_child, folder), output=tmp_path / "o1", errors=tmp_path / "e1")
    await until(lambda: (folder / "child").exists() and (folder / "child").read_text().strip())
    orphan = ProcessMark.of(int((folder / "child").read_text()))
    left.kill()
    await left.wait()
    planning = await start(shell("exec sleep 60", folder), output=tmp_path / "o2", errors=tmp_path / "e2")
    reading = await start(
        Command(("/bin/sh", "-c", "sleep 60; true", "pull"), {"PATH": os.environ["PATH"]}, folder),
        output=tmp_path / "o3", errors=tmp_path / "e3",
    )  # fmt: skip
    elsewhere = await start(shell("exec sleep 60", other), output=tmp_path / "o4", errors=tmp_path / "e4")
    person = await asyncio.create_subprocess_exec("sleep", "60", cwd=folder)
    # a session of its own, as a CI has one for all that it runs
    job = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", 'cd "$0" && sleep 60 & echo $! > in-folder; wait', folder, cwd=other, start_new_session=True
    )
    await until(lambda: (other / "in-folder").exists() and (other / "in-folder").read_text().strip())
    of_job = int((other / "in-folder").read_text())
    await until(lambda: os.readlink(f"/proc/{of_job}/cwd") == str(folder))
    try:
        await end_orphans(folder)
        assert not orphan.is_running() and not planning.mark.is_running()
        assert ProcessMark.of(job.pid).is_running() and ProcessMark.of(of_job).is_running()
        assert reading.mark.is_running() and elsewhere.mark.is_running() and ProcessMark.of(person.pid).is_running()
    finally:
        for each in (reading, elsewhere):
            each.kill()
            await each.wait()
            await each.mark.end_leftovers()
        person.kill()
        await person.wait()
        os.killpg(job.pid, signal.SIGKILL)
        await job.wait()


async def test_who_is_killed_leaves_no_provider(tmp_path: Path) -> None:
    said = await run(shell("sleep 60 >&- 2>&- & echo $! > child; kill -KILL $$", tmp_path))
    assert said.code == -signal.SIGKILL
    assert not ProcessMark.of(int((tmp_path / "child").read_text())).is_running()


def test_no_repr_tells_the_environment(tmp_path: Path) -> None:
    assert "canary" not in repr(shell("true", tmp_path))
