"""The last lines of containers that are to blame, read once each time such a container has run again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from runtimes.base import RuntimeFailure
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.health import Verdict
from runtimes.kubernetes.health.pod import containers
from runtimes.kubernetes.objects import Object, count, kind_of, mapping, name_of, namespace_of, uid_of

_LINES = 20
_SECONDS = 5.0
_READERS = 2
_AGAIN_SECONDS = 5.0
_KEPT = 500

# pod uid, container, restarts, whether of the run before
_Run = tuple[str, str, int, bool]


class LogTails:
    """`tail` answers at once with what has been read; what has not is read in the background, then `changed` is called.

    A container that runs goes on writing, so its lines are read again every few seconds as long as it is asked for.
    """

    def __init__(self, client: Client, changed: Callable[[], None]) -> None:
        self._client, self._changed = client, changed
        self._lines: dict[_Run, tuple[str, ...]] = {}
        self._read_at: dict[_Run, float] = {}
        self._wanted: asyncio.Queue[tuple[_Run, str, str]] = asyncio.Queue(maxsize=100)

    def start(self, group: asyncio.TaskGroup) -> None:
        for _ in range(_READERS):
            group.create_task(self._read())

    def tail(self, blamed: Object, verdict: Verdict) -> tuple[str, ...]:
        """Returns the lines known so far, oldest first; none for anything but a container that has run."""
        run = _run(blamed, verdict)
        if run is None:
            return ()
        now = asyncio.get_running_loop().time()
        is_running = not run[3] and _is_running(blamed, run[1])
        read_at = self._read_at.get(run)
        if (read_at is None or (is_running and now - read_at > _AGAIN_SECONDS)) and not self._wanted.full():
            self._read_at[run] = now
            self._wanted.put_nowait((run, namespace_of(blamed), name_of(blamed)))
        return self._lines.get(run, ())

    async def _read(self) -> None:
        while True:
            run, namespace, pod = await self._wanted.get()
            _, container, _, is_previous = run
            try:
                async with asyncio.timeout(_SECONDS):
                    lines = await self._client.log(
                        namespace, pod, container=container, previous=is_previous, tail_lines=_LINES
                    )
            except (RuntimeFailure, TimeoutError):
                continue  # the pod has gone, or its node can't be asked: the status stands without them
            if lines != self._lines.get(run, ()):
                self._lines[run] = lines
                self._changed()
            while len(self._read_at) > _KEPT:
                oldest = next(iter(self._read_at))
                del self._read_at[oldest]
                self._lines.pop(oldest, None)


def _run(blamed: Object, verdict: Verdict) -> _Run | None:
    """Returns which run of which container wrote the lines that explain the verdict; None if none has run."""
    if kind_of(blamed) != "Pod" or not verdict.container:
        return None
    container = _container(blamed, verdict.container)
    state, restarts = mapping(container.get("state")), count(container, "restartCount")
    if verdict.health.reason == "Restarted":
        return uid_of(blamed), verdict.container, restarts, True
    if "running" in state or "terminated" in state or mapping(container.get("lastState")).get("terminated"):
        return uid_of(blamed), verdict.container, restarts, False
    return None


def _is_running(blamed: Object, name: str) -> bool:
    return "running" in mapping(_container(blamed, name).get("state"))


def _container(blamed: Object, name: str) -> Mapping[str, Any]:
    return next((each for each in containers(blamed) if each.get("name") == name), {})
