"""What Terraform is told: main.tf.json with everything that should be, and the values of its variables.

One document for the whole workspace. References between resources become Terraform's own, so that it finds the order.
Texts that are secret become variables, whose values go through the environment of the process and never into the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtimes.base import FieldPath, Resource, ResourceId, TerraformId
from runtimes.terraform.schema import Schemas
from runtimes.terraform.state import State


@dataclass(frozen=True, slots=True)
class Configuration:
    """`text` is main.tf.json, `environment` the TF_VAR_ variables it needs; together they hold what was asked.

    `provider_digest` changes exactly when `terraform init` has to run again (providers, versions, backend, required
    version). `unresolved` are the ids that can't be applied yet: they hold `UNKNOWN`, or refer to one that does.
    `adopted` are the ids that are taken over, with the ids they have in their infrastructure.
    """

    text: str = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    provider_digest: str
    resources: Mapping[ResourceId, Resource] = field(repr=False)
    adopted: Mapping[ResourceId, str] = field(default_factory=dict)
    unresolved: frozenset[ResourceId] = frozenset()

    def address_of(self, id_: ResourceId) -> str:
        """Returns the address of an id, whether it is configured or known from a plan or the state only."""
        raise NotImplementedError

    def id_at(self, address: str, provider: str = "") -> TerraformId | None:
        """Returns the id at an address of an event, a plan or a diagnostic; None for what is only ours.

        `provider` is `provider_name` or `provider` as plans, states and events write it, for what isn't configured.
        """
        raise NotImplementedError

    def targets(self, only: Iterable[ResourceId]) -> tuple[str, ...]:
        """Returns the addresses for `-target=`: those of `only` without the unresolved, and what moves besides."""
        raise NotImplementedError

    def place(self, line: int) -> tuple[TerraformId | None, FieldPath]:
        """Returns what a line of the text (from 1) says: which resource, and which of its attributes."""
        raise NotImplementedError

    def scrubbed(self, text: str) -> str:
        """Returns a text of Terraform's without the secrets that this configuration knows."""
        raise NotImplementedError


def build(
    resources: Iterable[Resource],
    *,
    secrets: frozenset[str] = frozenset(),
    backend: Mapping[str, Any] | None = None,
    required_version: str = "",
    schemas: Schemas | None = None,
    adopt: Mapping[ResourceId, str] | None = None,
    forget: frozenset[ResourceId] = frozenset(),
    state: State | None = None,
    former: Iterable[Resource] = (),
) -> Configuration:
    """Writes a configuration. Raises `Misconfigured` or `Rejected` naming the resource and the attribute.

    `backend` is `{"type": ..., "config": {...}}`; None is the local one. `adopt` gives ids to take over by, besides
    those in `extensions.importId`. `forget` are ids that leave the state and stay where they are. `state` is what is
    recorded now, if it can be had before planning: what is to be deleted needs its provider's configuration, which
    `former` (resources as they once were configured) gives.
    """
    raise NotImplementedError
