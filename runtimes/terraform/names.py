"""Addresses in a Terraform configuration for the ids of a Spec, and back.

The name of a resource is the last part of its id. Terraform takes fewer characters there than an id may have, so the
others are written as `-x<hex>-`. The rule depends on nothing but the name itself: a resource never changes its address
because another one came or went, and the id can be read back from a state that nobody else wrote anything down about.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtimes.base import TerraformId


@dataclass(frozen=True, slots=True, order=True)
class ProviderSource:
    """Where a provider comes from, as Terraform names it: `registry.terraform.io/hashicorp/aws`."""

    host: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.host}/{self.namespace}/{self.name}"


def label(name: str) -> str:
    """Returns the name of a resource in the configuration; the same one where Terraform can take it."""
    raise NotImplementedError


def name_of(label: str) -> str:
    """The inverse of `label`."""
    raise NotImplementedError


def address(id_: TerraformId) -> str:
    """Returns `type.label`; for what the workspace has from elsewhere (modules, counts) its own address."""
    raise NotImplementedError


def id_at(address: str, source: ProviderSource) -> TerraformId:
    """Returns the id of what stands at an address of a plan or a state, with or without an index or modules."""
    raise NotImplementedError
