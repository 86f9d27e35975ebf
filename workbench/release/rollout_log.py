"""The records of a rollout for whoever carries it out: read before each batch, written before anything is reported.

Every write is bound to what was read. Where somebody else wrote meanwhile (a pause, an approval) it is read again, and
looked whether somebody else carries the rollout out by now: then nothing is written any more (`fence`). A place that
does not answer is tried for as long as the lease is trusted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from runtimes.base import Overloaded, RuntimeFailure, Unreachable
from workbench.engine.errors import ReleaseFailure
from workbench.engine.rollout.progress import Progress
from workbench.engine.rollout.values import Record
from workbench.release.contract import HeldLock, Overtaken
from workbench.release.encoding import BrokenRecord
from workbench.release.rollout_listing import broken
from workbench.release.rollout_packing import StoredRollout, stands
from workbench.release.stored_rollouts import StoredRollouts

_PATIENCE_SECONDS = 20.0
_PAUSE_SECONDS = 1.0
_ATTEMPTS = 8
T = TypeVar("T")


class RolloutLog:
    """See `workbench.engine.rollout.execute.Log`. `lock` is held while it is used."""

    def __init__(self, kept: StoredRollouts, id_: str, lock: HeldLock) -> None:
        self._kept, self._id, self.lock = kept, id_, lock
        self._records: tuple[Record, ...] = ()
        self._over: StoredRollout | None = None
        self._fence = 0
        self._refusal: ReleaseFailure | None = None
        self._turn = anyio.Lock()

    @property
    def latest(self) -> Progress | None:
        """Where it stood when it was read or written last."""
        return self._progress() if self._records else None

    async def take_over(self) -> None:
        """Has every earlier runner find that it was replaced; raises `ReleaseFailure` or `RuntimeFailure`."""
        for _ in range(_ATTEMPTS):
            found, records = await self._found()
            try:
                self._over = await self._kept.replace(records, found.fence + 1, found)
                self._records, self._fence = records, found.fence + 1
                return
            except Overtaken:
                continue
        raise ReleaseFailure("others write it all the time", where=self._kept.where, hint="try again")

    async def read(self) -> Progress:
        async with self._turn:
            await self._patiently(self._refreshed)
            return self._progress()

    async def add(self, record: Record) -> None:
        async with self._turn:
            since = len(self._records)
            await self._patiently(lambda: self._written(record, since))

    async def _written(self, record: Record, since: int) -> None:
        for _ in range(_ATTEMPTS):
            if record in self._records[since:]:
                return  # it was written, and the answer was lost
            self._refuse()
            self.lock.verify()
            records = (*self._records, record)
            assert self._over is not None, "take_over() comes first"
            try:
                self._over = await self._kept.replace(records, self._fence, self._over)
                self._records = records
                return
            except Overtaken:
                await self._refreshed()
        raise ReleaseFailure("others write it all the time", where=self._kept.where, hint="wb rollout resume goes on")

    async def _refreshed(self) -> None:
        self.lock.verify()
        found, records = await self._found()
        is_behind = not found.damage and records[: len(self._records)] != self._records
        if found.fence > self._fence:
            self._refusal = self._replaced()
        elif found.fence < self._fence or is_behind:
            self._refusal = self._set_back(records)
        self._refuse()
        if not found.damage or len(records) > len(self._records):  # else this process knows more than the copy
            self._records = records
        self._over = found

    def _refuse(self) -> None:
        """Once somebody else carries it out, or its record is another, nothing more is written: not even that."""
        if self._refusal is not None:
            raise self._refusal

    def _replaced(self) -> ReleaseFailure:
        return ReleaseFailure(
            "somebody else carries it out by now",
            where=f"rollout {self._id}",
            hint="this process was held up for too long: nothing more is written; wb rollout list",
        )

    def _set_back(self, records: tuple[Record, ...]) -> ReleaseFailure:
        """Of a record that was put back as it was before, from a backup say."""
        return ReleaseFailure(
            f"its record was set back while this went on: it had {len(self._records)} entries and has {len(records)}",
            where=f"rollout {self._id} in {self._kept.where}",
            hint="nothing more is written: look what was applied (wb release list STACK), and put the newer record "
            "back if there is one; wb rollout resume goes on from where the record stands",
        )

    async def _found(self) -> tuple[StoredRollout, tuple[Record, ...]]:
        """Returns what is there, and its records."""
        found = await self._kept.find(self._id)
        if found is None:
            raise ReleaseFailure(
                "its record is gone",
                where=f"rollout {self._id} in {self._kept.where}",
                hint="nothing more is written: look what was applied (wb release list STACK); then wb rollout start "
                "begins again, or wb rollback STACK goes back",
            )
        try:
            records = found.load()
            stands(records, self._id)
        except BrokenRecord as error:
            raise broken(found, self._kept, error) from error
        return found, records

    def _progress(self) -> Progress:
        return stands(self._records, self._id)  # as it was when it was read

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Raises `ReleaseFailure` where it does not answer for long."""
        failed: RuntimeFailure | None = None
        with anyio.move_on_after(_PATIENCE_SECONDS):
            while True:
                try:
                    return await attempt()
                except (Unreachable, Overloaded) as error:
                    failed = error
                    await anyio.sleep(_PAUSE_SECONDS)
        why = failed.message if failed is not None else f"no answer within {_PATIENCE_SECONDS:.0f} s"
        raise ReleaseFailure(
            f"the record of the rollout can't be reached, so nothing more is begun: {why}",
            where=f"rollout {self._id} in {self._kept.where}",
            hint=f"when it answers again: wb rollout resume {self._id}",
        )
