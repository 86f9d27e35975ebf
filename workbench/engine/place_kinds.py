"""What holds for all places of one kind, whichever they are and whether or not they answer: pure, for whoever plans.

Which kind of place a resource lives in follows from its type. `workbench.engine.places` has the places themselves,
which are asked; what is planned, watched and shown of them needs no more than is said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kcl.records import dataclass
from runtimes.base import ResourceId, RuntimeType
from workbench.engine.release import type_of
from workbench.project import TERRAFORM_PLACE


@dataclass(frozen=True, slots=True)
class PlaceKind:
    """`only_name` is what the one place of this kind that a stack can have is called, empty where it may have several.

    `is_identified`: its places say who they are, so that a release follows one that is called otherwise now.
    `deletes_last`: what is deleted goes when all else there is done, so that what takes its place is there before;
    otherwise it goes as soon as nothing elsewhere reads it.
    `plans_whole`: all of its resources are planned at once, and so accepted or refused at once.
    """

    runtime_type: RuntimeType
    only_name: str
    is_identified: bool
    deletes_last: bool
    plans_whole: bool

    def names(self, clusters: Sequence[str]) -> tuple[str, ...]:
        """Returns the places of this kind in a stack that goes to these clusters."""
        return (self.only_name,) if self.only_name else tuple(clusters)

    def holds(self, id_: ResourceId) -> bool:
        return type_of(id_) is self.runtime_type


CLUSTER: Final = PlaceKind(
    RuntimeType.KUBERNETES, only_name="", is_identified=True, deletes_last=True, plans_whole=False
)
WORKSPACE: Final = PlaceKind(
    RuntimeType.TERRAFORM, only_name=TERRAFORM_PLACE, is_identified=False, deletes_last=False, plans_whole=True
)
KINDS: Final = (CLUSTER, WORKSPACE)
_BY_TYPE: Final = {each.runtime_type: each for each in KINDS}


def kind_of(id_: ResourceId) -> PlaceKind:
    """Returns the kind of place in which a resource lives."""
    return _BY_TYPE[type_of(id_)]


def kind_called(place: str) -> PlaceKind:
    """Returns the kind of the place of this name."""
    return next((each for each in KINDS if each.only_name == place), CLUSTER)
