"""What a command of the user's own prints, as it prints it; leaving the screen ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType

from workbench.engine import logs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui import custom_running
from workbench.tui.custom import Invocation
from workbench.tui.frame import Frame
from workbench.tui.later import later
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

_COLUMNS = (Column("", grow=True),)
MOST_LINES, LONGEST = 5_000, 4_000
_READ_BYTES = 65_536
_PATIENCE_SECONDS = 2.0


class OutputScreen(Frame):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("K", "stop", "Stop")]

    def __init__(self, invocation: Invocation, state: StackState | None) -> None:
        super().__init__(state)
        self.name_in_trail = invocation.command.name
        self._invocation = invocation
        self._lines: list[str] = []
        self._left_out = 0
        self._ended, self._has_begun = "", False
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._is_left = False

    def body(self) -> ComposeResult:
        yield TypedConfirmation("Run", "this is not the phrase: nothing was run")
        yield ResourceTable(_COLUMNS, id="output", header=False, empty="it printed nothing so far")

    def on_mount(self) -> None:
        super().on_mount()
        command = self._invocation.command
        if not (command.is_confirmed or command.is_dangerous):
            self._begin()
            return
        self.call_after_refresh(self._ask)

    def _ask(self) -> None:
        made = self._invocation
        question = line(f"run {custom_running.shown_line(self.workbench, made)}? Type ", Span(made.phrase, Tone.STRONG))
        self.query_one(TypedConfirmation).ask(question, made.phrase)

    def on_typed_confirmation_confirmed(self) -> None:
        self._begin()

    def on_typed_confirmation_closed(self) -> None:
        if not self._has_begun:
            self.app.pop_screen()
        else:
            self.focus_main()

    def _begin(self) -> None:
        self._has_begun = True
        custom_running.began(self.workbench, self._invocation)
        if self._invocation.command.takes_terminal:
            self._run_in_terminal()
        else:
            # a task of its own: a worker is cancelled when the screen goes, which may be while the program is started
            self._reading = asyncio.create_task(self._run())
            self.run_worker(later(self._until_ended), group="output", exclusive=True)

    async def _until_ended(self) -> None:
        assert self._reading is not None, "it was begun"
        await asyncio.shield(self._reading)

    def _run_in_terminal(self) -> None:
        """Gives the program the terminal; the screens come back when it ends."""
        made = self._invocation
        try:
            with self.app.suspend():
                code = subprocess.run(
                    made.arguments, env=dict(made.environment), cwd=Path.home(), check=False
                ).returncode
        except (OSError, SuspendNotSupported) as error:
            self._ended = f"can't be run: {error}"
        else:
            self._ended = _end(code)
        self.redraw()

    async def on_unmount(self) -> None:
        """Whoever leaves ends the program, and kills what does not listen to that: nothing is left to nobody."""
        self._is_left = True
        if (running := self._reading) is None:
            return
        self.action_stop()
        await asyncio.wait((running,), timeout=_PATIENCE_SECONDS)
        if not running.done():  # its group too: a child may have its output, and the program is gone already
            self._signal(signal.SIGKILL)
            await asyncio.wait((running,), timeout=_PATIENCE_SECONDS)
        if not running.done():  # something that it started elsewhere still has its output
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    async def _run(self) -> None:
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._invocation.arguments,
                env=dict(self._invocation.environment),
                cwd=Path.home(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._ended = f"can't be run: {error.strerror or error}"
            if not self._is_left:
                self.redraw_soon()
            return
        if self._is_left:
            self._signal(signal.SIGKILL)
        try:
            await self._read(process)
        finally:
            await process.wait()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None, "it was requested"
        rest = b""
        while read := await process.stdout.read(_READ_BYTES):
            if self._is_left:
                continue
            *whole, rest = (rest + read).split(b"\n")
            self._take(whole)
            rest = self._cut(rest)
        code = await process.wait()
        if not self._is_left:
            self._take([rest] if rest else [])
            self._ended = _end(code)
            self.redraw_soon()

    def _cut(self, rest: bytes) -> bytes:
        """A line without an end must not grow without one."""
        if len(rest) <= LONGEST * 4:
            return rest
        self._take([rest])
        return b""

    def _take(self, lines: list[bytes]) -> None:
        room = max(0, MOST_LINES - len(self._lines))
        self._left_out += max(0, len(lines) - room)
        text = "\n".join(logs.without_orders(each.decode(errors="replace").expandtabs()) for each in lines[:room])
        try:
            said = self.workbench.session.masked(text)
        except WorkbenchError as error:
            said = f"(not shown, as it is not known what is secret in it: {error})"
        self._lines += [each[:LONGEST] for each in said.split("\n")] if lines[:room] else []
        self.redraw_soon()

    def show_state(self) -> None:
        table = self.query_one("#output", ResourceTable)
        if self._ended and not self._lines:
            table.empty = f"it printed nothing, and {self._ended}"
        table.set_rows(Row(number, (line(each),)) for number, each in enumerate(self._lines))

    def status(self) -> Line:
        cut = f"  {self._left_out} more lines are not shown" if self._left_out else ""
        key = self.workbench.key("output.stop")
        waits = f"running: {key} stops it, leaving does too" if self._has_begun else "nothing is run yet"
        said = self._ended or waits
        tone = Tone.BAD if self._ended and not self._ended.endswith(" 0") else Tone.MUTED
        command = custom_running.shown_line(self.workbench, self._invocation)
        return line(Span(said, tone), Span(cut, Tone.WARN), Span(f"  {command}", Tone.SOURCE))

    def action_back(self) -> None:
        confirmation = self.query_one(TypedConfirmation)
        if confirmation.is_asked:
            confirmation.close()
        else:
            super().action_back()

    def action_stop(self) -> None:
        """Ends the program and what it started."""
        if self._process is not None and self._process.returncode is None:
            self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _end(code: int) -> str:
    return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
