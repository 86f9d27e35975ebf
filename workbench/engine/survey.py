"""Asks every cluster of a stack what is there and what an apply would make of it: Spec → StackDiff.

Reads and dry runs only. Clusters are asked side by side, each with a bounded number of questions at once. A cluster
that cannot be asked is one problem, not one for each resource; a refused dry run is a problem of its resource, never
replaced by a guess. The one thing that is predicted without asking is what can't be asked: a custom resource whose
definition the same plan creates.

The workspace of Terraform resources is asked beside the clusters; only what refers to one of them waits for it. Where
a value is not known before applying, a dry run gets a placeholder, and the field is shown as unknown. A dry run that
is refused with placeholders in it may be refused because of them: that is said, and nothing is concluded.

What is secret is known only when everything has answered (a live Secret may hold what another object repeats), so
answers become changes, and messages are shown, at the end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio

from runtimes.base import (
    UNKNOWN,
    Address,
    FieldPath,
    KubernetesId,
    LiveResource,
    PlanRequest,
    Prediction,
    ReadRequest,
    Reference,
    Rejected,
    Resource,
    ResourceId,
    ResourcePlan,
    Runtime,
    RuntimeFailure,
    TerraformId,
    Unauthenticated,
    Unreachable,
    Workspace,
    WorkspacePlan,
)
from workbench.engine import values
from workbench.engine.changes import Change, Gap, Op, Problem, StackDiff
from workbench.engine.diff import diff_fields, sensitive
from workbench.engine.events import Action
from workbench.engine.fields import MISSING, find
from workbench.engine.graph import dependencies, found_references, waves
from workbench.engine.masking import Seal, masked, secret_texts_in, secrets_at
from workbench.engine.pruning import Pruning, labels_of, released_as
from workbench.engine.release import Release, ReleasedResource, in_workspace
from workbench.engine.scrubbing import scrubbed
from workbench.engine.spec import Spec
from workbench.engine.values import Filled, NoSuchValue, Value
from workbench.engine.workspace import Clusters, Known, Surveyed, Wanted
from workbench.engine.workspace import ask as ask_workspace
from workbench.engine.workspace import failure as workspace_failure
from workbench.engine.workspace import read as read_workspace
from workbench.project import TERRAFORM_PLACE

_CORRECT = "name an attribute that it has, or will have"
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
    gaps: list[Gap] = field(default_factory=list)


async def survey(
    spec: Spec,
    runtimes: Mapping[str, Runtime | RuntimeFailure],
    *,
    workspace: Workspace | RuntimeFailure | None = None,
    prior: Release | None,
    labels: Mapping[str, str],
    prune: bool,
    seals: Seals,
    at: datetime,
    adopts: bool = False,
    root: Path | None = None,
    accept_lost: bool = False,
) -> StackDiff:
    """Compares a placed Spec with what each cluster has; a failure in place of a runtime becomes its problem.

    `workspace` holds the Terraform resources; None where there are none and were none. `labels` select what the stack
    owns in clusters; `adopts` takes all that carries them as the stack's. `at` is now. Changes come in the order of
    applying, deletions last. Problems name source lines relative to `root`. `accept_lost` takes for gone what
    Terraform's state has lost.
    """
    found = {cluster: _Found() for cluster in runtimes}
    terraform = _Terraform(spec, seals, prior, root)
    surveyors: list[_Surveyor] = []
    places = [*runtimes]
    async with anyio.create_task_group() as tasks:
        if workspace is None:
            terraform.settle()
        else:
            places.append(TERRAFORM_PLACE)
            found[TERRAFORM_PLACE] = _Found()
            known = Known(in_workspace(prior), accept_lost)
            tasks.start_soon(terraform.run, workspace, runtimes, known, prune)
        for cluster, runtime in runtimes.items():
            if isinstance(runtime, RuntimeFailure):
                found[cluster].problems.append(problem(cluster, runtime))
            else:
                surveyor = _Surveyor(spec, cluster, runtime, prior, labels, terraform, found[cluster], adopts=adopts)
                surveyors.append(surveyor)
                tasks.start_soon(surveyor.run, prune)
    for each in surveyors:
        each.finish()
    if workspace is not None:
        answer = terraform.read()
        found[TERRAFORM_PLACE] = _Found({**answer.changes}, [*answer.deletions], [*answer.problems], [*answer.warnings])
    ordered = [id_ for wave in waves(dependencies(spec.resources), [each.id for each in spec]) for id_ in wave]
    changes = [found[place].changes[id_] for id_ in ordered for place in places if id_ in found[place].changes]
    changes += [each for place in places for each in found[place].deletions]
    secrets = spec.secrets | terraform.secrets
    return StackDiff(
        replace(spec, secrets=secrets),
        tuple(runtimes),
        tuple(replace(each, warnings=scrubbed(each.warnings, secrets, spec.rules)) for each in changes),
        at,
        scrubbed(tuple(each for place in places for each in found[place].problems), secrets, spec.rules),
        scrubbed(tuple(each for place in places for each in found[place].warnings), secrets, spec.rules),
        TERRAFORM_PLACE if workspace is not None else "",
        release=prior.revision if prior is not None else 0,
        cautions=scrubbed(terraform.read().cautions, secrets, spec.rules),
        gaps=scrubbed(tuple(each for place in places for each in found[place].gaps), secrets, spec.rules),
    )


def problem(cluster: str, error: RuntimeFailure, address: Address | None = None) -> Problem:
    return Problem(cluster, type(error).__name__, error.message, error.hint, address)


class _Terraform:
    """The workspace's part, for those who wait for its values; and all secret texts that became known on the way."""

    def __init__(self, spec: Spec, seals: Seals, prior: Release | None, root: Path | None) -> None:
        self._spec, self._seals, self._prior, self._root = spec, seals, prior, root
        self._settled = anyio.Event()
        self._answer: tuple[WorkspacePlan, Wanted] | None = None
        self._failure: RuntimeFailure | None = None
        self._plans: Mapping[ResourceId, ResourcePlan] = {}
        self.secrets: frozenset[str] = frozenset()

    @property
    def seals(self) -> Seals:
        seals = self._seals
        return replace(seals, screen=seals.screen.knowing(self.secrets), record=seals.record.knowing(self.secrets))

    async def run(self, workspace: Workspace | RuntimeFailure, clusters: Clusters, known: Known, prune: bool) -> None:
        try:
            if isinstance(workspace, RuntimeFailure):
                raise workspace
            self._answer = await ask_workspace(self._spec, workspace, clusters, known, prune=prune)
        except RuntimeFailure as error:
            self._failure = error
        self.settle()

    def settle(self) -> None:
        answer = self.read()
        self._plans = answer.plans
        self.secrets |= answer.secrets
        self._settled.set()

    def read(self) -> Surveyed:
        """Returns the answer as it is shown with what is known to be secret by now."""
        if self._failure is not None:
            return Surveyed(problems=(workspace_failure(self._spec, self._failure, self._root),))
        if self._answer is None:
            return Surveyed()
        plan, asked = self._answer
        seals = self.seals
        return read_workspace(
            self._spec, plan, asked, screen=seals.screen, state=seals.state, prior=self._prior, root=self._root
        )

    def learn(self, secrets: Iterable[str]) -> None:
        self.secrets |= secret_texts_in(secrets, self._spec)

    async def wait(self) -> None:
        await self._settled.wait()

    def value(self, reference: Reference) -> Value:
        """Raises `NoSuchValue`. Where the workspace says nothing of a resource, everything of it is unknown."""
        plan = self._plans.get(reference.id)
        return values.of_plan(plan, reference) if plan is not None else Value(UNKNOWN)


class _Surveyor:
    """One cluster."""

    def __init__(
        self,
        spec: Spec,
        cluster: str,
        runtime: Runtime,
        prior: Release | None,
        labels: Mapping[str, str],
        terraform: _Terraform,
        found: _Found,
        *,
        adopts: bool,
    ) -> None:
        self._spec, self._cluster, self._runtime, self._found = spec, cluster, runtime, found
        self._terraform, self._ids = terraform, values.ids(spec)
        self._predictions: dict[ResourceId, Prediction] = {}
        self._filled: dict[ResourceId, Filled] = {}
        self._references = {
            each.id: {reference.id for _, reference in found_references(each.attributes, self._ids)} for each in spec
        }
        self._prior, self._labels, self._adopts = prior, labels, adopts
        self._uids: set[str] = set()
        self._definitions = dict(_definitions(spec))
        self._scope = anyio.CancelScope()

    async def run(self, prune: bool) -> None:
        first = [each for each in self._spec if _is_ground(each.id)]
        rest = [each for each in self._spec if not _is_ground(each.id) and isinstance(each.id, KubernetesId)]
        with self._scope:
            await self._each(first, lambda each: self._ask(each, frozenset()))
            new = frozenset(
                id_.name
                for id_, each in self._predictions.items()
                if isinstance(id_, KubernetesId) and id_.kind == "Namespace" and each.live is None
            )
            # what refers to another object of the cluster is asked about after that one
            order = waves({each.id: self._references[each.id] for each in rest}, [each.id for each in rest])
            for wave in order:
                await self._each([self._resource(id_) for id_ in wave], lambda each: self._ask(each, new))
            if prune:
                await self._prune()

    async def _each(self, resources: Sequence[Resource], ask: Callable[[Resource], Awaitable[None]]) -> None:
        limit = anyio.CapacityLimiter(AT_ONCE)

        async def limited(resource: Resource) -> None:
            if any(isinstance(each, TerraformId) for each in self._references[resource.id]):
                await self._terraform.wait()
            async with limit:
                await ask(resource)

        async with anyio.create_task_group() as tasks:
            for each in resources:
                tasks.start_soon(limited, each)

    async def _ask(self, resource: Resource, new_namespaces: frozenset[str]) -> None:
        address = Address(self._cluster, resource.id)
        try:
            filled = values.fill(resource, self._ids, self._value)
        except NoSuchValue as error:
            self._found.problems.append(Problem(self._cluster, "Rejected", str(error), _CORRECT, address))
            return
        self._terraform.learn(filled.secrets)
        if self._is_newly_defined(resource.id):
            warning = "predicted without asking the cluster: its definition is created by the same plan"
            prediction = Prediction(resource.id, None, filled.resource.attributes, warnings=(warning,))
        else:
            try:
                prediction = await self._dry_run(filled, new_namespaces)
            except RuntimeFailure as error:
                self._fail(error, address)
                return
        if prediction.live:
            self._uids.add(prediction.live.identity.uid)
        self._predictions[resource.id], self._filled[resource.id] = prediction, filled
        bodies = (prediction.before, prediction.after, prediction.live.body if prediction.live else None)
        self._terraform.learn(
            text for body in bodies for text in secrets_at(body, sensitive(prediction, self._spec.rules))
        )

    def finish(self) -> None:
        """Makes changes of the answers, now that all that is secret is known."""
        for id_, prediction in self._predictions.items():
            resource = self._resource(id_)
            change = self._change(Address(self._cluster, id_), resource, self._filled[id_], prediction)
            self._found.changes[id_] = change
        screen = self._terraform.seals.screen
        for index, each in enumerate(self._found.deletions):
            self._found.deletions[index] = replace(each, before=masked(each.before, (), screen))

    def _resource(self, id_: ResourceId) -> Resource:
        resource = self._spec.get(id_)
        assert resource is not None, "only ids of the Spec are asked about"
        return resource

    def _value(self, reference: Reference) -> Value:
        if isinstance(reference.id, TerraformId):
            return self._terraform.value(reference)
        prediction = self._predictions.get(reference.id)
        return (
            values.of_prediction(prediction, reference, self._spec.rules) if prediction is not None else Value(UNKNOWN)
        )

    async def _dry_run(self, filled: Filled, new_namespaces: frozenset[str]) -> Prediction:
        asked = values.for_dry_run(filled)
        try:
            prediction = await self._runtime.plan(PlanRequest(asked, new_namespaces))
        except Rejected as error:
            if not filled.unknown:
                raise
            warning = f"not dry-run, as values are known only after applying; with placeholders: {error.message}"
            live = await self._runtime.read(ReadRequest(asked.id))
            after = overlaid(live.body if live else {}, filled.resource.attributes)
            return Prediction(asked.id, live, after, unknown=filled.unknown, warnings=(warning,))
        secret = tuple(values.field_path(asked.attributes, each, prediction.list_keys) for each in filled.secret)
        return replace(
            prediction,
            after=values.with_unknown(prediction.after, filled, asked.attributes, prediction.list_keys),
            sensitive=(*prediction.sensitive, *secret),
            unknown=tuple(values.field_path(asked.attributes, each, prediction.list_keys) for each in filled.unknown),
        )

    def _fail(self, error: RuntimeFailure, address: Address) -> None:
        if not isinstance(error, Unreachable | Unauthenticated):
            self._found.problems.append(problem(self._cluster, error, address))
        elif not self._scope.cancel_called:
            self._found.problems.append(problem(self._cluster, error))
            self._scope.cancel()  # the other questions would all fail alike

    def _is_newly_defined(self, id_: ResourceId) -> bool:
        definition = self._definitions.get((id_.group, id_.kind)) if isinstance(id_, KubernetesId) else None
        prediction = self._predictions.get(definition) if definition else None
        return prediction is not None and prediction.live is None

    def _change(self, address: Address, resource: Resource, filled: Filled, prediction: Prediction) -> Change:
        released = self._prior.resources.get(address) if self._prior is not None else None
        seals = self._terraform.seals
        fields = diff_fields(
            prediction,
            filled.resource,
            previous=released.applied if released else None,
            record_seal=seals.record,
            screen_seal=seals.screen,
            chain=lambda path: self._spec.chain(resource.id, path),
            referenced=tuple(
                values.field_path(filled.resource.attributes, each, prediction.list_keys)
                for each in filled.referenced
                if find(filled.resource.attributes, each) is not MISSING
            ),
        )
        hidden = sensitive(prediction, self._spec.rules)
        written = [each for each in fields.shown if each.op is not Op.KEPT]
        live = prediction.live
        was_deleted = was_deleted_since(released_as(self._prior, address), live)
        action, because = _action(prediction, bool(written), fields.claims, was_deleted)
        return Change(
            address=address,
            action=action,
            identity=live.identity if live else None,
            resource=resource,
            fields=fields.shown,
            defaulted=fields.defaulted,
            conflicts=tuple(replace(each, path=seals.screen.path(each.path)) for each in prediction.conflicts),
            warnings=prediction.warnings,
            source=self._spec.chain(resource.id),
            because=because,
            sensitive=hidden,
            before=masked(live.body, hidden, seals.screen) if live else None,
            after=masked(prediction.after, hidden, seals.screen),
            state=seals.state.digest(live.body) if live else "",
            resolved=filled.resource.attributes if filled.resource is not resource else None,
            was_deleted=was_deleted,
            other_owner=self._other_owner(live),
        )

    def _other_owner(self, live: LiveResource | None) -> str:
        labels = labels_of(live.body) if live is not None else {}
        named = {each: str(labels[each]) for each in self._labels if each in labels}
        return "/".join(named.values()) if named and named != dict(self._labels) else ""

    async def _prune(self) -> None:
        pruning = Pruning(
            self._cluster,
            self._labels,
            [each.id for each in self._spec],
            self._uids,
            self._prior,
            self._terraform.seals.screen,
            self._terraform.seals.state,
            self._adopts,
        )
        try:
            pruned = await pruning.run(self._runtime)
        except RuntimeFailure as error:
            self._found.problems.append(problem(self._cluster, error))
            return
        self._terraform.learn(pruned.secrets)
        self._found.deletions += pruned.deletions
        self._found.gaps += pruned.gaps
        self._found.warnings += pruned.warnings


def overlaid(body: Any, said: Any) -> Any:
    """Returns a body with what is said put over it, lists as wholes: a prediction where nobody could be asked."""
    if isinstance(body, Mapping) and isinstance(said, Mapping):
        return {**body, **{key: overlaid(body.get(key), each) for key, each in said.items()}}
    return said


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


def _action(prediction: Prediction, writes: bool, claims: bool, was_deleted: bool) -> tuple[Action, str]:
    if prediction.live is None:
        return Action.CREATE, "somebody deleted it since the last release" if was_deleted else ""
    if prediction.replaces:
        return Action.REPLACE, f"{_paths(prediction.replaces)} cannot be changed in place"
    again = "somebody deleted it since the last release, and made it again" if was_deleted else ""
    if writes:
        return Action.UPDATE, again
    if claims:
        return Action.UPDATE, again or "takes it under the management of this stack"
    return Action.NONE, again


def was_deleted_since(released: ReleasedResource | None, live: LiveResource | None) -> bool:
    """Whether what a release left is gone, be it that another object has its name now."""
    if released is None or not released.existed:
        return False
    return live is None or (bool(released.uid) and live.identity.uid != released.uid)


def _paths(paths: Iterable[FieldPath]) -> str:
    from runtimes.base import format_path

    return ", ".join(format_path(each) for each in paths)
