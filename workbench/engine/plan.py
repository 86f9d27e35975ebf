"""A plan: what will be done, in which order, bound to the state of the world it was made from.

Its id is a digest of the Spec and of every live object it looked at (uid and content; not its version, which moves with
its status), so the same plan made again has the same id exactly if nothing moved. Applying checks all of it again
before the first write.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from kcl.records import dataclass, field
from runtimes.base import Address, ClusterIdentity, ResourceId
from workbench.engine.changes import Change, Gap, Problem, Summary
from workbench.engine.choice import LeftOut, Part
from workbench.engine.compiled import CompileInputs
from workbench.engine.policy.findings import PolicyReport
from workbench.engine.spec import Spec

VALUE_PATIENCE_SECONDS = 180.0
"""So long a reference waits for its value to appear while applying, such as the address of a load balancer."""


class Level(StrEnum):
    """What stands between a plan and its execution."""

    NOTHING = "nothing"
    YES = "yes"
    PHRASE = "phrase"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """`phrase` is what has to be given to `apply`: empty, `yes`, or the typed phrase; `reasons` say why it is asked."""

    level: Level
    phrase: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """One check made before anything runs. A guard that did not pass refuses the plan; `message` is one sentence.

    `is_unknown`: there was nobody to check it with. It did not pass then, and the guard that says why comes before it.
    """

    name: str
    passed: bool
    message: str = ""
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """`changes` hold every resource looked at, unchanged ones too; `waves` only what is to be done, in order:
    all of one wave may run at once, and needs nothing of later ones.

    `needs` gives for each step the steps that come first. `revision` is the release it will become, `prior` the one it
    was planned over (0 for none). `workspace` is the place of Terraform resources, empty without any. `destroys` tells
    a plan that takes everything away from one that follows a configuration. `force` takes over the fields named in
    conflicts, `accept_lost` takes what Terraform's state has lost for gone, `dry_run_all` had every object dry-run,
    `takes_away` takes away what people put into live objects and an apply leaves there otherwise.
    `only` are the places that were asked for by name, empty for all. `gaps` are what it says nothing about. `adopts`:
    what carries the labels of the stack is taken as its own, though no release here made it. `released` are the
    Terraform resources that the last release left in existence, with their ids in the infrastructure. `salt` keys the
    digests, so that a saved plan can be made again with the same id. `identities` says which cluster each name is: the
    plan is for those and no others. `rolls_back_to` is the release whose resources the Spec has, 0 for a plan that
    follows the configuration. `policy` is what policies found, None where none are for the stack; a guard speaks for
    it. `is_part`: some of its steps were taken out, and what they were about is left as it is; `part` says which were
    chosen, None where nobody chose. `replaced` are replaced whether or not anything calls for it: what `replaces` fits.
    `forgets` leave Terraform's state and stay where they are: such a plan is of them alone. `continues`: the last
    release did not end well, as when whoever made it was killed.
    """

    id: str
    stack: str
    spec: Spec = field(repr=False)
    clusters: tuple[str, ...]
    changes: tuple[Change, ...]
    waves: tuple[tuple[Address, ...], ...]
    needs: Mapping[Address, frozenset[Address]] = field(repr=False)
    guards: tuple[Guard, ...]
    confirmation: Confirmation
    prior: int
    revision: int
    force: bool
    prune: bool
    made_at: datetime
    inputs: CompileInputs = field(repr=False)
    salt: bytes = field(repr=False)
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    workspace: str = ""
    destroys: bool = False
    adopts: bool = False
    only: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    accept_lost: bool = False
    dry_run_all: bool = False
    takes_away: bool = False
    released: Mapping[ResourceId, str] = field(default_factory=dict, repr=False)
    identities: Mapping[str, ClusterIdentity] = field(default_factory=dict)
    rolls_back_to: int = 0
    policy: PolicyReport | None = None
    is_part: bool = False
    part: Part | None = None
    replaces: tuple[str, ...] = ()
    replaced: frozenset[Address] = frozenset()
    forgets: frozenset[ResourceId] = frozenset()
    continues: bool = False

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return self.part.left_out if self.part is not None else ()

    @property
    def watched(self) -> tuple[Address, ...] | None:
        """What has to become ready once it is applied; None for everything that the stack has."""
        if self.part is None:
            return None
        gone = {each.address for each in self.changes if each.resource is None}
        return tuple(sorted(self.part.resources - gone))

    @property
    def places(self) -> tuple[str, ...]:
        """The clusters, and the place of the Terraform resources where there are or were any."""
        return (*self.clusters, self.workspace) if self.workspace else self.clusters

    @property
    def verb(self) -> str:
        """The command that makes such a plan and carries it out."""
        return "destroy" if self.destroys else "rollback" if self.rolls_back_to else "apply"

    @property
    def summary(self) -> Summary:
        return Summary.of(self.changes)

    @property
    def is_empty(self) -> bool:
        return not self.waves

    @property
    def is_certain(self) -> bool:
        """Whether it speaks of everything it was asked for: only then does no step mean nothing to do."""
        return not self.problems and not self.gaps

    @property
    def is_as_configured(self) -> bool:
        """Nothing is to be done or left out, and every place that was asked has said so; emptiness proves neither."""
        return self.is_empty and self.is_certain and not self.left_out

    @property
    def is_unrecorded(self) -> bool:
        """Whether it is to be applied all the same, though it has no steps: for its record.

        Who was killed between a write and its record left objects as configured, and a release that says `applying`.
        A plan of a part does not speak for the rest.
        """
        return self.continues and self.is_as_configured and self.part is None and not self.only

    @property
    def is_refused(self) -> bool:
        return any(not each.passed for each in self.guards)

    def by_address(self) -> Mapping[Address, Change]:
        return {each.address: each for each in self.changes}

    def change(self, address: Address) -> Change:
        """Raises `KeyError` for an address that is not in the plan. For many of them take `by_address` once."""
        return self.by_address()[address]

    def steps(self) -> tuple[Change, ...]:
        """Returns what is to be done, first to last."""
        by_address = self.by_address()
        return tuple(by_address[address] for wave in self.waves for address in wave)
