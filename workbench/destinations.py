"""Which places a stack goes to, which of them are asked, and when that cannot be told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import dataclass, replace
from runtimes.base import ResourceId
from workbench.engine.errors import ReleaseFailure
from workbench.engine.place_kinds import CLUSTER, WORKSPACE
from workbench.project import BrokenFile, Finding, Stack, UnknownCluster, discover
from workbench.release import ReleaseStore
from workbench.release.shared import ReleasePlaces

if TYPE_CHECKING:
    from workbench.engine.release import Release
    from workbench.engine.spec import Spec


def refuse_doubtful(stack: Stack) -> None:
    """Raises `BrokenFile` where a file leaves open what the stack is called or where it goes."""
    _refuse(stack, stack.doubts)


@dataclass(frozen=True, slots=True)
class Places:
    """Which places of a stack are asked: `clusters`, and the workspace of its Terraform resources if `terraform`.

    `only` are those that were named, empty where all are meant. `besides` are clusters in which the stack should have
    nothing and may have something left: they are asked for its labels, and need not answer.
    """

    clusters: tuple[str, ...]
    terraform: bool
    only: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()

    @property
    def is_part(self) -> bool:
        """Whether clusters or Terraform are left out, though the stack may have something there."""
        return bool(self.only) and not (self.terraform and self.clusters)


def destinations(root: Path, stack: Stack, only: Iterable[str], spec: Spec, prior: Release | None) -> Places:
    """Returns the stack's places, or those of `only`; raises `BrokenFile` or `UnknownCluster`.

    A stack that has and had nothing but Terraform resources goes to no cluster, and needs no placement. Where no
    release tells what it had, its clusters may have something left.
    """
    chosen = tuple(dict.fromkeys(only))
    named = tuple(each for each in chosen if each != WORKSPACE.only_name)
    addresses = prior.resources if prior is not None else ()
    ids = [*(each.id for each in spec), *(each.id for each in addresses)]
    if not named and not goes_to_clusters(ids):
        is_unsure = prior is None and not chosen and discover(root).clusters.is_declared
        return Places((), terraform=True, only=chosen, besides=stack.clusters if is_unsure else ())
    if chosen and not named:
        return Places((), terraform=True, only=chosen)
    if stack.placement is None:
        _refuse(stack, (*stack.findings, *discover(root).findings))
        raise UnknownCluster("has no place to go to", where=stack.name, hint="add a placement to clusters.yaml")
    for each in named:
        if each not in stack.clusters:
            known = ", ".join(stack.clusters)
            raise UnknownCluster(f"does not go to {each!r}", where=stack.name, hint=f"it goes to {known}")
    return Places(named or stack.clusters, terraform=WORKSPACE.only_name in chosen or not named, only=chosen)


def goes_to_clusters(ids: Sequence[ResourceId]) -> bool:
    """Whether a stack that has and had these has anything in clusters; of nothing at all it may."""
    return not ids or any(map(CLUSTER.holds, ids))


def _refuse(stack: Stack, why: Sequence[Finding]) -> None:
    if why:
        raise BrokenFile(why[0].message, where=why[0].where, hint=why[0].hint or f"{stack.name} can't go anywhere")


def release_places(root: Path, stack: Stack, ids: Iterable[ResourceId], store: ReleaseStore) -> ReleasePlaces:
    """Returns where the releases of a stack with these resources may be; `store` knows what it had here."""
    has, places = tuple(ids), release_places_of_objects(root, stack)
    if has and goes_to_clusters(has):
        return places  # whatever it had: the record of a large stack takes a while to read
    try:
        prior = store.latest(stack.path)
    except ReleaseFailure:
        prior = None
    had = prior.resources if prior is not None else ()
    return replace(places, has_objects=goes_to_clusters([*has, *(each.id for each in had)]))


def release_places_of_objects(root: Path, stack: Stack) -> ReleasePlaces:
    """The same of a stack that has something in clusters."""
    declared = tuple(each.name for each in discover(root).clusters.clusters)
    return ReleasePlaces(stack.path, stack.clusters, tuple(each for each in declared if each not in stack.clusters))
