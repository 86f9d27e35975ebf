"""A Spec for some of its places only: what a plan is made from where the others cannot be asked, or shall not be.

What the rest of the stack would have told stands in place of references to it: for clusters, the attributes that
Terraform recorded at its last apply; for Terraform, what the configuration says of an object, else what is live now.
What needs a value that nobody can tell so is withheld, with all that needs it: a gap each. Terraform is not started.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from kcl.records import dataclass, replace
from runtimes.base import (
    LiveResource,
    Reference,
    Resource,
    ResourceId,
    RuntimeFailure,
    unknown_paths,
)
from workbench.engine import values
from workbench.engine.changes import Gap
from workbench.engine.errors import Refused
from workbench.engine.graph import found_references
from workbench.engine.place_kinds import CLUSTER, kind_of
from workbench.engine.spec import Spec
from workbench.engine.values import NoSuchValue, Value
from workbench.engine.workspace import Clusters, desired, terraform

ReadState = Callable[[], Awaitable[Iterable[LiveResource]]]
"""Gives what Terraform's state has, without planning; raises `RuntimeFailure`."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """`spec` holds what can be planned, without references to other places; `gaps` are the resources withheld.

    `notes` say what stands in for the places that are not asked.
    """

    spec: Spec
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()


async def to_clusters(spec: Spec, read: ReadState) -> Narrowed:
    """Leaves out the Terraform resources; what refers to them gets what their state has. `spec` was placed."""
    known = values.ids(spec)
    stays = [each for each in spec if CLUSTER.holds(each.id)]
    needed = {each.id: _elsewhere(each, known) for each in stays}
    recorded: dict[ResourceId, LiveResource] = {}
    unread = ""
    if any(needed.values()):
        try:
            recorded = {each.id: each for each in await read()}
        except RuntimeFailure as failure:
            unread = f"its state can't be read ({failure.message})"

    def value(reference: Reference) -> Value:
        if CLUSTER.holds(reference.id):
            return Value(reference)
        return values.of_live(recorded[reference.id], reference, spec.rules)

    filled: list[Resource] = []
    withheld: dict[ResourceId, str] = {}
    secrets: frozenset[str] = frozenset()
    for each in stays:
        missing = [other for other in needed[each.id] if other not in recorded]
        if missing:
            withheld[each.id] = f"{unread or 'its state has nothing'} of {missing[0]}, which this needs"
            continue
        try:
            found = values.fill(each, known, value, again=True)
        except NoSuchValue as error:
            withheld[each.id] = str(error)
            continue
        filled.append(replace(found.resource, depends_on=_after(each, needed[each.id])))
        secrets |= found.secrets
    used = {other for each in filled for other in needed[each.id]}
    notes: tuple[str, ...] = ("terraform was not started: its resources are not compared",)
    if used:
        notes += (f"values of {_counted(used)} of Terraform are those its last apply recorded",)
    return _without(spec, filled, {id_: f"terraform was not started, and {why}" for id_, why in withheld.items()},
                    secrets, notes)  # fmt: skip


async def to_workspace(spec: Spec, clusters: Clusters) -> Narrowed:
    """Leaves the Terraform resources, with what they refer to in Kubernetes in its place, as far as that is known.

    `clusters` are those that may be read for it.
    """
    known = values.ids(spec)
    asked = await desired(spec, clusters)
    stays: list[Resource] = []
    withheld: dict[ResourceId, str] = dict(asked.impossible)
    for each, before in zip(asked.resources, terraform(spec), strict=True):
        if each.id in withheld:
            continue
        if any(True for _ in unknown_paths(each.attributes)):
            names = {str(reference): None for _, reference in found_references(before, known)
                     if CLUSTER.holds(reference.id)}  # fmt: skip
            withheld[each.id] = f"no cluster tells {' or '.join(names)} now, which this needs"
        else:
            stays.append(replace(each, depends_on=_after(before, _elsewhere(before, known))))
    return _without(spec, stays, withheld, asked.secrets, ("clusters are not compared: they were not queried",))


def _elsewhere(resource: Resource, known: Mapping[str, ResourceId]) -> tuple[ResourceId, ...]:
    """Returns what a resource needs of the other kind of place, said by `dependsOn` or by a reference."""
    own = kind_of(resource.id)
    referred = (reference.id for _, reference in found_references(resource, known))
    every = dict.fromkeys((*resource.depends_on, *referred))
    return tuple(each for each in every if kind_of(each) is not own)


def _after(resource: Resource, others: Iterable[ResourceId]) -> tuple[ResourceId, ...]:
    """Keeps in `dependsOn` what a reference said before a value took its place: a later deletion goes by it."""
    return tuple(dict.fromkeys((*resource.depends_on, *others)))


def without(spec: Spec, forgets: frozenset[ResourceId]) -> Spec:
    """Returns a Spec without what is to be forgotten; raises `Refused` where something that stays needs that."""
    stays = tuple(each for each in spec.resources if each.id not in forgets)
    needing = dict(_needing(stays, dict.fromkeys(forgets, ""), values.ids(spec)))
    if needing:
        said = [f"{id_} needs what is to be forgotten" for id_ in needing]
        raise Refused(said, where=spec.stack, hint="take that out of the KCL as well, or forget it too")
    return replace(spec, resources=stays, origins={id_: at for id_, at in spec.origins.items() if id_ not in forgets})


def _without(
    spec: Spec,
    resources: Iterable[Resource],
    withheld: Mapping[ResourceId, str],
    secrets: frozenset[str],
    notes: tuple[str, ...],
) -> Narrowed:
    """Takes out what is withheld, and what needs it in turn."""
    known = values.ids(spec)
    left, gone = {each.id: each for each in resources}, dict(withheld)
    while further := dict(_needing(left.values(), gone, known)):
        gone |= further
        left = {id_: each for id_, each in left.items() if id_ not in further}
    gaps = tuple(Gap(kind_of(id_).only_name, f"not planned: {why}", subject=id_) for id_, why in gone.items())
    if gone:
        notes += (f"nothing is deleted, as {_counted(gone)} could not be planned",)
    return Narrowed(replace(spec, resources=tuple(left.values()), secrets=spec.secrets | secrets), gaps, notes)


def _needing(
    resources: Iterable[Resource], gone: Mapping[ResourceId, str], known: Mapping[str, ResourceId]
) -> Iterable[tuple[ResourceId, str]]:
    for each in resources:
        referred = (reference.id for _, reference in found_references(each, known))
        if (other := next((id_ for id_ in (*each.depends_on, *referred) if id_ in gone), None)) is not None:
            yield each.id, f"it needs {other}, which is not planned either"


def _counted(ids: Iterable[ResourceId]) -> str:
    count = len(set(ids))
    return f"{count} resource" + ("s" if count != 1 else "")
