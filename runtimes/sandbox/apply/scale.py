"""Owners across the scale subresource: a scale has only `spec.replicas`, which in its parent may be elsewhere.

Ownership of the parent's replicas is carried into the scale before a write to it, and back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtimes.sandbox.apply import managed as managed_fields
from runtimes.sandbox.apply.fieldset import FieldSet
from runtimes.sandbox.apply.managed import Managed, Owned

Object = dict[str, Any]
SCALE_VERSION = "autoscaling/v1"
REPLICAS = ("f:spec", "f:replicas")


def to_scale(parent_entries: Sequence[Any] | None, replicas: Sequence[str]) -> list[Object]:
    """managedFields for the Scale. `replicas` is the path of the count in the parent, as `("spec", "replicas")`."""
    path = tuple(f"f:{name}" for name in replicas)
    parent = managed_fields.decode(parent_entries)
    scale = Managed()
    for manager, owned in parent.owners.items():
        if owned.fields.has(path):
            scale.owners[manager] = Owned(FieldSet.of(("spec", "replicas")), SCALE_VERSION, owned.applied)
            if manager in parent.times:
                scale.times[manager] = parent.times[manager]
    return managed_fields.encode(scale)


def to_parent(
    parent_entries: Sequence[Any] | None,
    scale_entries: Sequence[Any] | None,
    api_version: str,
    replicas: Sequence[str],
) -> list[Object]:
    """managedFields for the parent (in `api_version`) after a write to its scale."""
    path = tuple(f"f:{name}" for name in replicas)
    parent, scale = managed_fields.decode(parent_entries), managed_fields.decode(scale_entries)
    result = Managed(times=dict(parent.times))
    for manager, owned in parent.owners.items():
        if not owned.fields.has(path) or manager in scale.owners:
            result.owners[manager] = owned
            scale.owners.pop(manager, None)
            continue
        left = owned.fields.difference(FieldSet.of(replicas))
        if left:
            result.owners[manager] = Owned(left, owned.api_version, owned.applied)
    for manager, owned in scale.owners.items():
        if owned.fields.has(REPLICAS):
            result.owners[manager] = Owned(FieldSet.of(replicas), api_version, owned.applied)
            # The time comes from the parent's entry, which a new owner does not have yet.
            if manager not in parent.times:
                result.times.pop(manager, None)
    return managed_fields.encode(result)
