"""Which fields of a Kubernetes object are secret, by what they are. Everybody who shows an object asks here.

data and stringData of a Secret
the annotation in which `kubectl apply` keeps its input, of any kind, as it may repeat any of the others
the value of an environment variable whose name says so (`kcl.secrecy.names`), in whatever is called `env`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base.paths import FieldPath, ListKey, value_at

Object = Mapping[str, Any]

_SCALARS = frozenset({str, int, float, bool, type(None)})
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
    if "'env'" in repr(content):  # most objects have none, and need not be walked through
        variables: list[FieldPath] = []
        _variables(content, (), rules, variables)
        yield from variables
    for rule in rules.paths:
        yield from rule.paths(kind, content)


def _variables(value: Any, path: FieldPath, rules: SecretRules, found: list[FieldPath]) -> None:
    """Finds the paths of values of secret variables, elements of lists by their names where they have any."""
    if isinstance(value, dict | Mapping):  # a look at the abstract class costs most of the walk
        for key, each in value.items():
            if type(each) in _SCALARS:
                continue
            if key == "env" and isinstance(each, list):
                found += _secret_variables(each, (*path, key), rules)
            else:
                _variables(each, (*path, key), rules, found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if type(each) not in _SCALARS:
                _variables(each, (*path, _step(each, index)), rules, found)


def _secret_variables(variables: list[Any], path: FieldPath, rules: SecretRules) -> Iterator[FieldPath]:
    for index, each in enumerate(variables):
        if isinstance(each, Mapping) and "value" in each and rules.names_secret(str(each.get("name") or "")):
            yield (*path, _step(each, index), "value")


def _step(element: Any, index: int) -> int | ListKey:
    name = element.get("name") if isinstance(element, Mapping) else None
    return ListKey((("name", name),)) if isinstance(name, str) else index
