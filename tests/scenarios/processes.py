"""`wb` in processes of their own, as other people's terminals have it; they may be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path


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
        process = await self.start(*arguments)
        assert process.stdout is not None
        text = (await process.stdout.read()).decode()
        return await process.wait(), text

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
