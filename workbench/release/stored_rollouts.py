"""The rollouts of a repository in one place: a cluster, a bucket, or a folder of this machine.

Each is one secret (`rollout_packing`); who carries it out holds a lease of the same name. A claim says of a stack which
rollout has it, beside the releases of the stack: it is made once, and given to another rollout only over what was read,
so that of two that begin at the same time one is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from kcl.records import dataclass, replace
from runtimes.base import Forbidden, Lease, Moved, NotThere, RecordKeeper, RuntimeFailure, StoredSecret
from runtimes.base.documents import load_json
from workbench.engine.errors import ReleaseFailure
from workbench.engine.rollout.values import Began, Record
from workbench.release.contract import Holder, Overtaken
from workbench.release.lease import (
    DEFAULT_TIMING,
    LeaseLock,
    Timing,
    acquire,
    described,
    not_allowed,
    take_away,
    token_of,
)
from workbench.release.packing import PART, Place, repository_label, stack_name
from workbench.release.packing import REPOSITORY as OF_REPOSITORY
from workbench.release.rollout_packing import ID_FORM, StoredRollout, copy_name, copy_of, labels, name, pack, stored

_CLAIM_TYPE = "workbench.konfig.io/rollout-claim.v1"
_CLAIM = "claim"
CLAIM_PART: Final = "rollout"
_LONGEST_LIFETIME_SECONDS: Final = 10 * DEFAULT_TIMING.lifetime_seconds


@dataclass(frozen=True, slots=True)
class Runner:
    """Who carries a rollout out. `heard` is when it said so last, by its own clock; None if that is not told.

    `is_gone`: its process was of this machine, and is no more.
    """

    who: str
    heard: datetime | None
    lifetime_seconds: float
    token: str = ""
    is_gone: bool = False

    def silent_seconds(self, now: datetime) -> float | None:
        """Returns how long ago it was heard; less than 0 where its clock is ahead, None where that is not told."""
        return None if self.heard is None else (now - self.heard).total_seconds()

    def is_heard(self, now: datetime) -> bool:
        """Tells whether it is at work, as far as anybody can know."""
        silent = self.silent_seconds(now)
        lifetime = self.lifetime_seconds
        return not self.is_gone and silent is not None and -lifetime < silent <= lifetime


class StoredRollouts:
    """`namespace` is where the rollouts are in a place, `repository` whose they are."""

    def __init__(self, keeper: RecordKeeper, namespace: str, repository: str, timing: Timing) -> None:
        self._keeper, self._namespace, self._repository, self._timing = keeper, namespace, repository, timing

    @property
    def where(self) -> str:
        return self._keeper.within(self._namespace)

    @property
    def place(self) -> str:
        return self._keeper.place

    def called(self, found: StoredRollout) -> str:
        """Names what there is of a rollout as who deletes it has to."""
        there = name(self._repository, found.id)
        names = [found.where.rpartition("/")[2]] if found.is_stray else [there, copy_name(self._repository, found.id)]
        return f"{' and '.join(names)} in {self.where}"

    async def all(self) -> Sequence[StoredRollout]:
        """Returns those that are there, broken ones too. Raises `NotAllowed` or `RuntimeFailure`."""
        return await self._found(labels(self._repository))

    async def find(self, id_: str) -> StoredRollout | None:
        """Raises as `all`."""
        found = [each for each in await self._found(labels(self._repository, id_)) if each.id == id_]
        return next(iter(sorted(found, key=lambda each: each.is_stray)), None)

    async def _found(self, labelled: Mapping[str, str]) -> list[StoredRollout]:
        try:
            found = stored(await self._keeper.secrets(self._namespace, labelled), self._repository)
            if any(each.damage for each in found):  # or somebody wrote between the reading of a record and of its copy
                found = stored(await self._keeper.secrets(self._namespace, labelled), self._repository)
        except Forbidden as error:
            raise not_allowed(self._keeper, self._namespace, error) from error
        return found

    async def create(self, records: tuple[Record, ...], fence: int = 0) -> None:
        """Raises `Overtaken` where there is one by that id, `NotAllowed`, `ReleaseFailure` or `RuntimeFailure`."""
        secret = self._packed(records, fence)
        try:
            await create(self._keeper, secret)
        except Moved as error:
            raise Overtaken("there is a rollout by that id", where=self.where) from error
        except Forbidden as error:
            raise not_allowed(self._keeper, self._namespace, error) from error
        await self._copy(secret, "", records[0].id if isinstance(records[0], Began) else "")

    async def replace(self, records: tuple[Record, ...], fence: int, over: StoredRollout) -> StoredRollout:
        """Writes them over what was found, and returns what is there then.

        Raises `Overtaken` where somebody else wrote it since, and as `create`.
        """
        secret = self._packed(records, fence, over.version)
        try:
            if over.is_alien:
                await self._keeper.delete_secret(self._namespace, secret.name, over.version)
            is_made = over.is_alien or not over.version
            version = await (create(self._keeper, secret) if is_made else self._keeper.replace_secret(secret))
        except (Moved, NotThere) as error:
            raise Overtaken("the rollout was written by somebody else meanwhile", where=self.where) from error
        except Forbidden as error:
            raise not_allowed(self._keeper, self._namespace, error) from error
        copied = await self._copy(secret, over.copied, over.id)
        return replace(over, version=version, fence=fence, copied=copied, damage="", is_alien=False)

    async def _copy(self, secret: StoredSecret, version: str, id_: str) -> str:
        """Writes the copy of a record that was written, and returns its version.

        Where it can't be written now, the next record is copied: until then there is none, or an earlier one. So it is
        where somebody else wrote it meanwhile, who wrote the record as well.
        """
        copy = copy_of(secret, version)
        with suppress(ReleaseFailure, RuntimeFailure):
            try:
                return await (self._keeper.replace_secret(copy) if version else create(self._keeper, copy))
            except (Moved, NotThere):
                found = stored(
                    await self._keeper.secrets(self._namespace, labels(self._repository, id_)), self._repository
                )
                return next((each.copied for each in found if each.id == id_ and not each.is_stray), "")
        return version

    def _packed(self, records: tuple[Record, ...], fence: int, version: str = "") -> StoredSecret:
        return pack(records, fence, namespace=self._namespace, repository=self._repository, version=version)

    async def delete(self, found: StoredRollout) -> None:
        """Raises `Overtaken` where it was written since; gone already is success."""
        try:
            if found.version:
                await self._keeper.delete_secret(self._namespace, name(self._repository, found.id), found.version)
            await self._keeper.delete_secret(self._namespace, copy_name(self._repository, found.id), "")
        except Moved as error:
            raise Overtaken("the rollout was written by somebody else meanwhile", where=self.where) from error

    async def lock(self, id_: str, holder: Holder) -> LeaseLock:
        """Raises `Locked` with whoever carries it out, `NotAllowed` or `RuntimeFailure`."""
        return await acquire(self._keeper, self._namespace, name(self._repository, id_), holder, self._timing)

    async def unlock(self, id_: str, holder: str) -> str:
        """See `lease.take_away`."""
        return await take_away(self._keeper, self._namespace, name(self._repository, id_), holder)

    async def runner(self, id_: str) -> Runner | None:
        """Returns None where nobody carries it out. Raises `RuntimeFailure`."""
        found = await self._keeper.lease(self._namespace, name(self._repository, id_))
        return _runner(found) if found is not None and found.holder else None


@dataclass(frozen=True, slots=True)
class Claim:
    """Which rollout has a stack. `home` is the place of its record, empty for the machine `by` itself.

    `problem` says why it can't be read: nobody knows then which rollout it is.
    """

    rollout: str
    home: str
    by: str
    version: str = ""
    problem: str = ""


def claim_of(secrets: Sequence[StoredSecret], place: Place) -> Claim | None:
    """Returns the claim on a stack among its secrets, None if there is none of this repository."""
    found = next((each for each in secrets if each.name == _claim_name(place)), None)
    if found is None:
        return None
    try:
        if found.unreadable:
            raise ValueError(found.unreadable)
        told = load_json(found.data[_CLAIM])
        rollout, home, by = told["rollout"], told["home"], told["by"]
        if not all(isinstance(each, str) and (each.isprintable() or not each) for each in (rollout, home, by)):
            raise ValueError("it is no claim")
        if not ID_FORM.fullmatch(rollout) or told["repository"] != place.repository:
            raise ValueError("it is no claim of this repository")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = str(error) if type(error) is ValueError else "it is no claim"
        return Claim("", "", "", found.version, f"{found.namespace}/{found.name} can't be read: {why[:200]}")
    return Claim(rollout, home[:200], by[:200], found.version)


class Claims:
    """The claim on one stack in one place."""

    def __init__(self, keeper: RecordKeeper, place: Place) -> None:
        self._keeper, self._place = keeper, place

    @property
    def where(self) -> str:
        return self._keeper.within(self._place.namespace)

    async def read(self) -> Claim | None:
        """Raises `NotAllowed` or `RuntimeFailure`."""
        try:
            labelled = {**self._place.selector, PART: CLAIM_PART}
            return claim_of(await self._keeper.secrets(self._place.namespace, labelled), self._place)
        except Forbidden as error:
            raise not_allowed(self._keeper, self._place.namespace, error) from error

    async def write(self, claim: Claim) -> None:
        """Makes it, or replaces the version it has; raises `Overtaken`, `NotAllowed` or `RuntimeFailure`."""
        told = {"rollout": claim.rollout, "home": claim.home, "by": claim.by, "repository": self._place.repository}
        secret = StoredSecret(
            self._place.namespace,
            _claim_name(self._place),
            _CLAIM_TYPE,
            {**self._place.selector, PART: CLAIM_PART, OF_REPOSITORY: repository_label(self._place.repository)},
            {_CLAIM: json.dumps(told).encode()},
            version=claim.version,
        )
        try:
            await (self._keeper.replace_secret(secret) if claim.version else create(self._keeper, secret))
        except (Moved, NotThere) as error:
            raise Overtaken("another rollout claims the stack at this moment", where=self.where) from error
        except Forbidden as error:
            raise not_allowed(self._keeper, self._place.namespace, error) from error

    async def free(self, rollout: str) -> None:
        """Removes the claim of that rollout; another one's stays. Raises `RuntimeFailure`."""
        found = await self.read()
        if found is not None and found.rollout == rollout:
            await self._keeper.delete_secret(self._place.namespace, _claim_name(self._place), found.version)


async def create(keeper: RecordKeeper, secret: StoredSecret) -> str:
    """As the keeper does, with the namespace where that is missing."""
    try:
        return await keeper.create_secret(replace(secret, version=""))
    except NotThere:
        await keeper.make_namespace(secret.namespace)
        return await keeper.create_secret(replace(secret, version=""))


def _claim_name(place: Place) -> str:
    return f"{stack_name(place.stack, place.repository)}-rollout"


def _runner(lease: Lease) -> Runner:
    heard: datetime | None = None
    with suppress(ValueError):
        said = datetime.fromisoformat(lease.renewed)
        heard = said if said.tzinfo is not None else None
    lifetime = min(float(max(1, lease.lifetime_seconds)), _LONGEST_LIFETIME_SECONDS)
    return Runner(described(lease), heard, lifetime, token_of(lease))
