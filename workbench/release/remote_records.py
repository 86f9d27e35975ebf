"""The releases of a stack in a cluster or a bucket: secrets that all machines see (`packing`), a lease (`lease`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from runtimes.base import Forbidden, Moved, NotThere, RecordKeeper, RuntimeFailure, StoredSecret
from workbench.engine.release import Release
from workbench.release.contract import Entry, HeldLock, Holder, Overtaken
from workbench.release.lease import DEFAULT_TIMING, Timing, acquire, not_allowed, take_away
from workbench.release.packing import Place, pack, pieces_of, stack_name, unpack
from workbench.release.stored_rollouts import Claim, claim_of


class RemoteRecords:
    """See `workbench.release.contract.Records`."""

    def __init__(self, keeper: RecordKeeper, place: Place, timing: Timing = DEFAULT_TIMING) -> None:
        self._keeper, self._place, self._timing = keeper, place, timing
        self._listed: tuple[StoredSecret, ...] = ()
        self._pieces: dict[int, set[str]] = {}

    @property
    def where(self) -> str:
        return self._keeper.within(self._place.namespace)

    async def entries(self) -> Sequence[Entry]:
        """One request, where the secrets are few. Raises `NotAllowed` or `RuntimeFailure`."""
        try:
            self._listed = await self._keeper.secrets(self._place.namespace, self._place.selector)
        except Forbidden as error:
            raise not_allowed(self._keeper, self._place.namespace, error) from error
        return unpack(self._listed, self._place)

    @property
    def claim(self) -> Claim | None:
        """The claim of a rollout on the stack, as `entries` found it."""
        return claim_of(self._listed, self._place)

    async def create(self, release: Release, *, home: str = "") -> str:
        return await self._write(release, home, "")

    async def replace(self, release: Release, version: str, *, home: str = "") -> str:
        return await self._write(release, home, version)

    async def delete(self, entry: Entry) -> None:
        name = entry.where.rpartition("/")[2]
        try:
            await self._keeper.delete_secret(self._place.namespace, name, entry.version)
        except Moved as error:
            raise self._overtaken(entry.revision) from error
        for each in pieces_of(self._listed, frozenset({entry.revision}), self._place):
            await self._keeper.delete_secret(each.namespace, each.name, each.version)

    async def lock(self, holder: Holder) -> HeldLock:
        """The lease is the stack's, whichever repository works on it: their objects would have the same labels."""
        name = stack_name(self._place.stack)
        return await acquire(self._keeper, self._place.namespace, name, holder, self._timing)

    async def unlock(self, holder: str) -> str:
        """See `take_away`."""
        return await take_away(self._keeper, self._place.namespace, stack_name(self._place.stack), holder)

    async def _write(self, release: Release, home: str, version: str) -> str:
        *pieces, head = pack(release, self._place, home=home, version=version)
        try:
            for each in pieces:
                with suppress(Moved):  # its name has the digest of the content: it is there
                    await self._create(each)
            written = await (self._keeper.replace_secret(head) if version else self._create(head))
        except Moved as error:
            raise self._overtaken(release.revision) from error
        except NotThere as error:
            raise self._overtaken(release.revision) from error
        except Forbidden as error:
            raise not_allowed(self._keeper, self._place.namespace, error) from error
        former = self._pieces.get(release.revision, set())
        self._pieces[release.revision] = {each.name for each in pieces}
        for name in former - self._pieces[release.revision]:
            with suppress(RuntimeFailure):  # what can't be removed goes with its release
                await self._keeper.delete_secret(self._place.namespace, name, "")
        return written

    async def _create(self, secret: StoredSecret) -> str:
        try:
            return await self._keeper.create_secret(secret)
        except NotThere:
            await self._keeper.make_namespace(self._place.namespace)
            return await self._keeper.create_secret(secret)

    def _overtaken(self, revision: int) -> Overtaken:
        return Overtaken(
            f"release {revision} was written by somebody else meanwhile", where=self.where, hint="plan again"
        )
