"""Observing the resources of a workspace: what the state has of each, and what an apply is doing to it.

Both are files in the folder, whoever's apply it is: the state and, while one runs, its record and its events. A state
that is kept elsewhere is asked for when an apply has ended, and now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from runtimes.base import (
    Blocking,
    Health,
    ObjectRef,
    Observation,
    RuntimeFailure,
    Status,
    StatusNode,
    TerraformId,
)
from runtimes.terraform import record
from runtimes.terraform.events import ApplyHook, Follower, Phase
from runtimes.terraform.folder import Folder
from runtimes.terraform.record import Record
from runtimes.terraform.state import Recorded, State

_POLL_SECONDS = 0.25
_ELSEWHERE_SECONDS = 30.0
_STALE_SECONDS = 2.0  # shorter trouble, such as a state just being written, is not told
_DOING = {"create": "Creating", "update": "Updating", "delete": "Deleting", "read": "Reading"}


@dataclass(frozen=True, slots=True)
class Work:
    """What the running apply last told of a resource. `action` and `phase` are None while it waits for its turn."""

    action: str
    phase: Phase | None
    since: str


def observation(id_: TerraformId, recorded: Recorded | None, work: Work | None) -> Observation:
    """Judges one resource. What an apply does to it now counts more than what the state has."""
    health = _at_work(work) if work else None
    health = health or _recorded_health(recorded)
    ref = ObjectRef(id_.resource_type, "", id_.name)
    blocking = None
    if health.status is Status.FAILED:
        blocking = Blocking(ref, health.reason, health.message)
    details = _details(recorded)
    node = None if health.status is Status.NOT_FOUND else StatusNode(ref, health, details)
    return Observation(id_, health, node, blocking)


@asynccontextmanager
async def watching(
    ids: tuple[TerraformId, ...],
    folder: Folder,
    state_file: Path | None,
    read: Callable[[], Awaitable[State]],
) -> AsyncIterator[AsyncIterator[Observation]]:
    """`state_file` None: the state is kept elsewhere. A slow reader finds the latest of each, not all there were."""
    yield _Observer(tuple(dict.fromkeys(ids)), folder, state_file, read)


class _Observer(AsyncIterator[Observation]):
    def __init__(
        self,
        ids: tuple[TerraformId, ...],
        folder: Folder,
        state_file: Path | None,
        read: Callable[[], Awaitable[State]],
    ) -> None:
        self._ids, self._folder, self._state_file, self._read = ids, folder, state_file, read
        self._looked = False
        self._state: State | None = None
        self._state_mark: tuple[object, ...] | None = None
        self._heard = time.monotonic()
        self._run_mark: tuple[object, ...] | None = None
        self._record: Record = record.NOTHING
        self._follower = Follower(folder.apply_events)
        self._work: dict[TerraformId, Work] = {}
        self._last: dict[TerraformId, Observation] = {}
        self._pending: dict[TerraformId, Observation] = {}

    def __aiter__(self) -> _Observer:
        return self

    async def __anext__(self) -> Observation:
        while not self._pending:
            if self._looked:
                await asyncio.sleep(_POLL_SECONDS)
            self._looked = True
            await self._look()
        return self._pending.pop(next(iter(self._pending)))

    async def _look(self) -> None:
        self._look_at_the_apply()
        stale = await self._look_at_the_state()
        if self._state is None and not stale:
            return
        for id_ in self._ids:
            seen = replace(self._seen(id_), stale_seconds=stale)
            if not _is_same(self._last.get(id_), seen):
                self._last[id_] = self._pending[id_] = seen

    def _seen(self, id_: TerraformId) -> Observation:
        if self._state is None:
            return Observation(id_, Health(Status.UNKNOWN, message="the state can't be read"), None)
        return observation(id_, self._state.resources.get(id_), self._work.get(id_))

    def _look_at_the_apply(self) -> None:
        mark = _mark(self._folder.run)
        if mark != self._run_mark:
            self._run_mark, self._record = mark, record.load(self._folder)
            self._follower, self._work = Follower(self._folder.apply_events), {}
            if self._record.is_open:
                self._work = {id_: Work("", None, self._record.begun) for id_ in self._record.ids.values()}
        if not self._record.is_open:
            return
        if self._record.process is not None and not self._record.process.is_running():
            self._work = {}  # it was killed, and nobody has looked at what it left
            return
        for event in self._follower.read():
            match event:
                case ApplyHook(phase=phase, address=address, action=action, when=when):
                    if (id_ := self._record.ids.get(address)) is not None:
                        self._work[id_] = Work(action, phase, when)

    async def _look_at_the_state(self) -> float:
        """Returns for how many seconds the state can't be read, 0 when it can or could lately."""
        if self._state_file is not None:
            mark = _mark(self._state_file)
        else:
            mark = (self._run_mark, int(time.monotonic() / _ELSEWHERE_SECONDS))
        if mark != self._state_mark or self._state is None:
            try:
                self._state = await self._read()
            except RuntimeFailure:
                unheard = time.monotonic() - self._heard
                return unheard if unheard > _STALE_SECONDS else 0.0
            self._state_mark = mark
        self._heard = time.monotonic()
        return 0.0


def _is_same(before: Observation | None, seen: Observation) -> bool:
    """Whether nothing is to be told: for how long nothing was heard is told when it begins and when it ends."""
    if before is None or (before.stale_seconds > 0) != (seen.stale_seconds > 0):
        return False
    return replace(before, stale_seconds=seen.stale_seconds) == seen


def _at_work(work: Work) -> Health | None:
    """Returns None where the state says what there is to say: nothing is being done to it."""
    match work.phase:
        case None:
            return None
        case Phase.STARTED | Phase.PROGRESS:
            status = Status.TERMINATING if work.action == "delete" else Status.IN_PROGRESS
            return Health(status, _DOING.get(work.action, "Applying"), f"since {_clock(work.since)}")
        case Phase.ERRORED:
            return Health(Status.FAILED, "ApplyFailed", f"it could not be {_DONE.get(work.action, 'applied')}")
        case Phase.COMPLETED:
            return None


_DONE = {"create": "created", "update": "updated", "delete": "deleted", "read": "read"}


def _recorded_health(recorded: Recorded | None) -> Health:
    if recorded is None:
        return Health(Status.NOT_FOUND, message="the state has nothing under this id")
    if recorded.is_tainted:
        return Health(Status.FAILED, "Tainted", "it was not made whole; the next apply replaces it")
    if not recorded.exists:
        return Health(Status.FAILED, "Deposed", "only what it was replaced for is left; the next apply deletes that")
    if recorded.deposed:
        return Health(Status.FAILED, "Deposed", "what it replaced could not be deleted; the next apply tries it again")
    return Health(Status.CURRENT)


def _details(recorded: Recorded | None) -> tuple[str, ...]:
    identity = recorded.attributes.get("id") if recorded else None
    return (identity,) if isinstance(identity, str) and ("id",) not in (recorded.hidden if recorded else ()) else ()


def _clock(when: str) -> str:
    try:
        return datetime.fromisoformat(when).strftime("%H:%M:%S")
    except ValueError:
        return when


def _mark(path: Path) -> tuple[object, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_ino, found.st_mtime_ns, found.st_size)
