"""Records → where a rollout stands, and what comes next. Pure; records may come from several terminals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import assert_never

from kcl.records import dataclass, field, replace
from workbench.engine.rollout.values import (
    Applied,
    Ask,
    Asked,
    BatchBegan,
    BatchReady,
    Began,
    Finished,
    Halted,
    Interrupted,
    Record,
    RolledBack,
    Stage,
    Target,
    Waits,
)


class Phase(StrEnum):
    """`OPEN`: it may go on, and does if somebody runs it; a process that died left it so, too."""

    OPEN = "open"
    PAUSED = "paused"
    WAITING = "waiting for approval"
    HALTED = "halted"
    ABORTED = "aborted"
    FINISHED = "finished"
    ROLLED_BACK = "rolled back"


ENDED = frozenset({Phase.ABORTED, Phase.FINISHED, Phase.ROLLED_BACK})


@dataclass(frozen=True, slots=True)
class Next:
    """The batch that comes next. `opens` tells the first one of a stage, `former` the stage before it."""

    stage: Stage
    number: int
    opens: bool
    former: Stage | None

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.stage.batches[self.number]


@dataclass(frozen=True, slots=True)
class Progress:
    """`ready` are the batches that ended well, `approved` who approved which stage.

    `notes` say of a batch that is ready what that leaves out.

    `revisions` are the releases that it made, by stack; `returned` those of them that have again what they had before.
    `running` is the batch that was begun and did not end.
    """

    began: Began
    phase: Phase = Phase.OPEN
    ready: frozenset[tuple[str, int]] = frozenset()
    notes: Mapping[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    running: tuple[str, int] | None = None
    approved: Mapping[str, Asked] = field(default_factory=dict)
    revisions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    returned: frozenset[str] = frozenset()
    halted: Halted | None = None
    last: Record | None = None
    asked: tuple[Asked, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.phase in ENDED

    @property
    def done(self) -> tuple[Target, ...]:
        """The targets of batches that ended well."""
        return tuple(
            target
            for stage in self.began.stages
            for number, batch in enumerate(stage.batches)
            if (stage.name, number) in self.ready
            for target in batch
        )

    @property
    def total(self) -> int:
        return sum(len(each.targets) for each in self.began.stages)

    @property
    def touched(self) -> tuple[str, ...]:
        """The stacks that it has made a release of and that are not rolled back, the last one first."""
        return tuple(each for each in reversed(tuple(self.revisions)) if each not in self.returned)

    def next(self) -> Next | None:
        """Returns the first batch that did not end well, None where all of them did."""
        former: Stage | None = None
        for stage in self.began.stages:
            for number in range(len(stage.batches)):
                if (stage.name, number) not in self.ready:
                    return Next(stage, number, number == 0, former)
            former = stage if stage.batches else former
        return None


def progress(records: Iterable[Record]) -> Progress:
    """Returns where a rollout stands; raises `ValueError` for records that are not those of one rollout."""
    first, *others = records
    if not isinstance(first, Began):
        raise ValueError("the first record is not the begin of a rollout")
    if not all(each.stack in first.parts for stage in first.stages for each in stage.targets):
        raise ValueError("a target is of a stack that it did not begin with")
    found = Progress(first, last=first)
    for each in others:
        _refuse_unknown(first, each)
        found = replace(_fold(found, each), last=each)
    return found


def _refuse_unknown(began: Began, record: Record) -> None:
    match record:
        case (
            BatchBegan(stage=name, batch=batch) | BatchReady(stage=name, batch=batch) | Applied(stage=name, batch=batch)
        ):
            if not any(each.name == name and batch < len(each.batches) for each in began.stages):
                raise ValueError(f"there is no batch {batch + 1} of a stage {name!r}")
        case _:
            pass
    match record:
        case Applied(stack=stack) | RolledBack(stack=stack) if stack not in began.parts:
            raise ValueError(f"it did not begin with a stack {stack!r}")
        case _:
            pass


def _fold(found: Progress, record: Record) -> Progress:
    if isinstance(record, Asked):
        return _asked(found, record)
    if found.phase is Phase.ABORTED and not isinstance(record, RolledBack | Applied):
        return found  # a process that had not heard of it yet
    match record:
        case BatchBegan(stage=stage, batch=batch):
            return replace(found, running=(stage, batch))  # a pause asked for just before it still holds after it
        case Applied(stack=stack, revision=revision):
            of_stack = tuple(dict.fromkeys((*found.revisions.get(stack, ()), revision)))
            others = {name: each for name, each in found.revisions.items() if name != stack}
            return replace(found, revisions={**others, stack: of_stack}, returned=found.returned - {stack})
        case BatchReady(stage=stage, batch=batch, notes=notes):
            said = {**found.notes, (stage, batch): notes}
            return replace(found, ready=found.ready | {(stage, batch)}, notes=said, running=None)
        case Halted():
            return replace(found, phase=Phase.HALTED, halted=record)
        case Interrupted():
            return found
        case Waits():
            return replace(found, phase=Phase.WAITING)
        case Finished():
            return replace(found, phase=Phase.FINISHED)
        case RolledBack(stack=stack):
            returned = found.returned | {stack}
            phase = Phase.ROLLED_BACK if returned >= found.revisions.keys() else found.phase
            return replace(found, returned=returned, phase=phase)
        case Began():
            raise ValueError("a rollout begins once")
        case _:
            assert_never(record)


def _asked(found: Progress, record: Asked) -> Progress:
    found = replace(found, asked=(*found.asked, record))
    if found.has_ended:
        return found
    match record.what:
        case Ask.PAUSE:
            return replace(found, phase=Phase.PAUSED)
        case Ask.RESUME:
            return replace(found, phase=Phase.OPEN, halted=None)
        case Ask.APPROVE:
            phase = Phase.OPEN if found.phase is Phase.WAITING else found.phase
            return replace(found, approved={**found.approved, record.stage: record}, phase=phase)
        case Ask.ABORT:
            return replace(found, phase=Phase.ABORTED)
