"""Running `wb` inside the test's own process, the way its entry point runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from workbench.cli.main import main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams, for what must stand in neither."""
        return self.out + self.err

    def json(self) -> Any:
        return json.loads(self.out)


class Wb:
    """Calls as `wb(...)`, or as `await wb.meanwhile(...)` while servers run in the test's event loop.

    There is no terminal: standard input is not one, and is never read.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Ended:
        self._capsys.readouterr()
        code = run(arguments)
        said = self._capsys.readouterr()
        return Ended(code, said.out, said.err)

    async def meanwhile(self, *arguments: str | Path) -> Ended:
        return await asyncio.to_thread(self, *arguments)


def run(arguments: Iterable[str | Path]) -> int:
    """Returns the exit code."""
    try:
        main([str(each) for each in arguments])
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    raise AssertionError("main always ends in SystemExit")
