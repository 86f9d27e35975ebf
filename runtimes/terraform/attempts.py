"""One attempt at a plan: what it was made from, what came out, and the pure questions that are asked about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kcl.records import dataclass, replace
from runtimes.base import Finding, Resource, TerraformId, WorkspacePlan, WorkspacePlanRequest
from runtimes.terraform import last_state, record
from runtimes.terraform.adoption import Adoption
from runtimes.terraform.configuration import Configuration
from runtimes.terraform.names import ProviderSource
from runtimes.terraform.record import Creation
from runtimes.terraform.schema import Schemas
from runtimes.terraform.state import PriorState


@dataclass(frozen=True, slots=True)
class Configured:
    request: WorkspacePlanRequest
    prior: PriorState
    written: Configuration
    schemas: Schemas | None
    targets: tuple[str, ...]

    @property
    def replaces(self) -> tuple[str, ...]:
        """The addresses of what is to be made again, as far as it is there."""
        known = sorted(self.request.replaces & self.prior.resources.keys(), key=str)
        return tuple(self.written.address_of(each) for each in known)


@dataclass(frozen=True, slots=True)
class Attempt:
    """`shown` is the plan as terraform shows it, None where it was not queried, as nothing was to be changed."""

    configured: Configured
    plan: WorkspacePlan
    errors: tuple[Finding, ...]
    shown: Mapping[str, Any] | None


def doubtful(adoptions: Adoption) -> tuple[str, ...]:
    unsettled = adoptions.unsettled - adoptions.lost
    if not unsettled:
        return ()
    named = last_state.named(tuple(each for each in adoptions.doubts if each in unsettled))
    return (f"{len(unsettled)} resources may exist already, as an apply was stopped while it created them ({named})",)


def outputs(prior: PriorState) -> tuple[Finding, ...]:
    """Says of a state that somebody's configuration wrote that it has more than resources: terraform takes out of it
    what is not configured, and of that it tells where it tells of no resource."""
    if not prior.outputs:
        return ()
    return (
        Finding(
            False,
            f"the state has outputs ({last_state.named(prior.outputs)}), and a stack has none: "
            "the next apply takes them out of it",
            "Whoever reads them there, as by terraform_remote_state, will find them no more: see to that first.",
        ),
    )


def provider_of(id_: TerraformId, written: Configuration, prior: PriorState) -> tuple[ProviderSource, str] | None:
    """Returns the provider's source and configuration of a resource; None where neither side knows it."""
    recorded = prior.resources.get(id_)
    return written.aliases.get(id_) or ((recorded.source, recorded.alias) if recorded else None)


def alone(found: WorkspacePlan, configured: Configured) -> WorkspacePlan:
    """Of a plan that forgets, leaves what is forgotten; what was to be and is in no state is said."""
    forgets = configured.request.forgets
    if not forgets:
        return found
    absent = sorted(forgets - configured.prior.resources.keys(), key=str)
    missing = (
        Finding(True, "the state has no such resource, so there is nothing to forget", id=each) for each in absent
    )
    kept = tuple(each for each in found.resources if each.id in forgets)
    return replace(found, resources=kept, findings=(*found.findings, *missing))


def limited(found: WorkspacePlan, request: WorkspacePlanRequest) -> WorkspacePlan:
    """Leaves out the deletions that are not among those asked for: a limited plan says nothing of them."""
    only = request.only
    if only is None:
        return found
    asked = {each.id for each in request.resources}
    return replace(found, resources=tuple(each for each in found.resources if each.id in asked or each.id in only))


def creations(attempt: Attempt) -> tuple[Creation, ...]:
    written, prior = attempt.configured.written, attempt.configured.prior
    identities = last_state.identities(prior, written.secrets)
    found = []
    for each in (attempt.shown or {}).get("resource_changes") or ():
        change = each["change"]
        id_ = written.id_at(each["address"], each.get("provider_name") or "")
        if id_ is not None and "create" in change["actions"]:
            candidates = record.candidates(change.get("after") or {}, change.get("after_sensitive"))
            stays = change["actions"][0] == "create" and len(change["actions"]) > 1
            found.append(Creation(id_, each["address"], candidates, "" if stays else identities.get(id_, "")))
    return tuple(found)


def types(resources: Iterable[Resource]) -> set[str]:
    said = {each.id: each.extensions.get("resourceType") for each in resources}
    return {
        type_ if isinstance(type_, str) else id_.resource_type
        for id_, type_ in said.items()
        if isinstance(id_, TerraformId)
    }
