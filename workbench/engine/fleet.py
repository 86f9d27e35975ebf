"""What is known of every stack of a repository: one look at each, and what the looks say together. Pure.

A look has a moment and speaks of that moment only; whoever shows it says how old it is. What a look could not find out
is Unknown in it, never well: a cluster that does not answer, a configuration that does not compile, a look that has
not been taken. Health, difference and drift are those of `status`, `diff` and `drift`; nothing is judged twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from kcl.records import dataclass, field
from runtimes.base import Status
from workbench.engine.compiled import CompileFailed
from workbench.engine.drift import StackDrift
from workbench.engine.errors import SpecInvalid
from workbench.engine.release import Phase, Release
from workbench.engine.status import WAITED_FOR, StatusTree, Verdict
from workbench.project import Stack, StackPath


class Standing(StrEnum):
    """What is live of a stack, the worst first. `ABSENT`: nothing of it is there. `UNSEEN`: nobody looked yet.

    `EMPTY`: it says nothing, as where a file of it is missing, so it is not well.
    """

    FAILED = "failed"
    UNKNOWN = "unknown"
    WAITING = "not ready"
    ABSENT = "not deployed"
    EMPTY = "empty"
    UNSEEN = "not looked at"
    READY = "ready"


class Sync(StrEnum):
    """Whether an apply would change anything. `BROKEN`: there is nothing to apply, as the configuration is wrong."""

    BROKEN = "broken"
    UNKNOWN = "unknown"
    DIFFERENT = "different"
    UNSEEN = "not looked at"
    SAME = "same"


class Drifting(StrEnum):
    """`ABSENT`: nothing is there that anybody could have changed, and no release says that something was."""

    DRIFTED = "drifted"
    UNKNOWN = "unknown"
    ABSENT = "not deployed"
    UNSEEN = "not looked at"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class StackLook:
    """One look at one stack.

    `drift` has the difference, or why there is none. `tree` is what is live, None where nobody could tell, for the
    reason `blind`; with `is_of_release` it is of what the last release had, as the configuration says nothing.
    `release` is the newest that is known, None where there is none; `doubt` says why it may not be the newest.
    """

    stack: StackPath
    looked_at: datetime
    drift: StackDrift
    tree: StatusTree | None = None
    blind: Exception | None = None
    is_of_release: bool = False
    release: Release | None = None
    doubt: str = ""

    @property
    def standing(self) -> Standing:
        tree = self.tree
        if tree is None:
            return Standing.UNKNOWN
        if tree.verdict is Verdict.FAILED:
            return Standing.FAILED
        if tree.silent or tree.verdict is Verdict.UNKNOWN:
            return Standing.UNKNOWN
        if any(each.health.status is Status.UNKNOWN for each in tree.resources):
            return Standing.UNKNOWN  # its place answers, and does not let us see
        if tree.verdict in (Verdict.READY, Verdict.EMPTY):
            return Standing.READY if tree.verdict is Verdict.READY else Standing.EMPTY
        if all(each.health.status is Status.NOT_FOUND for each in tree.resources):
            return Standing.ABSENT
        return Standing.WAITING

    @property
    def sync(self) -> Sync:
        found = self.drift.diff
        if found is None:
            is_broken = isinstance(self.drift.failure, CompileFailed | SpecInvalid)
            return Sync.BROKEN if is_broken else Sync.UNKNOWN
        if found.summary.changes or any(each.exists for each in found.gaps):
            return Sync.DIFFERENT
        return Sync.SAME if found.is_certain else Sync.UNKNOWN

    @property
    def drifting(self) -> Drifting:
        if self.drift.has_drifted:
            return Drifting.DRIFTED
        if self.is_undeployed:
            return Drifting.ABSENT
        return Drifting.NONE if self.drift.is_certain else Drifting.UNKNOWN

    @property
    def is_undeployed(self) -> bool:
        """Whether nothing of it is there, and no release is known, as far as everybody answered.

        What was deleted together with its releases looks the same, so this is never well.
        """
        found = self.drift.diff
        is_told = found is not None and found.is_certain and not found.release and not self.doubt
        return is_told and self.release is None and self.standing is Standing.ABSENT

    @property
    def is_unfinished(self) -> bool:
        """Whether the last release did not do all it was to do, or is still at it as far as is recorded."""
        return self.release is not None and self.release.phase is not Phase.SUCCEEDED

    @property
    def is_well(self) -> bool:
        """Whether everything could be told, and there is nothing to do."""
        return (
            self.standing is Standing.READY
            and self.sync is Sync.SAME
            and self.drifting is Drifting.NONE
            and not self.is_unfinished
            and not self.doubt
        )

    @property
    def is_certain(self) -> bool:
        """Whether everything could be told, be it good or bad."""
        return not (
            self.standing is Standing.UNKNOWN
            or self.sync in (Sync.UNKNOWN, Sync.BROKEN)
            or self.drifting is Drifting.UNKNOWN
            or self.doubt
        )


Looks = Mapping[StackPath, StackLook]


@dataclass(frozen=True, slots=True)
class TakenOut:
    """Stacks that the repository has no more: nobody looks at them who looks at all stacks.

    `left` says by stack what of it is still there; `unknown` says what could not be found out.
    """

    left: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unknown: tuple[str, ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        return (
            *(f"{each} is no stack of this repository any more, and {what}" for each, what in self.left.items()),
            *self.unknown,
        )


@dataclass(frozen=True, slots=True)
class Silence:
    """A place that did not answer when it was last asked; `stacks` go there, as far as was looked."""

    place: str
    asked_at: datetime
    message: str
    stacks: tuple[StackPath, ...]


def silences(looks: Iterable[StackLook]) -> tuple[Silence, ...]:
    """Returns the places that were silent in the newest look at any of their stacks, in the order of their names."""
    newest: dict[str, tuple[datetime, str]] = {}
    stacks: dict[str, list[StackPath]] = {}
    for look in looks:
        silent = _silent_in(look)
        for place in {*silent, *_heard_in(look)}:
            stacks.setdefault(place, []).append(look.stack)
            if place not in newest or look.looked_at >= newest[place][0]:
                newest[place] = look.looked_at, silent.get(place, "")
    return tuple(
        Silence(place, at, message, tuple(sorted(stacks[place], key=str)))
        for place, (at, message) in sorted(newest.items())
        if message
    )


def _silent_in(look: StackLook) -> Mapping[str, str]:
    """Returns the places of one look that did not answer, each with why."""
    found: dict[str, str] = {}
    for source in look.tree.silent if look.tree is not None else ():
        found[source.place] = source.lost.message if source.lost is not None else WAITED_FOR
    for problem in look.drift.diff.problems if look.drift.diff is not None else ():
        if problem.address is None:
            found.setdefault(problem.cluster, problem.message)
    return found


def _heard_in(look: StackLook) -> Iterable[str]:
    if look.tree is not None:
        yield from (each.place for each in look.tree.sources if each.is_alive)
    if look.drift.diff is not None:
        yield from look.drift.diff.identities


def next_due(
    stacks: Sequence[Stack],
    looks: Looks,
    since: datetime,
    running: Collection[StackPath] = (),
    avoided: Collection[str] = (),
) -> Stack | None:
    """Returns the stack to look at next: those never looked at first, then the one with the oldest look.

    None where all looks are of `since` or younger. Stacks that go to a place in `avoided` are left to somebody who
    has the time to wait for it.
    """
    due = (
        each
        for each in stacks
        if each.path not in running
        and ((look := looks.get(each.path)) is None or look.looked_at < since)
        and not any(place in avoided for place in each.clusters)
    )
    return min(due, key=lambda each: _age_order(looks.get(each.path)), default=None)


def _age_order(look: StackLook | None) -> float:
    return look.looked_at.timestamp() if look is not None else float("-inf")
