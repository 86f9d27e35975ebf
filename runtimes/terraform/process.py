"""Running terraform: the one place of the Terraform runtime that starts processes.

Each runs in a session of its own, so that a Ctrl-C meant for the workbench, or the end of the workbench, does not
reach it: an apply goes on, finishes and keeps its state whole. What it says goes to a file for the same reason; a
pipe would break with its reader.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from kcl.records import dataclass, field, replace
from runtimes.base import RuntimeFailure
from runtimes.base.programs import ended, started

MOST_OUTPUT_BYTES = 256_000_000
"""Of what is read at once: what Python makes of it takes several times as much memory."""
_CHUNK_BYTES = 1 << 16
_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 10.0
_MEMBERS_GRACE_SECONDS = 2.0
_PIPES_GRACE_SECONDS = 1.0
"""So long is read on from pipes that something else holds open, once the process itself has ended."""
_READS_STATE = "pull"
# the end of the input, when the one who started it is gone, is no line
_WAIT = 'read -r go || exit 1; exec "$@" </dev/null'


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """Which process, on which machine: enough to know it again after the workbench was started again.

    `started` is what the system says of its start, so that another process that got the same number is not taken for
    it; empty where the system does not tell.
    """

    pid: int
    started: str
    host: str

    @classmethod
    def of(cls, pid: int) -> ProcessMark:
        state = _proc_state(pid)
        return cls(pid, state.started if state else "", socket.gethostname())

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    def is_running(self) -> bool:
        """Whether it runs still, a finished one that nobody waited for excepted. False for another machine's."""
        if not self.is_here or not _answers(os.kill, self.pid):
            return False
        state = _proc_state(self.pid)
        return state is None or (not state.is_dead and self.started in ("", state.started))

    async def end_leftovers(self) -> bool:
        """Ends what a killed terraform left running: its providers, which would otherwise stay for ever.

        They belong to its process group, whose number no other group can have while one of them lives. Returns
        whether there were any. Does nothing while terraform itself runs.
        """
        leader = _proc_state(self.pid)
        if not self.is_here or (leader and not leader.is_dead) or not (members := _group_members(self.pid)):
            return False
        for number in (signal.SIGTERM, signal.SIGKILL):
            for member in members:
                _kill(member, number)
            for _ in range(int(_MEMBERS_GRACE_SECONDS / _POLL_SECONDS)):
                if not (members := _group_members(self.pid)):
                    return True
                await asyncio.sleep(_POLL_SECONDS)
        return True


@dataclass(frozen=True, slots=True)
class Command:
    """`arguments` begin with the program. `environment` is all the environment it gets; it may hold secrets."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    folder: Path


@dataclass(frozen=True, slots=True)
class Completed:
    """`code` is negative where a signal ended it. `output` and `errors` are what it wrote."""

    code: int
    output: bytes = field(repr=False)
    errors: str = field(repr=False)


class Running:
    """A process that was started. It goes on when this object is forgotten."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.mark = ProcessMark.of(process.pid)

    @property
    def code(self) -> int | None:
        """None while it runs."""
        return self._process.returncode

    async def go(self) -> None:
        """Lets one that was started waiting begin."""
        gate = self._process.stdin
        assert gate is not None, "it was not started waiting"
        with contextlib.suppress(ConnectionError):
            gate.write(b"go\n")
            await gate.drain()
            gate.close()
            await gate.wait_closed()

    async def wait(self) -> int:
        return await self._process.wait()

    def interrupt(self) -> None:
        """Sends one SIGINT to the process alone, not to its group: providers are to finish what they do."""
        self._send(signal.SIGINT)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    async def end(self, patience_seconds: float) -> None:
        """Interrupts it and waits, and kills it when patience ends. Never for what changes anything."""
        self.interrupt()
        try:
            async with asyncio.timeout(patience_seconds):
                await self.wait()
        except TimeoutError:
            self.kill()
            await self.wait()

    def _send(self, number: signal.Signals) -> None:
        _signal(self._process, number)


async def start(command: Command, *, output: Path, errors: Path) -> Running:
    """Starts it with its output and errors in files, written again, that only the user may read.

    Raises `OSError` where the program can't be started.
    """
    with _private(output) as out, _private(errors) as err:
        return Running(await _started(command, out.fileno(), err.fileno()))


async def start_waiting(command: Command, *, output: Path, errors: Path) -> Running:
    """Starts it as `start` does, but it does nothing until `go`: its mark can be written down before that.

    If this process ends first, it ends too, and nothing was done.
    """
    gated = replace(command, arguments=("/bin/sh", "-c", _WAIT, "sh", *command.arguments))
    with _private(output) as out, _private(errors) as err:
        return Running(await _started(gated, out.fileno(), err.fileno(), asyncio.subprocess.PIPE))


async def run(command: Command, *, patience_seconds: float | None = None) -> Completed:
    """Runs it to its end and returns what it said; raises `OSError`, or after having killed it `TimeoutError`, or
    `RuntimeFailure` where it says more than this process would have the memory to read.

    It ends with the process: a provider that stays, and holds its pipes open, is ended and not waited for.
    When cancelled it is interrupted, so that it gives back its locks, and waited for.
    """
    process = await _started(command, asyncio.subprocess.PIPE, asyncio.subprocess.PIPE)
    mark = ProcessMark.of(process.pid)
    said = asyncio.create_task(_said(process, mark))
    try:
        async with asyncio.timeout(patience_seconds):
            output, errors = await asyncio.shield(said)
    except TimeoutError:
        await _ended(process, said, signal.SIGKILL)
        raise
    except asyncio.CancelledError:
        await _ended(process, said, signal.SIGINT)
        raise
    assert process.returncode is not None
    if process.returncode < 0:
        await mark.end_leftovers()
    if max(len(output), len(errors)) > MOST_OUTPUT_BYTES:
        raise RuntimeFailure(
            f"{Path(command.arguments[0]).name} says more than {MOST_OUTPUT_BYTES / 1_000_000:.0f} MB",
            hint="split the stack: so large a state or plan is not read",
        )
    return Completed(process.returncode, output, errors.decode(errors="replace"))


async def end_orphans(folder: Path) -> None:
    """Ends what works in a folder for a workbench that was killed: a terraform that plans, and providers of one that
    was killed too. Only for who holds the folder's lock, while no apply runs.

    What a person started there has a terminal's session, and is left alone; so is what a script or a CI started, whose
    session has a leader elsewhere, and who only reads the state, for which nobody holds the lock. Does nothing where
    there is no /proc.
    """
    here = _working_in(folder)
    ours = os.getpgrp()
    for leader in {state.group for _, state in here if state.session == state.group != ours}:
        mark = ProcessMark.of(leader)
        if mark.is_running():
            if leader not in {pid for pid, _ in here}:
                continue
            if _READS_STATE in _arguments(leader):
                continue
            _kill(leader, signal.SIGINT)
            for _ in range(int(_PATIENCE_SECONDS / _POLL_SECONDS)):
                if not mark.is_running():
                    break
                await asyncio.sleep(_POLL_SECONDS)
            else:
                _kill(leader, signal.SIGKILL)
        await mark.end_leftovers()


async def _said(process: asyncio.subprocess.Process, mark: ProcessMark) -> tuple[bytes, bytes]:
    output, errors = bytearray(), bytearray()
    reading = asyncio.gather(_read(process, process.stdout, output), _read(process, process.stderr, errors))
    try:
        has_ended = False
        while not reading.done():
            # a process that has ended has written all it will; it may take as long until that is read
            had_ended, has_ended = has_ended, process.returncode is not None
            if had_ended and not await mark.end_leftovers():
                break  # who holds them has left its group: nobody here may end that, and nothing it says is terraform's
            await asyncio.wait((reading,), timeout=_PIPES_GRACE_SECONDS)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]  # else pipes that others hold open stay open here, too
    return bytes(output), bytes(errors)


async def _read(process: asyncio.subprocess.Process, pipe: asyncio.StreamReader | None, content: bytearray) -> None:
    assert pipe is not None, "both are pipes"
    while chunk := await pipe.read(_CHUNK_BYTES):
        content += chunk
        if len(content) > MOST_OUTPUT_BYTES:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            break


async def _started(
    command: Command, output: int, errors: int, input_: int = asyncio.subprocess.DEVNULL
) -> asyncio.subprocess.Process:
    program, *arguments = command.arguments
    return await started(
        program,
        *arguments,
        end=_interrupted,
        stdin=input_,
        stdout=output,
        stderr=errors,
        cwd=command.folder,
        env=dict(command.environment),
    )


async def _interrupted(process: asyncio.subprocess.Process) -> None:
    """Ends one that was just started: it may have taken a lock by then, which it gives back where it is not killed."""
    _signal(process, signal.SIGINT)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await process.wait()
    await ended(process)


async def _ended(process: asyncio.subprocess.Process, said: asyncio.Task[object], number: signal.Signals) -> None:
    """Sends a signal and waits; what still runs after ten seconds is killed with all it started."""
    _signal(process, number)
    if number is not signal.SIGKILL:
        await asyncio.wait((said,), timeout=_PATIENCE_SECONDS)
    if not said.done():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await asyncio.gather(said, return_exceptions=True)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Sends a signal where it has not ended.

    Not by `Process.send_signal`, which looks first whether it has: that takes its exit code from asyncio, whose thread
    waits for it and then says 255.
    """
    if process.returncode is None:
        _kill(process.pid, number)


def _private(path: Path) -> BinaryIO:
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


@dataclass(frozen=True, slots=True)
class _ProcState:
    started: str
    group: int
    session: int
    is_dead: bool


def _proc_state(pid: int) -> _ProcState | None:
    """Returns what Linux says of a process; None where there is no such process, or no /proc."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # the second field is the program's name in parentheses and may hold anything
    fields = text.rpartition(")")[2].split()
    return _ProcState(started=fields[19], group=int(fields[2]), session=int(fields[3]), is_dead=fields[0] in "ZXx")


def _group_members(group: int) -> Sequence[int]:
    """Returns the living processes of a group, none where the system can't list them."""
    if not _answers(os.killpg, group):
        return ()
    pids = (int(each.name) for each in Path("/proc").glob("[0-9]*"))
    states = ((pid, _proc_state(pid)) for pid in pids)
    return tuple(pid for pid, state in states if state and state.group == group and not state.is_dead)


def _working_in(folder: Path) -> Sequence[tuple[int, _ProcState]]:
    """Returns the living processes whose working folder it is, none where the system can't list them."""
    here = os.path.realpath(folder)
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str((each / "cwd").readlink()) == here and (state := _proc_state(int(each.name))) and not state.is_dead:
                found.append((int(each.name), state))
    return found


def _arguments(pid: int) -> Sequence[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return ()


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _answers(send: Callable[[int, int], None], number: int) -> bool:
    try:
        send(number, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True
