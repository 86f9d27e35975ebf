"""An apply in a process of its own that dies, by kill -9, at one of its writes; as a program: what carries it out.

The program is started once, loads what an apply needs, and forks for each apply: a process for each of hundreds of
moments would spend its time on starting.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

NEVER = sys.maxsize


@dataclass
class Killable:
    process: asyncio.subprocess.Process

    async def apply(
        self, root: Path, home: Path, *, write: int = NEVER, begun: Callable[[int], None] | None = None
    ) -> tuple[bool, list[str]]:
        """Applies the stack fleet/prod; `write` is the number of the write to the state folder where it dies.

        Returns whether it was killed, and the writes there were if not. `begun` is called with its process id.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(root), str(home), write]).encode() + b"\n")
        pid = int(await self.process.stdout.readline())
        if begun is not None:
            begun(pid)
        self.process.stdin.write(b"\n")
        killed, writes = json.loads(await self.process.stdout.readline())
        return killed, writes


@asynccontextmanager
async def killable() -> AsyncIterator[Killable]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.scenarios.killing"),
        cwd=Path(__file__).parents[2],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**22,
    )
    try:
        yield Killable(process)
    finally:
        process.kill()
        await process.wait()


def _serve() -> None:
    import pytest

    from runtimes.kubernetes import runtime
    from tests.workbench.faulty_disk import faulty_disk
    from workbench.session import Session
    from workbench.settings import Settings

    assert runtime

    async def apply(root: Path, home: Path) -> None:
        state = home / "state"
        settings = Settings(state, state, kubeconfig=str(home / "kubeconfig"), user="ops", host="box")
        async with Session.open(root, settings=settings) as session:
            plan = await session.plan(session.select("fleet/prod"))
            async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
                async for _ in events:
                    pass

    def dies() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    for line in sys.stdin:
        root, home, write = json.loads(line)
        told, tells = os.pipe()
        goes, go = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(told)
            os.read(goes, 1)
            with faulty_disk(pytest.MonkeyPatch(), Path(home) / "state", write, fault=dies) as disk:
                asyncio.run(apply(Path(root), Path(home)))
            os.write(tells, json.dumps(disk.operations).encode())
            os._exit(0)
        os.close(tells)
        print(pid, flush=True)  # noqa: T201
        sys.stdin.readline()
        os.write(go, b"\n")
        with os.fdopen(told, "rb") as file:
            writes = json.loads(file.read() or b"[]")
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code not in (0, -signal.SIGKILL):
            raise SystemExit(f"the apply ended with {code}")
        os.close(goes)
        os.close(go)
        print(json.dumps([code == -signal.SIGKILL, writes]), flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve()
