"""A plan over many stacks, as a value. See the package."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from kcl.records import dataclass, field
from workbench.engine.changes import Summary
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import ConfirmationRequired, Refused
from workbench.engine.plan import Confirmation, Level, Plan
from workbench.engine.plan_file import SavedPlan, saved_of
from workbench.engine.rollout.reading import changed_reads
from workbench.engine.stack_order import ranks
from workbench.words import counted, restarting

_RUN_DIGITS = 8
_PROTECTED = "the stack is protected"


@dataclass(frozen=True, slots=True)
class Approved:
    """What a plan is held to when it is made again. `reasons` are why it wanted its phrase; `configuration` is a digest
    of its Spec with the references in it, under its salt, empty where it reads nothing."""

    saved: SavedPlan
    reasons: tuple[str, ...]
    configuration: str = ""

    @classmethod
    def of(cls, plan: Plan, configuration: str = "") -> Approved:
        return cls(saved_of(plan), reasons_of(plan), configuration)


@dataclass(frozen=True, slots=True)
class Deferred:
    """A stack that is planned when what it reads is known.

    `outputs` are `project/stack/name`. `configuration` is a digest of its Spec with the references in it, which has so
    many `resources`, and `clusters` are where they go. It may be `protected`. `withheld` are options that aren't saved.

    `former` is the plan that it had when the whole was approved, and is held to when it is made again, but for what the
    `late` outputs are: of a run that goes on, where what it reads was left half-done.
    """

    stack: str
    outputs: tuple[str, ...]
    configuration: str
    resources: int
    clusters: tuple[str, ...]
    protected: bool = False
    withheld: frozenset[str] = frozenset()
    former: Approved | None = None
    late: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        if self.former is not None:
            return self.former.reasons
        said = f"what becomes of it is known once {', '.join(self.outputs)} is: it may create and update, and no more"
        return (said, *([_PROTECTED] if self.protected else []))


@dataclass(frozen=True, slots=True)
class Unplanned:
    """A stack of which nobody can say what would become of it, and why."""

    stack: str
    why: str
    where: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """What a plan touches. `deletions` count replacements too; of `open` stacks not all of it is known yet."""

    stacks: int
    clusters: tuple[str, ...]
    resources: int
    restarts: int
    deletions: int
    open: int = 0

    def __str__(self) -> str:
        """`3 stacks in 2 clusters: 12 resources change, 4 restart pods, 1 is deleted`"""
        parts = [f"{counted(self.resources, 'resource')} change{'s' if self.resources == 1 else ''}"]
        parts.append(restarting(self.restarts))
        parts.append(f"{self.deletions} {'is' if self.deletions == 1 else 'are'} deleted")
        if self.open:
            parts.append(f"not all known yet of {counted(self.open, 'stack')}")
        where = counted(len(self.clusters), "place")
        return f"{counted(self.stacks, 'stack')} in {where}: {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """`plans` has each stack that could be planned, those with nothing to do too. `reads` are the stacks of the plan
    that each reads outputs of, `after` those that its stack.yaml says come before it; `configurations` digests, under
    the salt of its plan, of the Spec of each reader with the references in it.
    `skipped` were chosen, and left out by name. `salt` keys the digests of what is deferred.
    `rolls_back`: its plans give releases again, the readers first. `reverts` are the runs that it takes back.
    `destroys`: they take everything away, in the same order.
    `resumes` is the run that it goes on with, where it was read from its file. `notes` are what else there is to say.
    """

    plans: Mapping[str, Plan]
    inputs: CompileInputs = field(repr=False)
    made_at: datetime
    salt: bytes = field(repr=False)
    deferred: Mapping[str, Deferred] = field(default_factory=dict)
    unplanned: tuple[Unplanned, ...] = ()
    skipped: tuple[str, ...] = ()
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    after: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    configurations: Mapping[str, str] = field(default_factory=dict)
    rolls_back: bool = False
    reverts: tuple[str, ...] = ()
    destroys: bool = False
    resumes: str = ""
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """A digest of all that the plans are bound to, and of the order."""
        content = {
            "plans": {stack: plan.id for stack, plan in self.plans.items()},
            "deferred": {stack: [each.configuration, *each.outputs] for stack, each in self.deferred.items()},
            "reads": {stack: list(each) for stack, each in self.reads.items()},
            "after": {stack: list(each) for stack, each in self.after.items()},
            "skipped": list(self.skipped),
            "rollsBack": self.rolls_back,
            "destroys": self.destroys,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def run(self) -> str:
        """The id that the releases of one execution carry, however often it is resumed from its file."""
        return self.resumes or run_of(self.id)

    @property
    def stacks(self) -> tuple[str, ...]:
        return (*self.plans, *self.deferred)

    @property
    def stages(self) -> tuple[tuple[str, ...], ...]:
        """Returns the stacks in order: all of one stage read nothing of each other, nor of later ones."""
        rank = ranks(self.stacks, self.needs)
        found: dict[int, list[str]] = {}
        for stack in self.stacks:
            found.setdefault(rank[stack], []).append(stack)
        ordered = [tuple(found[each]) for each in sorted(found)]
        return tuple(reversed(ordered)) if self.goes_back else tuple(ordered)

    @property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        """The stacks of the plan that each comes after: those it reads first."""
        return {each: self.needs_of(each) for each in dict.fromkeys((*self.reads, *self.after))}

    def needs_of(self, stack: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.reads.get(stack, ()), *self.after.get(stack, ()))))

    @property
    def goes_back(self) -> bool:
        """Whether those that read others come first."""
        return self.rolls_back or self.destroys

    @property
    def verb(self) -> str:
        return "destroy" if self.destroys else "roll back" if self.rolls_back else "apply"

    @property
    def late(self) -> Mapping[str, tuple[str, ...]]:
        """The outputs that each stack was planned with and that may be something else once what comes before is done:
        the plan changes them, or their stack is itself planned again."""
        changed = {(stack, read.output) for stack, read in changed_reads(self.plans)}
        found: dict[str, tuple[str, ...]] = {}
        for stack in (each for stage in self.stages for each in stage if each in self.plans):
            outputs = [each.output for each in self.plans[stack].spec.reads]
            late = [
                str(each)
                for each in outputs
                if (stack, each) in changed or each.stack in found or each.stack in self.deferred
            ]
            if late:
                found[stack] = tuple(late)
        return found

    @property
    def is_empty(self) -> bool:
        return not self.deferred and all(each.is_empty for each in self.plans.values())

    @property
    def is_certain(self) -> bool:
        return not self.unplanned and all(each.is_certain for each in self.plans.values())

    @property
    def is_as_configured(self) -> bool:
        """Nothing is to be done in any of the stacks that were chosen, and each place has said so."""
        every = all(each.is_as_configured for each in self.plans.values())
        return every and self.is_certain and not self.deferred and not self.skipped

    @property
    def refused(self) -> tuple[Plan, ...]:
        return tuple(each for each in self.plans.values() if each.is_refused)

    @property
    def is_refused(self) -> bool:
        return bool(self.refused or self.unplanned)

    @property
    def radius(self) -> BlastRadius:
        late = self.late
        touched = [each for stack, each in self.plans.items() if not each.is_empty or stack in late]
        summary = Summary.of(each for plan in touched for each in plan.changes)
        places = dict.fromkeys(each.address.cluster for plan in touched for each in plan.steps())
        places |= dict.fromkeys(place for stack in late for place in self.plans[stack].places)
        places |= dict.fromkeys(name for each in self.deferred.values() for name in each.clusters)
        return BlastRadius(
            stacks=len(touched) + len(self.deferred),
            clusters=tuple(places),
            resources=summary.changes,
            restarts=summary.restarts,
            deletions=summary.delete + summary.replace,
            open=len(late) + len(self.deferred),
        )

    @property
    def confirmation(self) -> Confirmation:
        """One for all of it. Where any stack needs its phrase typed, this one says how much changes."""
        if self.is_empty:
            return Confirmation(Level.NOTHING)
        radius = self.radius
        reasons = [f"{stack}: {each}" for stack, plan in self.plans.items() for each in reasons_of(plan)]
        reasons += [f"{stack}: {each}" for stack, deferred in self.deferred.items() for each in deferred.reasons]
        if not reasons:
            return Confirmation(Level.YES, "yes", (str(radius),))
        phrase = f"{self.verb} {counted(radius.resources, 'resource')} of {counted(radius.stacks, 'stack')}"
        return Confirmation(Level.PHRASE, phrase, (str(radius), *reasons))

    def approve(self, confirm: str) -> None:
        """Raises `Refused` or `ConfirmationRequired`."""
        said = [f"{each.stack}: {each.why}" for each in self.unplanned]
        said += [
            f"{plan.stack}: {guard.name}: no ({guard.message})"
            for plan in self.refused
            for guard in plan.guards
            if not guard.passed
        ]
        if said:
            raise Refused(said, hint="put it right and plan again, or leave the stack out with --skip-stack")
        wanted = self.confirmation
        if wanted.level is not Level.NOTHING and confirm.strip() != wanted.phrase:
            raise ConfirmationRequired(wanted.phrase, "; ".join(wanted.reasons))


def reasons_of(plan: Plan) -> tuple[str, ...]:
    """Returns why a plan wants its phrase typed; nothing where it does not."""
    return plan.confirmation.reasons if plan.confirmation.level is Level.PHRASE else ()


def run_of(id_: str) -> str:
    return f"p-{id_[:_RUN_DIGITS]}"
