"""What is known of the rollouts of a repository, and how it is said that something is not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from kcl.records import dataclass, field
from runtimes.base import RuntimeFailure
from workbench.engine.errors import Refused, ReleaseFailure
from workbench.engine.rollout.progress import Progress
from workbench.release.encoding import BrokenRecord
from workbench.release.rollout_packing import ID_FORM, NewerRecord, StoredRollout
from workbench.release.stored_rollouts import Claim, Runner, StoredRollouts


@dataclass(frozen=True, slots=True)
class RolloutEntry:
    """A rollout, where it is kept, and who carries it out: nobody, or somebody whose lease is there.

    `is_former`: an older version of this program keeps it, on this machine alone. `damage` says what is wrong with its
    record where the copy beside it tells where it stands.
    """

    progress: Progress
    place: str
    runner: Runner | None = None
    is_former: bool = False
    damage: str = ""

    @property
    def id(self) -> str:
        return self.progress.began.id


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A rollout of which nobody can say where it stands; with `is_stray` none, as nobody reads what has its labels."""

    id: str
    error: ReleaseFailure
    is_stray: bool = False


class NoSuchRollout(ReleaseFailure):
    """All places answered, and none has a record of this rollout."""


@dataclass(frozen=True, slots=True)
class RolloutListing:
    """All rollouts that are known, the newest first. `silent` are places that may have others, and why that is so.

    `places` are those that were asked, "" for this machine. No other one is seen from here: not those that another
    machine recorded on its own disk.
    """

    known: tuple[RolloutEntry, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    silent: Mapping[str, RuntimeFailure | ReleaseFailure] = field(default_factory=dict)
    places: tuple[str, ...] = ()

    @property
    def unseen(self) -> str:
        """Says which rollouts another machine may have begun that are not seen from here."""
        shared = [each for each in self.places if each]
        if not shared:
            return "of this machine alone: what others began is not seen here (docs/rollouts.md)"
        there = ", ".join(shared)
        return f"queried: {there} and this machine; what another one recorded on its disk is not seen here"

    def one(self, id_: str) -> RolloutEntry:
        """Raises `ReleaseFailure` where there is no such rollout, or none that can be read, or nobody can tell."""
        for each in self.known:
            if each.id == id_:
                return each
        for each_broken in self.unreadable:
            if each_broken.id == id_:
                raise each_broken.error
        if not ID_FORM.fullmatch(id_):
            raise ReleaseFailure(
                f"{id_[:60]!r} is no id of a rollout: they look like r-1234abcd", hint="wb rollout list"
            )
        for place, error in self.silent.items():
            raise ReleaseFailure(
                f"whether there is a rollout {id_} is not known: {error.message}", where=place, hint=error.hint
            )
        known = ", ".join(each.id for each in self.known) or "there is none"
        raise NoSuchRollout(f"there is no rollout {id_}: {known}", hint="wb rollout list")


def not_ended(at: RolloutEntry, stacks: str, now: datetime) -> Refused:
    by = f", carried out by {at.runner.who}" if at.runner is not None and at.runner.is_heard(now) else ""
    said = f"rollout {at.id} of {stacks} has not ended: it is {at.progress.phase.value}{by}"
    return Refused([said], hint=f"wb rollout resume {at.id}, or wb rollout abort {at.id}")


def untold(stack: str, claim: Claim, why: str, hint: str) -> Refused:
    return Refused([untold_said(stack, claim, why)], hint=hint or "have it answer, and try again")


def untold_said(stack: str, claim: Claim, why: str) -> str:
    place = claim.home or f"the machine of {claim.by}"
    of = f"of {stack}" if stack else "of this stack"
    return f"whether rollout {claim.rollout} {of}, recorded in {place}, has ended is not known: {why}"


def broken(found: StoredRollout, kept: StoredRollouts, error: BrokenRecord) -> ReleaseFailure:
    """Returns what to say of a rollout that neither its record nor the copy tells: how to go on without it."""
    if isinstance(error, NewerRecord):
        hint = "use that version of wb"
    elif found.is_stray:
        hint = f"delete {kept.called(found)}, which nobody reads"
    else:
        hint = (
            f"have nobody carry it out (wb rollout list), look what was applied (wb release list STACK), and delete "
            f"{kept.called(found)}: then wb rollout start begins again, or wb rollback STACK goes back"
        )
    return ReleaseFailure(f"the record {error}", where=f"{found.where} of {kept.place}", hint=hint)


def broken_former(where: str, error: BrokenRecord) -> ReleaseFailure:
    """As `broken`, of a file that an older version wrote on this machine."""
    hint = "look what was applied (wb release list STACK), and move the file away to begin again"
    return ReleaseFailure(f"the record {error}", where=where, hint=hint)
