"""Live objects of any kind: which kind is meant, what each cluster lists of it, whose each object is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import (
    FieldOwner,
    FieldPath,
    KubernetesId,
    LiveResource,
    Occurrence,
    Resource,
    RuntimeFailure,
    RuntimeType,
)
from runtimes.base.tables import LiveKind, LiveTable
from workbench.engine.errors import EngineError
from workbench.engine.fields import plain_steps
from workbench.engine.masking import Seal, masked, secret_values, sensitive_paths
from workbench.engine.placement import ownership
from workbench.project import StackPath


class UnknownKind(EngineError):
    """No cluster that answered serves a kind of this name."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What one cluster said of a kind when it was last asked: `table`, or the `failure` for which there is none.

    After a failure `table` may still be what an earlier request got, at `listed_at`; None where none ever did.
    """

    cluster: str
    asked_at: datetime
    table: LiveTable | None = None
    listed_at: datetime | None = None
    failure: RuntimeFailure | None = None

    def after(self, before: Listing | None) -> Listing:
        """Returns it with what was known before, where it failed itself: that is old, and not nothing."""
        if self.table is not None or before is None:
            return self
        return Listing(self.cluster, self.asked_at, before.table, before.listed_at, self.failure)


def merged(tables: Sequence[LiveTable]) -> LiveTable:
    """Returns one table of several of the same kind, such as of some namespaces."""
    first = tables[0]
    rows = tuple(row for each in tables for row in each.rows)
    return replace(first, rows=rows, is_whole=all(each.is_whole for each in tables))


def find_kind(name: str, kinds: Iterable[LiveKind]) -> LiveKind | None:
    """Returns the kind that goes by a name, None where none does: by its plural before its other names, and of the
    core and the built-in groups before any that somebody defined."""
    wanted = name.strip().lower()
    found = [each for each in kinds if wanted in each.names]
    return min(found, key=lambda each: _precedence(each, wanted), default=None)


def _precedence(kind: LiveKind, wanted: str) -> tuple[bool, bool, bool, str]:
    is_built_in = "." not in kind.group or kind.group.endswith(".k8s.io")
    return kind.plural != wanted, bool(kind.group), not is_built_in, kind.api_version


def unknown_kind(name: str, kinds: Iterable[LiveKind], silent: Mapping[str, RuntimeFailure]) -> UnknownKind:
    names = sorted({each for kind in kinds for each in kind.names})
    near = get_close_matches(name, names, n=3, cutoff=0.6)
    doubt = f"; {', '.join(silent)} did not answer, and may serve it" if silent else ""
    hint = f"did you mean {' or '.join(near)}?" if near else "kinds go by what kubectl calls them: pods, deploy, crd"
    return UnknownKind(f"no cluster that answered serves {name!r}{doubt}", hint=hint)


def owner_of(labels: Mapping[str, str], stacks: Iterable[StackPath]) -> StackPath | None:
    """Returns the stack whose labels an object carries, of those there are."""
    return next((each for each in stacks if ownership(each).items() <= labels.items()), None)


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object as a cluster has it, secrets masked: `body` without the book-keeping of who owns which field.

    `owners` names for each owned leaf, by plain indexes, who set it and when, the last one first. `events` are what was
    reported of it, None where that could not be read, for the reason `events_failure`.
    """

    cluster: str
    id: KubernetesId
    read_at: datetime
    body: Mapping[str, Any] = field(repr=False)
    owners: Mapping[FieldPath, tuple[FieldOwner, ...]] = field(default_factory=dict)
    events: tuple[Occurrence, ...] | None = None
    events_failure: RuntimeFailure | None = None

    @property
    def containers(self) -> tuple[str, ...]:
        """The containers of a pod in the order they run; none of anything else."""
        spec = self.body.get("spec")
        parts = spec if isinstance(spec, Mapping) and self.id.kind == "Pod" else {}
        every = (each for name in _CONTAINERS for each in parts.get(name) or () if isinstance(each, Mapping))
        return tuple(str(each.get("name")) for each in every)


_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def shown(
    cluster: str, live: LiveResource, read_at: datetime, secrets: frozenset[str], rules: SecretRules = BUILT_IN
) -> LiveObject:
    """Returns an object as it may be shown. `secrets` are texts that are masked wherever they are."""
    id_ = live.id
    assert isinstance(id_, KubernetesId), "a cluster has no others"
    metadata = live.observed.get("metadata")
    kept = (
        {key: each for key, each in metadata.items() if key != "managedFields"} if isinstance(metadata, Mapping) else {}
    )
    body = {**live.observed, "metadata": kept}
    own = secret_values([Resource(id_, RuntimeType.KUBERNETES, live.body)], rules)
    hidden = (*live.hidden, *sensitive_paths(id_, body, rules))
    seal = Seal.random().knowing(secrets | own, rules)
    owners: dict[FieldPath, list[FieldOwner]] = {}
    for each in live.owners:
        steps = plain_steps(body, each.path)
        if len(steps) == len(each.path):  # else the field is not there any more
            owners.setdefault(steps, []).append(each)
    newest = {path: tuple(sorted(found, key=_when, reverse=True)) for path, found in owners.items()}
    return LiveObject(cluster, id_, read_at, masked(body, hidden, seal), newest)


def _when(owner: FieldOwner) -> float:
    return owner.when.timestamp() if owner.when is not None else 0.0
