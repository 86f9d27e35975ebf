"""What the terminal face knows of each stack, and of a recovery, so far.

Screens show it; only the app and the work it begins (`stack_work`, `recovering`) change it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from kcl.records import dataclass, field
from runtimes.base import Address, RuntimeFailure
from workbench.engine.changes import StackDiff
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.events import Event
from workbench.engine.execute import Applying
from workbench.engine.plan import Plan
from workbench.engine.recovery.execute import RecoveryRun
from workbench.engine.recovery.values import Recovery, RecoveryReport, StepState
from workbench.engine.status import StatusTree
from workbench.engine.timeline import Timeline
from workbench.engine.whatif import WhatIf
from workbench.present.browse import Known
from workbench.present.text import Line
from workbench.project import Stack, WorkbenchError

if TYPE_CHECKING:
    from workbench.engine.drift import StackDrift
    from workbench.engine.fleet import StackLook
    from workbench.engine.impact import ImpactReport

Trouble = WorkbenchError | RuntimeFailure


class Verb(StrEnum):
    """What the plans of a stack are for."""

    APPLY = "apply"
    DESTROY = "destroy"
    REVERT = "revert"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class Goal:
    """`revision` is the release that a rollback returns to; 0 for the last good one."""

    verb: Verb = Verb.APPLY
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Reach:
    """How far an edit reaches: `what` says of which. `report` is None until it is known, or for good with `error`.

    `is_asking`: the clusters of the stacks it reaches are being asked.
    """

    what: str
    report: ImpactReport | None = None
    is_asking: bool = False
    error: Trouble | None = None

    @classmethod
    def of(cls, whatif: WhatIf | None) -> Reach:
        """Returns what is known of it before anything is: that it is of these edits, else of all uncommitted ones."""
        return cls("this edit" if whatif is not None and whatif.files else "what is not committed")


@dataclass(slots=True)
class StackState:
    """`busy` names what is running ("compiling", "comparing with 2 clusters"), empty when nothing is; `busy_since` is
    of the monotonic clock.

    `tree` is the last picture of a watch, which goes on only while `is_watched`: shown as of now, never as it is.
    `look` is the last look at the fleet, `drift` that of the drift board; both are shown where nothing newer is
    known. `whatif` holds edits that exist only here; everything is then compiled, compared and planned with them.
    `is_forced`: the next plan takes over fields that other managers own. `skipped` is what it leaves out. `goal` is
    what plans are for. `applying` is what can be interrupted, None before the first write; `is_stopping` once it
    was asked to end in order. `compiled` stays when a later compile fails: `error` then says why, and what is shown
    is the last good one. `reach` is how far the edits at hand reach. `timeline` is all that watches showed
    so far.
    """

    stack: Stack
    compiled: CompiledStack | None = None
    diff: StackDiff | None = None
    plan: Plan | None = None
    events: tuple[Event, ...] = field(default=())
    tree: StatusTree | None = None
    watchers: int = 0
    error: Trouble | None = None
    busy: str = ""
    busy_since: float = 0.0
    is_applying: bool = False
    is_forced: bool = False
    goal: Goal = Goal()
    skipped: frozenset[Address] = frozenset()
    applying: Applying | None = None
    is_stopping: bool = False
    whatif: WhatIf | None = None
    look: StackLook | None = None
    drift: StackDrift | None = None
    reach: Reach | None = None
    timeline: Timeline = field(default_factory=Timeline)

    @property
    def is_watched(self) -> bool:
        return self.watchers > 0

    @property
    def inputs(self) -> CompileInputs | None:
        """What to compile with: the edits of a what-if, where there are any."""
        return self.whatif.inputs if self.whatif and self.whatif.files else None

    @property
    def known(self) -> Known:
        from workbench.engine.compiled import CompileFailed

        diff = self.known_diff
        return Known(
            resources=len(self.compiled.spec) if self.compiled else None,
            is_broken=isinstance(self.error, CompileFailed),
            is_busy=bool(self.busy),
            summary=diff.summary if diff else None,
            is_certain=diff is None or diff.is_certain,
            compared_at=diff.compared_at if diff else None,
            tree=self.tree or (self.look.tree if self.look else None),
            is_watched=self.is_watched,
        )

    @property
    def known_diff(self) -> StackDiff | None:
        """What was compared last: for this stack alone, with its edits, or in a look at all stacks."""
        looked = self.known_drift.diff if self.known_drift is not None and self.whatif is None else None
        found = [each for each in (self.diff, looked) if each is not None]
        return max(found, key=lambda each: each.compared_at, default=None)

    @property
    def known_drift(self) -> StackDrift | None:
        """The last look that told of drift, be it of the fleet or of the drift board."""
        found = [each for each in (self.drift, self.look.drift if self.look else None) if each is not None]
        return max(found, key=lambda each: each.looked_at, default=None)

    @property
    def edits(self) -> str:
        """The names of the files that are edited here only, empty where none is."""
        return ", ".join(each.name for each in self.whatif.files) if self.whatif is not None else ""


@dataclass(slots=True)
class RecoveryJob:
    """One recovery on the screen: `file` and `options` as typed, then what became of it.

    `states` are (state, detail) by step, `log` the last events as lines. `run` is there while it runs. `looks_again`
    says that a look was wanted while the end of a run was still being recorded.
    """

    file: str
    options: dict[str, str]
    found: Recovery | None = None
    report: RecoveryReport | None = None
    states: dict[str, tuple[StepState, str]] = field(default_factory=dict)
    log: list[Line] = field(default_factory=list)
    error: Trouble | None = None
    busy: str = ""
    busy_since: float = 0.0
    run: RecoveryRun | None = None
    looks_again: bool = False

    @property
    def is_running(self) -> bool:
        return self.busy == "recovering"


def not_watched(state: StackState, key: str) -> str:
    """What to say beside a picture that nobody keeps up to date; `key` is the one that watches it."""
    return "" if state.is_watched else f"  not watched now: {key} watches it"
