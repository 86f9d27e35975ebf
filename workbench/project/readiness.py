"""When resources count as ready, where the repository says so: `readiness.yaml` at its root.

rules:                                    # the first that matches decides; without one, the rule of the kind
  - kind: Ingress                         # or networking.k8s.io/Ingress; globs, as are all names here
    stacks: ["*/dev"]                     # globs over project/stack; all
    ready: exists                         # do not wait
  - {kind: acme.io/Database, name: orders, namespace: "shop-*", ready: {condition: Available, failed: [Broken]}}
  - {kind: Ingress, ready: {field: status.loadBalancer.ingress}}
  - {kind: Volume, ready: {field: status.phase, values: [Bound], failed: [Lost]}}
  - {kind: Service, ready: default}       # the rule of the kind, whatever follows
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kcl.records import dataclass
from runtimes.base import (
    KubernetesId,
    ReadyByCondition,
    ReadyByField,
    ReadyRule,
    ReadyRules,
    ReadyWhenThere,
    ResourceId,
    parse_attribute,
)
from workbench.project.errors import BrokenFile
from workbench.project.names import StackPath
from workbench.project.yaml_file import is_named, only_keys, read_mapping, refuse_empty, text_at, texts_at

READINESS_FILE = "readiness.yaml"
_RULE_KEYS = ("kind", "name", "namespace", "stacks", "ready")
_FORMS = "exists, default, {condition: TYPE} or {field: PATH}"


@dataclass(frozen=True, slots=True)
class ReadinessRule:
    """`group` None stands for all groups; `ready` None for the rule of the kind."""

    group: str | None
    kind: str
    name: str
    namespace: str
    stacks: tuple[str, ...]
    ready: ReadyRule | None

    def matches(self, stack: StackPath, id_: KubernetesId) -> bool:
        return (
            fnmatchcase(id_.kind, self.kind)
            and (self.group is None or fnmatchcase(id_.group, self.group))
            and fnmatchcase(id_.name, self.name)
            and fnmatchcase(id_.namespace, self.namespace)
            and any(fnmatchcase(str(stack), each) for each in self.stacks)
        )


def read_readiness(root: Path) -> tuple[ReadinessRule, ...]:
    """Reads `readiness.yaml`, none where there is no such file; raises `BrokenFile` for what it does not understand."""
    path = root / READINESS_FILE
    if not is_named(path):
        return ()
    content = read_mapping(path)
    refuse_empty(content, path, "rules: []")
    only_keys(content, ("rules",), str(path))
    rules = content.get("rules")
    if rules is None:
        return ()
    if not isinstance(rules, list):
        raise BrokenFile("rules needs to be a list", where=str(path))
    return tuple(_rule(entry, number, path) for number, entry in enumerate(rules, 1))


def rules_for(rules: Iterable[ReadinessRule], stack: StackPath, ids: Iterable[ResourceId]) -> ReadyRules:
    """Returns the resources of a stack that have a rule of their own."""
    rules = tuple(rules)
    found: dict[ResourceId, ReadyRule] = {}
    for id_ in ids if rules else ():
        if isinstance(id_, KubernetesId):
            first = next((each for each in rules if each.matches(stack, id_)), None)
            if first is not None and first.ready is not None:
                found[id_] = first.ready
    return found


def _rule(entry: Any, number: int, path: Path) -> ReadinessRule:
    where = f"{path}: rule {number}"
    if not isinstance(entry, dict):
        raise BrokenFile("needs to be a mapping with kind and ready", where=where)
    only_keys(entry, _RULE_KEYS, where)
    try:
        kind, stacks = text_at(entry, "kind", path), texts_at(entry, "stacks", path)
        name, namespace = text_at(entry, "name", path), text_at(entry, "namespace", path)
    except BrokenFile as error:
        raise BrokenFile(error.message, where=where) from None
    if not kind or "ready" not in entry:
        raise BrokenFile("needs kind and ready", where=where, hint=f"ready is {_FORMS}")
    group, slash, kind = kind.rpartition("/")
    ready = _ready(entry["ready"], f"{READINESS_FILE}, rule {number}", where)
    return ReadinessRule(group if slash else None, kind, name or "*", namespace or "*", stacks or ("*",), ready)


def _ready(said: Any, said_in: str, where: str) -> ReadyRule | None:
    match said:
        case "default":
            return None
        case "exists":
            return ReadyWhenThere(said_in)
        case {"condition": str(type_)} if type_:
            only_keys(said, ("condition", "failed"), where)
            failed = _scalars(said, "failed", where)
            if not all(isinstance(each, str) for each in failed):
                raise BrokenFile("failed needs to be a list of condition types", where=where)
            return ReadyByCondition(said_in, type_, tuple(str(each) for each in failed))
        case {"field": str(text)} if field := parse_attribute(text):
            only_keys(said, ("field", "values", "failed"), where)
            return ReadyByField(said_in, field, _scalars(said, "values", where), _scalars(said, "failed", where))
        case _:
            raise BrokenFile(f"ready needs to be {_FORMS}, got {said!r}", where=where)


def _scalars(content: Mapping[str, Any], key: str, where: str) -> tuple[str | int | float | bool, ...]:
    value = content.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str | int | float | bool) for each in value):
        raise BrokenFile(f"{key} needs to be a list of texts, numbers or truth values", where=where)
    return tuple(value)
