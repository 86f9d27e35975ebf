"""Asks every cluster of a stack what is there and what an apply would make of it: Spec → StackDiff.

Reads and dry runs only. Clusters are asked side by side, each with a bounded number of questions at once. A cluster
that cannot be asked is one problem, not one for each resource; a refused dry run is a problem of its resource, never
replaced by a guess. The one thing that is predicted without asking is what can't be asked: a custom resource whose
definition the same plan creates.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from runtimes.base import (
    Address,
    FieldPath,
    KubernetesId,
    LiveResource,
    PlanRequest,
    Prediction,
    Resource,
    ResourceId,
    Runtime,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)
from workbench.engine.changes import Change, Op, Problem, StackDiff
from workbench.engine.diff import diff_fields, sensitive
from workbench.engine.events import Action
from workbench.engine.graph import dependencies, waves
from workbench.engine.masking import Seal, masked, sensitive_paths
from workbench.engine.release import Release, ReleasedResource
from workbench.engine.spec import Spec

AT_ONCE = 10
"""Questions to one cluster at a time; what kubectl and Terraform do by default."""


@dataclass(frozen=True, slots=True)
class Seals:
    """`screen` for what is shown, `record` for what release records hold, `state` for binding a plan to live bodies."""

    screen: Seal
    record: Seal
    state: Seal


@dataclass(slots=True)
class _Found:
    changes: dict[ResourceId, Change] = field(default_factory=dict)
    deletions: list[Change] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def survey(
    spec: Spec,
    runtimes: Mapping[str, Runtime | RuntimeFailure],
    *,
    prior: Release | None,
    labels: Mapping[str, str],
    prune: bool,
    seals: Seals,
) -> StackDiff:
    """Compares a placed Spec with what each cluster has; a failure in place of a runtime becomes its problem.

    `labels` select what the stack owns. Changes come in the order of applying, deletions last.
    """
    found = {cluster: _Found() for cluster in runtimes}
    async with anyio.create_task_group() as tasks:
        for cluster, runtime in runtimes.items():
            if isinstance(runtime, RuntimeFailure):
                found[cluster].problems.append(problem(cluster, runtime))
            else:
                surveyor = _Surveyor(spec, cluster, runtime, prior, seals, found[cluster])
                tasks.start_soon(surveyor.run, labels if prune else None)
    ordered = [id_ for wave in waves(dependencies(spec.resources), [each.id for each in spec]) for id_ in wave]
    changes = [found[cluster].changes[id_] for id_ in ordered for cluster in runtimes if id_ in found[cluster].changes]
    changes += [each for cluster in runtimes for each in found[cluster].deletions]
    return StackDiff(
        spec,
        tuple(runtimes),
        tuple(changes),
        tuple(each for cluster in runtimes for each in found[cluster].problems),
        tuple(each for cluster in runtimes for each in found[cluster].warnings),
    )


def problem(cluster: str, error: RuntimeFailure, address: Address | None = None) -> Problem:
    return Problem(cluster, type(error).__name__, error.message, error.hint, address)


class _Surveyor:
    """One cluster."""

    def __init__(
        self, spec: Spec, cluster: str, runtime: Runtime, prior: Release | None, seals: Seals, found: _Found
    ) -> None:
        self._spec, self._cluster, self._runtime, self._seals, self._found = spec, cluster, runtime, seals, found
        self._prior: Mapping[Address, ReleasedResource] = prior.resources if prior else {}
        self._uids: set[str] = set()
        self._definitions = dict(_definitions(spec))
        self._scope = anyio.CancelScope()

    async def run(self, labels: Mapping[str, str] | None) -> None:
        first = [each for each in self._spec if _is_ground(each.id)]
        rest = [each for each in self._spec if not _is_ground(each.id)]
        with self._scope:
            await self._each(first, lambda each: self._ask(each, frozenset()))
            new = frozenset(
                id_.name
                for id_, each in self._found.changes.items()
                if isinstance(id_, KubernetesId) and id_.kind == "Namespace" and each.identity is None
            )
            await self._each(rest, lambda each: self._ask(each, new))
            if labels is not None:
                await self._prune(labels)

    async def _each(self, resources: Sequence[Resource], ask: Callable[[Resource], Awaitable[None]]) -> None:
        limit = anyio.CapacityLimiter(AT_ONCE)

        async def limited(resource: Resource) -> None:
            async with limit:
                await ask(resource)

        async with anyio.create_task_group() as tasks:
            for each in resources:
                tasks.start_soon(limited, each)

    async def _ask(self, resource: Resource, new_namespaces: frozenset[str]) -> None:
        address = Address(self._cluster, resource.id)
        if self._is_newly_defined(resource.id):
            warning = "predicted without asking the cluster: its definition is created by the same plan"
            prediction = Prediction(resource.id, None, resource.attributes, warnings=(warning,))
        else:
            try:
                prediction = await self._runtime.plan(PlanRequest(resource, new_namespaces))
            except RuntimeFailure as error:
                self._fail(error, address)
                return
        if prediction.live:
            self._uids.add(prediction.live.identity.uid)
        self._found.changes[resource.id] = self._change(address, resource, prediction)

    def _fail(self, error: RuntimeFailure, address: Address) -> None:
        if not isinstance(error, Unreachable | Unauthenticated):
            self._found.problems.append(problem(self._cluster, error, address))
        elif not self._scope.cancel_called:
            self._found.problems.append(problem(self._cluster, error))
            self._scope.cancel()  # the other questions would all fail alike

    def _is_newly_defined(self, id_: ResourceId) -> bool:
        definition = self._definitions.get((id_.group, id_.kind)) if isinstance(id_, KubernetesId) else None
        change = self._found.changes.get(definition) if definition else None
        return change is not None and change.identity is None

    def _change(self, address: Address, resource: Resource, prediction: Prediction) -> Change:
        released = self._prior.get(address)
        fields = diff_fields(
            prediction,
            resource,
            previous=released.applied if released else None,
            record_seal=self._seals.record,
            screen_seal=self._seals.screen,
            chain=lambda path: self._spec.chain(resource.id, path),
        )
        hidden = sensitive(prediction)
        written = [each for each in fields.shown if each.op is not Op.KEPT]
        action, because = _action(prediction, bool(written), fields.claims, released)
        live = prediction.live
        return Change(
            address=address,
            action=action,
            identity=live.identity if live else None,
            resource=resource,
            fields=fields.shown,
            defaulted=fields.defaulted,
            conflicts=prediction.conflicts,
            warnings=prediction.warnings,
            source=self._spec.chain(resource.id),
            because=because,
            sensitive=hidden,
            before=masked(live.body, hidden, self._seals.screen) if live else None,
            after=masked(prediction.after, hidden, self._seals.screen),
            state=self._seals.state.digest(live.body) if live else "",
        )

    async def _prune(self, labels: Mapping[str, str]) -> None:
        try:
            owned = await self._runtime.owned(labels)
        except RuntimeFailure as error:
            self._found.problems.append(problem(self._cluster, error))
            return
        wanted = {_without_version(each.id) for each in self._spec}
        for live in owned:
            if _without_version(live.id) not in wanted and live.identity.uid not in self._uids:
                self._consider(live)

    def _consider(self, live: LiveResource) -> None:
        """Deletes only what the labels and the last release both say is this stack's, and is still the same object."""
        address = Address(self._cluster, live.id)
        released = self._released(live.id)
        if released is None or not released.may_be(live.identity.uid):
            reason = "another object has its name now" if released else "no release of this stack recorded here made it"
            self._found.warnings.append(f"{address} carries the labels of this stack, but {reason}: left alone")
            return
        hidden = sensitive_paths(live.id, live.body)
        self._found.deletions.append(
            Change(
                address=address,
                action=Action.DELETE,
                identity=live.identity,
                because="the configuration no longer has it",
                sensitive=hidden,
                before=masked(live.body, hidden, self._seals.screen),
                state=self._seals.state.digest(live.body),
            )
        )

    def _released(self, id_: ResourceId) -> ReleasedResource | None:
        """Finds what the last release knows of an object, which may be served in another version by now."""
        exact = self._prior.get(Address(self._cluster, id_))
        if exact is not None:
            return exact
        wanted = _without_version(id_)
        for address, each in self._prior.items():
            if address.cluster == self._cluster and _without_version(address.id) == wanted:
                return each
        return None


def _definitions(spec: Spec) -> Iterator[tuple[tuple[str, str], ResourceId]]:
    """Yields group and kind of the custom resources that the Spec itself defines."""
    for each in spec:
        match each.attributes:
            case {
                "kind": "CustomResourceDefinition",
                "spec": {"group": str() as group, "names": {"kind": str() as kind}},
            }:
                yield (group, kind), each.id


def _is_ground(id_: ResourceId) -> bool:
    """Namespaces and definitions are looked at first: what is asked of others depends on whether they are there."""
    return isinstance(id_, KubernetesId) and id_.kind in ("Namespace", "CustomResourceDefinition")


def _without_version(id_: ResourceId) -> tuple[str, ...]:
    if isinstance(id_, KubernetesId):
        return id_.group, id_.kind, id_.namespace, id_.name
    return (str(id_),)


def _action(
    prediction: Prediction, writes: bool, claims: bool, released: ReleasedResource | None
) -> tuple[Action, str]:
    if prediction.live is None:
        was_there = released is not None and released.uid and released.applied is not None
        return Action.CREATE, "somebody deleted it since the last release" if was_there else ""
    if prediction.replaces:
        return Action.REPLACE, f"{_paths(prediction.replaces)} cannot be changed in place"
    if writes:
        return Action.UPDATE, ""
    if claims:
        return Action.UPDATE, "takes it under the management of this stack"
    return Action.NONE, ""


def _paths(paths: Iterable[FieldPath]) -> str:
    from runtimes.base import format_path

    return ", ".join(format_path(each) for each in paths)
