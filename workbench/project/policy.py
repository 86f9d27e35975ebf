"""What may be applied, where the repository says so: `policy.yaml` at its root.

policies:
  - name: registries                        # what findings and waivers call it
    rule: image-registries                  # one of `wb policy --rules`
    with: {allowed: ["registry.orchard.example/*"]}
    stacks: ["*/prod"]                      # globs over project/stack; all, if left out
    kinds: [Deployment, "batch/*"]          # the resources it looks at; all
    level: warning                          # error, if left out: then a plan is refused
  - {name: two-replicas, check: policies/replicas.k}   # KCL, given the resources, that says what it finds
waivers:
  - policy: registries                      # a glob over names
    stacks: [catalog/prod]
    resources: ["Deployment shop/web"]      # globs, as findings name resources; all
    until: 2026-12-31                       # that day included, in UTC
    reason: moves to the registry next week

Another such file may lie elsewhere, named by the user (`WB_POLICY`): the repository can't change or waive what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.base import KubernetesId, ResourceId, TerraformId
from workbench.project.errors import BrokenFile
from workbench.project.names import StackPath
from workbench.project.yaml_file import (
    day_at,
    is_named,
    located,
    mapping_at,
    only_keys,
    read_mapping,
    refuse_empty,
    text_at,
    texts_at,
)

POLICY_FILE: Final = "policy.yaml"
_POLICY_KEYS: Final = ("name", "rule", "check", "with", "stacks", "kinds", "level")
_WAIVER_KEYS: Final = ("policy", "stacks", "resources", "until", "reason")


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Policy:
    """One entry. Either `rule` names a rule of the workbench, or `check` a KCL file; `parameters` is what `with` says.

    `where` is the place of the entry, for errors; empty `stacks` and `kinds` stand for all.
    """

    name: str
    rule: str
    check: Path | None
    parameters: Mapping[str, Any]
    stacks: tuple[str, ...]
    kinds: tuple[str, ...]
    level: Level
    where: str

    def concerns(self, stack: StackPath) -> bool:
        return not self.stacks or any(fnmatchcase(str(stack), each) for each in self.stacks)

    def looks_at(self, id_: ResourceId) -> bool:
        return not self.kinds or any(_is_kind(id_, each) for each in self.kinds)


@dataclass(frozen=True, slots=True)
class Waiver:
    """Findings that are put up with until the end of a day, in UTC."""

    policy: str
    stacks: tuple[str, ...]
    resources: tuple[str, ...]
    until: date
    reason: str
    where: str

    def is_for(self, policy: str, stack: StackPath, names: tuple[str, ...]) -> bool:
        """Whether it speaks of a finding of a policy, about a resource that goes by these names (none: the stack)."""
        return (
            fnmatchcase(policy, self.policy)
            and (not self.stacks or any(fnmatchcase(str(stack), each) for each in self.stacks))
            and (not self.resources or any(fnmatchcase(name, each) for each in self.resources for name in names))
        )

    def has_expired(self, today: date) -> bool:
        return today > self.until


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """`is_foreign`: it does not belong to the repository, so that nothing there can change what it says."""

    path: Path
    policies: tuple[Policy, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    is_foreign: bool = field(default=False)


def read_policies(root: Path, besides: Path | None = None) -> tuple[PolicyFile, ...]:
    """Reads `policy.yaml` of a repository and `besides`; raises `BrokenFile` for what it does not understand.

    That `besides` is not there is an error: whoever named it counts on it.
    """
    own = root / POLICY_FILE
    found = [_read(own, is_foreign=False)] if is_named(own) else []
    if besides is not None:
        found.append(_read(besides, is_foreign=True))
    return tuple(found)


def _read(path: Path, *, is_foreign: bool) -> PolicyFile:
    content = read_mapping(path)
    refuse_empty(content, path, "policies: []")
    only_keys(content, ("policies", "waivers"), str(path))
    policies = tuple(_policy(each, where, path) for each, where in _entries(content, "policies", path))
    names: set[str] = set()
    for each in policies:
        if each.name in names:
            raise BrokenFile(f"two policies are called {each.name}", where=each.where, hint="give each its own name")
        names.add(each.name)
    waivers = tuple(_waiver(each, where, path) for each, where in _entries(content, "waivers", path))
    return PolicyFile(path, policies, waivers, is_foreign)


def _entries(content: Mapping[str, Any], key: str, path: Path) -> list[tuple[Mapping[str, Any], str]]:
    value = content.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BrokenFile(f"{key} needs to be a list", where=str(path))
    singular = "policy" if key == "policies" else "waiver"
    found: list[tuple[Mapping[str, Any], str]] = []
    for number, entry in enumerate(value, 1):
        where = f"{path}: {singular} {number}"
        if not isinstance(entry, dict):
            raise BrokenFile("needs to be a mapping", where=where)
        found.append((entry, where))
    return found


def _policy(entry: Mapping[str, Any], where: str, path: Path) -> Policy:
    only_keys(entry, _POLICY_KEYS, where)
    with located(where):
        name, rule, check = (text_at(entry, key, path) for key in ("name", "rule", "check"))
        parameters = mapping_at(entry, "with", path)
        stacks, kinds = texts_at(entry, "stacks", path), texts_at(entry, "kinds", path)
        level = text_at(entry, "level", path) or Level.ERROR
    if not name or bool(rule) == bool(check):
        raise BrokenFile("needs a name, and either rule or check", where=where, hint="`wb policy --rules` lists rules")
    if level not in tuple(Level):
        raise BrokenFile(f"level needs to be error or warning, got {level!r}", where=where)
    if ("stacks" in entry and not stacks) or ("kinds" in entry and not kinds):
        raise BrokenFile("an empty list of stacks or kinds means none", where=where, hint="leave it out for all")
    file = path.parent / check if check else None
    return Policy(name, rule, file, parameters, stacks, kinds, Level(level), f"{where} ({name})")


def _waiver(entry: Mapping[str, Any], where: str, path: Path) -> Waiver:
    only_keys(entry, _WAIVER_KEYS, where)
    with located(where):
        policy, reason = text_at(entry, "policy", path), text_at(entry, "reason", path).strip()
        stacks, resources = texts_at(entry, "stacks", path), texts_at(entry, "resources", path)
    if not policy or not reason or "until" not in entry:
        hint = "one that never ends is no waiver: change the policy"
        raise BrokenFile("needs policy, until and reason", where=where, hint=hint)
    return Waiver(policy, stacks, resources, day_at(entry, "until", where), reason, where)


def _is_kind(id_: ResourceId, glob: str) -> bool:
    """`Deployment`, `apps/Deployment`, `batch/*`, or a type of Terraform's such as `aws_*`."""
    match id_:
        case KubernetesId():
            group, slash, kind = glob.rpartition("/")
            return fnmatchcase(id_.kind, kind) and (not slash or fnmatchcase(id_.group, group))
        case TerraformId():
            return fnmatchcase(id_.resource_type, glob)
