"""Fields that a stack leaves to others: `ignore` in project.yaml or stack.yaml.

    ignore:
      - {kind: Deployment, path: spec.replicas, manager: horizontal-pod-autoscaler, reason: load decides}
      - kind: apps/*                        # GROUP/KIND or KIND; globs, as name is
        name: "edge-*"
        path: spec.template.spec.containers[name=proxy].image
        reason: the mesh renews its proxies

What a stack says comes beside what its project says. A field whose rule has a `manager` is left alone where that field
manager owns it; without one always. See `workbench.engine.ignoring` for what being left alone means.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import FieldPath, KubernetesId, ResourceId, parse_path
from workbench.project.errors import BrokenFile
from workbench.project.tree import Stack
from workbench.project.yaml_file import only_keys, read_mapping, text_at

KEY: Final = "ignore"
_KEYS = ("kind", "name", "path", "manager", "reason")
_FILES = ("project.yaml", "stack.yaml")
_LABELS = ("metadata", "labels")
_OWN = ("workbench.konfig.io/", "app.kubernetes.io/managed-by")
"""How labels begin that tie an object to its stack: pruning goes by them."""
_NEVER = (("metadata", "name"), ("metadata", "namespace"), ("apiVersion",), ("kind",))


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """`group` None stands for all groups, `manager` empty for whoever.

    `where` names the file, below the repository's root, and which rule of it this is.
    """

    group: str | None
    kind: str
    name: str
    path: FieldPath
    manager: str
    reason: str
    where: str

    def matches(self, id_: ResourceId) -> bool:
        return (
            isinstance(id_, KubernetesId)
            and fnmatchcase(id_.kind, self.kind)
            and (self.group is None or fnmatchcase(id_.group, self.group))
            and fnmatchcase(id_.name, self.name)
        )


def read_ignores(stack: Stack) -> tuple[IgnoreRule, ...]:
    """Reads the rules of a stack and its project; raises `BrokenFile` for what is not understood."""
    found: list[IgnoreRule] = []
    for folder, name in zip((stack.project_directory, stack.directory), _FILES, strict=True):
        path = folder / name
        if not path.is_file():
            continue
        rules = rules_in(read_mapping(path), path)
        shown = path.relative_to(stack.root) if stack.root and path.is_relative_to(stack.root) else path
        found += (read_rule(entry, number, path, shown) for number, entry in enumerate(rules, 1))
    return tuple(found)


def rules_in(content: Mapping[str, Any], path: Path) -> list[Any]:
    """Returns the rules of a file as they are written; raises `BrokenFile` for what is no list."""
    rules = content.get(KEY)
    if rules is not None and not isinstance(rules, list):
        raise BrokenFile("ignore needs to be a list", where=str(path), hint="each rule has kind, path and reason")
    return rules or []


def read_rule(entry: Any, number: int, path: Path, shown: Path) -> IgnoreRule:
    """Reads one rule as it is written; `shown` is how the file is called. Raises `BrokenFile`."""
    where = f"{path}: ignore, rule {number}"
    if not isinstance(entry, dict):
        raise BrokenFile("needs to be a mapping", where=where, hint="it has kind, path and reason")
    only_keys(entry, _KEYS, where)
    try:
        said = {key: text_at(entry, key, path) for key in _KEYS}
    except BrokenFile as error:
        raise BrokenFile(error.message, where=where) from None
    if missing := [key for key in ("kind", "path", "reason") if not said[key]]:
        raise BrokenFile(f"has no {' and no '.join(missing)}", where=where, hint="say why others may change the field")
    try:
        field = parse_path(said["path"])
    except ValueError:
        field = ()
    if not field:
        hint = "write it as `wb diff` does, such as spec.replicas"
        raise BrokenFile(f"{said['path']!r} is no path of a field", where=where, hint=hint)
    if any(field == each[: len(field)] or field[: len(each)] == each for each in _NEVER):
        raise BrokenFile(f"{said['path']} says which object it is, and can't be ignored", where=where)
    if field == _LABELS or (field[:2] == _LABELS and str(field[2]).startswith(_OWN)):
        raise BrokenFile(f"{said['path']} says whose object it is, and can't be ignored", where=where)
    group, slash, kind = said["kind"].rpartition("/")
    return IgnoreRule(
        group if slash else None,
        kind,
        said["name"] or "*",
        field,
        said["manager"],
        said["reason"],
        f"{shown}: ignore, rule {number}",
    )
