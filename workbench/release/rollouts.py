"""The rollouts of a repository, wherever they are kept: seen, asked and carried out from every machine.

A rollout is kept where the releases of its first stack are: in that stack's first cluster, in the bucket, or on this
machine. Every stack of it is claimed where its own releases are: the next rollout of that stack finds the claim, looks
whether that rollout has ended, and is refused where it has not, or where nobody can tell. Who carries one out holds its
lease (`stored_rollouts`), and finds before each write whether somebody else carries it out by now.

Where a place does not answer, that is said: what it may have is "not known", never "none".
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio

from kcl.records import dataclass, replace
from runtimes.base import Keeping, RecordKeeper, RuntimeFailure, Unreachable
from workbench.engine.errors import Locked, Refused, ReleaseFailure
from workbench.engine.rollout.progress import Progress
from workbench.engine.rollout.values import Ask, Asked, Began, Record
from workbench.engine.tasks import running
from workbench.project import StackPath
from workbench.release.contract import HeldLock, Holder, NotAllowed, Overtaken
from workbench.release.encoding import BrokenRecord
from workbench.release.former_rollouts import FormerRollouts
from workbench.release.history import History
from workbench.release.in_folder import FolderKeeper
from workbench.release.lock import Lock, renewing
from workbench.release.packing import Place, repository_label, stack_name
from workbench.release.rollout_listing import (
    RolloutEntry,
    RolloutListing,
    Unreadable,
    broken,
    broken_former,
    not_ended,
    untold,
    untold_said,
)
from workbench.release.rollout_log import RolloutLog
from workbench.release.rollout_packing import ID_FORM, StoredRollout, stands
from workbench.release.shared import ReleasePlaces, Releases, renewed
from workbench.release.store import repository_name
from workbench.release.stored_rollouts import Claim, Claims, Runner, StoredRollouts

HERE = ""
"""The place of what is kept on this machine."""
KEPT_ROLLOUTS = 20
"""So many that have ended are kept in one place."""
_LOCAL_NAMESPACE = "rollouts"
_ANSWER_SECONDS = 10.0
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Rollouts:
    """`folder` is where this machine keeps what it keeps itself, `clusters` are all that the repository names."""

    releases: Releases
    folder: Path
    root: Path
    clusters: Callable[[], tuple[str, ...]]
    goes: Callable[[str], ReleasePlaces | None]
    """Where a stack goes to; None for one that the repository has no more."""
    user: str
    host: str
    wall: Callable[[], datetime] = lambda: datetime.now(UTC)

    # What there is

    async def all(self) -> RolloutListing:
        """Asks every place that may keep rollouts of the repository, side by side."""
        there: dict[str, list[RolloutEntry | Unreadable]] = {}
        silent: dict[str, RuntimeFailure | ReleaseFailure] = {}

        async def look(place: str, kept: StoredRollouts) -> None:
            read: list[RolloutEntry | Unreadable] = []
            for each in await kept.all():
                try:
                    read.append(await self._known(each, place, kept))
                except BrokenRecord as error:
                    read.append(Unreadable(each.id, broken(each, kept, error), each.is_stray))
            there[place] = read

        async with anyio.create_task_group() as tasks:
            for each in self._places():
                tasks.start_soon(self._ask, each, look, silent)
        every = [each for place in self._places() for each in there.get(place, ())]
        every += await self._former({each.id for each in every})
        known = sorted(
            (each for each in every if isinstance(each, RolloutEntry)),
            key=lambda each: each.progress.began.at,
            reverse=True,
        )
        unreadable = tuple(each for each in every if isinstance(each, Unreadable))
        return RolloutListing(tuple(known), unreadable, silent, self._places())

    async def find(self, id_: str) -> RolloutEntry:
        """Asks every place side by side until one has it. Raises as `RolloutListing.one`."""
        found: list[RolloutEntry] = []
        unreadable: list[Unreadable] = []

        async def look(place: str, kept: StoredRollouts) -> None:
            each = await kept.find(id_)
            if each is None:
                return
            try:
                found.append(await self._known(each, place, kept))
                tasks.cancel_scope.cancel()
            except BrokenRecord as error:
                unreadable.append(Unreadable(id_, broken(each, kept, error), each.is_stray))

        silent: dict[str, RuntimeFailure | ReleaseFailure] = {}
        if ID_FORM.fullmatch(id_):
            async with anyio.create_task_group() as tasks:
                for each in self._places():
                    tasks.start_soon(self._ask, each, look, silent)
            former = () if found or unreadable else await self._former(set())
            found += [each for each in former if isinstance(each, RolloutEntry)]
            unreadable += [each for each in former if isinstance(each, Unreadable)]
        return RolloutListing(tuple(found), tuple(unreadable), silent).one(id_)

    async def _known(self, found: StoredRollout, place: str, kept: StoredRollouts) -> RolloutEntry:
        """Raises `BrokenRecord`, and as `_runner`."""
        return RolloutEntry(found.progress(), place, await self._runner(kept, found.id), damage=found.damage)

    async def _ask(
        self,
        place: str,
        look: Callable[[str, StoredRollouts], Awaitable[None]],
        silent: dict[str, RuntimeFailure | ReleaseFailure],
    ) -> None:
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                kept = await self._kept(place)
                if kept is not None:
                    await look(place, kept)
        except TimeoutError:
            silent[place] = Unreachable(f"no answer within {_ANSWER_SECONDS:.0f} s", target=place)
        except (RuntimeFailure, ReleaseFailure) as error:
            silent[place] = error

    async def _former(self, others: set[str]) -> list[RolloutEntry | Unreadable]:
        return await anyio.to_thread.run_sync(lambda: list(self._read_former(others)))

    def _read_former(self, others: set[str]) -> Iterable[RolloutEntry | Unreadable]:
        former = FormerRollouts(self.folder)
        for id_ in former.ids():
            if id_ in others:
                continue
            try:
                records = former.records(id_)
                if records is None:
                    continue
                runner = Runner("an older version of wb", self.wall(), 60.0) if former.is_running(id_) else None
                yield RolloutEntry(stands(records, id_), HERE, runner, is_former=True)
            except BrokenRecord as error:
                yield Unreadable(id_, broken_former(str(former.path(id_)), error))
            except ReleaseFailure as error:
                yield Unreadable(id_, error)

    async def said_of(self, stack: StackPath, history: History) -> AsyncIterator[str]:
        """Yields what whoever plans a stack has to know: a rollout of it has not ended, or nobody can tell."""
        claims = history.claims
        if not history.is_shared:
            try:
                here = await self._claims(HERE, stack)
                mine = await here.read() if here is not None else None
            except (RuntimeFailure, ReleaseFailure) as error:
                yield f"whether a rollout of the stack is under way is not known: {error.message}"
                return
            claims = {HERE: mine} if mine is not None else {}
        for found in {each.rollout: each for each in claims.values()}.values():
            if said := await self._said(found):
                yield said

    async def _said(self, claim: Claim) -> str:
        if claim.problem:
            return f"whether a rollout of the stack is under way is not known: {claim.problem}"
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                at = await self._claiming(claim)
        except TimeoutError:
            return untold_said("", claim, "it does not answer")
        except (RuntimeFailure, ReleaseFailure) as error:
            return untold_said("", claim, error.message)
        if at is None:
            return untold_said("", claim, "its record is gone")
        now, runner = self.wall(), at.runner
        if at.progress.has_ended and (runner is None or not runner.is_heard(now)):
            return ""
        by = f", carried out by {runner.who}" if runner is not None and runner.is_heard(now) else ""
        return (
            f"rollout {at.id} of this stack is {at.progress.phase.value}{by}: what is changed beside it halts it "
            f"(wb rollout status {at.id})"
        )

    async def _claiming(self, claim: Claim) -> RolloutEntry | None:
        """Returns the rollout that has a stack, None where its record is gone: only those that ended are removed.

        Raises `RuntimeFailure` or `ReleaseFailure` where nobody can tell.
        """
        kept = await self._kept(claim.home)
        if kept is None:
            raise ReleaseFailure("nothing leads there from here", hint="ask whoever began it")
        found = await kept.find(claim.rollout)
        if found is None:
            return None
        try:
            return await self._known(found, claim.home, kept)
        except BrokenRecord as error:
            raise ReleaseFailure(f"its record {error}", hint="wb rollout list") from None

    # Beginning

    async def homes(self, goes: Iterable[ReleasePlaces]) -> Mapping[str, str]:
        """Returns where each of these stacks is claimed: where its releases are kept. Raises `RuntimeFailure`."""
        return {str(each.stack): await self._home(each) for each in goes}

    async def _home(self, goes: ReleasePlaces) -> str:
        for place in self.releases.places(goes)[:1]:
            claims = await self._claims(place, goes.stack)
            if claims is None:
                continue
            try:
                await claims.read()
            except NotAllowed:
                if self.releases.bucket is not None:
                    raise
                continue  # its releases are kept on this machine then, and plans say so
            return place
        return HERE

    async def begin(self, record: Began) -> None:
        """Writes the intent, and claims every stack; `homes` of the record says where.

        Raises `Refused` where another rollout of one of them has not ended, or nobody can tell whether it has,
        `ReleaseFailure` or `RuntimeFailure`.
        """
        await self._refuse_overlapping(record)
        place = _place_of(record)
        kept = await self._kept(place)
        assert kept is not None, "its claim was looked for there"
        for stack, home in await self._claimed(record):
            await self._free_for(record.id, stack, home)
        await kept.create((record,))
        try:
            await self._claim(record, place)
        except (Refused, ReleaseFailure, RuntimeFailure) as error:
            reason = f"it could not claim its stacks: {error.message}"
            try:
                await self._append(kept, record.id, Asked(self.wall(), Ask.ABORT, self.user, self.host, reason))
            except (ReleaseFailure, RuntimeFailure):
                begun = f"it is recorded as begun, so then: wb rollout abort {record.id}"
                error.hint = f"{error.hint}; {begun}" if error.hint else begun
                raise error from None
            with suppress(ReleaseFailure, RuntimeFailure):
                await self._free(record)
            raise
        with suppress(ReleaseFailure, RuntimeFailure):
            await self._trim(kept)

    async def _refuse_overlapping(self, record: Began) -> None:
        """Where a place is silent that no stack is claimed in, the claims tell."""
        found = await self.all()
        for unread in found.unreadable:
            if unread.is_stray:
                continue
            said = f"rollout {unread.id} cannot be read: it may be one of the same stacks ({unread.error.message})"
            raise Refused([said], where=unread.error.where, hint=unread.error.hint)
        for each in found.known:
            both = sorted(record.parts.keys() & each.progress.began.parts.keys())
            if each.id == record.id or not both:
                continue
            if not each.progress.has_ended:
                raise not_ended(each, ", ".join(both), self.wall())
            if each.runner is not None and each.runner.is_heard(self.wall()):
                said = f"rollout {each.id} is {each.progress.phase.value}, and {each.runner.who} ends its last batch"
                raise Refused([said], hint="wait for it: wb rollout list")
        for stack, home in record.homes.items():
            if (error := found.silent.get(home)) is not None:
                said = f"whether another rollout of {stack} is under way is not known: {error.message}"
                raise Refused([said], where=home or "this machine", hint=error.hint)

    async def _claimed(self, record: Began) -> list[tuple[str, str]]:
        """Returns the stacks of a rollout, and where each is claimed. What a bucket keeps is claimed in the first
        cluster as well: another machine may keep its releases there, and sees no bucket.
        """
        found: list[tuple[str, str]] = []
        touched = {(each.stack, each.cluster) for stage in record.stages for each in stage.targets}
        for stack, home in sorted(record.homes.items()):
            found.append((stack, home))
            goes = self.goes(stack) if self._is_bucket(home) else None
            if goes is not None and any((stack, each) in touched for each in goes.clusters):
                found += [(stack, each) for each in goes.clusters[:1] if await self._keeper(each) is not None]
        return found

    async def _claim(self, record: Began, place: str) -> None:
        for stack, home in await self._claimed(record):
            for _ in range(_ATTEMPTS):
                claims, version = await self._free_for(record.id, stack, home)
                try:
                    by = f"{self.user}@{self.host}"
                    await claims.write(Claim(record.id, place, by, version))
                except Overtaken:
                    continue
                break
            else:
                raise Refused([f"others claim {stack} all the time"], hint="wb rollout list")

    async def _free_for(self, id_: str, stack: str, home: str) -> tuple[Claims, str]:
        """Returns the claims on a stack and the version of the one to be replaced; raises `Refused` for another's."""
        claims = await self._claims(home, StackPath.parse(stack))
        if claims is None:
            raise Refused([f"{stack} can't be claimed in {home}: it keeps no records"])
        found = await claims.read()
        if found is None:
            return claims, ""
        if found.problem:
            hint = "look whether a rollout is under way (wb rollout list), then delete it"
            raise Refused([f"whether a rollout of {stack} is under way is not known: {found.problem}"], hint=hint)
        if found.rollout != id_:
            if home != HERE and found.home == HERE:
                raise untold(stack, found, "the claim does not say where it is kept", "wb rollout list")
            await self._refuse_claimed(stack, found)
        return claims, found.version

    async def _refuse_claimed(self, stack: str, claim: Claim) -> None:
        """A rollout whose record is not there has ended: records of others are not removed."""
        try:
            at = await self._claiming(claim)
        except (RuntimeFailure, ReleaseFailure) as error:
            raise untold(stack, claim, error.message, error.hint) from None
        if at is not None and not at.progress.has_ended:
            raise not_ended(at, stack, self.wall())

    # What happens to one

    async def add(self, id_: str, record: Record) -> Progress:
        """Writes a record, whoever carries it out; returns where the rollout stands then.

        Raises `ReleaseFailure` or `RuntimeFailure`.
        """
        known = await self._taken_over(await self.find(id_))
        kept = await self._kept(known.place)
        assert kept is not None, "it was found there"
        at = await self._append(kept, id_, record)
        if at.has_ended:
            with suppress(ReleaseFailure, RuntimeFailure):
                await self._free(at.began)
        return at

    async def _append(self, kept: StoredRollouts, id_: str, record: Record) -> Progress:
        for _ in range(_ATTEMPTS):
            found = await kept.find(id_)
            if found is None:
                raise ReleaseFailure(f"rollout {id_} is gone", where=kept.where, hint="wb rollout list")
            try:
                records = (*found.load(), record)
                await kept.replace(records, found.fence, found)
                return stands(records, id_)
            except BrokenRecord as error:
                raise broken(found, kept, error) from None
            except Overtaken:
                continue
        raise ReleaseFailure("others write it all the time", where=kept.where, hint="try again")

    @asynccontextmanager
    async def running(self, id_: str) -> AsyncIterator[RolloutLog]:
        """Carries a rollout out alone, over all machines; what is yielded reads and writes its records.

        Raises `Locked` while somebody else does, `Refused` where another rollout has one of its stacks by now,
        `ReleaseFailure` or `RuntimeFailure`.
        """
        known = await self.find(id_)
        local = Lock.acquire(self._lock_folder(id_), user=self.user, host=self.host)
        held: HeldLock | None = None
        try:
            known = await self._taken_over(known)
            kept = await self._kept(known.place)
            assert kept is not None, "it was found there"
            holder = Holder(self.user, self.host, os.getpid(), token=local.token, ended=local.ended)
            held = await _lock(kept, id_, holder)
            if not known.progress.has_ended:
                await self._claim(await self._with_homes(known.progress.began), known.place)
            log = RolloutLog(kept, id_, held)
            await log.take_over()
            async with running(renewed({known.place: held})), renewing(local):
                yield log
        finally:
            with anyio.CancelScope(shield=True):
                if held is not None:
                    await held.release()
            local.release()

    async def close(self, log: RolloutLog) -> None:
        """Frees the stacks of one that has ended; what can't be freed now is found to be over by whoever wants it."""
        if (at := log.latest) is not None and at.has_ended:
            with suppress(ReleaseFailure, RuntimeFailure):
                await self._free(at.began)

    async def unlock(self, id_: str, holder: str) -> str:
        """Frees the lease of a rollout that this holder has; returns who has it. An empty `holder` only looks."""
        known = await self.find(id_)
        kept = await self._kept(known.place)
        return await kept.unlock(id_, holder) if kept is not None else ""

    async def _free(self, began: Began) -> None:
        for stack, home in await self._claimed(await self._with_homes(began)):
            claims = await self._claims(home, StackPath.parse(stack))
            if claims is not None:
                with suppress(Overtaken):
                    await claims.free(began.id)

    async def _trim(self, kept: StoredRollouts) -> None:
        """Removes those that have ended beyond the history; never one that is open, or can't be read."""
        over: list[tuple[Began, StoredRollout]] = []
        for each in await kept.all():
            with suppress(BrokenRecord):
                at = each.progress()
                if at.has_ended:
                    over.append((at.began, each))
        for began, each in sorted(over, key=lambda one: one[0].at, reverse=True)[KEPT_ROLLOUTS:]:
            with suppress(Overtaken):
                await self._free(began)  # a claim without a record says that nobody knows whether it has ended
                await kept.delete(each)

    async def _taken_over(self, known: RolloutEntry) -> RolloutEntry:
        """Gives a rollout that an older version began to where rollouts are kept now."""
        if not known.is_former:
            return known
        former = FormerRollouts(self.folder)
        if known.runner is not None:
            raise Locked("an older version of wb on this machine", where=known.id)
        began = await self._with_homes(known.progress.began)
        place = _place_of(began)
        kept = await self._kept(place)
        assert kept is not None, "its claim was looked for there"
        records = await anyio.to_thread.run_sync(former.records, known.id)
        if records is not None:
            with suppress(Overtaken):  # whoever took it over a moment ago was interrupted
                await kept.create((replace(began, at=known.progress.began.at), *records[1:]))
            await anyio.to_thread.run_sync(former.taken_over, known.id)
        return RolloutEntry(known.progress, place)

    async def _with_homes(self, began: Began) -> Began:
        """Returns it with where its stacks are claimed, which older versions did not record."""
        if began.homes:
            return began
        there = [each for stack in began.parts if (each := self.goes(stack)) is not None]
        homes = dict.fromkeys(began.parts, HERE) | dict(await self.homes(there))
        return replace(began, homes=homes)

    # Places

    def _places(self) -> tuple[str, ...]:
        """Returns who may keep rollouts of the repository: this machine always may."""
        shared = self.releases
        if not shared.repository:
            return (HERE,)
        bucket = (shared.bucket.place,) if shared.bucket is not None else ()
        return (*bucket, *(self.clusters() if shared.namespace else ()), HERE)

    async def _keeper(self, place: str) -> RecordKeeper | None:
        """Returns None for what keeps no records. Raises `RuntimeFailure`."""
        shared = self.releases
        if place == HERE:
            return FolderKeeper(self.folder)
        if shared.bucket is not None and place == shared.bucket.place:
            return shared.bucket.open()
        if place not in self.clusters() or not shared.namespace:
            return None
        runtime = await shared.connect(place)
        return runtime.records if isinstance(runtime, Keeping) else None

    async def _kept(self, place: str) -> StoredRollouts | None:
        keeper = await self._keeper(place)
        if keeper is None:
            return None
        repository = self._repository(place)
        namespace = self.releases.namespace
        if place == HERE:
            namespace = _LOCAL_NAMESPACE
        elif self._is_bucket(place):
            namespace = f"wb-rollouts-{repository_label(repository)}"
        return StoredRollouts(keeper, namespace, repository, self.releases.timing)

    async def _claims(self, place: str, stack: StackPath) -> Claims | None:
        keeper = await self._keeper(place)
        if keeper is None:
            return None
        namespace = self.releases.namespace
        if place == HERE or self._is_bucket(place):
            namespace = stack_name(stack)
        return Claims(keeper, Place(namespace, stack, self._repository(place)))

    def _is_bucket(self, place: str) -> bool:
        return self.releases.bucket is not None and place == self.releases.bucket.place

    def _repository(self, place: str) -> str:
        """On a machine each checkout is one for itself, as with releases."""
        return repository_name(self.root) if place == HERE else self.releases.repository

    def _lock_folder(self, id_: str) -> Path:
        return self.folder / "running" / id_

    async def _runner(self, kept: StoredRollouts, id_: str) -> Runner | None:
        found = await kept.runner(id_)
        if found is None or not found.token:
            return found
        gone = await anyio.to_thread.run_sync(Lock.gone, self._lock_folder(id_), self.host)
        return replace(found, is_gone=gone == found.token)


async def _lock(kept: StoredRollouts, id_: str, holder: Holder) -> HeldLock:
    try:
        return await kept.lock(id_, holder)
    except Locked as error:
        error.hint = f"wait for it; wb rollout pause {id_} has it stop; if it is gone, its lock ends by itself soon"
        raise


def _place_of(record: Began) -> str:
    """Returns where a rollout is kept: with its first stack whose releases are shared."""
    return next((home for stack in record.parts if (home := record.homes.get(stack, HERE)) != HERE), HERE)
