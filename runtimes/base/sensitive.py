"""Which fields of a Kubernetes object are secret, by what they are. Everybody who shows an object asks here.

data and stringData of a Secret
the annotation in which `kubectl apply` keeps its input, of any kind, as it may repeat any of the others
the value of an environment variable whose name says so (`kcl.secrecy.names`), in whatever is called `env`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base.contents import MAPPINGS, may_hold
from runtimes.base.paths import FieldPath, ListKey, value_at

Object = Mapping[str, Any]

_SCALARS = frozenset({str, int, float, bool, type(None)})
_ENV = b"env"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def sensitive_paths(content: Object, rules: SecretRules = BUILT_IN) -> tuple[FieldPath, ...]:
    return tuple(_sensitive(content, rules))


def _sensitive(content: Object, rules: SecretRules) -> Iterator[FieldPath]:
    kind = str(content.get("kind"))
    if kind == "Secret" and "/" not in str(content.get("apiVersion")):
        yield ("data",)
        yield ("stringData",)
    annotations = value_at(content, ("metadata", "annotations"))
    if isinstance(annotations, Mapping) and LAST_APPLIED in annotations:
        yield ("metadata", "annotations", LAST_APPLIED)
    values = _without_owners(content)
    if may_hold(values, _ENV):  # most objects have none, and need not be walked through
        yield from _variables(values, rules)
    for rule in rules.paths:
        yield from rule.paths(kind, content)


def _without_owners(content: Object) -> Object:
    """Who owns which field is the larger part of many objects, and has no values."""
    metadata = content.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return content
    return {**content, "metadata": {name: each for name, each in metadata.items() if name != "managedFields"}}


def _variables(value: Any, rules: SecretRules) -> list[FieldPath]:
    """Returns the paths of values of secret variables, elements of lists by their names where they have any.

    Paths are made on the way back, as few walks find any.
    """
    found: list[FieldPath] = []
    if isinstance(value, list):
        for index, each in enumerate(value):
            if type(each) not in _SCALARS and (below := _variables(each, rules)):
                step = _step(each, index)
                found += [(step, *path) for path in below]
    elif isinstance(value, MAPPINGS):  # a look at the abstract class costs most of the walk
        for key, each in value.items():
            if type(each) in _SCALARS:
                continue
            is_env = key == "env" and isinstance(each, list)
            if below := _secret_variables(each, rules) if is_env else _variables(each, rules):
                found += [(key, *path) for path in below]
    return found


def _secret_variables(variables: list[Any], rules: SecretRules) -> list[FieldPath]:
    return [
        (_step(each, index), "value")
        for index, each in enumerate(variables)
        if isinstance(each, Mapping) and "value" in each and rules.names_secret(str(each.get("name") or ""))
    ]


def _step(element: Any, index: int) -> int | ListKey:
    name = element.get("name") if isinstance(element, Mapping) else None
    return ListKey((("name", name),)) if isinstance(name, str) else index
