"""Asks a cluster what is there of a stack and what an apply would make of it. See `workbench.engine.survey`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel

from kcl.patterns import pattern
from kcl.records import replace
from runtimes.base import (
    UNKNOWN,
    Address,
    Basis,
    Body,
    BulkReadable,
    FieldOwner,
    FieldPath,
    KubernetesId,
    Labelled,
    Labelling,
    LiveResource,
    OtherVersion,
    PlanRequest,
    Predicting,
    Prediction,
    ReadRequest,
    Reference,
    Rejected,
    Resource,
    ResourceId,
    RightsReviewable,
    Runtime,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
    format_path,
    parse_path,
)
from runtimes.base.limiter import Limiter
from workbench.engine import ending, values
from workbench.engine.changes import Change, Op, Problem
from workbench.engine.diff import diff_fields, left_alone, same, sensitive
from workbench.engine.events import Action
from workbench.engine.fields import MISSING, find
from workbench.engine.graph import found_references, waves
from workbench.engine.ignoring import Sent, left_to_others
from workbench.engine.masking import masked, may_look_secret, secrets_at
from workbench.engine.overruled import overruled
from workbench.engine.place_kinds import CLUSTER
from workbench.engine.places.place import Found
from workbench.engine.places.surveying import Seals, Surveying
from workbench.engine.pruning import Pruned, Pruning, labels_of, released_as
from workbench.engine.release import ReleasedResource
from workbench.engine.spec import Spec, place_of
from workbench.engine.values import Filled, NoSuchValue, Value
from workbench.words import few

_CORRECT = "name an attribute that it has, or will have"
_CORRECT_FIELD = "correct the field, or what it refers to"
_WHO_CHANGES = "a mutating webhook or policy, most likely"
_MOST_NAMED = 4
_OF_SCHEMA = pattern(r"\): (\.[^\s:]+): ")
"""`failed to create typed patch object (d/a; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema`"""
AT_ONCE = 10
"""Questions to one cluster at a time; what kubectl and Terraform do by default."""
_WORKERS = 4 * AT_ONCE
"""More than have a turn: some of them wait until they may ask again."""
_IN_A_ROW = 8
"""So many resources are looked at until others get a turn: questions to the cluster, its answers, keys of a screen."""


Progress = Callable[[int, int], None]
"""Is told how many resources were compared, and of how many."""


def silent(done: int, of: int) -> None:
    """For who tells nobody."""


class ClusterSurvey:
    """One survey of one cluster."""

    def __init__(self, surveying: Surveying, cluster: str, runtime: Runtime, progress: Progress = silent) -> None:
        spec = surveying.spec
        self._progress, self._compared = progress, 0
        self._surveying, self._spec, self._cluster, self._runtime = surveying, spec, cluster, runtime
        self._predicting = runtime if isinstance(runtime, Predicting) else None
        self._ids = values.ids(spec)
        self._predictions: dict[ResourceId, Prediction] = {}
        self._filled: dict[ResourceId, Filled] = {}
        self._hidden: dict[ResourceId, tuple[FieldPath, ...]] = {}
        self._open: set[ResourceId] = set()
        self._sent: dict[ResourceId, Sent] = {}
        self._taken_away: dict[ResourceId, frozenset[FieldPath]] = {}
        self._references = {
            each.id: {reference.id for _, reference in found_references(each, self._ids)} for each in spec
        }
        self._own = frozenset(each.id for each in spec if CLUSTER.holds(each.id))
        self._problems: list[Problem] = []
        self._pruned = Pruned()
        self._namespaces: list[LiveResource] = []
        self._uids: set[str] = set()
        self._carrying: dict[str, ResourceId] = {}
        self._observed: Mapping[ResourceId, Body | None] = {}
        self._unlabelled: set[tuple[str, str]] = set()
        self._labelled: Labelled | None = None
        self._definitions = dict(_definitions(spec))
        self._scope = anyio.CancelScope()
        self._review_warnings: tuple[str, ...] = ()

    async def run(self, prune: bool) -> None:
        first = [each for each in self._spec if _is_ground(each.id)]
        rest = [each for each in self._spec if not _is_ground(each.id) and each.id in self._own]
        if prune and isinstance(self._runtime, Labelling):
            self._labelled = self._runtime.labelled(self._surveying.labels, [each.id for each in rest])
        async with anyio.create_task_group() as tasks:
            with self._scope:
                if self._labelled is not None:
                    tasks.start_soon(self._labelled.run)
                await self._compare(first, rest)
                if prune:
                    await self._prune()
                await self._review_deletions()
            tasks.cancel_scope.cancel()  # nobody waits for what is still looked for

    def _count(self) -> None:
        self._compared += 1
        self._progress(self._compared, len(self._own))

    async def _compare(self, first: Sequence[Resource], rest: Sequence[Resource]) -> None:
        await self._each(first, frozenset())
        new = frozenset(
            id_.name
            for id_, each in self._predictions.items()
            if isinstance(id_, KubernetesId) and id_.kind == "Namespace" and each.live is None
        )
        # what refers to another object of the cluster is asked about after that one
        await self._observe([each.id for each in rest])
        order = waves({each.id: self._references[each.id] for each in rest}, [each.id for each in rest])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._look_at_namespaces, [each.id for each in rest])
            for wave in order:
                await self._each([self._resource(id_) for id_ in wave], new)

    async def _look_at_namespaces(self, ids: Iterable[ResourceId]) -> None:
        """Reads the namespaces that the Spec puts something into and does not have itself.

        Whose user may not read them learns of one that is being deleted when its objects are.
        """
        names = {each.namespace: None for each in ids if isinstance(each, KubernetesId) and each.namespace}
        for name in names:
            id_ = KubernetesId("v1", "Namespace", "", name)
            if id_ in self._own:
                continue
            with suppress(RuntimeFailure):
                if (live := await self._runtime.read(ReadRequest(id_))) is not None:
                    self._namespaces.append(live)

    async def _observe(self, ids: Sequence[ResourceId]) -> None:
        """Reads at once what carries the labels of the stack; the rest is read one by one."""
        if self._labelled is not None:
            self._observed = await self._labelled.observed(ids)
        elif isinstance(self._runtime, BulkReadable):
            self._observed = await self._runtime.read_many(ids, self._surveying.labels)

    async def _each(self, resources: Sequence[Resource], new_namespaces: frozenset[str]) -> None:
        """Asks about so many at once; those that refer to values of other places wait for these beside the others.

        What was read tells most of a large stack, which is looked at while the cluster answers about the rest.
        """
        limiter, to_ask, workers = Limiter(AT_ONCE), deque[Resource](), 0

        async def ask(resource: Resource) -> None:
            async with limiter.slot():
                await self._ask(resource, new_namespaces)
            self._count()

        async def wait(resource: Resource) -> None:
            await self._surveying.wait_for(self._references[resource.id] - self._own)
            await ask(resource)

        async def work() -> None:
            nonlocal workers
            while to_ask:
                await ask(to_ask.popleft())
            workers -= 1

        async with anyio.create_task_group() as tasks:
            for number, each in enumerate(resources):
                if not self._references[each.id] <= self._own:
                    tasks.start_soon(wait, each)
                elif self._is_told(each):
                    self._count()
                else:
                    to_ask.append(each)
                    if workers < _WORKERS:
                        workers += 1
                        tasks.start_soon(work)
                if number % _IN_A_ROW == 0:
                    await anyio.lowlevel.checkpoint()

    def _is_told(self, resource: Resource) -> bool:
        """Whether what was read tells that nothing would change of a resource; what it tells is noted then."""
        observed, surveying = self._observed.get(resource.id), self._surveying
        if observed is None or surveying.dry_run_all or self._predicting is None:
            return False
        if any(each.matches(resource.id) for each in surveying.ignores):
            return False
        try:
            filled = values.fill(resource, self._ids, self._value)
        except NoSuchValue:
            return False
        if filled.unknown or filled.secret:
            return False
        prediction = self._predicting.predicted(PlanRequest(filled.resource, observed=observed))
        if prediction is None or (surveying.takes_away and self._left_alone(prediction, filled)):
            return False
        surveying.learn(filled.secrets)
        self._note(resource, filled, prediction)
        return True

    async def _ask(self, resource: Resource, new_namespaces: frozenset[str]) -> None:
        address = Address(self._cluster, resource.id)
        try:
            resource = await self._left_to_others(resource)
        except RuntimeFailure as error:
            self._fail(error, address)
            return
        try:
            filled = values.fill(resource, self._ids, self._value)
        except NoSuchValue as error:
            self._problems.append(self._unresolved(address, error))
            return
        self._surveying.learn(filled.secrets)
        if self._is_newly_defined(resource.id):
            warning = "predicted without asking the cluster: its definition is created by the same plan"
            prediction = Prediction(
                resource.id, None, filled.resource.attributes, warnings=(warning,), basis=Basis.RESOURCE
            )
        else:
            try:
                prediction = await self._dry_run(filled, new_namespaces)
            except RuntimeFailure as error:
                self._fail(error, address, hint=self._redefinition(resource.id))
                return
        self._note_overruled(address, filled, prediction)
        self._note(resource, filled, prediction)

    def _note(self, resource: Resource, filled: Filled, prediction: Prediction) -> None:
        if prediction.live:
            self._uids.add(prediction.live.identity.uid)
            if self._surveying.labels.items() <= labels_of(prediction.live.body).items():
                self._carrying[prediction.live.identity.uid] = resource.id
        self._predictions[resource.id], self._filled[resource.id] = prediction, filled
        hidden = self._hidden[resource.id] = sensitive(prediction, self._surveying.initial_seals.screen.rules)
        if prediction.before is prediction.after and not self._may_hide(prediction.after, hidden):
            self._open.add(resource.id)
            return
        bodies = {id(each): each for each in (prediction.before, prediction.after) if each is not None}
        self._surveying.learn(text for body in bodies.values() for text in secrets_at(body, hidden))

    def _may_hide(self, body: Body, hidden: Iterable[FieldPath]) -> bool:
        """Whether something in a body may be secret by its place or its look. Most of a large stack is as it is applied
        and has nothing of the kind, and need not be gone through text by text."""
        is_there = any(find(body, path) is not MISSING for path in hidden)
        return is_there or may_look_secret(body, self._surveying.initial_seals.screen.rules)

    async def _left_to_others(self, resource: Resource) -> Resource:
        """Returns what is sent of a resource of which rules leave fields to others. Raises `RuntimeFailure`."""
        rules = [each for each in self._surveying.ignores if each.matches(resource.id)]
        if not rules or self._is_newly_defined(resource.id):
            return resource
        live = await self._runtime.read(ReadRequest(resource.id))
        if live is None:
            return resource
        sent = self._sent[resource.id] = left_to_others(resource, live, rules)
        address = Address(self._cluster, resource.id)
        self._surveying.notes += (f"{address}: {each}" for each in sent.notes)
        self._surveying.left_to_others += len(sent.notes)
        return sent.resource

    def _note_overruled(self, address: Address, filled: Filled, prediction: Prediction) -> None:
        paths = [format_path(each) for each in overruled(filled.resource.attributes, prediction)]
        if paths:
            verb = "is" if len(paths) == 1 else "are"
            what = f"{few(paths, _MOST_NAMED)} {verb} not as configured after an apply either"
            self._surveying.notes.append(f"{address}: {what}: the cluster makes something else of it ({_WHO_CHANGES})")

    def _left_alone(self, prediction: Prediction, filled: Filled) -> Mapping[FieldPath, FieldOwner]:
        """What people put there, but for what rules leave to others."""
        left = left_alone(prediction, filled.resource.attributes)
        sent = self._sent.get(filled.resource.id)
        return left if sent is None else {path: owner for path, owner in left.items() if not sent.leaves(path)}

    def found(self) -> Found:
        """Makes changes of the answers, now that all that is secret is known."""
        seals = self._surveying.seals
        return Found(
            {id_: self._change(id_, prediction, seals) for id_, prediction in self._predictions.items()},
            tuple(replace(each, before=masked(each.before, (), seals.screen)) for each in self._pruned.deletions),
            tuple(self._problems),
            (*self._pruned.warnings, *self._review_warnings),
            (*ending.gaps_of(self._cluster, self._predictions.values(), self._namespaces), *self._pruned.gaps),
        )

    def _resource(self, id_: ResourceId) -> Resource:
        if id_ in self._sent:
            return self._sent[id_].resource
        resource = self._spec.get(id_)
        assert resource is not None, "only ids of the Spec are asked about"
        return resource

    def _value(self, reference: Reference) -> Value:
        if reference.id not in self._own:
            return self._surveying.value(reference)
        prediction = self._predictions.get(reference.id)
        return (
            values.of_prediction(prediction, reference, self._spec.rules) if prediction is not None else Value(UNKNOWN)
        )

    def _unresolved(self, address: Address, error: NoSuchValue) -> Problem:
        if not error.path:
            return Problem(self._cluster, "Rejected", str(error), _CORRECT, address)
        chain = self._spec.chain(address.id, error.path)
        said = f"{error}{place_of(chain, self._surveying.root)}"
        return Problem(self._cluster, "Rejected", said, _CORRECT_FIELD, address, chain)

    async def _dry_run(self, filled: Filled, new_namespaces: frozenset[str]) -> Prediction:
        asked = values.for_dry_run(filled)
        request = PlanRequest(
            asked,
            new_namespaces,
            observed=self._observed.get(asked.id),
            presumed_absent=self._is_presumed_absent(asked.id),
            dry_run=self._surveying.dry_run_all,
        )
        try:
            prediction = await self._runtime.plan(request)
            self._learn_of_unlabelled(request, prediction)
            if self._surveying.takes_away and (left := self._left_alone(prediction, filled)):
                prediction = await self._runtime.plan(replace(request, taken_away=frozenset(left)))
                stays = self._left_alone(prediction, filled)
                self._taken_away[asked.id] = frozenset(left.keys() - stays.keys())
        except Rejected as error:
            if not filled.unknown:
                raise
            warning = f"not dry-run, as values are known only after applying; with placeholders: {error.message}"
            live = await self._runtime.read(ReadRequest(asked.id))
            after = overlaid(live.body if live else {}, filled.resource.attributes)
            return Prediction(asked.id, live, after, unknown=filled.unknown, warnings=(warning,), basis=Basis.RESOURCE)
        if not (filled.secret or filled.unknown or prediction.unknown):
            return prediction
        secret = tuple(values.field_path(asked.attributes, each, prediction.list_keys) for each in filled.secret)
        return replace(
            prediction,
            after=values.with_unknown(prediction.after, filled, asked.attributes, prediction.list_keys),
            sensitive=(*prediction.sensitive, *secret),
            unknown=tuple(values.field_path(asked.attributes, each, prediction.list_keys) for each in filled.unknown),
        )

    def _is_presumed_absent(self, id_: ResourceId) -> bool:
        """Whether reading it first would most likely find nothing: a list did not hold it, and all that was not held so
        far was not there either. A first apply has nothing else, and would take two requests for each."""
        return id_ in self._observed and self._observed[id_] is None and _kind_of(id_) not in self._unlabelled

    def _learn_of_unlabelled(self, request: PlanRequest, prediction: Prediction) -> None:
        """What is there and does not carry the labels takes a request more if it is presumed absent; others of its kind
        are most likely the same, as where a stack takes over what somebody else applied."""
        if request.presumed_absent and prediction.live is not None:
            self._unlabelled.add(_kind_of(request.resource.id))

    def _fail(self, error: RuntimeFailure, address: Address, *, hint: str = "") -> None:
        if not isinstance(error, Unreachable | Unauthenticated):
            problem = self._at_its_line(Problem.of(self._cluster, error, address), error, address)
            is_by_kind = isinstance(error, Rejected | OtherVersion)
            self._problems.append(replace(problem, hint=hint) if hint and is_by_kind else problem)
        elif not self._scope.cancel_called:
            self._problems.append(Problem.of(self._cluster, error))
            self._scope.cancel()  # the other questions would all fail alike

    def _is_newly_defined(self, id_: ResourceId) -> bool:
        definition = self._definitions.get((id_.group, id_.kind)) if isinstance(id_, KubernetesId) else None
        prediction = self._predictions.get(definition) if definition else None
        return prediction is not None and prediction.live is None

    def _at_its_line(self, problem: Problem, error: RuntimeFailure, address: Address) -> Problem:
        """Names the line behind the first field that the cluster finds fault with, where it names one."""
        path = _refused_field(error) if isinstance(error, Rejected) else ()
        chain = self._spec.chain(address.id, path) if path else ()
        said = problem.message + place_of(chain, self._surveying.root)
        return replace(problem, message=said, source=chain) if chain else problem

    def _redefinition(self, id_: ResourceId) -> str:
        """Returns what to do about a refusal by a definition that the same plan changes; empty where none does."""
        definition = self._definitions.get((id_.group, id_.kind)) if isinstance(id_, KubernetesId) else None
        prediction = self._predictions.get(definition) if definition else None
        if definition is None or prediction is None or same(prediction.before, prediction.after):
            return ""
        said = "the cluster judges it by the definition that it has, and this plan changes that one: apply it first"
        return f"{said}, --only {_short(definition)}"

    def _change(self, id_: ResourceId, prediction: Prediction, seals: Seals) -> Change:
        address, resource, filled = Address(self._cluster, id_), self._resource(id_), self._filled[id_]
        released = self._surveying.prior.resources.get(address) if self._surveying.prior is not None else None
        hidden = self._hidden[resource.id]
        live = prediction.live
        was_deleted = was_deleted_since(released_as(self._surveying.prior, address), live)
        fields = diff_fields(
            prediction,
            filled.resource,
            previous=released.applied if released else None,
            was_deleted=was_deleted,
            record_seal=seals.record,
            screen_seal=seals.screen,
            chain=lambda path: self._spec.chain(resource.id, path),
            hidden=hidden,
            referenced=tuple(
                values.field_path(filled.resource.attributes, each, prediction.list_keys)
                for each in filled.referenced
                if find(filled.resource.attributes, each) is not MISSING
            ),
        )
        written = [each for each in fields.shown if each.op is not Op.KEPT]
        is_same = live is not None and live.body is prediction.after
        is_open = id_ in self._open and not seals.screen.knows_secrets
        after = prediction.after if is_open else masked(prediction.after, hidden, seals.screen)
        action, because = _action(prediction, bool(written), fields.claims, was_deleted)
        if live is not None and action is not Action.REPLACE and address in self._surveying.replaces:
            action, because = Action.REPLACE, "its replacement was requested"
        return Change(
            address=address,
            action=action,
            identity=live.identity if live else None,
            resource=resource,
            fields=fields.shown,
            defaulted=fields.defaulted,
            conflicts=tuple(replace(each, path=seals.screen.path(each.path)) for each in prediction.conflicts),
            warnings=prediction.warnings,
            basis=prediction.basis,
            source=self._spec.chain(resource.id),
            because=because,
            sensitive=hidden,
            before=after if is_same else masked(live.body, hidden, seals.screen) if live else None,
            after=after,
            state=seals.state.digest(live.body) if live and seals.state else "",
            resolved=filled.resource.attributes if filled.resource is not resource else None,
            was_deleted=was_deleted,
            other_owner=self._other_owner(live),
            takes_away=self._taken_away.get(resource.id, frozenset()) if action is Action.UPDATE else frozenset(),
        )

    def _other_owner(self, live: LiveResource | None) -> str:
        labels = labels_of(live.body) if live is not None else {}
        named = {each: str(labels[each]) for each in self._surveying.labels if each in labels}
        return "/".join(named.values()) if named and named != dict(self._surveying.labels) else ""

    async def _prune(self) -> None:
        pruning = Pruning(
            self._cluster,
            self._surveying.labels,
            [each.id for each in self._spec],
            self._uids,
            self._surveying.prior,
            self._surveying.seals.screen,
            self._surveying.seals.state,
            self._surveying.adopts,
            {uid: id_ for uid, id_ in self._carrying.items() if isinstance(id_, KubernetesId)},
        )
        try:
            pruned = await pruning.run(self._runtime, self._labelled)
        except RuntimeFailure as error:
            self._problems.append(Problem.of(self._cluster, error))
            return
        self._surveying.learn(pruned.secrets)
        self._pruned = pruned

    async def _review_deletions(self) -> None:
        """Asks whether what is to be deleted may be, also to be replaced: else that would be found out half-way.

        A deletion is not dry-run: a server that does not know what that is would delete.
        """
        runtime, limit = self._runtime, anyio.CapacityLimiter(AT_ONCE)
        if not isinstance(runtime, RightsReviewable):
            return
        asked = {each.id for each in self._surveying.replaces if each.cluster == self._cluster}
        replaced = [
            id_ for id_, each in self._predictions.items() if each.live is not None and (each.replaces or id_ in asked)
        ]
        ids = [*(each.address.id for each in self._pruned.deletions), *replaced]
        unknown: list[RuntimeFailure] = []

        async def ask(id_: ResourceId) -> None:
            async with limit:
                try:
                    why = await runtime.may_delete(id_)
                except RuntimeFailure as error:
                    unknown.append(error)
                    return
            if why:
                hint = "ask for this right, or for somebody who has it to apply"
                self._problems.append(Problem(self._cluster, "Forbidden", why, hint, Address(self._cluster, id_)))

        async with anyio.create_task_group() as tasks:
            for each in ids:
                tasks.start_soon(ask, each)
        if unknown:
            said = f"{self._cluster}: whether {len(unknown)} deletions are allowed is not known: {unknown[0].message}"
            self._review_warnings = (said,)


def overlaid(body: Any, said: Any) -> Any:
    """Returns a body with what is said put over it, lists as wholes: a prediction where nobody could be asked."""
    if isinstance(body, Mapping) and isinstance(said, Mapping):
        return {**body, **{key: overlaid(body.get(key), each) for key, each in said.items()}}
    return said


def _kind_of(id_: ResourceId) -> tuple[str, str]:
    return (id_.group, id_.kind) if isinstance(id_, KubernetesId) else ("", "")


def _refused_field(error: Rejected) -> FieldPath:
    """Returns the first field that a refusal names, in its causes or in the words of a schema; () without any."""
    typed = _OF_SCHEMA.search(error.message)
    text = error.causes[0][0] if error.causes else typed[1].replace('="', "=").replace('"]', "]") if typed else ""
    try:
        return parse_path(text)
    except ValueError:
        return ()


def _short(id_: ResourceId) -> str:
    return f"{id_.kind}/{id_.name}" if isinstance(id_, KubernetesId) else str(id_)


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
    return ", ".join(format_path(each) for each in paths)
