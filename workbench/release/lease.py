"""One worker a stack at a time, on whatever machine: a lease in a cluster, or in a bucket.

Its holder renews it while it works. Clocks of machines are never compared to take it from somebody: who finds it held
takes it only after it was seen unchanged for all of its lifetime by the own clock. The holder in turn takes it for lost
before that: a process that slept, or could not reach the cluster, for too long starts nothing more (`verify`), and what
it had begun is bound to versions that the next holder sees. Before a step the cluster is asked whose the lease is,
about once a second (`check`), and each write of a record is preceded by a renewal, which is refused where it
has gone to somebody else.

What the holder's own clock wrote serves for one thing only: a lease that says it was renewed a moment ago is refused at
once, without waiting.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import anyio

from kcl.records import dataclass, replace
from runtimes.base import Forbidden, Lease, Moved, NotThere, RecordKeeper, RuntimeFailure
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.release.contract import Holder, NotAllowed

_ATTEMPTS = 6
_MOST_TRANSITIONS = 2**31 - 1
"""A cluster takes no greater number: whoever wrote it there would else lock the stack for ever."""
_LONGEST_SHOWN = 120


def _now() -> float:
    """Goes on while the machine sleeps, unlike `time.monotonic` on Linux."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True, slots=True)
class Timing:
    """`valid_seconds` is how long a holder trusts its last renewal: shorter than `lifetime_seconds` by far."""

    lifetime_seconds: float = 45.0
    valid_seconds: float = 30.0
    look_seconds: float = 1.5
    check_seconds: float = 1.0
    clock: Callable[[], float] = _now
    wall: Callable[[], datetime] = lambda: datetime.now(UTC)


DEFAULT_TIMING: Final = Timing()


class LeaseLock:
    """A lease that is held. See `workbench.release.contract.HeldLock`."""

    def __init__(self, keeper: RecordKeeper, lease: Lease, token: str, renewed_at: float, timing: Timing) -> None:
        self._keeper, self._lease, self._token, self._timing = keeper, lease, token, timing
        self._renewed_at = self._checked_at = renewed_at
        self._lost = ""
        self._turn = anyio.Lock()

    @property
    def token(self) -> str:
        return self._token

    @property
    def fence(self) -> int:
        """Greater for every later holder."""
        return self._lease.transitions

    def verify(self) -> None:
        silent = self._timing.clock() - self._renewed_at
        if not self._lost and silent > self._timing.valid_seconds:
            self._lost = f"could not be renewed for {silent:.0f} s, so it may be another's by now"
        if self._lost:
            raise self._failure()

    async def check(self) -> None:
        self.verify()
        if self._timing.clock() - self._checked_at < self._timing.check_seconds:
            return
        async with self._turn:
            began = self._timing.clock()
            with suppress(RuntimeFailure):
                await self._look_again()
                self._checked_at = began

    async def renew(self) -> None:
        async with self._turn:
            for _ in range(_ATTEMPTS):
                self.verify()
                began = self._timing.clock()
                try:
                    self._lease = await self._keeper.write_lease(
                        replace(self._lease, renewed=_text(self._timing.wall()))
                    )
                except (Moved, NotThere):
                    await self._look_again()
                else:
                    self._renewed_at = self._checked_at = began
                    return
            raise ReleaseFailure("others write the lock all the time", where=self._where)

    async def release(self) -> None:
        async with self._turn:
            with suppress(RuntimeFailure, ReleaseFailure):
                for _ in range(_ATTEMPTS):
                    try:
                        await self._keeper.write_lease(replace(self._lease, holder=""))
                    except Moved:
                        await self._look_again()
                    else:
                        return

    async def _look_again(self) -> None:
        """Where it is still ours, goes on from what is there now; raises `ReleaseFailure` where it is not."""
        found = await self._keeper.lease(self._lease.namespace, self._lease.name)
        if found is None:
            self._lost = "was removed"
        elif found.holder != self._lease.holder:
            self._lost = f"was taken over by {described(found)}" if found.holder else "was taken away"
        else:
            self._lease = found
            return
        raise self._failure()

    def _failure(self) -> ReleaseFailure:
        return ReleaseFailure(f"the lock {self._lost}", where=self._where, hint="nothing more is started; plan again")

    @property
    def _where(self) -> str:
        return f"lease {self._lease.name} in {self._keeper.within(self._lease.namespace)}"


async def acquire(
    keeper: RecordKeeper, namespace: str, name: str, holder: Holder, timing: Timing = DEFAULT_TIMING
) -> LeaseLock:
    """Takes a lease. Raises `Locked` with its holder, `NotAllowed`, or `RuntimeFailure`."""
    token = holder.token or secrets.token_hex(8)
    where = f"lease {name} in {keeper.within(namespace)}"
    for _ in range(_ATTEMPTS):
        try:
            found = await keeper.lease(namespace, name)
            if found is not None and found.holder and not _is_over(found, holder):
                found = await _given_up(keeper, found, timing)
            began = timing.clock()
            written = await keeper.write_lease(_taken(namespace, name, found, holder, token, timing))
        except Moved:
            continue  # somebody was faster: who is it?
        except NotThere:
            await _make_namespace(keeper, namespace)
        except Forbidden as error:
            raise not_allowed(keeper, namespace, error) from error
        else:
            return LeaseLock(keeper, written, token, began, timing)
    raise Locked("others who take it all the time", where=where)


def _is_over(lease: Lease, holder: Holder) -> bool:
    return bool(holder.ended) and token_of(lease) == holder.ended


async def _given_up(keeper: RecordKeeper, found: Lease, timing: Timing) -> Lease | None:
    """Returns the lease as it may be taken: free, gone, or unchanged for all of its lifetime. Raises `Locked`."""
    if _seems_fresh(found, timing):
        raise _locked(keeper, found)
    seen_since = timing.clock()
    lifetime = max(timing.lifetime_seconds, min(found.lifetime_seconds, 10 * timing.lifetime_seconds))
    while timing.clock() - seen_since <= lifetime:
        await anyio.sleep(timing.look_seconds)
        now = await keeper.lease(found.namespace, found.name)
        if now is None or not now.holder:
            return now
        if now.version != found.version:
            raise _locked(keeper, now)
    return found


async def take_away(keeper: RecordKeeper, namespace: str, name: str, holder: str) -> str:
    """Frees a lease that this holder has, as `described` names it; returns who has it, empty if nobody.

    With an empty `holder` it only looks. Raises `Locked` where another one has it, or `RuntimeFailure`.
    """
    found = await keeper.lease(namespace, name)
    if found is None or not found.holder:
        return ""
    if holder and holder != described(found):
        raise _locked(keeper, found)
    if holder:
        await keeper.write_lease(replace(found, holder=""))
    return described(found)


def _seems_fresh(lease: Lease, timing: Timing) -> bool:
    try:
        renewed = datetime.fromisoformat(lease.renewed)
        age = (timing.wall() - renewed).total_seconds()
    except (ValueError, TypeError):
        return False
    return -timing.lifetime_seconds < age < timing.lifetime_seconds


def _taken(namespace: str, name: str, found: Lease | None, holder: Holder, token: str, timing: Timing) -> Lease:
    now = _text(timing.wall())
    return Lease(
        namespace=namespace,
        name=name,
        holder=f"{holder.user}@{holder.host}/{holder.pid}/{token}",
        transitions=found.transitions + 1 if found and 0 <= found.transitions < _MOST_TRANSITIONS else 1,
        acquired=now,
        renewed=now,
        lifetime_seconds=max(1, round(timing.lifetime_seconds)),
        version=found.version if found else "",
    )


async def _make_namespace(keeper: RecordKeeper, namespace: str) -> None:
    try:
        await keeper.make_namespace(namespace)
    except Forbidden as error:
        raise not_allowed(keeper, namespace, error) from error


def not_allowed(keeper: RecordKeeper, namespace: str, error: Forbidden) -> NotAllowed:
    """Says which rights keeping releases there takes, and what works without."""
    return NotAllowed(
        f"releases may not be kept in {keeper.place}: {error.message}",
        where=keeper.within(namespace),
        hint=f"{keeper.rights(namespace)}; WB_RELEASES=local keeps releases on this machine only",
    )


def _locked(keeper: RecordKeeper, lease: Lease) -> Locked:
    locked = Locked(f"{described(lease)}, by its lease in {keeper.place}", where=f"{lease.namespace}/{lease.name}")
    locked.hint = "wait for it; if that process is gone, its lock ends by itself soon, or: wb release unlock"
    return locked


def described(lease: Lease) -> str:
    """Returns who holds a lease. Anybody may have written it: what is no plain text is left out."""
    who, _, rest = lease.holder.rpartition("/")
    who, _, pid = who.rpartition("/")
    said = f"{who} pid {pid} since {lease.acquired}" if who and pid.isdecimal() and rest else lease.holder
    return "".join(each for each in said if each.isprintable())[:_LONGEST_SHOWN]


def token_of(lease: Lease) -> str:
    return lease.holder.rpartition("/")[2]


def _text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
