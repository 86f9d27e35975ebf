"""What a simulated cluster consists of: its objects, the resources and kinds it serves, its clock and its rng."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from runtimes.sandbox.allocation import Rng
from runtimes.sandbox.clock import Clock
from runtimes.sandbox.resources import Resource, Resources
from runtimes.sandbox.schema.registry import KindSchema, Registry
from runtimes.sandbox.store import Store
from runtimes.sandbox.strategies import Server


class Kinds:
    """Schemas of what is served; those of custom resources are kept until their definition changes."""

    def __init__(self) -> None:
        self._custom: dict[tuple[str, str, str], tuple[str, KindSchema]] = {}

    def of(self, resource: Resource) -> KindSchema:
        key = (resource.group, resource.version, resource.kind)
        if resource.definition is None:
            return Registry.load().kind(*key)
        revision = resource.definition["metadata"].get("resourceVersion", "")
        known = self._custom.get(key)
        if known is None or known[0] != revision:
            version = version_of(resource)
            schema = version.get("schema", {}).get("openAPIV3Schema")
            scale = (version.get("subresources") or {}).get("scale")
            known = (revision, Registry.load().custom(*key, schema, scale))
            self._custom[key] = known
        return known[1]


def version_of(resource: Resource) -> dict[str, Any]:
    """The entry of a custom resource's version in its definition."""
    assert resource.definition is not None
    versions: list[dict[str, Any]] = resource.definition["spec"]["versions"]
    return next(version for version in versions if version["name"] == resource.version)


class State:
    """Owned by one event loop. `rng` makes names and uids; with a seed they repeat."""

    def __init__(self, name: str, clock: Clock, *, history: int = 10_000, seed: int | None = None) -> None:
        self.name, self.clock = name, clock
        self.store, self.resources, self.kinds = Store(history), Resources(), Kinds()
        self.rng = Rng(seed)

    @property
    def now(self) -> str:
        """RFC 3339 with seconds, as object times are written."""
        return self.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def server(self, dry_run: bool = False) -> Server:
        return Server(self.store, self.rng, self.now, dry_run)
