"""What the places of one survey share: the Spec they are held against, what is secret, and each other's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from kcl.records import dataclass, field, replace
from runtimes.base import UNKNOWN, Address, Reference, ResourceId
from runtimes.base.secret_texts import telling
from workbench.engine.masking import Seal, public_names
from workbench.engine.place_kinds import PlaceKind, kind_of
from workbench.engine.release import Release
from workbench.engine.spec import Spec
from workbench.engine.values import Value
from workbench.project.ignores import IgnoreRule


@dataclass(frozen=True, slots=True)
class Seals:
    """`screen` for what is shown, `record` for what release records hold, `state` for binding a plan to live bodies.

    Without `state` nothing is bound: a digest of each body takes a good part of the time that comparing does.
    """

    screen: Seal
    record: Seal
    state: Seal | None = None


class Values(Protocol):
    """A place that plans values of its resources, for others that wait for them."""

    async def settled(self) -> None: ...

    def value(self, reference: Reference) -> Value:
        """Raises `NoSuchValue`."""


@dataclass(slots=True)
class Surveying:
    """One survey of a stack. See `workbench.engine.survey.survey` for what the fields mean.

    `secrets` are all secret texts that became known on the way, `values` who plans values, by kind of place.
    """

    spec: Spec
    prior: Release | None
    labels: Mapping[str, str]
    initial_seals: Seals
    adopts: bool = False
    root: Path | None = None
    accept_lost: bool = False
    dry_run_all: bool = False
    takes_away: bool = False
    replaces: frozenset[Address] = frozenset()
    forgets: frozenset[ResourceId] = frozenset()
    ignores: tuple[IgnoreRule, ...] = ()
    notes: list[str] = field(default_factory=list)
    """What is left to others, as far as it is not as configured, and what admission makes of the rest."""
    left_to_others: int = 0
    """Fields that are not as configured, as a rule of the repository leaves them to others."""
    secrets: frozenset[str] = frozenset()
    values: dict[PlaceKind, Values] = field(default_factory=dict)
    _public: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._public = public_names(self.spec)  # once: each object that is read is looked through with them

    @property
    def seals(self) -> Seals:
        seals = self.initial_seals
        return replace(seals, screen=seals.screen.knowing(self.secrets), record=seals.record.knowing(self.secrets))

    def learn(self, secrets: Iterable[str]) -> None:
        if found := telling(secrets, self._public):
            self.secrets |= found

    async def wait_for(self, ids: Iterable[ResourceId]) -> None:
        """Waits until the values of resources in other places are planned."""
        for kind in {kind_of(each) for each in ids} & self.values.keys():
            await self.values[kind].settled()

    def value(self, reference: Reference) -> Value:
        """Returns a value of another place, `UNKNOWN` where none plans it; raises `NoSuchValue`."""
        other = self.values.get(kind_of(reference.id))
        return other.value(reference) if other is not None else Value(UNKNOWN)
