"""What Terraform would do: `terraform show -json` of a saved plan, told as the workspace contract has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtimes.base import LiveResource, ResourceId, WorkspacePlan
from runtimes.terraform.configuration import Configuration
from runtimes.terraform.schema import Schemas
from runtimes.terraform.state import PriorState, State


def read(
    content: Mapping[str, Any] | str | bytes,
    configuration: Configuration,
    *,
    schemas: Schemas | None = None,
    recorded: PriorState | None = None,
) -> WorkspacePlan:
    """Reads a plan, whole or not (`errored`): what an error kept from being planned comes as in `unfinished`.

    `recorded` is the state before the plan refreshed it, if known.
    """
    raise NotImplementedError


def unchanged(state: PriorState, configuration: Configuration, *, schemas: Schemas | None = None) -> WorkspacePlan:
    """Returns the plan of a run whose events told of no change and no drift, without asking Terraform again."""
    raise NotImplementedError


def unfinished(state: PriorState, configuration: Configuration, *, schemas: Schemas | None = None) -> WorkspacePlan:
    """Returns what can be said where Terraform could not plan: what is recorded, and what is asked for."""
    raise NotImplementedError


def live_resources(
    state: State, configuration: Configuration | None = None, *, schemas: Schemas | None = None
) -> Mapping[ResourceId, LiveResource]:
    """Returns everything a state knows as live resources; tainted ones have a health that says so."""
    raise NotImplementedError
