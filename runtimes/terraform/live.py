"""Live resources out of what Terraform has read or recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from runtimes.base import Body, FieldPath, Health, Identity, LiveResource, ResourceId, Status, TerraformId
from runtimes.terraform import bodies, schema, values
from runtimes.terraform.configured import Configuration
from runtimes.terraform.schema import Type
from runtimes.terraform.state import Recorded

TAINTED = Health(Status.FAILED, "Tainted", "it was not finished when it was made; the next apply replaces it")
_CURRENT = Health(Status.CURRENT)


def resource(
    id_: TerraformId,
    attributes: Mapping[str, Any],
    configuration: Configuration | None,
    *,
    body: Body | None = None,
    masked: Iterable[FieldPath] = (),
    type_: Type | None = None,
    health: Health = _CURRENT,
) -> LiveResource:
    """Returns a resource that is there. `body` is given where it is already known; `masked` are Terraform's paths."""
    secrets = configuration.secrets if configuration else frozenset()
    return LiveResource(
        id=id_,
        identity=identity(attributes, secrets),
        body=body if body is not None else body_of(id_, attributes, configuration, type_),
        health=health,
        observed=attributes,
        hidden=hidden(id_, attributes, configuration, masked=masked, type_=type_),
    )


def of_recorded(recorded: Recorded, configuration: Configuration | None, type_: Type | None) -> LiveResource:
    health = _CURRENT
    if recorded.is_tainted:
        health = TAINTED
    elif recorded.deposed:
        health = Health(Status.CURRENT, "Deposed", "an older object of it is still to be deleted")
    return resource(recorded.id, recorded.attributes, configuration, masked=recorded.hidden, type_=type_, health=health)


def body_of(
    id_: TerraformId, attributes: Mapping[str, Any], configuration: Configuration | None, type_: Type | None
) -> Body:
    wanted = configuration.resources.get(id_) if configuration else None
    if wanted is None:
        return bodies.written(attributes, type_)
    shaped = bodies.paired(wanted.attributes, bodies.Pair(attributes, attributes), type_).before
    assert isinstance(shaped, dict)  # a pair of mappings stays one
    return shaped


def hidden(
    id_: ResourceId,
    attributes: Mapping[str, Any],
    configuration: Configuration | None,
    *,
    masked: Iterable[FieldPath] = (),
    type_: Type | None = None,
) -> tuple[FieldPath, ...]:
    """Returns the secret paths of everything Terraform has: masked, by schema, as configured, by name, by content."""
    secrets = configuration.secrets if configuration else frozenset()
    return values.shortest(
        [
            *masked,
            *(configuration.sensitive.get(id_, ()) if configuration else ()),
            *values.secret_paths(attributes, secrets),
            *schema.sensitive(type_, attributes),
        ]
    )


def identity(attributes: Mapping[str, Any], secrets: frozenset[str]) -> Identity:
    """`uid` is the id in the infrastructure. `version` changes with anything but secrets, which no digest may tell."""
    id_ = attributes.get("id")
    is_open = isinstance(id_, str) and not values.holds_secret(id_, secrets)
    told = json.dumps(_public(attributes, secrets), sort_keys=True, default=str)
    return Identity(str(id_) if is_open else "", hashlib.sha256(told.encode()).hexdigest()[:16])


def _public(attributes: Any, secrets: frozenset[str]) -> Any:
    return _without(attributes, frozenset(values.secret_paths(attributes, secrets)), ())


def _without(value: Any, left_out: frozenset[FieldPath], path: FieldPath) -> Any:
    if path in left_out:
        return None
    match value:
        case Mapping():
            kept = {key: _without(each, left_out, (*path, key)) for key, each in value.items()}
            return {key: each for key, each in kept.items() if not values.is_empty(each)}
        case list():
            return [_without(each, left_out, (*path, index)) for index, each in enumerate(value)]
        case _:
            return value
