"""What Terraform has recorded: the raw state of format 4 (the local file, `terraform state pull`) and `show -json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtimes.base import FieldPath, TerraformId
from runtimes.terraform.names import ProviderSource


@dataclass(frozen=True, slots=True)
class Recorded:
    """One resource in a state. `attributes` are all of it, nulls included; `hidden` are the paths that are secret.

    `alias` names the provider configuration it was made with, empty for the default one. `is_tainted`: it was not
    finished, and is replaced. `deposed` are the keys of older objects of it that could not be deleted yet; `exists` is
    False where there is nothing else of it.
    """

    id: TerraformId
    address: str
    source: ProviderSource
    attributes: Mapping[str, Any] = field(repr=False)
    alias: str = ""
    hidden: tuple[FieldPath, ...] = ()
    is_tainted: bool = False
    deposed: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    exists: bool = True


@dataclass(frozen=True, slots=True)
class State:
    """`serial` and `lineage` are 0 and empty where the form has none (`show -json`)."""

    resources: Mapping[TerraformId, Recorded]
    serial: int = 0
    lineage: str = ""


@dataclass(frozen=True, slots=True)
class PriorState(State):
    """As it was before an apply."""


@dataclass(frozen=True, slots=True)
class NewState(State):
    """As it is after an apply, however that ended."""


class UnreadableState(ValueError):
    """A text that is no state, or one of a version that is not known."""


def read_prior(content: Mapping[str, Any] | str | bytes) -> PriorState:
    """Reads either form; an empty text is an empty state. Raises `UnreadableState`."""
    raise NotImplementedError


def read_new(content: Mapping[str, Any] | str | bytes) -> NewState:
    """Reads either form; an empty text is an empty state. Raises `UnreadableState`."""
    raise NotImplementedError
