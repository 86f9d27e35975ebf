"""`wb` as other people's terminals have it: what is killed is a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.scenarios import in_process


def settings(home: Path) -> dict[str, str]:
    """Returns the environment that says where everything is."""
    return {
        "KUBECONFIG": str(home / "kubeconfig"),
        "WB_STATE_DIR": str(home / "state"),
        "WB_CACHE_DIR": str(home / "cache"),
    }


class Command:
    """Runs `wb` in `root`; settings, state and kubeconfig are in `home`."""

    def __init__(self, root: Path, home: Path) -> None:
        self._root = root
        self._environment = {**os.environ, **settings(home)}

    async def __call__(self, *arguments: str) -> tuple[int, str]:
        """Returns its exit code and all that it said; it runs in this process."""
        ended = await in_process.wb(*arguments, folder=self._root, environment=self._environment)
        return ended.code, ended.text

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "workbench", *arguments),
            cwd=self._root,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )

    async def killed(self, *arguments: str, when: Callable[[str], bool]) -> str:
        """Kills it, with all it started, as soon as one of its lines is so."""
        process = await self.start(*arguments)
        assert process.stdout is not None
        lines: list[str] = []
        async for line in process.stdout:
            lines.append(line.decode())
            if when(lines[-1]):
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
                return "".join(lines)
        raise AssertionError(f"it ended by itself: {''.join(lines)}")
