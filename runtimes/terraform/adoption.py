"""Looking for what an interrupted apply may have created and for what the state has lost, by importing it under the
ids it may have.

Each attempt is a plan with an import block: a provider that says there is nothing under an id is asked for the next
one, and when none is left the resource is created as if nothing had been. Nothing is taken over but what an apply of
this workspace began to create, or had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from kcl.records import dataclass, field, replace
from runtimes.base import Finding, Resource, ResourceId, ResourcePlan, TerraformId, WorkspacePlan, refers
from runtimes.terraform import diagnostics, record, values
from runtimes.terraform.record import Doubt

_IMPORT_IDS = ("importId", "kusionstack.io/import-id")
_NO_ID = frozenset({"none", "-"})
"""What providers call things that have no id: an import by it would make one up."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """`left` are the candidates not tried in vain yet. `unclear` are ids for which the provider gave another answer
    than that there is nothing, or that could not be asked for. `lost` are resources that were there before and that the
    state no longer has.

    `trial` are the types of resources still to be tried one after the other, the first of them now, beside those that
    `passed`: an error that names nothing says of all imports together only that one can't be.
    """

    doubts: Mapping[ResourceId, Doubt]
    lost: frozenset[ResourceId]
    left: Mapping[ResourceId, tuple[str, ...]]
    unclear: Mapping[ResourceId, str] = field(default_factory=dict)
    trial: tuple[str, ...] = ()
    passed: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        doubts: Iterable[Doubt],
        resources: Iterable[Resource],
        lost: Mapping[TerraformId, str] | None = None,
        secrets: frozenset[str] = frozenset(),
    ) -> Adoption:
        """`lost` gives resources with their ids in the infrastructure, empty where not known.

        Leaves out what the configuration says an import id of: that is looked for anyway.
        """
        said = {each.id: each for each in resources if not any(name in each.extensions for name in _IMPORT_IDS)}
        open_: dict[ResourceId, Doubt] = {each.id: each for each in doubts if each.id in said}
        left = {id_: _with_id(each.creation.candidates) for id_, each in open_.items()}
        gone: dict[ResourceId, str] = {
            id_: uid for id_, uid in (lost or {}).items() if id_ in said and id_ not in open_
        }
        for id_, uid in gone.items():
            left[id_] = _with_id((uid,) if uid else _candidates(said[id_], secrets))
        nameless = {id_: "nothing it could be found by is known" for id_, each in left.items() if not each}
        return cls(open_, frozenset(gone), left, nameless)

    @property
    def chosen(self) -> Mapping[ResourceId, str]:
        """The ids to import by in the next attempt."""
        types = {*self.passed, *self.trial[:1]}
        return {
            id_: candidates[0]
            for id_, candidates in self.left.items()
            if candidates and (not self.trial or _type(id_) in types)
        }

    def after(self, errors: Collection[Finding], address_of: Callable[[ResourceId], str]) -> Adoption:
        """Returns what is left to try after an attempt; itself where that did not fail for an import.

        That there is nothing under an id is an error that names the resource in its text alone. An error may also name
        nothing but a type, such as that it can't be imported, or nothing at all.
        """
        left, unclear = dict(self.left), dict(self.unclear)
        for id_ in self.chosen:
            said = [each for each in errors if each.id == id_ or _names(each, address_of(id_))]
            if said and not any(diagnostics.does_not_exist(each) for each in said):
                unclear[id_] = said[0].message
            if said:
                left[id_] = left[id_][1:]
        if left != self.left:
            return replace(self, left=left, unclear=unclear)
        if nameless := [each for each in errors if each.id is None]:
            return self._after_nameless(nameless)
        if self.trial:
            return replace(self, trial=self.trial[1:], passed=self.passed | {self.trial[0]})
        return self

    def _after_nameless(self, errors: Collection[Finding]) -> Adoption:
        """Gives up the types that the errors name, else the one that is on trial, else tries them one by one."""
        types = tuple(dict.fromkeys(_type(id_) for id_ in self.chosen))
        if not types:
            return replace(self, trial=self.trial[1:]) if self.trial else self
        text = "\n".join(f"{each.message} {each.detail}" for each in errors)
        guilty = {each for each in types if re.search(rf"\b{re.escape(each)}\b", text)}
        if not guilty and not self.trial and len(types) > 1:
            return replace(self, trial=types, passed=frozenset())
        guilty = guilty or {self.trial[0] if self.trial else types[0]}
        given_up = [id_ for id_ in self.chosen if _type(id_) in guilty]
        return replace(
            self,
            left={**self.left, **dict.fromkeys(given_up, ())},
            unclear={**self.unclear, **dict.fromkeys(given_up, next(iter(errors)).message)},
            trial=tuple(each for each in self.trial if each not in guilty),
        )

    @property
    def not_there(self) -> frozenset[ResourceId]:
        """What the provider knows under none of the ids it could have: it was not created."""
        return frozenset(id_ for id_, left in self.left.items() if not left and id_ not in self.unclear)

    @property
    def found(self) -> frozenset[ResourceId]:
        """What an attempt without errors takes over."""
        return frozenset(self.chosen)

    @property
    def unsettled(self) -> frozenset[ResourceId]:
        """What may exist, and could not be looked for."""
        return frozenset(self.left) - self.found - self.not_there

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What there is to say to people of every doubt that is not over."""
        return tuple(self._finding(id_, doubt) for id_, doubt in self.doubts.items() if id_ not in self.not_there)

    def _finding(self, id_: ResourceId, doubt: Doubt) -> Finding:
        stopped = f"terraform was stopped while it created this, at {_time(doubt.since)}"
        if (chosen := self.chosen.get(id_)) is not None:
            return Finding(False, f"{stopped}: it is there as {chosen} and is taken over", id=id_)
        return Finding(
            False,
            f"{stopped}, and it could not be found out whether it exists: {self.unclear[id_]}",
            "Look for it before applying. If it exists, set extensions.importId of the resource to its id; "
            "applying as it is creates it once more.",
            id_,
        )


def unasked(doubts: Iterable[Doubt], resources: Iterable[Resource]) -> tuple[Finding, ...]:
    """Returns what there is to say of doubts about resources that the stack no longer has: nobody looks for them."""
    said = {each.id for each in resources}
    return tuple(
        Finding(
            False,
            f"terraform was stopped while it created {each.id}, at {_time(each.since)}, and the stack no longer has it",
            f"It may exist without terraform knowing{_under(each)}. Look for it and delete it there, "
            "or put it back into the stack and plan again.",
        )
        for each in doubts
        if each.id not in said
    )


def taken_twice(plan: WorkspacePlan, provider_of: Callable[[TerraformId], object]) -> tuple[Finding, ...]:
    """Returns an error for everything that is to be taken over and is managed already, under another id.

    Two resources would undo each other's changes, and deleting one would delete what the other is. Whether two are
    the same is told by type, identity and `provider_of`, the provider's configuration.
    """

    def key(each: ResourcePlan) -> tuple[object, ...] | None:
        live, id_ = each.prediction.live, each.id
        if not isinstance(id_, TerraformId) or live is None or live.identity is None or not live.identity.uid:
            return None
        return id_.resource_type, live.identity.uid, provider_of(id_)

    owners: dict[tuple[object, ...], ResourcePlan] = {}
    for each in sorted(plan.resources, key=lambda each: bool(each.import_id)):
        if (found := key(each)) is not None:
            owners.setdefault(found, each)
    findings = []
    for each in plan.resources:
        owner = owners.get(key(each) or ())
        if each.import_id and owner is not None and owner is not each:
            findings.append(
                Finding(
                    True,
                    f"what exists as {each.import_id} is managed already, as {owner.id}",
                    f"Take importId out. If it is to be known by this id from now on: movedFrom, with {owner.id}.",
                    each.id,
                    ("importId",),
                    in_extensions=True,
                )
            )
    return tuple(findings)


def _type(id_: ResourceId) -> str:
    return id_.resource_type if isinstance(id_, TerraformId) else ""


def _with_id(candidates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in candidates if each not in _NO_ID)


def _candidates(resource: Resource, secrets: frozenset[str]) -> tuple[str, ...]:
    """Returns by what a resource may be found of which no id is known: by what it is configured with."""
    return tuple(
        each
        for each in record.candidates(resource.attributes, {})
        if not refers(each) and not values.holds_secret(each, secrets)
    )


def _names(error: Finding, address: str) -> bool:
    return error.id is None and f'"{address}"' in error.detail


def _time(since: str) -> str:
    return re.sub(r"\.\d+", "", since)


def _under(doubt: Doubt) -> str:
    candidates = doubt.creation.candidates
    return f", as {' or '.join(candidates)}" if candidates else ""
