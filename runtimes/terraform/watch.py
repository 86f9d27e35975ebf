"""Observing the resources of a workspace: what the state has of each, and what an apply is doing to it.

Both are files in the folder, whoever's apply it is: the state and, while one runs, its record and its events. A state
that is kept elsewhere is asked for when an apply has ended, and now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from kcl.records import dataclass, replace
from runtimes.base import (
    Blocking,
    Contact,
    Health,
    Lost,
    ObjectRef,
    Observation,
    RuntimeFailure,
    Status,
    StatusNode,
    TerraformId,
    WatchReport,
)
from runtimes.terraform import events, record
from runtimes.terraform.events import ApplyHook, Follower, Phase
from runtimes.terraform.folder import Folder
from runtimes.terraform.record import Record
from runtimes.terraform.state import Recorded, State

_POLL_SECONDS = 0.25
_ELSEWHERE_SECONDS = 30.0
_GRACE_SECONDS = 2.0
"""Shorter trouble, such as a state just being written, is not worth a word."""
_CONTACT_SECONDS = 2.0
_VALID_SECONDS = 10.0
_POSSIBLY_CREATED = Health(
    Status.UNKNOWN, "PossiblyCreated", "terraform was ended while it created it: the next plan looks for it"
)
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
) -> AsyncIterator[AsyncIterator[WatchReport]]:
    """`state_file` None: the state is kept elsewhere. A slow reader finds the latest of each, not all there were."""
    yield _Observer(tuple(dict.fromkeys(ids)), folder, state_file, read)


class _Observer(AsyncIterator[WatchReport]):
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
        self._answered_at: datetime | None = None
        self._began = datetime.now(UTC)
        self._lost: Lost | None = None
        self._contact: Contact | None = None
        self._run_mark: tuple[object, ...] | None = None
        self._record: Record = record.NOTHING
        self._doubts_mark: tuple[object, ...] | None = None
        self._doubtful: frozenset[TerraformId] = frozenset()
        self._follower = Follower(folder.apply_events)
        self._work: dict[TerraformId, Work] = {}
        self._last: dict[TerraformId, Observation] = {}
        self._pending: dict[TerraformId, Observation] = {}

    def __aiter__(self) -> _Observer:
        return self

    async def __anext__(self) -> WatchReport:
        while True:
            if (contact := self._news()) is not None:
                self._contact = contact
                return contact
            if self._pending:
                return self._pending.pop(next(iter(self._pending)))
            if self._looked:
                await asyncio.sleep(_POLL_SECONDS)
            self._looked = True
            await self._look()

    def _news(self) -> Contact | None:
        """Returns what to say of the state itself: when it was read, now and then, and when that turns."""
        if self._answered_at is None and self._lost is None:
            return None
        last, contact = self._contact, Contact(self._answered_at, self._lost, self._valid_seconds)
        if last is not None and last.lost == contact.lost:
            if self._lost is not None or last.answered_at is None or contact.answered_at is None:
                return None
            if (contact.answered_at - last.answered_at).total_seconds() < _CONTACT_SECONDS:
                return None
        return contact

    @property
    def _valid_seconds(self) -> float:
        """How long an answer holds until the next one is due."""
        return _VALID_SECONDS if self._state_file is not None else _ELSEWHERE_SECONDS + _VALID_SECONDS

    async def _look(self) -> None:
        try:
            self._look_at_the_apply()
            await self._look_at_the_state()
        except RuntimeFailure as failure:
            since = self._answered_at or self._began
            if (datetime.now(UTC) - since).total_seconds() > _GRACE_SECONDS:
                self._lost = Lost(since, type(failure).__name__, failure.message, failure.hint)
        if self._state is None and self._lost is None:
            return
        for id_ in self._ids:
            seen = replace(self._seen(id_), lost=self._lost)
            if self._last.get(id_) != seen:
                self._last[id_] = self._pending[id_] = seen

    def _seen(self, id_: TerraformId) -> Observation:
        if self._state is None:
            return Observation(id_, Health(Status.UNKNOWN, message="the state can't be read"), None)
        recorded, work = self._state.resources.get(id_), self._work.get(id_)
        if recorded is None and work is None and id_ in self._doubts():
            return Observation(id_, _POSSIBLY_CREATED, None)
        return observation(id_, recorded, work)

    def _doubts(self) -> frozenset[TerraformId]:
        """Returns what may exist without the state knowing: of the last apply, also where nobody has settled it yet."""
        known = self._record
        is_running = known.process is not None and known.process.is_running()
        if (mark := (self._run_mark, is_running)) != self._doubts_mark:
            if known.is_open and not is_running:
                known = known.closed(events.read(self._folder.apply_events), lambda _: False)
            self._doubtful = frozenset(each.id for each in known.doubts)
            self._doubts_mark = mark
        return self._doubtful

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

    async def _look_at_the_state(self) -> None:
        if self._state_file is not None:
            mark = _mark(self._state_file)
        else:
            mark = (self._run_mark, int(time.monotonic() / _ELSEWHERE_SECONDS))
        if mark == self._state_mark and self._state is not None and self._lost is None:
            if self._state_file is not None:
                self._answered_at = datetime.now(UTC)
            return
        self._state = await self._read()
        self._state_mark, self._answered_at, self._lost = mark, datetime.now(UTC), None


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
