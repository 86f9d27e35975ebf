"""What references stand for: from the text in a body to a value that is known, or `UNKNOWN` until it is applied.

A reference to a Terraform resource reads what the workspace plans for it, or what its state has. One to a Kubernetes
object reads what was dry-run or is there, its status too. Where an API knows only texts (environment variables, labels,
settings) a number becomes one, as no other value could be meant.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, Final

from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import SecretRules
from runtimes.base import (
    CALL_PREFIX,
    PREFIX,
    UNKNOWN,
    Body,
    FieldPath,
    InvalidReference,
    KubernetesId,
    ListKey,
    LiveResource,
    OutputReference,
    PartlyUnknown,
    PlainPath,
    PlannedAction,
    Prediction,
    Reference,
    Resource,
    ResourceId,
    ResourcePlan,
    Unknown,
    composed,
    followed,
    format_path,
    is_unknown,
    outputs_in,
    parts,
    refers,
)
from workbench.engine.fields import MISSING, find, position
from workbench.engine.masking import sealed_as, sensitive_paths
from workbench.engine.placement import encoded, is_core_secret
from workbench.engine.spec import Spec

_TEXTS_IN: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "command", "args"})
_PLACEHOLDERS: Final[Mapping[str, Any]] = {"number": 1, "bool": False, "list": [], "map": {}, "object": {}}
_PLACEHOLDER_TEXT: Final = "known-after-apply"
"""Also a valid label, name and host name, so that a dry run is not refused for its form."""
_PLACEHOLDER_BASE64: Final = base64.b64encode(_PLACEHOLDER_TEXT.encode()).decode()


class NoSuchValue(Exception):
    """What a reference names has no such attribute, or it is null there. The message is one clause.

    `path` is the field that refers, empty where the message names the reference instead.
    """

    def __init__(self, message: str, path: PlainPath = ()) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class Value:
    """`type` is the type an unknown value will have, empty where that is not told."""

    value: Any = field(repr=False)
    is_secret: bool = False
    type: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """A resource with values in place of its references.

    `unknown` are the paths of those not known yet, `referenced` of all, `secret` of those whose values are secret: all
    as the object will have them. `secrets` are the secret texts themselves. `types` are those of the unknown.
    """

    resource: Resource
    unknown: tuple[PlainPath, ...] = ()
    referenced: tuple[PlainPath, ...] = ()
    secret: tuple[PlainPath, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    types: Mapping[PlainPath, str] = field(default_factory=dict)


def ids(spec: Spec) -> dict[str, ResourceId]:
    """Returns the ids of a Spec by their texts, as references name them."""
    return {str(each.id): each.id for each in spec}


def fill(
    resource: Resource,
    known: Mapping[str, ResourceId],
    value: Callable[[Reference], Value],
    *,
    again: bool = False,
    output: Callable[[OutputReference], Any] | None = None,
) -> Filled:
    """Puts `value(reference)` in place of every reference; one whose value is a `Reference` stays.

    `again`: whoever gets the resource looks for references in it once more, so texts that look like one are escaped.
    `output` gives what other stacks have, None where that was read before and none may be left.
    Raises what `value` raises, and `NoSuchValue` for a value that can't be a part of a text.
    """
    found: dict[PlainPath, Value] = {}
    secrets: set[str] = set()

    def filled(path: PlainPath, text: str) -> Any:
        used: list[Value] = []

        def of(reference: Reference) -> Any:
            used.append(value(reference))
            return used[-1].value

        try:
            pieces = parts(text, known)
            if output is None and (left := next(outputs_in(pieces), None)) is not None:
                raise InvalidReference(f"{left} was not read")
            made = composed(pieces, of, again=again, output=output or _staying)
        except InvalidReference as error:
            raise NoSuchValue(f"{format_path(path)}: {error}", path) from None
        if used:
            is_alone = len(used) == 1 and not isinstance(made, PartlyUnknown) and CALL_PREFIX not in text
            found[path] = Value(made, any(each.is_secret for each in used), used[0].type if is_alone else "")
            secrets.update(part for each in used if each.is_secret for part in texts(each.value))
        return as_wanted(resource.id, path, made)

    if not resource.may_refer:
        return Filled(resource)
    attributes = _replaced(resource.attributes, filled)
    if attributes != resource.attributes:
        resource = replace(
            resource, attributes=encoded(attributes, is_resolved=True) if is_core_secret(resource.id) else attributes
        )
    if not found:
        return Filled(resource)
    return Filled(
        resource,
        unknown=tuple(_applied(resource.id, path) for path, each in found.items() if _has_unknown(each.value)),
        referenced=tuple(_applied(resource.id, path) for path in found),
        secret=tuple(_applied(resource.id, path) for path, each in found.items() if each.is_secret),
        secrets=frozenset(secrets).union(*(texts(each.value) for each in found.values() if each.is_secret)),
        types={_applied(resource.id, path): each.type for path, each in found.items() if each.type},
    )


def _staying(output: OutputReference) -> OutputReference:
    return output


def for_dry_run(filled: Filled) -> Resource:
    """Returns the resource with something of the right type in place of what is not known yet."""
    if not filled.unknown:
        return filled.resource

    is_secret = is_core_secret(filled.resource.id)

    def stand_in(body: Any, path: PlainPath) -> Any:
        match body:
            case Unknown() if is_secret and path[:1] == ("data",):
                return _PLACEHOLDER_BASE64
            case Unknown():
                type_ = filled.types.get(_applied(filled.resource.id, path), "")
                placeholder = _PLACEHOLDERS.get(type_, _PLACEHOLDER_TEXT)
                return _as_text(placeholder) if _wants_text(filled.resource.id, path) else placeholder
            case PartlyUnknown():
                return body.filled(_PLACEHOLDER_TEXT)
            case Mapping():
                return {key: stand_in(each, (*path, key)) for key, each in body.items()}
            case list() | tuple():
                return [stand_in(each, (*path, index)) for index, each in enumerate(body)]
            case _:
                return body

    return replace(filled.resource, attributes=stand_in(filled.resource.attributes, ()))


def with_unknown(after: Body, filled: Filled, body: Body, list_keys: Mapping[Any, Any]) -> Body:
    """Returns a predicted body with what is not known again where `body`, which was dry-run, has placeholders."""
    for path in filled.unknown:
        after = put(after, field_path(body, path, list_keys), find(filled.resource.attributes, path))
    return after


def field_path(body: Any, path: PlainPath, list_keys: Mapping[Any, Any]) -> FieldPath:
    """Returns a path of keys and indexes with list elements named by their identity, where lists have such."""
    steps: list[str | int | ListKey] = []
    for step in path:
        if isinstance(step, int) and (names := list_keys.get(tuple(each for each in steps if isinstance(each, str)))):
            element = body[step]
            said = tuple((name, element[name]) for name in names if isinstance(element.get(name), str | int))
            steps.append(ListKey(said) if said else step)
        else:
            steps.append(step)
        body = body[step]
    return tuple(steps)


_IN_PLACE = frozenset({PlannedAction.NONE, PlannedAction.MOVE, PlannedAction.UPDATE, PlannedAction.IMPORT})


def of_plan(plan: ResourcePlan, reference: Reference) -> Value:
    """What a workspace plan says of an attribute; raises `NoSuchValue`."""
    live = plan.prediction.live
    hidden = (*plan.prediction.sensitive, *(live.hidden if live else ()))
    bodies: list[Body] = [plan.prediction.after]
    if plan.action in _IN_PLACE and live is not None:
        # what is neither configured nor changed is left out of the planned body, and stays as it is
        bodies += [live.observed, live.body]
    value, is_secret = _in_any(bodies, reference, hidden)
    return Value(value, is_secret, plan.types.get(str(reference.attribute[0]), "") if _is_top(reference) else "")


def of_live(live: LiveResource, reference: Reference, rules: SecretRules) -> Value:
    """What a resource that is there has; raises `NoSuchValue`."""
    hidden = (*live.hidden, *sensitive_paths(live.id, live.observed or live.body, rules))
    return Value(*_in_any([live.observed, live.body], reference, hidden))


def path_of(live: LiveResource, reference: Reference) -> PlainPath:
    """Returns where a reference leads to in a resource that is there; as it is written where it leads nowhere."""
    for body in (live.observed, live.body):
        try:
            return followed(body, reference)[1]
        except KeyError:
            continue
    return reference.attribute


def holds_sealed(recorded: Body, reference: Reference) -> bool:
    """Whether a record has a digest where a reference leads to, or in it."""
    try:
        value, _ = followed(recorded, reference)
    except KeyError:
        return False
    return _has_sealed(value)


def _has_sealed(value: Any) -> bool:
    match value:
        case Mapping():
            return any(map(_has_sealed, value.values()))
        case list() | tuple():
            return any(map(_has_sealed, value))
        case _:
            return bool(sealed_as(value))


def of_prediction(prediction: Prediction, reference: Reference, rules: SecretRules) -> Value:
    """What a dry run says of a field of a Kubernetes object. Its status, and what is not there yet, is unknown then."""
    bodies: list[Body] = [prediction.after]
    if prediction.live is not None and not prediction.replaces:
        bodies.append(prediction.live.observed)
    hidden = (*prediction.sensitive, *sensitive_paths(prediction.id, prediction.after, rules))
    try:
        return Value(*_in_any(bodies, reference, hidden))
    except NoSuchValue:
        return Value(UNKNOWN, _may_be_hidden(reference, hidden))


def texts(value: Any) -> frozenset[str]:
    """Returns the texts in a value that are long enough to be looked for elsewhere."""
    match value:
        case str():
            return frozenset({value}) if len(value) >= 3 else frozenset()
        case Mapping():
            return frozenset().union(*(texts(each) for each in value.values()))
        case list() | tuple():
            return frozenset().union(*(texts(each) for each in value))
        case _:
            return frozenset()


def configured(spec: Spec, reference: Reference) -> Any:
    """What the configuration itself says for a field of a Kubernetes object: a value or another reference.

    Raises `NoSuchValue` where it says nothing, or something that holds references further down.
    """
    resource = spec.get(reference.id)
    try:
        value, _ = followed(resource.attributes if resource else {}, reference)
    except KeyError:
        raise NoSuchValue("the configuration does not say it") from None
    is_alone = refers(value) and value.startswith(PREFIX) and len(parts(value, ids(spec))) == 1
    if _holds_references(value) and not is_alone:
        raise NoSuchValue("the configuration does not say it")
    return value


def _in_any(bodies: list[Body], reference: Reference, hidden: tuple[FieldPath, ...]) -> tuple[Any, bool]:
    """Returns the value in the first body that has one, and whether it is secret."""
    for body in bodies:
        try:
            value, path = followed(body, reference)
        except KeyError:
            continue
        if value is not None:
            return value, _is_hidden(body, path, hidden) or (value is UNKNOWN and _may_be_hidden(reference, hidden))
    raise NoSuchValue(f"{reference} has no value")


def _is_top(reference: Reference) -> bool:
    return len(reference.attribute) == 1


def _is_hidden(body: Body, path: PlainPath, hidden: tuple[FieldPath, ...]) -> bool:
    """A value is secret where it lies at or below a hidden path, and where something hidden lies in it."""
    return any(_overlap(body, path, each) for each in hidden)


def _overlap(body: Any, path: PlainPath, hidden: FieldPath) -> bool:
    for own, step in zip(path, hidden, strict=False):
        if isinstance(step, ListKey):
            # an element that can't be told from the hidden one is taken for it
            if (index := position(body, step)) is not None and str(index) != str(own):
                return False
        elif str(step) != str(own):
            return False
        body = body[own] if isinstance(body, Mapping) and own in body else _element(body, own)
    return True


def _element(items: Any, step: str | int) -> Any:
    """Returns the element of a list at an index, None where there is none."""
    index = position(items, int(step)) if str(step).isdecimal() else None
    return None if index is None else items[index]


def _may_be_hidden(reference: Reference, hidden: tuple[FieldPath, ...]) -> bool:
    """As `_is_hidden` where nothing says yet how far the attribute goes: by its text."""
    own = _dotted(reference.attribute)
    names = [_dotted(tuple(takewhile(lambda step: not isinstance(step, ListKey), each))) for each in hidden]
    return any(own.startswith(each) or each.startswith(f"{own}.") for each in names)


def _dotted(path: FieldPath) -> str:
    return ".".join(map(str, path))


def _holds_references(value: Any) -> bool:
    match value:
        case Mapping():
            return any(map(_holds_references, value.values()))
        case list() | tuple():
            return any(map(_holds_references, value))
        case _:
            return refers(value)


def _has_unknown(value: Any) -> bool:
    match value:
        case Mapping():
            return any(map(_has_unknown, value.values()))
        case list() | tuple():
            return any(map(_has_unknown, value))
        case _:
            return is_unknown(value)


def _replaced(body: Any, put: Callable[[PlainPath, str], Any], path: PlainPath = ()) -> Any:
    match body:
        case Mapping():
            return {key: _replaced(each, put, (*path, key)) for key, each in body.items()}
        case list() | tuple():
            return [_replaced(each, put, (*path, index)) for index, each in enumerate(body)]
        case str() if refers(body):
            return put(path, body)
        case _:
            return body


def _applied(id_: ResourceId, path: PlainPath) -> PlainPath:
    """A Secret's texts are applied as the data they become."""
    return ("data", *path[1:]) if is_core_secret(id_) and path[:1] == ("stringData",) else path


def _wants_text(id_: ResourceId, path: PlainPath) -> bool:
    if not isinstance(id_, KubernetesId) or not path:
        return False
    if id_.kind == "ConfigMap" and path[0] == "data":
        return True
    if is_core_secret(id_) and path[0] == "stringData":
        return True
    if path[-1] == "value" and path[-3:-2] == ("env",):
        return True
    return len(path) > 1 and path[-2] in _TEXTS_IN


def as_wanted(id_: ResourceId, path: PlainPath, value: Any) -> Any:
    """Returns a value as its field takes it: a number as text where an API knows nothing else."""
    return _as_text(value) if _wants_text(id_, path) else value


def _as_text(value: Any) -> Any:
    match value:
        case bool() | int() | float():
            return json.dumps(value)
        case _:
            return value


def put(body: Any, path: FieldPath, value: Any) -> Any:
    """Returns a body with a value at a path, the same where it has no such place."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        if not isinstance(body, Mapping) or find(body, (step,)) is MISSING:
            return body
        return {**body, step: put(body[step], rest, value)}
    index = position(body, step)
    return body if index is None else [*body[:index], put(body[index], rest, value), *body[index + 1 :]]
