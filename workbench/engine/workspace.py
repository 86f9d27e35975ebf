"""The Terraform part of a stack: what is asked of its workspace, and its answer as changes.

A stack has one workspace, in the place `terraform`, however many clusters it goes to. What its resources refer to in
Kubernetes is put in place before; references inside the workspace are left for it, as it knows their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, assert_never

import anyio

from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import SecretRules
from runtimes.base import (
    UNKNOWN,
    Address,
    FieldPath,
    Finding,
    KubernetesId,
    LiveResource,
    PartlyUnknown,
    PlainPath,
    PlannedAction,
    ReadRequest,
    Reference,
    Rejected,
    Resource,
    ResourceId,
    ResourcePlan,
    Runtime,
    RuntimeFailure,
    TerraformId,
    Unknown,
    Workspace,
    WorkspacePlan,
    WorkspacePlanRequest,
    composed,
    format_path,
    is_unknown,
    parse_reference,
    parts,
    refers,
    starts_with,
    unknown_paths,
)
from workbench.engine import values
from workbench.engine.changes import Change, ChangeClass, FieldChange, Op, Problem
from workbench.engine.diff import differences
from workbench.engine.events import Action
from workbench.engine.fields import MISSING, find
from workbench.engine.graph import found_references, reference_texts
from workbench.engine.masking import Seal, is_sensitive, masked, resource_paths, secret_texts_in
from workbench.engine.release import Release, ReleasedResource
from workbench.engine.spec import Chain, Spec, place_of
from workbench.engine.values import NoSuchValue, Value
from workbench.project import TERRAFORM_PLACE

Clusters = Mapping[str, Runtime | RuntimeFailure]
Live = Mapping[str, LiveResource | None]
"""What clusters have of one resource, by cluster; None where it is not there."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of a workspace besides what it says itself. `released`: what the last release left in existence,
    with ids in the infrastructure. `accept_lost`: what the state has lost of that is taken for gone. `replaces` are
    to be made again, `forgets` to leave the state and stay: then nothing else is asked for."""

    released: Mapping[ResourceId, str] = field(default_factory=dict, repr=False)
    accept_lost: bool = False
    replaces: frozenset[ResourceId] = frozenset()
    forgets: frozenset[ResourceId] = frozenset()


@dataclass(frozen=True, slots=True)
class Desired:
    """What is to be asked of a workspace. `impossible` are resources left as they are, and why: a clause each;
    `impossible_fields` are the fields that it is said of.

    `secrets` are texts that came from hidden fields of other resources.
    """

    resources: tuple[Resource, ...] = field(repr=False)
    impossible: Mapping[ResourceId, str] = field(default_factory=dict)
    impossible_fields: Mapping[ResourceId, PlainPath] = field(default_factory=dict)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    def request(self, spec: Spec, known: Recorded, only: frozenset[ResourceId] | None = None) -> WorkspacePlanRequest:
        secrets = spec.secrets | self.secrets
        return WorkspacePlanRequest(
            tuple(each for each in self.resources if each.id not in known.forgets),
            known.forgets or only,
            secrets,
            spec.former,
            known.released,
            accepts_lost=known.accept_lost,
            replaces=known.replaces if only is None else known.replaces & only,
            forgets=known.forgets,
        )


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A workspace plan as the engine sees it. `secrets` hold all that is secret in it, as texts. `cautions` are those
    of the warnings that call for more than a yes."""

    plans: Mapping[ResourceId, ResourcePlan] = field(default_factory=dict, repr=False)
    changes: Mapping[ResourceId, Change] = field(default_factory=dict)
    deletions: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    cautions: tuple[str, ...] = ()


def terraform(spec: Spec) -> tuple[Resource, ...]:
    return tuple(each for each in spec if isinstance(each.id, TerraformId))


async def desired(spec: Spec, clusters: Clusters) -> Desired:
    """Puts in place what Terraform resources refer to in Kubernetes: what is configured, else what is live now.

    What is neither is `UNKNOWN`; so is everything on a cluster that does not answer, which is told elsewhere.
    """
    known = values.ids(spec)
    live = await _live(spec, known, clusters)
    resources: list[Resource] = []
    impossible: dict[ResourceId, str] = {}
    fields: dict[ResourceId, PlainPath] = {}
    secrets: frozenset[str] = frozenset()
    for resource in terraform(spec):
        try:
            filled = values.fill(resource, known, lambda reference: _value(spec, known, live, reference), again=True)
        except NoSuchValue as error:
            impossible[resource.id], fields[resource.id] = str(error), error.path
            filled = values.fill(resource, known, lambda _: Value(UNKNOWN), again=True, output=lambda _: UNKNOWN)
        resources.append(filled.resource)
        secrets |= filled.secrets
    return Desired(tuple(resources), impossible, fields, secrets)


async def ask(
    spec: Spec, workspace: Workspace, clusters: Clusters, known: Recorded, *, prune: bool
) -> tuple[WorkspacePlan, Desired]:
    """Returns the workspace's plan and what it was asked for; raises `RuntimeFailure` where nothing can be planned."""
    asked = await desired(spec, clusters)
    only = None if prune else frozenset(each.id for each in asked.resources)
    return await workspace.survey(asked.request(spec, known, only)), asked


def read(
    spec: Spec,
    plan: WorkspacePlan,
    asked: Desired,
    *,
    screen: Seal,
    state: Seal | None,
    prior: Release | None = None,
    root: Path | None = None,
) -> Surveyed:
    """Turns a workspace's answer into changes, problems and warnings."""
    secrets = secret_texts_in(asked.secrets.union(*(_secrets(each) for each in plan.resources)), spec)
    screen = screen.knowing(spec.secrets | secrets, spec.rules)
    resolved = {each.id: each for each in asked.resources}
    known = values.ids(spec)
    changes: dict[ResourceId, Change] = {}
    deletions: list[Change] = []
    released = prior.resources if prior is not None else {}
    for each in plan.resources:
        configured = spec.get(each.id)
        shown = _with_texts(each, resolved.get(each.id), known)
        change = _change(spec, shown, configured, resolved.get(each.id), screen, state)
        if because := _deleted_because(each, released.get(change.address)):
            change = replace(change, was_deleted=True, because=because)
        if configured is None:
            deletions.append(change)
        else:
            changes[each.id] = change
    problems = [_problem(spec, each, root) for each in plan.findings if each.is_error]
    problems += [
        _impossible(spec, id_, message, asked.impossible_fields.get(id_, ()), root)
        for id_, message in asked.impossible.items()
    ]
    cautions = tuple(f"{TERRAFORM_PLACE}: {each}" for each in plan.cautions)
    return Surveyed(
        plans={each.id: each for each in plan.resources},
        changes=changes,
        deletions=tuple(deletions),
        problems=tuple(problems),
        warnings=(*(_line(each) for each in plan.findings if not each.is_error), *cautions),
        secrets=secrets,
        cautions=cautions,
    )


def disagreement(approved: Change | None, fresh: ResourcePlan) -> str:
    """Says how a fresh plan of a resource differs from the approved one; empty where it is the same.

    What was not known when it was approved may be known now.
    """
    action = action_of(fresh.action)
    if approved is None:
        return "" if action is Action.NONE else f"would be touched as well ({action.value})"
    if action is not approved.action:
        return f"would now be: {action.value}, not {approved.action.value}"
    if action is Action.NONE or approved.planned is None:
        return ""
    path = _first_difference(approved.planned, fresh.prediction.after)
    return "" if path is None else f"{format_path(path)} would get another value than was approved"


def action_of(action: PlannedAction) -> Action:
    match action:
        case PlannedAction.CREATE:
            return Action.CREATE
        case PlannedAction.UPDATE:
            return Action.UPDATE
        case PlannedAction.REPLACE:
            return Action.REPLACE
        case PlannedAction.DELETE:
            return Action.DELETE
        case PlannedAction.IMPORT:
            return Action.IMPORT
        case PlannedAction.MOVE:
            return Action.MOVE
        case PlannedAction.FORGET:
            return Action.FORGET
        case PlannedAction.NONE:
            return Action.NONE
        case _:
            assert_never(action)


def without_nulls(body: Any) -> Any:
    """Terraform's bodies name every attribute there is; null says that nothing is said."""
    match body:
        case Mapping():
            return {key: without_nulls(each) for key, each in body.items() if each is not None}
        case list() | tuple():
            return [without_nulls(each) for each in body]
        case _:
            return body


async def _live(spec: Spec, known: Mapping[str, ResourceId], clusters: Clusters) -> Mapping[ResourceId, Live]:
    """Reads what Terraform resources refer to in Kubernetes."""
    ids = {
        reference.id
        for resource in terraform(spec)
        for _, reference in found_references(resource, known)
        if isinstance(reference.id, KubernetesId)
    }
    found: dict[ResourceId, dict[str, LiveResource | None]] = {id_: {} for id_ in ids}

    async def look(id_: ResourceId, cluster: str, runtime: Runtime) -> None:
        try:
            found[id_][cluster] = await runtime.read(ReadRequest(id_))
        except RuntimeFailure:
            found[id_][cluster] = None

    async with anyio.create_task_group() as tasks:
        for id_ in ids:
            for cluster, runtime in clusters.items():
                if not isinstance(runtime, RuntimeFailure):
                    tasks.start_soon(look, id_, cluster, runtime)
    return found


def _value(
    spec: Spec,
    known: Mapping[str, ResourceId],
    live: Mapping[ResourceId, Mapping[str, LiveResource | None]],
    reference: Reference,
) -> Value:
    if isinstance(reference.id, TerraformId):
        return Value(reference)
    try:
        said = values.configured(spec, reference)
    except NoSuchValue:
        there = live.get(reference.id, {})
        return agreed(reference, {name: value_now(each, reference, spec.rules) for name, each in there.items()})
    if refers(said):
        return _value(spec, known, live, parse_reference(said, known))
    return Value(said)


def agreed(reference: Reference, found: Mapping[str, Value]) -> Value:
    """What all places have for a field; unknown where one has nothing yet. Raises `NoSuchValue` where they differ."""
    every = [*found.values()]
    is_secret = any(each.is_secret for each in every)
    if not every or any(isinstance(each.value, Unknown) for each in every):
        return Value(UNKNOWN, is_secret)
    if any(each.value != every[0].value for each in every):
        names = ", ".join(found)
        raise NoSuchValue(f"{reference} is not the same on all clusters ({names}): it can have one value only")
    return Value(every[0].value, is_secret)


def value_now(live: LiveResource | None, reference: Reference, rules: SecretRules) -> Value:
    """Returns a field of a Kubernetes object, unknown where it is not there: its controller may set it yet."""
    try:
        return values.of_live(live, reference, rules) if live is not None else Value(UNKNOWN)
    except NoSuchValue:
        return Value(UNKNOWN)


def _secrets(plan: ResourcePlan) -> frozenset[str]:
    """Returns the texts of all that is sensitive in what is there, planned, recorded and found."""
    found: set[str] = set()
    live = plan.prediction.live
    for path in plan.prediction.sensitive:
        for body in (plan.prediction.after, live.body if live else {}):
            value = find(body, path)
            found |= values.texts(value) if value is not MISSING else frozenset()
    for path in live.hidden if live else ():
        value = find(live.observed if live else {}, path)
        found |= values.texts(value) if value is not MISSING else frozenset()
    hidden = (*plan.prediction.sensitive, *(live.hidden if live else ()))
    for drift in plan.drift:
        if any(_overlap(drift.path, path) for path in hidden):
            found |= values.texts(drift.recorded) | values.texts(drift.found)
    return frozenset(found)


def _change(
    spec: Spec,
    plan: ResourcePlan,
    resource: Resource | None,
    resolved: Resource | None,
    screen: Seal,
    state: Seal | None,
) -> Change:
    prediction, action = plan.prediction, action_of(plan.action)
    live = prediction.live
    named = resource_paths(resource, spec.rules) if resource else ()
    hidden = tuple(dict.fromkeys((*prediction.sensitive, *(live.hidden if live else ()), *named)))
    fields, defaulted = _fields(spec, plan, resource, hidden, screen)
    has_after = action not in (Action.DELETE, Action.FORGET)
    return Change(
        address=Address(TERRAFORM_PLACE, plan.id),
        action=action,
        identity=live.identity if live else None,
        resource=resource,
        fields=fields,
        defaulted=defaulted,
        warnings=prediction.warnings,
        source=spec.chain(plan.id),
        because=_because(plan, action, resource),
        sensitive=hidden,
        before=masked(live.body, hidden, screen) if live else None,
        after=masked(prediction.after, hidden, screen) if has_after else None,
        state=state.digest(live.body) if live and state else "",
        resolved=resolved.attributes if resolved is not None and resource != resolved else None,
        planned=prediction.after if has_after else None,
        import_id=plan.import_id,
        former=plan.former,
    )


def _with_texts(plan: ResourcePlan, resource: Resource | None, known: Mapping[str, ResourceId]) -> ResourcePlan:
    """Says of a text with references in it which parts are not known: Terraform says so of all of it."""
    after = plan.prediction.after
    body = resource.attributes if resource is not None and after else {}
    for path in dict.fromkeys((*(path for path, _ in reference_texts(body)), *unknown_paths(body))):
        text = find(body, path)
        if isinstance(text, str) and find(after, path) is UNKNOWN:
            pieces = text.parts if isinstance(text, PartlyUnknown) else (text,)
            made = [composed(parts(each, known), _unknown) if isinstance(each, str) else each for each in pieces]
            shown = PartlyUnknown(part for each in made for part in _parts(each))
            after = values.put(after, path, shown if len(shown.parts) > 1 else UNKNOWN)
    return plan if after is plan.prediction.after else replace(plan, prediction=replace(plan.prediction, after=after))


def _unknown(_: Reference) -> Unknown:
    return UNKNOWN


def _parts(text: str | Unknown) -> tuple[str | Unknown, ...]:
    return text.parts if isinstance(text, PartlyUnknown) else (text,)


def _deleted_because(plan: ResourcePlan, released: ReleasedResource | None) -> str:
    """Says of a resource that is there no more how that is known, empty for any other.

    The state forgets what it found gone at the next apply of anything; the release does not.
    """
    if plan.action is not PlannedAction.CREATE or plan.prediction.live is not None:
        return ""
    if plan.was_recorded:
        return "somebody deleted it since the last apply"
    if released is not None and released.existed:
        return "the last release left it there, and Terraform's state has nothing of it any more"
    return ""


def _because(plan: ResourcePlan, action: Action, resource: Resource | None) -> str:
    match action:
        case Action.REPLACE:
            paths = ", ".join(format_path(each) for each in plan.prediction.replaces)
            return plan.reason or f"{paths or 'it'} cannot be changed in place"
        case Action.DELETE | Action.FORGET:
            return plan.reason or ("the configuration no longer has it" if resource is None else "")
        case Action.IMPORT if plan.prediction.live is None:
            return f"it is to be taken over as {plan.import_id}, and could not be looked at"
        case Action.IMPORT:
            return f"it exists already, as {plan.import_id}: taken over" if plan.import_id else "taken over"
        case Action.MOVE:
            return f"it was {plan.former} before" if plan.former else plan.reason
        case _:
            return plan.reason


def _fields(
    spec: Spec, plan: ResourcePlan, resource: Resource | None, hidden: tuple[FieldPath, ...], screen: Seal
) -> tuple[tuple[FieldChange, ...], int]:
    """Returns what changes and what drifted, and how many fields a new resource gets filled in."""
    if plan.action in (PlannedAction.DELETE, PlannedAction.FORGET):
        return (), 0
    prediction = plan.prediction
    said = without_nulls(resource.attributes) if resource else {}
    before = without_nulls(prediction.before) if prediction.before is not None else {}
    shown: dict[FieldPath, FieldChange] = {}
    defaulted = 0
    for each in differences(before, without_nulls(prediction.after), _identities(prediction.list_keys)):
        is_said = find(said, each.path[:1]) is not MISSING
        if prediction.live is None and not is_said:
            defaulted += 1
            continue
        op = Op.ADD if each.before is MISSING else Op.REMOVE if each.after is MISSING else Op.CHANGE
        drifted = next((drift for drift in plan.drift if _overlap(drift.path, each.path)), None)
        undone = drifted is not None and _overlapping_same(drifted.recorded, drifted.path, each.after, each.path)
        shown[each.path] = _field(
            each.path, op, ChangeClass.DRIFT if undone else ChangeClass.INTENDED, each.before, each.after,
            plan, spec, hidden, screen,
        )  # fmt: skip
    for drift in plan.drift:
        if prediction.live is None or any(_overlap(drift.path, path) for path in shown):
            continue
        found = drift.found if drift.found is not None else MISSING
        shown[drift.path] = _field(drift.path, Op.KEPT, ChangeClass.DRIFT, found, found, plan, spec, hidden, screen)
    return tuple(shown[path] for path in sorted(shown, key=format_path)), defaulted


def _field(
    path: FieldPath,
    op: Op,
    class_: ChangeClass,
    before: Any,
    after: Any,
    plan: ResourcePlan,
    spec: Spec,
    hidden: tuple[FieldPath, ...],
    screen: Seal,
) -> FieldChange:
    resource = spec.get(plan.id)
    hides = is_sensitive(path, hidden) or any(starts_with(each, path) for each in hidden)

    def shown(value: Any) -> Any:
        return None if value is MISSING else masked(value, hidden, screen, path)

    return FieldChange(
        path=screen.path(path),
        op=op,
        class_=class_,
        before=shown(before),
        after=shown(after),
        is_masked=hides or screen.hides(before) or screen.hides(after),
        # what the provider fills in is on no line
        source=spec.chain(plan.id, path) if resource and find(resource.attributes, path[:1]) is not MISSING else (),
        replaces=any(_overlap(each, path) for each in plan.prediction.replaces),
        recorded=shown(_recorded(plan, path)) if class_ is ChangeClass.DRIFT else None,
    )


def _recorded(plan: ResourcePlan, path: FieldPath) -> Any:
    """Returns what the state had for a field that drifted; `MISSING` where it had nothing, or only a part is told."""
    for drift in plan.drift:
        if starts_with(path, drift.path) and drift.recorded is not None:
            return find(drift.recorded, path[len(drift.path) :])
    return MISSING


def _overlapping_same(recorded: Any, drift: FieldPath, after: Any, path: FieldPath) -> bool:
    """Whether an apply would bring back what the state had."""
    if len(path) >= len(drift):
        value = find(recorded, path[len(drift) :]) if recorded is not None else MISSING
        return bool(value == after) if value is not MISSING else after is MISSING
    return bool(find(after, drift[len(path) :]) == recorded)


def _identities(list_keys: Mapping[tuple[str, ...], tuple[str, ...]]) -> Any:
    return lambda path: list_keys.get(tuple(each for each in path if isinstance(each, str)), ())


def _overlap(one: FieldPath, other: FieldPath) -> bool:
    return starts_with(one, other) or starts_with(other, one)


def _problem(spec: Spec, finding: Finding, root: Path | None) -> Problem:
    chain: Chain = ()
    if finding.id is not None:
        looked_up = spec.extension_chain if finding.in_extensions else spec.chain
        chain = looked_up(finding.id, finding.path)
    path = ("extensions", *finding.path) if finding.in_extensions else finding.path
    field_ = format_path(path) if path else ""
    what = f"{field_}: {finding.message}" if field_ else finding.message
    what += place_of(chain, root)
    address = Address(TERRAFORM_PLACE, finding.id) if finding.id is not None else None
    return Problem(TERRAFORM_PLACE, "Rejected", what, finding.detail, address, chain)


def _impossible(spec: Spec, id_: ResourceId, message: str, path: PlainPath, root: Path | None) -> Problem:
    chain = spec.chain(id_, path) if path else ()
    said = message + place_of(chain, root)
    return Problem(TERRAFORM_PLACE, "Rejected", said, "", Address(TERRAFORM_PLACE, id_), chain)


def failure(spec: Spec, error: RuntimeFailure, root: Path | None) -> Problem:
    """Returns why nothing could be planned, at the line of the resource and the field that it names, if it does."""
    resource = next((each for each in spec if error.subject and str(each.id) == error.subject), None)
    if resource is None:
        return Problem.of(TERRAFORM_PLACE, error)
    causes = error.causes if isinstance(error, Rejected) else ()
    field_ = _FIRST_STEP.match(causes[0][0]) if causes else None
    path: FieldPath = (field_[0],) if field_ else ()
    is_extension = bool(field_) and path[0] in resource.extensions and path[0] not in resource.attributes
    chain = (spec.extension_chain if is_extension else spec.chain)(resource.id, path)
    said = place_of(chain, root)
    address = Address(TERRAFORM_PLACE, resource.id)
    return Problem(TERRAFORM_PLACE, type(error).__name__, error.message + said, error.hint, address, chain)


_FIRST_STEP: Final = re.compile(r"[^.\[]+")


def _line(finding: Finding) -> str:
    about = f"{Address(TERRAFORM_PLACE, finding.id)}: " if finding.id is not None else f"{TERRAFORM_PLACE}: "
    return about + finding.message


def _first_difference(approved: Any, fresh: Any, path: FieldPath = ()) -> FieldPath | None:
    """Returns where a fresh value is not the approved one; a value not known then may be anything now."""
    if is_unknown(approved):
        return None
    if isinstance(approved, Mapping) and isinstance(fresh, Mapping):
        pairs: Iterable[tuple[str | int, Any, Any]] = (
            (key, approved.get(key), fresh.get(key)) for key in dict.fromkeys((*approved, *fresh))
        )
    elif isinstance(approved, list) and isinstance(fresh, list) and len(approved) == len(fresh):
        pairs = ((index, *both) for index, both in enumerate(zip(approved, fresh, strict=True)))
    else:
        return None if approved == fresh else path
    for key, one, other in pairs:
        if (found := _first_difference(one, other, (*path, key))) is not None:
            return found
    return None
