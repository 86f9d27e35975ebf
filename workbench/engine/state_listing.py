"""What the state of a stack's Terraform resources has, as it may be shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kcl.records import dataclass, field, replace
from runtimes.base import Body, FieldPath, PossiblyCreated, Resource, ResourceId, RuntimeType, StateEntry, StateRecord
from workbench.engine.errors import EngineError
from workbench.engine.masking import Seal, masked, opaque_paths, resource_paths
from workbench.engine.spec import Spec
from workbench.engine.workspace import terraform


class NotInState(EngineError):
    """The state has no such resource."""


@dataclass(frozen=True, slots=True)
class StateResource:
    """`uid` is its id in the infrastructure, empty where that is secret. `address` is terraform's name of it.

    `is_configured` is None where the configuration does not compile. `body` has secrets masked. The rest is as in
    `runtimes.base.StateEntry`.
    """

    id: ResourceId
    uid: str
    address: str
    provider: str
    is_tainted: bool
    deposed: int
    exists: bool
    is_configured: bool | None
    body: Body = field(repr=False)


@dataclass(frozen=True, slots=True)
class StateListing:
    """`lineage` is empty where there is no state yet. `absent` are configured resources that it does not have, `lost`
    those that the last release made there: `unread` says why releases are not known, empty where they are."""

    stack: str
    where: str
    lineage: str
    serial: int
    resources: tuple[StateResource, ...]
    absent: tuple[ResourceId, ...] = ()
    problem: str = ""
    """Why it is not known what is configured, empty where it is."""
    lost: tuple[ResourceId, ...] = ()
    unread: str = ""
    unsure: tuple[PossiblyCreated, ...] = ()
    """What an apply was creating when it was stopped, and that may exist without being in it."""
    elsewhere: str = ""
    """That the state may be in another place as well, empty where that is not so."""

    @property
    def is_doubtful(self) -> bool:
        """Whether there is more than the state has, or may be, and no state that tells."""
        return bool(self.lost or self.unsure or self.elsewhere) or bool(self.unread and not self.lineage)

    def find(self, text: str) -> StateResource:
        """Returns the one of this id, `TYPE/NAME` or terraform address. Raises `NotInState`."""
        for each in self.resources:
            if text in (str(each.id), each.address, f"{getattr(each.id, 'resource_type', '')}/{each.id.name}"):
                return each
        known = ", ".join(each.address for each in self.resources[:5]) or "nothing"
        more = f" and {len(self.resources) - 5} more" if len(self.resources) > 5 else ""
        raise NotInState(f"the state has no {text!r}", where=self.stack, hint=f"it has {known}{more}")


def read(
    record: StateRecord,
    stack: str,
    configured: Spec | None,
    problem: str,
    seal: Seal,
    sensitive: Mapping[ResourceId, tuple[FieldPath, ...] | None],
    released: Collection[ResourceId],
    unread: str,
) -> StateListing:
    """Masks what a state has. `released` is what the last release made, `unread` why that is not known.

    `sensitive` are the paths that providers named, None for those not queried yet: of these all is masked that
    may be secret by its looks.
    """
    wanted = {each.id: each for each in terraform(configured)} if configured is not None else {}
    resources = tuple(
        _resource(each, None if configured is None else each.live.id in wanted, seal, sensitive)
        for each in record.entries
    )
    there = {each.id for each in resources}
    unsure = {each.id: each for each in record.unsure}
    lost = tuple(each for each in released if each not in there and each not in unsure)
    absent = tuple(each for each in wanted if each not in there and each not in lost and each not in unsure)
    return StateListing(
        stack,
        record.where,
        record.lineage,
        record.serial,
        resources,
        absent,
        problem,
        lost,
        unread,
        tuple(
            replace(each, names=tuple(name for name in each.names if not seal.hides(name))) for each in record.unsure
        ),
        record.elsewhere,
    )


def _resource(
    entry: StateEntry,
    is_configured: bool | None,
    seal: Seal,
    sensitive: Mapping[ResourceId, tuple[FieldPath, ...] | None],
) -> StateResource:
    id_, body = entry.live.id, entry.live.observed or entry.live.body
    named = sensitive.get(id_)
    paths = (
        *entry.live.hidden,
        *resource_paths(Resource(id_, RuntimeType.TERRAFORM, body), seal.rules),
        *(opaque_paths(body) if named is None else named),
    )
    uid = "" if seal.hides(entry.live.identity.uid) else entry.live.identity.uid
    return StateResource(
        id_,
        uid,
        entry.address,
        entry.provider,
        entry.is_tainted,
        entry.deposed,
        entry.exists,
        is_configured,
        masked(body, paths, seal),
    )
