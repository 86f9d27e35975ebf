"""What Terraform would do: `terraform show -json` of a saved plan, told as the workspace contract has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtimes.base import (
    UNKNOWN,
    Drifted,
    FieldPath,
    Finding,
    LiveResource,
    PlannedAction,
    Prediction,
    ResourceId,
    ResourcePlan,
    TerraformId,
    WorkspacePlan,
    format_path,
    unknown_paths,
)
from runtimes.terraform import bodies, live, planned, schema, values
from runtimes.terraform.bodies import Pair
from runtimes.terraform.configured import Configuration
from runtimes.terraform.planned import Planned, PlannedState
from runtimes.terraform.proposed import ProposedState
from runtimes.terraform.schema import Schemas, Type
from runtimes.terraform.state import PriorState, State

_PLACES_IN_WORDS = 4


def read(
    content: Mapping[str, Any] | str | bytes,
    configuration: Configuration,
    *,
    schemas: Schemas | None = None,
    recorded: PriorState | None = None,
) -> WorkspacePlan:
    """Reads a plan, whole or not (`errored`): what an error kept from being planned comes as in `unfinished`.

    `recorded` is the state before the plan refreshed it, if known. What `-target` left out of the plan stays as it is.
    Raises `UnreadablePlan`.
    """
    found = planned.read(content, configuration, schemas=schemas)
    before = recorded if recorded is not None else found.prior
    plans = {each.id: each for each in _resource_plans(found, configuration, before, recorded is not None, schemas)}
    missing = unchanged if found.is_whole else unfinished
    for each in missing(before, configuration, schemas=schemas).resources:
        plans.setdefault(each.id, each)
    findings = [] if found.is_complete or not found.is_whole else [_INCOMPLETE]
    return WorkspacePlan(tuple(_in_order(plans, configuration)), tuple(findings))


def unchanged(state: PriorState, configuration: Configuration, *, schemas: Schemas | None = None) -> WorkspacePlan:
    """Returns the plan of a run whose events told of no change and no drift, without asking Terraform again."""
    known = live_resources(state, configuration, schemas=schemas)
    plans = []
    for id_ in configuration.resources:
        there = known.get(id_)
        prediction = Prediction(
            id_,
            there,
            there.body if there else {},
            sensitive=_sensitive_of(there, configuration, schemas) if there else (),
        )
        types = _types(there.observed, _type(schemas, id_)) if there else {}
        plans.append(ResourcePlan(prediction, PlannedAction.NONE, types=types, was_recorded=there is not None))
    return WorkspacePlan(tuple(plans))


def unfinished(state: PriorState, configuration: Configuration, *, schemas: Schemas | None = None) -> WorkspacePlan:
    """Returns what can be said where Terraform could not plan: what is recorded, and what is asked for.

    What is to be changed is what is configured otherwise than recorded, as far as it was written down.
    """
    known = live_resources(state, configuration, schemas=schemas)
    proposed = ProposedState.of(configuration, state)
    plans = []
    for id_, body in proposed.bodies.items():
        there = known.get(id_) or known.get(configuration.moved.get(id_, id_))
        if there is None:
            action = PlannedAction.IMPORT if id_ in configuration.adopted else PlannedAction.CREATE
            plans.append(_proposed(id_, None, body, action, configuration))
            continue
        pair = bodies.paired(body, Pair(there.observed, _over(body, there.observed)), _type(schemas, id_))
        action = PlannedAction.NONE if pair.before == pair.after else PlannedAction.UPDATE
        plans.append(_proposed(id_, there, pair.after, action, configuration))
    moved = set(configuration.moved.values())
    for other, there in known.items():
        if other not in configuration.resources and other not in moved:
            plans.append(_proposed(other, there, {}, PlannedAction.DELETE, configuration))
    return WorkspacePlan(tuple(plans))


def live_resources(
    state: State, configuration: Configuration | None = None, *, schemas: Schemas | None = None
) -> Mapping[ResourceId, LiveResource]:
    """Returns everything a state knows as live resources; tainted ones have a health that says so."""
    return {
        id_: live.of_recorded(each, configuration, _type(schemas, id_))
        for id_, each in state.resources.items()
        if each.exists
    }


_INCOMPLETE = Finding(False, "Terraform leaves a part to another apply", "Plan and apply again after this one.")


def _resource_plans(
    found: PlannedState, configuration: Configuration, before: PriorState, is_known: bool, schemas: Schemas | None
) -> Iterator[ResourcePlan]:
    drift = {each.id: each for each in found.drift if not each.deposed}
    deposed = {each.id: each for each in found.resources if each.deposed}
    current = {each.id: each for each in found.resources if not each.deposed}
    for id_, each in current.items():
        was = each.former or id_
        drifted = drift.get(id_) or drift.get(was)
        recorded = was in before.resources or (not is_known and drifted is not None)
        result = _resource_plan(each, drifted, configuration, _type(schemas, id_), was_recorded=recorded)
        yield _with_deposed(result) if id_ in deposed else result
    for id_, each in deposed.items():
        if id_ not in current:
            yield _with_deposed(
                _resource_plan(each, None, configuration, _type(schemas, id_), was_recorded=True),
            )


def _resource_plan(
    each: Planned, drift: Planned | None, configuration: Configuration, type_: Type | None, *, was_recorded: bool
) -> ResourcePlan:
    wanted = configuration.resources.get(each.id)
    asked: Mapping[str, Any] = wanted.attributes if wanted else {}
    if each.after is None:
        pair = Pair(bodies.written(each.before or {}, type_), None)
    else:
        pair = bodies.paired(asked, Pair(each.before, each.after), type_)
    there = None
    if each.before is not None:
        there = live.resource(
            each.id, each.before, configuration, body=pair.before, masked=each.masked_before, type_=type_
        )
    after = pair.after if pair.after is not None else {}
    replaces = tuple(dict.fromkeys(bodies.shaped_path(path, asked, each.before, type_) for path in each.replace_paths))
    action = _action(each)
    sensitive = _sensitive(each, drift, asked, configuration, type_)
    prediction = Prediction(
        each.id,
        there,
        after,
        replaces=replaces if each.is_replacement else (),
        sensitive=sensitive,
        unknown=tuple(unknown_paths(after)),
    )
    return ResourcePlan(
        prediction,
        action,
        reason=_reason(each, action, replaces),
        drift=_drifted(drift),
        types=_types(each.after or {}, type_),
        was_recorded=was_recorded and not each.import_id,
        import_id=each.import_id,
        former=each.former,
    )


def _action(each: Planned) -> PlannedAction:
    if each.import_id and not each.is_replacement:
        return PlannedAction.IMPORT
    match each.actions:
        case ("create",):
            return PlannedAction.CREATE
        case ("update",) if values.identical(each.before, each.after):
            return PlannedAction.NONE  # only what is marked as sensitive changes, which is ours to say
        case ("update",):
            return PlannedAction.UPDATE
        case ("delete",):
            return PlannedAction.DELETE
        case ("forget",):
            return PlannedAction.FORGET
        case _ if each.is_replacement:
            return PlannedAction.REPLACE
        case _:
            return PlannedAction.MOVE if each.former else PlannedAction.NONE


def _reason(each: Planned, action: PlannedAction, replaces: tuple[FieldPath, ...]) -> str:
    match action:
        case PlannedAction.REPLACE if replaces:
            places = [format_path(path) for path in replaces[:_PLACES_IN_WORDS]]
            more = len(replaces) - len(places)
            named = ", ".join(places) + (f" and {more} more" if more else "")
            first = "; the new one is made before the old one goes" if each.actions[0] == "create" else ""
            there = f"; what exists as {each.import_id} is deleted" if each.import_id else ""
            return f"{named} cannot be changed in place{first}{there}"
        case PlannedAction.FORGET:
            return "it leaves the state and stays where it is"
        case PlannedAction.UPDATE if each.former:
            return f"it was {each.former} before"
        case _:
            return each.reason


def _with_deposed(plan: ResourcePlan) -> ResourcePlan:
    """Adds that an older object is deleted, which could not be when the resource was replaced."""
    older = "an older object of it is deleted, which could not be when it was replaced"
    action = PlannedAction.UPDATE if plan.action is PlannedAction.NONE else plan.action
    return ResourcePlan(
        plan.prediction,
        action,
        reason=f"{plan.reason}; {older}" if plan.reason else older,
        drift=plan.drift,
        types=plan.types,
        was_recorded=plan.was_recorded,
        import_id=plan.import_id,
        former=plan.former,
    )


def _drifted(drift: Planned | None) -> tuple[Drifted, ...]:
    """Fields that are not as recorded; none where the whole resource is gone, which `prediction.live` says."""
    if drift is None or drift.before is None or drift.after is None:
        return ()
    return tuple(Drifted(path, was, is_) for path, was, is_ in bodies.differences(drift.before, drift.after))


def _sensitive(
    each: Planned,
    drift: Planned | None,
    asked: Mapping[str, Any],
    configuration: Configuration,
    type_: Type | None,
) -> tuple[FieldPath, ...]:
    """Returns the secret paths of both bodies, and of what was recorded."""
    found: list[FieldPath] = []
    sides = [(each.before, each.masked_before), (each.after, each.masked_after)]
    if drift is not None:
        sides.append((drift.before, drift.masked_before))
    for side, masked in sides:
        if side is not None:
            hidden = live.hidden(each.id, side, configuration, masked=masked, type_=type_)
            found += (bodies.shaped_path(path, asked, side, type_) for path in hidden)
    return values.shortest(found)


def _sensitive_of(there: LiveResource, configuration: Configuration, schemas: Schemas | None) -> tuple[FieldPath, ...]:
    wanted = configuration.resources.get(there.id)
    asked = wanted.attributes if wanted else {}
    type_ = _type(schemas, there.id)
    return values.shortest([bodies.shaped_path(path, asked, there.observed, type_) for path in there.hidden])


def _proposed(
    id_: ResourceId,
    there: LiveResource | None,
    after: Mapping[str, Any],
    action: PlannedAction,
    configuration: Configuration,
) -> ResourcePlan:
    hidden = [*live.hidden(id_, after, configuration), *(there.hidden if there else ())]
    prediction = Prediction(id_, there, after, sensitive=values.shortest(hidden), unknown=tuple(unknown_paths(after)))
    under = configuration.adopted.get(id_, "") if action is PlannedAction.IMPORT else ""
    return ResourcePlan(prediction, action, was_recorded=there is not None, import_id=under)


def _over(body: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what is recorded with what is configured over it."""
    return {**recorded, **{key: each for key, each in body.items() if each is not None}}


def _types(after: Mapping[str, Any], type_: Type | None) -> Mapping[str, str]:
    """Returns what top attributes will be, as the schema says or as their values show."""
    found = {}
    for key, value in after.items():
        attribute = type_.fields.get(key) if type_ else None
        if word := attribute.type.word if attribute else _word(key, value):
            found[key] = word
    return found


def _word(key: str, value: Any) -> str:
    match value:
        case bool():
            return schema.Form.BOOL.value
        case int() | float():
            return schema.Form.NUMBER.value
        case str():
            return schema.Form.STRING.value
        case list():
            return schema.Form.LIST.value
        case Mapping():
            return schema.Form.MAP.value
        case _:
            return schema.Form.STRING.value if key == "id" and value is UNKNOWN else ""


def _type(schemas: Schemas | None, id_: ResourceId) -> Type | None:
    return schemas.get(id_.resource_type) if schemas and isinstance(id_, TerraformId) else None


def _in_order(plans: Mapping[ResourceId, ResourcePlan], configuration: Configuration) -> Iterable[ResourcePlan]:
    yield from (plans[id_] for id_ in configuration.resources if id_ in plans)
    yield from (each for id_, each in plans.items() if id_ not in configuration.resources)
