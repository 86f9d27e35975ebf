"""What Terraform proposes to a provider before it asks: the configuration, over what is recorded.

It says what can be said where nothing could be planned: references are followed to what is recorded, and everything
else that only a plan would tell is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import (
    UNKNOWN,
    InvalidReference,
    Reference,
    TerraformId,
    Unknown,
    followed,
    replaced,
)
from runtimes.terraform.configured import Configuration
from runtimes.terraform.state import State


@dataclass(frozen=True, slots=True)
class ProposedState:
    """`bodies` are the configured attributes of each resource, with references followed as far as can be told."""

    bodies: Mapping[TerraformId, Mapping[str, Any]] = field(repr=False)

    @classmethod
    def of(cls, configuration: Configuration, state: State) -> ProposedState:
        ids = {str(id_): id_ for id_ in configuration.resources}

        def value(reference: Reference) -> Any:
            recorded = state.resources.get(reference.id) if isinstance(reference.id, TerraformId) else None
            return UNKNOWN if recorded is None else _found(recorded.attributes, reference)

        bodies = {}
        for id_, resource in configuration.resources.items():
            assert isinstance(id_, TerraformId)  # a configuration has no others
            try:
                bodies[id_] = replaced(resource.attributes, ids, value)
            except InvalidReference:
                # a list or a mapping in a text: Terraform says so
                bodies[id_] = replaced(resource.attributes, ids, lambda _: UNKNOWN)
        return cls(bodies)


def _found(attributes: Mapping[str, Any], reference: Reference) -> Any:
    try:
        found, _ = followed(attributes, reference)
    except KeyError:
        return Unknown.UNKNOWN
    return UNKNOWN if found is None else found
