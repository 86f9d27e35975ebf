"""What a state has lost: resources that were there and that it no longer has, and what became of each.

That they were there is said by the last release, and by what was last seen of the state. What the stack still has is
looked for under the id it had (adoption.py): it is taken over where it exists and created where it does not. What can't
be looked for, and what the stack no longer has, is an error: creating it could make it twice, leaving it would lose it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kcl.records import dataclass, field, replace
from runtimes.base import Finding, PlannedAction, ResourceId, ResourcePlan, TerraformId, WorkspacePlanRequest
from runtimes.terraform import last_state
from runtimes.terraform.adoption import Adoption
from runtimes.terraform.last_state import LastState
from runtimes.terraform.state import State


@dataclass(frozen=True, slots=True)
class Account:
    """`missing` are the lost resources that are to be remembered as such; `refused` those that can't be planned."""

    missing: Mapping[TerraformId, str]
    gone: frozenset[ResourceId]
    refused: frozenset[ResourceId] = frozenset()
    findings: tuple[Finding, ...] = ()
    cautions: tuple[str, ...] = ()

    def explained(self, plan: ResourcePlan) -> ResourcePlan:
        """Says of what is created again why that can be."""
        if plan.id not in self.gone or plan.action is not PlannedAction.CREATE:
            return plan
        return replace(plan, reason="the state had lost it, and nothing exists any more under the id it had")


@dataclass(frozen=True, slots=True)
class Losses:
    """`lost` gives resources with their ids in the infrastructure, empty where not known; `total` counts all there
    were. `orderly` are those that terraform itself took out of a state that is whole."""

    lost: Mapping[TerraformId, str]
    total: int = 0
    orderly: frozenset[TerraformId] = field(default=frozenset())

    @classmethod
    def of(
        cls,
        state: State,
        before: LastState | None,
        request: WorkspacePlanRequest,
        moved: Mapping[TerraformId, TerraformId],
        place: str = "",
    ) -> Losses:
        """`moved` has for a new id the one before: a state may have either. `place` is where it is."""
        was_damaged = last_state.is_damaged(last_state.condition(state, before, place), before)
        before = before or LastState()
        released = {id_: uid for id_, uid in request.released.items() if isinstance(id_, TerraformId)}
        known = {**released, **(before.resources if was_damaged else {}), **before.missing}
        new = {old: id_ for id_, old in moved.items()}
        lost = {
            id_: before.resources.get(id_) or before.missing.get(id_) or released.get(id_, "")
            for id_ in known
            if id_ not in state.resources
            and moved.get(id_) not in state.resources
            and new.get(id_) not in state.resources
        }
        orderly = frozenset() if was_damaged else frozenset(lost.keys() - before.missing.keys())
        return cls(lost, len(known.keys() | state.resources.keys()), orderly)

    def accounted(self, adoptions: Adoption, request: WorkspacePlanRequest) -> Account:
        said = {each.id for each in request.resources}
        asked = frozenset(self.lost) if request.only is None else frozenset(self.lost) & request.only
        gone = adoptions.lost & adoptions.not_there
        unsettled = asked & adoptions.lost & adoptions.unsettled
        outside = asked - said
        removed = outside & self.orderly
        unknown = unsettled | (outside - removed)
        found = asked & adoptions.lost & adoptions.found
        forgotten = gone | (outside if request.accepts_lost else removed)
        missing = {id_: uid for id_, uid in self.lost.items() if id_ not in forgotten}
        findings: list[Finding] = []
        cautions: list[str] = []
        if removed:
            what = (
                f"the last release has {self._count(removed)}, which terraform took out of the state since: left alone"
            )
            findings.append(Finding(False, what))
        if found:
            cautions.append(f"the state has lost {self._count(found)}: found, and taken over again")
        if unknown and request.accepts_lost:
            cautions.append(f"the state has lost {self._count(unknown)}: taken for gone, as --accept-lost says")
        elif unknown:
            findings.append(self._unknown(unknown, adoptions))
        refused = frozenset() if request.accepts_lost else unsettled
        return Account(missing, gone, refused, tuple(findings), tuple(cautions))

    def _unknown(self, unknown: Collection[ResourceId], adoptions: Adoption) -> Finding:
        why = next((adoptions.unclear[id_] for id_ in self.lost if id_ in adoptions.unclear and id_ in unknown), "")
        return Finding(
            True,
            f"the state has lost {self._count(unknown)}, and whether they exist could not be found out"
            + (f": {why}" if why else ""),
            "Put the state back as it was, or set extensions.importId of each to the id it has. Where they are gone: "
            "plan again with --accept-lost.",
        )

    def _count(self, ids: Collection[ResourceId]) -> str:
        there = tuple(id_ for id_ in self.lost if id_ in ids)
        return f"{len(there)} of {self.total} resources ({last_state.named(there)})"
