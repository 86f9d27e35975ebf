"""The reader of a page: types its commands in a copy of the sample repository, and writes its files.

`wb` and `kcl` run in the test's own process, both streams in one as a terminal shows them; kubectl, which a page needs
only to be somebody else who changes what is live, is played on the sandbox; the rest is left to the shell.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import io
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

import kcl.cli
from runtimes.sandbox.server import Sandbox
from tests.handbook.kubectl import kubectl
from tests.handbook.pages import Command, Edited, Hunk, Written, shows
from workbench.cli.main import main

HOME: Final = "/home/ann"
"""What pages call the folder that the repository lies in."""
# progress, after a few seconds
_OF_A_SLOW_MACHINE = re.compile(r"\d+ of \d+ compiled|waiting for [\w, -]+: \d+ s(, \d+ of \d+ compared)?")
_OF_THE_SHELL: Final = frozenset({"git", "cat", "grep", "head", "ls", "mkdir", "rm", "cp", "mv"})
_VARYING: Final = (
    (re.compile(r"\bp-[0-9a-f]{5}\b"), "p-PLAN"),
    (re.compile(r"\b(models/[\w/]+\.k):\d+"), r"\1:LINE"),
    (re.compile(r"masked#[0-9a-f]{4}"), "masked#MASK"),
    (re.compile(r"\b(\d+(\.\d+)?(ms|s|m|h)|now)( ago)?(?=\W|$)"), "TIME"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?Z?\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"-[bcdf0-9ghjklmnp-z2456789]{6,10}-[bcdfghj-np-tv-z2456789]{5}\b"), "-POD"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "DIGEST"),
    (re.compile(r"(?<=\S) {2,}"), " "),
)


def normal(line: str) -> str:
    """Returns a line without what is another in each run: times, digests, drawn names, widths of columns.

    Lines of the models are left out too: who adds a word to a model has no page to correct.
    """
    for pattern, name in _VARYING:
        line = pattern.sub(name, line)
    return line.rstrip()


class Different(Exception):
    """What a page says of a step is not so."""


@dataclass
class Shell:
    folder: Path
    """What pages call the home folder; the repository lies in `orchard` there."""
    sandbox: Sandbox
    patch: pytest.MonkeyPatch
    code: int = 0
    """What the command before ended with."""
    unread: str = ""
    """The command whose code is not 0, until the page says so."""
    _stdout: io.StringIO | None = None
    """Where standard output goes to while it is redirected."""
    last: list[str] = field(default_factory=list)
    """What the command before printed."""

    async def do(self, step: Command | Written | Edited) -> None:
        """Does what a step says; raises `Different` where it cannot, or where it prints something else."""
        if isinstance(step, Command):
            await self._type(step)
            return
        self.settled()
        if isinstance(step, Written):
            path = self._path(step.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
            return
        for each in step.hunks:
            self._edit(step.path, each)

    def settled(self) -> None:
        if self.unread:
            raise Different(f"`{self.unread}` ended with {self.code}: say so, by `$ echo $?`")

    def _path(self, named: str) -> Path:
        return Path.cwd() / named.replace("~", str(self.folder), 1)

    def _edit(self, named: str, hunk: Hunk) -> None:
        path = self._path(named)
        text = path.read_text(encoding="utf-8")
        if (times := text.count(hunk.before)) != 1:
            raise Different(f"{named} has this {times} times, not once:\n{hunk.before}")
        path.write_text(text.replace(hunk.before, hunk.after), encoding="utf-8")

    async def _type(self, step: Command) -> None:
        if step.typed == "echo $?":
            printed: tuple[str, ...] = (str(self.code),)
            self.unread = ""
        else:
            self.settled()
            text = await self.run(step.typed)
            every = (each.rstrip() for each in self._named(text).splitlines())
            printed = tuple(each for each in every if not _OF_A_SLOW_MACHINE.fullmatch(each) or each in step.printed)
            self.unread = step.typed if self.code else ""
        self.last = list(printed)
        if not shows(tuple(map(normal, step.printed)), tuple(map(normal, printed))):
            said = "\n".join(f"    {each}" for each in step.printed) or "    nothing"
            found = "\n".join(f"    {each}" for each in printed) or "    nothing"
            raise Different(f"$ {step.typed}\nthe page says\n{said}\nand it prints\n{found}")

    def _named(self, text: str) -> str:
        """Returns what pages say: folders, people and ports are those of nobody."""
        text = text.replace(str(self.folder), HOME).replace(f"{getpass.getuser()}@{platform.node()}", "ann@laptop")
        for number, url in enumerate(self.sandbox.urls):
            text = text.replace(url, f"https://127.0.0.1:{6443 + number}")
        return text

    async def run(self, typed: str) -> str:
        """Returns what a command prints, and has its exit code in `code`."""
        words = shlex.split(typed.replace("~/", f"{self.folder}/"))
        if len(words) > 2 and words[-2] in (">", ">>") and words[0] in ("wb", "kcl"):
            return await self._redirected(typed, words)
        given: dict[str, str] = {}
        while words and (assigned := re.fullmatch(r"([A-Z_]+)=(.*)", words[0], re.DOTALL)):
            given[assigned[1]] = assigned[2]
            words.pop(0)
        match words:
            case ["export", assigned_to]:
                name, _, value = assigned_to.partition("=")
                self.patch.setenv(name, value)
                self.code = 0
                return ""
            case ["cd", to]:
                self.patch.chdir(to)
                self.code = 0
                return ""
            case ["wb", *arguments]:
                return await asyncio.to_thread(self._within, arguments, given)
            case ["kcl", *arguments]:
                return await asyncio.to_thread(self._kcl, arguments)
            case ["kubectl", *arguments]:
                self.code = 0
                return kubectl(self.sandbox, arguments)
            case [program, *_] if program in _OF_THE_SHELL:
                return await asyncio.to_thread(self._other, typed.replace("~/", f"{self.folder}/"))
        raise Different(f"nobody carries out `{typed}`")

    async def _redirected(self, typed: str, words: Sequence[str]) -> str:
        """What goes to standard error is printed all the same."""
        command, (arrow, target) = typed[: typed.rindex(words[-2])].rstrip("> "), words[-2:]
        self._stdout = io.StringIO()
        try:
            said = await self.run(command)
            _put(Path(os.path.expandvars(target)), self._stdout.getvalue(), arrow)
        finally:
            self._stdout = None
        return said

    def _within(self, arguments: Sequence[str], given: Mapping[str, str]) -> str:
        said = io.StringIO()
        with _environment(given), contextlib.redirect_stdout(self._stdout or said), contextlib.redirect_stderr(said):
            try:
                main(list(arguments))
            except SystemExit as end:
                assert isinstance(end.code, int)
                self.code = end.code
        return said.getvalue()

    def _kcl(self, arguments: Sequence[str]) -> str:
        said = io.StringIO()
        self.code = kcl.cli.main(
            list(arguments), cwd=Path.cwd(), stdin=io.StringIO(), stdout=said, stderr=said, environment=os.environ
        )
        return said.getvalue()

    def _other(self, typed: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", typed],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        self.code = done.returncode
        return done.stdout


def _put(path: Path, text: str, arrow: str) -> None:
    with path.open("a" if arrow == ">>" else "w", encoding="utf-8") as file:
        file.write(text)


@contextlib.contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        yield
